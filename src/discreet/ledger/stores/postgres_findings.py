"""Whether the schema on PostgreSQL is as it was made: nothing dropped, switched off, rewritten, added or granted."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from discreet.ledger.stores import postgres_functions, postgres_schema
from discreet.ledger.stores.schema import rights, tables
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
_COLUMNS = f"""SELECT relname AS of, attname AS name, upper(format_type(atttypid, atttypmod))
  || CASE WHEN collname = 'C' THEN ' COLLATE "C"' WHEN collname <> 'default' THEN collname ELSE '' END AS kind,
  attnotnull AS required
FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid LEFT JOIN pg_collation ON pg_collation.oid = attcollation
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
_GRANTS = f"""SELECT relname AS of, ''::text AS part, privilege_type AS act, grantee = 0 AS is_public, is_grantable
FROM pg_class, aclexplode(relacl) WHERE {_HERE} AND grantee <> relowner
UNION SELECT relname, attname::text, privilege_type, grantee = 0, is_grantable
FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid, aclexplode(attacl) WHERE {_HERE} AND grantee <> relowner
UNION SELECT proname, pg_proc.oid::regprocedure::text, privilege_type, grantee = 0, is_grantable
FROM pg_proc, aclexplode(COALESCE(proacl, acldefault('f', proowner)))
WHERE pronamespace = to_regnamespace('discreet') AND grantee <> proowner
UNION SELECT 'discreet', '', privilege_type, grantee = 0, is_grantable
FROM pg_namespace, aclexplode(nspacl) WHERE nspname = 'discreet' AND grantee <> nspowner"""
_OF_STEWARD = ", ".join(f"'{each.signature}'" for each in postgres_functions.steward_functions())
_PARTS = f"""SELECT grantee FROM pg_proc, aclexplode(proacl)
WHERE pronamespace = to_regnamespace('discreet') AND grantee NOT IN (0, proowner)
GROUP BY grantee HAVING count(DISTINCT pg_proc.oid) FILTER (WHERE pg_proc.oid IN (
  SELECT to_regprocedure(each) FROM unnest(ARRAY[{_OF_STEWARD}]) AS each)) NOT IN
  (0, (SELECT count(*) FROM unnest(ARRAY[{_OF_STEWARD}]) AS each))"""
_DEFAULTS = """SELECT 1 FROM pg_default_acl, aclexplode(defaclacl)
WHERE defaclnamespace IN (0, to_regnamespace('discreet')) AND grantee <> defaclrole
  AND defaclrole = (SELECT nspowner FROM pg_namespace WHERE nspname = 'discreet')
  AND CASE defaclobjtype WHEN 'f' THEN grantee <> 0 WHEN 'r' THEN privilege_type <> 'SELECT'
    WHEN 'n' THEN privilege_type <> 'USAGE' ELSE FALSE END"""
_OUTSIDE = """SELECT pg_proc.oid::regprocedure::text AS name, TRUE AS is_function FROM pg_proc
WHERE prosecdef AND pronamespace <> to_regnamespace('discreet')
  AND proowner IN (SELECT nspowner FROM pg_namespace WHERE nspname = 'discreet' UNION SELECT grantee
    FROM pg_proc AS f, aclexplode(f.proacl) WHERE f.pronamespace = to_regnamespace('discreet') AND f.prosecdef)
  AND EXISTS (SELECT 1 FROM aclexplode(COALESCE(proacl, acldefault('f', proowner))) WHERE grantee <> proowner)
UNION SELECT v.oid::regclass::text, FALSE FROM pg_rewrite JOIN pg_class AS v ON v.oid = ev_class
JOIN pg_depend ON classid = 'pg_rewrite'::regclass AND objid = pg_rewrite.oid AND refclassid = 'pg_class'::regclass
JOIN pg_class AS t ON t.oid = refobjid
WHERE t.relnamespace = to_regnamespace('discreet') AND v.relnamespace <> t.relnamespace AND EXISTS (
  SELECT 1 FROM (SELECT v.relacl AS acl UNION ALL SELECT attacl FROM pg_attribute WHERE attrelid = v.oid) AS a,
    aclexplode(acl) WHERE grantee <> v.relowner AND privilege_type IN ('INSERT', 'UPDATE', 'DELETE'))"""
_SWITCHES = """SELECT 1 FROM pg_parameter_acl, aclexplode(paracl)
WHERE parname = 'session_replication_role'
  AND NOT EXISTS (SELECT 1 FROM pg_roles WHERE pg_roles.oid = grantee AND rolsuper)"""

Catalogue = set[tuple[object, ...]]
Rows = Callable[[str], list[dict[str, Any]]]


