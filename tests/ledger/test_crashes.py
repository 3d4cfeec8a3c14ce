"""SIGKILL at every step of T1 and T2, at any moment, and of PostgreSQL itself: charged and answered once, nothing lost.

The programs that crash are real, and so is the signal. `scripts/bench crashes` runs the same campaign at length.
"""

import os
import socket as wires
from collections.abc import Callable
from contextlib import suppress

import psycopg
import pytest

from campaigns import asked_through, crashed_clients, killed, robbed_of_a_backend, wrong_with_crashes
from discreet.errors import LedgerError
from discreet.ledger import Ledger, PostgresLedger, Reservation, State
from discreet.ledger.records import faults
from histories import wrong_with_requests
from ledger.failpoints import BEFORE, POSTGRES, REPLIED, SQLITE, Failpoint, Step, WatchedConnection
from servers import SERVICE, STEWARD, PostgresServer

QUESTION = "ab"
TENTH = 10**11
FEWEST_STEPS = 12


@pytest.mark.parametrize("steps", [SQLITE, POSTGRES], ids=["sqlite", "postgres"])
def test_clients_are_killed_at_many_named_steps(steps):
    assert len({step.name for step in steps}) == len(steps) >= FEWEST_STEPS


class Noted(Failpoint):
    """Strikes without harm, and counts."""

    strikes = 0

    def strike(self, socket: int | None = None) -> None:  # noqa: ARG002
        self.strikes += 1


@pytest.mark.parametrize("step", [step for step in POSTGRES if step.name == "the_locks_were_asked_for"])
def test_a_step_of_reads_whose_replies_nobody_waited_for_is_reached_before_the_next_write(step):
    """Only where nothing else was sent is it known that nothing was charged."""
    failpoint = Noted(step)
    failpoint.act = "T1"
    for statement in ("BEGIN", "SELECT current_setting", "SELECT d.* FROM datasets AS d", "SELECT * FROM versions"):
        failpoint.before(statement)
    assert (step.charged, failpoint.strikes) == (False, 0)
    failpoint.before("WITH done AS (UPDATE datasets SET")
    assert failpoint.strikes == 1


@pytest.mark.pitfall("B3")
@pytest.mark.pitfall("D")
@pytest.mark.guarantee("ledger")
@pytest.mark.parametrize("waves", [1, pytest.param(6, marks=pytest.mark.nightly)])
def test_a_client_killed_at_any_step_is_charged_once_and_its_retries_are_answered_alike(address, another, waves):
    """Each retry is a process of its own, under the request key of the client that died."""
    cases = crashed_clients(address, waves=waves)
    assert len(cases) == waves * len(POSTGRES if address.startswith("postgresql:") else SQLITE)
    assert wrong_with_crashes(another(), cases) == []


# SIGKILL of PostgreSQL itself


