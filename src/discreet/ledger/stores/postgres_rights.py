"""Rights of roles on PostgreSQL: given with the schema, looked up at each connection, and compared by a verification.

`schema/rights.py` says what a service and a steward may do.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from discreet.errors import LedgerError
from discreet.ledger.records import faults
from discreet.ledger.stores import postgres_functions
from discreet.ledger.stores.schema import rights, tables
from discreet.ledger.transactions.store import RoleRights

if TYPE_CHECKING:
    import psycopg

CatalogueRows = Callable[[str], list[dict[str, Any]]]
"""The rows of a query of the catalogue."""

_STEWARD_FUNCTIONS = postgres_functions.steward_functions()
_SIGNATURES = "unnest(ARRAY[" + ", ".join(f"'{each.signature}'" for each in _STEWARD_FUNCTIONS) + "]) AS each"
_ADDED = ", ".join(f"'{table}'" for table in rights.ADDED)
_CHANGED = ", ".join(f"'{table}.{name}'" for table, names in rights.CHANGED.items() for name in names)

# Every role that the session may act as, also by a membership that it does not inherit. `callable` has, for each
# function in the schema that runs with the owner's rights and that one of them may call, whether it is the steward's.
_OF_SESSION = f"""SELECT
  current_setting('transaction_read_only') = 'on' AS frozen,
  EXISTS (
    SELECT 1 FROM pg_class WHERE relnamespace = to_regnamespace('discreet') AND relpersistence <> 'p') AS unlogged,
  (SELECT COALESCE(bool_and(has_function_privilege(to_regprocedure(each), 'EXECUTE')), FALSE)
    FROM {_SIGNATURES}) AS steward,
  COALESCE((
    SELECT array_agg(p.oid::regprocedure = ANY (ARRAY(SELECT to_regprocedure(each) FROM {_SIGNATURES})))
    FROM pg_proc AS p WHERE p.pronamespace = to_regnamespace('discreet') AND p.prosecdef AND EXISTS (
      SELECT 1 FROM pg_roles AS r
      WHERE pg_has_role(session_user, r.oid, 'MEMBER') AND has_function_privilege(r.oid, p.oid, 'EXECUTE'))
  ), '{{}}') AS callable,
  EXISTS (
    SELECT 1 FROM pg_roles AS r, pg_namespace AS n, pg_class AS c
    WHERE pg_has_role(session_user, r.oid, 'MEMBER') AND n.nspname = 'discreet' AND c.relnamespace = n.oid
      AND c.relkind = 'r' AND (
        r.rolsuper OR r.rolcreaterole OR r.rolname IN ('pg_execute_server_program', 'pg_write_server_files')
        OR r.oid IN (n.nspowner, c.relowner) OR has_schema_privilege(r.oid, n.oid, 'CREATE')
        OR has_table_privilege(r.oid, c.oid, 'DELETE, TRUNCATE, TRIGGER')
        OR (c.relname NOT IN ({_ADDED}) AND has_any_column_privilege(r.oid, c.oid, 'INSERT'))
        OR EXISTS (
          SELECT 1 FROM pg_attribute AS a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
            AND c.relname || '.' || a.attname NOT IN ({_CHANGED})
            AND has_column_privilege(r.oid, c.oid, a.attnum, 'UPDATE')))
  ) AS powerful,
  COALESCE((SELECT r.oid = n.nspowner OR (NOT r.rolsuper AND pg_has_role(r.oid, n.nspowner, 'MEMBER'))
    FROM pg_roles AS r, pg_namespace AS n WHERE r.rolname = session_user AND n.nspname = 'discreet'), FALSE) AS owner"""

_SERVICES = """SELECT DISTINCT pg_get_userbyid(grantee) FROM pg_class, aclexplode(relacl)
WHERE relnamespace = to_regnamespace('discreet') AND relname = 'events' AND grantee NOT IN (0, relowner)
  AND privilege_type = 'INSERT'"""
_NAMED_AS_OF_STEWARD = f"""pronamespace = to_regnamespace('discreet') AND prosecdef
  AND proname IN ({", ".join(f"'{each.name}'" for each in _STEWARD_FUNCTIONS)})"""
# Who may call every one of them, by their names, as an earlier version had other parameters; one makes no steward.
_STEWARDS = f"""SELECT pg_get_userbyid(grantee) FROM pg_proc, aclexplode(proacl)
WHERE {_NAMED_AS_OF_STEWARD} AND grantee NOT IN (0, proowner)
GROUP BY grantee HAVING count(DISTINCT proname) = (
  SELECT count(DISTINCT proname) FROM pg_proc WHERE {_NAMED_AS_OF_STEWARD})"""
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

_HERE = "relnamespace = to_regnamespace('discreet')"
_GRANTS = f"""SELECT relname AS of, ''::text AS part, privilege_type AS act, grantee = 0 AS is_public, is_grantable
FROM pg_class, aclexplode(relacl) WHERE {_HERE} AND grantee <> relowner
UNION SELECT relname, attname::text, privilege_type, grantee = 0, is_grantable
FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid, aclexplode(attacl) WHERE {_HERE} AND grantee <> relowner
UNION SELECT proname, pg_proc.oid::regprocedure::text, privilege_type, grantee = 0, is_grantable
FROM pg_proc, aclexplode(COALESCE(proacl, acldefault('f', proowner)))
WHERE pronamespace = to_regnamespace('discreet') AND grantee <> proowner
UNION SELECT 'discreet', '', privilege_type, grantee = 0, is_grantable
FROM pg_namespace, aclexplode(nspacl) WHERE nspname = 'discreet' AND grantee <> nspowner"""
_PARTS = f"""SELECT grantee FROM pg_proc, aclexplode(proacl)
WHERE pronamespace = to_regnamespace('discreet') AND grantee NOT IN (0, proowner)
GROUP BY grantee HAVING count(DISTINCT pg_proc.oid) FILTER (
  WHERE pg_proc.oid IN (SELECT to_regprocedure(each) FROM {_SIGNATURES})) NOT IN
  (0, (SELECT count(*) FROM {_SIGNATURES}))"""
_DEFAULTS = """SELECT 1 FROM pg_default_acl, aclexplode(defaclacl)
WHERE defaclnamespace IN (0, to_regnamespace('discreet')) AND grantee <> defaclrole
  AND defaclrole = (SELECT nspowner FROM pg_namespace WHERE nspname = 'discreet')
  AND CASE defaclobjtype WHEN 'f' THEN grantee <> 0 WHEN 'r' THEN privilege_type <> 'SELECT'
    WHEN 'n' THEN privilege_type <> 'USAGE' ELSE FALSE END"""
# A function may be called without a right on it, by a trigger or by an aggregate, so nobody's rights on it count. A
# superuser is a member of every role, and owns functions that have nothing to do with a ledger: they are left out.
_OUTSIDE = """WITH RECURSIVE owners AS (SELECT nspowner AS role FROM pg_namespace WHERE nspname = 'discreet' UNION
  SELECT grantee FROM pg_proc AS f, aclexplode(f.proacl)
  WHERE f.pronamespace = to_regnamespace('discreet') AND f.prosecdef AND grantee <> 0),
