"""One SQLite connection per process, one transaction at a time, and every fault as one constant sentence.

Within a process a lock queues the threads, which is fairer and faster than SQLite's own waiting; between processes the
file lock of BEGIN IMMEDIATE does. A fork waits for the transaction under way and finds every connection closed: a child
that inherited one would believe in file locks that it does not hold. Parent and child then open their own.

WAL with synchronous=FULL: a commit returns after its own fsync, so no acknowledged charge is lost when power fails
(in DELETE mode that takes synchronous=EXTRA, since the commit is an unlink), and readers never wait for writers. The
drawback: a running ledger is the file together with its -wal, so copy it with SQLite's backup, not with cp.
"""

import contextlib
import os
import sqlite3
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TypeVar

from discreet.errors import LedgerError, ParameterError
from discreet.home.durable_files import sync_directory
from discreet.ledger.records import faults
from discreet.ledger.stores import sqlite_schema as schema
from discreet.ledger.stores.schema import tables
from discreet.ledger.stores.sqlite_backup import copy_to
from discreet.ledger.stores.sqlite_file import CLOSING, LedgerFile, identity_with_one_name
from discreet.ledger.stores.sqlite_migrations import migrate
from discreet.ledger.stores.sqlite_schema import Destination
from discreet.ledger.transactions.steward import StewardWrite
from discreet.ledger.transactions.store import RoleRights, Row, Statement, Transaction, UnknownOutcomeError, Values

T = TypeVar("T")

MEMORY = ":memory:"
PATIENCE = 60.0
READER_PATIENCE = 5.0
"""Seconds to wait for another process; a reader waits only while the file is being migrated."""

_SENTENCES = {
    sqlite3.SQLITE_NOTADB: faults.FOREIGN,
    sqlite3.SQLITE_CORRUPT: faults.DAMAGED,
    sqlite3.SQLITE_READONLY: faults.UNWRITABLE,
    sqlite3.SQLITE_CANTOPEN: faults.UNWRITABLE,
    sqlite3.SQLITE_PERM: faults.UNWRITABLE,
    sqlite3.SQLITE_AUTH: faults.UNWRITABLE,
    sqlite3.SQLITE_BUSY: faults.BUSY,
    sqlite3.SQLITE_LOCKED: faults.BUSY,
    sqlite3.SQLITE_FULL: faults.FULL,
    sqlite3.SQLITE_IOERR: faults.FULL,
    sqlite3.SQLITE_CONSTRAINT: faults.BROKEN_RULE,
}


@dataclass
class _ProcessConnection:
    """The connection of one process, and its file unless in memory; None while it is closed for a fork."""

    connection: sqlite3.Connection | None
    file: LedgerFile | None
    pid: int

    def close(self) -> None:
        """Close in the process that opened; an inherited connection is left alone for as long as the process lives."""
        if self.connection is None or self.pid != os.getpid():
            return
        if self.file is None:
            self.connection.close()
        else:
            self.file.close(self.connection)
        self.connection = self.file = None


