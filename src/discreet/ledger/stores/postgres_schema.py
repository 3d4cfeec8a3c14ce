"""Making and migrating a ledger's schema on PostgreSQL, and the rights of its roles.

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
from discreet.ledger.stores import postgres_functions
from discreet.ledger.stores.schema import rights, tables
from discreet.version import __version__

if TYPE_CHECKING:
    import psycopg

    Fill = Callable[[psycopg.Connection[Any]], None]

VERSION = 7
FIRST_WITH_STEWARDS = 7
LOCK = 0x64697363

_THERE = "SELECT 1 FROM pg_tables WHERE schemaname = 'discreet' AND tablename = 'schema_versions'"
_ANCHORS = """SELECT 1 FROM pg_class JOIN pg_namespace AS n ON n.oid = relnamespace
WHERE nspname = 'discreet_anchors' AND relname = 'documents'"""
_PLACE = """SELECT 'postgresql ' || system_identifier || '/' || oid
FROM pg_control_system(), pg_database WHERE datname = current_database()"""
_OWN_TRIGGERS = """SELECT format('DROP TRIGGER %I ON %s', tgname, tgrelid::regclass) AS text FROM pg_trigger
JOIN pg_class ON pg_class.oid = tgrelid
WHERE relnamespace = to_regnamespace('discreet') AND NOT tgisinternal"""
_OWN_FUNCTIONS = """SELECT format('DROP ROUTINE %s', oid::regprocedure) AS text FROM pg_proc
WHERE pronamespace = to_regnamespace('discreet')"""
_OWNER = "SELECT pg_get_userbyid(nspowner) FROM pg_namespace WHERE nspname = 'discreet'"
_SERVICES = """SELECT DISTINCT pg_get_userbyid(grantee) FROM pg_class, aclexplode(relacl)
WHERE relnamespace = to_regnamespace('discreet') AND relname = 'events' AND grantee NOT IN (0, relowner)
  AND privilege_type = 'INSERT'"""
_OF_STEWARD = f"""pronamespace = to_regnamespace('discreet') AND prosecdef
  AND proname IN ({", ".join(f"'{each.name}'" for each in postgres_functions.steward_functions())})"""
# Who may call every one of them, by their names, as an earlier version had other parameters; one makes no steward.
_STEWARDS = f"""SELECT pg_get_userbyid(grantee) FROM pg_proc, aclexplode(proacl)
WHERE {_OF_STEWARD} AND grantee NOT IN (0, proowner)
GROUP BY grantee HAVING count(DISTINCT proname) = (SELECT count(DISTINCT proname) FROM pg_proc WHERE {_OF_STEWARD})"""
_BY_DEFAULT = """SELECT DISTINCT pg_get_userbyid(grantee) FROM pg_default_acl, aclexplode(defaclacl)
WHERE defaclnamespace IN (0, to_regnamespace('discreet')) AND grantee NOT IN (0, defaclrole)
  AND defaclrole = (SELECT nspowner FROM pg_namespace WHERE nspname = 'discreet')
  AND privilege_type = CASE defaclobjtype WHEN 'f' THEN 'EXECUTE' WHEN 'r' THEN 'INSERT' END"""
_GRANTEES = """SELECT DISTINCT pg_get_userbyid(grantee) FROM (
  SELECT relacl AS acl, relowner AS owner FROM pg_class WHERE relnamespace = to_regnamespace('discreet')
  UNION ALL SELECT attacl, relowner FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
  WHERE relnamespace = to_regnamespace('discreet')
  UNION ALL SELECT proacl, proowner FROM pg_proc WHERE pronamespace = to_regnamespace('discreet')
  UNION ALL SELECT nspacl, nspowner FROM pg_namespace WHERE nspname = 'discreet') AS o, aclexplode(acl)
