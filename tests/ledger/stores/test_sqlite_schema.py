import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from discreet.accounting.filters import NOTHING, Cost
from discreet.errors import LedgerError
from discreet.ledger import Receipt, SQLiteLedger, State
from discreet.ledger.stores import sqlite_schema as schema

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
        "spent_epsilon = NULL, spent_rho = cap_rho + 1",
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


@pytest.mark.parametrize("kind", ["ANSWERED", "FORFEITED", "REJECTED", "CAPPED", "LIMITED", "RESUMED", "REFUND"])
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
    schema.migrate(raw, target=now + 2, steps=steps)
    assert _version(raw) == now + 2
    assert [row[0] for row in raw.execute("SELECT version FROM schema_versions")] == [now, now + 1, now + 2]
    assert schema.is_recorded(raw)


def test_a_migration_that_fails_leaves_everything_as_it_was(raw):
    now = schema.VERSION
    steps = {now: ("CREATE TABLE notes (a TEXT)",), now + 1: ("not sql",)}
    with pytest.raises(sqlite3.OperationalError):
        schema.migrate(raw, target=now + 2, steps=steps)
    assert _version(raw) == now
    assert not schema.changed_rules(raw)


def test_rules_that_were_dropped_or_added_are_listed(raw):
    raw.execute("DROP TRIGGER no_refunds")
    raw.execute("CREATE TRIGGER refunds AFTER INSERT ON answers BEGIN SELECT 1; END")
    assert schema.changed_rules(raw) == ["no_refunds", "refunds"]


# From version 1 to version 2

_EVENTS = "SELECT * FROM events ORDER BY dataset, sequence"
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
    assert _rows(old, "PRAGMA user_version", "SELECT version FROM schema_versions") == [[(2,)], [(1,), (2,)]]


def test_a_migrated_ledger_has_the_rules_of_a_new_one(old):
    with SQLiteLedger(old) as ledger:
        assert ledger._store.findings() == []
    with closing(sqlite3.connect(old)) as raw:
        assert schema.changed_rules(raw) == []
        assert len(raw.execute("SELECT id FROM ledger").fetchall()) == 1


def test_a_migration_counts_what_each_analyst_spent_and_failed(old):
    with SQLiteLedger(old) as ledger:
        shares = {who: ledger.share("visits", who) for who in ("ann", "bob", "Ann Müller", "zoe")}
        total = sum((share.spent for share in shares.values()), NOTHING)
        assert total == ledger.spent("visits") == Cost(None, 12_300_000_000_000, 10_000_000)
        assert {who: share.failures for who, share in shares.items()} == {"ann": 0, "bob": 1, "Ann Müller": 0, "zoe": 0}
        assert shares["Ann Müller"].spent.epsilon == 10**10
        assert all((share.quota, share.is_own, share.most_failures) == (None, False, 100) for share in shares.values())
        assert ledger.share("people", "ann").spent.epsilon == 333_000_000_000


def test_a_charge_that_was_open_before_a_migration_is_taken_over(old, turn):
    with SQLiteLedger(old) as ledger:
        (open_charge,) = [e for e in ledger.history("visits") if e.state is State.RESERVED]
        place = ("visits", open_charge.sequence)
        assert ledger.forfeit_expired() == 2
        assert ledger.state(place) is State.FORFEITED
        assert ledger.verify()


def test_a_migrated_ledger_goes_on(old, charge, dataset):
    with SQLiteLedger(old) as ledger:
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
    assert _rows(old, "SELECT version FROM schema_versions") == [[(1,), (2,)]]


@pytest.mark.parametrize(
    "step",
    [
        "CREATE TEMP TABLE old_events",
        "DROP TABLE datasets",
        "INSERT INTO answers",
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
