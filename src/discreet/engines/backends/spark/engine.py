"""Spark: the engine of data too large for one machine; rows stay in its executors, and only the answer leaves them.

Queries run in a session of our own beside the owner's, in the same application: it has its own settings, views and
functions, so nothing that is set, named or registered in the owner's session changes what our SQL means. The SQL itself
depends on no setting either: times carry no zone, casts are TRY_CAST, and odd text is written in hexadecimal digits.
"""

import re
import secrets
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from importlib.util import find_spec
from typing import Any, ClassVar

import pyarrow as pa

from discreet.catalog.catalog import ColumnType
from discreet.engines.backends.spark import connect
from discreet.engines.backends.spark import jobs as spark_jobs
from discreet.engines.backends.spark import plans as spark_plans
from discreet.engines.backends.spark import rows as spark_rows
from discreet.engines.backends.spark.people import Add, Encode, PeopleInCluster, can_import, encode_frame
from discreet.engines.prepared import PreparedBlocks, PreparedMarginals, PreparedQuery, RegisteredSource
from discreet.engines.progress import Stage
from discreet.engines.sources.arrow_types import distinct_names
from discreet.engines.sources.source import UNSTATED, Source, Statements, unwanted_table
from discreet.engines.sql import bins, casts, functions
from discreet.engines.sql.blocks import Spool
from discreet.engines.sql.dialect import DRAFTED, Dialect, StorageType
from discreet.engines.sql.interrupts import Outcome, cancellable
from discreet.engines.sql_engine import SQLEngine
from discreet.errors import ParameterError, Refusal, SourceError, UnsupportedError
from discreet.plan.physical import KeyedTable, Pushdown, Term
from discreet.plan.slots import Counts

KIND = "spark"
_EPOCH = "TIMESTAMP_NTZ '1970-01-01 00:00:00'"
_IN_UTC = f"timestampadd(MICROSECOND, unix_micros({{0}}), {_EPOCH})"
_WITH_SECONDS = (  # Spark reads no offset behind a time without seconds
    "concat(substr({0}, 1, 16), CASE WHEN substr({0}, 17, 1) = ':' THEN '' ELSE ':00' END, substr({0}, 17))"
)
_PLAIN = re.compile(r"[A-Za-z0-9 ._:-]*")


def _text(value: str) -> str:
    """Text that no setting reads as anything else: escapes, variables and quotes never stand in a literal."""
    return f"'{value}'" if _PLAIN.fullmatch(value) else f"CAST(X'{value.encode().hex()}' AS STRING)"


def _long(key: int) -> str:
    """A 64-bit key as the signed number of the same bits."""
    return f"({key if key < 2**63 else key - 2**64}L)"


def _keyed_hash(columns: Mapping[str, ColumnType], key: int) -> str:
    """xxhash64 skips missing values, so which of them are missing is hashed too: (NULL, 5) and (5, NULL) would tie."""
    marked = (f"{column} IS NULL, {column}" for column in columns)
    return f"xxhash64({', '.join((*marked, _long(key)))})"


# Spark inlines the operand of NULLIF where it stands more than once, and products within each other double each time.
_LIMITED = "get(filter(array({0}), discreet_real -> discreet_real > -{1} AND discreet_real < {1}), 0)"

_ARRAYS = {
    ColumnType.INTEGER: "BIGINT",
    ColumnType.REAL: "DOUBLE",
    ColumnType.DATE: "DATE",
    ColumnType.TIMESTAMP: "TIMESTAMP_NTZ",
}


def _search(value: str, edges: Sequence[str], kind: ColumnType) -> str:
    """By strides through an array; the code of a tree of comparisons outgrows what Java compiles."""
    listed = f"TRY_CAST(split({_text('_'.join(edges))}, '_') AS ARRAY<{_ARRAYS[kind]}>)"
    stride = bins.stride(f"get({listed}, {bins.REACHED} + {bins.STRIDE} - 1)")
    strides = ", ".join(map(str, bins.strides(len(edges))))
    reached = f"aggregate(array({strides}), 0, ({bins.REACHED}, {bins.STRIDE}) -> {stride})"
    present = f"CASE WHEN {bins.VALUE} IS NOT NULL THEN {reached} END"
    return f"get(transform(array({value}), {bins.VALUE} -> {present}), 0)"


