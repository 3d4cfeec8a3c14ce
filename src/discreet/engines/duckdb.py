"""DuckDB: the engine an analyst already has; in process, larger than memory, over files and frames.

The connection is locked down before the first question: no file but the registered sources can be opened, no setting
changed, no extension loaded. A table that is capped is materialised once and reused; it lives in memory and spills into
the private workspace.
"""

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import duckdb
import pyarrow as pa

from discreet.catalog import ColumnType
from discreet.engines import lower
from discreet.engines.carrying import carried
from discreet.engines.sources import Source, unreadable_column
from discreet.engines.workspace import Workspace
from discreet.errors import SourceError, suggestion
from discreet.pushdown import Pushdown, SumSteps, digest
from discreet.release import KEY_TYPES

# The parallel reader of DuckDB 2.0 loses rows of valid files whose cells hold line breaks and quotes, and in strict
# mode one odd cell ends the file: what is read of one unit would depend on the cells of others. Columns that folders
# name would take the place of the file's own.
_ROW_BY_ROW = "parallel = false, strict_mode = false, hive_partitioning = false"

MOST_PREPARED = 16
PREPARED = "prepared"
SMALLEST_BUFFER, LARGEST_BUFFER = 2**25, 2**27

DIALECT = lower.Dialect(
    name="duckdb",
    reads={
        ColumnType.INTEGER: "TRY_CAST({0} AS BIGINT)",
        ColumnType.REAL: "CASE WHEN isfinite(TRY_CAST({0} AS DOUBLE)) THEN TRY_CAST({0} AS DOUBLE) + 0.0 END",
        ColumnType.TEXT: "TRY_CAST({0} AS VARCHAR)",
        ColumnType.BOOLEAN: "TRY_CAST({0} AS BOOLEAN)",
        ColumnType.DATE: "CASE WHEN isfinite(TRY_CAST({0} AS DATE)) THEN TRY_CAST({0} AS DATE) END",
        ColumnType.TIMESTAMP: "CASE WHEN isfinite(TRY_CAST({0} AS TIMESTAMP)) THEN TRY_CAST({0} AS TIMESTAMP) END",
        ColumnType.DOCUMENT: "{0}",
        ColumnType.BINARY: "{0}",
    },
    operators={
        "eq": "({0} = {1})",
        "ne": "({0} <> {1})",
        "lt": "({0} < {1})",
        "le": "({0} <= {1})",
        "gt": "({0} > {1})",
        "ge": "({0} >= {1})",
        "and": "({0} AND {1})",
        "or": "({0} OR {1})",
        "not": "(NOT {0})",
        "missing": "({0} IS NULL)",
        "add": "({0} + {1})",
        "subtract": "({0} - {1})",
        "multiply": "({0} * {1})",
        "divide": "({0} / {1})",
        "to_integer": "TRY_CAST(floor(TRY_CAST({0} AS DOUBLE) + 0.5) AS BIGINT)",
        "to_real": "TRY_CAST({0} AS DOUBLE)",
        "to_text": "TRY_CAST({0} AS VARCHAR)",
        "to_date": "CASE WHEN isfinite(TRY_CAST({0} AS DATE)) THEN TRY_CAST({0} AS DATE) END",
        "to_timestamp": "CASE WHEN isfinite(TRY_CAST({0} AS TIMESTAMP)) THEN TRY_CAST({0} AS TIMESTAMP) END",
    },
    finite="CASE WHEN isfinite({0}) THEN {0} + 0.0 END",
    real=lambda value: f"CAST('{lower.finite(value)}' AS DOUBLE)",
    keyed_hash=lambda columns, key: f"hash({', '.join(columns)}, {key}::UBIGINT)",
    whole="CAST({0} AS HUGEINT)",
    whole_sum="sum({0})",
    round_to_steps="CAST(floor({value} * {per_step} + 0.5) AS BIGINT)",
)

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


@dataclass(frozen=True)
class Registered:
    """A source with the key that orders its rows."""

    source: Source
    hash_key: int


@dataclass(frozen=True)
class Prepared:
    """A question bound to this engine: SQL for the capped rows and the steps they store, and where the keys stand."""

    question: Pushdown
    rows_name: str | None
    rows_sql: str
    stored: Mapping[SumSteps, str]
    keys_name: str