reached AS (SELECT oid FROM pg_class WHERE relnamespace = to_regnamespace('discreet') UNION
  SELECT ev_class FROM reached JOIN pg_depend ON refclassid = 'pg_class'::regclass AND refobjid = reached.oid
  JOIN pg_rewrite ON classid = 'pg_rewrite'::regclass AND objid = pg_rewrite.oid)
SELECT p.oid::regprocedure::text AS name, TRUE AS is_function FROM pg_proc AS p JOIN pg_roles AS r ON r.oid = p.proowner
WHERE p.prosecdef AND p.pronamespace <> to_regnamespace('discreet') AND NOT r.rolsuper
  AND EXISTS (SELECT 1 FROM owners WHERE pg_has_role(r.oid, owners.role, 'MEMBER'))
UNION SELECT v.oid::regclass::text, FALSE FROM reached JOIN pg_class AS v ON v.oid = reached.oid
WHERE v.relnamespace <> to_regnamespace('discreet') AND EXISTS (
  SELECT 1 FROM (SELECT v.relacl AS acl UNION ALL SELECT attacl FROM pg_attribute WHERE attrelid = v.oid) AS a,
    aclexplode(acl) WHERE grantee <> v.relowner AND privilege_type IN ('INSERT', 'UPDATE', 'DELETE'))"""
# A role of the service that may become one with more rights; or another that has the service's rights and the owner's.
# Who belongs to the owner or to a steward alone is one of them. A superuser is a member of every role.
_MEMBERS = f"""WITH owner AS (SELECT nspowner AS role FROM pg_namespace WHERE nspname = 'discreet'),
stewards AS (SELECT oid AS role FROM pg_roles WHERE rolname IN ({_STEWARDS})),
services AS (SELECT oid AS role FROM pg_roles WHERE NOT rolsuper AND rolname IN ({_SERVICES})
  AND oid NOT IN (SELECT role FROM stewards))
