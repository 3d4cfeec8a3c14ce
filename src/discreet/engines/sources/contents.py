"""The state of a public table: a checksum of the rows and columns that a query reads, computed by its engine.

The engine that answers also computes the checksum, so the two read the same rows, behind any change of the
table: a file that was replaced, a write-ahead log, a frame that changed in place. A checksum is never computed for a
protected table, because it would depend on the rows of one unit.

Every row adds the residues of its hash under two primes, so the order of the rows does not matter. Another row in the
place of one leaves both sums as they were with a probability of about 2^-62.
"""

from collections.abc import Sequence

from discreet.engines.sql import joins
from discreet.engines.sql.dialect import Dialect
from discreet.errors import SourceError
from discreet.plan.physical import Rows, Scan

PRIMES = (2**31 - 1, 2**31 - 19)
_KEY = 0

States = tuple[tuple[str, str], ...]
"""Public tables, each with its state, in the order in which a query reads them."""


def public_tables(scan: Scan) -> tuple[str, ...]:
    """The public tables that a scan reads, each once."""
    return tuple(dict.fromkeys(leaf.table for leaf in scan.leaves if leaf.is_public))


def queries(scan: Scan, places: joins.Places, dialect: Dialect) -> list[tuple[str, str]]:
    """The public tables that a scan reads, each with the query that computes its checksum."""
    return [(leaf.table, _checksum(leaf, places, dialect)) for leaf in scan.leaves if leaf.is_public]


def unreadable(tables: Sequence[str]) -> SourceError:
    """Error for public tables whose state cannot be read."""
    return SourceError(
        f"the public table {' or '.join(map(repr, tables))}",
        because="its rows can no longer be read as they could when the session was opened",
        instead="dp.Session(...) again, over a source that can be read",
    )


def _checksum(leaf: Rows, places: joins.Places, dialect: Dialect) -> str:
    hashed = dialect.keyed_hash({dialect.identifier(each.name): each.read.type for each in leaf.columns}, _KEY)
    sums = ", ".join(f"sum({dialect.part.format(hashed, prime)})" for prime in PRIMES)
    return f"SELECT count(*), {sums} FROM ({joins.relation(leaf, places, dialect)}) AS contents"
