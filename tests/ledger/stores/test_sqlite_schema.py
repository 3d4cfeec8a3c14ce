import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from discreet.ledger import SQLiteLedger
from discreet.ledger.stores import sqlite_schema as schema


def _opened(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA foreign_keys = ON")
    return connection


@pytest.fixture(scope="module")
def charged_file(tmp_path_factory, dataset, charge) -> Path:
    """A ledger with charges, a quota, another name and halts."""
    directory = tmp_path_factory.mktemp("charged")
    with SQLiteLedger(directory / "ledger.sqlite", key=directory / "key", anchors=directory) as ledger:
        ledger.register(dataset())
        ledger.set_quota("visits", "ann", dataset().budget, reason="a test")
        ledger.answer(charge(ledger, request="r"), b"answer")
        ledger.forfeit(charge(ledger), "timeout")
        charge(ledger)
        ledger.set_quota("visits", "bob", dataset().budget, failures=0, reason="a test")
        ledger.rename("visits", "stays", reason="a test")
    with closing(_opened(directory / "ledger.sqlite")) as connection:
        connection.execute("INSERT INTO halts VALUES ('1', 'other', 'now', 'a test', NULL), ('2', 'b', 'now', 'x', 7)")
    return directory / "ledger.sqlite"


@pytest.fixture
def raw(path, charged_file):
    """A copy of it, seen by somebody who has the file and SQLite."""
    shutil.copy(charged_file, path)
    with closing(_opened(path)) as connection:
        yield connection


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET analyst = 'bob'",
        "UPDATE events SET cost_rho = 1 WHERE kind = 'RESERVED'",
        "DELETE FROM events",
        "UPDATE answers SET payload = x'00'",
        "DELETE FROM answers",
        "UPDATE versions SET source = 'other.csv'",
        "DELETE FROM versions",
        "DELETE FROM datasets",
        "DELETE FROM reservations",
        "UPDATE schema_versions SET version = 3",
        "DELETE FROM schema_versions",
        "UPDATE ledger SET id = 'x'",
        "DELETE FROM ledger",
        "UPDATE aliases SET dataset = 'visits', alias = 'x'",
        "DELETE FROM aliases",
        "DELETE FROM analysts",
        "DELETE FROM halts",
        "UPDATE reservations SET state = 'RESERVED'",
        "UPDATE reservations SET state = 'FORFEITED' WHERE state = 'ANSWERED'",
        "UPDATE reservations SET analyst = 'bob', state = 'ANSWERED' WHERE state = 'RESERVED'",
        "UPDATE reservations SET attempt = 2, state = 'ANSWERED' WHERE state = 'RESERVED'",
        "UPDATE reservations SET attempt = 0 WHERE state = 'RESERVED'",
        "UPDATE versions SET facts = '{}'",
        "INSERT INTO answers SELECT dataset, sequence, x'00' FROM reservations WHERE state = 'RESERVED'",
        "INSERT INTO answers SELECT dataset, sequence, x'00' FROM reservations WHERE state = 'FORFEITED'",
        "INSERT INTO aliases VALUES ('other', 'nobody')",
        "INSERT OR REPLACE INTO events SELECT * FROM events WHERE sequence = 3",
        "INSERT OR REPLACE INTO datasets SELECT * FROM datasets",
        "INSERT OR REPLACE INTO versions SELECT dataset, version, 'o.csv', facts, population, registered FROM versions",
        "INSERT OR REPLACE INTO reservations SELECT * FROM reservations",
        "INSERT OR REPLACE INTO answers SELECT dataset, reservation, x'00' FROM answers",
        "INSERT OR REPLACE INTO analysts SELECT * FROM analysts WHERE failures = 0",
        "INSERT OR REPLACE INTO aliases SELECT * FROM aliases",
        "INSERT OR REPLACE INTO halts SELECT id, dataset, time, finding, 9 FROM halts",
    ],
)
def test_the_store_is_append_only(raw, statement):
    with pytest.raises(sqlite3.IntegrityError):
        raw.execute(statement)


