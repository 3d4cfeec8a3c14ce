"""Connections are made as they are needed and never shared with a fork; one that is lost costs nobody a charge."""

import os
import re
import secrets
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from discreet.errors import LedgerError
from discreet.ledger import PostgresLedger
from discreet.ledger.records import faults
from discreet.ledger.records.chain import now
from discreet.ledger.stores.postgres import CONNECTIONS
from discreet.ledger.transactions.store import UnknownOutcomeError
from processes import wait_for
from servers import SERVICE, STEWARD, PostgresServer


@pytest.fixture
def visits_there(postgres_address, dataset) -> Iterator[PostgresLedger]:
    with PostgresLedger(postgres_address) as ledger:
        ledger.register(dataset())
        yield ledger


def pids(ledger: PostgresLedger) -> list[int]:
    return [connection.info.backend_pid for connection in ledger._store._idle]


def test_one_thread_keeps_one_connection_and_threads_at_once_have_one_each(visits_there, charge, at_once):
    for _ in range(3):
        charge(visits_there, epsilon=0.01)
    assert len(pids(visits_there)) == 1
    gate = threading.Barrier(4)

    def slow(transaction: object) -> list[dict]:
        gate.wait(10)
        return transaction.read(("SELECT 1 AS one", {}))

    looks = [lambda: visits_there._store.look(slow)] * 4
    assert at_once(*looks) == [[[{"one": 1}]]] * 4
    assert len(set(pids(visits_there))) == 4


def test_more_threads_than_connections_take_turns(visits_there, charge, at_once, monkeypatch):
    monkeypatch.setattr(visits_there._store, "_places", threading.BoundedSemaphore(2))
    spent = at_once(*[lambda: charge(visits_there, epsilon=0.001)] * 12)
    assert len({receipt.sequence for receipt in spent}) == 12
    assert len(pids(visits_there)) <= 2
    assert CONNECTIONS == 32


def test_closing_closes_every_connection(visits_there, charge, ledger_server):
    charge(visits_there)
    (pid,) = pids(visits_there)
    visits_there.close()
    wait_for(lambda: not alive(ledger_server, pid), 10, lambda: "the backend lives")
    with pytest.raises(LedgerError, match=faults.CLOSED):
        charge(visits_there)


def alive(server: PostgresServer, pid: int) -> bool:
    with psycopg.connect(server.superuser_url) as connection:
        return connection.execute("SELECT 1 FROM pg_stat_activity WHERE pid = %s", (pid,)).fetchone() is not None


