"""What all engines that speak SQL share: binding queries to tables, tables made once, answers checked.

An engine of this kind says how its columns are stored, how it makes and drops a table, and how it fetches rows; what
is asked of it is text from `engines/sql` in its own dialect.
"""

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import replace
from typing import Any, ClassVar

import pyarrow as pa

from discreet.catalog.catalog import ColumnType
from discreet.engines.marginal_tables import MarginalTables
from discreet.engines.prepared import PreparedBlocks, PreparedQuery, RegisteredSource, compile_error, keys_table
from discreet.engines.progress import Stage
from discreet.engines.shelf import Shelf
from discreet.engines.sources import contents, inferred
from discreet.engines.sources.arrow_types import LosslessRead
from discreet.engines.sources.source import Source, unreadable_column
from discreet.engines.sources.workspace import Workspace
from discreet.engines.sql import aggregates, contribution_bounding, expressions, joins, unknown_keys
from discreet.engines.sql.blocks import LARGEST_BLOCK, Block, Spool, split_of, split_sql
from discreet.engines.sql.contribution_bounding import TableRelation
from discreet.engines.sql.dialect import Dialect, StorageType
from discreet.engines.sql.interrupts import Outcome
from discreet.errors import SourceError, suggestion
from discreet.plan.fingerprint import digest
from discreet.plan.physical import KeyedTable, Pushdown, Scan, SumSteps, Term

_LONGEST_NAME = 40