def test_no_event_is_put_in_the_place_of_another_one(raw):
    """A recovery may leave a gap, and still does not take the place of the head."""
    columns = [row[1] for row in raw.execute("PRAGMA table_info(events)")]
    chosen = ", ".join({"kind": "'RECOVERED'", "cost_rho": "1"}.get(column, column) for column in columns)
    with pytest.raises(sqlite3.IntegrityError, match="never replaced"):
        raw.execute(f"INSERT OR REPLACE INTO events SELECT {chosen} FROM events ORDER BY sequence DESC LIMIT 1")


@pytest.mark.parametrize(
    "change",
    [
        "spent_epsilon = 0",
        "spent_rho = 0",
        "spent_rho = spent_rho - 1",
        "spent_epsilon = spent_epsilon + 1, sequence = sequence",
        "cap_epsilon = cap_epsilon + 1",
        "cap_rho = cap_rho + 1",
        "floor_epsilon = spent_epsilon - 1, floor_rho = spent_rho",
        "hash_key = 'x'",
        "unit = 'one row'",
        "neighbours = 'replace_one'",
        "name = 'other'",
        "part_of = 'other'",
        "slice_start = '2026-01-01T00:00:00.000000'",
    ],
)
@pytest.mark.pitfall("B3")
def test_no_statement_gives_budget_back_or_moves_a_cap(raw, change):
    with pytest.raises(sqlite3.IntegrityError):
        raw.execute(
            f"UPDATE datasets SET {change}, head = 'x'" + ("" if "sequence" in change else ", sequence = sequence + 1")
        )


@pytest.mark.parametrize(
    "change",
    [
        "spent_epsilon = 0",
        "spent_rho = spent_rho - 1",
        "spent_epsilon = NULL, spent_rho = spent_rho - 1",
        "failures = 0",
        "analyst = 'zoe'",
        "dataset = 'other'",
        "cap_rho = NULL",
        "quota = NULL",
    ],
)
def test_no_statement_gives_an_analyst_back_what_they_spent_or_failed(raw, change):
    with pytest.raises(sqlite3.IntegrityError):
        raw.execute(f"UPDATE analysts SET {change} WHERE analyst = 'ann'")


def test_a_charge_of_an_analyst_with_too_many_failures_is_not_written(raw):
    """Whatever the code asks: bob may not fail, and has no reservation."""
    with pytest.raises(sqlite3.IntegrityError, match="too many failures"):
        raw.execute("INSERT INTO reservations VALUES ('visits', 2, 'bob', 'x', 'ab', '{}', 'RESERVED', 1, 0)")


@pytest.mark.parametrize(
    "change", ["cleared = 9 WHERE id = '2'", "cleared = NULL WHERE id = '2'", "finding = 'x' WHERE id = '1'"]
)
def test_a_halt_is_cleared_once_and_says_what_it_said(raw, change):
    with pytest.raises(sqlite3.IntegrityError, match="cleared once"):
        raw.execute(f"UPDATE halts SET {change}")


@pytest.fixture(scope="module")
def uncharged_file(tmp_path_factory, dataset, charge) -> Path:
    """A ledger with a dataset that was never charged, beside one that was."""
    directory = tmp_path_factory.mktemp("uncharged")
    with SQLiteLedger(directory / "ledger.sqlite", key=directory / "key", anchors=directory) as ledger:
        ledger.register(dataset())
        ledger.register(dataset(name="charged"))
        charge(ledger, name="charged")
    return directory / "ledger.sqlite"


@pytest.fixture
def uncharged(path, uncharged_file):
    shutil.copy(uncharged_file, path)
    with closing(_opened(path)) as connection:
        yield connection


REGISTERED_AGAIN = """INSERT INTO events
SELECT dataset, sequence + 1, format, kind, time, version, analyst, event, cost_epsilon, cost_rho, cost_delta,
  cost_renyi, question, request, reservation, digest, detail, library, hash, 'x' FROM events
WHERE dataset = ? AND kind = 'REGISTERED'"""
ADVANCED = "UPDATE datasets SET unit = 'one row', neighbours = 'replace_one', sequence = sequence + 1, head = 'x'"


def test_a_registration_that_was_never_charged_can_be_replaced_by_an_event(uncharged):
    uncharged.execute(ADVANCED + " WHERE name = 'visits'")
    uncharged.execute(REGISTERED_AGAIN, ("visits",))
    uncharged.execute("UPDATE versions SET facts = '{}', source = 'o.csv', population = 9 WHERE dataset = 'visits'")
    with pytest.raises(sqlite3.IntegrityError, match="never deleted"):
        uncharged.execute("DELETE FROM versions")


