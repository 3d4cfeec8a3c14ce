"""PostgreSQL: where records live; the server does the work, and only whole numbers leave it.

Bounded rows and public keys are temporary tables, which belong to one connection and die with it; so an engine has one
connection, and its queries take turns. The role needs to read the table and to make temporary tables, nothing else.

No operator may raise an error, and PostgreSQL has no TRY_CAST, evaluates conditions in any order, and raises errors
where a double overflows or rounds to zero: terms that could fail stand inside a CASE that keeps such cells out.
"""

import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa

from discreet.catalog.catalog import ColumnType
from discreet.engines.backends.postgres import server, views
from discreet.engines.backends.postgres.columns import columns_of
from discreet.engines.backends.postgres.identity import identity
from discreet.engines.prepared import PreparedQuery, RegisteredSource
from discreet.engines.shelf import Shelf
from discreet.engines.sources.arrow_types import distinct_names
from discreet.engines.sources.source import UNSTATED, Source, Statements
from discreet.engines.sql import casts, expressions, functions
from discreet.engines.sql.blocks import batches_of
from discreet.engines.sql.dialect import DRAFTED, Dialect, Reads, StorageType, finite
from discreet.engines.sql_engine import SQLEngine
from discreet.errors import SourceError, UnsupportedError
from discreet.plan.physical import Pushdown, SumSteps

if TYPE_CHECKING:
    import psycopg

KIND = "postgres"
_ADDRESS = re.compile(r"postgres(ql)?(?P<driver>\+\w+)?://")
_AMOUNT = re.compile(r"([0-9]{1,9}) ?(?P<unit>[KMGT])i?B")
_KILOBYTES = {"K": 1, "M": 2**10, "G": 2**20, "T": 2**30}
_SMALLEST_MEMORY, _LARGEST_MEMORY = 64, 2**31 - 1

_WIDEST, _MOST_MEASURES = 7_500, 1_600

_WITHIN_64_BITS = "{0} >= -9223372036854775808.5 AND {0} < 9223372036854775807.5"
_FLUSHING = f"float8 '{casts.FLUSHING}'"
_HASHES = {
    ColumnType.INTEGER: "hashint8extended({0}, {1})",
    ColumnType.REAL: "hashfloat8extended({0}, {1})",
    ColumnType.TEXT: "hashtextextended({0}, {1})",
    ColumnType.DATE: "hashint4extended({0} - DATE '2000-01-01', {1})",
    ColumnType.TIMESTAMP: "timestamp_hash_extended({0}, {1})",
}
_DEFAULTS = {
    ColumnType.INTEGER: "0",
    ColumnType.BOOLEAN: "FALSE",
    ColumnType.DATE: "DATE '2000-01-01'",
    ColumnType.TIMESTAMP: "TIMESTAMP '2000-01-01 00:00:00'",
}
_KEY_TYPES = {
    pa.int64(): "bigint",
    pa.string(): 'text COLLATE "C"',
    pa.bool_(): "boolean",
    pa.date32(): "date",
    pa.timestamp("us"): "timestamp",
}

_ARRAYS = {
    ColumnType.INTEGER: "bigint",
    ColumnType.REAL: "double precision",
    ColumnType.DATE: "date",
    ColumnType.TIMESTAMP: "timestamp",
}
_STREAMED = {
    pa.int32(): "int4",
    pa.int64(): "int8",
    pa.float64(): "float8",
    pa.large_string(): "text",
    pa.bool_(): "bool",
    pa.date32(): "date",
    pa.timestamp("us"): "timestamp",
}


def _reads() -> Reads:
    """The total reads; text that is read as something else is named as text, which a bare constant is not yet."""
    reads = casts.standard(
        casts.Primitives(
            # a regular expression over text of 256 MB is an error of its own
            matches="(CASE WHEN octet_length({0}) <= 1000 THEN {0} ~ ('^(?:' || {1} || ')$') ELSE FALSE END)",
            double="CAST({0} AS double precision)",
            bigint="CAST({0} AS bigint)",
            whole_text=_numeric_as_integer("CAST({0} AS numeric)"),
            varchar="CAST({0} AS text)",
            date="CAST({0} AS date)",
            timestamp="CAST({0} AS timestamp)",
            zoned_text="(CAST({0} AS timestamptz) AT TIME ZONE 'UTC')",
            zoned="({0} AT TIME ZONE 'UTC')",
            wide=_numeric_as_integer("{0}"),
            decimal=_numeric_as_integer("{0}"),
            decimal_real=_numeric_as_real(),
            real="float8 '{0}'",
        )
    )
    read = {pair: _adapt_template(*pair, template) for pair, template in reads.items()}
    finite_text = "CASE WHEN {0} > '-Infinity' AND {0} < 'Infinity' THEN CAST({0} AS text) END"
    return read | {(StorageType.WIDE, ColumnType.TEXT): f'({finite_text}) COLLATE "C"'}


