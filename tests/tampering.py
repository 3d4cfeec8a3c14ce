"""Whoever owns the database can change anything: a hand in the tables of a ledger, without rules in its way.

    with tampering(address) as hand:                     # what is done is kept, and the rules are there again
        hand.execute("UPDATE events SET cost_rho = 1 WHERE dataset = :name", name="visits")
    with tampering(address, is_kept=False) as hand:      # what is done is undone at the end
        with hand.undone():                              # or before
            hand.execute(...)
            hand.findings()

An address is a path, or that of a superuser of a PostgreSQL database. SQL is the same for both: `:name` for values, and
{row} for what tells a row of a table from all others.
"""

import itertools
import json
import re
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import psycopg
from psycopg.rows import dict_row

from discreet.accounting.costs import EPSILON_UNITS, NOTHING, Cost
from discreet.ledger import Ledger
from discreet.ledger.integrity.recovery import dataset_rows
from discreet.ledger.integrity.replay import cost_in, replay_totals
from discreet.ledger.integrity.store_pages import StorePages
from discreet.ledger.integrity.verification import IntegrityFinding, open_findings, verify_dataset
from discreet.ledger.records.chain import Kind, State, link_of
from discreet.ledger.stores import postgres, sqlite
from discreet.ledger.transactions import statements
from discreet.ledger.transactions.statements import LedgerWriter
from servers import DATABASE, OWNER, SERVICE, STEWARD, PostgresServer, postgres_binaries

TENTH = EPSILON_UNITS // 10
PAGE = 3  # events in a page, so that short chains have several
TABLES = (
    *("ledger", "datasets", "versions", "aliases", "analysts", "events", "reservations", "answers", "halts", "keys"),
)
ANY_CHECK = """SELECT conname AS name, conrelid::regclass::text AS of FROM pg_constraint
WHERE connamespace = to_regnamespace('discreet') AND contype = 'c'"""


@dataclass(frozen=True)
class Place:
    """One ledger: its address for the service, and for whoever tampers with it; the owner's on PostgreSQL."""

    service: str
    tamperer: str
    owner: str = ""
    steward: str = ""


class Hand:
    """One connection to the tables of a ledger, in a transaction, without triggers, references and checks."""

    def __init__(self, connection: Any, work: Any, translated: Callable[[str], Any], row: str) -> None:
        self._connection = connection
        self._work = work
        self._translated = translated
        self._row = row
        self.is_file = isinstance(connection, sqlite3.Connection)

    def execute(self, statement: str, **values: object) -> list[dict[str, Any]]:
        """Run SQL; the rows that it gives, if any."""
        asked = statement.replace("{row}", self._row)
        if not self.is_file:
            asked = re.sub(r"(?<!:):(\w+)", r"%(\1)s", asked)
        cursor = self._connection.execute(asked, values)
        return [] if cursor.description is None else [dict(row) for row in cursor]

    def insert(self, table: str, rows: list[dict[str, Any]]) -> None:
        """Insert rows that have the same columns."""
        columns = list(rows[0])
        if self.is_file:
            marks = ", ".join(f":{column}" for column in columns)
            self._connection.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", rows)
            return
        copying = f"COPY {table} ({', '.join(columns)}) FROM STDIN".encode()
        with self._connection.cursor() as cursor, cursor.copy(copying) as copy:
            for row in rows:
                copy.write_row([row[column] for column in columns])

    def changed(self, work: Callable[[LedgerWriter], object]) -> list[int]:
        """Do work of the ledger, with no guards but those in its own statements; how many rows each of them changed."""
        writer, writes = LedgerWriter(self._work), []
        writer.write = lambda statement, values: writes.append((self._translated(statement), values))
        writer.write_as_steward = lambda write, values: writer.write(write.statement(values), values)
        work(writer)
        return [self._connection.execute(statement, values).rowcount for statement, values in writes]

    def findings(self, name: str | None = None) -> list[IntegrityFinding]:
        """What the rows as they are now show about one dataset or about all."""
        writer = LedgerWriter(self._work)
        names = statements.names(writer) if name is None else [name]
        every = [dataset_rows(writer, each) for each in names]
        found = [finding for held in every for finding in open_findings(held)]
        assert found == [finding for held in every for finding in self._findings_in_pages(held.name)]
        return found

    def _findings_in_pages(self, name: str) -> tuple[IntegrityFinding, ...]:
        """The same, read page by page as a verification does."""
        writer = LedgerWriter(self._work)
        pages = StorePages(lambda work: work(writer), name, most=PAGE)
        return verify_dataset(name, pages, lambda question: writer.read(question)[0]).findings

    def columns(self, table: str) -> list[str]:
        """The columns of a table."""
        return list(self.execute(f"SELECT * FROM {table}")[0])

    @contextmanager
    def undone(self) -> Iterator[None]:
        """Undo what was done meanwhile."""
        self._connection.execute("SAVEPOINT before")
        yield
        self._connection.execute("ROLLBACK TO before")