@pytest.mark.parametrize(
    ("statement", "rule"),
    [
        (ADVANCED + " WHERE name = 'charged'", "keeps its unit and neighbours"),
        ("UPDATE datasets SET unit = 'one row' WHERE name = 'visits'", "only with an event"),
        (
            "UPDATE versions SET facts = '{}' WHERE dataset = 'charged'",
            "keeps its versions|only with the event that registers it",
        ),
        ("UPDATE versions SET version = 2 WHERE dataset = 'visits'", "only with the event that registers it"),
        ("UPDATE versions SET dataset = 'charged' WHERE dataset = 'visits'", "only with the event that registers it"),
        ("UPDATE datasets SET hash_key = 'x', sequence = sequence + 1, head = 'x'", "keeps its name, hash key and"),
        ("UPDATE datasets SET name = 'x', sequence = sequence + 1, head = 'x'", "keeps its name, hash key and"),
    ],
)
def test_the_rules_let_a_registration_be_replaced_and_nothing_more(uncharged, statement, rule):
    with pytest.raises(sqlite3.IntegrityError, match=rule):
        uncharged.execute(statement)


def test_a_version_changes_only_with_the_event_that_registers_it(uncharged):
    """The head is an event of another kind, so no version follows from it."""
    uncharged.execute(ADVANCED + " WHERE name = 'visits'")
    uncharged.execute(REGISTERED_AGAIN.replace("format, kind", "format, 'REJECTED'"), ("visits",))
    with pytest.raises(sqlite3.IntegrityError, match="only with the event that registers it"):
        uncharged.execute("UPDATE versions SET facts = '{}' WHERE dataset = 'visits'")


def test_a_charged_dataset_is_not_registered_again(uncharged):
    uncharged.execute("UPDATE datasets SET sequence = sequence + 1, head = 'x' WHERE name = 'charged'")
    with pytest.raises(sqlite3.IntegrityError, match="not registered again"):
        uncharged.execute(REGISTERED_AGAIN.replace("sequence + 1", "3"), ("charged",))


def test_an_event_leaves_no_gap_and_follows_the_head(uncharged):
    with pytest.raises(sqlite3.IntegrityError, match="as the head of its chain"):
        uncharged.execute(REGISTERED_AGAIN, ("visits",))
    uncharged.execute("UPDATE datasets SET sequence = 5, head = 'x' WHERE name = 'visits'")
    with pytest.raises(sqlite3.IntegrityError, match="follows the one before it"):
        uncharged.execute(REGISTERED_AGAIN.replace("sequence + 1", "5"), ("visits",))


def test_a_charge_is_not_written_without_what_it_costs(uncharged):
    """The totals of the dataset and of the analyst are raised first, or the event is refused."""
    uncharged.execute("UPDATE datasets SET sequence = sequence + 1, head = 'x' WHERE name = 'visits'")
    charged = REGISTERED_AGAIN.replace("format, kind", "format, 'RESERVED'").replace("cost_rho", "1")
    with pytest.raises(sqlite3.IntegrityError, match="does not move a floor"):
        uncharged.execute(charged, ("visits",))


def test_a_total_without_an_epsilon_never_gets_one_back(raw):
    raw.execute("UPDATE datasets SET epsilon = '2/1', cap_rho = 10000000000000000, sequence = sequence + 1, head = 'x'")
    raw.execute("UPDATE datasets SET spent_epsilon = NULL, sequence = sequence + 1, head = 'y'")
    with pytest.raises(sqlite3.IntegrityError, match="never falls"):
        raw.execute("UPDATE datasets SET spent_epsilon = 0, sequence = sequence + 1, head = 'z'")


def _drop_triggers(connection: sqlite3.Connection) -> None:
    for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
        connection.execute(f"DROP TRIGGER {name}")


@pytest.mark.parametrize(
    "spent",
    [
        "spent_epsilon = cap_epsilon + 1",
        "spent_epsilon = NULL",
        "spent_epsilon = NULL, spent_rho = cap_rho + 1, spent_renyi = cap_rho + 1",
        "spent_delta = cap_delta + 1",
        "spent_epsilon = 9223372036854775807 + 1",
    ],
)
@pytest.mark.parametrize("whose", ["datasets", "analysts"])
@pytest.mark.pitfall("B5")
def test_the_check_holds_whatever_the_code_does(raw, spent, whose):
    """Every trigger is gone, and still no total beyond both filters can be written."""
    _drop_triggers(raw)
    with pytest.raises(sqlite3.IntegrityError):
        raw.execute(f"UPDATE {whose} SET {spent}" + (" WHERE analyst = 'ann'" if whose == "analysts" else ""))