def _adapt_template(stored: StorageType, declared: ColumnType, template: str) -> str:
    if declared is ColumnType.TEXT:
        return template if stored is StorageType.TEXT else f'({template}) COLLATE "C"'
    return template.replace("{0}", "CAST({0} AS text)") if stored is StorageType.TEXT else template


def _numeric_as_integer(value: str) -> str:
    within = _WITHIN_64_BITS.format(value)
    return f"CASE WHEN {within} THEN CAST(floor({value} + 0.5) AS bigint) END"


def _numeric_as_real() -> str:
    """A numeric may hold what no double does, in both directions; both are errors where it is cast."""
    largest = f"{casts.LARGEST_REAL:.0e}".replace("+", "")
    within = f"{{0}} > -{largest} AND {{0}} < {largest}"
    tiny = "{0} > -1e-150 AND {0} < 1e-150"
    real = f"CAST({{0}} AS double precision) + {_FLUSHING} - {_FLUSHING}"
    return f"CASE WHEN {tiny} THEN float8 '0' WHEN {within} THEN {real} END"


def _keyed_hash(columns: Mapping[str, ColumnType], key: int) -> str:
    """Each column by PostgreSQL's own hash with a seed of its own, all combined; bytes of text, not its collation."""
    parts = []
    for i, (column, kind) in enumerate(columns.items()):
        seed = f"bigint '{(key + i + 2**63) % 2**64 - 2**63}'"
        hashed = _HASHES.get(kind, "hashint4extended(CAST({0} AS integer), {1})").format(column, seed)
        parts.append(f"coalesce({hashed}, 0)")
    return f"({' # '.join(parts)})"


def _same(one: str, other: str, kind: ColumnType) -> str:
    """Equal or both missing; IS NOT DISTINCT FROM would compare every row with every key."""
    default = _DEFAULTS.get(kind, "''")
    equal = f"coalesce({one}, {default}) = coalesce({other}, {default})"
    return f"{equal} AND ({one} IS NULL) = ({other} IS NULL)"


def _search(value: str, edges: Sequence[str], kind: ColumnType) -> str:
    return f"width_bucket({value}, CAST('{{{','.join(edges)}}}' AS {_ARRAYS[kind]}[]))"


DIALECT = Dialect(
    name=KIND,
    reads=_reads(),
    functions=functions.functions(
        {"starts": "starts_with({0}, {1})", "ends": "(right({0}, {2}) = {1})", "contains": "(strpos({0}, {1}) > 0)"},
        # of a date alone it would be a time in the zone of the server
        functions.every_unit("CAST(date_trunc('{1}', CAST({0} AS timestamp)) AS date)"),
        functions.every_unit("date_trunc('{1}', {0})"),
        functions.every_part("CAST(extract({1} FROM {0}) AS bigint)", "CAST(extract(isodow FROM {0}) AS bigint)"),
    ),
    keyed_hash=_keyed_hash,
    micros="CAST(extract(epoch FROM {0}) * 1000000 AS bigint)",
    whole="CAST({0} AS numeric)",
    large_sum="sum({0})",
    md5='md5({0}) COLLATE "C"',
    keeps_rows_whole=True,
    narrows_rows=False,  # measured: it did not help, see decision 010
    search=_search,
    part="CAST(({0} & 9223372036854775807) % {1} AS integer)",
    part_of_text="CAST(CAST(CAST('x' || left({0}, 15) AS bit(60)) AS bigint) % {1} AS integer)",
    real=lambda value: f"float8 '{finite(value)}'",
    same=_same,
    varchar='CAST({0} AS text) COLLATE "C"',
    bigint="CAST({0} AS bigint)",
)


def _width(question: Pushdown, steps: int) -> int:
    """The most bytes that a kept row can take in its page: long text is moved out of it and leaves a pointer."""
    columns = question.scan.columns
    held = sum(40 if read.type is ColumnType.TEXT else 8 for read in columns)
    return 32 + (len(columns) + steps) // 8 + 8 + held + 8 * steps