class SQLiteTransaction:
    """The transaction of one piece of work: writes wait until its reads are done."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._writes: list[Statement] = []

    def read(self, *questions: Statement) -> list[list[Row]]:
        return [[dict(row) for row in self._connection.execute(_sqlite(q), values)] for q, values in questions]

    def write(self, statement: str, values: Values) -> None:
        self._writes.append((statement, values))

    def write_as_steward(self, write: StewardWrite, values: Values) -> None:
        self._writes.append((write.statement(values), values))

    def finish(self) -> None:
        for statement, values in self._writes:
            if self._connection.execute(_sqlite(statement), values).rowcount != 1:
                raise LedgerError(faults.DAMAGED)


CLOCK = "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)"


@lru_cache(maxsize=256)
def _sqlite(statement: str) -> str:
    """A statement of the ledger in the words of SQLite, where the file is locked as a whole."""
    return statement.replace("{lock}", "").replace("{clock}", CLOCK).replace("{alone}", "NULL")


class SQLiteStore:
    """A ledger's file (or memory), opened, checked and ready to be written.

    A file whose ledger was moved opens only with the identity of the database that it was `moved_to`, for a move that
    is run again. With `read_only` nothing is made, migrated, locked or written; no writer waits for it, and it waits
    for none.
    """

    def __init__(self, path: str | os.PathLike[str], *, moved_to: str | None = None, read_only: bool = False) -> None:
        self._path = MEMORY if os.fspath(path) == MEMORY else str(Path(path).absolute())
        self._moved_to = moved_to
        self._read_only = read_only
        self._lock = threading.Lock()
        self._is_closed = False
        with _OPENING:
            if not read_only:
                _prepare(self._path)
            self._connected = _ProcessConnection(*self._open(), os.getpid())
            try:
                self._file = identity(self._path)
            except LedgerError:
                self._connected.close()
                raise
            weakref.finalize(self, self._connected.close)
            _DATABASES.add(self)

    def run(self, work: Callable[[Transaction], T]) -> T:
        """Run work under the file's write lock and commit what it wrote; on any exception nothing is written."""
        self._refuse_reader()
        with self._begin("BEGIN IMMEDIATE") as connection:
            _refuse_another_version(connection)
            done = SQLiteTransaction(connection)
            result = work(done)
            done.finish()
            self._commit(connection)
            return result

    def look(self, work: Callable[[Transaction], T]) -> T:
        """One consistent view for several reads; writers do not wait for it."""
        with self._begin("BEGIN DEFERRED") as connection:
            result = work(SQLiteTransaction(connection))
            connection.execute("COMMIT")
            return result

    def ask(self, question: Statement) -> list[Row]:
        """The rows of one query."""
        return self.look(lambda transaction: transaction.read(question)[0])

    def refuse_service(self) -> None:
        """A file has no roles; one that cannot be written is refused."""
        self.run(lambda _: None)

    def role_rights(self) -> RoleRights:
        """A file has no roles."""
        return RoleRights()

    def findings(self, *, full: bool) -> list[str]:
        """What is wrong with the file itself: its rules, its schema's version; with `full` its pages too."""
        with self._begin("BEGIN DEFERRED") as connection:
            return list(schema.findings(connection, pages=full))

    @contextlib.contextmanager
    def _begin(self, begin: str) -> Iterator[sqlite3.Connection]:
        self._refuse_a_hidden_fork()
        with self._lock, sentences():
            connection = self._current()
            _roll_back(connection)
            try:
                connection.execute(begin)
                self._refuse_another_file()
                yield connection
            finally:
                _roll_back(connection)

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Copy the ledger as it stands now to a new file; other processes go on charging meanwhile."""
        self._refuse_reader()
        with self._begin("BEGIN DEFERRED") as connection:
            copy_to(connection, Path(path).absolute())

    @property
    def destination(self) -> Destination | None:
        """The database in which the ledger goes on; None for a ledger that was not moved."""
        with self._begin("BEGIN DEFERRED") as connection:
            return schema.destination(connection)

    def move(self, to: Destination, receive: Callable[[str, Iterator[tuple[object, ...]]], None]) -> None:
        """Hand over the rows of each table but the versions of the schema, and record where the ledger goes on.

        Nobody writes meanwhile, and nothing is written to the file afterwards. The destination is compared under the
        lock of writers: a move to another one may have ended since the file was opened.
        """
        with self._begin("BEGIN IMMEDIATE") as connection:
            _refuse_another_destination(connection, to.identity)
            if schema.destination(connection) is None:
                _refuse_another_version(connection)
            for table in tables.TABLES:
                if table != "schema_versions":
                    names = ", ".join(tables.columns(table))
                    receive(table, map(tuple, connection.execute(f"SELECT {names} FROM {table}")))
            if schema.destination(connection) is None:
                schema.record_move(connection, to)
            self._commit(connection)

    def close(self) -> None:
        """Close the connection; the last one to close folds the log into the file."""
        self._is_closed = True
        if self._connected.pid == os.getpid():
            with self._lock:
                self._connected.close()

    def prepare_to_fork(self) -> None:
        """Wait for the transaction under way, hold back others, and close the connection."""
        self._lock.acquire()
        if self._path != MEMORY:
            self._connected.close()

    def go_on_after_fork(self) -> None:
        """Let transactions begin again, in the parent or in the child."""
        if self._connected.connection is None:
            self._connected.pid = os.getpid()
        self._lock.release()

    def _current(self) -> sqlite3.Connection:
        if self._is_closed:
            raise LedgerError(faults.CLOSED)
        if self._connected.connection is None:
            self._connected.connection, self._connected.file = self._open()
        return self._connected.connection

    def _open(self) -> tuple[sqlite3.Connection, LedgerFile | None]:
        with sentences():
            if self._path == MEMORY:
                return _open_in_memory(), None
            opened = _open_to_read if self._read_only else _open_to_write
            return opened(self._path, self._moved_to)

    def _commit(self, connection: sqlite3.Connection) -> None:
        """Commit; what went to a log that is not at its path any more may be lost, and is not acknowledged."""
        _commit(connection)
        if self._connected.file is not None and self._connected.file.has_lost_log:
            self._connected.close()
            raise UnknownOutcomeError

    def _refuse_reader(self) -> None:
        if self._read_only:
            raise LedgerError(faults.READ_ONLY)

    def _refuse_a_hidden_fork(self) -> None:
        if self._connected.pid != os.getpid():
            raise LedgerError(faults.FORKED)

    def _refuse_another_file(self) -> None:
        """A charge to a file, or to a log, that was deleted or replaced meanwhile would be forgotten."""
        if self._file != identity(self._path):
            raise LedgerError(faults.MOVED)
        if self._connected.file is not None:
            self._connected.file.refuse_another_log()


_DATABASES: weakref.WeakSet[SQLiteStore] = weakref.WeakSet()
_FORKING: list[SQLiteStore] = []
_OPENING = threading.Lock()


def _before_fork() -> None:
    _OPENING.acquire()
    for database in list(_DATABASES):
        database.prepare_to_fork()
        _FORKING.append(database)
    CLOSING.acquire()


def _after_fork() -> None:
    CLOSING.release()
    while _FORKING:
        _FORKING.pop().go_on_after_fork()
    _OPENING.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)


@contextlib.contextmanager
def sentences() -> Iterator[None]:
    """Turn the driver's faults into constant sentences; its own text goes nowhere."""
    try:
        yield
    except sqlite3.ProgrammingError:
        raise LedgerError(faults.CLOSED) from None
    except sqlite3.Error as error:
        raise LedgerError(_error_sentence(error)) from None


