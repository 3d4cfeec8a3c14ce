"""Work on PostgreSQL: reads in one round trip, writes and COMMIT in another, and every fault as one constant sentence.

All that belongs to a dataset is changed under the lock on its row (SELECT ... FOR UPDATE, READ COMMITTED), so work on
one dataset takes turns and needs no retries. A connection that is lost before COMMIT was sent left nothing behind, and
the work is run again on another; one that is lost after it is reported as an unknown outcome.

Nothing is taken from the session but its mark: a pooler may have given it to somebody else of the same role meanwhile,
with temporary tables and a search path of theirs. Each transaction sets its own isolation level and search path, in the
round trip of its first statement. Through a pooler no statement is prepared, since others could replace it.
"""

import contextlib
import os
import re
import secrets
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, TypeVar

from discreet.errors import LedgerError
from discreet.ledger.records import faults
from discreet.ledger.stores import (
    postgres_findings,
    postgres_functions,
    postgres_rights,
    postgres_schema,
    postgres_sessions,
)
from discreet.ledger.stores.postgres_errors import connect, sentences
from discreet.ledger.transactions.steward import StewardWrite
from discreet.ledger.transactions.store import RoleRights, Row, Statement, Transaction, UnknownOutcomeError, Values

if TYPE_CHECKING:
    import psycopg

T = TypeVar("T")

CONNECTIONS = 32
TRIES = 3
_NO_TRANSACTIONS = "08P01"
_ENDS_OF_SESSIONS = ("08", "57P")
CLOCK = "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)"
_ALONE = f"pg_advisory_xact_lock({postgres_schema.LOCK + 1})"
_PATH = "search_path = discreet, pg_temp"
_SETTINGS = f"""SET {_PATH}; SET lock_timeout = '60s'; SET statement_timeout = '120s';
SET idle_in_transaction_session_timeout = '60s'; SET default_transaction_isolation = 'read committed';
SET client_encoding = 'UTF8'"""
_OWN_PATH = f"SET LOCAL {_PATH}"
_BEGIN = "BEGIN TRANSACTION ISOLATION LEVEL READ COMMITTED"
_BEGIN_TO_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_VERSION = "(SELECT max(version) FROM discreet.schema_versions)"
_MARK = f"current_setting('{postgres_sessions.MARK}', TRUE)"
_SAFE = """SELECT current_setting('fsync') = 'on' AND current_setting('full_page_writes') = 'on'
  AND current_setting('synchronous_commit') <> 'off'
  AND current_setting('session_replication_role') <> 'replica' AS durable, pg_is_in_recovery() AS replica"""
# First of what writes: it waits for a migration under way, which keeps this table to itself, and the next one waits.
_FIT = f"{_SAFE}, {_VERSION} AS version, {_MARK} AS mark"
_FIT_TO_READ = f"SELECT {_MARK} AS mark"
_FIT_AT_FIRST = f"{_SAFE}, {_MARK} AS mark, pg_backend_pid() AS pid"
_SCHEMA_SEEN = """SELECT NOT COALESCE(has_schema_privilege(to_regnamespace('discreet'), 'USAGE'), TRUE) AS unusable,
  CASE WHEN has_schema_privilege(to_regnamespace('discreet'), 'USAGE')
  THEN to_regclass('discreet.schema_versions') IS NOT NULL ELSE FALSE END AS there"""


class _PostgresTransaction:
    """The transaction of one piece of work; writes wait until its reads are done."""

    def __init__(
        self,
        connection: "psycopg.Connection[Any]",
        pipeline: "psycopg.Pipeline | None" = None,
        *,
        is_steward: bool = False,
    ) -> None:
        self._connection = connection
        self._pipeline = pipeline
        self._is_steward = is_steward
        self.writes: list[tuple[bytes, Values]] = []

    def read(self, *questions: Statement) -> list[list[Row]]:
        cursors = [self._connection.execute(_postgres(text), values) for text, values in questions]
        if self._pipeline is not None:  # without a Sync no timeout runs for a client that stops here, holding its locks
            self._pipeline.sync()
        return [cursor.fetchall() for cursor in cursors]

    def write(self, statement: str, values: Values) -> None:
        self.writes.append((_checked_write(statement), values))

    def write_as_steward(self, write: StewardWrite, values: Values) -> None:
        if not self._is_steward:
            raise LedgerError(faults.NOT_A_STEWARD)
        self.writes.append((postgres_functions.steward_call(write), values))