DIALECT = Dialect(
    name="spark",
    reads=casts.standard(
        casts.Primitives(
            # \z and not $, which also matches before a line break at the end
            matches=f"({{0}} RLIKE concat({_text('^(?:')}, {{1}}, {_text(')' + chr(92) + 'z')}))",
            double="TRY_CAST({0} AS DOUBLE)",
            bigint="TRY_CAST({0} AS BIGINT)",
            varchar="TRY_CAST({0} AS STRING)",
            date="TRY_CAST({0} AS DATE)",
            timestamp="TRY_CAST({0} AS TIMESTAMP_NTZ)",
            zoned_text=_IN_UTC.format(f"TRY_CAST({_WITH_SECONDS} AS TIMESTAMP_LTZ)"),
            zoned=_IN_UTC,
            # adding 0.5 to 38 digits would round the last of them away
            decimal="TRY_CAST(TRY_CAST(floor({0}) AS DECIMAL(38, 0)) "
            "+ CASE WHEN pmod({0}, 1) >= 0.5 THEN 1 ELSE 0 END AS BIGINT)",
            decimal_real="TRY_CAST({0} AS DOUBLE)",
            moment="TIMESTAMP_NTZ '{0}'",
            limited=_LIMITED,
        )
    ),
    # without a zone the function is not there; the session is in UTC
    functions=functions.functions(
        {"starts": "startswith({0}, {1})", "ends": "endswith({0}, {1})", "contains": "contains({0}, {1})"},
        functions.every_unit("TRY_CAST(date_trunc('{1}', TRY_CAST({0} AS TIMESTAMP_LTZ)) AS DATE)"),
        functions.every_unit("TRY_CAST(date_trunc('{1}', TRY_CAST({0} AS TIMESTAMP_LTZ)) AS TIMESTAMP_NTZ)"),
        functions.every_part("CAST({1}({0}) AS BIGINT)", "CAST(weekday({0}) + 1 AS BIGINT)"),
    ),
    keyed_hash=_keyed_hash,
    micros=f"timestampdiff(MICROSECOND, {_EPOCH}, {{0}})",
    whole="CAST({0} AS DECIMAL(38, 0))",
    large_sum="sum(CAST({0} AS DECIMAL(20, 0)))",
    record="struct({0})",
    unordered=" ORDER BY 1",
    part="CAST(pmod({0}, {1}) AS INT)",
    part_of_text="CAST(CAST(conv(left({0}, 15), 16, 10) AS BIGINT) % {1} AS INT)",
    together="DISTRIBUTE BY {0} SORT BY {0}",
    groups_by_unit=True,
    search=_search,
    limited=_LIMITED,
    quotient="try_divide({0}, {1})",
    quote="`",
    text=_text,
    varchar="TRY_CAST({0} AS STRING)",
    bigint="TRY_CAST({0} AS BIGINT)",
    timestamp="TIMESTAMP_NTZ {0}",
)
_quoted = DIALECT.identifier

_STORED = {
    **dict.fromkeys(("byte", "short", "integer", "long"), StorageType.INTEGER),
    **dict.fromkeys(("float", "double"), StorageType.REAL),
    **dict.fromkeys(("string", "char", "varchar", "void"), StorageType.TEXT),
    "decimal": StorageType.DECIMAL,
    "boolean": StorageType.BOOLEAN,
    "date": StorageType.DATE,
    "timestamp": StorageType.ZONED,
    "timestamp_ntz": StorageType.TIMESTAMP,
}
_OURS = {
    "spark.sql.ansi.enabled": "false",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.ansi.enforceReservedKeywords": "false",
    "spark.sql.caseSensitive": "true",
    "spark.sql.decimalOperations.allowPrecisionLoss": "true",
    "spark.sql.groupByAliases": "true",
    # kept rows of a small table would stay in as many parts as shuffles have, each with the cost of a task
    "spark.sql.optimizer.canChangeCachedPlanOutputPartitioning": "true",
    # a contribution bound of more rows than this would be applied only after all rows of a unit have met in one task
    "spark.sql.optimizer.windowGroupLimitThreshold": str(2**31 - 1),
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
    "spark.sql.variable.substitute": "false",
}
_THEIRS = (
    "spark.sql.adaptive.",
    "spark.sql.autoBroadcastJoinThreshold",
    "spark.sql.files.",
    "spark.sql.inMemoryColumnarStorage.",
    "spark.sql.shuffle.",
)
_LEFT_OUT = ("spark.sql.legacy.", "spark.sql.optimizer.excludedRules", "spark.sql.session.collation.")
_STRICT_READERS = (
    "spark.sql.parquet.datetimeRebaseModeInRead",
    "spark.sql.parquet.int96RebaseModeInRead",
    "spark.sql.avro.datetimeRebaseModeInRead",
)
_SHOWING_ROWS = {
    "spark.ui.enabled": ("true", "Spark's web pages"),
    "spark.eventLog.enabled": ("false", "Spark's event log"),
}


