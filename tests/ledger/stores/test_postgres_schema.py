"""A schema is made whole or not at all, from the description or step by step, and is the same then."""

import re
import signal
import subprocess
import sys

import psycopg
import pytest

from discreet.errors import LedgerError
from discreet.ledger import PostgresLedger
from discreet.ledger.records import faults
from discreet.ledger.stores import postgres_schema
from discreet.ledger.transactions import steward
from discreet.ledger.transactions.steward import CLEAR_HALT
from processes import wait_for
from servers import ENGINE, SERVICE, STEWARD
from tampering import new_database

KILLED = """
import sys
import psycopg
from discreet.ledger.stores import postgres_schema

scripts = dict(postgres_schema.steps())
half = scripts[int(sys.argv[2])].rpartition("CREATE ")
scripts[int(sys.argv[2])] = f"{half[0]} SELECT pg_sleep(1); {half[1]}{half[2]}"
with psycopg.connect(sys.argv[1], autocommit=True) as connection:
    connection.execute("CREATE SCHEMA IF NOT EXISTS discreet")
    postgres_schema.run_steps(connection, scripts)
"""
SLEEPING = "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()"
CATALOGUE = """SELECT relname, relkind::text, relpersistence::text, array_to_string(reloptions, ',') FROM pg_class
WHERE relnamespace = 'discreet'::regnamespace AND relkind <> 'i'
UNION ALL SELECT conrelid::regclass::text, conname, contype::text, pg_get_constraintdef(oid) FROM pg_constraint
WHERE connamespace = 'discreet'::regnamespace
UNION ALL SELECT indexrelid::regclass::text, '', '', pg_get_indexdef(indexrelid) FROM pg_index
JOIN pg_class ON pg_class.oid = indexrelid WHERE relnamespace = 'discreet'::regnamespace
UNION ALL SELECT tgrelid::regclass::text, tgname, '', pg_get_triggerdef(pg_trigger.oid) FROM pg_trigger
JOIN pg_class ON pg_class.oid = tgrelid WHERE relnamespace = 'discreet'::regnamespace AND NOT tgisinternal
UNION ALL SELECT oid::regprocedure::text, proacl::text, '', pg_get_functiondef(oid) FROM pg_proc
WHERE pronamespace = 'discreet'::regnamespace
UNION ALL SELECT attrelid::regclass::text, attname, (attacl::text[])::text, format('%s %s %s', atttypid::regtype,
  attcollation::regcollation, attnotnull) FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
WHERE relnamespace = 'discreet'::regnamespace AND relkind = 'r' AND attnum > 0 AND NOT attisdropped
UNION ALL SELECT relname, '', '', relacl::text FROM pg_class WHERE relnamespace = 'discreet'::regnamespace
UNION ALL SELECT nspname, '', '', nspacl::text FROM pg_namespace WHERE nspname = 'discreet'"""


