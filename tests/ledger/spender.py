"""A program for tests: many spenders at once, in processes that are forked from this one, with threads in them.

    python spender.py spend ADDRESS DIRECTORY PROCESSES THREADS EPSILON CAP
    python spender.py persist ADDRESS DIRECTORY PROCESSES

`spend` charges until the cap refuses. `persist` asks and answers question after question, through every fault of the
store, until there is a file `stop` in the directory. Each spender writes what was acknowledged to it, and when by the
clock of the machine, to a file of its own in the directory.
"""

import json
import os
import secrets
import sys
import threading
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from discreet import events
from discreet.accounting.filters import Budget
from discreet.errors import BudgetError, LedgerError
from discreet.ledger import Dataset, Ledger, PostgresLedger, Reservation, SQLiteLedger

NAME = "visits"
MANY = 10**6
LEASE, PATIENCE = 0.5, 60.0
NAP = 0.02

Tell = Callable[..., None]


def opened(address: str) -> Ledger:
    kind = PostgresLedger if address.startswith("postgresql:") else SQLiteLedger
    return kind(address, lease=LEASE)


def prepare(address: str, cap: Fraction) -> None:
    with opened(address) as ledger:
        facts = {"source": "visits.csv", "unit": "one patient_id", "facts": "{}"}
        ledger.register(Dataset(name=NAME, budget=Budget(epsilon=cap), **facts))
        ledger.set_quota(NAME, failures=MANY, reason="crashes")


def charge(ledger: Ledger, epsilon: Fraction, **asked: Any) -> Reservation:
    event = events.PureEvent(epsilon)
    return ledger.charge(NAME, version=1, event=event, description="{}", patience=PATIENCE, **asked)


def spend(ledger: Ledger, analyst: str, epsilon: Fraction, tell: Tell) -> None:
    """Charge until the cap refuses."""
    receipt: str | None = ""
    while receipt is not None:
        begun = time.monotonic_ns()
        try:
            turn = charge(ledger, epsilon, analyst=analyst, question=secrets.token_hex(32))
            ended, receipt = time.monotonic_ns(), turn.receipt.to_json()
        except BudgetError:
            ended, receipt = time.monotonic_ns(), None
        tell(begun=begun, ended=ended, receipt=receipt)


def persist(ledger: Ledger, analyst: str, stop: Path, tell: Tell) -> None:
    """Ask and answer question after question; whatever fails is asked again under the same request key."""
    while not stop.exists():
        asked = {"request": f"r-{secrets.token_hex(8)}", "question": secrets.token_hex(32)}
        for _ in range(2):
            insist(ledger, analyst, asked, tell)


def insist(ledger: Ledger, analyst: str, asked: dict[str, str], tell: Tell) -> None:
    end = time.monotonic() + PATIENCE
    reply = None
    while reply is None:
        try:
            turn = charge(ledger, Fraction(1, 10**6), analyst=analyst, **asked)
            tell(**asked, receipt=turn.receipt.to_json())
            noisy = secrets.token_hex(8).encode()
            reply = ledger.answer(turn, noisy) if turn.payload is None else turn.payload
        except LedgerError as error:
            tell(**asked, fault=str(error))
            if time.monotonic() > end:
                raise
            time.sleep(NAP)
    tell(**asked, reply=reply.decode())


def in_processes(count: int, work: Callable[[int, Callable[[], None]], None]) -> None:
    """Work in so many forked processes, which all wait at a gate until the last is there."""
    there, gate = os.pipe(), os.pipe()

    def wait_at_the_gate() -> None:
        os.write(there[1], b".")
        os.read(gate[0], 1)

    children = []
    for place in range(count):
        children.append(os.fork())
        if children[-1] == 0:
            os.close(gate[1])
            work(place, wait_at_the_gate)
            sys.stdout.flush()
            os._exit(0)
    for _ in children:
        os.read(there[0], 1)
    os.close(gate[1])
    ends = [os.waitpid(child, 0)[1] for child in children]
    if any(ends):
        raise SystemExit("a spender failed")


def in_threads(count: int, work: Callable[[int], None]) -> None:
    failed: list[BaseException] = []

    def run(place: int) -> None:
        try:
            work(place)
        except BaseException as error:
            failed.append(error)
            raise

    threads = [threading.Thread(target=run, args=(place,)) for place in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        os._exit(1)


def writing(directory: str, name: str, work: Callable[[Tell], None]) -> None:
    """Give work a way to tell things to a file."""
    with Path(directory, f"{name}.jsonl").open("w", encoding="utf-8") as file:
        work(lambda **told: file.write(json.dumps(told) + "\n") and None)


def main(act: str, address: str, directory: str, processes: str, threads: str = "1", *price: str) -> None:
    epsilon, cap = (Fraction(each) for each in price or ("1", "10"))
    prepare(address, cap)

    def work(process: int, wait_at_the_gate: Callable[[], None]) -> None:
        with opened(address) as ledger:
            wait_at_the_gate()
            in_threads(int(threads), lambda place: spender(ledger, f"{process}-{place}"))

    def spender(ledger: Ledger, name: str) -> None:
        if act == "spend":
            writing(directory, name, lambda tell: spend(ledger, name, epsilon, tell))
        else:
            writing(directory, name, lambda tell: persist(ledger, name, Path(directory, "stop"), tell))

    in_processes(int(processes), work)


if __name__ == "__main__":
    main(*sys.argv[1:])
