"""A program for tests: asks one question under a request key, and is killed at a named step.

    python killed.py PATH REQUEST [STEP]

The kill is a SIGKILL that the process sends itself from SQLite's trace, before the statement at that step runs; nothing
in discreet knows of it. The answer is drawn at random, as noise is, and printed as a client would see it.
"""

import os
import secrets
import signal
import sys
from fractions import Fraction

from discreet import events
from discreet.accounting.filters import Budget
from discreet.ledger import Dataset, SQLiteLedger

STATEMENTS = {
    "before_the_update": ("T1", "UPDATE datasets"),
    "before_the_event": ("T1", "INSERT INTO events"),
    "before_the_reservation": ("T1", "INSERT INTO reservations"),
    "before_the_first_commit": ("T1", "COMMIT"),
    "before_the_answer": ("T2", "INSERT INTO answers"),
    "before_the_outcome": ("T2", "UPDATE reservations"),
    "before_the_second_commit": ("T2", "COMMIT"),
    "before_the_reply_is_read": ("T2", "SELECT payload"),
}
MOMENTS = ("after_the_charge", "after_the_computation", "after_the_answer")
STEPS = (*STATEMENTS, *MOMENTS)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Steps:
    def __init__(self, ledger: SQLiteLedger, step: str | None) -> None:
        self.transaction, self.step = "", step
        ledger._database._connected.connection.set_trace_callback(self.watch)

    def watch(self, statement: str) -> None:
        transaction, beginning = STATEMENTS.get(self.step, ("", "-"))
        if self.transaction == transaction and statement.startswith(beginning):
            die()

    def reach(self, moment: str) -> None:
        if self.step == moment:
            die()


def main(path: str, request: str, step: str | None = None) -> None:
    ledger = SQLiteLedger(path)
    budget = Budget(epsilon=10)
    ledger.register(Dataset(name="visits", source="visits.csv", unit="one patient_id", facts="{}", budget=budget))
    steps = Steps(ledger, step)
    steps.transaction = "T1"
    event = events.PureEvent(Fraction(1, 10))
    receipt = ledger.charge(
        "visits", version=1, analyst="ann", event=event, question="ab", request=request, description="{}"
    )
    steps.reach("after_the_charge")
    noisy = str(secrets.randbelow(10**9)).encode()
    steps.reach("after_the_computation")
    steps.transaction = "T2"
    reply = ledger.answer(receipt, noisy)
    steps.transaction = ""
    steps.reach("after_the_answer")
    print(reply.decode(), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
