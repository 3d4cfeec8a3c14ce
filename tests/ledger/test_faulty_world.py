"""A world that misbehaves: workers that sleep past their lease, full disks, clocks a year off, a thousand failures.

The faults are real: SIGSTOP, limits of the system on files, libfaketime. `faulty_world.py` is the process they strike.
"""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest

from clocks import Clock
from discreet.errors import BudgetError, LedgerError
from discreet.ledger import Kind, Ledger, PostgresLedger, SQLiteLedger, State, SupersededError
from discreet.ledger.records import faults
from processes import state, wait_for
from servers import SERVICE, STEWARD, PostgresServer

PROGRAM = Path(__file__).with_name("faulty_world.py")
TENTH = 10**11
LEASE = 1.0

Program = subprocess.Popen[str]


@pytest.fixture
def started() -> Iterator[Callable[..., Program]]:
    """Start an act of faulty_world.py; whatever is left of it in the end is killed."""
    with ExitStack() as ending:

        def start(act: str, *arguments: object, **environment: str) -> Program:
            command = [sys.executable, str(PROGRAM), act, *map(str, arguments)]
            program = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | environment)
            ending.enter_context(program)
            ending.callback(program.kill)
            return program

        yield start


def told(program: Program) -> str:
    """What a program printed, once it has ended well."""
    printed, _ = program.communicate(timeout=60)
    assert program.returncode == 0
    return printed.strip()


def wait_until_it_sleeps(program: Program) -> None:
    wait_for(lambda: state(program.pid) == "T", 60, lambda: "the program does not stop")


def wake(program: Program) -> None:
    os.kill(program.pid, signal.SIGCONT)


# SIGSTOP past the lease


@pytest.mark.pitfall("D")
@pytest.mark.guarantee("ledger")
def test_a_worker_that_slept_past_its_lease_gets_the_answer_of_the_one_that_took_over(address, visits, turn, started):
    slept = started("stopped", address, LEASE)
    wait_until_it_sleeps(slept)
    taken = turn(visits, question="ab", description="{}", patience=60)
    assert (taken.attempt, taken.payload) == (2, None)
    assert visits.answer(taken, b"the only answer") == b"the only answer"
    wake(slept)
    assert told(slept) == "the only answer"
    assert visits.stored_answer("visits", "ab") == b"the only answer"
    assert visits.spent("visits").epsilon == TENTH
    assert visits.share("visits", "ann").failures == 1
    assert visits.verify()


@pytest.mark.pitfall("D")
@pytest.mark.guarantee("ledger")
def test_a_worker_that_slept_past_its_lease_cannot_answer_while_another_is_at_it(address, visits, turn, started):
    slept = started("stopped", address, LEASE)
    wait_until_it_sleeps(slept)
    taken = turn(visits, question="ab", description="{}", patience=60)
    wake(slept)
    assert told(slept) == "superseded"
    assert visits.state(taken.receipt) is State.RESERVED
    assert visits.answer(taken, b"the only answer") == b"the only answer"
    assert visits.spent("visits").epsilon == TENTH
    assert visits.verify()


@pytest.mark.pitfall("D")
@pytest.mark.guarantee("ledger")
def test_sessions_that_slept_past_their_leases_all_give_one_release(address, ledger, started):
    """The second takes over from the first and sleeps too; the first takes over from the second, and answers."""
    first = started("stopped_session", address, LEASE)
    wait_until_it_sleeps(first)
    second = started("stopped_session", address, LEASE)
    wait_until_it_sleeps(second)
    wake(first)
    release = json.loads(told(first))
    wake(second)
    assert json.loads(told(second)) == release
    assert json.loads(told(started("session", address))) == release
    assert ledger.spent("visits").epsilon == TENTH
    assert [entry.state for entry in ledger.history("visits") if entry.kind == Kind.RESERVED] == [State.ANSWERED]
    assert ledger.verify()


# A fork


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_does_not_wait_for_a_thread_that_stayed_in_its_parent(path, started):
    assert told(started("fork_while_a_position_is_recorded", path)) == "0"


# A disk that is full while an answer is stored