class SQLEngine(MarginalTables, ABC):
    """An engine that is asked in SQL; a subclass supplies the dialect and the hooks below."""

    dialect: ClassVar[Dialect]
    keeps_rows_at_once: ClassVar[bool] = False

    def __init__(
        self,
        sources: Mapping[str, RegisteredSource],
        workspace: Workspace,
        *,
        memory_limit: str | None = None,
        threads: int | None = None,
    ) -> None:
        self._sources = dict(sources)
        self._workspace = workspace
        self._shelf = Shelf()
        self._places: dict[str, TableRelation] = {}
        with ExitStack() as undo:
            undo.callback(workspace.close)
            self._open(memory_limit, threads, undo)
            for name in self._sources:
                self._place(name)
            undo.pop_all()

    def require(self, table: str, columns: Mapping[str, ColumnType]) -> None:
        """Refuse a declaration of columns that the source does not have, or holds in a form with no such reading."""
        place, source = self._place(table), self._sources[table].source
        stored = place.stored
        for column, declared in columns.items():
            if column in source.unreadable:
                raise unreadable_column(table, column, source)
            if column not in stored:
                raise SourceError(
                    f"column {column!r} of {table!r}",
                    because="it is declared, and the source has no column of that name",
                    instead=suggestion(column, stored),
                )
            if (stored[column], declared) not in place.reads:
                raise _unfit(table, column, place, declared)

    def adopt(self, table: str, hash_key: int) -> None:
        """Take the key that orders a table's rows; it comes from the ledger, before the first query runs."""
        self._sources[table] = replace(self._sources[table], hash_key=hash_key)
        self._places[table] = replace(self._place(table), key=hash_key)

    def prepare(self, question: Pushdown) -> PreparedQuery:
        """Bind a query without reading a protected row; what its SQL cannot say is refused here."""
        scan = question.scan
        self._require_all(scan)
        if self.has_inferred(scan):
            question = inferred.canonical(question)
            scan = question.scan
        states = self._states(scan)
        materialised = (
            scan.max_rows is not None
            or scan.base is not None
            or self._is_slow_to_read(self._sources[scan.table].source)
        )
        stored = self._storable(question) if materialised else {}
        rows_name = self._relation_name("rows", (scan, states) if states else scan) if materialised else None
        prepared = PreparedQuery(
            question,
            rows_name=rows_name,
            rows_sql=contribution_bounding.bounded_rows_sql(scan, self._place_of(scan), self.dialect, stored),
            stored=stored,
            keys_name=self._relation_name("keys", question.keys),
            states=states,
        )
        self.answer_sql(self._narrowed(replace(prepared, rows_name=None)))
        if not self._can_compile(prepared):
            raise compile_error(self.dialect.name)
        if rows_name is not None:
            self._shelf.want(rows_name)
        return prepared

    def answer_sql(self, prepared: PreparedQuery) -> str:
        """The SQL of an answer, over bounded rows that hold the steps that are named there."""
        question, stored = prepared.question, prepared.stored
        rows = prepared.rows_name or f"({prepared.rows_sql}) AS rows"
        hash_key = self._sources[question.scan.table].hash_key
        if question.keys.at_least is not None:
            return unknown_keys.found_sql(question, rows, hash_key, self.dialect, stored)
        return aggregates.aggregate_sql(question, rows, prepared.keys_name, hash_key, self.dialect, stored)

    def run(self, prepared: PreparedQuery) -> list[list[int]] | KeyedTable:
        """Answer a bound query in whole numbers, and in keys where those are open."""
        with (
            self._use_connection(*_tables_of(prepared)) as connected,
            self._tables(prepared, connected) as answerable,
        ):
            sql = self.answer_sql(self._narrowed(answerable))
            if prepared.question.keys.at_least is not None:
                return unknown_keys.parse_keys(prepared.question, self._rows_by_key(connected, sql, prepared.question))
            columns = self._fetch_columns(connected, sql)
        keys, measures = len(prepared.question.keys.rows), len(prepared.question.measures)
        if keys and [len(column) for column in columns] != [keys] * measures:
            raise RuntimeError("the engine answered another number of keys or measures")
        return columns if keys else [[] for _ in range(measures)]

    def prepare_blocks(self, question: Pushdown, columns: Mapping[str, Term], number: int) -> PreparedBlocks:
        """Bind a split of a query's rows without reading one; its keys and measures play no part."""
        if self.has_inferred(question.scan):
            columns = {name: inferred.canonical(term) for name, term in columns.items()}
        split = split_of(columns, number)
        prepared = PreparedBlocks(self.prepare(question), split)
        rows = f"({prepared.rows.rows_sql}) AS rows"
        if not self._takes(question.scan.table, self._split_sql(prepared, rows)):
            raise compile_error(self.dialect.name)
        return prepared

    def blocks(self, prepared: PreparedBlocks, *, largest: int | None = LARGEST_BLOCK) -> Iterator[Block]:
        """Every block with its number, 0 first; the engine makes one pass, at the first of them.

        A block of more than `largest` bytes is None; without that number no block is.
        """
        with Spool(prepared.split, self._workspace.path, largest) as spool:
            self._fill(spool, prepared)
            yield from spool.blocks()

    def _fill(self, spool: Spool, prepared: PreparedBlocks) -> None:
        with (
            self._use_connection(*_tables_of(prepared.rows)) as connected,
            self._tables(prepared.rows, connected) as rows,
        ):
            source = rows.rows_name or f"({rows.rows_sql}) AS rows"
            for batch in self._stream(connected, self._split_sql(prepared, source), prepared.split.stream_schema):
                spool.add(batch)

    def _split_sql(self, prepared: PreparedBlocks, rows: str) -> str:
        question = prepared.rows.question
        key = self._sources[question.scan.table].hash_key
        return split_sql(prepared.split, question.scan, question.predicate, rows, key, self.dialect)

    def _takes(self, table: str, sql: str) -> bool:  # noqa: ARG002 - most engines compile all SQL that is emitted
        """Whether the engine takes SQL, found out without a row."""
        return True

    def place(self, table: str, reads: Mapping[str, str] | None = None) -> TableRelation:  # noqa: ARG002
        """Where the rows of a table are read, by its schema; columns of `lossless_reads` may have other reads."""
        return self._place(table)

    def lossless_reads(self, table: str) -> Mapping[str, LosslessRead]:  # noqa: ARG002 - most engines lose nothing
        """The columns whose total reads lose bytes or nanoseconds, by the schema of a table."""
        return {}

    def stream(self, table: str, sql: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """The rows of a statement over one table, uncharged: for tools of the owner."""
        with self._use_connection(table) as connected:
            yield from self._stream(connected, sql, schema)

    def progress(self) -> Stage | None:
        """How far the engine is with what it runs now, where it can tell; it depends on the rows."""
        return None

    def exposures(self) -> tuple[str, ...]:
        """Records outside discreet that show exact row counts of what runs here, and are switched on."""
        return ()

    def is_prepared(self, prepared: PreparedQuery) -> bool:
        """Whether the bounded rows of a query are materialised."""
        return prepared.rows_name is None or self._shelf.holds(prepared.rows_name)

    @contextmanager
    def _tables(self, prepared: PreparedQuery, connected: Any) -> Iterator[PreparedQuery]:
        """The tables that an answer needs, made where they are not there yet and kept while it runs.

        Yields the query as it is answered over them. Rows that nobody has asked for before are not kept: making a
        table of them takes longer than one answer, and many sessions ask one query.
        """

        def drop(name: str) -> None:
            self._drop(connected, name)

        def create_keys() -> Mapping[SumSteps, str]:
            self._create_keys(connected, prepared.keys_name, keys_table(prepared.question.keys))
            return {}

        def create_rows() -> Mapping[SumSteps, str]:
            self._create_rows(connected, prepared.rows_name or "", prepared.rows_sql)
            self._refuse_changed_tables(connected, prepared)
            return prepared.stored

        with ExitStack() as needed:
            if prepared.question.keys.columns and prepared.question.keys.at_least is None:
                needed.enter_context(self._shelf.table(prepared.keys_name, create_keys, drop))
            if prepared.rows_name is None or not self._is_worth_keeping(prepared, prepared.rows_name):
                yield replace(prepared, rows_name=None)
            else:
                stored = needed.enter_context(self._shelf.table(prepared.rows_name, create_rows, drop))
                yield replace(prepared, stored=stored)

    def _narrowed(self, answerable: PreparedQuery) -> PreparedQuery:
        """Rows that are read for one answer alone, reduced to what it reads before they are ranked."""
        if answerable.rows_name is not None:
            return answerable
        question, stored = answerable.question, answerable.stored
        place = self._place_of(question.scan)
        rows_sql = contribution_bounding.rows_of_one_answer_sql(question, place, self.dialect, stored)
        return replace(answerable, rows_sql=rows_sql)

    def _is_worth_keeping(self, prepared: PreparedQuery, rows_name: str) -> bool:
        """Whether rows are kept for this answer: from the second query on, and those of joins from the first."""
        if self.keeps_rows_at_once or prepared.question.scan.base is not None:
            return True
        return self._shelf.is_wanted_again(rows_name)

    def _place(self, table: str) -> TableRelation:
        if table not in self._places:
            relation, stored = self._describe(table, self._sources[table].source)
            registered = self._sources[table]
            reads = inferred.READS if registered.source.is_inferred else self.dialect.reads
            self._places[table] = TableRelation(relation, stored, registered.hash_key, reads)
        return self._places[table]

    def _require_all(self, scan: Scan) -> None:
        """Refuse columns that a source does not have, and tables that this engine does not read."""
        if scan.base is None:
            self.require(scan.table, {read.column: read.type for read in scan.columns})
            return
        for table, columns in joins.columns_of(scan.base).items():
            if table not in self._sources:
                raise SourceError(
                    f"a join of {scan.table!r} and {table!r}",
                    because="their rows are in different places, and none of them travel to be joined",
                    instead=f"{table!r} where {scan.table!r} is: in the same database, or on the same engine",
                )
            self.require(table, columns)

    def _place_of(self, scan: Scan) -> TableRelation:
        """Where the rows of a scan are read: a table, or a query over several."""
        own = self._place(scan.table)
        if scan.base is None:
            return own
        query = joins.relation(scan.base, self._places_of(scan), self.dialect)
        return replace(own, relation=f"({query}) AS related")

    def _places_of(self, scan: Scan) -> joins.Places:
        known = {leaf.table: self._place(leaf.table) for leaf in scan.leaves}
        reads = {name: place.reads for name, place in known.items()}
        if self.has_inferred(scan):  # all text of such a query is read in one form, or its joins would find nothing
            reads = {name: {**each, inferred.TEXT: inferred.READS[inferred.TEXT]} for name, each in reads.items()}
        return {name: (place.relation, place.stored, reads[name]) for name, place in known.items()}

    def has_inferred(self, scan: Scan) -> bool:
        """Whether a query reads an in-memory table whose column types were inferred."""
        return any(leaf.table in self._sources and self._sources[leaf.table].source.is_inferred for leaf in scan.leaves)

    def _states(self, scan: Scan) -> contents.States:
        """The states of the public tables that a scan reads, before anything is charged."""
        tables = contents.public_tables(scan)

        def read() -> contents.States:
            with self._use_connection(*tables) as connected:
                return self._read_states(connected, scan)

        with suppress(Exception):  # any exception of the driver
            return self._cancellable(read) if tables else ()
        raise contents.unreadable(tables)

    def _read_states(self, connected: Any, scan: Scan) -> contents.States:
        queries = contents.queries(scan, self._places_of(scan), self.dialect)
        return tuple((table, ":".join(map(str, self._fetch(connected, sql)[0]))) for table, sql in queries)

    def _refuse_changed_tables(self, connected: Any, prepared: PreparedQuery) -> None:
        """Drop rows that were stored while a public table changed: the fingerprint names other rows."""
        if not prepared.states:
            return
        name = prepared.rows_name or ""
        self._fetch(connected, f"SELECT count(*) FROM {name}")  # an engine may make rows when they are first read
        if self._read_states(connected, prepared.question.scan) != prepared.states:
            self._drop(connected, name)
            raise RuntimeError("a public table changed while it was read")

    def _cancellable(self, run: Callable[[], Outcome]) -> Outcome:
        """Run what reads outside of a query; an engine whose drivers need more for that says so."""
        return run()

    def _relation_name(self, kind: str, thing: object) -> str:
        return f"{kind}_{digest(thing)[:_LONGEST_NAME]}"

    def _storable(self, question: Pushdown) -> dict[SumSteps, str]:
        """The steps that kept rows may hold; refuses steps that cannot be stored for any cells."""
        return expressions.storable(question)

    def _is_slow_to_read(self, source: Source) -> bool:  # noqa: ARG002 - engines differ
        """Whether rows are worth keeping in the engine's own form even where no contribution bound asks for it."""
        return False

    def _can_compile(self, prepared: PreparedQuery) -> bool:  # noqa: ARG002 - most engines compile all SQL that is emitted
        """Whether the engine takes the SQL of a query, found out before anything is charged and without a row."""
        return True

    @abstractmethod
    def _open(self, memory_limit: str | None, threads: int | None, undo: ExitStack) -> None:
        """Connect; register with `undo` what to release if a later step fails."""

    @abstractmethod
    def _describe(self, table: str, source: Source) -> tuple[str, dict[str, StorageType]]:
        """The relation to read, and how it stores each column; no row is read."""

    @abstractmethod
    def _use_connection(self, *tables: str) -> AbstractContextManager[Any]:
        """A context manager with the connection that the other hooks need in this thread."""

    @abstractmethod
    def _create_rows(self, connected: Any, name: str, sql: str) -> None:
        """Keep the rows of a query under a name."""

    @abstractmethod
    def _create_keys(self, connected: Any, name: str, keys: pa.Table) -> None:
        """Keep public keys under a name."""

    def _drop(self, connected: Any, name: str) -> None:
        """Drop what was kept under a name."""
        connected.execute(f"DROP TABLE IF EXISTS {name}")

    @abstractmethod
    def _fetch(self, connected: Any, sql: str) -> Sequence[Sequence[Any]]:
        """The few rows of an answer, in order, as whole numbers or their text."""

    def _fetch_columns(self, connected: Any, sql: str) -> list[list[int]]:
        """The columns of an answer, as whole numbers of any size."""
        return [list(map(int, column)) for column in zip(*self._fetch(connected, sql), strict=True)]

    def _rows_by_key(self, connected: Any, sql: str, question: Pushdown) -> Iterable[tuple[Any, ...]]:
        """Keys in their own types and measures as digits, a row for each key that was found."""
        return unknown_keys.rows_of(self._stream(connected, sql, unknown_keys.schema(question)))

    @abstractmethod
    def _stream(self, connected: Any, sql: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """The many rows of a query, a bounded number at a time, in the types of a schema."""

    @abstractmethod
    def close(self) -> None:
        """Give back everything, prepared tables and spill files included."""


class OneConnection(SQLEngine):
    """An engine over one connection that has `execute`; its queries take turns.

    Rows are kept at once: whether rows and answer compile is found out for each, and both in one nest deeper.
    """

    keeps_rows_at_once: ClassVar[bool] = True

    def _open(self, memory_limit: str | None, threads: int | None, undo: ExitStack) -> None:  # noqa: ARG002
        self._turn = threading.Lock()
        (address,) = {registered.source.address for registered in self._sources.values()}
        self._connection = self.open_connection(address or "")
        undo.callback(self._connection.close)

    def close(self) -> None:
        """Give back everything, prepared tables included."""
        self._connection.close()
        self._workspace.close()

    @contextmanager
    def _use_connection(self, *tables: str) -> Iterator[Any]:  # noqa: ARG002 - all tables share one
        with self._turn:
            yield self._connection

    def _can_compile(self, prepared: PreparedQuery) -> bool:
        """By EXPLAIN, the rows over the source and the answer over nothing."""
        question, rows_name = prepared.question, prepared.rows_name
        columns = [self.dialect.identifier(read.column) for read in question.scan.columns]
        keys = [*aggregates.ordinal_columns(question.keys), *(f"k{i}" for i in range(len(question.keys.columns)))]
        over_nothing = replace(
            prepared, rows_name=rows_name and f"{_nothing(columns)} AS rows", keys_name=_nothing(keys), stored={}
        )
        statements = (prepared.rows_sql, self.answer_sql(over_nothing))
        return all(self._takes(question.scan.table, sql) for sql in statements)

    def _takes(self, table: str, sql: str) -> bool:
        try:
            with self._use_connection(table) as connected:
                connected.execute(f"EXPLAIN {sql}").fetchall()
        except Exception:  # noqa: BLE001 - any exception of the driver
            return False
        return True

    def _create_rows(self, connected: Any, name: str, sql: str) -> None:
        self._create(connected, name, f"AS {sql}")

    def _create(self, connected: Any, name: str, what: str) -> None:
        self._drop(connected, name)
        connected.execute(f"CREATE TABLE {name} {what}")

    def _fetch(self, connected: Any, sql: str) -> Sequence[Sequence[Any]]:
        return list(connected.execute(sql).fetchall())

    @staticmethod
    @abstractmethod
    def open_connection(address: str) -> Any:
        """A connection that can do nothing but read the source and keep tables of its own."""


def _tables_of(prepared: PreparedQuery) -> tuple[str, ...]:
    """The tables that a query reads, each once."""
    return tuple(dict.fromkeys(leaf.table for leaf in prepared.question.scan.leaves))


def _unfit(table: str, column: str, place: TableRelation, declared: ColumnType) -> SourceError:
    stored = place.stored[column]
    fitting = [str(kind) for kind in ColumnType if (stored, kind) in place.reads]
    return SourceError(
        f"column {column!r} of {table!r} as {declared}",
        because=f"the source holds {stored}, which has no portable cast to {declared}",
        instead=" or ".join(f'types={{{column!r}: "{kind}"}}' for kind in fitting[:2]),
    )


def _nothing(names: Sequence[str]) -> str:
    return f"(SELECT {', '.join(f'NULL AS {name}' for name in names) or 'NULL'})"
