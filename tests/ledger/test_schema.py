import sqlite3
from contextlib import closing

import pytest

from discreet.errors import LedgerError
from discreet.ledger import SQLiteLedger, schema


@pytest.fixture
def raw(path, dataset, charge):
    """A ledger with charges, seen by somebody who has the file and SQLite."""
    with SQLiteLedger(path) as ledger:
        ledger.register(dataset())
        ledger.answer(charge(ledger, request="r"), b"answer")
        ledger.forfeit(charge(ledger), "timeout")
        charge(ledger)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA foreign_keys = ON")
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
        "UPDATE schema_versions SET version = 2",
        "UPDATE reservations SET state = 'RESERVED'",
        "UPDATE reservations SET state = 'FORFEITED' WHERE state = 'ANSWERED'",
        "UPDATE reservations SET analyst = 'bob', state = 'ANSWERED' WHERE state = 'RESERVED'",
        "UPDATE versions SET facts = '{}'",
        "INSERT OR REPLACE INTO events SELECT * FROM events WHERE sequence = 2",
        "INSERT OR REPLACE INTO datasets SELECT * FROM datasets",
        "INSERT OR REPLACE INTO versions SELECT dataset, version, 'other.csv', facts, population FROM versions",
        "INSERT OR REPLACE INTO reservations SELECT * FROM reservations",
        "INSERT OR REPLACE INTO answers SELECT dataset, reservation, x'00' FROM answers",
    ],
)
def test_the_store_is_append_only(raw, statement):
    with pytest.raises(sqlite3.IntegrityError):
        raw.execute(statement)


@pytest.mark.parametrize(
    "change",
    [
        "spent_epsilon = 0",
        "spent_rho = 0",
        "spent_rho = spent_rho - 1",
        "spent_epsilon = spent_epsilon + 1, sequence = sequence",
        "cap_epsilon = cap_epsilon + 1",
        "cap_rho = cap_rho + 1",
        "floor_epsilon = spent_epsilon, floor_rho = spent_rho",
        "hash_key = 'x'",
        "unit = 'one row'",
        "neighbours = 'replace_one'",
        "name = 'other'",
    ],
)
@pytest.mark.pitfall("B3")
def test_no_statement_gives_budget_back_or_moves_a_cap(raw, change):
    with pytest.raises(sqlite3.IntegrityError):
        raw.execute(
            f"UPDATE datasets SET {change}, head = 'x'" + ("" if "sequence" in change else ", sequence = sequence + 1")
        )


@pytest.fixture
def uncharged(path, dataset, charge):
    """A ledger with a dataset that was never charged, beside one that was."""
    with SQLiteLedger(path) as ledger:
        ledger.register(dataset())
        ledger.register(dataset(name="charged"))
        charge(ledger, name="charged")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA foreign_keys = ON")
        yield connection


REGISTERED_AGAIN = """INSERT INTO events
SELECT dataset, sequence + 1, format, kind, time, version, analyst, event, cost_epsilon, cost_rho, cost_delta, question,
  request, reservation, digest, detail, library, hash, 'x' FROM events WHERE dataset = ? AND kind = 'REGISTERED'"""
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
        ("UPDATE datasets SET hash_key = 'x', sequence = sequence + 1, head = 'x'", "keeps its name and hash key"),
        ("UPDATE datasets SET name = 'x', sequence = sequence + 1, head = 'x'", "keeps its name and hash key"),
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


def test_a_total_without_an_epsilon_never_gets_one_back(raw):
    raw.execute("UPDATE datasets SET epsilon = '2/1', cap_rho = 10000000000000000, sequence = sequence + 1, head = 'x'")
    raw.execute("UPDATE datasets SET spent_epsilon = NULL, sequence = sequence + 1, head = 'y'")
    with pytest.raises(sqlite3.IntegrityError, match="never falls"):
        raw.execute("UPDATE datasets SET spent_epsilon = 0, sequence = sequence + 1, head = 'z'")


@pytest.mark.parametrize(
    "spent",
    [
        "spent_epsilon = cap_epsilon + 1",
        "spent_epsilon = NULL",
        "spent_epsilon = NULL, spent_rho = cap_rho + 1",
        "spent_delta = cap_delta + 1",
        "spent_epsilon = 9223372036854775807 + 1",
    ],
)
@pytest.mark.pitfall("B5")
def test_the_check_holds_whatever_the_code_does(raw, spent):
    """Every trigger is gone, and still no total beyond both filters can be written."""
    for (name,) in raw.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
        raw.execute(f"DROP TRIGGER {name}")
    with pytest.raises(sqlite3.IntegrityError):
        raw.execute(f"UPDATE datasets SET {spent}")


@pytest.mark.parametrize("kind", ["ANSWERED", "FORFEITED", "REJECTED", "CAPPED", "REFUND"])
def test_only_a_reservation_costs_anything_and_no_other_kind_exists(raw, kind):
    for (name,) in raw.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
        raw.execute(f"DROP TRIGGER {name}")
    with pytest.raises(sqlite3.IntegrityError):
        raw.execute("UPDATE events SET kind = ? WHERE kind = 'RESERVED'", (kind,))


def test_a_charge_has_one_outcome(raw):
    raw.execute("DROP TRIGGER events_are_appended")
    columns = [row[1] for row in raw.execute("PRAGMA table_info(events)")]
    chosen = ", ".join("99" if column == "sequence" else column for column in columns)
    with pytest.raises(sqlite3.IntegrityError, match=r"UNIQUE.*reservation"):
        raw.execute(f"INSERT INTO events SELECT {chosen} FROM events WHERE kind = 'ANSWERED'")


def test_a_newer_ledger_is_refused_and_left_alone(path):
    SQLiteLedger(path).close()
    with closing(sqlite3.connect(path)) as raw:
        raw.execute(f"PRAGMA user_version = {schema.VERSION + 1}")
    with pytest.raises(LedgerError, match="newer version of discreet"):
        SQLiteLedger(path)
    with closing(sqlite3.connect(path)) as raw:
        assert raw.execute("PRAGMA user_version").fetchone() == (schema.VERSION + 1,)


def test_an_older_ledger_without_a_way_up_is_refused(path):
    SQLiteLedger(path).close()
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("PRAGMA user_version = 0")
    with pytest.raises(LedgerError, match="cannot migrate"):
        SQLiteLedger(path)


def _version(connection: sqlite3.Connection) -> int:
    return connection.execute("PRAGMA user_version").fetchone()[0]


def test_an_older_ledger_is_migrated_step_by_step(raw):
    steps = {1: ("CREATE TABLE quotas (analyst TEXT)",), 2: ("ALTER TABLE quotas ADD COLUMN epsilon TEXT",)}
    schema.migrate(raw, target=3, steps=steps)
    assert _version(raw) == 3
    assert [row[0] for row in raw.execute("SELECT version FROM schema_versions")] == [1, 2, 3]
    assert schema.is_recorded(raw)


def test_a_migration_that_fails_leaves_everything_as_it_was(raw):
    steps = {1: ("CREATE TABLE quotas (analyst TEXT)",), 2: ("not sql",)}
    with pytest.raises(sqlite3.OperationalError):
        schema.migrate(raw, target=3, steps=steps)
    assert _version(raw) == 1
    assert not schema.changed_rules(raw)


def test_rules_that_were_dropped_or_added_are_listed(raw):
    raw.execute("DROP TRIGGER no_refunds")
    raw.execute("CREATE TRIGGER refunds AFTER INSERT ON answers BEGIN SELECT 1; END")
    assert schema.changed_rules(raw) == ["no_refunds", "refunds"]
