"""The types that DuckDB gives the columns of an Arrow schema, found once for every schema.

To open a DuckDB takes 25 ms of a processor, as long as all else that drafts the catalog of a frame. What it says of an
empty table depends on the schema alone, so frames of one schema share it.
"""

from dataclasses import dataclass, field
from functools import lru_cache

import duckdb
import pyarrow as pa

Kinds = tuple[tuple[str, str], ...]
"""Columns with the names that DuckDB has for their types."""


@dataclass(frozen=True)
class _Shape:
    """A schema with its metadata: schemas of Arrow are equal without it, and it names types that Arrow has not."""

    content: bytes
    schema: pa.Schema = field(compare=False)


def frame_kinds(schema: pa.Schema) -> Kinds:
    """The types of a frame's columns, without a cell of it."""
    return _frame_kinds(_Shape(schema.serialize().to_pybytes(), schema))


@lru_cache(maxsize=64)
def _frame_kinds(shape: _Shape) -> Kinds:
    with duckdb.connect(":memory:") as connection:
        connection.register("looks", shape.schema.empty_table())
        return relation_kinds(connection, "looks")


def relation_kinds(connection: duckdb.DuckDBPyConnection, relation: str) -> Kinds:
    """The types of the columns of a relation."""
    return tuple((row[0], str(row[1])) for row in connection.execute(f"DESCRIBE SELECT * FROM {relation}").fetchall())
