"""A ledger of an older schema is brought to the present one whole or not at all, and loses nothing."""

import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from discreet.accounting.costs import NOTHING, Cost
from discreet.errors import LedgerError
from discreet.ledger import Receipt, SQLiteLedger, State
from discreet.ledger.stores import sqlite_schema as schema
from discreet.ledger.stores.sqlite_migrations import migrate

OLD = Path(__file__).parents[2] / "golden" / "ledger" / "v1.sqlite"
KILLED = """
import os, signal, sys
from discreet.ledger.stores import sqlite as sqlite_store

connect = sqlite_store._connect

def watched(path):
    connection = connect(path)
    connection.set_trace_callback(lambda text: text.startswith(sys.argv[2]) and os.kill(os.getpid(), signal.SIGKILL))
    return connection

sqlite_store._connect = watched
sqlite_store.SQLiteStore(sys.argv[1])
"""


@pytest.fixture
def raw(path):
    """An empty ledger, seen by somebody who has the file and SQLite."""
    SQLiteLedger(path).close()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        yield connection


# Versions of the schema


def test_a_newer_ledger_is_refused_and_left_alone(path):
    SQLiteLedger(path).close()
    with closing(sqlite3.connect(path)) as raw:
        raw.execute(f"PRAGMA user_version = {schema.VERSION + 1}")
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="newer version of discreet"):
        SQLiteLedger(path)
    with closing(sqlite3.connect(path)) as raw:
        assert _version(raw) == schema.VERSION + 1
    assert path.read_bytes() == before


def test_an_older_ledger_without_a_way_up_is_refused(path):
    SQLiteLedger(path).close()
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("PRAGMA user_version = 0")
    with pytest.raises(LedgerError, match="cannot migrate"):
        SQLiteLedger(path)


def _version(connection: sqlite3.Connection) -> int:
    return connection.execute("PRAGMA user_version").fetchone()[0]


def test_an_older_ledger_is_migrated_step_by_step(raw):
    now = schema.VERSION
    steps = {now: ("CREATE TABLE notes (a TEXT)",), now + 1: ("ALTER TABLE notes ADD COLUMN b TEXT",)}
    migrate(raw, target=now + 2, steps=steps)
    assert _version(raw) == now + 2
    assert [row[0] for row in raw.execute("SELECT version FROM schema_versions")] == [now, now + 1, now + 2]
    assert schema.is_recorded(raw)


def test_a_migration_that_fails_leaves_everything_as_it_was(raw):
    now = schema.VERSION
    steps = {now: ("CREATE TABLE notes (a TEXT)",), now + 1: ("not sql",)}
    with pytest.raises(sqlite3.OperationalError):
        migrate(raw, target=now + 2, steps=steps)
    assert _version(raw) == now
    assert not schema.changed_rules(raw)


# From version 1 to the present one

_EVENTS = """SELECT dataset, sequence, kind, event, cost_epsilon, cost_rho, cost_delta, detail,
  previous, hash FROM events ORDER BY dataset, sequence"""
_TOTALS = "SELECT name, spent_epsilon, spent_rho, spent_delta, cap_epsilon, cap_rho, cap_delta, head FROM datasets"
_ANSWERS = "SELECT * FROM answers ORDER BY dataset, reservation"
_CHARGES = """SELECT dataset, sequence, analyst, request, question, description, state FROM reservations
ORDER BY dataset, sequence"""


def _rows(path: Path, *questions: str) -> list[list[tuple[object, ...]]]:
    with closing(sqlite3.connect(path)) as raw:
        return [raw.execute(question).fetchall() for question in questions]


@pytest.fixture
def old(path) -> Path:
    shutil.copy(OLD, path)
    return path


