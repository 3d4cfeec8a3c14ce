"""Where rows come from: files, directories, frames and DuckDB tables, each with a public identity and its columns.

The identity of a source is what the ledger compares when a dataset is registered again; it is never derived from the
content. Opening a source reads its header or schema, never a row.
"""

import datetime as dt
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa

from discreet.catalog.catalog import ColumnType
from discreet.engines.sources import inferred
from discreet.engines.sources.arrow_types import distinct_names, indistinct_names, transport_type, unreadable_columns
from discreet.engines.sources.csv_header import read_header, refuse_another_delimiter
from discreet.engines.sources.files import Files, files_of, find_files, parquet_rows
from discreet.errors import ParameterError, Refusal, SourceError, suggestion

if TYPE_CHECKING:
    from pyarrow import dataset

FileKind = Literal["csv", "parquet", "frame", "duckdb"]
"""The kinds of sources that DuckDB reads; each other engine names its own."""
_ENDINGS: dict[str, FileKind] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".duckdb": "duckdb",
    ".db": "duckdb",
}
_UNFIT = (pa.ArrowException, TypeError, ValueError, OverflowError)


@dataclass(frozen=True)
class Statements:
    """What an owner states about a source that its schema does not show; recorded with the registration.

    `fixed_schema`: the column types were declared to the reader of the rows, and do not depend on them.
    `row_local`: every row of a view is computed from rows of one privacy unit alone.
    """

    fixed_schema: bool = False
    row_local: bool = False


UNSTATED = Statements()


@dataclass(frozen=True)
class Source:
    """A place with rows, unread.

    `schema` is that of a frame or of Parquet files before their columns were made to travel; `unreadable` says why some
    columns cannot travel; `looks` is what a frame of Python objects seems to hold, for drafting a catalog alone.
    `folders` are the columns that only the names of folders hold; `paths` is empty where only Arrow can open files.
    `address` says where a database is, and may hold a password: it is never shown.
    `undeclared` is an in-memory table as it was given, until the catalog says how its columns are declared; from then
    on the source `is_inferred`.
    """

    kind: str
    identity: str
    columns: tuple[str, ...]
    paths: tuple[str, ...] = ()
    delimiter: str = ","
    table: str | None = None
    frame: "pa.Table | dataset.Dataset | Any | None" = None
    schema: pa.Schema | None = None
    unreadable: Mapping[str, str] = field(default_factory=dict)
    looks: pa.Schema | None = None
    folders: tuple[str, ...] = ()
    address: str | None = field(default=None, repr=False)
    undeclared: pa.Table | None = field(default=None, repr=False)
    is_inferred: bool = False

    def with_declared_types(self, columns: Mapping[str, ColumnType]) -> "Source":
        """The source with the columns of the catalog, where it is an in-memory table with inferred types."""
        if self.undeclared is None:
            return self
        unreadable = inferred.unreadable_columns(columns)
        frame = inferred.declared_columns(self.undeclared, [name for name in columns if name not in unreadable])
        return replace(
            self,
            columns=tuple(columns),
            frame=_travelling(frame),
            schema=frame.schema,
            unreadable=unreadable,
            undeclared=None,
            is_inferred=True,
        )


def unreadable_column(table: str, column: str, source: Source) -> SourceError:
    """Error for a column that cannot be read so that no cell makes it fail, or changes how others are read."""
    return SourceError(
        f"column {column!r} of {table!r}{', an in-memory table' if source.is_inferred else ''}",
        because=source.unreadable[column],
        instead='dp.protect("visits.csv", ...), which reads the file itself, or fixed_schema=True if the column types '
        "were declared to the reader and do not depend on the rows"
        if source.is_inferred
        else "a column of plain text, numbers, dates or times, written by the owner",
    )


def unopened_database() -> SourceError:
    """Error for a database that cannot be opened."""
    return SourceError(
        "a database that cannot be opened",
        because="a source is one file of a database that can be read",
        instead='dp.protect("visits.sqlite", table="visits", ...)',
    )


