"""A program for tests: does one thing to a ledger in a real process under a real fault, and prints what came of it."""

import os
import resource
import shutil
import signal
import sys
import tempfile
import threading
from fractions import Fraction
from pathlib import Path

from discreet import events
from discreet.accounting.filters import Budget
from discreet.errors import LedgerError
from discreet.ledger import Dataset, Receipt, SQLiteLedger

NOBODY = 65534


def registered(path: str, epsilon: Fraction = Fraction(1)) -> SQLiteLedger:
    ledger = SQLiteLedger(path)
    budget = Budget(epsilon=epsilon)
    ledger.register(Dataset(name="visits", source="visits.csv", unit="one patient_id", facts="{}", budget=budget))
    return ledger


def charge(ledger: SQLiteLedger, epsilon: Fraction = Fraction(1, 10)) -> Receipt:
    event = events.PureEvent(epsilon)
    return ledger.charge("visits", version=1, analyst="ann", event=event, question="ab", description="{}")


def read_only(source: str) -> None:
    directory = Path(tempfile.mkdtemp())
    for file in Path(source).iterdir():
        shutil.copy(file, directory)
    directory.chmod(0o555)
    child = os.fork()
    if child == 0:
        if os.geteuid() == 0:
            os.setuid(NOBODY)
        try:
            SQLiteLedger(directory / "ledger.sqlite")
        except LedgerError as error:
            print(error, flush=True)
        os._exit(0)
    os.waitpid(child, 0)
    directory.chmod(0o755)
    shutil.rmtree(directory)


def full_disk(path: str) -> None:
    ledger = registered(path)
    receipt = charge(ledger)
    payload = b"x" * 1_000_000
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))
    try:
        ledger.answer(receipt, payload)
    except LedgerError as error:
        print(error)
    print(ledger.state(receipt))
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    answer = ledger.answer(receipt, payload)
    print(ledger.spent("visits").epsilon, len(answer), ledger.verify().ok, sep="\n")


def fork(path: str) -> None:
    ledger = registered(path)
    charge(ledger)
    child = os.fork()
    charge(ledger)
    if child == 0:
        ledger.close()
        os._exit(0)
    os.waitpid(child, 0)
    print(ledger.spent("visits").epsilon, ledger.verify().ok, sep="\n")


def fork_and_close(path: str) -> None:
    ledger = registered(path, epsilon=Fraction(5))
    for _ in range(10):
        charge(ledger)
    child = os.fork()
    if child == 0:
        for _ in range(20):
            charge(ledger)
        os._exit(0)
    ledger.close()
    for _ in range(10):
        SQLiteLedger(path).close()
    os.waitpid(child, 0)
    with SQLiteLedger(path) as again:
        print(again.spent("visits").epsilon, again.verify().ok, sep="\n")


def fork_amid_threads(path: str) -> None:
    ledger = registered(path)
    tiny = Fraction(1, 10**6)
    stop = threading.Event()

    def keep_charging() -> None:
        while not stop.is_set():
            charge(ledger, tiny)

    threads = [threading.Thread(target=keep_charging) for _ in range(4)]
    for thread in threads:
        thread.start()
    children = []
    for _ in range(5):
        child = os.fork()
        if child == 0:
            charge(ledger, tiny)
            os._exit(0)
        children.append(child)
    ends = [os.waitpid(child, 0)[1] for child in children]
    stop.set()
    for thread in threads:
        thread.join()
    print(ends == [0] * 5 and ledger.verify().ok)


def fork_in_memory() -> None:
    ledger = registered(":memory:")
    child = os.fork()
    if child == 0:
        try:
            charge(ledger)
        except LedgerError as error:
            print(error, flush=True)
        os._exit(0)
    os.waitpid(child, 0)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
