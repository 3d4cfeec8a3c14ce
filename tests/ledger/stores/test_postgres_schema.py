"""The rules of the database hold whoever writes to it, are those of SQLite, and are missed when they are gone."""

import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from fractions import Fraction
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from discreet import events
from discreet.accounting.filters import Budget
from discreet.errors import LedgerError
from discreet.ledger import Dataset, Ledger, PostgresLedger, Receipt, SQLiteLedger
from discreet.ledger.records import faults
from discreet.ledger.stores import postgres_schema
from processes import wait_for
from servers import SERVICE, PostgresServer
from tampering import Place, new_database

TEXT = "\n".join(postgres_schema.steps().values())

EVENT = (
    *("dataset", "sequence", "format", "kind", "time", "version", "analyst", "event", "cost_epsilon", "cost_rho"),
    *("cost_delta", "question", "request", "reservation", "digest", "detail", "library", "previous", "hash"),
    "cost_renyi",
)


def event(of: str, place: int, **changes: str) -> str:
    """An event written once more, with some columns replaced."""
    columns = ", ".join(changes.get(name, name) for name in EVENT)
    written = f"INSERT INTO events ({', '.join(EVENT)}) SELECT {columns} FROM events"
    return f"{written} WHERE dataset = '{of}' AND sequence = {place}"


