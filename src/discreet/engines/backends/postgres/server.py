"""The checks of a PostgreSQL server before the first query: the role, the table, and its storage.

Every connection is set up the same way: nothing but PostgreSQL's own functions and operators can be reached, times are
in UTC, and a role that may read the table and make temporary tables is all that is needed. Catalogs are read here, rows
never. What the driver says when something fails may hold names, cells or a password, and is never passed on.
"""

import logging
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any

from discreet.errors import SourceError, suggestion

if TYPE_CHECKING:
    import psycopg

log = logging.getLogger("discreet")

OLDEST = 150000
PATIENCE = 15
IDLE = 0  # of libpq: no transaction is open, and nothing is under way
_EXAMPLE = 'dp.protect("postgresql://reader@host:5432/database", table="schema.visits", name="visits", ...)'

# With pg_catalog first and no schema of anybody's behind it, no function, operator or type of ours can be caught by one
# that a user made; temporary tables are ours alone. Text is read by fixed rules, not by settings of a role.
SETTINGS: Mapping[str, str] = {
    "search_path": "pg_catalog, pg_temp",
    "TimeZone": "'UTC'",
    "timezone_abbreviations": "'Default'",
    "DateStyle": "'ISO, YMD'",
    "IntervalStyle": "'postgres'",
    "extra_float_digits": "1",
    "standard_conforming_strings": "on",
    "transform_null_equals": "off",
    "client_encoding": "'UTF8'",
    "client_min_messages": "error",
    "application_name": "'discreet'",
    "default_transaction_read_only": "off",
    "row_security": "on",
    "jit": "off",
}

_ROWS = {"r": "table", "p": "partitioned table", "v": "view", "m": "materialised view", "f": "foreign table"}
# What the driver says: it holds no code where no connection was made, and in another language none of this is found.
_CAUSES = {
    "could not translate host name": "host",
    "failed to resolve host": "host",
    "no password supplied": "role",
    "authentication failed": "role",
    "no pg_hba.conf entry": "role",
    "is not permitted to log in": "role",
    "permission denied for database": "right",
    "does not support ssl": "encryption",
    "connection refused": "silence",
    "no such file or directory": "silence",
    "timeout expired": "silence",
    "no route to host": "silence",
    "network is unreachable": "silence",
}
_MISSING_NAME = re.compile(r'(?P<kind>role|database) "[^\n]*" does not exist')
_REASONS = {
    "": (
        "a PostgreSQL server that cannot be reached",
        "no server answers there, or it does not take the role, the password or the database",
        f"{_EXAMPLE}, the password in PGPASSWORD or ~/.pgpass",
    ),
    "host": (
        "a PostgreSQL server on a host that is not found: {host!r}",
        "no address is known for that name",
        f"{_EXAMPLE}, the host by a name that this machine can look up; an @ in a password is written as %40",
    ),
    "silence": (
        "no PostgreSQL server at {place!r}",
        "nothing answers there: the server is not running, listens elsewhere, or a firewall is between",
        f"{_EXAMPLE} with the host and port of a running server, which pg_isready -h host -p 5432 asks for",
    ),
    "role": (
        "the role {role!r} at {place!r}",
        "the server does not take it: its name or password is another, or it may not connect from here",
        "the role's own password in PGPASSWORD or ~/.pgpass, and a line for the role in the server's pg_hba.conf",
    ),
    "database": (
        "no database {database!r} at {place!r}",
        "the server has none of that name",
        "a name that psql -l lists, behind the last / of the address",
    ),
    "right": (
        "the database {database!r} at {place!r}",
        "the role {role!r} may not connect to it",
        'GRANT CONNECT, TEMPORARY ON DATABASE "{database}" TO "{role}";',
    ),
    "encryption": (
        "an encrypted connection to {place!r}",
        "the address asks for one, and the server offers none",
        "ssl = on at the server, or sslmode=prefer in the address where the network is trusted",
    ),
}
_STATES = {"28P01": "role", "28000": "role", "3D000": "database", "42501": "right"}
_SUITABLE = """
SELECT pg_is_in_recovery(), has_database_privilege(current_database(), 'TEMPORARY'),
       quote_ident(current_database()), quote_ident(current_user),
       ARRAY(SELECT format('DROP CAST (%s AS %s);', castsource::regtype, casttarget::regtype) FROM pg_cast
             WHERE oid >= 16384 AND castmethod <> 'i' AND castsource < 10000 AND casttarget < 10000 ORDER BY 1)
"""
_RELATION = """
SELECT c.relkind::text, format('%%I.%%I', n.nspname, c.relname), quote_ident(n.nspname),
       quote_ident(current_database()), quote_ident(current_user), r.rolsuper,
       pg_has_role(c.relowner, 'USAGE'), row_security_active(c.oid),
       ARRAY(SELECT p FROM unnest(ARRAY['INSERT', 'UPDATE', 'DELETE', 'TRUNCATE']) AS p
             WHERE has_table_privilege(c.oid, p))
FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace JOIN pg_roles AS r ON r.rolname = current_user
WHERE c.oid = %s
"""
_NAMED = """
SELECT n.nspname::text, c.relname::text, format('%I.%I', n.nspname, c.relname), quote_ident(n.nspname),
       quote_ident(current_user), has_schema_privilege(n.oid, 'USAGE')
FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
ORDER BY 3 LIMIT 10000
"""
_PART = re.compile(r'"(?P<quoted>(?:[^"]|"")+)"|(?P<bare>[^."]+)')