class DuckDB:
    """One locked-down, in-process database over the registered sources."""

    def __init__(
        self,
        sources: Mapping[str, Registered],
        workspace: Workspace,
        *,
        memory_limit: str | None = None,
        threads: int | None = None,
    ) -> None:
        self._sources = dict(sources)
        self._workspace = workspace
        self._shelf = Shelf()
        with ExitStack() as undo:
            undo.callback(workspace.close)
            self._connection = _locked_down(self._sources, workspace, memory_limit, threads)
            undo.callback(self._connection.close)
            self._columns = {name: self._known_columns(name, r.source) for name, r in self._sources.items()}
            undo.pop_all()

    def require(self, table: str, columns: Iterable[str]) -> None:
        """Refuse a declaration of columns that the source does not have."""
        known, source = self._columns[table], self._sources[table].source
        for column in columns:
            if column in source.unreadable:
                raise unreadable_column(table, column, source)
            if column not in known:
                raise SourceError(
                    f"column {column!r} of {table!r}",
                    because="it is declared, and the source has no column of that name",
                    instead=suggestion(column, known),
                )

    def adopt(self, table: str, hash_key: int) -> None:
        """Take the key that orders a table's rows; it comes from the ledger, before the first question runs."""
        self._sources[table] = replace(self._sources[table], hash_key=hash_key)

    def prepare(self, question: Pushdown) -> Prepared:
        """Bind a question without reading a row; what its SQL cannot say is refused here."""
        self.require(question.scan.table, question.columns_read)
        scan = question.scan
        registered = self._sources[scan.table]
        source = _relation(scan.table, registered.source)
        materialised = scan.max_rows is not None or registered.source.kind in ("csv", "parquet")
        stored = lower.storable(question) if materialised else {}
        prepared = Prepared(
            question,
            rows_name=f"{PREPARED}.rows_{digest(scan)}" if materialised else None,
            rows_sql=lower.capped(scan, source, registered.hash_key, DIALECT, stored),
            stored=stored,
            keys_name=f"{PREPARED}.keys_{digest(question.keys)}",
        )
        self.answer_sql(prepared, {})
        return prepared

    def answer_sql(self, prepared: Prepared, stored: Mapping[SumSteps, str]) -> str:
        """The SQL of an answer, over capped rows that hold the given steps."""
        question = prepared.question
        rows = prepared.rows_name or f"({prepared.rows_sql}) AS rows"
        hash_key = self._sources[question.scan.table].hash_key
        return lower.aggregated(question, rows, prepared.keys_name, hash_key, DIALECT, stored)

    def run(self, prepared: Prepared) -> list[list[int]]:
        """Answer a bound question in whole numbers."""
        with self._cursor(prepared.question.scan.table) as cursor, self._tables(prepared, cursor) as stored:
            rows = cursor.execute(self.answer_sql(prepared, stored)).fetchall()
        if len(rows) != len(prepared.question.keys.rows):
            raise RuntimeError("the engine answered another number of keys")
        return [[int(value) for value in column] for column in zip(*rows, strict=True)]

    def is_prepared(self, prepared: Prepared) -> bool:
        """Whether the capped rows of a question stand ready."""
        return prepared.rows_name is None or self._shelf.holds(prepared.rows_name)

    def close(self) -> None:
        """Give back everything, prepared tables and spill files included."""
        self._connection.close()
        self._workspace.close()

    @contextmanager
    def _tables(self, prepared: Prepared, cursor: duckdb.DuckDBPyConnection) -> Iterator[Mapping[SumSteps, str]]:
        """The tables that an answer needs, made where they are not there yet and kept while it runs."""
        with ExitStack() as needed:
            if prepared.question.keys.columns:
                needed.enter_context(
                    self._shelf.table(cursor, prepared.keys_name, lambda: _create_keys(cursor, prepared))
                )
            if prepared.rows_name is None:
                yield {}
            else:
                yield needed.enter_context(
                    self._shelf.table(cursor, prepared.rows_name, lambda: _create_rows(cursor, prepared))
                )

    @contextmanager
    def _cursor(self, table: str) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection of this thread's own; a frame is visible only where it is registered."""
        cursor = self._connection.cursor()
        try:
            frame = self._sources[table].source.frame
            if frame is not None:
                cursor.register(_frame_name(table), frame)
            yield cursor
        finally:
            cursor.close()

    def _known_columns(self, name: str, source: Source) -> tuple[str, ...]:
        """The columns of a source, by its schema; a source that DuckDB cannot read is refused here."""
        try:
            with self._cursor(name) as cursor:
                described = cursor.execute(f"DESCRIBE SELECT * FROM {_relation(name, source)}").fetchall()
        except duckdb.Error:
            raise _unreadable() from None
        return tuple(row[0] for row in described)