def run_as_owner(place, *statements: str) -> None:
    """Run SQL as the owner of a database."""
    with psycopg.connect(place.owner, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def run_steps(place, last: int) -> None:
    """Make a schema of an earlier version, or bring one to it."""
    run_as_owner(place, "CREATE SCHEMA IF NOT EXISTS discreet")
    with psycopg.connect(place.owner, autocommit=True) as connection:
        known = {version: text for version, text in postgres_schema.steps().items() if version <= last}
        postgres_schema.run_steps(connection, known)


@pytest.mark.guarantee("ledger")
@pytest.mark.parametrize("version", postgres_schema.steps())
def test_a_migration_that_is_killed_half_way_never_happened_and_is_run_again(ledger_server, version, dataset, charge):
    place = new_database(ledger_server, f"killed_{version}")
    arguments = [sys.executable, "-c", KILLED, place.owner, str(version)]
    with subprocess.Popen(arguments) as process, psycopg.connect(place.tamperer, autocommit=True) as connection:
        wait_for(lambda: connection.execute(SLEEPING).fetchone() or process.poll(), 20, lambda: "no migration")
        process.send_signal(signal.SIGKILL)
        process.wait(10)
        assert postgres_schema.schema_version(connection) == version - 1
    with pytest.raises(LedgerError, match=re.escape(faults.NO_RIGHTS)):  # to its service, which has none yet
        PostgresLedger(place.steward)
    PostgresLedger.create(place.owner, role=SERVICE, steward=STEWARD)
    with PostgresLedger(place.steward) as ledger:
        ledger.register(dataset())
        charge(ledger)
        assert ledger.verify()


def catalogue(address: str) -> list[tuple[str, ...]]:
    """Everything that the database knows of the schema but the order of columns."""
    with psycopg.connect(address) as connection:
        return sorted(map(str, connection.execute(CATALOGUE).fetchall()))


def test_a_schema_that_was_migrated_step_by_step_is_the_one_that_is_made_new(ledger_server):
    new, old = (new_database(ledger_server, name) for name in ("made_new", "made_in_steps"))
    for version in postgres_schema.steps():
        run_steps(old, version)
    for place in (new, old):
        PostgresLedger.create(place.owner, role=SERVICE, steward=STEWARD)
    assert catalogue(new.tamperer) == catalogue(old.tamperer)


LOCK_OF_THE_SERVICE = """CREATE FUNCTION public.pg_advisory_xact_lock(integer) RETURNS void LANGUAGE plpgsql AS
$$ BEGIN INSERT INTO public.called VALUES (current_user); END $$"""


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("D")
def test_a_function_of_the_service_that_fits_a_call_of_the_owner_better_is_not_called(ledger_server):
    """It would run with the rights of the owner, who repeats `create` after each upgrade."""
    place = new_database(ledger_server, "better_fit")
    PostgresLedger.create(place.owner, role=SERVICE, steward=STEWARD)
    run_as_owner(place, "CREATE TABLE public.called (by TEXT)", "GRANT INSERT ON public.called TO PUBLIC")
    with psycopg.connect(place.tamperer, autocommit=True) as connection:
        connection.execute("GRANT CREATE, USAGE ON SCHEMA public TO PUBLIC")
    with psycopg.connect(place.service, autocommit=True) as connection:
        connection.execute(LOCK_OF_THE_SERVICE.encode())
    PostgresLedger.create(place.owner, role=SERVICE, steward=STEWARD)
    with psycopg.connect(place.tamperer) as connection:
        assert connection.execute("SELECT by FROM public.called").fetchall() == []


def test_roles_keep_their_rights_when_they_are_not_named_again(ledger_server):
    place = new_database(ledger_server, "kept")
    PostgresLedger.create(place.owner, role=SERVICE, steward=STEWARD)
    before = catalogue(place.tamperer)
    PostgresLedger.create(place.owner, role=SERVICE)
    assert catalogue(place.tamperer) == before


def test_rights_of_an_earlier_version_are_taken_from_its_service(ledger_server):
    place = new_database(ledger_server, "narrowed")
    run_steps(place, 6)
    run_as_owner(
        place,
        f"GRANT USAGE ON SCHEMA discreet TO {STEWARD}, {SERVICE}",
        f"GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA discreet TO {STEWARD}, {SERVICE}",
    )
    PostgresLedger.create(place.owner, role=SERVICE)
    for address in (place.service, place.steward):
        with PostgresLedger(address) as ledger:
            assert ledger.verify()
            with pytest.raises(LedgerError, match=re.escape(faults.NOT_A_STEWARD)):
                ledger._run(lambda writer: writer.write_as_steward(CLEAR_HALT, {"sequence": 1, "id": "1"}))


def writable_by(place, role: str) -> set[str]:
    """The functions of the ledger that a role may call, and the tables that it may write."""
    with psycopg.connect(place.tamperer) as connection:
        callable_ = connection.execute(
            "SELECT proname FROM pg_proc WHERE pronamespace = 'discreet'::regnamespace"
            " AND has_function_privilege(%(role)s, oid, 'EXECUTE') UNION SELECT relname FROM pg_class"
            " WHERE relnamespace = 'discreet'::regnamespace AND relkind = 'r'"
            " AND has_any_column_privilege(%(role)s, oid, 'INSERT, UPDATE')",
            {"role": role},
        )
        return {name for (name,) in callable_.fetchall()}


BY_DEFAULT = (
    f"ALTER DEFAULT PRIVILEGES GRANT EXECUTE ON FUNCTIONS TO {ENGINE}",
    f"ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO {ENGINE}",
    f"ALTER DEFAULT PRIVILEGES GRANT ALL ON SCHEMAS TO {ENGINE}",
)


@pytest.mark.guarantee("ledger")
@pytest.mark.parametrize("version", [0, 6])
def test_default_privileges_of_the_owner_make_nobody_a_steward_or_a_service(ledger_server, version):
    place = new_database(ledger_server, "by_default")
    if version:
        run_steps(place, version)
    run_as_owner(place, *BY_DEFAULT)
    PostgresLedger.create(place.owner, role=SERVICE, steward=STEWARD)
    assert writable_by(place, ENGINE) == set()
    with PostgresLedger(place.service) as ledger:
        assert "default privileges" in str(ledger.verify())


def test_a_role_that_became_a_steward_by_default_privileges_is_none_after_the_next_run(ledger_server):
    place = new_database(ledger_server, "was_steward")
    PostgresLedger.create(place.owner, role=SERVICE, steward=STEWARD)
    run_as_owner(
        place,
        BY_DEFAULT[0],
        f"GRANT USAGE ON SCHEMA discreet TO {ENGINE}",
        f"GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA discreet TO {ENGINE}",
    )
    PostgresLedger.create(place.owner, role=SERVICE)
    assert writable_by(place, ENGINE) == set()
    assert writable_by(place, STEWARD) >= {each.name for each in steward.WRITES}


@pytest.mark.guarantee("ledger")
def test_functions_of_an_earlier_version_are_dropped_and_make_nobody_a_steward(ledger_server):
    place = new_database(ledger_server, "leftovers")
    run_steps(place, 6)
    run_as_owner(
        place,
        "CREATE FUNCTION discreet.clear_halt(text) RETURNS void LANGUAGE sql AS 'SELECT'",
        "CREATE PROCEDURE discreet.charge(text) LANGUAGE sql AS 'SELECT'",
        "CREATE FUNCTION discreet.add_event(bigint) RETURNS void LANGUAGE sql SECURITY DEFINER AS 'SELECT'",
        f"GRANT EXECUTE ON ALL ROUTINES IN SCHEMA discreet TO {SERVICE}",
    )
    PostgresLedger.create(place.owner, role=SERVICE, steward=STEWARD)
    with PostgresLedger(place.service) as ledger:
        assert ledger.verify()
        assert not ledger._store.is_steward


def test_migrations_that_run_at_once_take_turns_and_make_one_ledger(ledger_server, at_once):
    place = new_database(ledger_server, "at_once")
    made = at_once(*[lambda: PostgresLedger.create(place.owner, role=SERVICE, steward=STEWARD)] * 4)
    assert made == [None] * 4
    with psycopg.connect(place.tamperer) as connection:
        assert connection.execute("SELECT count(*) FROM discreet.ledger").fetchone() == (1,)
        versions = connection.execute("SELECT version FROM discreet.schema_versions ORDER BY 1").fetchall()
    assert versions == [(postgres_schema.VERSION,)]


def test_an_older_ledger_is_served_after_its_migration_only(ledger_server, outside):
    place = new_database(ledger_server, "older")
    run_steps(place, 1)
    run_as_owner(
        place,
        f"GRANT USAGE ON SCHEMA discreet TO {STEWARD}",
        f"GRANT SELECT ON ALL TABLES IN SCHEMA discreet TO {STEWARD}",
    )
    with pytest.raises(LedgerError, match=re.escape(faults.UNMIGRATED)):
        PostgresLedger(place.steward, **outside)
    PostgresLedger.create(place.owner, role=SERVICE, steward=STEWARD)
    PostgresLedger(place.steward, **outside).close()


def test_a_newer_ledger_is_left_alone(ledger_server):
    place = new_database(ledger_server, "newer")
    later = {postgres_schema.VERSION + 1: "CREATE TABLE discreet.later (x int)"}
    PostgresLedger.create(place.owner, role=SERVICE, steward=STEWARD)
    with psycopg.connect(place.owner, autocommit=True) as connection:
        postgres_schema.run_steps(connection, later)
    with pytest.raises(LedgerError, match=re.escape(faults.NEWER)):
        PostgresLedger.create(place.owner, role=SERVICE, steward=STEWARD)
    with pytest.raises(LedgerError, match=re.escape(faults.NEWER)):
        PostgresLedger(place.steward)


def test_the_next_migration_keeps_the_stewards_and_leaves_no_finding(ledger_server, monkeypatch):
    place = new_database(ledger_server, "next")
    PostgresLedger.create(place.owner, role=SERVICE, steward=STEWARD)
    steps = postgres_schema.steps() | {postgres_schema.VERSION + 1: "SELECT 1"}
    monkeypatch.setattr(postgres_schema, "VERSION", postgres_schema.VERSION + 1)
    monkeypatch.setattr(postgres_schema, "steps", lambda: steps)
    PostgresLedger.create(place.owner, role=SERVICE)
    assert writable_by(place, STEWARD) >= {each.name for each in steward.WRITES}
    with PostgresLedger(place.steward) as ledger:
        assert ledger.verify(full=True)


def test_every_version_has_its_file():
    assert sorted(postgres_schema.steps()) == list(range(1, postgres_schema.VERSION + 1))