def in_a_fork(act: Callable[[], object]) -> int:
    """The exit status of a child that does something and ends at once."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            act()
            status = 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_a_fork_has_connections_of_its_own_and_leaves_those_of_its_parent_alone(visits_there, charge):
    charge(visits_there)
    before = pids(visits_there)

    def child() -> None:
        charge(visits_there)
        assert set(pids(visits_there)).isdisjoint(before)
        visits_there.close()

    assert in_a_fork(child) == 0
    assert in_a_fork(visits_there.close) == 0
    charge(visits_there)
    assert pids(visits_there) == before
    assert visits_there.spent("visits").epsilon == 3 * visits_there.history("visits")[-1].cost.epsilon
    assert visits_there.verify()


def terminated(server: PostgresServer, *backends: int) -> None:
    with psycopg.connect(server.superuser_url, autocommit=True) as connection:
        for pid in backends:
            connection.execute("SELECT pg_terminate_backend(%s)", (pid,))
    wait_for(lambda: not any(alive(server, pid) for pid in backends), 10, lambda: "a backend lives")


@pytest.mark.pitfall("D")
def test_connections_that_were_ended_between_charges_are_replaced_unseen(visits_there, charge, at_once, ledger_server):
    """More of them than a piece of work is tried: the others are not waited for one by one."""
    gate = threading.Barrier(6)
    at_once(*[lambda: visits_there._store.look(lambda _: gate.wait(10))] * 6)
    acts = {
        "charge": lambda: charge(visits_there),
        "register": lambda: visits_there.set_quota("visits", failures=5, reason="test"),
        "look": lambda: visits_there.spent("visits"),
        "verify": visits_there.verify,
    }
    for name, act in acts.items():
        terminated(ledger_server, *pids(visits_there))
        assert act() or name == "register"
    assert len([entry for entry in visits_there.history("visits") if entry.kind == "RESERVED"]) == 1
    assert visits_there.verify()


# A COMMIT whose reply is lost.

SLOW = """CREATE FUNCTION public.sleep() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN PERFORM pg_sleep(0.5); RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER slow_commit AFTER INSERT ON discreet.events DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW EXECUTE FUNCTION public.sleep()"""
QUICK = "DROP TRIGGER IF EXISTS slow_commit ON discreet.events; DROP FUNCTION IF EXISTS public.sleep()"
HARMED: list[str] = []
"""When a COMMIT was harmed: a charge that was made before that was committed, and one after it was made anew."""
COMMITTING = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND usename = ANY(%s)"


@pytest.fixture
def slow_commits(ledger_server: PostgresServer) -> Iterator[Callable[[], None]]:
    """Make every COMMIT that writes an event take half a second; put it back with a call, and at the end."""

    def run(statement: str) -> None:
        with psycopg.connect(ledger_server.superuser_url, autocommit=True) as connection:
            connection.execute(statement.encode())

    run(SLOW)
    yield lambda: run(QUICK)
    run(QUICK)


def committing(server: PostgresServer) -> int:
    """The backend that commits just now, waited for."""
    with psycopg.connect(server.superuser_url, autocommit=True) as connection:
        end = time.monotonic() + 10
        while time.monotonic() < end:
            row = connection.execute(COMMITTING, ([SERVICE, STEWARD],)).fetchone()
            if row is not None:
                return row[0]
    raise TimeoutError("nobody commits")


def end_the_backend(server: PostgresServer) -> None:
    """The server loses the transaction: what was to be committed is not."""
    pid = committing(server)
    HARMED.append(now())
    terminated(server, pid)


def cut_the_line(server: PostgresServer) -> None:
    """The server goes on and commits, and nobody hears of it."""
    pid = committing(server)
    HARMED.append(now())
    for descriptor in list(Path("/proc/self/fd").iterdir()):
        if not descriptor.is_socket():
            continue
        with socket.socket(fileno=os.dup(int(descriptor.name))) as found:
            if is_line_of(server, found, pid):
                found.shutdown(socket.SHUT_RDWR)


def is_line_of(server: PostgresServer, found: socket.socket, pid: int) -> bool:
    try:
        port = found.getsockname()[1]
        if found.getpeername()[1] != server.port:
            return False
    except (OSError, IndexError):
        return False
    with psycopg.connect(server.superuser_url, autocommit=True) as connection:
        owner = connection.execute("SELECT pid FROM pg_stat_activity WHERE client_port = %s", (port,)).fetchone()
    return owner == (pid,)


def meanwhile(harm: Callable[[], None], act: Callable[[], object]) -> object:
    """Do something, and harm it while it is under way."""
    failed: list[BaseException] = []

    def harming() -> None:
        try:
            harm()
        except BaseException as error:  # noqa: BLE001 - told below
            failed.append(error)

    thread = threading.Thread(target=harming)
    thread.start()
    try:
        return act()
    finally:
        thread.join()
        assert not failed, failed


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("D")
@pytest.mark.parametrize("harm", [end_the_backend, cut_the_line])
@pytest.mark.parametrize("request_key", [None, "r-1"])
@pytest.mark.parametrize("is_known", [True, False], ids=["a known analyst", "a new analyst"])
def test_a_charge_whose_reply_is_lost_is_looked_up_and_charged_once(
    visits_there, turn, ledger_server, slow_commits, harm, request_key, is_known
):
    """Whether it was committed or not; nobody waits for a lease of their own."""
    if is_known:
        slow_commits()
        turn(visits_there, fresh=True)
        with psycopg.connect(ledger_server.superuser_url, autocommit=True) as connection:
            connection.execute(SLOW.encode())
    before = visits_there.spent("visits").epsilon
    charged = meanwhile(lambda: harm(ledger_server), lambda: turn(visits_there, request=request_key, fresh=True))
    slow_commits()
    assert (charged.payload, charged.attempt) == (None, 1)
    assert (charged.receipt.time < HARMED[-1]) == (harm is cut_the_line)
    assert visits_there.spent("visits").epsilon == before + charged.receipt.cost.epsilon
    assert visits_there.share("visits", "ann").failures == 0
    assert visits_there.answer(charged, b"12") == b"12"
    assert visits_there.verify(receipts=[charged.receipt])


@pytest.mark.pitfall("D")
@pytest.mark.parametrize("harm", [end_the_backend, cut_the_line])
def test_an_answer_whose_reply_is_lost_is_stored_once(visits_there, turn, ledger_server, slow_commits, harm):
    slow_commits()
    held = turn(visits_there)
    with psycopg.connect(ledger_server.superuser_url, autocommit=True) as connection:
        connection.execute(SLOW.encode())
    stored = meanwhile(lambda: harm(ledger_server), lambda: visits_there.answer(held, b"12"))
    slow_commits()
    assert stored == b"12"
    assert visits_there.verify().events == 3


ENDING = """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE usename = %s AND datname = current_database() AND query ~ %s"""
SPENT = "SELECT spent_epsilon FROM discreet.datasets WHERE name = 'visits'"


def spent_by_the_row(server: PostgresServer) -> int:
    """What is spent, as another session sees it."""
    with psycopg.connect(server.superuser_url) as connection:
        return int(connection.execute(SPENT).fetchone()[0])


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("D")
def test_no_charge_that_was_committed_is_reported_as_not_made_however_sessions_end(visits_there, turn, ledger_server):
    """Sessions are ended at random moments, many of them within a COMMIT or in the reads after it."""
    is_over = threading.Event()

    def end_sessions() -> None:
        with psycopg.connect(ledger_server.superuser_url, autocommit=True) as connection:
            while not is_over.wait(secrets.randbelow(20) / 1000):
                connection.execute(ENDING, (STEWARD, secrets.choice(["COMMIT", "UPDATE|INSERT", "."])))

    thread = threading.Thread(target=end_sessions)
    thread.start()
    reported: Counter[tuple[str, bool]] = Counter()
    try:
        for number in range(60):
            before, outcome = spent_by_the_row(ledger_server), "charged"
            try:
                turn(visits_there, question=f"{number:064x}", epsilon=0.001)
            except UnknownOutcomeError:
                outcome = "unknown"
            except LedgerError:
                outcome = "not charged"
            reported[outcome, spent_by_the_row(ledger_server) > before] += 1
    finally:
        is_over.set()
        thread.join()
    assert (reported["not charged", True], reported["charged", False]) == (0, 0), reported


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("D")
def test_a_server_that_ends_just_after_the_commit_leaves_an_unknown_outcome(dataset, turn, monkeypatch):
    with PostgresServer(durable=True) as server:
        PostgresLedger.create(server.owner_url, role=SERVICE, steward=STEWARD)
        with PostgresLedger(server.steward_url, lease=1) as ledger:
            ledger.register(dataset())
            turn(ledger, fresh=True)
            anchor_positions = ledger._anchor_positions

            def end_the_server(writer: object) -> None:
                anchor_positions(writer)
                server.kill()

            monkeypatch.setattr(ledger, "_anchor_positions", end_the_server)
            before = ledger.spent("visits")
            with pytest.raises(UnknownOutcomeError):
                turn(ledger, request="r-1", fresh=True)
            monkeypatch.undo()
            server.restart()
            once = ledger.spent("visits")
            assert once != before
            assert turn(ledger, request="r-1", fresh=True).payload is None
            assert ledger.spent("visits") == once


def test_what_may_not_be_repeated_says_that_its_outcome_is_unknown(visits_there, ledger_server, slow_commits):
    """A cap is changed by a person, who looks and decides."""

    def act() -> None:
        with pytest.raises(UnknownOutcomeError, match=re.escape(faults.UNKNOWN)):
            visits_there.set_quota("visits", failures=5, reason="test")

    meanwhile(lambda: cut_the_line(ledger_server), act)
    slow_commits()
    assert visits_there.verify().events == 2


def test_statements_that_fail_leave_no_broken_connection_behind(visits_there, charge):
    for _ in range(3):
        with pytest.raises(LedgerError, match="SQLSTATE 42703"):
            visits_there._store.ask(("SELECT nonsense", {}))
        with pytest.raises(LedgerError, match=faults.BROKEN_RULE):
            visits_there._store.run(lambda work: work.write("UPDATE datasets SET head = :head", {"head": "x"}))
    charge(visits_there)
    assert visits_there.verify()


def test_a_change_that_no_row_takes_is_no_success(visits_there):
    with pytest.raises(LedgerError, match=re.escape(faults.DAMAGED)):
        visits_there._store.run(
            lambda work: work.write("UPDATE reservations SET lease = :s WHERE request = 'none'", {"s": 1})
        )
