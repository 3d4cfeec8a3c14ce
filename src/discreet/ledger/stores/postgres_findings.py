"""Whether the schema on PostgreSQL is as it was made: nothing dropped, switched off, rewritten, added or granted."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from discreet.ledger.stores import postgres_functions, postgres_rights, postgres_schema
from discreet.ledger.stores.postgres_rights import CatalogueRows
from discreet.ledger.stores.schema import tables
from discreet.ledger.stores.schema.conditions import Tree, condition

if TYPE_CHECKING:
    import psycopg

_BITS = {"ROW": 1, "BEFORE": 2, "INSERT": 4, "DELETE": 8, "UPDATE": 16, "TRUNCATE": 32}
_HERE = "relnamespace = to_regnamespace('discreet')"

_RELATIONS = f"""SELECT relname AS name, relkind = 'r' AND relpersistence = 'p' AND NOT relrowsecurity
  AND NOT relispartition AND NOT EXISTS (SELECT 1 FROM pg_inherits WHERE c.oid IN (inhrelid, inhparent))
  AND relowner = (SELECT nspowner FROM pg_namespace AS n WHERE n.oid = relnamespace) AS is_plain
FROM pg_class AS c WHERE {_HERE} AND relkind NOT IN ('i', 'I', 'c')"""
_UNLOGGED = f"SELECT relname AS name FROM pg_class WHERE {_HERE} AND relpersistence <> 'p'"
# Another schema may have a collation of the same name.
_COLUMNS = f"""SELECT relname AS of, attname AS name, upper(format_type(atttypid, atttypmod))
  || CASE WHEN attcollation IN (0, 'pg_catalog."default"'::regcollation) THEN ''
    WHEN attcollation = 'pg_catalog."C"'::regcollation THEN ' COLLATE "C"'
    ELSE ' COLLATE ' || attcollation::regcollation END AS kind,
  attnotnull AS required
FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
WHERE {_HERE} AND relkind = 'r' AND attnum > 0 AND NOT attisdropped
  AND NOT atthasdef AND attidentity = '' AND attgenerated = ''"""
_CHECKS = """SELECT conrelid::regclass::text AS of, pg_get_constraintdef(oid) AS text FROM pg_constraint
WHERE connamespace = to_regnamespace('discreet') AND contype NOT IN ('p', 'f', 'n') AND convalidated"""
_REFERENCES = """SELECT conrelid::regclass::text AS of, pg_get_constraintdef(oid) AS text FROM pg_constraint
WHERE connamespace = to_regnamespace('discreet') AND contype = 'f' AND convalidated
  AND NOT EXISTS (SELECT 1 FROM pg_trigger WHERE tgconstraint = pg_constraint.oid AND tgenabled <> 'O')"""
_INDEXES = f"""SELECT relname AS name, pg_get_indexdef(indexrelid) AS text FROM pg_index
JOIN pg_class ON pg_class.oid = indexrelid WHERE {_HERE} AND indisvalid"""
# A trigger that is switched off, or has a condition, columns or arguments, calls nothing that discreet wrote.
_TRIGGERS = f"""SELECT tgname AS name, tgtype AS kind, relname AS of,
  CASE WHEN pronamespace = relnamespace AND tgenabled = 'O' AND tgqual IS NULL AND tgattr::text = '' AND tgnargs = 0
    AND tgconstraint = 0 AND tgoldtable IS NULL AND tgnewtable IS NULL THEN proname END AS calls
FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid JOIN pg_proc ON pg_proc.oid = tgfoid
WHERE {_HERE} AND NOT tgisinternal"""
_FUNCTIONS = """SELECT pg_proc.oid::regprocedure::text AS name, lanname::text AS language, prosrc AS text,
  prosecdef AS is_definer, array_to_string(proconfig, ';') AS settings, prorettype::regtype::text AS returns,
  COALESCE(array_to_string(proargnames, ' '), '') AS parameters,
  proowner = (SELECT nspowner FROM pg_namespace AS n WHERE n.oid = pronamespace) AND prokind = 'f' AND provolatile = 'v'
    AND NOT proisstrict AND NOT proretset AND NOT proleakproof AND pronargdefaults = 0 AND proargmodes IS NULL
    AS is_plain
