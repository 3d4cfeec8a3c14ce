"""One SQLite connection per process, one transaction at a time, and every fault as one constant sentence.

Within a process a lock queues the threads, which is fairer and faster than SQLite's own waiting; between processes the
file lock of BEGIN IMMEDIATE does. A fork waits for the transaction under way and finds every connection closed: a child
that inherited one would believe in file locks that it does not hold. Parent and child then open their own.

WAL with synchronous=FULL: a commit returns after its own fsync, so no acknowledged charge is lost when power fails
(in DELETE mode that takes synchronous=EXTRA, since the commit is an unlink), and readers never wait for writers. The
price is that a running ledger is the file together with its -wal: copy it with SQLite's backup, not with cp.
"""

import contextlib
import os
import sqlite3
import tempfile
import threading
import time
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from discreet.errors import LedgerError
from discreet.ledger import faults, schema

MEMORY = ":memory:"
PATIENCE = 60.0

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
class _Connected:
    """The connection of one process; None while it is closed for a fork."""

    connection: sqlite3.Connection | None
    pid: int

    def close(self) -> None:
        """Close in the process that opened; an inherited connection is left alone for as long as the process lives."""
        if self.connection is not None and self.pid == os.getpid():
            self.connection.close()
            self.connection = None


class Database:
    """A ledger's file (or memory), opened, checked and ready to be written."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = MEMORY if os.fspath(path) == MEMORY else str(Path(path).absolute())
        self._lock = threading.Lock()
        self._is_closed = False
        with _OPENING:
            self._connected = _Connected(_opened(self._path), os.getpid())
            self._file = _identity(self._path)
            weakref.finalize(self, self._connected.close)
            _DATABASES.add(self)

    @contextlib.contextmanager
    def transaction(self, begin: str = "BEGIN IMMEDIATE") -> Iterator[sqlite3.Connection]:
        """One transaction: committed when the block ends, rolled back when it raises."""
        self._refuse_a_hidden_fork()
        with self._lock, sentences():
            connection = self._current()
            _roll_back(connection)
            try:
                connection.execute(begin)
                self._refuse_another_file()
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                _roll_back(connection)
                raise

    def snapshot(self) -> contextlib.AbstractContextManager[sqlite3.Connection]:
        """One consistent view for several reads; writers do not wait for it."""
        return self.transaction("BEGIN DEFERRED")

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
            self._connected.connection = _checked(_connect(self._path))
        return self._connected.connection

    def _refuse_a_hidden_fork(self) -> None:
        if self._connected.pid != os.getpid():
            raise LedgerError(faults.FORKED)

    def _refuse_another_file(self) -> None:
        """A charge to a file that was deleted or replaced meanwhile would be forgotten."""
        if self._file != _identity(self._path):
            raise LedgerError(faults.MOVED)


_DATABASES: weakref.WeakSet[Database] = weakref.WeakSet()
_FORKING: list[Database] = []
_OPENING = threading.Lock()


def _before_fork() -> None:
    _OPENING.acquire()
    for database in list(_DATABASES):
        database.prepare_to_fork()
        _FORKING.append(database)


def _after_fork() -> None:
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
        primary = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
        raise LedgerError(_SENTENCES.get(primary, faults.DAMAGED)) from None


def _identity(path: str) -> tuple[int, int] | None:
    if path == MEMORY:
        return None
    try:
        found = _with_one_name(Path(path))
    except OSError:
        raise LedgerError(faults.MOVED) from None
    return found.st_dev, found.st_ino


def _with_one_name(path: Path) -> os.stat_result:
    """Under two hard links a file has two write-ahead logs: what is spent under one name is not seen under the other.

    A ledger that is just being made has two names for a moment, so it gets a second.
    """
    for _ in range(50):
        found = path.stat()
        if found.st_nlink == 1:
            return found
        time.sleep(0.02)
    raise LedgerError(faults.LINKED)


def _opened(path: str) -> sqlite3.Connection:
    if sqlite3.sqlite_version_info < (3, 37):
        raise LedgerError(faults.OLD_SQLITE)
    with sentences():
        if path == MEMORY:
            connection = _connect(path)
            schema.create(connection)
            return connection
        _create_unless_there(Path(path))
        return _checked(_connect(path))


def _connect(path: str) -> sqlite3.Connection:
    address = path if path == MEMORY else f"{Path(path).as_uri()}?mode=rw"
    connection = sqlite3.connect(
        address, timeout=PATIENCE, isolation_level=None, check_same_thread=False, uri=path != MEMORY
    )
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA trusted_schema = OFF")
    return connection


def _checked(connection: sqlite3.Connection) -> sqlite3.Connection:
    """The header is read before anything is set, so that a file of somebody else's stays as it is."""
    try:
        _refuse_foreign(connection)
        _make_durable(connection)
        schema.migrate(connection)
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("ROLLBACK")
    except BaseException:
        connection.close()
        raise
    return connection


def _refuse_foreign(connection: sqlite3.Connection) -> None:
    if not schema.is_ledger(connection):
        raise LedgerError(faults.FOREIGN)


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
    _sync_directory(path.parent)


def _sync_directory(directory: Path) -> None:
    if os.name != "posix":
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _roll_back(connection: sqlite3.Connection) -> None:
    if connection.in_transaction:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