def _error_sentence(error: sqlite3.Error) -> str:
    primary = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK) & 0xFF
    name = getattr(error, "sqlite_errorname", "without a code")
    return _SENTENCES.get(primary) or faults.unrecognised(f"SQLite: {name}")


def _refuse_another_version(connection: sqlite3.Connection) -> None:
    """A migration by another process changed the file while this one had it open; an older one was put in its place."""
    version = schema.pragma(connection, "user_version")
    if version == schema.MOVED:
        raise LedgerError(faults.IN_POSTGRES)
    if version != schema.VERSION:
        raise LedgerError(faults.MIGRATED if version > schema.VERSION else faults.MOVED)


def identity(path: str) -> tuple[int, int] | None:
    """The file itself, by its numbers on the file system; None in memory."""
    if path == MEMORY:
        return None
    try:
        return identity_with_one_name(path)
    except OSError:
        raise LedgerError(faults.MOVED) from None


def _prepare(path: str) -> None:
    """Make the file of a ledger where there is none."""
    if sqlite3.sqlite_version_info < (3, 37):
        raise LedgerError(faults.OLD_SQLITE)
    if path != MEMORY:
        with sentences():
            _create_unless_there(Path(path))


def _connect(path: str, patience: float = PATIENCE) -> sqlite3.Connection:
    address = path if path == MEMORY else f"{Path(path).as_uri()}?mode=rw"
    connection = sqlite3.connect(
        address, timeout=patience, isolation_level=None, check_same_thread=False, uri=path != MEMORY
    )
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA trusted_schema = OFF")
    return connection


def _open_in_memory() -> sqlite3.Connection:
    connection = _connect(MEMORY)
    with _closing_on_error(connection.close):
        schema.create(connection)
    return connection