@contextmanager
def tampering(address: str, *, is_kept: bool = True) -> Iterator[Hand]:
    """A hand in the tables of a ledger."""
    opened = _on_postgres if address.startswith("postgresql:") else _on_sqlite
    with opened(address, is_kept=is_kept) as hand:
        yield hand


@contextmanager
def _on_sqlite(path: str, *, is_kept: bool) -> Iterator[Hand]:
    raw = sqlite3.connect(path, isolation_level=None)
    raw.row_factory = sqlite3.Row
    try:
        raw.execute("PRAGMA ignore_check_constraints = ON")
        raw.execute("PRAGMA synchronous = OFF")
        raw.execute("BEGIN IMMEDIATE")
        triggers = raw.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            raw.execute(f"DROP TRIGGER {name}")
        yield Hand(raw, sqlite.SQLiteTransaction(raw), sqlite._sqlite, "rowid")
        for _, statement in triggers:
            raw.execute(statement)
        raw.execute("COMMIT" if is_kept else "ROLLBACK")
    finally:
        raw.close()


@contextmanager
def _on_postgres(address: str, *, is_kept: bool) -> Iterator[Hand]:
    with psycopg.connect(address, row_factory=dict_row) as raw:
        raw.execute("SET LOCAL session_replication_role = replica")
        raw.execute("SET LOCAL search_path = discreet")
        hand = Hand(raw, postgres._PostgresTransaction(raw), postgres._postgres, "ctid")
        if not is_kept:
            for check in raw.execute(ANY_CHECK).fetchall():
                raw.execute(f"ALTER TABLE {check['of']} DROP CONSTRAINT {check['name']}".encode())
        yield hand
        if not is_kept:
            raw.rollback()


def rehash(hand: Hand, name: str) -> None:
    """Give every event the hash of what it says now."""
    for row in hand.execute("SELECT * FROM events WHERE dataset = :name", name=name):
        _set(hand, "events", {"hash": link_of(row).hash}, dataset=name, sequence=row["sequence"])


def roll_back(hand: Hand, name: str, kept: int) -> None:
    """Put a dataset back to where it stood after an event, in every table: as an older copy would have it."""
    events = hand.execute("SELECT * FROM events WHERE dataset = :name ORDER BY sequence", name=name)
    left = [row for row in events if row["sequence"] <= kept]
    for table, place in {"events": "sequence", "reservations": "sequence", "answers": "reservation"}.items():
        hand.execute(f"DELETE FROM {table} WHERE dataset = :name AND {place} > :kept", name=name, kept=kept)
    hand.execute("DELETE FROM versions WHERE dataset = :name AND registered > :kept", name=name, kept=kept)
    for row in events[len(left) :]:
        if row["kind"] == Kind.RENAMED:
            hand.execute("DELETE FROM aliases WHERE alias = :alias", alias=json.loads(row["detail"])["alias"])
    _put_back_the_row(hand, name, left)
    _put_back_reservations(hand, name, left)
    hand.execute("DELETE FROM analysts WHERE dataset = :name", name=name)
    for analyst, own in replay_totals(left, {row["sequence"] for row in left}).items():
        columns = own.row(name, analyst)
        marks = ", ".join(f":{column}" for column in columns)
        hand.execute(f"INSERT INTO analysts ({', '.join(columns)}) VALUES ({marks})", **columns)