def findings(connection: "psycopg.Connection[Any]") -> Iterator[str]:
    """What is wrong with the schema, one sentence for each."""

    def rows(question: str) -> list[dict[str, Any]]:
        return connection.execute(question.encode()).fetchall()

    yield from _differences(rows)
    yield from _additions(rows)
    yield from _excess_rights(rows)
    versions = [row["version"] for row in rows("SELECT version FROM discreet.schema_versions ORDER BY 1")]
    if versions not in ([postgres_schema.VERSION], sorted(postgres_schema.steps())):
        yield "the schema's version is not the one that was recorded"


def _differences(rows: Rows) -> Iterator[str]:
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


def _additions(rows: Rows) -> Iterator[str]:
    """What discreet did not write."""
    for name in sorted({row["name"] for row in rows(_TRIGGERS)} - {str(name) for name, *_ in _triggers()}):
        yield f"the trigger {name!r} is not one of discreet"
    for row in sorted(rows(_OTHER_OBJECTS), key=lambda row: str(row["identity"])):
        yield f"the {row['type']} {row['identity']!r} is not one of discreet"
    for row in sorted(rows(_RULES), key=lambda row: str(row["name"])):
        yield f"the rule {row['name']!r} is not one of discreet"


def _excess_rights(rows: Rows) -> Iterator[str]:
    """Rights beyond those that discreet grants, now or with what is made next."""
    for of in sorted({row["of"] for row in rows(_GRANTS) if not _is_granted(row)}):
        yield f"a role may do more with {of!r} than discreet grants"
    if rows(_PARTS):
        yield "a role may call some functions of the steward, and not all of them"
    for row in sorted(rows(_OUTSIDE), key=lambda row: str(row["name"])):
        what = "function" if row["is_function"] else "view or table"
        yield f"the {what} {row['name']!r}, outside the ledger's schema, gives a role more than discreet grants"
    if rows(_SWITCHES):
        yield "a role that is no superuser may switch the triggers off (session_replication_role)"
    if rows(_DEFAULTS):
        yield "default privileges of the schema's owner give a role more with what is made next than discreet grants"


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
        (each.name, sum(_BITS.get(word, 0) for word in ("BEFORE", each.each, *each.acts)), each.table, each.function)
        for each in postgres_functions.triggers()
    }


def _functions() -> Catalogue:
    settings = f"search_path={postgres_functions.SEARCH_PATH}"
    return {
        (
            *(_regprocedure(each), "plpgsql", each.body, each.is_of_steward, settings, each.returns),
            *(" ".join(f"given_{name}" for name, _ in each.parameters), True),
        )
        for each in postgres_functions.functions()
    }


def _regprocedure(function: postgres_functions.Function) -> str:
    """A function's name as the catalogue writes it where its schema is in the search path."""
    return f"{function.name}({','.join(kind.lower() for _, kind in function.parameters)})"


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
    pattern = re.compile(r"^  (\w+) [^{\n]* (REFERENCES \w+ \(\w+\))", re.MULTILINE)
    return {
        (table, _plain(f"FOREIGN KEY ({column}) {text}"))
        for table, body in tables.TABLES.items()
        for column, text in pattern.findall(body)
    }


def _checks() -> Iterator[tuple[str, Tree]]:
    """Each CHECK (...) of the tables, with its table."""
    for table, text in tables.TABLES.items():
        for match in re.finditer(r"CHECK \(", text):
            depth = 0
            for end in range(match.end() - 1, len(text)):
                depth += {"(": 1, ")": -1}.get(text[end], 0)
                if depth == 0:
                    yield table, _check(text[match.start() : end + 1])
                    break


def _check(text: str) -> Tree:
    """The tree of what a CHECK says; a constraint of another kind is its own text."""
    return condition(text.removeprefix("CHECK ")) if text.startswith("CHECK ") else text


def _plain(text: object) -> str:
    """A foreign key in one spelling, ours or the catalogue's, which adds schemas and other spaces."""
    return re.sub(r"\s", "", str(text).replace(" discreet.", " "))


def _is_granted(row: dict[str, Any]) -> bool:
    """Whether a right is one that a role of the service or of the steward has; roles may read besides."""
    if row["is_public"] or row["is_grantable"]:
        return False
    of, part, act = row["of"], row["part"], row["act"]
    if of == "discreet":
        return bool(act == "USAGE")
    if of not in tables.TABLES:
        return bool(act == "EXECUTE") and part in map(_regprocedure, postgres_functions.steward_functions())
    if act == "UPDATE":
        return part in rights.CHANGED.get(of, ())
    return act == "SELECT" or (act == "INSERT" and of in rights.ADDED)
