"""A program for tests: does one thing to a ledger in a real process under a real fault, and prints what came of it."""

import json
import os
import resource
import secrets
import shutil
import signal
import sys
import tempfile
import threading
from fractions import Fraction
from pathlib import Path

import pyarrow as pa

import discreet as dp
from discreet import events
from discreet.accounting.filters import Budget
from discreet.errors import LedgerError
from discreet.ledger import Dataset, Ledger, PostgresLedger, Reservation, SQLiteLedger, SupersededError

NOBODY = 65534
PATIENCE = 60.0


def opened(address: str, lease: float = 30.0) -> Ledger:
    kind = PostgresLedger if address.startswith("postgresql:") else SQLiteLedger
    return kind(address, lease=lease)


def registered(path: str, epsilon: Fraction = Fraction(1)) -> SQLiteLedger:
    ledger = SQLiteLedger(path)
    budget = Budget(epsilon=epsilon)
    ledger.register(Dataset(name="visits", source="visits.csv", unit="one patient_id", facts="{}", budget=budget))
    return ledger


def charge(ledger: Ledger, epsilon: Fraction = Fraction(1, 10), *, fresh: bool = True, **asked: str) -> Reservation:
    usual = {"analyst": "ann", "question": "ab", "description": "{}"} | asked
    event = events.PureEvent(epsilon)
    return ledger.charge("visits", version=1, event=event, fresh=fresh, patience=PATIENCE, **usual)


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
    turn = charge(ledger)
    payload = b"x" * 1_000_000
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))
    try:
        ledger.answer(turn, payload)
    except LedgerError as error:
        print(error)
    print(ledger.state(turn.receipt))
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    answer = ledger.answer(turn, payload)
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


def fork_while_a_position_is_recorded(path: str) -> None:
    """Fork while another thread notes how far the chain has come, and charge in the child."""
    ledger = registered(path)
    charge(ledger)
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with ledger._detector._process_lock():
            held.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        charge(ledger)
        os._exit(0)
    print(os.waitpid(child, 0)[1])
    done.set()
    thread.join()


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


def identical(address: str, processes: str, *request: str) -> None:
    """The same question from forked processes, at once; whoever has a turn draws an answer. Each reply is printed."""
    there, gate = os.pipe(), os.pipe()
    asked = {"request": request[0]} if request else {}
    children = []
    for _ in range(int(processes)):
        children.append(os.fork())
        if children[-1] == 0:
            os.close(gate[1])
            with opened(address) as ledger:
                os.write(there[1], b".")
                os.read(gate[0], 1)
                turn = charge(ledger, fresh=False, **asked)
                drawn = secrets.token_hex(8).encode()
                reply = ledger.answer(turn, drawn) if turn.payload is None else turn.payload
                os.write(1, reply + b"\n")
            os._exit(0)
    for _ in children:
        os.read(there[0], 1)
    os.close(gate[1])
    print([os.waitpid(child, 0)[1] for child in children].count(0))


def stopped(address: str, lease: str) -> None:
    """Charge, stop this process by SIGSTOP, and answer when it goes on: the reply, or that another took over."""
    with opened(address, float(lease)) as ledger:
        turn = charge(ledger, fresh=False)
        os.kill(os.getpid(), signal.SIGSTOP)
        try:
            print(ledger.answer(turn, b"the answer of the one that slept").decode())
        except SupersededError:
            print("superseded")


def stopped_session(address: str, lease: str) -> None:
    """Release through a session, and stop this process by SIGSTOP before the data is read, once."""
    with protected(address, float(lease)) as session:
        pipeline = session._pipeline
        read = pipeline.exact

        def stop_and_read(*asked: object) -> object:
            pipeline.exact = read
            os.kill(os.getpid(), signal.SIGSTOP)
            return read(*asked)

        pipeline.exact = stop_and_read
        print(released(session))


def session(address: str) -> None:
    """Release the same question through a session that nothing stops."""
    with protected(address, 30.0) as opened_session:
        print(released(opened_session))


def protected(address: str, lease: float) -> dp.Session:
    rows = pa.table({"person": [f"p{i}" for i in range(100)]})
    budget, kept = dp.Budget(epsilon=1), opened(address, lease)
    return dp.protect(rows, name="visits", privacy_unit="person", max_rows=1, budget=budget, ledger=kept)


def released(session: dp.Session) -> str:
    release = session.release(dp.table("visits").agg(n=dp.count()), epsilon=Fraction(1, 10))
    return json.dumps(release.to_json())


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
