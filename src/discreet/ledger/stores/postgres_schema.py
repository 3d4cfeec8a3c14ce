"""Making and migrating a ledger's schema on PostgreSQL, the rights of its service, and whether the rules still stand.

Each version is one SQL file, run in one transaction together with the line that records it: killed half-way, it never
happened. An advisory lock lets one migration run at a time.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import resources
from typing import TYPE_CHECKING, Any

from discreet.errors import LedgerError
from discreet.ledger.records import faults
from discreet.ledger.records.chain import now
from discreet.version import __version__

if TYPE_CHECKING:
    import psycopg

VERSION = 6
LOCK = 0x64697363

_WRITTEN = ("datasets", "versions", "aliases", "analysts", "events", "reservations", "answers", "halts")
_CHANGED = {
    "datasets": "",
    "versions": " (source, facts, population, registered)",
    "analysts": "",
    "reservations": " (state, attempt, lease)",
    "halts": " (cleared)",
}
_THERE = "SELECT 1 FROM pg_tables WHERE schemaname = 'discreet' AND tablename = 'schema_versions'"
_TRIGGER = re.compile(
    r"CREATE TRIGGER (\w+) BEFORE ([A-Z ]+) ON discreet\.(\w+)\s+FOR EACH (\w+) EXECUTE FUNCTION discreet\.(\w+)\("
)
_FUNCTION = re.compile(r"CREATE (?:OR REPLACE )?FUNCTION discreet\.(\w+)\(.*?LANGUAGE (\w+).*?\$\$(.*?)\$\$", re.DOTALL)
_INDEX = re.compile(r"CREATE UNIQUE INDEX (\w+)")
_TABLE = re.compile(r"CREATE TABLE discreet\.(\w+)")
_BITS = {"ROW": 1, "BEFORE": 2, "INSERT": 4, "DELETE": 8, "UPDATE": 16, "TRUNCATE": 32}
_TRIGGERS_THERE = """SELECT tgname AS name, tgtype AS kind, relname AS of, proname AS calls FROM pg_trigger
JOIN pg_class ON pg_class.oid = tgrelid JOIN pg_proc ON pg_proc.oid = tgfoid
WHERE relnamespace = to_regnamespace('discreet') AND pronamespace = relnamespace AND tgenabled = 'O'
  AND tgqual IS NULL AND tgattr::text = ''"""
_FUNCTIONS_THERE = """SELECT proname AS name, min(lanname::text) AS language, min(prosrc) AS text FROM pg_proc
JOIN pg_language ON pg_language.oid = prolang WHERE pronamespace = to_regnamespace('discreet')
GROUP BY proname HAVING count(*) = 1 AND NOT bool_or(prosecdef) AND count(proconfig) = 0"""
_CHECKS_THERE = """SELECT pg_get_constraintdef(oid) AS text FROM pg_constraint
WHERE connamespace = to_regnamespace('discreet') AND contype = 'c' AND convalidated"""
_INDEXES_THERE = """SELECT relname AS name FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
WHERE relnamespace = to_regnamespace('discreet') AND indisunique AND indisvalid"""
_UNLOGGED = "SELECT 1 FROM pg_class WHERE relnamespace = to_regnamespace('discreet') AND relpersistence <> 'p'"


def steps() -> Mapping[int, str]:
    """The SQL of every version, by its number and in order."""
    files = sorted(resources.files("discreet.ledger.stores.migrations").iterdir(), key=lambda file: file.name)
    return {int(file.name[:3]): file.read_text() for file in files if re.fullmatch(r"\d{3}\.sql", file.name)}


def migrate(connection: "psycopg.Connection[Any]", role: str, scripts: Mapping[int, str] | None = None) -> None:
    """Bring the schema to the newest version, each step whole or not at all, and give the service its rights."""
    known = steps() if scripts is None else scripts
    with _alone(connection):
        if schema_version(connection) > max(known):
            raise LedgerError(faults.NEWER)
        connection.execute("CREATE SCHEMA IF NOT EXISTS discreet")
    for version in sorted(known):
        with _alone(connection):
            if version <= schema_version(connection):
                continue
            if (
                version > 1
            ):  # charges read this table first: those under way are waited for, and others see the new version
                connection.execute("LOCK TABLE discreet.schema_versions IN ACCESS EXCLUSIVE MODE")
            connection.execute(known[version].encode())
            values = (version, now(), __version__)
            connection.execute("INSERT INTO discreet.schema_versions VALUES (%s, %s, %s)", values)
    with _alone(connection):
        _grant(connection, role)


@contextmanager
def _alone(connection: "psycopg.Connection[Any]") -> Iterator[None]:
    """A transaction under the lock of migrations."""
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
        yield


def schema_version(connection: "psycopg.Connection[Any]") -> int:
    """The version of the schema; 0 where there is none."""
    # Not to_regclass: after a wait for the lock it may still remember that there was no such table.
    if connection.execute(_THERE).fetchone() is None:
        return 0
    found = connection.execute("SELECT COALESCE(max(version), 0) FROM discreet.schema_versions").fetchone()
    return int(found[0]) if found else 0


def findings(connection: "psycopg.Connection[Any]") -> Iterator[str]:
    """What is wrong with the rules: what was dropped, switched off or rewritten since this version wrote them."""
    text = "\n".join(steps().values())
    rules: dict[str, set[tuple[object, ...]]] = {
        "trigger": _triggers(text) - {tuple(row.values()) for row in connection.execute(_TRIGGERS_THERE)},
        "function": _functions(text) - {tuple(row.values()) for row in connection.execute(_FUNCTIONS_THERE)},
        "index": _indexes(text) - {tuple(row.values()) for row in connection.execute(_INDEXES_THERE)},
    }
    for what, missing in rules.items():
        for name in sorted({str(rule[0]) for rule in missing}):
            yield f"the {what} {name!r} is not as discreet wrote it"
    there = Counter(_plain(row["text"]) for row in connection.execute(_CHECKS_THERE))
    if Counter(map(_plain, _present_checks(text))) - there:
        yield "a check of the tables is not as discreet wrote it"
    if connection.execute(_UNLOGGED).fetchone():
        yield "a table is not logged, and would be emptied by a crash"
    versions = [row["version"] for row in connection.execute("SELECT version FROM discreet.schema_versions ORDER BY 1")]
    if versions != sorted(steps()):
        yield "the schema's version is not the one that was recorded"


def _triggers(text: str) -> set[tuple[object, ...]]:
    """Each trigger's name, kind (as the catalogue counts it), table and function."""
    return {
        (name, sum(_BITS.get(word, 0) for word in ("BEFORE", each, *acts.split())), table, function)
        for name, acts, table, each, function in _TRIGGER.findall(text)
    }


