"""The rules of the database hold whoever writes to it, and are those of SQLite."""

import re
import sqlite3
from contextlib import closing

import psycopg
import pytest

from discreet.errors import LedgerError
from discreet.ledger import PostgresLedger
from discreet.ledger.records import faults
from discreet.ledger.stores import postgres_functions
from discreet.ledger.stores.schema.tables import TABLES

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
    "datasets_before_update": [
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
    "versions_before_update": [
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
    "events_before_insert": [
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
    "analysts_before_update": [
        ("UPDATE analysts SET spent_rho = spent_rho - 1", SHARE),
        ("UPDATE analysts SET spent_renyi = spent_renyi - 1", SHARE),
        ("UPDATE analysts SET spent_epsilon = spent_epsilon - 1", SHARE),
        ("UPDATE analysts SET spent_delta = spent_delta - 1", SHARE),
        ("UPDATE analysts SET failures = failures - 1 WHERE failures > 0", SHARE),
        ("UPDATE analysts SET analyst = 'eve' WHERE analyst = 'ann'", SHARE),
    ],
    "reservations_before_update": [
        ("UPDATE reservations SET state = 'RESERVED'", OUTCOME),
        ("UPDATE reservations SET attempt = attempt - 1", OUTCOME),
        ("UPDATE reservations SET question = 'x'", OUTCOME),
        ("UPDATE reservations SET attempt = 2, state = 'FORFEITED' WHERE state = 'RESERVED'", OUTCOME),
    ],
    "reservations_before_insert": [
        (
            f"{CHARGE};UPDATE analysts SET most_failures = 0;{RESERVE.format(8)} FROM reservations WHERE sequence = 2",
            "an analyst with too many failures charges nothing",
        ),
        (
            f"{RESERVE.format(77)} FROM reservations WHERE sequence = 2",
            "a reservation is written with its charge|FOREIGN KEY constraint failed",
        ),
    ],
    "answers_before_insert": [
        ("INSERT INTO answers SELECT dataset, 4, payload FROM answers", "an answer is stored with its outcome"),
        ("INSERT INTO answers SELECT dataset, 6, payload FROM answers", "an answer is stored with its outcome"),
    ],
    "keys_before_insert": [
        ("INSERT INTO keys SELECT 7, document FROM keys", "an act on the keys follows the one before it"),
    ],
    "halts_before_update": [
        ("UPDATE halts SET cleared = 5 WHERE cleared IS NOT NULL", HALT),
        ("UPDATE halts SET cleared = NULL", HALT),
        ("UPDATE halts SET finding = 'nothing', cleared = 3", HALT),
    ],
}
EVERY_RULE = [(trigger, *rule) for trigger, rules in RULES.items() for rule in rules]
FREEZING = {
    each.name: [(act, each.table) for act in each.acts]
    for each in postgres_functions.triggers()
    if each.function == "never"
}


# The rules.


@pytest.mark.guarantee("ledger")
@pytest.mark.parametrize(("trigger", "statements", "because"), EVERY_RULE)
def test_a_rule_holds_against_whoever_may_write_and_is_the_same_in_both_stores(
    undone, filled, filled_file, trigger, statements, because
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
def test_what_is_written_once_is_neither_changed_nor_deleted_nor_emptied(undone, filled, trigger):
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


def test_every_trigger_is_tried_here_or_with_the_rights_of_the_service():
    tried = RULES.keys() | FREEZING.keys() | {"analysts_before_insert"}
    assert tried == {each.name for each in postgres_functions.triggers()}
    assert {table for acts in FREEZING.values() for act, table in acts if act == "DELETE"} == set(TABLES)


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
def test_the_checks_hold_where_every_trigger_is_switched_off(undone, filled, statement):
    with undone(filled.tamperer) as connection:
        connection.execute("SET LOCAL session_replication_role = replica")
        with pytest.raises(psycopg.errors.CheckViolation):
            connection.execute(statement.encode())


def test_the_service_lowers_nothing_and_charges_nothing_beside_the_chain(undone, filled):
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