MOVED = "sequence = 8, head = 'y' WHERE name = 'visits'"
KEPT = "a dataset keeps its name, hash key and slice"
CHARGED = "a dataset that was charged keeps its unit and neighbours"
FALLING = "what was spent never falls"
RAISED = "a raised cap is a new promise"
FLOOR = "a floor is what is spent when it is set"
NO_EVENT = "a dataset changes only with an event"
SHARE = "what an analyst spent never falls"
OUTCOME = "a reservation is answered or forfeited once"
HALT = "a halt is cleared once, by a recovery"
CHARGE = (
    f"UPDATE datasets SET spent_rho = spent_rho + 1, {MOVED};"
    "UPDATE analysts SET spent_rho = spent_rho + 1 WHERE dataset = 'visits' AND analyst = 'ann';"
    + event("visits", 2, sequence="8", hash="'y'")
)
BEYOND = "UPDATE datasets SET spent_rho = cap_rho + 1, spent_renyi = cap_rho + 1"
RESERVE = "INSERT INTO reservations SELECT dataset, {}, analyst, 'r', question, description, 'RESERVED', 1, 0"
RULES = {
    "dataset_rules": [
        (f"UPDATE datasets SET name = 'other', {MOVED}", KEPT),
        (f"UPDATE datasets SET hash_key = 'other', {MOVED}", KEPT),
        (f"UPDATE datasets SET part_of = 'other', {MOVED}", KEPT),
        (f"UPDATE datasets SET unit = 'one row', {MOVED}", CHARGED),
        (f"UPDATE datasets SET neighbours = 'replace_one', {MOVED}", CHARGED),
        (f"UPDATE datasets SET spent_rho = spent_rho - 1, {MOVED}", FALLING),
        (f"UPDATE datasets SET spent_delta = spent_delta - 1, {MOVED}", FALLING),
        (f"UPDATE datasets SET spent_epsilon = spent_epsilon - 1, {MOVED}", FALLING),
        (f"UPDATE datasets SET cap_epsilon = cap_epsilon + 1, {MOVED}", RAISED),
        (f"UPDATE datasets SET cap_rho = cap_rho + 1, {MOVED}", RAISED),
        (f"UPDATE datasets SET cap_delta = cap_delta + 1, {MOVED}", RAISED),
        (f"UPDATE datasets SET floor_rho = floor_rho + 1, {MOVED}", FLOOR),
        (f"UPDATE datasets SET renyi_order = '99/1', {MOVED}", "an order is fixed with a budget"),
        (f"UPDATE datasets SET spent_renyi = spent_renyi - 1, {MOVED}", FALLING),
        ("UPDATE datasets SET spent_rho = spent_rho + 1", NO_EVENT),
        ("UPDATE datasets SET spent_rho = spent_rho + 1, sequence = 99", NO_EVENT),
        ("UPDATE datasets SET spent_rho = spent_rho + 1, head = 'y'", NO_EVENT),
    ],
    "version_rules": [
        (
            "UPDATE versions SET facts = '[]' WHERE dataset = 'visits'",
            "a dataset that was charged keeps its versions|a version changes only with the event",
        ),
        (
            "UPDATE datasets SET sequence = 2, head = 'y' WHERE name = 'stays';"
            + event("stays", 1, sequence="2", hash="'y'", kind="'REJECTED'")
            + ";UPDATE versions SET facts = '[]' WHERE dataset = 'stays'",
            "a version changes only with the event that registers it again",
        ),
    ],
    "event_rules": [
        (event("stays", 1, sequence="2", hash="'x'"), "an event is written only as the head of its chain"),
        (
            "UPDATE datasets SET sequence = 50, head = 'y' WHERE name = 'stays';"
            + event("stays", 1, sequence="50", hash="'y'"),
            "an event follows the one before it",
        ),
        (
            f"UPDATE datasets SET {MOVED};" + event("visits", 1, sequence="8", hash="'y'"),
            "a dataset that was charged is not registered again",
        ),
        (
            "UPDATE datasets SET sequence = 2, head = 'y' WHERE name = 'stays';"
            + event("visits", 2, dataset="'stays'", hash="'y'"),
            "a charge does not move a floor",
        ),
    ],
    "share_rules": [
        ("UPDATE analysts SET spent_rho = spent_rho - 1", SHARE),
        ("UPDATE analysts SET spent_renyi = spent_renyi - 1", SHARE),
        ("UPDATE analysts SET spent_epsilon = spent_epsilon - 1", SHARE),
        ("UPDATE analysts SET spent_delta = spent_delta - 1", SHARE),
        ("UPDATE analysts SET failures = failures - 1 WHERE failures > 0", SHARE),
        ("UPDATE analysts SET analyst = 'eve' WHERE analyst = 'ann'", SHARE),
    ],
    "reservation_rules": [
        ("UPDATE reservations SET state = 'RESERVED'", OUTCOME),
        ("UPDATE reservations SET attempt = attempt - 1", OUTCOME),
        ("UPDATE reservations SET question = 'x'", OUTCOME),
        ("UPDATE reservations SET attempt = 2, state = 'FORFEITED' WHERE state = 'RESERVED'", OUTCOME),
    ],
    "charge_rules": [
        (
            f"{CHARGE};UPDATE analysts SET most_failures = 0;{RESERVE.format(8)} FROM reservations WHERE sequence = 2",
            "an analyst with too many failures charges nothing",
        ),
        (
            f"{RESERVE.format(77)} FROM reservations WHERE sequence = 2",
            "a reservation is written with its charge|FOREIGN KEY constraint failed",
        ),
    ],
    "answer_rules": [
        ("INSERT INTO answers SELECT dataset, 4, payload FROM answers", "an answer is stored with its outcome"),
        ("INSERT INTO answers SELECT dataset, 6, payload FROM answers", "an answer is stored with its outcome"),
    ],
    "key_rules": [
        ("INSERT INTO keys SELECT 7, document FROM keys", "an act on the keys follows the one before it"),
    ],
    "halt_rules": [
        ("UPDATE halts SET cleared = 5 WHERE cleared IS NOT NULL", HALT),
        ("UPDATE halts SET cleared = NULL", HALT),
        ("UPDATE halts SET finding = 'nothing', cleared = 3", HALT),
    ],
}
EVERY_RULE = [(trigger, *rule) for trigger, rules in RULES.items() for rule in rules]
EVERY_TABLE = re.findall(r"CREATE TABLE discreet\.(\w+)", TEXT)
FREEZING = {
    name: [(act, table) for act in acts.split(" OR ")]
    for name, acts, table, _, function in postgres_schema._TRIGGER.findall(TEXT)
    if function == "never"
}