SELECT 1 FROM services, pg_roles AS r WHERE pg_has_role(services.role, r.oid, 'MEMBER') AND (r.rolsuper
  OR r.oid IN (SELECT role FROM owner UNION SELECT role FROM stewards)
  OR r.rolname IN ('pg_write_all_data', 'pg_execute_server_program', 'pg_write_server_files'))
UNION ALL SELECT 1 FROM services, owner, pg_roles AS r WHERE NOT r.rolsuper
  AND r.oid <> owner.role AND r.oid NOT IN (SELECT role FROM stewards)
  AND pg_has_role(r.oid, services.role, 'USAGE') AND pg_has_role(r.oid, owner.role, 'MEMBER')
  AND NOT pg_has_role(owner.role, services.role, 'USAGE')"""
_SWITCHES = """SELECT 1 FROM pg_parameter_acl, aclexplode(paracl)
WHERE parname = 'session_replication_role'
  AND NOT EXISTS (SELECT 1 FROM pg_roles WHERE pg_roles.oid = grantee AND rolsuper)"""
_SWITCHED = """SELECT 1 FROM pg_db_role_setting, unnest(setconfig) AS setting
WHERE setdatabase IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))
  AND lower(setting) = 'session_replication_role=replica'
  AND NOT EXISTS (SELECT 1 FROM pg_roles WHERE pg_roles.oid = setrole AND rolsuper)"""


def check_role(connection: "psycopg.Connection[Any]", *, refuses_more_rights: bool) -> bool:
    """Refuse a read-only or unlogged database and, with `refuses_more_rights`, a role with more rights than a steward.

    Returns whether the role is a steward.
    """
    row = _row_of_session(connection)
    if row["frozen"]:
        raise LedgerError(faults.REPLICA)
    if row["unlogged"]:
        raise LedgerError(faults.UNSAFE)
    if refuses_more_rights and _is_too_powerful(row):
        raise LedgerError(faults.TOO_MANY_RIGHTS)
    return bool(row["steward"])


def role_rights(connection: "psycopg.Connection[Any]") -> RoleRights:
    """Whether the role is the owner's, or one that charges refuse for its rights."""
    row = _row_of_session(connection)
    return RoleRights(is_owner=row["owner"], is_too_powerful=_is_too_powerful(row))


def _row_of_session(connection: "psycopg.Connection[Any]") -> dict[str, Any]:
    row: Any = connection.execute(_OF_SESSION.encode()).fetchone()
    return dict(row)


def _is_too_powerful(row: dict[str, Any]) -> bool:
    may_call_a_part = bool(row["callable"]) and not (row["steward"] and all(row["callable"]))
    return bool(row["powerful"]) or may_call_a_part


