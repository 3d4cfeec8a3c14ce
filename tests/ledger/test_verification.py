"""Whoever has the file and SQLite can change anything; `verify` finds it.

Each test drops the triggers, changes one thing, and puts the triggers back, so that what is found is the change itself.
"""

import importlib.util
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from discreet.ledger import Receipt, SQLiteLedger, schema
from discreet.ledger.account import account_of
from discreet.ledger.chain import columns_of
from discreet.ledger.statements import insert

_spec = importlib.util.spec_from_file_location("make_golden", Path(__file__).with_name("make_golden.py"))
_golden = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_golden)

COLUMNS = {
    "datasets": "name unit neighbours hash_key epsilon delta reserved_delta ceiling reason"
    " cap_epsilon cap_rho cap_delta spent_epsilon spent_rho spent_delta floor_epsilon floor_rho floor_delta"
    " sequence head",
    "versions": "dataset version source facts population",
    "events": "dataset sequence format kind time version analyst event cost_epsilon cost_rho cost_delta"
    " question request reservation digest detail library previous hash",
    "reservations": "dataset sequence analyst request question description state",
    "answers": "dataset reservation payload",
}
EVERY_COLUMN = [(table, column) for table, columns in COLUMNS.items() for column in columns.split()]


@pytest.fixture(scope="module")
def filled(tmp_path_factory) -> Path:
    """A ledger with one of everything in it."""
    path = tmp_path_factory.mktemp("filled") / "ledger.sqlite"
    with SQLiteLedger(path) as ledger:
        _golden.fill(ledger)
        assert ledger.verify()
    return path


@pytest.fixture
def copy(filled, path) -> Path:
    shutil.copy(filled, path)
    return path


@contextmanager
def tampering(path: Path) -> Iterator[sqlite3.Connection]:
    """The file without its triggers, checks and references; the triggers are put back at the end."""
    with closing(sqlite3.connect(path, isolation_level=None)) as raw:
        raw.execute("PRAGMA ignore_check_constraints = ON")
        raw.execute("PRAGMA synchronous = OFF")
        raw.execute("BEGIN")
        triggers = raw.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            raw.execute(f"DROP TRIGGER {name}")
        yield raw
        for _, statement in triggers:
            raw.execute(statement)
        raw.execute("COMMIT")


def findings(path: Path, **options: object) -> str:
    with SQLiteLedger(path) as ledger:
        report = ledger.verify(**options)
        assert report.ok == bool(report) == (not report.findings)
        return "\n".join(map(str, report.findings))


def found_by_the_chain(path: Path) -> bool:
    """Whether the change shows in what the rows say, not only in SQLite's own checks."""
    with SQLiteLedger(path) as ledger:
        return any(finding.dataset is not None for finding in ledger.verify().findings)


def test_putting_the_triggers_back_leaves_nothing_to_find(copy):
    with tampering(copy) as raw:
        raw.execute("SELECT 1")
    assert findings(copy) == ""


def test_the_list_of_columns_below_is_complete(copy):
    with closing(sqlite3.connect(copy)) as raw:
        tables = [row[0] for row in raw.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        columns = {t: " ".join(row[1] for row in raw.execute(f"PRAGMA table_info({t})")) for t in tables}
    assert {t: c for t, c in columns.items() if t != "schema_versions"} == COLUMNS


def _other(value: object) -> object:
    if value is None:
        return 7
    if isinstance(value, bytes):
        return value + b"x"
    return value + 1_000 if isinstance(value, int) else f"{value}x"


@pytest.mark.guarantee("ledger")
@pytest.mark.parametrize(("table", "column"), EVERY_COLUMN)
def test_an_edit_of_any_column_of_any_row_is_found(copy, path, table, column):
    with tampering(copy) as raw:
        rows = raw.execute(f"SELECT rowid, {column} FROM {table}").fetchall()
    assert rows
    for rowid, value in rows:
        with tampering(path) as raw:
            raw.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (_other(value), rowid))
        assert found_by_the_chain(path), (rowid, value)
        with tampering(path) as raw:
            raw.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (value, rowid))
    assert findings(path) == ""


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ("UPDATE datasets SET spent_epsilon = 0, spent_rho = 1, spent_delta = 0", "the total spent is not the sum"),
        ("UPDATE datasets SET spent_rho = spent_rho - 1", "the total spent is not the sum"),
        ("UPDATE datasets SET cap_epsilon = 9000000000000", "its caps are not those"),
        ("UPDATE datasets SET epsilon = '9/1'", "its budget is not the one"),
        ("UPDATE events SET cost_rho = 1 WHERE kind = 'RESERVED'", "it was changed after it was written"),
        ("UPDATE answers SET payload = x'31'", "its stored answer is not the one that was given"),
        ("UPDATE reservations SET state = 'RESERVED'", "its state is not the one that the chain records"),
        ("UPDATE reservations SET state = 'FORFEITED' WHERE state = 'RESERVED'", "its state is not the one"),
        ("UPDATE versions SET source = 'other.csv'", "is not as it was registered"),
        ("DELETE FROM datasets WHERE name = 'people'", "the dataset's own row is missing"),
    ],
)
def test_a_finding_says_what_was_changed(copy, change, found):
    with tampering(copy) as raw:
        raw.execute(change)
    assert found in findings(copy)


