"""The columns of a PostgreSQL relation by its catalog: how each is stored, and how it is read so that no cell fails.

Nothing that an owner defined takes part in reading: an enumeration is written by the output function of its type, and
not by a cast to text, of which an owner can define another.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.engines.backends.postgres.server import Relation, fetch_catalog_rows
from discreet.engines.sql.dialect import StorageType
from discreet.errors import SourceError

if TYPE_CHECKING:
    import psycopg

_SYSTEM_COLUMNS = ("tableoid", "xmin", "cmin", "xmax", "cmax", "ctid")

_NUMBERS = {
    "int2": StorageType.INTEGER,
    "int4": StorageType.INTEGER,
    "int8": StorageType.INTEGER,
    "oid": StorageType.INTEGER,
    "float4": StorageType.REAL,
    "float8": StorageType.REAL,
    "numeric": StorageType.DECIMAL,
    "bool": StorageType.BOOLEAN,
    "date": StorageType.DATE,
    "timestamp": StorageType.TIMESTAMP,
    "timestamptz": StorageType.ZONED,
}
_TEXTS = ("text", "varchar", "bpchar", "char", "name", "uuid", "inet", "cidr", "macaddr", "macaddr8")
_LONGEST_PADDED = 100_000_000
_PLAIN = {
    StorageType.INTEGER: "bigint",
    StorageType.REAL: "double precision",
    StorageType.DECIMAL: "numeric",
    StorageType.WIDE: "numeric",
    StorageType.BOOLEAN: "boolean",
    StorageType.DATE: "date",
    StorageType.TIMESTAMP: "timestamp",
    StorageType.ZONED: "timestamptz",
}
_COLUMNS = """
WITH RECURSIVE typed AS (
  SELECT attnum, attname, atttypid AS type, atttypmod AS modifier, false AS is_domain, attgenerated = 'v' AS is_virtual,
         has_column_privilege(attrelid, attnum, 'SELECT') AS is_granted
  FROM pg_attribute WHERE attrelid = %s AND attnum > 0 AND NOT attisdropped
  UNION ALL
  SELECT attnum, attname, t.typbasetype, CASE WHEN modifier < 0 THEN t.typtypmod ELSE modifier END, true, is_virtual,
         is_granted
  FROM typed JOIN pg_type AS t ON t.oid = typed.type WHERE t.typtype = 'd'
)
SELECT attname::text, t.typname::text, n.nspname = 'pg_catalog', t.typtype::text, modifier, is_domain, is_granted,
       is_virtual, EXISTS (SELECT FROM pg_cast AS c
                           WHERE c.castsource = t.oid AND c.casttarget = 'text'::regtype AND c.castmethod = 'b')
FROM typed JOIN pg_type AS t ON t.oid = typed.type JOIN pg_namespace AS n ON n.oid = t.typnamespace
WHERE t.typtype <> 'd' ORDER BY attnum
"""


@dataclass(frozen=True)
class ServerColumn:
    """A column by the catalog: its type under all domains, and whether the role may read it."""

    name: str
    type: str
    stored: StorageType
    is_domain: bool
    is_granted: bool
    is_enum: bool = False
    is_virtual: bool = False

    def read(self, name: str) -> str:
        """The quoted column as the type that it is stored as; text by its bytes, other things by being there."""
        if self.is_enum:
            # an owner may define a cast to text; concat writes a value by the output function of its type
            return f'CASE WHEN {name} IS NOT NULL THEN concat({name}) END COLLATE "C"'
        if self.type == "bpchar":  # its cast needs eight times the memory of the cell, which has a limit of 1 GB
            return f'CASE WHEN octet_length({name}) <= {_LONGEST_PADDED} THEN CAST({name} AS text) END COLLATE "C"'
        if self.stored is StorageType.TEXT:
            return f'CAST({name} AS text) COLLATE "C"'
        if self.stored is StorageType.OTHER:
            return f"CASE WHEN {name} IS DISTINCT FROM NULL THEN TRUE END"
        return f"CAST({name} AS {_PLAIN[self.stored]})" if self.is_domain or self.type == "oid" else name

    @property
    def unreadable(self) -> str | None:
        """Why it cannot be read, or None."""
        if not self.is_granted:
            return "the role may not read it"
        if self.name in _SYSTEM_COLUMNS:
            return "PostgreSQL keeps this name for itself, and no table of ours could have such a column"
        if self.is_virtual:
            return "it is generated when it is read (VIRTUAL), and its expression could fail on one cell"
        return None


def columns_of(connection: "psycopg.Connection[Any]", table: Relation) -> list[ServerColumn]:
    """The columns of a table by the catalog; one of which the role may read nothing is refused."""
    found = [_column(*row) for row in fetch_catalog_rows(connection, _COLUMNS, table.oid)]
    if not any(column.is_granted for column in found):
        raise SourceError(
            f"a table that the role may not read: {table.name}",
            because=f"{table.role} has no right to any of its columns",
            instead=f"GRANT SELECT ON {table.name} TO {table.role};",
        )
    return found


def _column(
    name: str,
    kind: str,
    is_ours: bool,
    sort: str,
    modifier: int,
    is_domain: bool,
    is_granted: bool,
    is_virtual: bool,
    is_text: bool,
) -> ServerColumn:
    stored = _storage_type(kind, is_ours, sort, modifier, is_text)
    return ServerColumn(name, kind if is_ours else "", stored, is_domain, is_granted, sort == "e", is_virtual)


def _storage_type(kind: str, is_ours: bool, sort: str, modifier: int, is_text: bool) -> StorageType:
    """How a type is stored; of types that users made only enumerations and other spellings of text are text."""
    if sort == "e" or (is_text and sort == "b") or (is_ours and kind in _TEXTS):
        return StorageType.TEXT
    if not is_ours:
        return StorageType.OTHER
    if kind == "numeric" and modifier >= 0 and (((modifier - 4) & 0x7FF) ^ 1024) - 1024 <= 0:
        return StorageType.WIDE
    return _NUMBERS.get(kind, StorageType.OTHER)