def unfit_table(table: str | None, things: Iterable[tuple[str, str, int]]) -> SourceError:
    """Error for a table that a database does not have, by what it has: names, kinds, and where rows begin."""
    kept = [(name, start > 0) for name, kind, start in things if kind in ("table", "view")]
    tables = [name for name, has_rows in kept if has_rows and not name.startswith("sqlite_")]
    if table is None:
        what, because = "a database without a table", "the file may hold several"
        instead = " or ".join(f"table={name!r}" for name in tables[:12]) or "a file with tables"
    elif (table, False) in kept:
        what, because = f"{table!r}, which is a view or a virtual table", "what it computes could fail on a single cell"
        instead = "the table that it reads, or a table of its own: CREATE TABLE ... AS SELECT ..."
    else:
        what, because = f"no table {table!r} in this file", "the file has none of that name"
        meant = suggestion(table, tables)
        instead = f"table={meant!r}" if meant in tables else meant
    return SourceError(what, because=because, instead=instead)


def is_database(data: object) -> bool:
    """Whether it names a DuckDB file, by its ending."""
    return isinstance(data, str | Path) and _ENDINGS.get(Path(data).suffix.lower()) == "duckdb"


def unwanted_table(table: str, what: str) -> ParameterError:
    """Error for a table's name for something that has no tables."""
    return ParameterError(
        f"table={table!r} for {what}",
        because="table= belongs to a database, or to a DuckDB or SQLite file",
        instead="leave it out; name= is how the dataset is called",
    )


def source_of(
    data: object,
    *,
    delimiter: str | None = None,
    table: str | None = None,
    stated: Statements = UNSTATED,
) -> Source:
    """Recognise a path, a glob, a directory or a URI, or a frame: Arrow, pandas, Polars, a DuckDB relation."""
    if isinstance(data, str | Path):
        return _from_path(str(data), delimiter, table)
    if table is not None:
        raise unwanted_table(table, f"a source of type {type(data).__name__}")
    if _kind(data) in ("pyarrow.FileSystemDataset", "pyarrow.UnionDataset"):
        files, columns = files_of(data)
        return _from_parquet(files, columns)
    if isinstance(data, pa.RecordBatchReader):
        raise SourceError(
            "a pyarrow.RecordBatchReader",
            because="it gives its rows once, and every query reads them again",
            instead='dp.protect(reader.read_all(), name="visits", ...)',
        )
    return _from_frame(data, stated)


def _from_frame(data: object, stated: Statements) -> Source:
    frame, looks = _as_frame(data)
    if frame is None:
        raise SourceError(
            f"a source of type {type(data).__name__}",
            because="sources are a path, a table, a DuckDB relation, a Spark DataFrame, or postgresql://host/database",
            instead='dp.protect("visits.csv", ...), or dp.protect(frame, name="visits", ...)',
        )
    _require_names(frame.column_names, stated)
    left = unreadable_columns(frame.schema, is_parquet=False)
    kept = frame.drop_columns(list(left))
    return Source(
        "frame",
        "memory",
        tuple(kept.column_names),
        frame=_travelling(kept),
        schema=kept.schema,
        unreadable=left,
        looks=_without(looks, left),
        undeclared=None if stated.fixed_schema else frame,
    )


def _require_names(names: Sequence[str], stated: Statements) -> None:
    """Refuse names that could be taken for each other; one person's record may bring another spelling of a name.

    An error shows names only if the owner states that they do not depend on the rows.
    """
    if stated.fixed_schema or not names:
        distinct_names(names)
    elif len(set(names)) != len(names):
        raise indistinct_names("two columns have the same name")


def _from_path(location: str, delimiter: str | None, table: str | None) -> Source:
    files = find_files(location)
    kind = _ENDINGS.get(files.ending)
    if table is not None and kind in ("csv", "parquet"):
        raise unwanted_table(table, f"a file of kind {files.ending!r}")
    if kind == "parquet":
        return _from_parquet(files)
    if not files.is_local:
        raise SourceError(
            f"a file of kind {files.ending!r} behind a URI",
            because="only Parquet is read from where this machine has no path to",
            instead="Parquet files, or a copy on this machine",
        )
    if kind == "csv":
        separator = delimiter or ("\t" if files.ending == ".tsv" else ",")
        columns = read_header(files.paths, separator)
        if delimiter is None and len(columns) == 1:
            refuse_another_delimiter(columns[0])
        return Source("csv", files.identity, columns, files.paths, separator)
    if kind == "duckdb":
        return _from_database(location, files, table)
    raise SourceError(
        f"a file of kind {files.ending!r}",
        because="discreet reads .csv, .tsv, .parquet, DuckDB (.duckdb, .db) and SQLite (.sqlite, .sqlite3, .db)",
        instead="a file of one of these kinds, or a frame",
    )