class Shelf:
    """Tables made once and shared by threads; the ones longest unused go when there are too many."""

    def __init__(self, most: int = MOST_PREPARED) -> None:
        self._most = most
        self._guard = threading.Lock()
        self._making: dict[str, threading.Lock] = {}
        self._users: dict[str, int] = {}
        self._made: dict[str, Mapping[SumSteps, str]] = {}

    def holds(self, name: str) -> bool:
        """Whether the table is there."""
        with self._guard:
            return name in self._made

    @contextmanager
    def table(
        self, cursor: duckdb.DuckDBPyConnection, name: str, create: Callable[[], Mapping[SumSteps, str]]
    ) -> Iterator[Mapping[SumSteps, str]]:
        """Hold a table while a query runs on it, and tell which steps it stores; whoever comes first makes it."""
        with self._guard:
            making = self._making.setdefault(name, threading.Lock())
            self._users[name] = self._users.get(name, 0) + 1
        try:
            with making:
                stored = self._find(name)
                if stored is None:
                    stored = create()
                self._keep(cursor, name, stored)
            yield stored
        finally:
            with self._guard:
                self._users[name] -= 1

    def _find(self, name: str) -> Mapping[SumSteps, str] | None:
        with self._guard:
            return self._made.get(name)

    def _keep(self, cursor: duckdb.DuckDBPyConnection, name: str, stored: Mapping[SumSteps, str]) -> None:
        with self._guard:
            self._made.pop(name, None)
            self._made[name] = stored
            idle = [old for old in self._made if not self._users.get(old)]
            for old in idle[: max(0, len(self._made) - self._most)]:
                del self._made[old]
                cursor.execute(f"DROP TABLE IF EXISTS {old}")


def draft(source: Source) -> dict[str, ColumnType]:
    """The types that a source seems to have, for an owner who drafts a catalog; frozen once registered.

    Only here may cells be looked at before a charge: the owner does it, once, when the dataset is first registered.
    """
    connection = duckdb.connect(":memory:")
    try:
        relation = _sniffed(source) if source.kind == "csv" else _attached(connection, "draft", source)
        looks = source.looks or source.schema
        if looks is not None:
            relation = "looks"
            connection.register(relation, looks.empty_table())
        described = connection.execute(f"DESCRIBE SELECT * FROM {relation}").fetchall()
    except duckdb.Error:
        described = None
    finally:
        connection.close()
    if described is None:
        raise _unreadable()
    return {row[0]: _drafted(str(row[1])) for row in described}


def _unreadable() -> SourceError:
    return SourceError(
        "a source that cannot be opened",
        because="it is not a readable file of its kind, or has a column of a type that the engine does not know",
        instead="a CSV file with a header, a Parquet file, a DuckDB file, or a frame",
    )


def _drafted(kind: str) -> ColumnType:
    name = re.split(r"[( ]", kind, maxsplit=1)[0].upper()
    if name.endswith("[]") or name in ("STRUCT", "MAP", "UNION"):
        return ColumnType.DOCUMENT
    if name.endswith("INT") or name == "INTEGER":
        return ColumnType.INTEGER
    return ColumnType.TIMESTAMP if name.startswith("TIMESTAMP") else _DRAFTED.get(name, ColumnType.TEXT)