WHERE grantee NOT IN (0, owner)"""
_ALL_ROUTINES = "REVOKE ALL ON ALL ROUTINES IN SCHEMA discreet FROM {} CASCADE"
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


def migrate(
    connection: "psycopg.Connection[Any]",
    service: str,
    steward: str | None = None,
    scripts: Mapping[int, str] | None = None,
) -> None:
    """Bring the schema to the newest version, each step whole or not at all, and give the roles their rights.

    Roles that were services or stewards before stay what they were.
    """
    known = steps() if scripts is None else scripts
    with _alone(connection):
        if schema_version(connection) > max(known):
            raise LedgerError(faults.NEWER)
        if schema_version(connection) == 0:
            refuse_anchors(connection)
        connection.execute("CREATE SCHEMA IF NOT EXISTS discreet")
        _act_as_owner(connection)
        if schema_version(connection) == 0 and scripts is None:
            _make(connection)
    for version in sorted(known):
        with _alone(connection):
            if version <= schema_version(connection):
                continue
            _act_as_owner(connection)
            if version > 1:  # charges read this table first: those under way are waited for, and others see the version
                connection.execute("LOCK TABLE discreet.schema_versions IN ACCESS EXCLUSIVE MODE")
            stewards = _column(connection, _STEWARDS) if version > FIRST_WITH_STEWARDS else set()
            connection.execute(known[version].encode())
            if version == VERSION:
                _make_rules(connection)
            for role in stewards:
                _run_for(connection, role, _steward_grants())
            _record(connection, version)
    if max(known) < VERSION:  # in tests of earlier versions
        return
    with _alone(connection):
        _act_as_owner(connection)
        _grant(connection, service, steward)


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


def place(connection: "psycopg.Connection[Any]") -> str:
    """Which cluster and database it is; the same by any address, another for every other one."""
    (found,) = connection.execute(_PLACE).fetchone() or ("",)
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
    for role in sorted(_column(connection, _GRANTEES)):  # what default privileges of the owner gave, before any grant
        _run_for(connection, role, _revocations())
    connection.execute("REVOKE ALL ON ALL TABLES IN SCHEMA discreet FROM PUBLIC")
    _record(connection, VERSION)


def _make_rules(connection: "psycopg.Connection[Any]") -> None:
    """Make every function and trigger anew, in place of those that are there."""
    for found in (_OWN_TRIGGERS, _OWN_FUNCTIONS):
        for drop in sorted(_column(connection, found)):
            connection.execute(drop.encode())
    made = [each.create for each in postgres_functions.functions()]
    made += [each.create for each in postgres_functions.triggers()]
    for statement in made:
        connection.execute(statement.encode())
    connection.execute(_ALL_ROUTINES.format("PUBLIC").encode())  # which may call any new function
    for role in sorted(_column(connection, _GRANTEES)):  # default privileges of the owner may have let others call it
        _run_for(connection, role, iter([_ALL_ROUTINES]))


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
    if connection.execute(_THERE).fetchone() is None:
        return 0
    found = connection.execute("SELECT COALESCE(max(version), 0) FROM discreet.schema_versions").fetchone()
    return int(found[0]) if found else 0


def _grant(connection: "psycopg.Connection[Any]", service: str, steward: str | None) -> None:
    """Give every service and every steward exactly their rights in place of those that they had.

    A role that default privileges of the owner name is neither, unless it is named here. Others only read.
    """
    by_default = _column(connection, _BY_DEFAULT)
    stewards = (_column(connection, _STEWARDS) - by_default) | ({steward} if steward else set())
    services = (_column(connection, _SERVICES) - by_default) | {service} | stewards
    for role in sorted(_column(connection, _GRANTEES) - services):
        _run_for(connection, role, _revocations_but_reading())
    for role in sorted(services):
        _run_for(connection, role, _revocations())
        _run_for(connection, role, _service_grants())
    for role in sorted(stewards):
        _run_for(connection, role, _steward_grants())


def _column(connection: "psycopg.Connection[Any]", question: str) -> set[str]:
    return {value for (value,) in connection.execute(question.encode()).fetchall()}


def _revocations() -> Iterator[str]:
    yield "REVOKE ALL ON ALL TABLES IN SCHEMA discreet FROM {} CASCADE"
    yield _ALL_ROUTINES
    yield "REVOKE ALL ON SCHEMA discreet FROM {} CASCADE"
    for table, names in ((table, ", ".join(tables.columns(table))) for table in tables.TABLES):
        yield f"REVOKE ALL ({names}) ON discreet.{table} FROM {{}} CASCADE"


def _revocations_but_reading() -> Iterator[str]:
    changes = "INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER"
    yield f"REVOKE {changes} ON ALL TABLES IN SCHEMA discreet FROM {{}} CASCADE"
    yield _ALL_ROUTINES
    yield "REVOKE CREATE ON SCHEMA discreet FROM {} CASCADE"
    for table, names in ((table, ", ".join(tables.columns(table))) for table in tables.TABLES):
        yield f"REVOKE INSERT ({names}), UPDATE ({names}), REFERENCES ({names}) ON discreet.{table} FROM {{}} CASCADE"


def _service_grants() -> Iterator[str]:
    yield "GRANT USAGE ON SCHEMA discreet TO {}"
    yield f"GRANT SELECT ON {', '.join(f'discreet.{table}' for table in rights.READ)} TO {{}}"
    yield f"GRANT INSERT ON {', '.join(f'discreet.{table}' for table in rights.ADDED)} TO {{}}"
    for table, names in rights.CHANGED.items():
        yield f"GRANT UPDATE ({', '.join(names)}) ON discreet.{table} TO {{}}"


def _steward_grants() -> Iterator[str]:
    for function in postgres_functions.steward_functions():
        yield f"GRANT EXECUTE ON FUNCTION {function.signature} TO {{}}"


def _run_for(connection: "psycopg.Connection[Any]", role: str, statements: Iterator[str]) -> None:
    from psycopg import sql  # noqa: PLC0415 - an optional driver

    for statement in statements:
        connection.execute(sql.SQL(statement).format(sql.Identifier(role)))
