"""Where rows come from: files, frames and DuckDB tables, each with a public identity and its columns.

The identity of a source is what the ledger compares when a dataset is registered again; it is never derived from the
content. Opening a source reads its header or schema, never a row.
"""

import csv
import datetime as dt
import glob
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from discreet.errors import ParameterError, SourceError

Kind = Literal["csv", "parquet", "frame", "duckdb"]
_ENDINGS: dict[str, Kind] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".duckdb": "duckdb",
    ".db": "duckdb",
}
_LONGEST_HEADER = 1_000_000
_UNFIT = (pa.ArrowException, TypeError, ValueError, OverflowError)
_MICROSECONDS = {"s": 1_000_000, "ms": 1_000}


@dataclass(frozen=True)
class Source:
    """A place with rows, unread. `inferred` is what the cells of a frame look like, for drafting a catalog alone."""

    kind: Kind
    identity: str
    columns: tuple[str, ...]
    paths: tuple[str, ...] = ()
    delimiter: str = ","
    table: str | None = None
    frame: pa.Table | None = None
    inferred: pa.Schema | None = None


def source_of(data: object, *, delimiter: str | None = None, table: str | None = None) -> Source:
    """Recognise a path or a glob (CSV, Parquet, DuckDB), or a frame (Arrow, pandas, Polars, a DuckDB relation)."""
    if isinstance(data, str | Path):
        return _from_path(str(data), delimiter, table)
    if _kind(data) == "pandas.DataFrame":
        frame, inferred = _from_pandas(data)
    else:
        frame, inferred = _as_arrow(data), None
    if frame is None:
        raise SourceError(
            f"a source of type {type(data).__name__}",
            because="rows come from a path, a pandas, Polars or Arrow table, or a DuckDB relation",
            instead='dp.protect("visits.csv", ...), or dp.protect(frame, name="visits", ...)',
        )
    return Source("frame", "memory", _distinct(tuple(frame.column_names)), frame=_total(frame), inferred=inferred)


def _from_path(pattern: str, delimiter: str | None, table: str | None) -> Source:
    paths = _matching(pattern)
    kind = _ENDINGS.get(Path(paths[0]).suffix.lower())
    identity = str(Path(pattern).absolute())
    if kind == "csv":
        separator = delimiter or ("\t" if paths[0].lower().endswith(".tsv") else ",")
        return Source("csv", identity, _one_header(paths, separator), paths, separator)
    if kind == "parquet":
        return Source("parquet", identity, (), paths)
    if kind == "duckdb":
        if table is None:
            raise SourceError(
                f"a DuckDB file without a table: {pattern!r}",
                because="the file may hold several",
                instead=f'dp.protect({pattern!r}, table="visits", ...)',
            )
        return Source("duckdb", f"{identity}#{table}", (), paths, table=table)
    raise SourceError(
        f"a file of kind {Path(pattern).suffix!r}",
        because="discreet reads .csv, .tsv, .parquet and .duckdb",
        instead="a file of one of these kinds, or a frame",
    )


def _matching(pattern: str) -> tuple[str, ...]:
    paths = sorted(glob.glob(pattern)) if glob.has_magic(pattern) else [pattern]  # noqa: PTH207 - absolute patterns too
    absolute = tuple(str(Path(path).absolute()) for path in paths if Path(path).is_file())
    if not absolute:
        raise SourceError(
            f"no file at {pattern!r}", because="nothing is there", instead="the path of an existing file, or a glob"
        )
    return absolute


def _one_header(paths: tuple[str, ...], delimiter: str) -> tuple[str, ...]:
    """The header that all files share; rows are read by position, so another order would swap columns."""
    headers = {_header(path, delimiter) for path in paths}
    if len(headers) != 1:
        raise SourceError(
            "CSV files with different headers",
            because="their columns are not the same, or not in the same order",
            instead="files with one and the same header line, or Parquet files",
        )
    return headers.pop()


def _header(path: str, delimiter: str) -> tuple[str, ...]:
    """The names in the first line; nothing behind that line is decoded, so no cell can change what is said of it."""
    if len(delimiter) != 1:
        raise ParameterError(f"delimiter={delimiter!r}", because="it is one character", instead='delimiter=","')
    try:
        with Path(path).open("rb") as file:
            line = re.split(rb"[\r\n]", file.readline(_LONGEST_HEADER), maxsplit=1)[0]
        names = next(csv.reader([line.decode("utf-8-sig")], delimiter=delimiter, strict=True), [])
    except (OSError, UnicodeDecodeError, csv.Error):
        raise SourceError(
            "a CSV file whose header cannot be read",
            because="its first line must be column names in UTF-8",
            instead="a file with a header line",
        ) from None
    return _distinct(tuple(names))