def _from_parquet(files: Files, wanted: Sequence[str] | None = None) -> Source:
    rows = parquet_rows(files, wanted)
    return Source(
        "parquet",
        files.identity,
        tuple(rows.schema.names),
        files.paths,
        frame=rows.dataset,
        schema=rows.schema,
        unreadable=rows.unreadable,
        folders=rows.folders,
    )


def _from_database(location: str, files: Files, table: str | None) -> Source:
    if table is None:
        raise SourceError(
            f"a DuckDB file without a table: {location!r}",
            because="the file may hold several",
            instead=f'dp.protect({location!r}, table="visits", ...)',
        )
    return Source("duckdb", f"{files.identity}#{table}", (), files.paths, table=table)


def _without(looks: pa.Schema | None, left: Mapping[str, str]) -> pa.Schema | None:
    return None if looks is None else pa.schema([each for each in looks if each.name not in left])


def _as_frame(data: Any) -> tuple[pa.Table | None, pa.Schema | None]:
    """A frame as Arrow, without a copy where its memory allows, and what its columns of objects look like."""
    try:
        if _kind(data) == "pandas.DataFrame":
            return _from_pandas(data)
        if _kind(data) in _TABLES:
            return _TABLES[_kind(data)](data), None
    except (Refusal, KeyboardInterrupt):
        raise
    except BaseException:  # noqa: BLE001, S110 - a lazy frame may fail on a cell, or panic, and would print it
        pass
    else:
        return None, None
    raise SourceError(
        f"a {_kind(data)} that could not be computed",
        because="its own query failed",
        instead="a frame that has been collected, or the file that it reads",
    )


def _collect_lazy_frame(frame: Any) -> Any:
    """Collect a lazy frame once, in pieces where Polars can: its input may be larger than its result."""
    try:
        return frame.collect(engine="streaming")
    except TypeError:
        return frame.collect()


def _from_polars(frame: Any) -> pa.Table:
    """A Polars frame as Arrow, its text as the views that Polars itself holds, which copies nothing.

    Integers of 128 bits, which Arrow does not have, and Python objects become text, each cell by itself: one cell may
    be all that makes Polars choose such a type.
    """
    import polars as pl  # noqa: PLC0415 - an optional driver, which the caller with a frame has imported

    for name, kind in frame.schema.items():
        if str(kind) in ("Int128", "UInt128"):
            frame = frame.with_columns(frame[name].cast(pl.String))
        elif str(kind) == "Object":
            frame = frame.with_columns(pl.Series(name, [_text(cell) for cell in frame[name].to_list()], pl.String))
    level = getattr(pl, "CompatLevel", None)
    return frame.to_arrow() if level is None or not _has_views() else frame.to_arrow(compat_level=level.newest())


def _from_relation(relation: Any) -> pa.Table:
    """A DuckDB relation as Arrow; scalars of JSON as text without quotes, since other columns of scalars have none."""
    columns = [
        f"CASE WHEN json_type({name}) NOT IN ('ARRAY', 'OBJECT') THEN {name} ->> '$' END AS {name}"
        if str(kind) == "JSON"
        else name
        for each, kind in zip(relation.columns, relation.types, strict=True)
        for name in ('"' + each.replace('"', '""') + '"',)
    ]
    return relation.project(", ".join(columns)).to_arrow_table()


def _has_views() -> bool:
    """Whether this Arrow can take views of text as views of bytes; older ones cannot, and text is copied once."""
    try:
        pa.array([], pa.string_view()).cast(pa.binary_view())
    except (AttributeError, pa.ArrowNotImplementedError):
        return False
    return True


_TABLES: dict[str, Callable[[Any], pa.Table]] = {
    "pyarrow.Table": lambda table: table,
    "pyarrow.RecordBatch": lambda batch: pa.Table.from_batches([batch]),
    "pyarrow.InMemoryDataset": lambda tables: tables.to_table(),
    "polars.DataFrame": _from_polars,
    "polars.LazyFrame": lambda frame: _from_polars(_collect_lazy_frame(frame)),
    "duckdb.DuckDBPyRelation": _from_relation,
}