@dataclass(frozen=True)
class Relation:
    """A table, view or the like, by its full name, and what the role may do with it."""

    oid: int
    kind: str
    name: str
    schema: str
    database: str
    role: str
    is_superuser: bool
    is_owner: bool
    is_filtered: bool
    writes: tuple[str, ...]

    @property
    def is_view(self) -> bool:
        """Whether its rows are computed when they are read."""
        return self.kind == "v"


def driver() -> ModuleType:
    """The driver, or an error that says how to install it."""
    try:
        import psycopg  # noqa: PLC0415 - optional, and slow to import
    except ImportError:
        psycopg = None  # type: ignore[assignment]
    if psycopg is None:
        raise SourceError(
            "a PostgreSQL table without the driver",
            because="psycopg is not installed",
            instead="pip install 'discreet[postgres]'",
        )
    return psycopg


def connect(address: str) -> "psycopg.Connection[Any]":
    """A connection with the role's own settings; messages of the driver stay here."""
    library = driver()
    connection: psycopg.Connection[Any] | None = None
    given = _understood(address)
    cause = ""
    try:
        waits = "connect_timeout" in given or "PGCONNECT_TIMEOUT" in os.environ
        patience = {} if waits else {"connect_timeout": PATIENCE}
        connection = library.connect(address, autocommit=True, prepare_threshold=None, **patience)
    except (library.Error, ValueError) as error:
        cause = _cause(error)
    if connection is None:
        raise _connection_error(given, cause)
    return connection


def _understood(address: str) -> dict[str, str]:
    """The parts of an address; one that libpq does not understand is refused."""
    library = driver()
    given: dict[str, str] | None = None
    with suppress(library.Error, ValueError):
        given = {name: str(value) for name, value in library.conninfo.conninfo_to_dict(address).items()}
    if given is None:
        raise _misread()
    return given


def _misread() -> SourceError:
    return SourceError(
        "an address of PostgreSQL that cannot be understood",
        because="it has an unknown parameter, or a password with @ / # % ? :",
        instead=f"{_EXAMPLE}, the password in PGPASSWORD, or with its @ / # % written as %40 %2F %23 %25",
    )


