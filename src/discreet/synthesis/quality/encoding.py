"""From values to slots, as the engines count them: the inverse of `discreet.synthesis.rows.decoding`."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.catalog.catalog import ColumnType
from discreet.errors import NameNotFoundError, ParameterError
from discreet.plan.slots import SlotColumn
from discreet.synthesis.core.domain import Domain
from discreet.synthesis.core.measurement import Integers
from discreet.synthesis.quality.distances import SlotRows
from discreet.synthesis.rows.decoding import TYPES

_TIMES = (ColumnType.DATE, ColumnType.TIMESTAMP)


def encode_rows(columns: Sequence[SlotColumn], table: object) -> SlotRows:
    """The rows of a table as slots.

    Args:
        columns: The columns with their slots.
        table: An Arrow table, or a frame that Arrow can read. Further columns play no part.

    Returns:
        The rows.

    Raises:
        NameNotFoundError: If the table has no such column.
        ParameterError: If it is not a table, or a column has values of another type.
    """
    rows = as_values(columns, table)
    codes = np.empty((rows.num_rows, len(columns)), dtype=np.int32)
    for place, column in enumerate(columns):
        codes[:, place] = as_slots(column, rows)
    return SlotRows(Domain.of(columns), codes)


def as_values(columns: Sequence[SlotColumn], table: object) -> pa.Table:
    """The columns of a table in the types of the catalog; NaN is a missing value.

    Args:
        columns: The columns.
        table: An Arrow table, or a frame that Arrow can read. Further columns play no part.

    Returns:
        A table of these columns alone.

    Raises:
        NameNotFoundError: If the table has no such column.
        ParameterError: If it is not a table, or a column has values of another type.
    """
    rows = as_table(table)
    cells = {}
    for column in columns:
        if column.name not in rows.column_names:
            raise NameNotFoundError(
                f"column {column.name!r}",
                because="the table that is compared does not have it",
                instead=f"a table with the columns {[each.name for each in columns]}",
            )
        cells[column.name] = _cast(rows[column.name], column)
    return pa.table(cells)


def as_slots(column: SlotColumn, rows: pa.Table) -> Integers:
    """The slots of one column of a table that `as_values` returned."""
    return _encode(column, rows[column.name].combine_chunks())


def as_table(table: object) -> pa.Table:
    """A table in memory as an Arrow table."""
    if isinstance(table, pa.Table):
        return table
    if not hasattr(table, "__arrow_c_stream__"):
        raise ParameterError(
            f"rows of type {type(table).__name__}",
            because="it is neither an Arrow table nor a frame that Arrow reads",
            instead="pyarrow.table(data)",
        )
    return pa.table(table)


def _cast(cells: pa.ChunkedArray, column: SlotColumn) -> pa.Array:
    """Cells in the type of their column."""
    wanted = TYPES[column.type]
    if pa.types.is_floating(cells.type):
        cells = pc.if_else(pc.is_nan(cells), None, cells)
    try:
        return cells.cast(wanted, safe=False).combine_chunks()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise ParameterError(
            f"column {column.name!r} as {column.type}",
            because="its cells have another type",
            instead=f"a table whose column {column.name!r} is {wanted}",
        ) from None


def _encode(column: SlotColumn, cells: pa.Array) -> Integers:
    if not column.edges:
        places = pc.index_in(cells, pa.array(column.values, TYPES[column.type]))
        return np.asarray(pc.fill_null(places, column.missing), dtype=np.int64)
    is_missing = np.asarray(pc.is_null(cells))
    edges = column.edges[1:-1]
    if column.type in _TIMES:
        steps = np.asarray(_steps(pa.array(edges, TYPES[column.type])), dtype=np.int64)
        slots = np.searchsorted(steps, np.asarray(pc.fill_null(_steps(cells), 0)), side="right")
    else:
        slots = np.searchsorted(np.array(edges), np.asarray(pc.fill_null(cells, 0)), side="right")
    return np.where(is_missing, column.missing, slots)


def _steps(cells: pa.Array) -> pa.Array:
    """Dates as days and times as microseconds since 1970."""
    return cells.cast(pa.int32()).cast(pa.int64()) if pa.types.is_date32(cells.type) else cells.cast(pa.int64())