class PostgresStore:
    """A database with a ledger in it; connections are made as they are needed, and kept."""

    def __init__(self, address: str, *, refuses_more_rights: bool = True) -> None:
        self._address = address
        self._refuses_more_rights = refuses_more_rights
        self._is_closed = False
        self._is_shared = False
        self._mark = secrets.token_hex(8)
        self._newer = faults.NEWER
        self._servers: set[str] = set()
        self.is_steward = False
        self._start()
        try:
            with sentences(), self._borrow_connection() as connection:
                postgres_sessions.refuse_shared_sessions(connection, self._mark, self._connect_another)
        except BaseException:
            self.close()
            raise
        self._newer = faults.MIGRATED

    def run(self, work: Callable[[Transaction], T]) -> T:
        """Run work and commit what it wrote; on any exception nothing is written."""
        act = partial(_run_and_commit, work=work, mark=self._mark, is_steward=self.is_steward)
        return self._on_a_connection(act)

    def look(self, work: Callable[[Transaction], T]) -> T:
        """Run work that reads, in one consistent view."""
        return self._on_a_connection(partial(_run_read_only, work=work, mark=self._mark))

    def ask(self, question: Statement) -> list[Row]:
        """The rows of one statement, in one round trip."""
        return self._on_a_connection(partial(_ask, question=question, mark=self._mark))

    def refuse_service(self) -> None:
        """Refuse a role that may not make the steward's writes now, and a database that takes no writes."""
        self._on_a_connection(partial(_refuse_service, mark=self._mark, refuses_more_rights=self._refuses_more_rights))

    def role_rights(self) -> RoleRights:
        """Whether the role of this process owns the database, or may do more than discreet grants."""
        return self._on_a_connection(partial(_look_up, what=postgres_rights.role_rights, mark=self._mark))

    def findings(self, *, full: bool) -> list[str]:  # noqa: ARG002 - the server checks its pages as it reads them
        """What is wrong with the rules of the database."""
        return self._on_a_connection(partial(_look_up, what=_all_findings, mark=self._mark))

    def close(self) -> None:
        """Close every connection that is not at work; those of another process are left alone."""
        self._is_closed = True
        self._close_idle()

    def _close_idle(self) -> None:
        _close_each(self._idle, self._pid)

    def _on_a_connection(self, act: Callable[["psycopg.Connection[Any]"], T]) -> T:
        """Act on a connection, and on another where the first was lost before it did anything."""
        for remaining in reversed(range(TRIES)):
            with sentences(), self._borrow_connection() as connection:
                try:
                    return act(connection)
                except _driver_error() as error:
                    _refuse_single_statements(error)
                    if _is_of_another_schema(error):
                        _explain_missing(connection, self._mark)
                    if not (remaining and connection.closed and isinstance(error, _connection_error())):
                        raise
        raise LedgerError(faults.UNREACHABLE)

    def _start(self) -> None:
        self._pid = os.getpid()
        self._idle: deque[psycopg.Connection[Any]] = deque()
        self._places = threading.BoundedSemaphore(CONNECTIONS)
        weakref.finalize(self, _close_each, self._idle, self._pid)  # a session does not close the ledger it opened

    def _open_connection(self) -> "psycopg.Connection[Any]":
        connection, self.is_steward = _connect_to_ledger(
            self._address, self._mark, self._newer, refuses_more_rights=self._refuses_more_rights
        )
        self._warn_of(connection)
        return connection

    def _warn_of(self, connection: "psycopg.Connection[Any]") -> None:
        """Warn once of each server that nothing checks: an address may name several hosts."""
        server = connection.info.hostaddr
        if server not in self._servers:
            self._servers.add(server)
            postgres_sessions.warn_of_unchecked_server(connection)

    def _connect_another(self) -> "psycopg.Connection[Any]":
        return connect(self._address, connect_timeout=2)

    def _take_idle(self) -> "psycopg.Connection[Any] | None":
        try:
            return self._idle.pop()
        except IndexError:
            return None

    def _refuse_use(self) -> None:
        if self._is_closed:
            raise LedgerError(faults.CLOSED)
        if self._is_shared:  # a new connection would set up its session, and lose it as well
            raise LedgerError(faults.POOLED)
        if self._pid != os.getpid():
            self._start()

    def _is_over(self) -> bool:
        return self._is_closed or self._pid != os.getpid()

    @contextlib.contextmanager
    def _borrow_connection(self) -> Iterator["psycopg.Connection[Any]"]:
        """A connection of this process; one inherited over a fork belongs to the parent and is left alone."""
        self._refuse_use()
        with self._places:
            connection = self._take_idle() or self._open_connection()
            try:
                yield connection
            except LedgerError as error:
                self._is_shared = self._is_shared or str(error) == faults.POOLED
                raise
            finally:
                if connection.closed:  # the others, made before, may have gone with the same server
                    self._close_idle()
                _clean(connection)
                if connection.closed or self._is_over():
                    connection.close()
                else:
                    self._idle.append(connection)