def is_source(data: object) -> bool:
    """Whether it is the address of a PostgreSQL database."""
    return isinstance(data, str) and _ADDRESS.match(data) is not None


def has_tables(data: object) -> bool:  # noqa: ARG001 - every address is that of a database
    """A table of the database must be named."""
    return True


def source(data: object, table: str | None, stated: Statements = UNSTATED) -> Source:
    """A table by its address and name; the catalog of the server is read, and no row.

    A view that its definition does not show to be row-local is refused, unless its owner stated that it is.
    """
    address = str(data)
    found = _ADDRESS.match(address)
    if found is None or found["driver"]:
        raise SourceError(
            "an address that names a driver",
            because="discreet connects by psycopg, and its addresses begin with postgresql://",
            instead='dp.protect("postgresql://...", table="visits", ...)',
        )
    if table is None:
        raise SourceError(
            "a PostgreSQL database without a table",
            because="the database may hold several",
            instead='dp.protect("postgresql://...", table="schema.visits", ...)',
        )
    with server.connect(address) as connection:
        relation = server.relation(connection, table, {})
        columns = columns_of(connection, relation)
        server.warn(relation)
        distinct_names([column.name for column in columns])
        if relation.is_view and not stated.row_local:
            views.refuse_view(connection, relation.oid, relation.name)
        if relation.is_filtered and not stated.row_local:
            views.refuse_policies(connection, relation.oid, relation.name)
        return Source(
            "postgres",
            identity(connection, relation),
            tuple(column.name for column in columns if column.unreadable is None),
            table=relation.name,
            unreadable={column.name: column.unreadable for column in columns if column.unreadable is not None},
            address=address,
        )


def draft(source: Source) -> dict[str, ColumnType]:
    """The types that the columns seem to have, by the catalog of the server alone."""
    with server.connect(source.address or "") as connection:
        columns = columns_of(connection, server.relation(connection, source.table or "", {}))
    drafted = {column.name: DRAFTED[column.stored] for column in columns if column.unreadable is None}
    return drafted | {c.name: ColumnType.BINARY for c in columns if c.type == "bytea" and c.unreadable is None}