def fill(ledger: Ledger) -> None:
    """Two datasets, one of them charged, and a row in every table; 'visits' has events 1 to 7."""
    declared = {"source": "visits.csv", "unit": "one patient_id", "facts": "{}"}
    with ledger:
        ledger.register(Dataset(name="visits", budget=Budget(epsilon=1, delta=1e-9), **declared))
        ledger.register(Dataset(name="stays", budget=Budget(epsilon=1), **declared))
        ledger.answer(spend(ledger, "aa"), b"12")
        spend(ledger, "bb")
        ledger.rename("visits", "others", reason="test")
        ledger.forfeit(spend(ledger, "cc", analyst="bob"), "timeout")
        halt = {"time": "", "finding": "", "dataset": "none"}
        for name, cleared in (("1", 3), ("2", None)):
            ledger._run(lambda pen, row=halt | {"id": name, "cleared": cleared}: pen.insert("halts", row))
        assert ledger.verify()


def spend(ledger: Ledger, question: str, analyst: str = "ann") -> Receipt:
    given = {"version": 1, "event": events.PureEvent(Fraction(1, 10)), "description": "{}"}
    return ledger.charge("visits", analyst=analyst, question=question, patience=1, **given).receipt


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The key and the anchors of ledgers that outlive a test."""
    place = tmp_path_factory.mktemp("outside")
    return {"key": place / "key", "anchors": place / "anchors"}


@pytest.fixture(scope="module")
def filled(ledger_server: PostgresServer, outside: dict[str, Any]) -> Place:
    """A database with a ledger in it; what tests do to it is undone."""
    place = new_database(ledger_server, "ruled")
    PostgresLedger.create(place.owner, role=SERVICE, **outside)
    fill(PostgresLedger(place.service, **outside))
    return place


@pytest.fixture(scope="module")
def filled_file(tmp_path_factory: pytest.TempPathFactory, outside: dict[str, Any]) -> str:
    path = tmp_path_factory.mktemp("ruled") / "ledger.sqlite"
    fill(SQLiteLedger(path, **outside))
    return str(path)


@contextmanager
def undone(address: str) -> Iterator["psycopg.Connection[dict[str, Any]]"]:
    """A connection to the ledger's schema whose work is undone."""
    with closing(psycopg.connect(address, row_factory=dict_row)) as connection:
        connection.execute("SET search_path = discreet")
        yield connection
        connection.rollback()


# The rules.


@pytest.mark.guarantee("ledger")
@pytest.mark.parametrize(("trigger", "statements", "because"), EVERY_RULE)
def test_a_rule_holds_against_whoever_may_write_and_is_the_same_in_both_stores(
    filled, filled_file, trigger, statements, because
):
    """As the superuser: what the service's role may not do at all is another matter."""
    with undone(filled.tamperer) as connection, pytest.raises(psycopg.Error, match=because) as caught:
        connection.execute(statements.encode())
    assert caught.value.sqlstate == "23000"
    with closing(sqlite3.connect(filled_file, isolation_level=None)) as raw:
        raw.execute("PRAGMA foreign_keys = ON")
        raw.execute("BEGIN")
        *before, refused = statements.split(";")
        for statement in before:
            raw.execute(statement)
        with pytest.raises(sqlite3.IntegrityError, match=because):
            raw.execute(refused)


