"""DuckDB: the engine an analyst already has; in process, larger than memory, over files and frames.

The connection is locked down before the first query: no file but the registered sources can be opened, no setting
changed, no extension loaded. Rows within contribution bounds are materialised for the second query over the same
columns, in memory, and spill into the private workspace.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar

import duckdb
import pyarrow as pa

from discreet.catalog.catalog import ColumnType
from discreet.engines.backends.duckdb_parquet import DirectParquet
from discreet.engines.backends.duckdb_schema import Kinds, frame_kinds, relation_kinds
from discreet.engines.prepared import PreparedQuery, RegisteredSource
from discreet.engines.progress import Stage
from discreet.engines.sources.arrow_types import LosslessRead, transport_type
from discreet.engines.sources.source import Source
from discreet.engines.sources.workspace import Workspace
from discreet.engines.sql import bins, functions
from discreet.engines.sql import casts as total_casts
from discreet.engines.sql.blocks import BATCH
from discreet.engines.sql.contribution_bounding import TableRelation
from discreet.engines.sql.dialect import Dialect, StorageType, finite
from discreet.engines.sql.interrupts import Outcome, cancellable
from discreet.errors import SourceError

# The parallel reader of DuckDB 2.0 loses rows of valid files whose cells hold line breaks and quotes, and in strict
# mode one odd cell ends the file: what is read of one unit would depend on the cells of others. Columns that folders
# name would take the place of the file's own.
_ROW_BY_ROW = "parallel = false, strict_mode = false, hive_partitioning = false"

PREPARED = "prepared"
SMALLEST_BUFFER, LARGEST_BUFFER = 2**25, 2**27
_AMOUNT = re.compile(r" *([0-9]{1,9}(?:[.][0-9]{1,9})?) *([A-Za-z]{1,5}) *")
_SHARE = 15 / 16

# NULLIF becomes a CASE that repeats its operand, and planning seven products within each other took a minute.
_LIMITED = "list_filter([{0}], lambda discreet_real: discreet_real > -{1} AND discreet_real < {1})[1]"

_LISTED = {
    ColumnType.INTEGER: "BIGINT",
    ColumnType.REAL: "DOUBLE",
    ColumnType.DATE: "DATE",
    ColumnType.TIMESTAMP: "TIMESTAMP",
}


def _search(value: str, edges: Sequence[str], kind: ColumnType) -> str:
    """By strides through a list; a tree of comparisons runs each branch for the few rows of a batch that take it."""
    edge = f"(CAST('[{', '.join(edges)}]' AS {_LISTED[kind]}[]))[{bins.REACHED} + {bins.STRIDE}]"
    strides = ", ".join(map(str, [0, *bins.strides(len(edges))]))
    reached = f"list_reduce([{strides}], lambda {bins.REACHED}, {bins.STRIDE}: {bins.stride(edge)})"
    present = f"CASE WHEN {bins.VALUE} IS NOT NULL THEN {reached} END"
    return f"list_transform([{value}], lambda {bins.VALUE}: {present})[1]"


DIALECT = Dialect(
    name="duckdb",
    reads=total_casts.standard(
        total_casts.Primitives(
            matches="regexp_full_match({0}, {1})",
            double="TRY_CAST({0} AS DOUBLE)",
            bigint="TRY_CAST({0} AS BIGINT)",
            date="TRY_CAST({0} AS DATE)",
            timestamp="TRY_CAST({0} AS TIMESTAMP)",
            zoned_text="make_timestamp(epoch_us(TRY_CAST({0} AS TIMESTAMPTZ)))",
            zoned="make_timestamp(epoch_us(CASE WHEN isfinite({0}) THEN {0} END))",
            wide="TRY_CAST({0} AS BIGINT)",
            decimal="TRY_CAST(TRY(floor({0} + 0.5)) AS BIGINT)",
            decimal_real="TRY_CAST({0} AS DOUBLE)",
            real="{0}",
            limited=_LIMITED,
        )
    ),
    functions=functions.functions(
        {"starts": "starts_with({0}, {1})", "ends": "ends_with({0}, {1})", "contains": "contains({0}, {1})"},
        functions.every_unit("TRY_CAST(date_trunc('{1}', {0}) AS DATE)"),
        functions.every_unit("TRY_CAST(date_trunc('{1}', {0}) AS TIMESTAMP)"),
        functions.every_part("{1}({0})", "isodow({0})"),
    ),
    keyed_hash=lambda columns, key: f"hash({', '.join(columns)}, {key}::UBIGINT)",
    micros="epoch_us({0})",
    whole="CAST({0} AS HUGEINT)",
    bigint="TRY_CAST({0} AS BIGINT)",
    large_sum="sum({0})",
    real=lambda value: finite(value) if value >= 0 else f"({finite(value)})",
    limited=_LIMITED,
    quotient="({0} / {1})",
    ranks_by_hash=True,
    one_of="TRY_CAST({0} AS ENUM ({1}))",
    tiny="UTINYINT",
    number_of="enum_code(TRY_CAST({0} AS ENUM ({1})))",
    search=_search,
    few_edges=100,
    part="CAST({0} % {1} AS INTEGER)",
    part_of_text="CAST(CAST('0x' || left({0}, 15) AS UBIGINT) % {1} AS INTEGER)",
)
_text, _quoted = DIALECT.text, DIALECT.identifier

_DRAFTED = {
    "BOOLEAN": ColumnType.BOOLEAN,
    "DATE": ColumnType.DATE,
    "TIME": ColumnType.INTEGER,
    "INTERVAL": ColumnType.INTEGER,
    "TIMESTAMP": ColumnType.TIMESTAMP,
    "FLOAT": ColumnType.REAL,
    "DOUBLE": ColumnType.REAL,
    "DECIMAL": ColumnType.REAL,
    "BLOB": ColumnType.BINARY,
    "VARCHAR": ColumnType.TEXT,
    "ENUM": ColumnType.TEXT,
}
_NO_READS: Mapping[str, str] = MappingProxyType({})
_NANOSECONDS = LosslessRead("CAST({0} AS VARCHAR)", "TRY(epoch_ns({0})) % 1000 <> 0")
_IN_MICROSECONDS = {
    "TIMESTAMP_NS": "TRY_CAST({0} AS TIMESTAMP)",
    "TIMESTAMPTZ_NS": "TRY_CAST({0} AS TIMESTAMPTZ)",
}
_TIMES_OF_DAY = ("TIME", "TIMETZ", "TIME_NS", "INTERVAL")
_STORED = {
    "BOOLEAN": StorageType.BOOLEAN,
    "DATE": StorageType.DATE,
    "FLOAT": StorageType.REAL,
    "DOUBLE": StorageType.REAL,
    "DECIMAL": StorageType.DECIMAL,
}


class DuckDB(DirectParquet):
    """One locked-down, in-process database over the registered sources."""

    dialect: ClassVar[Dialect] = DIALECT

    def _open(self, memory_limit: str | None, threads: int | None, undo: ExitStack) -> None:
        self._busy: list[duckdb.DuckDBPyConnection] = []
        self._connection = _locked_down(self._sources, self._workspace, memory_limit, threads)
        undo.callback(self._connection.close)

    def close(self) -> None:
        """Give back everything, prepared tables and spill files included."""
        self._connection.close()
        self._workspace.close()

    @contextmanager
    def _use_connection(self, *tables: str) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection of this thread's own; a frame is visible only where it is registered."""
        cursor = self._connection.cursor()
        try:
            _track_progress(cursor)
            for table in tables:
                frame = self._sources[table].source.frame
                if frame is not None:
                    cursor.register(_frame_name(table), frame)
            yield cursor
        finally:
            cursor.close()

    def _describe(self, table: str, source: Source) -> tuple[str, dict[str, StorageType]]:
        """The columns of a source, by its schema; a source that DuckDB cannot read is refused here."""
        kinds = self._kinds(table, source, {})
        relation = _read_plainly(_relation(table, source), kinds, source)
        return relation, {column: _storage_type(kind) for column, kind in kinds.items()}

    def _kinds(self, table: str, source: Source, reads: Mapping[str, str]) -> dict[str, str]:
        """The types of the columns of a source, as DuckDB names them."""
        try:
            with self._use_connection(table) as cursor:
                if source.kind == "duckdb":
                    _refuse_computed_columns(cursor, table, source)
                described = cursor.execute(f"DESCRIBE SELECT * FROM {_relation(table, source, reads)}").fetchall()
        except duckdb.Error:
            raise _unreadable() from None
        return {row[0]: str(row[1]) for row in described}

    def lossless_reads(self, table: str) -> Mapping[str, LosslessRead]:
        """Text of frames and Parquet files, which travels as bytes, and times in nanoseconds."""
        source = self._sources[table].source
        if source.kind == "duckdb":
            kinds = self._kinds(table, source, {})
            return {name: _NANOSECONDS for name, kind in kinds.items() if _type_name(kind) in _IN_MICROSECONDS}
        reads = {field.name: transport_type(field.type).lossless for field in source.schema or ()}
        return {name: read for name, read in reads.items() if read is not None}

    def place(self, table: str, reads: Mapping[str, str] | None = None) -> TableRelation:
        """Where the rows of a table are read; columns of `lossless_reads` may have other reads."""
        if not reads:
            return self._place(table)
        source = self._sources[table].source
        relation, kinds = _relation(table, source, reads), self._kinds(table, source, reads)
        relation = _read_plainly(relation, kinds, source, reads if source.kind == "duckdb" else _NO_READS)
        return replace(self._place(table), relation=relation)

    def _can_compile(self, prepared: PreparedQuery) -> bool:
        """Rows of joined tables by EXPLAIN, which reads none of them; those of one table always compile."""
        scan = prepared.question.scan
        if scan.base is None:
            return True
        try:
            with self._use_connection(*(leaf.table for leaf in scan.leaves)) as cursor:
                cursor.execute(f"EXPLAIN {prepared.rows_sql}").fetchall()
        except duckdb.Error:
            return False
        return True

    def _relation_name(self, kind: str, thing: object) -> str:
        return f"{PREPARED}.{super()._relation_name(kind, thing)}"

    def _is_slow_to_read(self, source: Source) -> bool:
        return source.kind in ("csv", "parquet")

    def _create_rows(self, connected: duckdb.DuckDBPyConnection, name: str, sql: str) -> None:
        """Materialise rows, and compress them; compression is worth waiting for, but not worth failing for."""
        self._run_query(connected, lambda: connected.execute(f"CREATE OR REPLACE TABLE {name} AS {sql}"))
        with suppress(duckdb.TransactionException):
            connected.execute(f"CHECKPOINT {PREPARED}")

    def _codes_name(self, token: str) -> str:
        return f"codes_{token}"

    def _store_codes(self, connected: duckdb.DuckDBPyConnection, name: str, sql: str) -> None:
        """A temporary table, which is not compressed: counting from it once is quicker than compressing it."""
        self._run_query(connected, lambda: connected.execute(f"CREATE TEMPORARY TABLE {name} AS {sql}"))

    def _create_keys(self, connected: duckdb.DuckDBPyConnection, name: str, keys: pa.Table) -> None:
        connected.register("given_keys", keys)
        connected.execute(f"CREATE OR REPLACE TABLE {name} AS SELECT * FROM given_keys")
        connected.unregister("given_keys")

    def _fetch(self, connected: duckdb.DuckDBPyConnection, sql: str) -> Sequence[Sequence[int]]:
        return self._run_query(connected, lambda: list(connected.execute(sql).fetchall()))

    def _fetch_columns(self, connected: duckdb.DuckDBPyConnection, sql: str) -> list[list[int]]:
        """By Arrow where all are 64-bit integers; Python's integers hold the wider ones."""
        return self._run_query(connected, lambda: _columns_of(connected.sql(sql)))

    def _stream(self, connected: duckdb.DuckDBPyConnection, sql: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        self._busy.append(connected)
        try:
            reader = cancellable(lambda: connected.sql(sql).to_arrow_reader(BATCH), connected.interrupt)
            while (batch := cancellable(lambda: next(reader, None), connected.interrupt)) is not None:
                yield batch.cast(schema)
        finally:
            self._busy.remove(connected)

    def progress(self) -> Stage | None:
        """How far the query that runs now is; None where DuckDB cannot tell, as with Arrow."""
        for cursor in list(self._busy):
            with suppress(duckdb.Error):
                percent = cursor.query_progress()
                return Stage(int(percent), 100, "percent") if percent > 0 else None
        return None

    def _run_query(self, cursor: duckdb.DuckDBPyConnection, query: Callable[[], Outcome]) -> Outcome:
        """Run a query over rows, so that Ctrl-C stops it; in the main thread DuckDB itself often misses the signal."""
        self._busy.append(cursor)
        try:
            return cancellable(query, cursor.interrupt)
        finally:
            self._busy.remove(cursor)


def _columns_of(relation: duckdb.DuckDBPyRelation) -> list[list[int]]:
    if all(str(kind) == "BIGINT" for kind in relation.types):
        columns = relation.to_arrow_table().columns
        if any(column.null_count for column in columns):  # they would be read as floats
            raise _missing_number()
        return [column.to_numpy().tolist() for column in columns]
    rows = relation.fetchall()
    if any(None in row for row in rows):
        raise _missing_number()
    return [list(map(int, column)) for column in zip(*rows, strict=True)]


def _missing_number() -> RuntimeError:
    return RuntimeError("the engine answered without a number")


def draft(source: Source) -> dict[str, ColumnType]:
    """The types that a source seems to have, for an owner who drafts a catalog; frozen once registered.

    Only here may cells be looked at before a charge: the owner does it, once, when the dataset is first registered.
    """
    looks = source.looks or source.schema
    try:
        kinds = _file_kinds(source) if looks is None else frame_kinds(looks)
    except duckdb.Error:
        raise _unreadable() from None
    return {name: _draft_type(kind, source) for name, kind in kinds}


def _file_kinds(source: Source) -> Kinds:
    with duckdb.connect(":memory:") as connection:
        relation = _csv_with_detection(source) if source.kind == "csv" else _attach(connection, "draft", source)
        return relation_kinds(connection, relation)


def _unreadable() -> SourceError:
    return SourceError(
        "a source that cannot be opened",
        because="the file is not readable, or a column has an unknown type",
        instead="a CSV file with a header, a Parquet file, a DuckDB file, or a frame",
    )


def _draft_type(kind: str, source: Source) -> ColumnType:
    name = _type_name(kind)
    if source.kind == "duckdb" and name in _TIMES_OF_DAY:
        return ColumnType.DOCUMENT
    if kind.endswith("]") or name in ("STRUCT", "MAP", "UNION"):
        return ColumnType.DOCUMENT
    if name.endswith("INT") or name == "INTEGER":
        return ColumnType.INTEGER
    return ColumnType.TIMESTAMP if name.startswith("TIMESTAMP") else _DRAFTED.get(name, ColumnType.TEXT)


def _type_name(kind: str) -> str:
    return re.split(r"[( ]", kind, maxsplit=1)[0].upper()


def _storage_type(kind: str) -> StorageType:
    """The storage type of a column, by the name that DuckDB gives its type."""
    name = _type_name(kind)
    if kind.endswith("]") or name in ("STRUCT", "MAP", "UNION", "BLOB", "BIT", *_TIMES_OF_DAY):
        return StorageType.OTHER
    if name.startswith("TIMESTAMP"):
        return StorageType.ZONED if "TIME ZONE" in kind or name.startswith("TIMESTAMPTZ") else StorageType.TIMESTAMP
    if name in ("UBIGINT", "HUGEINT", "UHUGEINT"):
        return StorageType.WIDE
    return _STORED.get(name, StorageType.INTEGER if name.endswith(("INT", "INTEGER")) else StorageType.TEXT)


def _read_plainly(relation: str, kinds: Mapping[str, str], source: Source, reads: Mapping[str, str] = _NO_READS) -> str:
    """A relation whose columns compare by what they hold, in types that no constant of ours overflows.

    Ids, categories and the like are text. Text of a file may have a collation, which would make a row count under every
    spelling of a key; moments in nanoseconds end in the year 2262, and comparing them with a later one is an error.
    """
    plain = {column: reads.get(column) or _plain(kind, source) for column, kind in kinds.items()}
    casts = ", ".join(f"{form.format(_quoted(each))} AS {_quoted(each)}" for each, form in plain.items() if form)
    return f"(SELECT * REPLACE ({casts}) FROM {relation})" if casts else relation


def _plain(kind: str, source: Source) -> str:
    """How a column of a type is read where it is not read as it is."""
    if kind == "VARCHAR":
        return '({0} COLLATE "C")' if source.kind == "duckdb" else ""
    if _storage_type(kind) is StorageType.TEXT:
        return "CAST({0} AS VARCHAR)"
    return _IN_MICROSECONDS.get(_type_name(kind), "")


def _refuse_computed_columns(cursor: duckdb.DuckDBPyConnection, name: str, source: Source) -> None:
    """Refuse a view, and a table with a column that is computed as it is read: one cell could make it fail."""
    *schema, table = (source.table or "").split(".")
    where = "database_name = ? AND schema_name = ? AND table_name = ?"
    place = ["source_" + name, schema[-1] if schema else "main", table]
    tables = cursor.execute(f"SELECT count(*) FROM duckdb_tables() WHERE {where}", place).fetchall()
    views = cursor.execute(
        f"SELECT count(*) FROM duckdb_views() WHERE {where.replace('table', 'view')}", place
    ).fetchall()
    computed = cursor.execute(f"SELECT count(*) FROM duckdb_columns() WHERE is_generated AND {where}", place).fetchall()
    if (tables, views) == ([(0,)], [(1,)]) or computed != [(0,)]:
        raise SourceError(
            f"{source.table!r}, which is a view or has a generated column",
            because="what it computes could fail on a single cell",
            instead="the table that it reads, or a table of its own: CREATE TABLE ... AS SELECT ...",
        )


def _locked_down(
    sources: Mapping[str, RegisteredSource], workspace: Workspace, memory_limit: str | None, threads: int | None
) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(":memory:")
    try:
        for name, registered in sources.items():
            _attach(connection, name, registered.source)
    except duckdb.Error:
        connection.close()
        raise _unreadable() from None
    paths = [_text(path) for r in sources.values() for path in r.source.paths]
    settings = [
        f"ATTACH ':memory:' AS {PREPARED} (COMPRESS)",
        f"SET temp_directory = {_text(str(workspace.path))}",
        "SET TimeZone = 'UTC'",
        "SET preserve_insertion_order = false",
        "SET autoinstall_known_extensions = false",
        "SET autoload_known_extensions = false",
        "SET python_enable_replacements = false",
        "SET enable_logging = false",
        "SET allowed_configs = ['enable_progress_bar', 'enable_progress_bar_print']",
        f"SET allowed_paths = [{', '.join(paths)}]",
        *([f"SET memory_limit = {_text(_share(memory_limit))}"] if memory_limit else []),
        *([f"SET threads = {int(threads)}"] if threads else []),
        "SET enable_external_access = false",
        "SET lock_configuration = true",
    ]
    _turn_off_progress(connection)
    for setting in settings:
        try:
            connection.execute(setting)
        except duckdb.Error:
            connection.close()
            raise _refused_setting(setting) from None
    return connection


def _track_progress(cursor: duckdb.DuckDBPyConnection) -> None:
    """Let DuckDB count how far a query is, and print nothing.

    In a Jupyter kernel without ipywidgets DuckDB refuses every setting of its progress bar, and has none: queries then
    run without a percentage.
    """
    with suppress(duckdb.InvalidInputException):
        for setting in ("enable_progress_bar_print = false", "enable_progress_bar = true"):
            cursor.execute(f"SET {setting}")


def _turn_off_progress(connection: duckdb.DuckDBPyConnection) -> None:
    with suppress(duckdb.InvalidInputException):
        connection.execute("SET enable_progress_bar = false")


def _refused_setting(setting: str) -> SourceError:
    """Error for a setting that DuckDB does not take; only two of them come from a person."""
    name = setting.removeprefix("SET ").split()[0]
    instead = {"memory_limit": 'memory_limit="4GB"', "threads": "threads=2"}.get(name)
    return SourceError(
        "an engine that cannot be set up",
        because=f"DuckDB did not take {name}" if instead else f"DuckDB {duckdb.__version__} did not take {name}",
        instead=instead or "a release of DuckDB that discreet is tested with: pip install 'duckdb>=2.0,<3'",
    )


def _share(memory_limit: str) -> str:
    """DuckDB's part of a memory limit: the rest is for Arrow's batches, and for what DuckDB itself does not count."""
    amount = _AMOUNT.fullmatch(memory_limit)
    return memory_limit if amount is None else f"{float(amount[1]) * _SHARE:.6f}{amount[2]}"


def _attach(connection: duckdb.DuckDBPyConnection, name: str, source: Source) -> str:
    """Attach a DuckDB file read-only where the source is one; return the relation to read."""
    if source.kind == "duckdb":
        database = _quoted("source_" + name)
        connection.execute(f"ATTACH {_text(source.paths[0])} AS {database} (READ_ONLY)")
    return _relation(name, source)


def _relation(name: str, source: Source, reads: Mapping[str, str] = _NO_READS) -> str:
    paths = f"[{', '.join(_text(path) for path in source.paths)}]"
    match source.kind:
        case "csv":
            columns = ", ".join(f"{_text(column)}: 'VARCHAR'" for column in source.columns)
            return (
                f"read_csv({paths}, auto_detect = false, header = true, delim = {_text(source.delimiter)}, "
                f"quote = '\"', escape = '\"', buffer_size = {_buffer(source)}, ignore_errors = true, {_ROW_BY_ROW}, "
                f"columns = {{{columns}}})"
            )
        case "duckdb":
            table = ".".join(_quoted(part) for part in (source.table or "").split("."))
            return f"{_quoted('source_' + name)}.{table}"
    fields = [_read_back(field, reads.get(field.name)) for field in source.schema or ()]
    return f"(SELECT {', '.join(fields)} FROM {_quoted(_frame_name(name))})"


def _buffer(source: Source) -> int:
    """The reader loses its place in a cell larger than two buffers, and takes what the cell holds for rows."""
    size = max(Path(path).stat().st_size if Path(path).exists() else 0 for path in source.paths)
    return min(max(size + 1, SMALLEST_BUFFER), LARGEST_BUFFER)


def _read_back(field: pa.Field, read: str | None) -> str:
    """A column of a frame as it was before it travelled, or by another read."""
    name = _quoted(field.name)
    return f"{(read or transport_type(field.type).sql).format(name)} AS {name}"


def _csv_with_detection(source: Source) -> str:
    paths = f"[{', '.join(_text(path) for path in source.paths)}]"
    return f"read_csv({paths}, header = true, delim = {_text(source.delimiter)}, ignore_errors = true)"


def _frame_name(name: str) -> str:
    return "frame_" + name