def _cause(error: Exception) -> str:
    """Which of our sentences fits; what the driver says is looked at, and dropped."""
    if state := _STATES.get(getattr(error, "sqlstate", None) or ""):
        return state
    message = str(error).lower()
    if missing := _MISSING_NAME.search(message):
        return missing["kind"]
    return next((cause for text, cause in _CAUSES.items() if text in message), "")


def _connection_error(given: Mapping[str, str], cause: str) -> SourceError:
    host = given.get("host") or given.get("hostaddr") or os.environ.get("PGHOST") or "localhost"
    port = given.get("port") or os.environ.get("PGPORT") or "5432"
    role = given.get("user") or os.environ.get("PGUSER") or "(the user of this machine)"
    database = given.get("dbname") or os.environ.get("PGDATABASE") or role
    # a password with an unwritten @ or / in it was cut there, and its rest was taken for one of these
    if "@" in host + database or not all(each.isdigit() for each in port.split(",")):
        return _misread()
    named = {"host": host, "place": f"{host}:{port}", "role": role, "database": database}
    what, because, instead = (part.format(**named) for part in _REASONS.get(cause, _REASONS[""]))
    return SourceError(what, because=because, instead=instead)


def set_up(connection: "psycopg.Connection[Any]", more: Mapping[str, str]) -> None:
    """Settings that no answer may depend on, and the owner's limits; a server that does not suit is refused."""
    psycopg = driver()
    settings = "; ".join(f"SET {name} = {value}" for name, value in {**SETTINGS, **more}.items())
    try:
        connection.execute(settings.encode())
        row = connection.execute(_SUITABLE).fetchone()
    except psycopg.Error:
        row = None
    if row is None:
        raise SourceError(
            "an engine that cannot be set up",
            because="PostgreSQL did not take its settings",
            instead='memory_limit="1GB", threads=2, and a role that may set what every user may',
        )
    _require_suitable_server(connection, *row)


def _require_suitable_server(
    connection: "psycopg.Connection[Any]", is_standby: bool, may_keep: bool, database: str, role: str, casts: list[str]
) -> None:
    encoding = connection.info.parameter_status("server_encoding")
    if connection.info.server_version < OLDEST:
        raise SourceError(
            f"a PostgreSQL server of version {connection.info.server_version // 10000}",
            because="discreet is tested with version 15 and later",
            instead="a server of version 15 or later",
        )
    if encoding != "UTF8":
        raise SourceError(
            f"a PostgreSQL database in the encoding {encoding!r}",
            because="text is compared byte by byte, and all engines must see the same bytes",
            instead="a database that was made with ENCODING 'UTF8'",
        )
    if is_standby:
        raise SourceError(
            "a PostgreSQL server that is a standby",
            because="it allows no temporary tables, which hold the bounded rows",
            instead="the primary server, or a copy of the table in a database of its own",
        )
    if not may_keep:
        raise SourceError(
            f"a role that may make no temporary tables: {role}",
            because="bounded rows and public keys are stored in temporary tables",
            instead=f"GRANT TEMPORARY ON DATABASE {database} TO {role};",
        )
    if casts:
        raise SourceError(
            "a PostgreSQL database with casts of its own between PostgreSQL's types",
            because="the database has user-defined casts, which could fail or change values",
            instead=" ".join(casts),
        )


def relation(connection: "psycopg.Connection[Any]", table: str, settings: Mapping[str, str]) -> Relation:
    """The table that the role means by a name, by its own search path; the connection is set up on the way."""
    oid = oid_of(connection, table)
    set_up(connection, settings)
    row = None if oid is None else fetch_catalog_rows(connection, _RELATION, oid)
    if not row:
        raise _no_table(connection, table)
    kind, name, schema, database, role, is_superuser, is_owner, is_filtered, writes = row[0]
    if kind not in _ROWS:
        raise SourceError(
            f"{table!r}, which is no table",
            because=f"rows come from a {', a '.join(_ROWS.values())}",
            instead="a view over what you want to protect, made by its owner",
        )
    return Relation(oid or 0, kind, name, schema, database, role, is_superuser, is_owner, is_filtered, tuple(writes))