@pytest.mark.guarantee("ledger")
@pytest.mark.parametrize("trigger", FREEZING)
def test_what_is_written_once_is_neither_changed_nor_deleted_nor_emptied(filled, trigger):
    for act, table in FREEZING[trigger]:
        with undone(filled.tamperer) as connection:
            (column,) = list(connection.execute(f"SELECT * FROM {table} LIMIT 1".encode()).fetchone())[:1]
            statement = {
                "UPDATE": f"UPDATE {table} SET {column} = {column}",
                "DELETE": f"DELETE FROM {table}",
                "TRUNCATE": f"TRUNCATE {table} CASCADE",
            }[act]
            with pytest.raises(psycopg.errors.IntegrityConstraintViolation, match="the ledger is append-only"):
                connection.execute(statement.encode())


def test_every_trigger_is_tried_above():
    assert RULES.keys() | FREEZING.keys() == set(re.findall(r"CREATE TRIGGER (\w+)", TEXT))
    assert {table for acts in FREEZING.values() for act, table in acts if act == "DELETE"} == set(EVERY_TABLE)


@pytest.mark.guarantee("ledger")
@pytest.mark.parametrize(
    "statement",
    [
        f"{BEYOND}, spent_epsilon = cap_epsilon + 1 WHERE name = 'visits'",
        "UPDATE datasets SET spent_delta = cap_delta + 1 WHERE name = 'visits'",
        f"{BEYOND}, spent_epsilon = NULL WHERE name = 'visits'",
        "UPDATE datasets SET spent_renyi = -1",
        "UPDATE datasets SET spent_rho = -1",
        "UPDATE analysts SET quota = '', cap_epsilon = 1, cap_rho = 1, cap_delta = 0 WHERE analyst = 'ann'",
        "UPDATE analysts SET cap_rho = 1",
        "UPDATE events SET cost_epsilon = 0, cost_rho = 0 WHERE kind = 'RESERVED'",
        "UPDATE events SET cost_rho = 1 WHERE kind = 'ANSWERED'",
        "UPDATE events SET kind = 'REFUNDED'",
        "UPDATE reservations SET state = 'REFUNDED'",
    ],
)
def test_the_checks_hold_where_every_trigger_is_switched_off(filled, statement):
    with undone(filled.tamperer) as connection:
        connection.execute("SET LOCAL session_replication_role = replica")
        with pytest.raises(psycopg.errors.CheckViolation):
            connection.execute(statement.encode())


# The role of the service.


@pytest.mark.guarantee("ledger")
@pytest.mark.parametrize(
    "statement",
    [
        *(f"{act} {table}" for act in ("DELETE FROM", "TRUNCATE") for table in EVERY_TABLE),
        *(f"UPDATE {table} SET {column} = {column}" for table, column in [("events", "time"), ("answers", "payload")]),
        *(f"UPDATE {table} SET {column} = {column}" for table, column in [("aliases", "alias"), ("ledger", "id")]),
        "UPDATE schema_versions SET version = version",
        "UPDATE versions SET version = 9",
        "UPDATE reservations SET question = 'x'",
        "UPDATE halts SET finding = ''",
        "INSERT INTO schema_versions VALUES (9, '', '')",
        "INSERT INTO ledger VALUES ('another')",
        "ALTER TABLE events DISABLE TRIGGER ALL",
        "DROP TRIGGER event_rules ON events",
        "DROP TABLE events",
        "DROP SCHEMA discreet CASCADE",
        "ALTER TABLE datasets DROP CONSTRAINT promise",
        "CREATE OR REPLACE FUNCTION discreet.never() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$",
        "CREATE FUNCTION discreet.is_charged(name varchar) RETURNS boolean LANGUAGE sql AS 'SELECT false'",
        "CREATE TABLE discreet.anything (x int)",
        "CREATE TABLE public.anything (x int)",
        "SET session_replication_role = replica",
        "COPY events TO PROGRAM 'true'",
    ],
)
def test_the_service_may_not(filled, statement):
    with undone(filled.service) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute(statement.encode())


