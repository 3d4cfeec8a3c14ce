"""Named steps of a charge and its answer at which a client kills itself; nothing in discreet knows of them.

On SQLite a step is the moment before a statement runs, told by the driver's trace. On PostgreSQL it is the moment
before a statement is given to the driver, the one at which it was sent and its reply is awaited, or the one at which
its reply has arrived and was not read: a connection that watches its own waiting tells.
"""

import os
import select
import signal
from collections.abc import Generator
from typing import Any, NamedTuple

import psycopg
from psycopg.waiting import Wait

from discreet.ledger import Ledger, SQLiteLedger

BEFORE, SENT, REPLIED = "before", "sent", "replied"
WRITING, READING = "a transaction that writes", "one that only reads, or none"
BEGINNINGS = {"BEGIN DEFERRED": READING, "BEGIN ISOLATION": READING, "BEGIN": WRITING}


ANY_MOMENT = "at_any_moment"


class Step(NamedTuple):
    """Where a client dies, and whether it must be charged then: True, False, or None where either may be.

    `act` is T1 or T2, `within` the kind of transaction, `statement` how the statement, or one inside it, begins; a step
    without one is reached by the program itself. `is_new` asks as an analyst whom the ledger does not know yet.
    """

    name: str
    act: str = ""
    within: str = ""
    statement: str = ""
    when: str = BEFORE
    charged: bool | None = True
    is_new: bool = False


MOMENTS = (
    Step("before_everything", charged=False),
    Step("after_the_charge"),
    Step("after_the_computation"),
    Step("after_the_answer"),
    Step("after_the_reply"),
    Step(ANY_MOMENT, charged=None),
)

SQLITE = (
    *MOMENTS,
    Step("before_looking_for_an_answer", "T1", READING, "SELECT", charged=False),
    Step("before_the_lock", "T1", WRITING, "BEGIN", charged=False),
    Step("under_the_lock", "T1", WRITING, "SELECT", charged=False),
    Step("before_the_total", "T1", WRITING, "UPDATE datasets", charged=False),
    Step("before_the_share", "T1", WRITING, "UPDATE analysts", charged=False),
    Step("before_the_share_of_a_new_analyst", "T1", WRITING, "INSERT INTO analysts", charged=False, is_new=True),
    Step("before_the_event", "T1", WRITING, "INSERT INTO events", charged=False),
    Step("before_the_reservation", "T1", WRITING, "INSERT INTO reservations", charged=False),
    Step("before_the_first_commit", "T1", WRITING, "COMMIT", charged=False),
    Step("before_the_second_lock", "T2", WRITING, "BEGIN"),
    Step("under_the_second_lock", "T2", WRITING, "SELECT"),
    Step("before_the_head", "T2", WRITING, "UPDATE datasets"),
    Step("before_the_second_event", "T2", WRITING, "INSERT INTO events"),
    Step("before_the_outcome", "T2", WRITING, "UPDATE reservations"),
    Step("before_the_answer", "T2", WRITING, "INSERT INTO answers"),
    Step("before_the_second_commit", "T2", WRITING, "COMMIT"),
    Step("before_the_reply_is_read", "T2", READING, "SELECT"),
    Step("after_the_reply_is_read", "T2", READING, "COMMIT"),
)

POSTGRES = (
    *MOMENTS,
    Step("before_looking_for_an_answer", "T1", READING, "SELECT", charged=False),
    Step("before_the_lock", "T1", WRITING, "BEGIN", charged=False),
    Step("the_locks_were_asked_for", "T1", WRITING, "SELECT d.*", SENT, charged=False),
    Step("under_the_locks", "T1", WRITING, "UPDATE datasets", charged=False),
    Step("before_the_share_of_a_new_analyst", "T1", WRITING, "INSERT INTO analysts", charged=False, is_new=True),
    Step("before_the_first_commit", "T1", WRITING, "COMMIT", charged=False),
    Step("the_first_commit_was_sent", "T1", WRITING, "COMMIT", SENT, charged=None),
    Step("the_first_commit_is_done_and_its_reply_unread", "T1", WRITING, "COMMIT", REPLIED),
    Step("before_the_second_lock", "T2", WRITING, "BEGIN"),
    Step("the_second_lock_was_asked_for", "T2", WRITING, "SELECT d.*", SENT),
    Step("under_the_second_lock", "T2", WRITING, "UPDATE datasets"),
    Step("before_the_second_commit", "T2", WRITING, "COMMIT"),
    Step("the_second_commit_was_sent", "T2", WRITING, "COMMIT", SENT),
    Step("the_second_commit_is_done_and_its_reply_unread", "T2", WRITING, "COMMIT", REPLIED),
    Step("before_the_reply_is_asked_for", "T2", READING, "SELECT"),
    Step("the_reply_was_asked_for", "T2", READING, "SELECT", SENT),
    Step("the_reply_has_arrived_unread", "T2", READING, "SELECT", REPLIED),
)


def steps_of(address: str) -> tuple[Step, ...]:
    """The steps of the store at an address."""
    return POSTGRES if address.startswith("postgresql:") else SQLITE