def _distinct(names: Sequence[str]) -> tuple[str, ...]:
    folded = [name.casefold() for name in names]
    if not names or len(set(folded)) != len(folded):
        raise SourceError(
            "column names that are missing or not distinct",
            because="two columns of one name, upper and lower case aside, cannot be told apart on every engine",
            instead="a source whose columns have different names",
        )
    return tuple(names)


def _as_arrow(data: Any) -> pa.Table | None:
    """A frame as Arrow, without a copy where its memory allows."""
    if isinstance(data, pa.Table):
        return data
    if _kind(data) == "polars.DataFrame":
        return _from_polars(data)
    if _kind(data) == "polars.LazyFrame":
        return _from_polars(data.collect())
    if type(data).__name__ == "DuckDBPyRelation":
        return data.to_arrow_table()
    return None


def _from_polars(frame: Any) -> pa.Table:
    if any(str(kind) == "Object" for kind in frame.dtypes):
        raise SourceError(
            "a Polars column of type Object",
            because="its cells are Python objects, which have no form outside this process",
            instead="a column of type String, cast before the frame is protected",
        )
    return frame.to_arrow()


def _from_pandas(frame: Any) -> tuple[pa.Table, pa.Schema]:
    """A pandas frame as Arrow, and the types that its columns of Python objects seem to have.

    A column of a declared dtype stays as it is. One of objects becomes text, each cell by itself: a type inferred from
    all of its cells would let one of them change how the others are read.
    """
    names, columns, kinds = [str(name) for name in frame.columns], [], []
    for i in range(len(names)):
        series = frame.iloc[:, i]
        try:
            columns.append(pa.array(series, pa.string() if series.dtype == object else None, from_pandas=True))
            kinds.append(columns[-1].type)
        except _UNFIT:
            columns.append(_texts(series))
            kinds.append(_inferred(series))
    return pa.table(columns, names=names), pa.schema(list(zip(names, kinds, strict=True)))


def _texts(series: Any) -> pa.Array:
    missing = series.isna()
    return pa.array([None if gone else _text(cell) for cell, gone in zip(series, missing, strict=True)], pa.string())


def _text(cell: object) -> str:
    if isinstance(cell, dt.datetime) and cell.tzinfo is not None:
        cell = cell.astimezone(dt.UTC).replace(tzinfo=None)
    text = cell.decode("utf-8", "backslashreplace") if isinstance(cell, bytes) else str(cell)
    return text.encode("utf-8", "backslashreplace").decode()


def _inferred(series: Any) -> pa.DataType:
    try:
        return pa.array(series, from_pandas=True).type
    except _UNFIT:
        return pa.string()


def _kind(data: object) -> str:
    return f"{type(data).__module__.split('.')[0]}.{type(data).__name__}"


def _total(frame: pa.Table) -> pa.Table:
    """A frame whose every cell an engine can take in: times in microseconds, where beyond their range missing."""
    for i, field in enumerate(frame.schema):
        kind = field.type
        if pa.types.is_float16(kind):
            frame = frame.set_column(i, field.name, frame.column(i).cast(pa.float32()))
        elif (pa.types.is_timestamp(kind) or pa.types.is_duration(kind)) and kind.unit in _MICROSECONDS:
            frame = frame.set_column(i, field.name, _in_microseconds(frame.column(i)))
    return frame


def _in_microseconds(column: pa.ChunkedArray) -> pa.ChunkedArray:
    factor, kind = _MICROSECONDS[column.type.unit], column.type
    fine = pa.timestamp("us", kind.tz) if pa.types.is_timestamp(kind) else pa.duration("us")
    whole, most = column.cast(pa.int64()), (2**63 - 1) // factor
    values = whole.fill_null(0).to_numpy()
    gone = whole.is_null().to_numpy() | (values > most) | (values < -most)
    return pa.chunked_array([pa.array(np.where(gone, 0, values) * factor, mask=gone).cast(fine)])