def _put_back_the_row(hand: Hand, name: str, left: list[dict[str, Any]]) -> None:
    promising = [row for row in left if row["kind"] in (Kind.REGISTERED, Kind.CAPPED, Kind.RECOVERED)][-1]
    detail = json.loads(promising["detail"])
    promise = detail.get("new", detail)
    before = [row for row in left if row["sequence"] <= promising["sequence"]]
    columns = promise["budget"] | dict(zip(("cap_epsilon", "cap_rho", "cap_delta"), promise["caps"], strict=True))
    columns |= {"sequence": left[-1]["sequence"], "head": left[-1]["hash"], "renyi_order": promise.get("order")}
    for prefix, cost in {"spent": _total(left), "floor": _total(before)}.items():
        columns |= {f"{prefix}_{part}": value for part, value in vars(cost).items()}
    _set(hand, "datasets", columns, name=name)


def _put_back_reservations(hand: Hand, name: str, left: list[dict[str, Any]]) -> None:
    concluded = {row["reservation"] for row in left if row["kind"] in (Kind.ANSWERED, Kind.FORFEITED)}
    for row in hand.execute("SELECT * FROM reservations WHERE dataset = :name", name=name):
        place = {"dataset": name, "sequence": row["sequence"]}
        resumed = sum(each["kind"] == Kind.RESUMED and each["reservation"] == row["sequence"] for each in left)
        _set(hand, "reservations", {"attempt": 1 + resumed}, **place)
        if row["sequence"] not in concluded:
            _set(hand, "reservations", {"state": str(State.RESERVED)}, **place)
            where = "WHERE dataset = :dataset AND reservation = :sequence"
            hand.execute(f"DELETE FROM answers {where}", **place)


def _total(events: list[dict[str, Any]]) -> Cost:
    return sum((cost_in(row, "cost") for row in events), NOTHING)


def _set(hand: Hand, table: str, columns: dict[str, object], **place: object) -> None:
    changes = ", ".join(f"{column} = :{column}" for column in columns)
    # A column may be both set and searched for, so what is searched for has a name of its own.
    where = " AND ".join(f"{column} = :of_{column}" for column in place)
    found = {f"of_{column}": value for column, value in place.items()}
    hand.execute(f"UPDATE {table} SET {changes} WHERE {where}", **columns, **found)


_NUMBERS = itertools.count()


def new_database(server: PostgresServer, name: str) -> Place:
    """One more database of a server, of the same roles, with nothing in it.

    Its name ends in a number of its own: workers that take over tests of a module set that module up once more.
    """
    name = f"{name}_{next(_NUMBERS)}"
    with psycopg.connect(server.superuser_url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} OWNER {OWNER}".encode())
        connection.execute(f"GRANT CONNECT ON DATABASE {name} TO {SERVICE}, {STEWARD}".encode())
    addresses = (server.service_url, server.superuser_url, server.owner_url, server.steward_url)
    return Place(*(address.removesuffix(DATABASE) + name for address in addresses))


def dump_of(superuser_url: str) -> str:
    """A dump of the ledger in a database, as pg_dump writes it."""
    command = [postgres_binaries() / "pg_dump", "--schema=discreet", superuser_url]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def put_back_dump(superuser_url: str, dump: str) -> None:
    """Restore a dump in the place of the ledger that is there."""
    command = [postgres_binaries() / "psql", "--quiet", "--set=ON_ERROR_STOP=1", superuser_url]
    text = "DROP SCHEMA discreet CASCADE;\n" + dump
    subprocess.run(command, check=True, input=text, capture_output=True, text=True)


def tenths(ledger: Ledger) -> Fraction | None:
    """What was spent of 'visits', in tenths of epsilon."""
    spent = ledger.spent("visits").epsilon
    return None if spent is None else Fraction(spent, TENTH)


def anchor_file(ledger: Ledger) -> Path:
    """Where its anchors are."""
    return ledger._detector._directory / f"{ledger._detector._ledger}.jsonl"


def clean(ledger: Ledger, **options: object) -> bool:
    """Whether nothing is found, or else what."""
    found = ledger.verify(full=True, **options)
    assert found, str(found)
    return True
