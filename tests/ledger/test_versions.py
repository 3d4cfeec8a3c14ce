"""A process that is older than the ledger: after a migration by another one it writes nothing any more."""

import io
import os
import re
import sqlite3
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import psycopg
import pytest

from discreet.accounting.filters import Budget
from discreet.errors import LedgerError
from discreet.ledger import PostgresLedger, SQLiteLedger, State
from discreet.ledger.records import faults
from discreet.ledger.stores import postgres_schema, sqlite_schema
from processes import wait_for
from servers import SERVICE, STEWARD, PostgresServer
from tampering import TABLES, Place, new_database, tampering

MIGRATED = re.escape(faults.MIGRATED)
NEWER = postgres_schema.VERSION + 1
UNDO = f"DELETE FROM discreet.schema_versions WHERE version = {NEWER}"


@pytest.fixture
def migrated(address: str, tamperer: str) -> Iterator[Callable[[], None]]:
    """Record the next version, as a migration does; on the shared server it is undone."""

    def record() -> None:
        if address.startswith("postgresql:"):
            with psycopg.connect(tamperer) as raw:
                raw.execute("INSERT INTO discreet.schema_versions VALUES (%s, '', '')", (NEWER,))
        else:
            with closing(sqlite3.connect(address)) as raw, raw:
                sqlite_schema.record(raw, sqlite_schema.VERSION + 1)

    yield record
    if address.startswith("postgresql:"):
        with psycopg.connect(tamperer) as raw:
            raw.execute("SET LOCAL session_replication_role = replica")
            raw.execute(UNDO.encode())


def rows(tamperer: str) -> dict[str, list[dict]]:
    """Everything that a ledger holds."""
    with tampering(tamperer, is_kept=False) as hand:
        return {table: hand.execute(f"SELECT * FROM {table} ORDER BY 1, 2") for table in TABLES if table != "ledger"}


@pytest.mark.guarantee("ledger")
def test_after_a_migration_an_older_process_charges_nothing_and_writes_nothing(
    visits, tamperer, migrated, turn, charge, dataset
):
    held = turn(visits)
    migrated()
    before = rows(tamperer)
    acts = {
        "a charge": lambda: charge(visits),
        "the charge of an analyst who is not known yet": lambda: charge(visits, analyst="bob"),
        "an answer": lambda: visits.answer(held, b"12"),
        "a failure": lambda: visits.forfeit(held, "test"),
        "a dataset": lambda: visits.register(dataset(name="stays", source="stays.csv")),
        "a cap": lambda: visits.set_cap("visits", Budget(epsilon=2), reason="test"),
    }
    for _ in range(2):
        for act in acts.values():
            with pytest.raises(LedgerError, match=MIGRATED):
                act()
    assert rows(tamperer) == before
    assert visits.state(held.receipt) is State.RESERVED


def test_a_process_that_starts_after_the_migration_is_refused_at_the_opening(visits, migrated, another):
    migrated()
    with pytest.raises(LedgerError, match=re.escape(faults.NEWER)):
        another()


def test_an_older_file_in_the_place_of_a_ledger_is_no_migration(path, dataset):
    with SQLiteLedger(path) as ledger:
        ledger.register(dataset())
        with closing(sqlite3.connect(path)) as raw:
            raw.execute(f"PRAGMA user_version = {sqlite_schema.VERSION - 1}")
        with pytest.raises(LedgerError, match=re.escape(faults.MOVED)):
            ledger.register(dataset(name="stays", source="stays.csv"))


# What a migration of PostgreSQL changes, and when.

CHANGES = {
    "a function is gone": "DROP FUNCTION discreet.never CASCADE",
    "a column is new": "ALTER TABLE discreet.datasets ADD COLUMN colour TEXT",
    "a column has another name": "ALTER TABLE discreet.analysts RENAME COLUMN most_failures TO failures_allowed",
    "a table is gone": "DROP TABLE discreet.halts",
}


@pytest.fixture
def place(ledger_server: PostgresServer, request: pytest.FixtureRequest) -> Place:
    """A database with a ledger that this test alone has."""
    made = new_database(ledger_server, re.sub(r"\W+", "_", request.node.name)[-50:].lower())
    PostgresLedger.create(made.owner, role=SERVICE, steward=STEWARD)
    return made


def used_ledger(place: Place, dataset: Callable, charge: Callable) -> PostgresLedger:
    """A ledger whose statements the driver has prepared."""
    ledger = PostgresLedger(place.steward)
    ledger.register(dataset())
    for number in range(7):
        charge(ledger, epsilon=0.01)
        charge(ledger, epsilon=0.01, analyst=f"analyst {number}")
    return ledger