@pytest.mark.parametrize(
    "kind", ["ANSWERED", "FORFEITED", "REJECTED", "CAPPED", "LIMITED", "RESUMED", "PUBLISHED", "REFUND"]
)
def test_only_a_reservation_costs_anything_and_no_other_kind_exists(raw, kind):
    _drop_triggers(raw)
    with pytest.raises(sqlite3.IntegrityError):
        raw.execute("UPDATE events SET kind = ? WHERE kind = 'RESERVED'", (kind,))


def test_a_charge_has_one_outcome(raw):
    _drop_triggers(raw)
    columns = [row[1] for row in raw.execute("PRAGMA table_info(events)")]
    chosen = ", ".join("99" if column == "sequence" else column for column in columns)
    with pytest.raises(sqlite3.IntegrityError, match=r"UNIQUE.*reservation"):
        raw.execute(f"INSERT INTO events SELECT {chosen} FROM events WHERE kind = 'ANSWERED'")


def test_a_request_has_one_charge(raw):
    _drop_triggers(raw)
    with pytest.raises(sqlite3.IntegrityError, match=r"UNIQUE.*request"):
        raw.execute(
            "INSERT INTO reservations SELECT dataset, 1, analyst, request, 'cd', '{}', state, 1, 0"
            " FROM reservations WHERE request = 'r'"
        )


def test_rules_that_were_dropped_or_added_are_listed(raw):
    raw.execute("DROP TRIGGER no_refunds")
    raw.execute("CREATE TRIGGER refunds AFTER INSERT ON answers BEGIN SELECT 1; END")
    assert schema.changed_rules(raw) == ["no_refunds", "refunds"]


MOVED_TO = schema.Destination("1/2", "postgresql://db.example.org:5432/ledger")


@pytest.fixture
def moved(raw):
    """The same ledger after its move, and a connection that has been open since before it."""
    path = Path(raw.execute("PRAGMA database_list").fetchone()[2])
    with closing(_opened(path)) as other:
        other.execute("SELECT * FROM events").fetchall()
        raw.execute("BEGIN IMMEDIATE")
        schema.record_move(raw, MOVED_TO)
        raw.execute("COMMIT")
        yield other


@pytest.mark.guarantee("ledger")
@pytest.mark.parametrize("table", schema.TABLE_NAMES)
def test_a_moved_file_takes_no_change_of_any_table_from_a_connection_of_any_version(moved, table):
    columns = [row[1] for row in moved.execute(f"PRAGMA table_info({table})")]
    changes = (
        f"INSERT INTO {table} VALUES ({', '.join('NULL' for _ in columns)})",
        f"INSERT OR REPLACE INTO {table} SELECT * FROM {table}",
        f"UPDATE {table} SET {columns[-1]} = {columns[-1]}",
        f"DELETE FROM {table}",
    )
    is_empty = moved.execute(f"SELECT count(*) FROM {table}").fetchone()[0] == 0
    for change in changes[: 1 if is_empty else None]:
        with pytest.raises(sqlite3.IntegrityError, match="moved to PostgreSQL"):
            moved.execute(change)


def test_the_rules_of_a_moved_file_are_compared_and_one_that_moved_before_has_none(moved):
    assert list(schema.findings(moved)) == []
    moved.execute("DROP TRIGGER events_moved_insert")
    assert schema.changed_rules(moved) == ["events_moved_insert"]
    for (name,) in moved.execute(
        "SELECT name FROM sqlite_schema WHERE name LIKE '%\\_moved\\_%' ESCAPE '\\'"
    ).fetchall():
        moved.execute(f"DROP TRIGGER {name}")
    assert list(schema.findings(moved)) == []


def test_the_rules_of_a_moved_file_are_findings_in_another_one(raw):
    raw.execute(schema.MOVED_TRIGGERS[0])
    assert len(schema.changed_rules(raw)) == 1
