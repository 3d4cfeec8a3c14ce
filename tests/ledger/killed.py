"""A program for tests: clients that ask under a request key, are killed at each named step, and ask again twice.

    python killed.py ADDRESS WAVES [LANES]

A wave has one client for each step of the store, in a process of its own that is forked from this one, which has
imported everything and connected to nothing. A client charges, draws an answer at random, as noise is drawn, stores it
and reads the reply. One line of JSON is printed for each: what the ledger acknowledged to it and to its two retries.
"""

import json
import os
import random
import secrets
import signal
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from typing import IO, Any

from failpoints import ANY_MOMENT, Failpoint, Step, steps_of, watch_connections

from discreet import events
from discreet.accounting.filters import Budget
from discreet.ledger import Dataset, Ledger, PostgresLedger, SQLiteLedger

NAME, ANALYST = "visits", "ann"
LEASE, PATIENCE = 0.2, 60.0
MANY = 10**6
LIVES = (-3.0, -0.5)  # powers of ten, in seconds

Tell = Callable[[str, Any], None]


def opened(address: str) -> Ledger:
    kind = PostgresLedger if address.startswith("postgresql:") else SQLiteLedger
    return kind(address, lease=LEASE)


def prepare(address: str) -> None:
    """A dataset, and analysts whose crashes are not held against them."""
    with opened(address) as ledger:
        facts = {"source": "visits.csv", "unit": "one patient_id", "facts": "{}"}
        ledger.register(Dataset(name=NAME, budget=Budget(epsilon=10), **facts))
        ledger.set_quota(NAME, failures=MANY, reason="crashes")
        ledger.set_quota(NAME, ANALYST, failures=MANY, reason="crashes")


def ask(address: str, asked: dict[str, str], failpoint: Failpoint, tell: Tell) -> None:
    """One client, from the question to the reply."""
    watch_connections(failpoint)
    with opened(address) as ledger:
        failpoint.watch(ledger)
        tell("begun", True)
        failpoint.reach("before_everything")
        failpoint.act = "T1"
        event = events.PureEvent(Fraction(1, 10**6))
        turn = ledger.charge(NAME, version=1, event=event, description="{}", patience=PATIENCE, **asked)
        failpoint.act = ""
        tell("receipt", turn.receipt.to_json())
        failpoint.reach("after_the_charge")
        reply = turn.payload
        if reply is None:
            noisy = secrets.token_hex(8).encode()
            failpoint.reach("after_the_computation")
            failpoint.act = "T2"
            reply = ledger.answer(turn, noisy)
            failpoint.act = ""
        failpoint.reach("after_the_answer")
        tell("reply", reply.decode())
        failpoint.reach("after_the_reply")


def look(address: str, question: str, tell: Tell) -> None:
    """How often a question is charged now."""
    with opened(address) as ledger:
        tell("charged", sum(entry.question == question for entry in ledger.history(NAME)))


def in_a_child(work: Callable[[Tell], None], step: Step | None = None) -> tuple[int, dict[str, Any]]:
    """How a forked process ended (minus the signal, as subprocess says it), and what it told before."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(ours)
        _exit_after(work, lambda word, value: _told(theirs, word, value))
    os.close(theirs)
    with os.fdopen(ours) as pipe:
        told = _first(pipe)
        if step is not None and step.name == ANY_MOMENT:
            time.sleep(10 ** random.uniform(*LIVES))  # noqa: S311 - any moment will do
            os.kill(child, signal.SIGKILL)
        for line in pipe:
            told |= json.loads(line)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), told


def _exit_after(work: Callable[[Tell], None], tell: Tell) -> None:
    try:
        work(tell)
    except BaseException as error:  # noqa: BLE001 - told to the process that waits for us
        tell("error", f"{type(error).__name__}: {error}")
        os._exit(1)
    os._exit(0)


def _told(pipe: int, word: str, value: Any) -> None:
    os.write(pipe, (json.dumps({word: value}) + "\n").encode())


def _first(pipe: IO[str]) -> dict[str, Any]:
    line = pipe.readline()
    return json.loads(line) if line else {}


def case(address: str, step: Step) -> dict[str, Any]:
    """A client that is killed at a step, what the ledger holds then, and two retries at once."""
    analyst = f"new-{secrets.token_hex(4)}" if step.is_new else ANALYST
    asked = {"request": f"r-{secrets.token_hex(8)}", "question": secrets.token_hex(32), "analyst": analyst}
    end, seen = in_a_child(lambda tell: ask(address, asked, Failpoint(step), tell), step)
    _, held = in_a_child(lambda tell: look(address, asked["question"], tell))
    retries = [in_a_child(lambda tell: ask(address, asked, Failpoint(None), tell)) for _ in range(2)]
    told = {"step": step.name, "expected": step.charged, "end": end, "ends": [end for end, _ in retries]}
    return asked | told | held | {"seen": [seen, *(told for _, told in retries)]}


def run_all(cases: list[Callable[[], dict[str, Any]]], lanes: int) -> None:
    """So many cases side by side, each supervised by a process of its own."""
    living = 0
    for each in cases:
        if living == lanes:
            os.wait()
            living -= 1
        if os.fork() == 0:
            os.write(1, (json.dumps(each()) + "\n").encode())
            os._exit(0)
        living += 1
    for _ in range(living):
        os.wait()


def main(address: str, waves: str, lanes: str = "6") -> None:
    prepare(address)
    steps = steps_of(address) * int(waves)
    run_all([lambda step=step: case(address, step) for step in steps], int(lanes))


if __name__ == "__main__":
    main(*sys.argv[1:])