RECORDED = "after_the_record"
PUBLISHING_ON_SQLITE = (
    Step("before_the_lock", "T1", WRITING, "BEGIN", charged=False),
    Step("under_the_lock", "T1", WRITING, "SELECT", charged=False),
    Step("before_the_head", "T1", WRITING, "UPDATE datasets", charged=False),
    Step("before_the_event", "T1", WRITING, "INSERT INTO events", charged=False),
    Step("before_the_commit", "T1", WRITING, "COMMIT", charged=False),
    Step(RECORDED),
)
PUBLISHING_ON_POSTGRES = (
    Step("before_the_transaction", "T1", WRITING, "BEGIN", charged=False),
    Step("the_lock_was_asked_for", "T1", WRITING, "SELECT d.*", SENT, charged=False),
    Step("under_the_lock", "T1", WRITING, "UPDATE datasets", charged=False),
    Step("before_the_commit", "T1", WRITING, "COMMIT", charged=False),
    Step("the_commit_was_sent", "T1", WRITING, "COMMIT", SENT, charged=None),
    Step("the_commit_is_done_and_its_reply_unread", "T1", WRITING, "COMMIT", REPLIED),
    Step(RECORDED),
)


def publishing_steps(address: str) -> tuple[Step, ...]:
    """The steps at which another release is recorded; `charged` says whether it must be on record."""
    return PUBLISHING_ON_POSTGRES if address.startswith("postgresql:") else PUBLISHING_ON_SQLITE


class Failpoint:
    """Kills this process at one step; with none it only looks on."""

    def __init__(self, step: Step | None) -> None:
        self._step = step
        self._within = READING
        self._is_armed = False
        self.act = ""

    def reach(self, moment: str) -> None:
        """The program reached a moment of its own."""
        if self._step is not None and self._step.name == moment:
            self.strike()

    def before(self, statement: str, socket: int | None = None) -> None:
        """A statement is about to run; a write comes after the replies to all reads before it, waited for or not.

        The driver reads while it still sends, so a reply may have arrived before anybody came to wait for it.
        """
        if self._is_armed and self._when == SENT and not statement.startswith("SELECT"):
            self.strike(socket)
        kind = next((BEGINNINGS[word] for word in BEGINNINGS if statement.startswith(word)), None)
        self._within = kind or self._within
        if self._is_reached(statement):
            self._is_armed = True
            if self._when == BEFORE:
                self.strike()
        if statement.startswith(("COMMIT", "ROLLBACK")):
            self._within = READING

    def waits(self, for_what: Wait, socket: int) -> None:
        """The connection waits; where it waits only to read, all was sent."""
        if self._is_armed and self._when and for_what is Wait.R:
            if self._when == REPLIED:
                select.select([socket], [], [], 30)
            self.strike(socket)

    def strike(self, socket: int | None = None) -> None:  # noqa: ARG002 - others cut the connection
        """A real SIGKILL, to this process."""
        os.kill(os.getpid(), signal.SIGKILL)

    def watch(self, ledger: Ledger) -> None:
        """See every statement of a ledger on SQLite, whose connection is there from the beginning."""
        if isinstance(ledger, SQLiteLedger):
            ledger._store._connected.connection.set_trace_callback(self.before)  # type: ignore[attr-defined]

    @property
    def holds_replies(self) -> bool:
        """Whether the reply to a statement that was sent is to arrive and stay unread."""
        return self._is_armed and self._when == REPLIED

    @property
    def _when(self) -> str | None:
        return None if self._step is None else self._step.when

    def _is_reached(self, statement: str) -> bool:
        if self._step is None or not self._step.statement or self._is_armed:
            return False
        place = (self._step.act, self._step.within)
        wanted = self._step.statement
        begins = statement.startswith(wanted) or f"({wanted}" in statement
        return place == (self.act, self._within) and begins


class WatchedConnection(psycopg.Connection[Any]):
    """A connection that tells a failpoint of its statements and of its waiting."""

    failpoint = Failpoint(None)

    def execute(self, query: Any, *values: Any, **options: Any) -> psycopg.Cursor[Any]:
        self.failpoint.before(query.decode() if isinstance(query, bytes) else query, self.fileno())
        return super().execute(query, *values, **options)

    def wait(self, gen: Any, *times: Any, **options: Any) -> Any:
        return super().wait(self._watched(gen), *times, **options)

    def _watched(self, steps: Any) -> Generator[Wait, Any, Any]:
        try:
            wanted = next(steps)
            while True:
                self.failpoint.waits(wanted, self.fileno())
                # the driver reads while it still sends: a reply that is to stay unread is not read before all was sent
                is_held = wanted is Wait.RW and self.failpoint.holds_replies
                wanted = steps.send((yield Wait.W if is_held else wanted))
        except StopIteration as end:
            return end.value


def watch_connections(failpoint: Failpoint) -> None:
    """See every statement on PostgreSQL from now on, in this process."""
    WatchedConnection.failpoint = failpoint
    psycopg.connect = WatchedConnection.connect  # type: ignore[assignment]
