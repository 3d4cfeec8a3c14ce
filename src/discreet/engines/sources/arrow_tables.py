"""Tables in memory: Arrow, pandas, Polars, releases and files as Arrow, and the classes that their rows fall into.

Attacks and linkage read the tables of owners and of attackers by it; no engine runs.

A class is what a person with certain values cannot be distinguished within. Missing cells are alike (a missing value is
something to be known by, and dropping it would hide people); NaN is missing, and -0.0 is 0.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import csv, parquet

from discreet.errors import NameNotFoundError, ParameterError, SourceError, TypeMismatchError, suggestion
from discreet.release.release import Release

Codes = NDArray[np.int64]

# A scheme has two letters or more, else the drive of a path would be one; a Path has only one slash left.
_ADDRESS = re.compile(
    r"\s*[a-z][a-z0-9+.-]+:/|\s*(jdbc|postgres(ql)?):|.*\b(password|passwd|pwd)\s*=|.*\bhost\s*=\s*\S+\s+\w+\s*=",
    re.IGNORECASE | re.DOTALL,
)
_TEXT = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)


def as_arrow(table: object, *columns: str) -> pa.Table:
    """The table in Arrow, with these columns alone where any are named."""
    found = _open_table(table)
    for name in columns:
        if found.column_names.count(name) != 1:
            raise NameNotFoundError(
                f"column {name!r}",
                because="the table does not have it exactly once",
                instead=suggestion(name, found.column_names),
            )
    return found.select(list(columns)) if columns else found


def column_names(names: object, word: str, *, example: str) -> list[str]:
    """The columns that somebody listed, at least one; a lone text is no list."""
    if not isinstance(names, Sequence) or isinstance(names, str) or not names:
        raise ParameterError(f"{word}={names!r}", because="columns are given as a list", instead=f"{word}={example}")
    return list(names)


def numbers(table: pa.Table, name: str) -> pa.ChunkedArray:
    """A column of numbers: whole ones and booleans as integers, others as floats."""
    kind = table.schema.field(name).type
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return cast_exactly(table[name], pa.int64(), name)
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind):
        return cast_exactly(table[name], pa.float64(), name)
    raise TypeMismatchError(
        f"column {name!r} of type {kind}",
        because="only numbers have a sum, a mean or a size",
        instead="a column of numbers",
    )


def cast_exactly(column: pa.ChunkedArray | pa.Array, kind: pa.DataType, name: str) -> Any:
    """The column in another type; one that would change a value is refused, without the value that Arrow shows."""
    try:
        return column.cast(kind)
    except pa.ArrowException:
        raise TypeMismatchError(
            f"column {name!r} of type {column.type}",
            because=f"it is read as {kind}, and some values are outside what that holds exactly",
            instead=f"{name!r} cast to one type in both tables",
        ) from None


def classes(tables: Sequence[pa.Table], columns: Sequence[str]) -> Iterator[list[Codes]]:
    """After each further column, the class of every row of each table: alike in all columns so far, alike in number."""
    ends = np.cumsum([table.num_rows for table in tables])[:-1]
    known = np.zeros(sum(table.num_rows for table in tables), dtype=np.int64)
    for name in columns:
        cells = encode([table[name] for table in tables], name)
        # a class and a cell are both below the number of rows, so that their pair fits 64 bits
        known = _number_values(pa.array(known * (cells.max(initial=0) + 1) + cells))
        yield np.split(known, ends)


def encode(columns: Sequence[pa.ChunkedArray], name: str) -> Codes:
    """The cells of one column of several tables as numbers: alike in value, alike in number."""
    arrays = [_plain(column) for column in columns]
    kind = _shared_type([array.type for array in arrays], name)
    cells = pa.chunked_array([cast_exactly(array, kind, name) for array in arrays], type=kind).combine_chunks()
    return _number_values(cells.combine_chunks() if isinstance(cells, pa.ChunkedArray) else cells)


def sizes(codes: Codes, count: int) -> Codes:
    """How many rows are in each class."""
    return np.bincount(codes, minlength=count).astype(np.int64)


def _number_values(cells: pa.Array) -> Codes:
    numbers: Codes = cells.dictionary_encode(null_encoding="encode").indices.to_numpy().astype(np.int64)
    return numbers


def _plain(column: pa.ChunkedArray) -> pa.Array:
    """A column with one form for each value."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if any(is_text(kind) for is_text in _TEXT):
        column = column.cast(pa.large_string())
    elif pa.types.is_floating(kind):
        column = pc.add(column.cast(pa.float64()), 0.0)
        column = pc.if_else(pc.is_nan(column), None, column)
    elif pa.types.is_integer(kind) and kind != pa.uint64():
        column = column.cast(pa.int64())
    return column.combine_chunks()


def _shared_type(kinds: Sequence[pa.DataType], name: str) -> pa.DataType:
    """The one type that the same column of several tables is compared in."""
    known = {kind for kind in kinds if kind != pa.null()} or {pa.null()}
    if len(known) == 1:
        return known.pop()
    if all(pa.types.is_integer(kind) or pa.types.is_floating(kind) for kind in known):
        return pa.float64()
    if all(_is_bare_time(kind) for kind in known):
        return pa.timestamp("us")
    raise TypeMismatchError(
        f"column {name!r} of types {' and '.join(sorted(map(str, known)))}",
        because="rows are compared by it, and values of different types are never alike",
        instead=f"{name!r} cast to one type in both tables",
    )


def _is_bare_time(kind: pa.DataType) -> bool:
    return pa.types.is_date(kind) or (pa.types.is_timestamp(kind) and kind.tz is None)


def _open_table(table: Any) -> pa.Table:
    if isinstance(table, pa.Table):
        return table
    if isinstance(table, str | Path):
        return _read_file(Path(table))
    if isinstance(table, Release) or hasattr(table, "to_arrow"):
        found = table.to_arrow()
        return found.read_all() if isinstance(found, pa.RecordBatchReader) else found
    try:
        return pa.Table.from_pandas(table, preserve_index=False)
    except (AttributeError, pa.ArrowException):
        raise SourceError(
            f"a table of type {type(table).__name__}",
            because="it is not an Arrow, pandas or Polars table, nor a CSV or Parquet path",
            instead="pyarrow.table({...}), or a frame whose columns hold one type each",
        ) from None


def _read_file(path: Path) -> pa.Table:
    if _ADDRESS.match(str(path)):
        raise SourceError(
            "an address in place of a table",
            because="files and tables in memory are read here, not databases",
            instead='"people.csv", "people.parquet", or a table in memory',
        )
    try:
        if path.suffix.lower() in (".parquet", ".pq"):
            return parquet.read_table(path)
        return csv.read_csv(path, convert_options=csv.ConvertOptions(strings_can_be_null=True))
    except (OSError, pa.ArrowException):
        raise SourceError(
            f"a table at {str(path)!r}",
            because="there is no readable CSV or Parquet file at that path",
            instead='"people.csv", "people.parquet", or a table in memory',
        ) from None