def grant(connection: "psycopg.Connection[Any]", service: str, steward: str | None) -> None:
    """Give every service and every steward exactly their rights in place of those that they had.

    A role that default privileges of the owner name is neither, unless it is named here. Others only read.
    """
    by_default = _roles(connection, _BY_DEFAULT)
    found = (stewards(connection) - by_default) | ({steward} if steward else set())
    services = (_roles(connection, _SERVICES) - by_default) | {service} | found
    for role in sorted(_roles(connection, _GRANTEES) - services):
        _run_for(connection, role, _revocations_but_reading())
    for role in sorted(services):
        _run_for(connection, role, _revocations())
        _run_for(connection, role, _service_grants())
    grant_to_stewards(connection, found)


def stewards(connection: "psycopg.Connection[Any]") -> set[str]:
    """The roles that may call every function of the steward."""
    return _roles(connection, _STEWARDS)


def grant_to_stewards(connection: "psycopg.Connection[Any]", roles: set[str]) -> None:
    """Let roles call the steward's functions."""
    for role in sorted(roles):
        _run_for(connection, role, _steward_grants())


def revoke_defaults(connection: "psycopg.Connection[Any]") -> None:
    """Take back what default privileges of the owner gave with a new schema, before any grant."""
    for role in sorted(_roles(connection, _GRANTEES)):
        _run_for(connection, role, _revocations())
    connection.execute("REVOKE ALL ON ALL TABLES IN SCHEMA discreet FROM PUBLIC")


def revoke_routines(connection: "psycopg.Connection[Any]") -> None:
    """Let nobody call the functions of the schema.

    PUBLIC may call any new one, and default privileges may name other roles.
    """
    connection.execute(_ALL_ROUTINES.format("PUBLIC").encode())
    for role in sorted(_roles(connection, _GRANTEES)):
        _run_for(connection, role, iter([_ALL_ROUTINES]))


def findings(rows: CatalogueRows) -> Iterator[str]:
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
    if rows(_SWITCHED):
        yield "a setting of a role or of the database switches the triggers off (session_replication_role)"
    if rows(_MEMBERS):
        yield "a role of the service belongs to a role that may do more: the owner's, a steward's or one of the server"
    if rows(_DEFAULTS):
        yield "default privileges of the schema's owner give a role more with what is made next than discreet grants"


def _is_granted(row: dict[str, Any]) -> bool:
    """Whether a right is one that a role of the service or of the steward has; roles may read besides."""
    if row["is_public"] or row["is_grantable"]:
        return False
    of, part, act = row["of"], row["part"], row["act"]
    if of == "discreet":
        return bool(act == "USAGE")
    if of not in tables.TABLES:
        return bool(act == "EXECUTE") and part in {each.regprocedure for each in _STEWARD_FUNCTIONS}
    if act == "UPDATE":
        return part in rights.CHANGED.get(of, ())
    return act == "SELECT" or (act == "INSERT" and of in rights.ADDED)


def _roles(connection: "psycopg.Connection[Any]", question: str) -> set[str]:
    return {name for (name,) in connection.execute(question.encode()).fetchall()}


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
    yield f"GRANT SELECT ON {', '.join(f'discreet.{table}' for table in tables.TABLES)} TO {{}}"
    yield f"GRANT INSERT ON {', '.join(f'discreet.{table}' for table in rights.ADDED)} TO {{}}"
    for table, names in rights.CHANGED.items():
        yield f"GRANT UPDATE ({', '.join(names)}) ON discreet.{table} TO {{}}"


def _steward_grants() -> Iterator[str]:
    for function in _STEWARD_FUNCTIONS:
        yield f"GRANT EXECUTE ON FUNCTION {function.signature} TO {{}}"


def _run_for(connection: "psycopg.Connection[Any]", role: str, statements: Iterator[str]) -> None:
    from psycopg import sql  # noqa: PLC0415 - an optional driver

    for statement in statements:
        connection.execute(sql.SQL(statement).format(sql.Identifier(role)))