def _forged(raw: sqlite3.Connection, name: str, kind: str, **columns: object) -> None:
    """An event that follows the head as it should, written by somebody who knows how."""
    row = raw.execute("SELECT * FROM datasets WHERE name = ?", (name,))
    known = account_of(dict(zip([column[0] for column in row.description], row.fetchone(), strict=True)))
    link = known.link(kind, version=1, **columns)
    raw.execute("UPDATE datasets SET sequence = ?, head = ? WHERE name = ?", (link.sequence, link.hash, name))
    insert(raw, "events", columns_of(link))


def _last_registration(raw: sqlite3.Connection, name: str) -> tuple[str, str]:
    latest = "SELECT detail, digest FROM events WHERE dataset = ? AND kind = 'REGISTERED' ORDER BY sequence DESC"
    return raw.execute(latest, (name,)).fetchone()


def test_a_registration_after_a_charge_is_found_even_where_it_follows_the_chain(copy):
    with tampering(copy) as raw:
        detail, sealed = _last_registration(raw, "people")
        _forged(raw, "people", "REGISTERED", detail=detail, digest=sealed)
    assert "a registration was replaced after a charge" in findings(copy)


def test_what_was_registered_before_a_correction_cannot_be_put_back_unseen(copy):
    """The rows as the first registration sealed them: the chain's last one says otherwise."""
    with tampering(copy) as raw:
        raw.execute("UPDATE datasets SET neighbours = 'add_remove' WHERE name = 'people'")
    assert "its unit, neighbours or hash key are not those registered" in findings(copy)


def test_a_correction_without_its_event_is_found(path, dataset):
    """Before the first charge the rules let a unit change with an event; one that records something else is found."""
    with SQLiteLedger(path) as ledger:
        ledger.register(dataset())
    with tampering(path) as raw:
        _forged(raw, "visits", "REJECTED")
        raw.execute("UPDATE datasets SET unit = 'one row'")
    assert "its unit, neighbours or hash key are not those registered" in findings(path)
    with tampering(path) as raw:
        raw.execute("UPDATE datasets SET unit = 'one patient_id'")
        raw.execute("UPDATE versions SET facts = '{}'")
    assert "version 1 is not as it was registered" in findings(path)


@pytest.mark.guarantee("ledger")
@pytest.mark.parametrize("table", list(COLUMNS))
def test_a_deletion_of_any_row_is_found(filled, path, table):
    with closing(sqlite3.connect(filled)) as raw:
        rows = [row[0] for row in raw.execute(f"SELECT rowid FROM {table}")]
    for rowid in rows:
        shutil.copy(filled, path)
        with tampering(path) as raw:
            raw.execute(f"DELETE FROM {table} WHERE rowid = ?", (rowid,))
        assert found_by_the_chain(path), rowid


def _swap(raw: sqlite3.Connection, one: int, other: int) -> None:
    for before, after in ((one, -1), (other, one), (-1, other)):
        raw.execute("UPDATE events SET sequence = ? WHERE sequence = ? AND dataset = 'visits'", (after, before))


def test_a_reordering_of_events_is_found(copy):
    with tampering(copy) as raw:
        _swap(raw, 2, 4)
    assert "was changed after it was written" in findings(copy)