@pytest.fixture
def harmed(durable_postgres: PostgresServer) -> PostgresServer:
    """A server whose disk fills; each test has a ledger of its own in it."""
    with psycopg.connect(durable_postgres.owner_url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS discreet CASCADE")
    PostgresLedger.create(durable_postgres.owner_url, role=SERVICE, steward=STEWARD)
    return durable_postgres


@pytest.mark.pitfall("D")
@pytest.mark.guarantee("ledger")
def test_a_full_disk_while_storing_keeps_the_charge_and_the_retry_works_on_sqlite(path, started):
    printed = told(started("full_disk", path)).splitlines()
    assert printed == [faults.FULL, "RESERVED", str(TENTH), "1000000", "True"]


@pytest.mark.pitfall("D")
@pytest.mark.guarantee("ledger")
def test_a_full_disk_while_storing_keeps_the_charge_and_the_retry_works_on_postgresql(harmed, dataset, turn):
    payload = os.urandom(40 * 2**20)
    with PostgresLedger(harmed.steward_url) as ledger:
        ledger.register(dataset())
        asked = turn(ledger)
        # The limit on files of this test is no full disk to PostgreSQL (53100), but an internal error.
        with harmed.full_disk(), pytest.raises(LedgerError, match=re.escape(faults.unrecognised("SQLSTATE XX000"))):
            ledger.answer(asked, payload)
        assert ledger.state(asked.receipt) is State.RESERVED
        assert ledger.spent("visits").epsilon == TENTH
        assert ledger.answer(asked, payload) == payload
        assert ledger.spent("visits").epsilon == TENTH
        assert ledger.verify(receipts=asked.receipts)


# A clock that is a year off


@pytest.fixture
def moved_clock(other_clocks: None, postgres_installed: None) -> Iterator[PostgresServer]:
    """A PostgreSQL with a ledger in it, whose clock is moved."""
    with PostgresServer(durable=True, clock="+0") as server:
        PostgresLedger.create(server.owner_url, role=SERVICE, steward=STEWARD)
        yield server


@pytest.mark.pitfall("D")
@pytest.mark.guarantee("ledger")
def test_a_server_whose_clock_moves_by_years_keeps_order_and_totals_and_answers_once(moved_clock, dataset, turn):
    with PostgresLedger(moved_clock.steward_url, lease=30) as ledger:
        ledger.register(dataset())
        attempts = [turn(ledger, question="ab", patience=0)]
        for number, shift in enumerate(("+1y", "-1y", "+0")):
            moved_clock.clock.move(shift)
            other = turn(ledger, question=f"c{number}", patience=0)
            assert ledger.answer(other, b"other") == b"other"
            attempts.append(turn(ledger, question="ab", patience=0))
        _check_that_only_the_last_answers(ledger, attempts)


@pytest.mark.pitfall("D")
@pytest.mark.guarantee("ledger")
def test_processes_whose_clocks_are_years_apart_keep_order_and_totals_and_answer_once(
    tmp_path, path, other_clocks, dataset, turn, started
):
    """SQLite has the clock of each process. One a year ahead sleeps; one a year behind takes over and sleeps too."""
    with SQLiteLedger(path) as ledger:
        ledger.register(dataset())
        ahead = started("stopped", path, 30, **Clock(_made(tmp_path / "ahead"), "+1y").environment())
        wait_until_it_sleeps(ahead)
        behind = started("stopped", path, 30, **Clock(_made(tmp_path / "behind"), "-1y").environment())
        wait_until_it_sleeps(behind)
        last = turn(ledger, question="ab", description="{}", patience=0)
        assert last.attempt == 3
        wake(ahead)
        assert told(ahead) == "superseded"
        assert ledger.answer(last, b"the only answer") == b"the only answer"
        wake(behind)
        assert told(behind) == "the only answer"
        assert [entry.sequence for entry in ledger.history("visits")] == [1, 2]
        assert ledger.spent("visits").epsilon == TENTH
        assert ledger.verify()


def _made(directory: Path) -> Path:
    directory.mkdir()
    return directory


def _check_that_only_the_last_answers(ledger: Ledger, attempts: list) -> None:
    *slept, last = attempts
    assert [each.attempt for each in attempts] == list(range(1, len(attempts) + 1))
    for each in slept:
        with pytest.raises(SupersededError):
            ledger.answer(each, b"too late")
    assert ledger.answer(last, b"answer") == b"answer"
    assert {ledger.answer(each, b"too late") for each in slept} == {b"answer"}
    charges = [entry for entry in ledger.history("visits") if entry.kind == Kind.RESERVED]
    assert [entry.sequence for entry in charges] == sorted(entry.sequence for entry in charges)
    assert ledger.spent("visits").epsilon == len(charges) * TENTH == 4 * TENTH
    assert ledger.verify()


# A hundred questions that are cancelled, and a thousand


@pytest.mark.full
@pytest.mark.pitfall("B3")
@pytest.mark.pitfall("D")
@pytest.mark.guarantee("ledger")
@pytest.mark.parametrize("cancelled", [100, pytest.param(1_000, marks=pytest.mark.nightly)])
def test_cancelled_questions_give_nothing_back_and_no_more_are_taken(visits, charge, cancelled):
    visits.set_quota("visits", "ann", failures=cancelled, reason="a test of patience")
    spent = 0
    for number in range(cancelled):
        receipt = charge(visits, epsilon=1e-6)
        assert visits.forfeit(receipt, "KeyboardInterrupt") is State.FORFEITED
        now = visits.spent("visits").epsilon
        assert now == spent + 10**6, number
        spent = now
    with pytest.raises(BudgetError, match=f"{cancelled} of their queries failed"):
        charge(visits, epsilon=1e-6)
    assert visits.share("visits", "ann").failures == cancelled
    assert charge(visits, epsilon=1e-6, analyst="bob")
    assert visits.verify()