FROM pg_proc JOIN pg_language ON pg_language.oid = prolang WHERE pronamespace = to_regnamespace('discreet')"""
_RULES = f"""SELECT rulename AS name FROM pg_rewrite JOIN pg_class ON pg_class.oid = ev_class WHERE {_HERE}
UNION SELECT polname FROM pg_policy JOIN pg_class ON pg_class.oid = polrelid WHERE {_HERE}"""
_OTHER_OBJECTS = """SELECT type, identity FROM pg_depend, pg_identify_object(classid, objid, objsubid)
WHERE refclassid = 'pg_namespace'::regclass AND refobjid = to_regnamespace('discreet')
  AND classid NOT IN ('pg_class'::regclass, 'pg_proc'::regclass)
  AND classid NOT IN ('pg_statistic_ext'::regclass, 'pg_default_acl'::regclass)"""

Catalogue = set[tuple[object, ...]]


def findings(connection: "psycopg.Connection[Any]") -> Iterator[str]:
    """What is wrong with the schema, one sentence for each."""

    def rows(question: str) -> list[dict[str, Any]]:
        return connection.execute(question.encode()).fetchall()

    yield from _differences(rows)
    yield from _additions(rows)
    yield from postgres_rights.findings(rows)
    versions = [row["version"] for row in rows("SELECT version FROM discreet.schema_versions ORDER BY 1")]
    if not versions or versions != list(range(versions[0], postgres_schema.VERSION + 1)):  # from where it was made
        yield "the schema's version is not the one that was recorded"


def _differences(rows: CatalogueRows) -> Iterator[str]:
    """What discreet wrote and is not there so."""
    triggers = {str(name) for name, *_ in _triggers()}
    kept: dict[str, tuple[Catalogue, Catalogue]] = {
        "table": (_tables(), {tuple(row.values()) for row in rows(_RELATIONS)}),
        "column": (_columns(), {tuple(row.values()) for row in rows(_COLUMNS)}),
        "trigger": (_triggers(), {tuple(row.values()) for row in rows(_TRIGGERS) if row["name"] in triggers}),
        "function": (_functions(), {tuple(row.values()) for row in rows(_FUNCTIONS)}),
        "index": (_indexes(), {(row["name"], _index(row["text"])) for row in rows(_INDEXES)}),
        "foreign key of": (_references(), {tuple(map(_plain, row.values())) for row in rows(_REFERENCES)}),
    }
    for what, (written, there) in kept.items():
        for name in sorted({_name(what, each) for each in written ^ there}):
            yield f"the {what} {name!r} is not as discreet wrote it"
    if Counter((row["of"], _check(row["text"])) for row in rows(_CHECKS)) != Counter(_checks()):
        yield "a check of the tables is not as discreet wrote it"
    if rows(_UNLOGGED):
        yield "a table is not logged, and would be emptied by a crash"


def _additions(rows: CatalogueRows) -> Iterator[str]:
    """What discreet did not write."""
    for name in sorted({row["name"] for row in rows(_TRIGGERS)} - {str(name) for name, *_ in _triggers()}):
        yield f"the trigger {name!r} is not one of discreet"
    for row in sorted(rows(_OTHER_OBJECTS), key=lambda row: str(row["identity"])):
        yield f"the {row['type']} {row['identity']!r} is not one of discreet"
    for row in sorted(rows(_RULES), key=lambda row: str(row["name"])):
        yield f"the rule {row['name']!r} is not one of discreet"


def _name(what: str, found: tuple[object, ...]) -> str:
    return f"{found[0]}.{found[1]}" if what == "column" else str(found[0])


def _tables() -> Catalogue:
    return {(table, True) for table in tables.TABLES}


def _columns() -> Catalogue:
    found: Catalogue = set()
    for table in tables.TABLES:
        required = tables.required(table)
        found |= {(table, name, kind, name in required) for name, kind in tables.columns(table).items()}
    return found


def _triggers() -> Catalogue:
    """Each trigger's name, its kind as the catalogue counts it, its table and its function."""
    return {
        (each.name, sum(_BITS.get(word, 0) for word in ("BEFORE", each.level, *each.acts)), each.table, each.function)
        for each in postgres_functions.triggers()
    }


def _functions() -> Catalogue:
    settings = f"search_path={postgres_functions.SEARCH_PATH}"
    return {
        (
            *(each.regprocedure, "plpgsql", each.body, each.is_of_steward, settings, each.returns),
            *(" ".join(f"given_{name}" for name, _ in each.parameters), True),
        )
        for each in postgres_functions.functions()
    }


def _indexes() -> Catalogue:
    columns = {table: ", ".join(tables.primary_key(table)) for table in tables.TABLES}
    keys = {
        (f"{table}_pkey", _index(f"CREATE UNIQUE INDEX {table}_pkey ON {table} ({names})"))
        for table, names in columns.items()
    }
    return keys | {(re.findall(r"INDEX (\w+)", text)[0], _index(text)) for text in tables.INDEXES}


def _index(text: str) -> tuple[str, Tree]:
    """An index, ours or the catalogue's, which adds schema and method, and the tree of its condition."""
    head, _, where = text.partition(" WHERE ")
    return head.replace(" ON discreet.", " ON ").replace(" USING btree", ""), condition(where)


def _references() -> Catalogue:
    return {(table, _plain(text)) for table in tables.TABLES for text in tables.foreign_keys(table)}


def _checks() -> Iterator[tuple[str, Tree]]:
    """Each condition of a check, with its table."""
    return ((table, condition(text)) for table in tables.TABLES for text in tables.checks(table))


def _check(text: str) -> Tree:
    """The tree of what a check of the catalogue says; a constraint of another kind is its own text."""
    return condition(text.removeprefix("CHECK ")) if text.startswith("CHECK ") else text


def _plain(text: object) -> str:
    """A foreign key in one spelling, ours or the catalogue's, which adds schemas and other spaces."""
    return re.sub(r"\s", "", str(text).replace(" discreet.", " "))
