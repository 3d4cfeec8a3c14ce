"""Arrow tables as PostgreSQL takes them: the type of a column, and rows as CSV for COPY."""

from collections.abc import Callable, Iterable, Iterator
from io import BytesIO
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

FIXED_TYPES = {
    pa.null(): "text",
    pa.bool_(): "boolean",
    pa.int8(): "smallint",
    pa.int16(): "smallint",
    pa.int32(): "integer",
    pa.int64(): "bigint",
    pa.uint8(): "smallint",
    pa.uint16(): "integer",
    pa.uint32(): "bigint",
    pa.uint64(): "numeric(20,0)",
    pa.float16(): "real",
    pa.float32(): "real",
    pa.float64(): "double precision",
    pa.date32(): "date",
    pa.date64(): "date",
}
PLAIN_SCALE = 6
"""Up to so many places Arrow writes a decimal without an exponent."""


def column_type(kind: pa.DataType) -> str:
    """PostgreSQL's type for an Arrow type."""
    if pa.types.is_dictionary(kind):
        return column_type(kind.value_type)
    if pa.types.is_decimal(kind):
        return f"numeric({kind.precision},{kind.scale})"
    if pa.types.is_timestamp(kind):
        return "timestamptz" if kind.tz else "timestamp"
    if pa.types.is_time(kind):
        return "time"
    if is_text(kind):
        return "text"
    if is_bytes(kind):
        return "bytea"
    if kind not in FIXED_TYPES:
        raise TypeError(f"PostgreSQL gets no column from Arrow's {kind}")
    return FIXED_TYPES[kind]


def is_text(kind: pa.DataType) -> bool:
    """Text in any of Arrow's layouts."""
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)


def is_bytes(kind: pa.DataType) -> bool:
    """Bytes in any of Arrow's layouts."""
    layouts = ("is_binary", "is_large_binary", "is_fixed_size_binary", "is_binary_view")
    return any(getattr(pa.types, layout)(kind) for layout in layouts)


def csv_parts(table: pa.Table, rows: int = 500_000) -> Iterator[bytes]:
    """The rows as CSV in parts; NULL is empty and text is quoted, so the two stay apart."""
    plain = pa.table(
        [pa.chunked_array([copyable(chunk) for chunk in column.chunks]) for column in table.columns],
        names=table.column_names,
    )
    for start in range(0, plain.num_rows, rows):
        buffer = BytesIO()
        options = pa.csv.WriteOptions(include_header=False)
        pa.csv.write_csv(plain.slice(start, rows), buffer, options)
        yield buffer.getvalue()


def copyable(values: pa.Array) -> pa.Array:
    """A column as Arrow's CSV writer and PostgreSQL's reader both understand it."""
    kind = values.type
    if pa.types.is_dictionary(kind):
        return copyable(values.dictionary_decode())
    if is_text(kind):
        return refuse_nul(values.cast(pa.string()))
    if is_bytes(kind):
        return texts(values.cast(pa.binary()), lambda each: "\\x" + each.hex())
    if pa.types.is_decimal(kind) and 0 <= kind.scale <= PLAIN_SCALE:
        return values.cast(pa.string())
    if pa.types.is_decimal(kind):
        return texts(values, lambda each: format(each, "f"))
    if pa.types.is_timestamp(kind):
        return moments(values.cast(pa.timestamp("us", tz=kind.tz)), "us", "Z" if kind.tz else "")
    if pa.types.is_date(kind):
        return moments(values.cast(pa.date32()), "D", "")
    if pa.types.is_float16(kind):
        return values.cast(pa.float32())
    return values


def refuse_nul(values: pa.Array) -> pa.Array:
    """PostgreSQL's text cannot hold the character NUL."""
    if pc.any(pc.match_substring(values, "\x00")).as_py():
        raise ValueError("PostgreSQL's text cannot hold the character NUL")
    return values


def texts(values: Iterable[Any], written: Callable[[Any], str]) -> pa.Array:
    """Every value in its own words; NULL stays NULL."""
    return pa.array([None if each.as_py() is None else written(each.as_py()) for each in values], pa.string())


def moments(values: pa.Array, resolution: str, suffix: str) -> pa.Array:
    """Dates or timestamps, also of years that Python's own do not reach."""

    def written(number: int) -> str:
        iso = str(np.datetime64(number, resolution))
        if iso.startswith(("-", "0000")):
            year, rest = iso.lstrip("-").split("-", 1)
            return f"{int(year) + 1:04}-{rest}{suffix} BC"
        return iso.lstrip("+") + suffix

    return texts(values.cast(pa.int32()).cast(pa.int64()) if resolution == "D" else values.cast(pa.int64()), written)