def _locked_down(
    sources: Mapping[str, Registered], workspace: Workspace, memory_limit: str | None, threads: int | None
) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(":memory:")
    try:
        for name, registered in sources.items():
            _attached(connection, name, registered.source)
    except duckdb.Error:
        connection.close()
        raise _unreadable() from None
    paths = [lower.text(path) for r in sources.values() for path in r.source.paths]
    settings = [
        f"ATTACH ':memory:' AS {PREPARED} (COMPRESS)",
        f"SET temp_directory = {lower.text(str(workspace.path))}",
        "SET TimeZone = 'UTC'",
        "SET preserve_insertion_order = false",
        "SET autoinstall_known_extensions = false",
        "SET autoload_known_extensions = false",
        "SET python_enable_replacements = false",
        "SET enable_logging = false",
        f"SET allowed_paths = [{', '.join(paths)}]",
        *([f"SET memory_limit = {lower.text(memory_limit)}"] if memory_limit else []),
        *([f"SET threads = {int(threads)}"] if threads else []),
        "SET enable_external_access = false",
        "SET lock_configuration = true",
    ]
    try:
        for setting in settings:
            connection.execute(setting)
    except duckdb.Error:
        connection.close()
        raise SourceError(
            "an engine that cannot be set up",
            because="DuckDB did not take its settings",
            instead='memory_limit="4GB", threads=2, and files that exist',
        ) from None
    return connection


def _attached(connection: duckdb.DuckDBPyConnection, name: str, source: Source) -> str:
    """Attach a DuckDB file read-only where the source is one; the relation to read."""
    if source.kind == "duckdb":
        database = lower.quoted("source_" + name)
        connection.execute(f"ATTACH {lower.text(source.paths[0])} AS {database} (READ_ONLY)")
    return _relation(name, source)


def _relation(name: str, source: Source) -> str:
    paths = f"[{', '.join(lower.text(path) for path in source.paths)}]"
    match source.kind:
        case "csv":
            columns = ", ".join(f"{lower.text(column)}: 'VARCHAR'" for column in source.columns)
            return (
                f"read_csv({paths}, auto_detect = false, header = true, delim = {lower.text(source.delimiter)}, "
                f"quote = '\"', escape = '\"', buffer_size = {_buffer(source)}, ignore_errors = true, {_ROW_BY_ROW}, "
                f"columns = {{{columns}}})"
            )
        case "duckdb":
            table = ".".join(lower.quoted(part) for part in (source.table or "").split("."))
            return f"{lower.quoted('source_' + name)}.{table}"
    names = [field.name for field in source.schema or ()]
    return f"(SELECT {', '.join(_read_back(source, each) for each in names)} FROM {lower.quoted(_frame_name(name))})"


def _buffer(source: Source) -> int:
    """The reader loses its place in a cell larger than two buffers, and takes what the cell holds for rows."""
    size = max(Path(path).stat().st_size if Path(path).exists() else 0 for path in source.paths)
    return min(max(size + 1, SMALLEST_BUFFER), LARGEST_BUFFER)


def _read_back(source: Source, column: str) -> str:
    """A column of a frame as it was before it travelled."""
    name = lower.quoted(column)
    kind = source.schema.field(column).type if source.schema is not None else None
    return f"{carried(kind).sql.format(name)} AS {name}"


def _sniffed(source: Source) -> str:
    paths = f"[{', '.join(lower.text(path) for path in source.paths)}]"
    return f"read_csv({paths}, header = true, delim = {lower.text(source.delimiter)}, ignore_errors = true)"


def _frame_name(name: str) -> str:
    return "frame_" + name


def _create_rows(cursor: duckdb.DuckDBPyConnection, prepared: Prepared) -> Mapping[SumSteps, str]:
    """Materialise the capped rows, and compress them; compression is worth waiting for, but not worth failing for."""
    cursor.execute(f"CREATE OR REPLACE TABLE {prepared.rows_name} AS {prepared.rows_sql}")
    with suppress(duckdb.TransactionException):
        cursor.execute(f"CHECKPOINT {PREPARED}")
    return prepared.stored


def _create_keys(cursor: duckdb.DuckDBPyConnection, prepared: Prepared) -> Mapping[SumSteps, str]:
    keys = prepared.question.keys
    columns = {lower.ORDINAL: pa.array(range(len(keys.rows)), pa.int64())}
    for i, column in enumerate(keys.columns):
        columns[f"k{i}"] = pa.array([row[i] for row in keys.rows], KEY_TYPES[column.type])
    cursor.register("given_keys", pa.table(columns))
    cursor.execute(f"CREATE OR REPLACE TABLE {prepared.keys_name} AS SELECT * FROM given_keys")
    cursor.unregister("given_keys")
    return {}