def is_source(data: object) -> bool:
    """Whether this is a DataFrame of Spark, or a session that a table is read from; the driver is not imported."""
    kind = type(data)
    return kind.__module__.startswith("pyspark.sql.") and kind.__name__ in ("DataFrame", "SparkSession")


def has_tables(data: object) -> bool:
    """Whether it is a session, of which a table must be named, and not a DataFrame."""
    return type(data).__name__ == "SparkSession"


def source(data: object, table: str | None, stated: Statements = UNSTATED) -> Source:
    """A DataFrame, or a table of a session, unread: its schema is asked for, never a row."""
    if find_spec("pyspark") is None:
        raise SourceError(
            "a source on Spark", because="pyspark is not installed", instead="pip install 'discreet[spark]'"
        )
    if table is not None and not has_tables(data):
        raise unwanted_table(table, "a Spark DataFrame")
    try:
        return _open_frame(_table_of(data, table) if has_tables(data) else data, stated)
    except Refusal:
        raise
    except Exception as error:  # noqa: BLE001 - the driver's own words may quote what it was reading
        is_absent = "NOT_FOUND" in str(getattr(error, "getCondition", str)())
    if is_absent and table is not None:
        raise SourceError(
            f"no table {table!r} in this Spark session",
            because="neither its catalog nor its temporary views have that name",
            instead="a name that spark.catalog.listTables() shows, with its database: table='clinic.visits'",
        )
    raise _unreadable()


def draft(source: Source) -> dict[str, ColumnType]:
    """The types that a DataFrame's schema says."""
    fields = source.frame.schema.fields  # type: ignore[union-attr]
    return {
        field.name: ColumnType.BINARY if field.dataType.typeName() == "binary" else DRAFTED[_storage_type(field)]
        for field in fields
    }


def _table_of(session: Any, table: str | None) -> Any:
    if not table:
        raise SourceError(
            "a Spark session without a table",
            because="it may hold several",
            instead='dp.protect(spark, table="clinic.visits", name="visits", ...)',
        )
    return session.table(table)


def _open_frame(frame: Any, stated: Statements) -> Source:
    if frame.isStreaming:
        raise SourceError(
            "a streaming DataFrame",
            because="every query reads all rows, and a stream has no end",
            instead="a table that the stream is written to",
        )
    for setting in _STRICT_READERS:
        if (frame.sparkSession.conf.get(setting, None) or "").upper() == "EXCEPTION":
            raise SourceError(
                f"a DataFrame read with {setting}=EXCEPTION",
                because="one row with an ancient date would make the read fail",
                instead=f'spark.conf.set("{setting}", "CORRECTED")',
            )
    plans = connect if spark_jobs.is_remote(frame.sparkSession) else spark_plans
    rows = plans.admit(frame, stated)
    names = [field.name for field in rows.frame.schema.fields]
    columns = distinct_names(names, are_public=stated.fixed_schema)
    return Source("spark", rows.identity, columns, frame=rows.frame)


def _unreadable(because: str = "its application has ended, or its schema cannot be read") -> SourceError:
    return SourceError(
        "a Spark source that cannot be opened",
        because=because,
        instead='dp.protect(spark.table("clinic.visits"), name="visits", ...) in a running session',
    )


def _storage_type(field: Any) -> StorageType:
    return _STORED.get(field.dataType.typeName(), StorageType.OTHER)