def test_the_service_lowers_nothing_and_charges_nothing_beside_the_chain(filled):
    """The rules above are the same for it; a row that it moves without an event is charged no more, and is found."""
    for _, statement, because in EVERY_RULE:
        with undone(filled.service) as connection, pytest.raises(psycopg.Error) as caught:
            connection.execute(statement.encode())
        is_forbidden = isinstance(caught.value, psycopg.errors.InsufficientPrivilege)
        assert is_forbidden or re.search(because, str(caught.value))


def test_a_row_that_was_moved_without_its_event_is_charged_no_more_and_found(postgres_address, dataset, charge):
    with PostgresLedger(postgres_address) as ledger:
        ledger.register(dataset())
        charge(ledger)
        with psycopg.connect(postgres_address) as connection:
            connection.execute("UPDATE discreet.datasets SET sequence = 3, head = 'y', spent_rho = spent_rho + 1")
        with pytest.raises(LedgerError, match=faults.BROKEN_RULE):
            charge(ledger)
        assert "its end was cut or replaced" in str(ledger.verify())


# Rules that are gone.

GONE = {
    "ALTER TABLE events DISABLE TRIGGER event_rules": "the trigger 'event_rules'",
    "ALTER TABLE events DISABLE TRIGGER ALL": "the trigger 'events_stay'",
    "ALTER TABLE events ENABLE REPLICA TRIGGER event_rules": "the trigger 'event_rules'",
    "DROP TRIGGER halts_stay ON halts": "the trigger 'halts_stay'",
    "DROP TRIGGER dataset_rules ON datasets; CREATE TRIGGER dataset_rules BEFORE UPDATE ON datasets"
    " FOR EACH ROW WHEN (false) EXECUTE FUNCTION guard_dataset()": "the trigger 'dataset_rules'",
    "DROP TRIGGER dataset_rules ON datasets; CREATE TRIGGER dataset_rules BEFORE UPDATE OF unit ON datasets"
    " FOR EACH ROW EXECUTE FUNCTION guard_dataset()": "the trigger 'dataset_rules'",
    "DROP TRIGGER dataset_rules ON datasets; CREATE TRIGGER dataset_rules BEFORE INSERT ON datasets"
    " FOR EACH ROW EXECUTE FUNCTION guard_dataset()": "the trigger 'dataset_rules'",
    "DROP TRIGGER dataset_rules ON datasets; CREATE TRIGGER dataset_rules BEFORE UPDATE ON datasets"
    " FOR EACH ROW EXECUTE FUNCTION guard_halt()": "the trigger 'dataset_rules'",
    "CREATE OR REPLACE FUNCTION never() RETURNS trigger LANGUAGE plpgsql AS"
    " $$ BEGIN RETURN NEW; END $$": "the function 'never'",
    "ALTER FUNCTION never() SECURITY DEFINER": "the function 'never'",
    "ALTER FUNCTION guard_event() SET search_path = public": "the function 'guard_event'",
    "CREATE FUNCTION is_charged(name varchar) RETURNS boolean LANGUAGE sql AS 'SELECT false'": "'is_charged'",
    "ALTER TABLE datasets DROP CONSTRAINT promise": "a check of the tables",
    "ALTER TABLE datasets DROP CONSTRAINT datasets_spent_rho_check": "a check of the tables",
    "ALTER TABLE datasets DROP CONSTRAINT promise, ADD CONSTRAINT promise CHECK (true)": "a check of the tables",
    "ALTER TABLE analysts DROP CONSTRAINT quota, ADD CONSTRAINT quota CHECK (spent_rho <= cap_rho OR true)": "a check",
    "DROP INDEX one_outcome": "the index 'one_outcome'",
    "ALTER TABLE events DROP CONSTRAINT events_pkey": "the index 'events_pkey'",
    "ALTER TABLE halts SET UNLOGGED": "a table is not logged",
    "ALTER TABLE schema_versions DISABLE TRIGGER ALL; DELETE FROM schema_versions": "the schema's version",
}


def test_rules_that_stand_are_no_finding(filled):
    with undone(filled.service) as connection:
        assert list(postgres_schema.findings(connection)) == []