@pytest.mark.guarantee("ledger")
@pytest.mark.parametrize("change", CHANGES)
def test_whatever_a_migration_changed_the_older_process_says_that_it_is_older(place, dataset, charge, turn, change):
    with used_ledger(place, dataset, charge) as ledger:
        with under_way(place) as connection:
            connection.execute(CHANGES[change].encode())
        for analyst in ("ann", "bob", "ann"):
            with pytest.raises(LedgerError, match=MIGRATED):
                charge(ledger, analyst=analyst)
            with pytest.raises(LedgerError, match=MIGRATED):
                turn(ledger, analyst=analyst)


@contextmanager
def under_way(place: Place) -> Iterator[psycopg.Connection]:
    """A migration that is committed at the end; it begins as `postgres_schema.run_steps` does."""
    with psycopg.connect(place.owner) as connection:
        connection.execute("LOCK TABLE discreet.schema_versions IN ACCESS EXCLUSIVE MODE")
        connection.execute("INSERT INTO discreet.schema_versions VALUES (%s, '', '')", (NEWER,))
        yield connection


@pytest.mark.guarantee("ledger")
@pytest.mark.parametrize("analyst", ["ann", "bob"])
def test_a_charge_during_a_migration_waits_for_it_and_is_refused(place, dataset, charge, at_once, analyst):
    with used_ledger(place, dataset, charge) as ledger:
        before = ledger.history("visits")
        outcome: list[object] = []

        def act() -> None:
            outcome.extend(at_once(lambda: charge(ledger, analyst=analyst)))

        thread = threading.Thread(target=act)
        with under_way(place):
            thread.start()
            time.sleep(0.5)
            assert outcome == []
        thread.join(20)
        assert [str(each) for each in outcome] == [faults.MIGRATED]
        assert ledger.history("visits") == before


@pytest.mark.guarantee("ledger")
def test_a_migration_waits_for_the_charge_under_way(place, dataset, charge):
    with used_ledger(place, dataset, charge) as ledger:
        scripts = postgres_schema.steps() | {NEWER: "SELECT 1"}
        is_done = threading.Event()

        def migrate() -> None:
            with psycopg.connect(place.owner, autocommit=True) as connection:
                postgres_schema.run_steps(connection, scripts)
            is_done.set()

        thread = threading.Thread(target=migrate)

        def work(writer: object) -> None:
            writer.rows("SELECT 1 AS one")
            thread.start()
            assert not is_done.wait(0.5)

        ledger._run(work)
        thread.join(20)
        assert is_done.is_set()
        with pytest.raises(LedgerError, match=MIGRATED):
            charge(ledger)


# A real older version of the package, from the history of this repository.

SCHEMA_6 = "aa29f371"
"""The last commit whose ledgers on PostgreSQL have schema 6."""
OLDER = Path(__file__).with_name("older_version.py")


@pytest.fixture
def older(tmp_path: Path) -> Callable[..., subprocess.Popen[bytes]]:
    """Start the program with the older version of the package."""
    root = Path(__file__).parents[2]
    made = subprocess.run(["git", "archive", SCHEMA_6, "src"], cwd=root, capture_output=True, check=False)
    if made.returncode:
        pytest.skip("the commit of the older version is not in this checkout: fetch its history")
    with tarfile.open(fileobj=io.BytesIO(made.stdout)) as archive:
        archive.extractall(tmp_path, filter="data")

    def run(*words: str) -> subprocess.Popen[bytes]:
        environment = os.environ | {"PYTHONPATH": str(tmp_path / "src")}
        with (tmp_path / words[0]).open("w") as told:
            return subprocess.Popen([sys.executable, OLDER, *words], stdout=told, env=environment)

    return run


@pytest.mark.nightly
@pytest.mark.guarantee("ledger")
def test_a_process_of_an_older_version_stops_at_the_migration_and_nothing_that_it_charged_is_lost(
    ledger_server, older, tmp_path, charge
):
    place = new_database(ledger_server, "older_version")
    assert older("create", place.owner, SERVICE).wait(60) == 0
    with older("charge", place.service) as process:
        told = tmp_path / "charge"
        wait_for(lambda: told.read_text().count("charged") > 5, 60, told.read_text)
        PostgresLedger.create(place.owner, role=SERVICE, steward=STEWARD)
        assert process.wait(30) == 0
    *charges, refusal = told.read_text().splitlines()
    assert refusal.startswith("LedgerError: the ledger was migrated by a newer version of discreet")
    with PostgresLedger(place.service) as ledger:
        assert ledger.spent("visits").epsilon == len(charges) * 10**6
        charge(ledger)
        assert ledger.verify(full=True)
    with older("charge", place.service) as again:
        assert again.wait(30) == 0
    assert told.read_text().startswith("LedgerError: the ledger was written by a newer version of discreet")