def test_a_migration_changes_no_event_no_total_no_answer_and_no_receipt(old):
    kept = (_EVENTS, _TOTALS, _ANSWERS, _CHARGES)
    before = _rows(old, *kept)
    receipt = Receipt.from_json(OLD.with_suffix(".receipt.json").read_text())
    with SQLiteLedger(old) as ledger:
        assert ledger.verify(receipts=[receipt]), str(ledger.verify(receipts=[receipt]))
        assert ledger.answer(receipt, b"another") == b'{"n": 12}'
    assert _rows(old, *kept) == before
    assert _rows(old, "PRAGMA user_version", "SELECT version FROM schema_versions") == [
        [(5,)],
        [(1,), (2,), (3,), (4,), (5,)],
    ]


def test_a_migrated_ledger_has_the_rules_of_a_new_one(old):
    with SQLiteLedger(old) as ledger:
        assert ledger._store.findings(full=True) == []
    with closing(sqlite3.connect(old)) as raw:
        assert schema.changed_rules(raw) == []
        assert len(raw.execute("SELECT id FROM ledger").fetchall()) == 1


def test_a_migration_counts_what_each_analyst_spent_and_failed(old):
    with SQLiteLedger(old) as ledger:
        shares = {who: ledger.share("visits", who) for who in ("ann", "bob", "Ann Müller", "zoe")}
        total = sum((share.spent for share in shares.values()), NOTHING)
        assert total == ledger.spent("visits") == Cost(None, 12_300_000_000_000, 10_000_000, 12_300_000_000_000)
        assert {who: share.failures for who, share in shares.items()} == {"ann": 0, "bob": 1, "Ann Müller": 0, "zoe": 0}
        assert shares["Ann Müller"].spent.epsilon == 10**10
        assert all((share.quota, share.is_own, share.most_failures) == (None, False, 100) for share in shares.values())
        assert ledger.share("people", "ann").spent.epsilon == 333_000_000_000


def test_a_charge_that_was_open_before_a_migration_is_taken_over(old, turn):
    with SQLiteLedger(old) as ledger:
        (open_charge,) = [e for e in ledger.history("visits") if e.state is State.RESERVED]
        place = ("visits", open_charge.sequence)
        ledger.take_over(reason="of the first version")
        assert ledger.forfeit_expired() == 2
        assert ledger.state(place) is State.FORFEITED
        assert ledger.verify()


def test_a_migrated_ledger_goes_on_once_somebody_owns_it(old, charge, dataset):
    """Its first version signed nothing, so no key can show that it served this ledger."""
    with SQLiteLedger(old) as ledger:
        with pytest.raises(LedgerError, match="listed no keys"):
            charge(ledger)
        ledger.take_over(reason="of the first version")
        ledger.register(dataset(name="stays"))
        ledger.answer(charge(ledger), b"answer")
        ledger.set_quota("people", "ann", dataset().budget, reason="a test")
        ledger.rename("people", "persons", reason="a test")
        ledger.answer(charge(ledger, name="visits", version=2, epsilon=1), b"answer")
        assert ledger.verify(), str(ledger.verify())


def test_a_ledger_that_many_threads_migrate_at_once_is_migrated_once(old, at_once):
    ledgers = at_once(*(lambda: SQLiteLedger(old) for _ in range(4)))
    for ledger in ledgers:
        assert ledger.verify()
        ledger.close()
    assert _rows(old, "SELECT version FROM schema_versions") == [[(1,), (2,), (3,), (4,), (5,)]]


@pytest.mark.parametrize(
    "step",
    [
        "CREATE TEMP TABLE old_events",
        "DROP TABLE main.datasets",
        "INSERT INTO main.answers",
        "CREATE TRIGGER one_way",
        "COMMIT",
    ],
)
def test_a_migration_that_is_killed_half_way_changes_nothing(old, step):
    with closing(sqlite3.connect(OLD)) as golden:
        whole = list(golden.iterdump())
    done = subprocess.run([sys.executable, "-c", KILLED, old, step], check=False, timeout=60)
    assert done.returncode == -9
    with closing(sqlite3.connect(old)) as raw:
        assert list(raw.iterdump()) == whole
        assert _version(raw) == 1
    with SQLiteLedger(old) as ledger:
        assert ledger.verify()