def test_an_event_put_between_others_is_found(copy):
    with tampering(copy) as raw:
        last = raw.execute("SELECT max(sequence) FROM events WHERE dataset = 'visits'").fetchone()[0]
        columns = COLUMNS["events"].replace("sequence", f"{last + 1}").replace(" ", ", ")
        raw.execute(f"INSERT INTO events SELECT {columns} FROM events WHERE sequence = 4 AND dataset = 'visits'")
    assert "does not follow the event before it" in findings(copy)


def _cut(raw: sqlite3.Connection, kept: int) -> None:
    raw.execute("DELETE FROM events WHERE dataset = 'visits' AND sequence > ?", (kept,))


def _with_the_head(raw: sqlite3.Connection, kept: int) -> None:
    _cut(raw, kept)
    head = raw.execute("SELECT hash FROM events WHERE dataset = 'visits' AND sequence = ?", (kept,)).fetchone()[0]
    raw.execute("UPDATE datasets SET sequence = ?, head = ? WHERE name = 'visits'", (kept, head))


def _with_the_total(raw: sqlite3.Connection, kept: int) -> None:
    _with_the_head(raw, kept)
    spent = raw.execute("SELECT sum(cost_rho), sum(cost_delta) FROM events WHERE dataset = 'visits'").fetchone()
    raw.execute("UPDATE datasets SET spent_rho = ?, spent_delta = ? WHERE name = 'visits'", spent)


@pytest.mark.parametrize("cut", [_cut, _with_the_head, _with_the_total])
@pytest.mark.parametrize("kept", [1, 3, 6, 9])
def test_a_chain_that_was_cut_is_found(copy, cut: Callable[[sqlite3.Connection, int], None], kept):
    with tampering(copy) as raw:
        cut(raw, kept)
    assert findings(copy) != ""


def test_an_older_copy_put_back_is_found_by_the_receipts_that_analysts_hold(path, dataset, charge, tmp_path):
    """Without a witness outside the store it cannot be found: the older copy is a true ledger, only not the last."""
    with SQLiteLedger(path) as ledger:
        ledger.register(dataset())
        first = charge(ledger)
    shutil.copy(path, tmp_path / "older.sqlite")
    with SQLiteLedger(path) as ledger:
        second = charge(ledger)
    shutil.copy(tmp_path / "older.sqlite", path)
    assert findings(path) == ""
    assert findings(path, receipts=[first]) == ""
    assert f"receipt {second.id} is not in the chain" in findings(path, receipts=[first, second])


def test_a_receipt_that_was_changed_is_found(path, dataset, charge):
    with SQLiteLedger(path) as ledger:
        ledger.register(dataset())
        text = charge(ledger).to_json().replace('"ann"', '"bob"')
    assert "was changed" in findings(path, receipts=[Receipt.from_json(text)])


def test_a_dropped_trigger_is_found(copy):
    with closing(sqlite3.connect(copy)) as raw:
        raw.execute("DROP TRIGGER no_refunds")
    assert "'no_refunds' is not as discreet wrote it" in findings(copy)


def test_a_schema_version_that_was_not_recorded_is_found(copy):
    with tampering(copy) as raw:
        raw.execute("UPDATE schema_versions SET version = ?", (schema.VERSION + 1,))
    assert "the schema's version" in findings(copy)


def test_a_tampered_answer_is_not_served(copy):
    with tampering(copy) as raw:
        raw.execute("UPDATE answers SET payload = x'31'")
    with SQLiteLedger(copy) as ledger, pytest.raises(Exception, match="damaged"):
        ledger.stored("visits", "cd")


def test_one_dataset_can_be_verified_alone(copy):
    with tampering(copy) as raw:
        raw.execute("UPDATE datasets SET spent_rho = spent_rho + 1 WHERE name = 'people'")
    assert findings(copy, name="visits") == ""
    assert "the total spent" in findings(copy, name="people")


def test_a_dataset_of_which_nothing_is_left_is_found_by_its_name(copy):
    assert "own row is missing" in findings(copy, name="gone")


def test_the_report_reads_as_a_sentence(copy):
    with SQLiteLedger(copy) as ledger:
        assert str(ledger.verify()) == "2 datasets, 16 events: everything agrees"