def _close_each(idle: "deque[psycopg.Connection[Any]]", pid: int) -> None:
    """Close connections in the process that made them."""
    with contextlib.suppress(IndexError):
        while pid == os.getpid():
            idle.pop().close()


def _begin(connection: "psycopg.Connection[Any]", begin: str, fit: str) -> "psycopg.Cursor[Any]":
    """Begin a transaction with a search path of its own; the row of the cursor says whether its session is fit."""
    connection.execute(begin.encode())
    connection.execute(_OWN_PATH.encode())
    return connection.execute(fit.encode())


def _result_if_fit(work: Callable[[], T], fit: "psycopg.Cursor[Any]", refuse: Callable[[Any], None]) -> T:
    """What work comes to in a session that is fit; in another one that may be why it failed."""
    try:
        result = work()
    except Exception:
        if fit.pgresult is not None:
            refuse(fit.fetchone())
        raise
    refuse(fit.fetchone())
    return result


def _run_and_commit(
    connection: "psycopg.Connection[Any]", work: Callable[[Transaction], T], mark: str, *, is_steward: bool = False
) -> T:
    sent = False
    try:
        with connection.pipeline() as pipeline:
            done = _PostgresTransaction(connection, pipeline, is_steward=is_steward)
            fit = _begin(connection, _BEGIN, _FIT)
            result = _result_if_fit(lambda: work(done), fit, partial(_refuse_unfit_session, mark=mark))
            for text, values in done.writes:
                connection.execute(text, values)
            sent = bool(done.writes)
            connection.execute("COMMIT")
    except _driver_error() as error:
        if sent and not _is_undone(error):
            raise UnknownOutcomeError from None
        raise
    return result


def _is_undone(error: "psycopg.Error") -> bool:
    """Whether the server said that it undid the transaction: COMMIT came to nothing.

    Where it only said that it ends the session (classes 08 and 57P), or the connection was lost, COMMIT may have been
    done before. The driver may hear of neither, and keep the connection open, until it is used again.
    """
    return error.sqlstate is not None and not error.sqlstate.startswith(_ENDS_OF_SESSIONS)