def _no_table(connection: "psycopg.Connection[Any]", table: str) -> SourceError:
    """Which table may have been meant, among those that the role may look at, or which right is missing."""
    named = fetch_catalog_rows(connection, _NAMED)
    parts = [(part["quoted"] or part["bare"]).replace('""', '"').casefold() for part in _PART.finditer(table)]
    schema, name = parts[-2] if len(parts) > 1 else None, parts[-1] if parts else ""
    for its_schema, its_name, _, quoted, role, is_open in named:
        if not is_open and its_name.casefold() == name and schema in (None, its_schema.casefold()):
            return SourceError(
                f"table {table!r}, in a schema that the role may not use",
                because=f"{role} has no right to the schema {its_schema!r}",
                instead=f"GRANT USAGE ON SCHEMA {quoted} TO {role};",
            )
    return SourceError(
        f"no table {table!r} in this database",
        because="the role sees none of that name by its search path" if schema is None else "it has none of that name",
        instead=" or ".join(_meant(schema, name, [(each[1], each[2]) for each in named if each[5]])),
    )


def _meant(schema: str | None, name: str, seen: list[tuple[str, str]]) -> Iterator[str]:
    """The nearest table by its full name; for a bare name, every schema that has it."""
    wholes = [whole for _, whole in seen]
    nearest = suggestion(name, [its_name for its_name, _ in seen])
    if schema is not None:
        nearest_whole = suggestion(f"{schema}.{name}", wholes)
        yield f"table={nearest_whole!r}" if nearest_whole in wholes else nearest_whole
    elif any(its_name == nearest for its_name, _ in seen):
        yield from (f"table={whole!r}" for its_name, whole in seen if its_name.casefold() == nearest.casefold())
    else:
        yield suggestion("", wholes)


def oid_of(connection: "psycopg.Connection[Any]", table: str) -> int | None:
    """By the rules of SQL first, then letter by letter: few people quote a name with capitals."""
    exact = ".".join('"' + part.replace('"', '""') + '"' for part in table.split("."))
    psycopg = driver()
    for name in (table, exact):
        try:
            row = connection.execute("SELECT pg_catalog.to_regclass(%s)::pg_catalog.oid", (name,)).fetchone()
        except (psycopg.Error, ValueError):
            continue
        if row is not None and row[0] is not None:
            return int(row[0])
    return None


def fetch_catalog_rows(
    connection: "psycopg.Connection[Any]", query: Any, values: int | Mapping[str, str] | None = None
) -> list[tuple[Any, ...]]:
    """The rows of a catalog query about a relation or other values; none where the server does not answer it."""
    psycopg = driver()
    try:
        return connection.execute(query, (values,) if isinstance(values, int) else values).fetchall()
    except psycopg.Error:
        return []


def warn(table: Relation) -> None:
    """Say which rights are more than reading needs, and that a filter of the server's is at work."""
    if table.is_superuser or table.is_owner:
        log.warning(
            "the role %s %s, and discreet needs to read only: CREATE ROLE reader LOGIN; "
            "GRANT CONNECT, TEMPORARY ON DATABASE %s TO reader; GRANT USAGE ON SCHEMA %s TO reader; "
            "GRANT SELECT ON %s TO reader;",
            table.role,
            "is a superuser" if table.is_superuser else f"owns {table.name}",
            table.database,
            table.schema,
            table.name,
        )
    elif table.writes:
        log.warning(
            "the role %s may write to %s, and discreet needs to read only: REVOKE %s ON %s FROM %s;",
            table.role,
            table.name,
            ", ".join(table.writes),
            table.name,
            table.role,
        )
    if table.is_filtered:
        log.warning(
            "row security filters %s for %s: answers are about the rows that its policies show, and a policy that "
            "looks at other rows, or changes, breaks the privacy guarantee",
            table.name,
            table.role,
        )