def _functions(text: str) -> set[tuple[object, ...]]:
    """Each function's name, language and text; a later version replaces an earlier one."""
    return set({found[0]: found for found in _FUNCTION.findall(text)}.values())


def _indexes(text: str) -> set[tuple[object, ...]]:
    return {(name,) for name in _INDEX.findall(text)} | {(f"{table}_pkey",) for table in _TABLE.findall(text)}


def _present_checks(text: str) -> list[str]:
    """The checks that stand after all versions: one with a name replaces an earlier one of that name."""
    every = list(_checks(text))
    named = {name: check for name, check in every if name}
    return [*named.values(), *(check for name, check in every if not name)]


def _checks(text: str) -> Iterator[tuple[str, str]]:
    """Each CHECK (...) of some SQL, with its parentheses, and the name of its constraint or nothing."""
    for match in re.finditer(r"(?:CONSTRAINT (\w+) )?(CHECK \()", text):
        depth = 0
        for end in range(match.end() - 1, len(text)):
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            if depth == 0:
                yield match[1] or "", text[match.start(2) : end + 1]
                break


def _plain(check: str) -> str:
    """A check in one spelling, ours or the catalogue's, which adds parentheses and types."""
    spelled = re.sub(r"(\w+) IS NOT DISTINCT FROM", r"NOT \1 IS DISTINCT FROM", check)
    spelled = re.sub(r"\bIN\s*\(([^)]*)\)", r"= ANY ARRAY[\1]", spelled)
    return re.sub(r"::\w+|[\s()]", "", spelled)


def _grant(connection: "psycopg.Connection[Any]", role: str) -> None:
    from psycopg import sql  # noqa: PLC0415 - an optional driver

    service = sql.Identifier(role)
    statements = [
        "REVOKE ALL ON ALL TABLES IN SCHEMA discreet FROM {}",
        "REVOKE ALL ON SCHEMA discreet FROM {}",
        "GRANT USAGE ON SCHEMA discreet TO {}",
        "GRANT SELECT ON ALL TABLES IN SCHEMA discreet TO {}",
        *(f"GRANT INSERT ON discreet.{table} TO {{}}" for table in _WRITTEN),
        *(f"GRANT UPDATE{columns} ON discreet.{table} TO {{}}" for table, columns in _CHANGED.items()),
    ]
    for statement in statements:
        connection.execute(sql.SQL(statement).format(service))
