"""A store of anchors in a PostgreSQL database that is not the ledger's: one row for each writer."""

import os
import time
from collections.abc import Callable, Generator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from discreet.errors import LedgerError
from discreet.ledger.records import faults
from discreet.ledger.records.address import in_lower_case
from discreet.ledger.stores.anchor_directory import IDENTITY, other_name
from discreet.ledger.stores.postgres_errors import connect, raise_alone, sentences
from discreet.ledger.stores.postgres_sessions import warn_of_unchecked_server

if TYPE_CHECKING:
    import psycopg

_TABLE = """CREATE SCHEMA IF NOT EXISTS discreet_anchors;
CREATE TABLE IF NOT EXISTS discreet_anchors.documents (
  ledger TEXT NOT NULL, writer TEXT NOT NULL, content TEXT NOT NULL, revision BIGINT GENERATED ALWAYS AS IDENTITY,
  PRIMARY KEY (ledger, writer))"""
_WRITE = """INSERT INTO discreet_anchors.documents (ledger, writer, content) VALUES (%s, %s, %s)
ON CONFLICT (ledger, writer) DO UPDATE SET content = EXCLUDED.content, revision = DEFAULT"""
# By the catalogue, which every role reads: to_regclass needs a right on the schema.
_TABLES_THERE = """SELECT COALESCE(bool_or(nspname = 'discreet' AND relname = 'ledger'), FALSE),
  COALESCE(bool_or(nspname = 'discreet_anchors' AND relname = 'documents'), FALSE)
FROM pg_class JOIN pg_namespace AS n ON n.oid = relnamespace"""
_SAFE = "SELECT current_setting('fsync') = 'on' AND current_setting('synchronous_commit') <> 'off' AS safe"

STATEMENT_SECONDS = 15.0
"""A server that takes longer for a statement is given up: the caller may hold the lock of the ledger's file."""


class AnchorDatabase:
    """A store in a database that is not the ledger's: one row for each writer."""

    def __init__(self, address: str, ledger: str) -> None:
        self._address = in_lower_case(address)
        self._ledger = ledger
        self._connection: psycopg.Connection[Any] | None = None
        self._pid = 0

    def identity(self) -> str | None:
        """The document with the id of the store; None where there is none, and an error beside a ledger."""
        is_ledger, is_store = self._rows(_TABLES_THERE)[0]
        if is_ledger:
            raise LedgerError(faults.SAME_DATABASE)
        if not is_store:
            return None
        rows = self._rows(
            "SELECT content FROM discreet_anchors.documents WHERE ledger = %s AND writer = %s", self._ledger, IDENTITY
        )
        return str(rows[0][0]) if rows else None

    def absence(self) -> str:
        """The database holds nothing of this ledger."""
        return faults.OTHER_ANCHORS

    def create(self, identity: str) -> None:
        """Create the store: make the table, and write the document with the id of the store."""
        if self._rows(_TABLES_THERE)[0][0]:
            raise LedgerError(faults.SAME_DATABASE)
        self._rows(_TABLE)
        self.write(IDENTITY, identity)

    def mark(self) -> object:
        """The newest revision and how many documents there are."""
        (found,) = self._rows(
            "SELECT max(revision), sum(revision), count(*) FROM discreet_anchors.documents WHERE ledger = %s",
            self._ledger,
        )
        return found

    def documents(self) -> Mapping[str, str]:
        """The documents by their names."""
        rows = self._rows("SELECT writer, content FROM discreet_anchors.documents WHERE ledger = %s", self._ledger)
        return {writer: content for writer, content in rows if writer != IDENTITY}

    def write(self, writer: str, content: str) -> None:
        """Replace a writer's row; it is committed when this returns."""
        self._rows(_WRITE, self._ledger, writer, content)

    def take(self, name: str) -> tuple[str, str] | None:
        """Give the row another name and read it."""
        taken = other_name(name)
        rows = self._rows(
            "UPDATE discreet_anchors.documents SET writer = %s WHERE ledger = %s AND writer = %s RETURNING content",
            taken,
            self._ledger,
            name,
        )
        return (taken, str(rows[0][0])) if rows else None

    def drop(self, name: str) -> None:
        """Remove a row that was taken."""
        self._rows("DELETE FROM discreet_anchors.documents WHERE ledger = %s AND writer = %s", self._ledger, name)

    def close(self) -> None:
        """Close the connection, if it is this process's own."""
        if self._connection is not None and self._pid == os.getpid():
            self._connection.close()
        self._connection = None

    def _rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """The rows of one statement; once more on another connection where an open one was lost."""
        try:
            with sentences():
                return self._rows_now(statement, values)
        except LedgerError as error:
            raise_alone(LedgerError(faults.of_anchor_database(str(error))))

    def _rows_now(self, statement: str, values: tuple[object, ...]) -> list[tuple[Any, ...]]:
        import psycopg  # noqa: PLC0415 - an optional driver

        was_open = self._is_open()
        try:
            return self._execute(statement, values)
        except (psycopg.Error, LedgerError) as error:
            self.close()
            if not was_open or isinstance(error, LedgerError):
                raise
        return self._execute(statement, values)

    def _execute(self, statement: str, values: tuple[object, ...]) -> list[tuple[Any, ...]]:
        cursor = self._live_connection().execute(statement.encode(), values or None)
        return cursor.fetchall() if cursor.description else []

    def _is_open(self) -> bool:
        return self._connection is not None and self._pid == os.getpid() and not self._connection.closed

    def _live_connection(self) -> "psycopg.Connection[Any]":
        if self._connection is None or not self._is_open():
            # nothing is prepared on the server: a pooler may give each statement to another of its sessions
            self._connection, self._pid = connect(self._address, prepare_threshold=None), os.getpid()
            self._connection.wait = partial(_wait_in_time, self._connection.wait)  # type: ignore[method-assign]
            warn_of_unchecked_server(self._connection, "the database of the ledger's shared anchors")
            if not self._connection.execute(_SAFE).fetchone()[0]:  # type: ignore[index]
                raise LedgerError(faults.UNSAFE)
        return self._connection


def _wait_in_time(wait: Callable[..., Any], steps: Generator[Any, Any, Any], **options: Any) -> Any:
    return wait(_until(time.monotonic() + STATEMENT_SECONDS, steps), **options)


def _until(end: float, steps: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
    """The steps of the driver, which wakes every tenth of a second, until they end or it is too late."""
    try:
        wanted = next(steps)
        while True:
            ready = yield wanted
            if not ready and time.monotonic() > end:
                raise LedgerError(faults.NO_REPLY)
            wanted = steps.send(ready)
    except StopIteration as stopped:
        return stopped.value