def _from_pandas(frame: Any) -> tuple[pa.Table, pa.Schema]:
    """A pandas frame as Arrow, and the types that its columns of Python objects seem to have.

    A column of a declared dtype stays as it is. One of objects or categories becomes text, each cell by itself: a type
    inferred from all of its cells would let one of them change how the others are read.
    """
    if frame.index.nlevels > 1 or getattr(frame.index.dtype, "kind", "") not in "iu":
        raise SourceError(
            "a pandas frame whose index holds values",
            because="only columns are read, and the first column may be the index",
            instead="dp.protect(frame.reset_index(), ...)",
        )
    names, columns, kinds = [str(name) for name in frame.columns], [], []
    for i in range(len(names)):
        series = frame.iloc[:, i]
        if series.dtype == object or str(series.dtype) == "category":
            columns.append(_texts(series.astype(object)))
            kinds.append(_infer_type(series))
            continue
        try:
            columns.append(pa.array(series, from_pandas=True))
            kinds.append(columns[-1].type)
        except _UNFIT:
            columns.append(_texts(series))
            kinds.append(_infer_type(series))
    return pa.table(columns, names=names), pa.schema(list(zip(names, kinds, strict=True)))


def _texts(series: Any) -> pa.Array:
    missing = series.isna()
    return pa.array([None if gone else _text(cell) for cell, gone in zip(series, missing, strict=True)], pa.string())


def _text(cell: object) -> str | None:
    """One cell as text, independent of the others; missing where Python cannot write it."""
    try:
        if isinstance(cell, complex):  # one such number makes a whole column complex
            cell = cell.real if cell.imag == 0 else None
        if cell is None:
            return None
        if isinstance(cell, dt.datetime) and cell.tzinfo is not None:
            cell = cell.astimezone(dt.UTC).replace(tzinfo=None)
        if isinstance(cell, dt.timedelta) or (_kind(cell).startswith("pandas.") and not isinstance(cell, dt.datetime)):
            return None  # a column of nothing else is stored as durations, periods or intervals, which have no text
        if isinstance(cell, bytes):
            return cell.decode("utf-8", "backslashreplace")
        text = _number_text(cell) or (str.__str__(cell) if isinstance(cell, str) else str(cell))
        return text.encode("utf-8", "backslashreplace").decode()
    except Exception:  # noqa: BLE001 - a cell of any class may fail in any way, and must not fail the others
        return None


def _number_text(cell: object) -> str | None:
    """A number of any class as a column of numbers would hold it: enumerations and short floats have other names."""
    if isinstance(cell, bool) or not isinstance(cell, int | float | np.integer | np.floating):
        return None
    return repr(int(cell)) if isinstance(cell, int | np.integer) else repr(float(cell))


def _infer_type(series: Any) -> pa.DataType:
    try:
        kind = pa.array(series, from_pandas=True).type
    except _UNFIT:
        return pa.string()
    return pa.string() if pa.types.is_binary(kind) or pa.types.is_dictionary(kind) else kind


def _kind(data: object) -> str:
    return f"{type(data).__module__.split('.')[0].removeprefix('_')}.{type(data).__name__}"


def _travelling(frame: pa.Table) -> pa.Table:
    """A frame whose columns travel so that no cell can make reading fail."""
    columns = [_travelling_column(frame.column(i)) for i in range(frame.num_columns)]
    return pa.table(columns, names=frame.column_names)


def _travelling_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if isinstance(column.type, pa.BaseExtensionType):
        column = pa.chunked_array([chunk.storage for chunk in column.chunks], column.type.storage_type)
    if pa.types.is_dictionary(column.type):
        column = _decode_dictionary(column)
    if column.type in (pa.large_binary(), pa.binary()):
        return column
    if pa.types.is_string_view(column.type):
        column = column.cast(pa.binary_view())
    if pa.types.is_duration(column.type) or pa.types.is_timestamp(column.type):
        return pa.chunked_array([chunk.view(pa.int64()) for chunk in column.chunks], pa.int64())
    return column.cast(transport_type(column.type).type)


def _decode_dictionary(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Decode a dictionary, text as bytes with 64-bit offsets: decoded text may be larger than 2 GB."""
    kind = transport_type(column.type).type
    values = [chunk.dictionary.cast(transport_type(chunk.dictionary.type).type).cast(kind) for chunk in column.chunks]
    parts = [value.take(chunk.indices) for value, chunk in zip(values, column.chunks, strict=True)]
    return pa.chunked_array(parts, kind)