class Spark(SQLEngine):
    """A session of our own in the application that the DataFrames belong to."""

    dialect: ClassVar[Dialect] = DIALECT
    marginals_at_once: ClassVar[int] = 16

    def _open(self, memory_limit: str | None, threads: int | None, undo: ExitStack) -> None:
        self._token = secrets.token_hex(8)
        self._kept: dict[str, Any] = {}
        self._running: list[str] = []
        self._own = threading.local()
        _require_no_limits(memory_limit, threads)
        self._session = _open_session(self._sources)
        undo.callback(self.close)

    def close(self) -> None:
        """Give back everything, persisted rows included; the owner's application goes on."""
        for name in reversed(list(self._kept)):  # Connect finds persisted rows by the views that they read
            with suppress(Exception):  # an application that has ended holds nothing any more
                self._drop(self._session, name)
        self._workspace.close()

    def prepare(self, question: Pushdown) -> PreparedQuery:
        """Bind a query without reading a row; an ended application is refused before a charge."""
        if spark_jobs.has_ended(self._session):
            raise _unreadable("its application has ended")
        return super().prepare(question)

    def progress(self) -> Stage | None:
        """How many of the stages that are known so far are done; Spark finds new ones as it goes."""
        running = self._running[-1:]  # read once: a running query may end a moment later
        if not running or spark_jobs.is_remote(self._session):
            return None
        tracker = self._session.sparkContext.statusTracker()
        jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(*running)]
        stages = {stage for job in jobs if job is not None for stage in job.stageIds}
        known = [info for info in map(tracker.getStageInfo, stages) if info is not None]
        done = sum(info.numCompletedTasks >= info.numTasks for info in known)
        return Stage(done, len(stages), "stages") if stages else None

    def exposures(self) -> tuple[str, ...]:
        """Spark's own records of what ran, which show how many rows passed each operator."""
        settings = {name: self._session.conf.get(name, default) for name, (default, _) in _SHOWING_ROWS.items()}
        return tuple(
            f"{_SHOWING_ROWS[name][1]} ({name}={value})" for name, value in settings.items() if value.lower() == "true"
        )

    def run(self, prepared: PreparedQuery) -> list[list[int]] | KeyedTable:
        """Answer a bound query in whole numbers; an interrupt ends its own jobs and no others."""
        return self._cancellable(lambda: super(Spark, self).run(prepared))

    def prepare_blocks(self, question: Pushdown, columns: Mapping[str, Term], number: int) -> PreparedBlocks:
        """Bind a split without reading a row; executors that cannot transfer rows are refused before a charge."""
        prepared = super().prepare_blocks(question, columns, number)
        if not spark_rows.is_here(self._session) and not self._cancellable(self._can_pack):
            raise UnsupportedError(
                "rows in blocks on this Spark",
                because="its executors have no Python with pyarrow, which hands rows over",
                instead="executors with the Python of the driver: spark.pyspark.python, and pyarrow in it",
            )
        return prepared

    def stream(self, table: str, sql: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """The rows of a statement; an error or an interrupt ends its own jobs and no others."""
        self._own.mark = mark = f"discreet-{secrets.token_hex(8)}"
        try:
            with spark_jobs.without_cells_in_logs():
                yield from super().stream(table, sql, schema)
        except BaseException:
            spark_jobs.cancel(self._session, mark)
            raise

    def marginals(self, prepared: PreparedMarginals) -> Counts:
        """The exact counts of every marginal; an interrupt ends its own jobs and no others."""
        return self._cancellable(lambda: super(Spark, self).marginals(prepared))

    def _cells(self, connected: Any, sql: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """By Arrow at once: they are bounded, and executors of a cluster may have no Python to pack rows with."""
        yield from connected.sql(sql).toArrow().cast(schema).to_batches()

    @contextmanager
    def people(self, prepared: PreparedBlocks, encode: Encode, add: Add) -> Iterator[PeopleInCluster]:
        """People whose codes stay in the executors until the end; each sum is one job."""
        names, rows = prepared.split.schema.names, f"({prepared.rows.rows_sql}) AS rows"
        frame = encode_frame(self._session.sql(self._split_sql(prepared, rows)), names, encode)
        try:
            yield PeopleInCluster(frame, add, self._run_job)
        finally:
            frame.unpersist()

    def has_modules(self, modules: Sequence[str]) -> bool:
        """Whether executors have some modules."""
        return bool(self._run_job(lambda: can_import(self._session, modules)))

    def _run_job(self, job: Callable[[], Outcome]) -> Outcome:
        def run() -> Outcome:
            with self._use_connection():
                return job()

        return self._cancellable(run)

    def _can_pack(self) -> bool:
        with self._use_connection():
            return spark_rows.can_pack(self._session)

    def _fill(self, spool: Spool, prepared: PreparedBlocks) -> None:
        self._cancellable(lambda: super(Spark, self)._fill(spool, prepared))

    def _cancellable(self, run: Callable[[], Outcome]) -> Outcome:
        mark = f"discreet-{secrets.token_hex(8)}"

        def run_with_mark() -> Outcome:
            self._own.mark = mark
            return run()

        with spark_jobs.interrupts_reach_us(), spark_jobs.without_cells_in_logs():
            return cancellable(run_with_mark, lambda: spark_jobs.cancel(self._session, mark))

    @contextmanager
    def _use_connection(self, *tables: str) -> Iterator[Any]:  # noqa: ARG002 - one session serves all tables
        """Our session, with the mark of this query on what this thread runs in it."""
        mark = self._own.mark
        with spark_jobs.mark_jobs(self._session, mark):
            self._running.append(mark)
            try:
                yield self._session
            finally:
                self._running.remove(mark)

    def _describe(self, table: str, source: Source) -> tuple[str, dict[str, StorageType]]:
        """A view of the DataFrame in our session; one of its kind for all sessions exists only while it is made."""
        frame: Any = source.frame
        name = self._relation_name("source", table)
        try:
            columns = ", ".join(_column_sql(field) for field in frame.schema.fields)
            _share(frame, self._session, name)
        except Exception:  # noqa: BLE001 - the driver's own words may quote what it was reading
            shared = False
        else:
            shared = True
        if not shared:
            raise _unreadable()
        self._kept[name] = None
        return f"(SELECT {columns} FROM {name})", {field.name: _storage_type(field) for field in frame.schema.fields}

    def _relation_name(self, kind: str, thing: object) -> str:
        return f"discreet_{self._token}_{super()._relation_name(kind, thing)}"

    def _create_rows(self, connected: Any, name: str, sql: str) -> None:
        """Keep rows in the executors, in columns, beyond memory on their disks; the first answer computes them."""
        from pyspark import StorageLevel  # noqa: PLC0415 - an optional driver

        self._kept[name] = connected.sql(sql).persist(StorageLevel.MEMORY_AND_DISK)
        self._kept[name].createOrReplaceTempView(name)

    def _create_keys(self, connected: Any, name: str, keys: pa.Table) -> None:
        self._kept[name] = None
        connected.createDataFrame(keys).createOrReplaceTempView(name)

    def _drop(self, connected: Any, name: str) -> None:
        kept = self._kept.pop(name, None)
        if kept is not None:
            kept.unpersist()
        connected.catalog.dropTempView(name)

    def _fetch(self, connected: Any, sql: str) -> Sequence[Sequence[Any]]:
        return list(connected.sql(sql).collect())

    def _rows_by_key(self, connected: Any, sql: str, question: Pushdown) -> Iterable[tuple[Any, ...]]:  # noqa: ARG002
        """Collected, since executors of a cluster may have no Python to pack rows with."""
        return [tuple(row) for row in connected.sql(sql).collect()]

    def _stream(self, connected: Any, sql: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        yield from spark_rows.stream_rows(connected, sql, schema, self._workspace.path)


def _require_no_limits(memory_limit: str | None, threads: int | None) -> None:
    limits = {"memory_limit": memory_limit, "threads": threads}
    if given := [f"{name}={value!r}" for name, value in limits.items() if value is not None]:
        raise ParameterError(
            ", ".join(given),
            because="Spark's memory and cores are given when its application starts",
            instead='leave it out; SparkSession.builder.config("spark.executor.memory", "4g")',
        )


def _open_session(sources: Mapping[str, RegisteredSource]) -> Any:
    """A new session in the application of the first DataFrame, with the settings that our SQL was written for."""
    frame: Any = next(iter(sources.values())).source.frame
    try:
        theirs = frame.sparkSession.conf.getAll
        session = frame.sparkSession.newSession()
        for setting in session.conf.getAll:
            if setting.startswith(_LEFT_OUT):
                session.conf.unset(setting)
        kept = {name: value for name, value in theirs.items() if name.startswith(_THEIRS)}
        for setting, value in (kept | _OURS).items():
            # setting a deprecated name prints a warning, even where its value stays the same
            if session.conf.isModifiable(setting) and (setting in kept or session.conf.get(setting) != value):
                session.conf.set(setting, value)
    except Exception:  # noqa: BLE001 - the driver's own words may quote what it was reading
        opened = None
    else:
        opened = session
    if opened is None:
        raise _unreadable()
    return opened


def _share(frame: Any, session: Any, name: str) -> None:
    frame.createGlobalTempView(name)
    try:
        place = frame.sparkSession.conf.get("spark.sql.globalTempDatabase", "global_temp")
        session.table(f"{place}.{name}").createTempView(name)
    finally:
        frame.sparkSession.catalog.dropGlobalTempView(name)


def _column_sql(field: Any) -> str:
    """A column whose text is compared byte by byte; bytes that are no text are missing."""
    name, kind = _quoted(field.name), field.dataType
    if _storage_type(field) is not StorageType.TEXT:
        return name
    if kind.typeName() != "string":
        return f"TRY_CAST({name} AS STRING) AS {name}"
    valid = f"try_validate_utf8({name})"
    if getattr(kind, "collation", "UTF8_BINARY") != "UTF8_BINARY":
        valid = f"collate({valid}, 'UTF8_BINARY')"
    return f"{valid} AS {name}"


ENGINE: type[SQLEngine] = Spark
