"""From slots to values: a bin becomes a value within its edges, the last slot a missing value.

Values within a bin are uniform, in whole numbers, days or microseconds where the column has those. Values of a whole
number, date or time lie from the lower edge to below the upper edge.
"""

import datetime as dt
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.catalog.catalog import ColumnType
from discreet.plan.slots import SlotColumn

_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - times have no zone
_MICROSECOND = dt.timedelta(microseconds=1)
TYPES: dict[ColumnType, pa.DataType] = {
    ColumnType.INTEGER: pa.int64(),
    ColumnType.REAL: pa.float64(),
    ColumnType.TEXT: pa.string(),
    ColumnType.BOOLEAN: pa.bool_(),
    ColumnType.DATE: pa.date32(),
    ColumnType.TIMESTAMP: pa.timestamp("us"),
}


def decode(column: SlotColumn, slots: NDArray[Any], generator: np.random.Generator) -> pa.Array:
    """The values of a column of slots.

    Args:
        column: The column.
        slots: A slot for each row.
        generator: The places within bins.

    Returns:
        Values of the type of the column; missing where a row has the last slot.
    """
    places = np.asarray(slots, dtype=np.int64)
    is_missing = places == column.missing
    if not column.edges:
        values = pa.array([*column.values, None], TYPES[column.type])
        return values.take(pa.array(places))
    edges = np.array([_number(edge) for edge in column.edges])
    within = np.where(is_missing, 0, places)
    low, high = edges[within], edges[within + 1]
    if column.type is ColumnType.REAL:
        drawn = low + generator.random(places.size) * (high - low)
        return pa.array(np.clip(drawn, low, high), TYPES[column.type], mask=is_missing)
    whole = generator.integers(low, np.maximum(high, low + 1))
    carrier = pa.int32() if column.type is ColumnType.DATE else pa.int64()
    return pa.array(whole.astype(carrier.to_pandas_dtype()), carrier, mask=is_missing).cast(TYPES[column.type])


def _number(edge: Any) -> int | float:
    """An edge as a number: days since 1970 of a date, microseconds of a time."""
    if isinstance(edge, dt.datetime):
        return (edge - _EPOCH) // _MICROSECOND
    if isinstance(edge, dt.date):
        return edge.toordinal() - _EPOCH.toordinal()
    return edge  # type: ignore[no-any-return]