def _run_read_only(connection: "psycopg.Connection[Any]", work: Callable[[Transaction], T], mark: str) -> T:
    """The session is looked at last: the first query takes the snapshot, and work may read anchors before it asks."""
    with connection.pipeline() as pipeline:
        connection.execute(_BEGIN_TO_READ.encode())
        connection.execute(_OWN_PATH.encode())
        try:
            result = work(_PostgresTransaction(connection, pipeline))
        except Exception:
            with contextlib.suppress(_driver_error()):
                _refuse_another_session(connection.execute(_FIT_TO_READ.encode()).fetchone(), mark)
            raise
        fit = connection.execute(_FIT_TO_READ.encode())
        connection.execute("COMMIT")
    _refuse_another_session(fit.fetchone(), mark)
    return result


def _ask(connection: "psycopg.Connection[Any]", question: Statement, mark: str) -> list[Row]:
    text, values = question
    with connection.pipeline():
        fit = _begin(connection, _BEGIN_TO_READ, _FIT_TO_READ)
        cursor = connection.execute(_postgres(text), values)
        connection.execute("COMMIT")
    _refuse_another_session(fit.fetchone(), mark)
    return cursor.fetchall()


def _look_up(connection: "psycopg.Connection[Any]", what: Callable[["psycopg.Connection[Any]"], T], mark: str) -> T:
    """What the catalogue says, in a transaction: in the session of somebody else it could be another catalogue."""
    fit = _begin(connection, _BEGIN, _FIT_TO_READ)
    _refuse_another_session(fit.fetchone(), mark)
    found = what(connection)
    connection.execute("COMMIT")
    return found


def _all_findings(connection: "psycopg.Connection[Any]") -> list[str]:
    return list(postgres_findings.findings(connection))


def _refuse_service(connection: "psycopg.Connection[Any]", mark: str, *, refuses_more_rights: bool) -> None:
    _run_and_commit(connection, lambda _: None, mark)  # refuses a replica, a pooler and another version
    check = partial(postgres_rights.check_role, refuses_more_rights=refuses_more_rights)
    if not _look_up(connection, check, mark):
        raise LedgerError(faults.NOT_A_STEWARD)


def _connect_to_ledger(
    address: str, mark: str, newer: str, *, refuses_more_rights: bool
) -> tuple["psycopg.Connection[Any]", bool]:
    """A connection to a primary that keeps what it acknowledges, and whether its role is the steward's or the owner's.

    Other roles that may do more than the service are refused.
    """
    connection = connect(address)
    with _closing_on_error(connection):
        _begin_first(connection, mark)
        _refuse_another_schema(connection, newer)
        is_steward = postgres_rights.check_role(connection, refuses_more_rights=refuses_more_rights)
        connection.execute("COMMIT")
    return connection, is_steward


def refuse_unfit_database(address: str) -> None:
    """Refuse a database, before a ledger is made in it, where none could be opened then.

    It is a replica, would lose charges, or is behind a pooler that shares sessions.
    """
    mark = secrets.token_hex(8)
    with contextlib.closing(connect(address)) as connection, _closing_on_error(connection):
        _begin_first(connection, mark)
        connection.execute("COMMIT")
        postgres_sessions.refuse_shared_sessions(connection, mark, partial(connect, address, connect_timeout=2))


@contextlib.contextmanager
def _closing_on_error(connection: "psycopg.Connection[Any]") -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        connection.close()
        _refuse_single_statements(error)
        raise


def _begin_first(connection: "psycopg.Connection[Any]", mark: str) -> None:
    """Set up a session and begin its first transaction; refuse a database that is not fit for a ledger."""
    from psycopg.rows import dict_row  # noqa: PLC0415 - an optional driver

    connection.execute(f"{_SETTINGS}; {postgres_sessions.set_mark(mark)}".encode())
    connection.row_factory = dict_row
    session: Any = _begin(connection, _BEGIN, _FIT_AT_FIRST).fetchone()
    _refuse_unsafe(session)
    _refuse_another_session(session, mark)
    if session["pid"] != connection.info.backend_pid:  # there is a pooler, see `postgres_sessions`
        connection.prepare_threshold = None