@pytest.fixture
def harmed(durable_postgres: PostgresServer) -> PostgresServer:
    """A server that is killed; each test has a ledger of its own in it."""
    with psycopg.connect(durable_postgres.owner_url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS discreet CASCADE")
    PostgresLedger.create(durable_postgres.owner_url, role=SERVICE, steward=STEWARD)
    return durable_postgres


@pytest.mark.full
@pytest.mark.pitfall("B6")
@pytest.mark.pitfall("D")
@pytest.mark.guarantee("ledger")
@pytest.mark.parametrize(
    ("harm", "times"),
    [
        (killed, 4),
        (robbed_of_a_backend, 3),
        pytest.param(killed, 20, marks=pytest.mark.nightly),
        pytest.param(robbed_of_a_backend, 10, marks=pytest.mark.nightly),
    ],
)
def test_a_server_killed_under_load_keeps_what_it_acknowledged_and_charges_nothing_twice(harmed, harm, times):
    """Eight spenders go on through every crash, each asking again under the same request key."""
    requests = asked_through(harmed, harm, times=times)
    assert len(requests) >= times
    with PostgresLedger(harmed.steward_url) as ledger:
        assert wrong_with_requests(ledger, requests) == []


# A connection is lost at each step, and the client lives


class Cut(Failpoint):
    """Cuts the connection once instead of dying; a reply that has arrived is lost."""

    is_done = False

    def strike(self, socket: int | None = None) -> None:
        self._step, self.is_done = None, True
        with wires.socket(fileno=os.dup(socket or -1)) as wire:
            with suppress(BlockingIOError):
                wire.recv(2**20, wires.MSG_DONTWAIT)
            wire.shutdown(wires.SHUT_RDWR)


class CutByTheServer(Cut):
    """Kills the server too, so that it cannot be asked what became of the charge."""

    def __init__(self, step: Step, server: PostgresServer) -> None:
        super().__init__(step)
        self._server = server

    def strike(self, socket: int | None = None) -> None:
        super().strike(socket)
        self._server.kill()


@pytest.fixture
def cutting(monkeypatch: pytest.MonkeyPatch) -> Callable[[Cut], Cut]:
    """Cut the connections that this process opens from now on."""

    def cut_by(cut: Cut) -> Cut:
        monkeypatch.setattr(WatchedConnection, "failpoint", cut)
        monkeypatch.setattr(psycopg, "connect", WatchedConnection.connect)
        return cut

    return cut_by


@pytest.mark.pitfall("D")
@pytest.mark.guarantee("ledger")
@pytest.mark.parametrize("key", [None, "r-1"], ids=["no key", "a key"])
@pytest.mark.parametrize("step", [step for step in POSTGRES if step.when != BEFORE], ids=lambda step: step.name)
def test_a_connection_lost_at_any_step_is_made_again_and_the_outcome_looked_up(
    postgres_address, cutting, dataset, turn, step, key
):
    cut = cutting(Cut(step))
    with PostgresLedger(postgres_address, lease=0.3) as ledger:
        cut.watch(ledger)
        ledger.register(dataset())
        if not step.is_new:
            ledger.set_quota("visits", "ann", failures=9, reason="known")
        cut.act = "T1"
        asked = turn(ledger, request=key)
        cut.act = "T2"
        assert ledger.answer(asked, b"answer") == b"answer"
        assert cut.is_done
        assert ledger.spent("visits").epsilon == TENTH
        assert ledger.state(asked.receipt) is State.ANSWERED
        assert ledger.verify(receipts=asked.receipts)


@pytest.mark.full
@pytest.mark.pitfall("D")
@pytest.mark.guarantee("ledger")
@pytest.mark.parametrize("step", [step for step in POSTGRES if step.when == REPLIED], ids=lambda step: step.name)
def test_an_outcome_that_cannot_be_looked_up_is_told_as_unknown_and_found_later(harmed, cutting, dataset, turn, step):
    """The commit is durable, its acknowledgement is lost, and the server is gone before anybody can ask."""
    with PostgresLedger(harmed.steward_url, lease=0.3) as setting_up:
        setting_up.register(dataset())
        if not step.is_new:
            setting_up.set_quota("visits", "ann", failures=9, reason="known")
    cut = cutting(CutByTheServer(step, harmed))
    with PostgresLedger(harmed.steward_url, lease=0.3) as ledger:
        cut.watch(ledger)
        with pytest.raises(LedgerError) as lost:
            _ask_and_answer(ledger, turn, cut)
        harmed.restart()
        assert cut.is_done
        assert ledger.spent("visits").epsilon == TENTH
        assert step.act != "T1" or str(lost.value) == faults.UNKNOWN
        reply = _ask_and_answer(ledger, turn, cut)
        assert ledger.stored_answer("visits", QUESTION) == reply
        assert ledger.spent("visits").epsilon == TENTH
        assert ledger.verify()


def _ask_and_answer(ledger: Ledger, turn: Callable[..., Reservation], cut: Cut) -> bytes:
    cut.act = "T1"
    asked = turn(ledger, question=QUESTION, request="r-1")
    cut.act = "T2"
    return asked.payload or ledger.answer(asked, b"answer")