class PostgreSQL(SQLEngine):
    """One connection to a server, over tables of one database."""

    dialect: ClassVar[Dialect] = DIALECT

    def _open(self, memory_limit: str | None, threads: int | None, undo: ExitStack) -> None:
        self._lock = threading.RLock()
        self._connection: psycopg.Connection[Any] | None = None
        self._is_closed = False
        self._settings = _limits(memory_limit, threads)
        self._address = _one_address(self._sources)
        undo.callback(self.close)

    def prepare(self, question: Pushdown) -> PreparedQuery:
        """Bind a query without reading a row; a connection that was lost is made anew before anything is charged."""
        if self._lock.acquire(blocking=False):
            try:
                self._revive()
            finally:
                self._lock.release()
        if _width(question, 0) > _WIDEST or len(question.measures) > _MOST_MEASURES:
            raise UnsupportedError(
                f"a query over {len(question.scan.columns)} columns with {len(question.measures)} measures",
                because="its rows exceed a page of PostgreSQL, or its answer exceeds one row",
                instead="several queries, each over fewer columns",
            )
        return super().prepare(question)

    def _storable(self, question: Pushdown) -> dict[SumSteps, str]:
        """A row that does not fit into a page is an error when it is kept, and how wide it is depends on its cells.

        So rows are kept only if they fit when every cell is there, and steps only where there is room for them.
        """
        steps = expressions.storable(question)
        return steps if _width(question, len(steps)) <= _WIDEST else {}

    def close(self) -> None:
        """Give back the connection, and with it every temporary table."""
        self._is_closed = True
        if self._connection is not None:
            self._connection.close()
        self._workspace.close()

    @contextmanager
    def _use_connection(self, *tables: str) -> Iterator["psycopg.Connection[Any]"]:  # noqa: ARG002 - all tables share one
        """The one connection, for one query at a time; one that is not fit for another is forgotten."""
        with self._lock:
            connection = self._open_connection()
            try:
                yield connection
            finally:
                if connection.closed or connection.info.transaction_status != server.IDLE:
                    self._forget()

    def _open_connection(self) -> "psycopg.Connection[Any]":
        if self._is_closed:
            raise RuntimeError("the engine is closed")
        if self._connection is None:
            with ExitStack() as undo:
                connection = server.connect(self._address)
                undo.callback(connection.close)
                server.set_up(connection, self._settings)
                undo.pop_all()
            self._connection = connection
        return self._connection

    def _forget(self) -> None:
        """Temporary tables went with the connection: nothing is prepared any more."""
        connection, self._connection = self._connection, None
        self._shelf = Shelf()
        if connection is not None:
            connection.close()

    def _revive(self) -> None:
        psycopg = server.driver()
        try:
            self._open_connection().execute("SELECT 1")
        except psycopg.Error:
            self._forget()
            self._open_connection()

    def _describe(self, table: str, source: Source) -> tuple[str, dict[str, StorageType]]:
        with self._use_connection(table) as connection:
            relation = server.relation(connection, source.table or "", self._settings)
            columns = [each for each in columns_of(connection, relation) if each.unreadable is None]
        reads = ", ".join(
            f"{column.read(name)} AS {name}" for column in columns for name in (DIALECT.identifier(column.name),)
        )
        # OFFSET 0 keeps our conditions out of a view: its own WHERE may keep cells from expressions that fail on them
        fence = " OFFSET 0" if relation.is_view else ""
        return f"(SELECT {reads} FROM {relation.name}{fence}) AS source", {each.name: each.stored for each in columns}

    def _relation_name(self, kind: str, thing: object) -> str:
        return f"pg_temp.{super()._relation_name(kind, thing)}"

    def _create_rows(self, connected: "psycopg.Connection[Any]", name: str, sql: str) -> None:
        self._drop(connected, name)
        connected.execute(f"CREATE TEMPORARY TABLE {name} AS {sql}".encode())

    def _create_keys(self, connected: "psycopg.Connection[Any]", name: str, keys: pa.Table) -> None:
        columns = ", ".join(f"{field.name} {_KEY_TYPES[field.type]}" for field in keys.schema)
        self._drop(connected, name)
        connected.execute(f"CREATE TEMPORARY TABLE {name} ({columns})".encode())
        with connected.cursor() as cursor, cursor.copy(f"COPY {name} FROM STDIN".encode()) as copy:
            for row in zip(*(column.to_pylist() for column in keys.columns), strict=True):
                copy.write_row(row)

    def _fetch(self, connected: "psycopg.Connection[Any]", sql: str) -> Sequence[Sequence[Any]]:
        """By COPY, in text: whole numbers of any size, and no type of the driver between."""
        with connected.cursor() as cursor, cursor.copy(f"COPY ({sql}) TO STDOUT".encode()) as copy:
            return list(copy.rows())

    def _stream(self, connected: "psycopg.Connection[Any]", sql: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """By COPY too, in the driver's own types."""
        with connected.cursor() as cursor, cursor.copy(f"COPY ({sql}) TO STDOUT".encode()) as copy:
            copy.set_types([_STREAMED[field.type] for field in schema])
            yield from batches_of(copy.rows(), schema)


ENGINE = PostgreSQL


def _one_address(sources: Mapping[str, RegisteredSource]) -> str:
    addresses = {registered.source.address or "" for registered in sources.values()}
    if len(addresses) != 1:
        raise SourceError(
            "tables of several PostgreSQL addresses in one engine",
            because="an engine has one connection",
            instead="one address for all of them, or a session for each",
        )
    return addresses.pop()


def _limits(memory_limit: str | None, threads: int | None) -> dict[str, str]:
    """The owner's limits in PostgreSQL's terms: four sorts or hashes may be at work at once in one query."""
    settings = {}
    if memory_limit is not None:
        amount = _AMOUNT.fullmatch(memory_limit)
        if amount is None:
            raise _unset("a limit of memory", "it is a whole number with a unit", 'memory_limit="1GB"')
        kilobytes = int(amount[1]) * _KILOBYTES[amount["unit"]] // 4
        settings["work_mem"] = str(min(max(kilobytes, _SMALLEST_MEMORY), _LARGEST_MEMORY))
    if threads is not None:
        if not 1 <= threads <= 1024:
            raise _unset("a number of threads", "it lies between 1 and 1024", "threads=2")
        settings["max_parallel_workers_per_gather"] = str(threads - 1)
    return settings


def _unset(what: str, because: str, instead: str) -> SourceError:
    return SourceError(f"{what} for an engine that cannot be set up", because=because, instead=instead)
