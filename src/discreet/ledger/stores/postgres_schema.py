"""Making and migrating a ledger's schema on PostgreSQL.

A new schema is made from its description (`schema/`). An older one is changed in steps, each run in one transaction
together with the line that records it: killed half-way, it never happened. An advisory lock lets one migration run at a
time. Steps change tables; then all functions and triggers are made anew from the description.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import resources
from typing import TYPE_CHECKING, Any

from discreet.errors import LedgerError
from discreet.ledger.records import faults
from discreet.ledger.records.chain import now
from discreet.ledger.stores import postgres_functions, postgres_rights
from discreet.ledger.stores.schema import tables
from discreet.version import __version__

if TYPE_CHECKING:
    import psycopg

    Fill = Callable[[psycopg.Connection[Any]], None]

VERSION = 7
FIRST_WITH_STEWARDS = 7
LOCK = 0x64697363

_SCHEMA_MADE = "SELECT 1 FROM pg_tables WHERE schemaname = 'discreet' AND tablename = 'schema_versions'"
_ANCHORS = """SELECT 1 FROM pg_class JOIN pg_namespace AS n ON n.oid = relnamespace
WHERE nspname = 'discreet_anchors' AND relname = 'documents'"""
_IDENTITY = """SELECT system_identifier || '/' || oid
FROM pg_control_system(), pg_database WHERE datname = current_database()"""
_OWN_TRIGGERS = """SELECT format('DROP TRIGGER %I ON %s', tgname, tgrelid::regclass) AS text FROM pg_trigger
JOIN pg_class ON pg_class.oid = tgrelid
WHERE relnamespace = to_regnamespace('discreet') AND NOT tgisinternal"""
_OWN_FUNCTIONS = """SELECT format('DROP ROUTINE %s', oid::regprocedure) AS text FROM pg_proc
WHERE pronamespace = to_regnamespace('discreet')"""
_OWNER = "SELECT pg_get_userbyid(nspowner) FROM pg_namespace WHERE nspname = 'discreet'"
_IN_DISCREET = re.compile(r"\b(REFERENCES|ON) (\w+) \(")


def steps() -> Mapping[int, str]:
    """The SQL that changes the tables of each earlier version, by the number of the version that it makes."""
    files = sorted(resources.files("discreet.ledger.stores.migrations").iterdir(), key=lambda file: file.name)
    return {int(file.name[:3]): file.read_text() for file in files if re.fullmatch(r"\d{3}\.sql", file.name)}


def tables_and_indexes() -> Iterator[str]:
    """The statements that make the tables of this version and their indexes."""
    for name, body in tables.TABLES.items():
        own = _IN_DISCREET.sub(r"\1 discreet.\2 (", re.sub(r"{[^}]*}", "", body))
        room = " WITH (fillfactor = 50)" if name in tables.CHANGED_OFTEN else ""
        yield f"CREATE TABLE discreet.{name} ({own}){room}"
    for index in tables.INDEXES:
        yield _IN_DISCREET.sub(r"\1 discreet.\2 (", index)


def make_or_migrate(connection: "psycopg.Connection[Any]", service: str, steward: str | None = None) -> None:
    """Make the schema, or bring it to the newest version, and give the roles their rights.

    Roles that were services or stewards before stay what they were.
    """
    with _alone(connection):
        if schema_version(connection) > VERSION:
            raise LedgerError(faults.NEWER)
        if schema_version(connection) == 0:
            refuse_anchors(connection)
            connection.execute("CREATE SCHEMA IF NOT EXISTS discreet")
            _act_as_owner(connection)
            _make(connection)
    run_steps(connection, steps())
    with _alone(connection):
        _act_as_owner(connection)
        postgres_rights.grant(connection, service, steward)


def run_steps(connection: "psycopg.Connection[Any]", known: Mapping[int, str]) -> None:
    """Run the steps to later versions than that of the schema, each whole or not at all."""
    for version in sorted(known):
        with _alone(connection):
            if version <= schema_version(connection):
                continue
            _act_as_owner(connection)
            if version > 1:  # charges read this table first: those under way are waited for, and others see the version
                connection.execute("LOCK TABLE discreet.schema_versions IN ACCESS EXCLUSIVE MODE")
            stewards = postgres_rights.stewards(connection) if version > FIRST_WITH_STEWARDS else set()
            connection.execute(known[version].encode())
            if version == VERSION:
                _make_rules(connection)
            postgres_rights.grant_to_stewards(
                connection, stewards
            )  # functions that are made anew have lost their grants
            _record(connection, version)


def create_with_rows(connection: "psycopg.Connection[Any]", fill: "Fill") -> None:
    """Make the schema of this version where there is none, with the rows of another store, in the open transaction."""
    wait_for_lock(connection)
    refuse_anchors(connection)
    connection.execute("CREATE SCHEMA discreet")
    _act_as_owner(connection)
    _make(connection, fill)


def refuse_anchors(connection: "psycopg.Connection[Any]") -> None:
    """Refuse a database of shared anchors: an older copy of it would put back both, and detect nothing."""
    if connection.execute(_ANCHORS).fetchone() is not None:
        raise LedgerError(faults.DATABASE_OF_ANCHORS)


def database_identity(connection: "psycopg.Connection[Any]") -> str:
    """Which cluster and database it is; the same by any address, another for every other one."""
    (found,) = connection.execute(_IDENTITY).fetchone() or ("",)
    return str(found)


def _make(connection: "psycopg.Connection[Any]", fill: "Fill | None" = None) -> None:
    """Make the schema of this version where there is none; rules concern what is written later than its first rows."""
    for statement in tables_and_indexes():
        connection.execute(statement.encode())
    if fill is None:
        connection.execute("INSERT INTO discreet.ledger VALUES (replace(gen_random_uuid()::text, '-', ''))")
    else:
        fill(connection)
    _make_rules(connection)
    postgres_rights.revoke_defaults(connection)
    _record(connection, VERSION)


def _make_rules(connection: "psycopg.Connection[Any]") -> None:
    """Make every function and trigger anew, in place of those that are there."""
    for found in (_OWN_TRIGGERS, _OWN_FUNCTIONS):
        for (drop,) in connection.execute(found.encode()).fetchall():
            connection.execute(drop.encode())
    made = [each.create_statement for each in postgres_functions.functions()]
    made += [each.create_statement for each in postgres_functions.triggers()]
    for statement in made:
        connection.execute(statement.encode())
    postgres_rights.revoke_routines(connection)


def _record(connection: "psycopg.Connection[Any]", version: int) -> None:
    values = (version, now(), __version__)
    connection.execute("INSERT INTO discreet.schema_versions VALUES (%s, %s, %s)", values)


def _act_as_owner(connection: "psycopg.Connection[Any]") -> None:
    """Make what follows as the schema's owner: functions of the steward run with the rights of who made them."""
    from psycopg import sql  # noqa: PLC0415 - an optional driver

    (owner,) = connection.execute(_OWNER).fetchone() or ("",)
    connection.execute(sql.SQL("SET LOCAL ROLE {}").format(sql.Identifier(owner)))


@contextmanager
def _alone(connection: "psycopg.Connection[Any]") -> Iterator[None]:
    """A transaction under the lock of migrations."""
    with connection.transaction():
        wait_for_lock(connection)
        yield


def wait_for_lock(connection: "psycopg.Connection[Any]") -> None:
    """Hold the lock of migrations until the open transaction ends."""
    connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))


def schema_version(connection: "psycopg.Connection[Any]") -> int:
    """The version of the schema; 0 where there is none."""
    # Not to_regclass: after a wait for the lock it may still remember that there was no such table.
    if connection.execute(_SCHEMA_MADE).fetchone() is None:
        return 0
    found = connection.execute("SELECT COALESCE(max(version), 0) FROM discreet.schema_versions").fetchone()
    return int(found[0]) if found else 0