def _refuse_unsafe(row: Any) -> None:
    if row["replica"]:
        raise LedgerError(faults.REPLICA)
    if not row["durable"]:
        raise LedgerError(faults.UNSAFE)


def _refuse_unfit_session(row: Any, mark: str) -> None:
    """Refuse a transaction after a migration, or in a session that this store has not set up."""
    _refuse_unsafe(row)
    _refuse_another_session(row, mark)
    _refuse_another_version(row)


def _refuse_another_session(row: Any, mark: str) -> None:
    if row["mark"] != mark:
        raise LedgerError(faults.POOLED)


def _explain_missing(connection: "psycopg.Connection[Any]", mark: str) -> None:
    """After a statement that does not fit the schema: say so if the version, or the session, is another one."""
    with contextlib.suppress(_driver_error()):
        connection.rollback()
        _refuse_unfit_session(_begin(connection, _BEGIN, _FIT).fetchone(), mark)


def _refuse_another_version(row: Any, newer: str = faults.MIGRATED) -> None:
    version = row["version"] or 0
    if version != postgres_schema.VERSION:
        raise LedgerError(newer if version > postgres_schema.VERSION else faults.UNMIGRATED)


def _refuse_another_schema(connection: "psycopg.Connection[Any]", newer: str) -> None:
    there: Any = connection.execute(_SCHEMA_SEEN).fetchone()
    if there["unusable"]:
        raise LedgerError(faults.NO_RIGHTS)
    if not there["there"]:
        raise LedgerError(faults.NO_LEDGER)
    _refuse_another_version(connection.execute(f"SELECT {_VERSION} AS version".encode()).fetchone(), newer)


def _clean(connection: "psycopg.Connection[Any]") -> None:
    """Leave no transaction open for the next caller.

    A connection that failed is not used again: the driver counts statements as prepared that the server skipped.
    """
    from psycopg import Error  # noqa: PLC0415 - an optional driver
    from psycopg.pq import TransactionStatus  # noqa: PLC0415

    try:
        if connection.info.transaction_status is TransactionStatus.INTRANS:
            connection.execute("ROLLBACK")
        elif connection.info.transaction_status is not TransactionStatus.IDLE:
            connection.close()
    except Error:
        connection.close()


def _connection_error() -> type[Exception]:
    from psycopg import OperationalError  # noqa: PLC0415 - an optional driver

    return OperationalError


def _driver_error() -> "type[psycopg.Error]":
    from psycopg import Error  # noqa: PLC0415 - an optional driver

    return Error


def _refuse_single_statements(error: BaseException) -> None:
    """Refuse a pooler in statement mode, which takes no transactions; PgBouncer has this code for other errors too."""
    if getattr(error, "sqlstate", None) == _NO_TRANSACTIONS and "statement pooling" in str(error):
        raise LedgerError(faults.POOLED)


def _is_of_another_schema(error: "psycopg.Error") -> bool:
    """Whether a statement did nothing because it does not fit the schema: a table, a column or a function is absent."""
    return (error.sqlstate or "").startswith(("42", "0A000"))


@lru_cache(maxsize=256)
def _postgres(statement: str) -> bytes:
    """A statement of the ledger in the words of PostgreSQL and its driver."""
    words = statement.replace("{lock}", "FOR UPDATE OF d").replace("{clock}", CLOCK).replace("{alone}", _ALONE)
    return re.sub(r":(\w+)", r"%(\1)s", words).encode()


@lru_cache(maxsize=256)
def _checked_write(statement: str) -> bytes:
    """A write that fails unless it changes one row: COMMIT is on its way before the counts come back."""
    words = _postgres(statement)
    if not statement.startswith("UPDATE"):
        return words
    return b"WITH done AS (" + words + b" RETURNING 1) SELECT 1 / (count(*) = 1)::int FROM done"