@pytest.mark.guarantee("ledger")
@pytest.mark.parametrize("change", GONE)
def test_a_rule_that_is_gone_is_found(filled, change):
    with undone(filled.tamperer) as connection:
        connection.execute(change.encode())
        assert GONE[change] in "\n".join(postgres_schema.findings(connection))


# Making and migrating.

KILLED = """
import sys
import psycopg
from discreet.ledger.stores import postgres_schema

scripts = dict(postgres_schema.steps())
half = scripts[int(sys.argv[3])].rpartition("CREATE ")
scripts[int(sys.argv[3])] = f"{half[0]} SELECT pg_sleep(1); {half[1]}{half[2]}"
with psycopg.connect(sys.argv[1], autocommit=True) as connection:
    postgres_schema.migrate(connection, sys.argv[2], scripts)
"""
SLEEPING = "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()"


@pytest.mark.guarantee("ledger")
@pytest.mark.parametrize("version", postgres_schema.steps())
def test_a_migration_that_is_killed_half_way_never_happened_and_is_run_again(ledger_server, version, dataset, charge):
    place = new_database(ledger_server, f"killed_{version}")
    arguments = [sys.executable, "-c", KILLED, place.owner, SERVICE, str(version)]
    with subprocess.Popen(arguments) as process, psycopg.connect(place.tamperer, autocommit=True) as connection:
        wait_for(lambda: connection.execute(SLEEPING).fetchone() or process.poll(), 20, lambda: "no migration")
        process.send_signal(signal.SIGKILL)
        process.wait(10)
        assert postgres_schema.schema_version(connection) == version - 1
    with pytest.raises(LedgerError, match=re.escape(faults.NO_RIGHTS)):  # to its service, which has none yet
        PostgresLedger(place.service)
    PostgresLedger.create(place.owner, role=SERVICE)
    with PostgresLedger(place.service) as ledger:
        ledger.register(dataset())
        charge(ledger)
        assert ledger.verify()


def test_migrations_that_run_at_once_take_turns_and_make_one_ledger(ledger_server, at_once):
    place = new_database(ledger_server, "at_once")
    made = at_once(*[lambda: PostgresLedger.create(place.owner, role=SERVICE)] * 4)
    assert made == [None] * 4
    with psycopg.connect(place.tamperer) as connection:
        assert connection.execute("SELECT count(*) FROM discreet.ledger").fetchone() == (1,)
        versions = connection.execute("SELECT version FROM discreet.schema_versions ORDER BY 1").fetchall()
    assert versions == [(version,) for version in sorted(postgres_schema.steps())]


def test_an_older_ledger_is_served_after_its_migration_only(ledger_server, outside):
    place = new_database(ledger_server, "older")
    with psycopg.connect(place.owner, autocommit=True) as connection:
        postgres_schema.migrate(connection, SERVICE, {1: postgres_schema.steps()[1]})
    with pytest.raises(LedgerError, match=re.escape(faults.UNMIGRATED)):
        PostgresLedger(place.service, **outside)
    PostgresLedger.create(place.owner, role=SERVICE)
    PostgresLedger(place.service, **outside).close()


def test_a_newer_ledger_is_left_alone(ledger_server):
    place = new_database(ledger_server, "newer")
    later = {postgres_schema.VERSION + 1: "CREATE TABLE discreet.later (x int)"}
    with psycopg.connect(place.owner, autocommit=True) as connection:
        postgres_schema.migrate(connection, SERVICE, postgres_schema.steps() | later)
    with pytest.raises(LedgerError, match=re.escape(faults.NEWER)):
        PostgresLedger.create(place.owner, role=SERVICE)
    with pytest.raises(LedgerError, match=re.escape(faults.NEWER)):
        PostgresLedger(place.service)


def test_every_version_has_its_file():
    assert sorted(postgres_schema.steps()) == list(range(1, postgres_schema.VERSION + 1))
