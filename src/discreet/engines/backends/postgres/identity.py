"""The identity of a PostgreSQL source: where it was found, and by which numbers the server itself knows it.

    postgresql://localhost:5432/records#clinic.visits [7412345678901234567/16384/16390]
    postgresql://localhost:5432/records#clinic.adults [7412345678901234567/16384/16400 16390]

The numbers are the system identifier of the cluster, the OID of the database, the OID of the relation, and the OIDs of
the tables that it reads: those of a view or a materialised view, and the partitions of a table. They are the same for
every spelling of the host and of the name, so that two budgets over one table are noticed.
`discreet.ledger.records.source_identity` compares identities.
"""

import ipaddress
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from discreet.engines.backends.postgres import server

if TYPE_CHECKING:
    import psycopg

_MOST_TABLES = 300  # an identity has a length that the ledger limits

# pg_depend lists the relations in a view's definition, pg_inherits the partitions of a table.
_READ = """
WITH RECURSIVE parts(whole, part) AS (
  SELECT inhparent, inhrelid FROM pg_inherits
  UNION ALL
  SELECT w.ev_class, d.refobjid FROM pg_rewrite AS w JOIN pg_depend AS d
    ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid AND d.refclassid = 'pg_class'::regclass
  WHERE w.rulename = '_RETURN' AND d.refobjid <> w.ev_class
), found(oid) AS (
  SELECT %s::oid UNION SELECT part FROM parts JOIN found ON whole = found.oid
)
SELECT found.oid FROM found JOIN pg_class AS c ON c.oid = found.oid WHERE c.relkind IN ('r', 'p', 'm', 'f')
ORDER BY found.oid
"""
_DATABASE = "SELECT oid FROM pg_database WHERE datname = current_database()"
_CLUSTER = "SELECT system_identifier FROM pg_control_system()"


def identity(connection: "psycopg.Connection[Any]", relation: server.Relation) -> str:
    """The identity of a relation; a role that may not see the cluster's identifier sees its address in its place."""
    place = _public_address(connection, relation.database)
    spelled = f"{place}#{relation.name}"
    database, read = _first(connection, _DATABASE), server.fetch_catalog_rows(connection, _READ, relation.oid)
    if database is None:
        return spelled
    cluster = _first(connection, _CLUSTER) or place.removeprefix("postgresql://").split("/")[0]
    others = [str(oid) for (oid,) in read if oid != relation.oid][:_MOST_TABLES]
    return f"{spelled} [{cluster}/{database}/{' '.join([str(relation.oid), *others])}]"


def _first(connection: "psycopg.Connection[Any]", query: str) -> int | None:
    rows = server.fetch_catalog_rows(connection, query)
    return int(rows[0][0]) if rows else None


def _public_address(connection: "psycopg.Connection[Any]", database: str) -> str:
    """Where the database is, without the role: the same for every spelling of this machine."""
    host = connection.info.host.lower().rstrip(".")
    if not host or host.startswith(("/", "@")) or _is_loopback(host):
        host = "localhost"
    return f"postgresql://{f'[{host}]' if ':' in host else host}:{connection.info.port}/{database}"


def _is_loopback(host: str) -> bool:
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"
