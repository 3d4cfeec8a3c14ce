"""A ledger in a file that is looked at and never changed: nothing is made, migrated or locked.

The file is opened for writing, with `query_only`: SQLite's read-only mode would leave its -wal and -shm files behind,
in the name of the account that looked. The last process to close a ledger folds the log of commits into the file.
"""

import os
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from discreet.errors import LedgerError
from discreet.ledger.records import faults
from discreet.ledger.stores import sqlite, sqlite_schema
from discreet.ledger.transactions.store import Row, Statement, Transaction

T = TypeVar("T")

PATIENCE = 5.0


class SQLiteReader:
    """A ledger's file, for reading. It waits for no writer, and no writer waits for it."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path).absolute()
        self._lock = threading.Lock()
        self._connection = self._open()
        try:
            self._file = self._identity()
        except LedgerError:
            self._connection.close()
            raise

    def run(self, work: Callable[[Transaction], T]) -> T:  # noqa: ARG002 - as a store has it
        """Nothing is written."""
        raise LedgerError(faults.READ_ONLY)

    def look(self, work: Callable[[Transaction], T]) -> T:
        """One consistent view for several reads; writers do not wait for it."""
        with self._lock, sqlite.sentences():
            self._connection.execute("BEGIN DEFERRED")
            try:
                self._refuse_another_file()
                return work(sqlite.SQLiteTransaction(self._connection))
            finally:
                self._connection.execute("ROLLBACK")

    def ask(self, question: Statement) -> list[Row]:
        """The rows of one query."""
        return self.look(lambda transaction: transaction.read(question)[0])

    def refuse_service(self) -> None:
        """Nothing is written."""
        raise LedgerError(faults.READ_ONLY)

    def findings(self, *, pages: bool = True) -> list[str]:
        """What is wrong with the file itself."""
        with self._lock, sqlite.sentences():
            return list(sqlite_schema.findings(self._connection, pages=pages))

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._connection.close()

    def _open(self) -> sqlite3.Connection:
        """A connection to a ledger of this version."""
        self._refuse_missing()
        with sqlite.sentences():
            connection = sqlite3.connect(
                f"{self._path.as_uri()}?mode=rw",
                timeout=PATIENCE,
                isolation_level=None,
                check_same_thread=False,
                uri=True,
            )
            try:
                connection.row_factory = sqlite3.Row
                connection.execute("PRAGMA query_only = ON")
                connection.execute("PRAGMA trusted_schema = OFF")
                _refuse_unreadable(connection)
            except BaseException:
                connection.close()
                raise
        return connection

    def _refuse_another_file(self) -> None:
        """What is read of a file that was deleted or replaced meanwhile says nothing of the present one."""
        if self._identity() != self._file:
            raise LedgerError(faults.MOVED)

    def _identity(self) -> tuple[int, int] | None:
        return sqlite.identity(str(self._path))

    def _refuse_missing(self) -> None:
        try:
            if self._path.stat().st_size == 0:
                raise LedgerError(faults.EMPTY)
        except (FileNotFoundError, NotADirectoryError):
            raise LedgerError(faults.NO_FILE) from None
        except OSError:
            raise LedgerError(faults.UNWRITABLE) from None


def _refuse_unreadable(connection: sqlite3.Connection) -> None:
    if not sqlite_schema.is_ledger(connection):
        raise LedgerError(faults.FOREIGN)
    version = sqlite_schema.pragma(connection, "user_version")
    if version == sqlite_schema.MOVED:
        raise LedgerError(faults.IN_POSTGRES)
    if version != sqlite_schema.VERSION:
        raise LedgerError(faults.NEWER if version > sqlite_schema.VERSION else faults.OLDER_FILE)
