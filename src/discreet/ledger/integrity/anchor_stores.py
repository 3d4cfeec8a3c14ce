"""Stores of anchors, which machines share: a directory that all of them mount, or a second PostgreSQL database.

The *place* of a store is the path or the address by which a machine finds it. Its *id* is random, and the owner of the
ledger signs it.

A store has one document for each writer, which the writer replaces whole: neither appends nor locks are needed, since
the file system may be mounted over a network. A process that merges documents takes each one first (renames it, so that
its writer begins another), reads it, writes its content into its own, and drops it. A kill at any moment loses none.
"""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from discreet.errors import LedgerError, ParameterError
from discreet.home.durable_files import write_file
from discreet.ledger.records import faults

if TYPE_CHECKING:
    import psycopg

ADDRESS = re.compile(r"postgres(ql)?://", re.IGNORECASE)
_IDENTITY = "store"
_FILES = re.compile(r"([0-9a-f]+-[0-9a-f]+(?:\.[0-9a-f]+)?)\.json")
_READS = 20
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


class AnchorStore(Protocol):
    """A store of anchors of one ledger: one document for each writer, and one with the id of the store."""

    def identity(self) -> str | None:
        """The document with the id of the store; None where there is none."""

    def create(self, identity: str) -> None:
        """Create the store: write the document with its id."""

    def mark(self) -> object:
        """Something that is another when a document has changed."""

    def documents(self) -> Mapping[str, str]:
        """The documents by their names: a writer's, or that of a document that was taken."""

    def write(self, writer: str, content: str) -> None:
        """Replace a writer's document; it is on the disk when this returns."""

    def take(self, name: str) -> tuple[str, str] | None:
        """Give a document another name, and return that name and what it holds; None where it is gone."""

    def drop(self, name: str) -> None:
        """Remove a document that was taken."""

    def close(self) -> None:
        """Close the store."""


def anchor_store_at(place: str, ledger: str) -> AnchorStore:
    """The store of a ledger's anchors at a path or an address."""
    return AnchorDatabase(place, ledger) if ADDRESS.match(place) else AnchorDirectory(Path(place), ledger)


def absolute_place(place: str | os.PathLike[str]) -> str:
    """An address as it is; a path made absolute, so that it stays the same when the process changes its directory."""
    text = os.fspath(place)
    return text if ADDRESS.match(text) else str(Path(text).absolute())


@contextmanager
def closing_on_error(store: AnchorStore) -> Iterator[None]:
    """Close a store if the block raises an error."""
    try:
        yield
    except BaseException:
        store.close()
        raise


def without_password(place: str) -> str:
    """A path as it is; of an address only the host, the port and the database."""
    if not ADDRESS.match(place):
        return place
    server, _, database = place.partition("://")[2].partition("/")
    host = server.rpartition("@")[2].partition("?")[0]
    return f"postgresql://{host}/{database.partition('?')[0]}".replace("@", "")


def refuse_missing_mount(place: str) -> None:
    """Refuse a directory to be made under one that is not there, and a database that cannot be reached."""
    if ADDRESS.match(place):
        with closing(AnchorDatabase(place, "")) as store:
            store.identity()
    elif not Path(place).parent.is_dir():
        raise ParameterError(
            f"shared anchors at {place!r}",
            because="the directory above it is not there, and one that is made would be of this machine alone",
            instead="the path of a directory that all machines mount, such as /mnt/anchors",
        )