def _open_to_write(path: str, moved_to: str | None) -> tuple[sqlite3.Connection, LedgerFile]:
    """The header is read before anything is set, so that a file of somebody else's stays as it is."""
    file = LedgerFile(path)
    with _closing_on_error(file.close):
        file.refuse_lost_log()
        if file.needs_log:
            with contextlib.closing(_connect(path)) as connection:
                _make_durable_ledger(connection, moved_to)
        file.keep_log(PATIENCE)
        connection = _connect(path)
        with _closing_on_error(partial(file.close, connection)):
            _make_durable_ledger(connection, moved_to)
            file.remember_log()
            if schema.destination(connection) is None:
                migrate(connection)
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
    return connection, file


def _make_durable_ledger(connection: sqlite3.Connection, moved_to: str | None) -> None:
    _refuse_foreign(connection)
    _refuse_another_destination(connection, moved_to)
    _make_durable(connection)


def _open_to_read(path: str, moved_to: str | None) -> tuple[sqlite3.Connection, LedgerFile]:
    """The file is opened for writing, with `query_only`.

    SQLite's read-only mode would leave its -wal and -shm files behind, in the name of the account that reads. The last
    process to close a ledger folds the log of commits into the file.
    """
    _refuse_missing(Path(path))
    file = LedgerFile(path)
    with _closing_on_error(file.close):
        file.refuse_lost_log()
        if not file.needs_log:
            file.keep_log(READER_PATIENCE)
        connection = _connect(path, READER_PATIENCE)
        with _closing_on_error(partial(file.close, connection)):
            connection.execute("PRAGMA query_only = ON")
            _refuse_foreign(connection)
            file.remember_log()
            _refuse_another_destination(connection, moved_to)
            version = schema.pragma(connection, "user_version")
            if version not in (schema.VERSION, schema.MOVED):
                raise LedgerError(faults.NEWER if version > schema.VERSION else faults.OLDER_FILE)
    return connection, file


@contextlib.contextmanager
def _closing_on_error(close: Callable[[], None]) -> Iterator[None]:
    try:
        yield
    except BaseException:
        close()
        raise


def _refuse_missing(path: Path) -> None:
    try:
        if path.stat().st_size == 0:
            raise LedgerError(faults.EMPTY)
    except (FileNotFoundError, NotADirectoryError):
        raise LedgerError(faults.NO_FILE) from None
    except OSError:
        raise LedgerError(faults.UNWRITABLE) from None


def _refuse_foreign(connection: sqlite3.Connection) -> None:
    if not schema.is_ledger(connection):
        raise LedgerError(faults.FOREIGN)


def _refuse_another_destination(connection: sqlite3.Connection, moved_to: str | None) -> None:
    destination = schema.destination(connection)
    if destination is None or destination.identity == moved_to:
        return
    if moved_to is None:
        raise LedgerError(faults.IN_POSTGRES)
    raise ParameterError(
        "a ledger to be moved to this database",
        because="its file says that it moved to another one, and no ledger has two",
        instead=f"the address of the database that the file names, which was {destination.address}",
    )


def _make_durable(connection: sqlite3.Connection) -> None:
    if connection.execute("PRAGMA journal_mode = WAL").fetchone()[0] != "wal":
        raise LedgerError(faults.NO_WAL)
    for setting in ("synchronous = FULL", "fullfsync = ON", "checkpoint_fullfsync = ON"):
        connection.execute(f"PRAGMA {setting}")


def _create_unless_there(path: Path) -> None:
    """A ledger appears whole or not at all, so an empty file is never taken for a new one."""
    try:
        if path.exists():
            if path.stat().st_size == 0:
                raise LedgerError(faults.EMPTY)
            return
        _create(path)
    except OSError:
        raise LedgerError(faults.UNWRITABLE) from None


def _create(path: Path) -> None:
    descriptor, draft = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".new", dir=path.parent)
    os.close(descriptor)
    try:
        with contextlib.closing(_connect(draft)) as connection:
            _make_durable(connection)
            schema.create(connection)
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
    finally:
        Path(draft).unlink()
    sync_directory(path.parent)


def _commit(connection: sqlite3.Connection) -> None:
    """A COMMIT that fails and leaves the transaction open did not happen; one that leaves none may have."""
    try:
        connection.execute("COMMIT")
    except sqlite3.Error as error:
        if connection.in_transaction:
            raise
        raise UnknownOutcomeError(_error_sentence(error)) from None


def _roll_back(connection: sqlite3.Connection) -> None:
    if connection.in_transaction:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
