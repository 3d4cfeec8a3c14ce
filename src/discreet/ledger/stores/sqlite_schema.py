"""The schema of a ledger on SQLite: made, recorded, and compared with what a file holds."""

import re
import secrets
import sqlite3
from collections.abc import Iterator
from typing import NamedTuple

from discreet.ledger.records.chain import now
from discreet.ledger.stores.schema import rules, tables
from discreet.ledger.stores.schema.rules import RefusedChange
from discreet.version import __version__

VERSION = 5
APPLICATION = 0x64697363
MOVED = 1_000_000
"""The version of a file whose ledger goes on in PostgreSQL: every version of discreet refuses it as a newer one."""

_WORDS = {
    ' COLLATE "C"': "",
    "IS NOT DISTINCT FROM": "IS",
    "IS DISTINCT FROM": "IS NOT",
    "BIGINT": "INTEGER",
    "BYTEA": "BLOB",
    "{": "",
    "}": "",
}


def _in_sqlite(text: str) -> str:
    """A part of the description in the words of SQLite, which compares text by its bytes."""
    for word, own in _WORDS.items():
        text = text.replace(word, own)
    return text


def _trigger(rule: RefusedChange) -> str:
    columns = f"OF {', '.join(rule.columns)} " if rule.columns else ""
    condition = f" WHEN {_in_sqlite(rule.when)}" if rule.when else ""
    refused = f"BEGIN SELECT RAISE(ABORT, '{rule.because}'); END"
    return f"CREATE TRIGGER {rule.name} BEFORE {rule.act} {columns}ON {rule.table}{condition}\n{refused}"


TABLE_NAMES = tuple(tables.TABLES)
TABLES = tuple(f"CREATE TABLE {name} ({_in_sqlite(body)}) STRICT" for name, body in tables.TABLES.items())
INDEXES = tables.INDEXES
TRIGGERS = tuple(map(_trigger, (*rules.APPEND_ONLY, *rules.WRITTEN_ONCE, *rules.RULES)))
STATEMENTS = (*TABLES, *INDEXES, *TRIGGERS)
MOVED_TRIGGERS = tuple(
    _trigger(RefusedChange(f"{table}_moved_{act.lower()}", table, act, "", "the ledger was moved to PostgreSQL"))
    for table in TABLE_NAMES
    for act in ("INSERT", "UPDATE", "DELETE")
)
"""The rules of a moved file: a process of any version that has it open is refused by them."""


def create(connection: sqlite3.Connection) -> None:
    """Make an empty ledger of this version, in one transaction."""
    connection.execute("BEGIN EXCLUSIVE")
    for statement in STATEMENTS:
        connection.execute(statement)
    connection.execute("INSERT INTO ledger VALUES (?)", (secrets.token_hex(16),))
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    record(connection, VERSION)
    connection.execute("COMMIT")


def is_ledger(connection: sqlite3.Connection) -> bool:
    """Whether the file says that it is a ledger; reads its header only."""
    return pragma(connection, "application_id") == APPLICATION


def findings(connection: sqlite3.Connection, *, pages: bool = True) -> Iterator[str]:
    """What is wrong with the file itself; rows that break a check or refer to nothing are found by what they say.

    SQLite reads the whole file to check its `pages`.
    """
    for row in connection.execute("PRAGMA integrity_check") if pages else ():
        if row[0] != "ok" and not row[0].startswith("CHECK constraint failed"):
            yield "SQLite's integrity check failed"
    for rule in changed_rules(connection):
        yield f"the table, index or trigger {rule!r} is not as discreet wrote it"
    if not is_recorded(connection):
        yield "the schema's version is not the one that was recorded"


def changed_rules(connection: sqlite3.Connection) -> list[str]:
    """The tables, indexes and triggers that were dropped, altered or added since this version wrote them."""
    stored = {tuple(row) for row in connection.execute("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL")}
    written = {(_name_of(statement), statement) for statement in STATEMENTS}
    moved = {(_name_of(statement), statement) for statement in MOVED_TRIGGERS}
    if pragma(connection, "user_version") == MOVED and moved & stored:  # files that moved before have no such rules
        written |= moved
    return sorted({name for name, _ in stored ^ written})


def is_recorded(connection: sqlite3.Connection) -> bool:
    """Whether the version in the file's header is the last one that the table records."""
    recorded = connection.execute("SELECT max(version) FROM schema_versions").fetchone()[0]
    return bool(recorded == pragma(connection, "user_version"))


def _name_of(statement: str) -> str:
    match = re.match(r"CREATE (?:UNIQUE )?(?:TABLE|INDEX|TRIGGER) (\w+)", statement)
    return match[1] if match else statement


def record(connection: sqlite3.Connection, version: int) -> None:
    """Write down that the schema is of a version now."""
    connection.execute("INSERT INTO schema_versions VALUES (?, ?, ?)", (version, now(), __version__))
    connection.execute(f"PRAGMA user_version = {version:d}")


class Destination(NamedTuple):
    """The database in which a moved ledger goes on: its identity, the same by any address, and an address of it."""

    identity: str
    address: str


def record_move(connection: sqlite3.Connection, to: Destination) -> None:
    """Write down that the ledger goes on in a database; the file is not changed after this, by any version."""
    connection.execute("INSERT INTO schema_versions VALUES (?, ?, ?)", (MOVED, now(), "\n".join(to)))
    connection.execute(f"PRAGMA user_version = {MOVED:d}")
    for statement in MOVED_TRIGGERS:
        connection.execute(statement)


def destination(connection: sqlite3.Connection) -> Destination | None:
    """The database in which the ledger goes on; None for a ledger that was not moved."""
    if pragma(connection, "user_version") != MOVED:
        return None
    found = connection.execute("SELECT library FROM schema_versions WHERE version = ?", (MOVED,)).fetchone()
    identity, _, address = str(found[0] if found else "").partition("\n")
    return Destination(identity, address)


def pragma(connection: sqlite3.Connection, name: str) -> int:
    """A number in the header of the file."""
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])