class AnchorDirectory:
    """A store in a directory: one file for each writer."""

    def __init__(self, directory: Path, ledger: str) -> None:
        self._directory = directory / ledger

    def identity(self) -> str | None:
        """The document with the id of the store; None where there is none."""
        try:
            return self._file(_IDENTITY).read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except OSError:
            raise LedgerError(faults.NO_SHARED_ANCHORS) from None

    def create(self, identity: str) -> None:
        """Create the store: make the directory of the ledger, and write the document with the id of the store."""
        try:
            self._directory.parent.mkdir(mode=0o770, exist_ok=True)
            self._directory.mkdir(mode=0o770, exist_ok=True)
            write_file(self._file(_IDENTITY), lambda file: file.write(identity.encode()), mode=0o640)
        except OSError:
            raise LedgerError(faults.NO_SHARED_ANCHORS) from None

    def mark(self) -> object:
        """The names, sizes and times of the files."""
        try:
            with os.scandir(self._directory) as entries:
                found = [(each.name, each.stat()) for each in entries if _FILES.fullmatch(each.name)]
        except FileNotFoundError:
            if self._directory.is_dir():
                return None  # a file was replaced while it was looked at: read again
            raise LedgerError(faults.NO_SHARED_ANCHORS) from None
        except OSError:
            raise LedgerError(faults.NO_SHARED_ANCHORS) from None
        return sorted((name, stat.st_ino, stat.st_size, stat.st_mtime_ns) for name, stat in found)

    def documents(self) -> Mapping[str, str]:
        """The documents by their names, read again where one was renamed meanwhile."""
        for _ in range(_READS):
            found = self._read()
            if None not in found.values():
                break
        return {name: content for name, content in found.items() if content is not None}

    def write(self, writer: str, content: str) -> None:
        """Replace a writer's file; it is on the disk when this returns."""
        try:
            write_file(self._file(writer), lambda file: file.write(content.encode()), mode=0o640)
        except OSError:
            raise LedgerError(faults.NO_SHARED_ANCHORS) from None

    def take(self, name: str) -> tuple[str, str] | None:
        """Give the file another name and read it."""
        taken = _other_name(name)
        try:
            self._file(name).rename(self._file(taken))
            content = _content(self._file(taken))
        except FileNotFoundError:
            return None
        except OSError:
            raise LedgerError(faults.NO_SHARED_ANCHORS) from None
        return None if content is None else (taken, content)

    def drop(self, name: str) -> None:
        """Remove a file that was taken."""
        try:
            self._file(name).unlink(missing_ok=True)
        except OSError:
            raise LedgerError(faults.NO_SHARED_ANCHORS) from None

    def close(self) -> None:
        """Nothing is held."""

    def _file(self, name: str) -> Path:
        return self._directory / f"{name}.json"

    def _read(self) -> dict[str, str | None]:
        try:
            names = [found[1] for path in self._directory.iterdir() if (found := _FILES.fullmatch(path.name))]
            return {name: _content(self._file(name)) for name in names}
        except OSError:
            raise LedgerError(faults.NO_SHARED_ANCHORS) from None


class AnchorDatabase:
    """A store in a database that is not the ledger's: one row for each writer."""

    def __init__(self, address: str, ledger: str) -> None:
        self._address = ADDRESS.sub("postgresql://", address, count=1)
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
            "SELECT content FROM discreet_anchors.documents WHERE ledger = %s AND writer = %s", self._ledger, _IDENTITY
        )
        return str(rows[0][0]) if rows else None

    def create(self, identity: str) -> None:
        """Create the store: make the table, and write the document with the id of the store."""
        if self._rows(_TABLES_THERE)[0][0]:
            raise LedgerError(faults.SAME_DATABASE)
        self._rows(_TABLE)
        self.write(_IDENTITY, identity)

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
        return {writer: content for writer, content in rows if writer != _IDENTITY}

    def write(self, writer: str, content: str) -> None:
        """Replace a writer's row; it is committed when this returns."""
        self._rows(_WRITE, self._ledger, writer, content)

    def take(self, name: str) -> tuple[str, str] | None:
        """Give the row another name and read it."""
        taken = _other_name(name)
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
        """The rows of one statement, on a connection that is made anew once where it was lost."""
        import psycopg  # noqa: PLC0415 - an optional driver

        for is_last in (False, True):
            try:
                cursor = self._live_connection().execute(statement.encode(), values or None)
                return cursor.fetchall() if cursor.description else []
            except psycopg.Error:
                self.close()
                if is_last:
                    raise LedgerError(faults.NO_SHARED_ANCHORS) from None
        return []

    def _live_connection(self) -> "psycopg.Connection[Any]":
        import psycopg  # noqa: PLC0415 - an optional driver

        if self._connection is None or self._pid != os.getpid() or self._connection.closed:
            self._connection, self._pid = psycopg.connect(self._address, autocommit=True), os.getpid()
            if not self._connection.execute(_SAFE).fetchone()[0]:  # type: ignore[index]
                raise LedgerError(faults.UNSAFE)
        return self._connection


def _other_name(name: str) -> str:
    """A name that no writer has; a document may be taken again, from a process that was killed."""
    return f"{name.partition('.')[0]}.{os.urandom(8).hex()}"


def _content(path: Path) -> str | None:
    """What a file holds; None where it was taken or replaced meanwhile, nothing for a directory of such a name."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return None
    except IsADirectoryError:
        return ""
