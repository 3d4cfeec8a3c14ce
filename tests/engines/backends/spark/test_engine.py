"""Spark: the same reads as DuckDB under any settings, its own session beside the owner's, nothing left behind."""

import itertools
import os
import signal
import subprocess
import sys
import threading
import time
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from discreet.accounting.filters import Budget
from discreet.catalog.catalog import Catalog, ColumnType
from discreet.engines.backends.duckdb import DuckDB
from discreet.engines.backends.spark import engine as module
from discreet.engines.backends.spark.engine import Spark
from discreet.engines.sources.source import Source, Statements, source_of
from discreet.engines.sources.workspace import Workspace
from discreet.engines.sql.dialect import StorageType
from discreet.engines.sql.expressions import term
from discreet.engines.sql_engine import RegisteredSource
from discreet.errors import ParameterError, SourceError
from discreet.plan.physical import Apply, Constant, Read
from discreet.planner.queries.tables import analyze
from discreet.query import frame

KEY = 2**64 - 3
T = frame.table("t")
N = frame.count()
NAN, INF = float("nan"), float("inf")
LARGEST = 2**63 - 1
FIXED = Statements(fixed_schema=True)


def question(query, columns, **facts):
    declared = {name: {"type": fact} if isinstance(fact, str) else fact for name, fact in columns.items()}
    facts = {"privacy_unit": "id" if "id" in columns else "dp.ROW"} | facts
    if facts["privacy_unit"] != "dp.ROW" and not {"max_rows", "max_rows_per_group"} & facts.keys():
        facts["max_rows"] = 1_000
    catalog = Catalog.model_validate({"tables": {"t": {"columns": declared} | facts}})
    return analyze(query.plan, catalog, Budget(epsilon=1), epsilon=1).pushdown


@pytest.fixture
def opened(tmp_path):
    """Engines over one table `t`, closed at the end."""
    engines = []

    def open_engine(data, kind=Spark):
        if not isinstance(data, Source):
            data = module.source(data, None, FIXED) if kind is Spark else source_of(data)
        engines.append(kind({"t": RegisteredSource(data, KEY)}, Workspace(tmp_path)))
        return engines[-1]

    yield open_engine
    for engine in engines:
        engine.close()


def unchecked(rows):
    """A DataFrame whose plan is not looked at, for types that only expressions outside the allow-list make."""
    return Source("spark", "memory", tuple(rows.columns), frame=rows)


def answer(engine, query, columns, **facts):
    return engine.run(engine.prepare(question(query, columns, **facts)))


# the same reads as DuckDB, cell by cell

TEXTS = [
    *("", " ", "0", "-0", "+7", " 12 ", "12\n", "\n12", "1_000", "1,5", "0x10", "12L", "12d", "1f", "१२"),
    *("9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "1" * 38, "1" * 39),
    *("1.5", "2.5", "-1.5", "-2.5", ".5", "5.", ".", "-.5e1", "1e5", "1E-5", "1e99", "1e100", "1e-400", "1e400"),
    *("0.49999999999999994", "0.1", "1e149", "9007199254740993", "123456789012345678.5", "4.35"),
    *("NaN", "nan", "inf", "-Infinity", "infinity", "null", "NULL", "none"),
    *("t", "T", "true", "TRUE", "tRuE", "yes", "Y", "no", "n", "f", "False", "on", "off", "1", "2", " true", "true\n"),
    *("2020-02-29", "2021-02-29", "2020-2-9", "2020-02-29 ", " 2020-02-29", "0000-01-01", "0001-01-01", "9999-12-31"),
    *("10000-01-01", "-0001-01-01", "1582-10-10", "1900-02-29", "2000-02-29", "2020-04-31", "20200229", "today"),
    *("2020-01-01T00:00:00", "2020-01-01 12:30", "2020-01-01 12:30:59.123456", "2020-01-01 12:30:59.1234567"),
    *("2020-01-01 24:00:00", "2020-01-01 23:59:60", "2020-01-01T12", "2020-03-08 02:30:00", "2020-11-01T01:30:00"),
    *("2020-01-01 12:30Z", "2020-01-01T12:30:00+00:00", "2020-01-01T12:30:00.5+13:59", "2020-01-01T12:30:00-13:00"),
    *("2020-01-01T12:30:00+14:00", "2020-01-01T12:30:00 Europe/Paris", "0001-01-01T00:00:00+01:00"),
    *("9999-12-31T23:59:59-01:00", "0001-01-01T00:00:00-01:00", "2020-01-01T12:30:00+0100"),
    *("é", "e\u0301", "a\x00b", "\U0001f600", "ﬁ", "İ", "ß", "a'b", 'a"b', "a\\b", "a`b", "${x}", "9" * 400),
    None,
]  # fmt: skip
REALS = [
    *(0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -1.5, -2.5, 0.49999999999999994, 4503599627370497.5, 2.0**53, 2.0**53 + 2),
    *(9.2e18, 2.0**63, -(2.0**63), 2.0**63 - 1024, 1e19, 1e149, 1e150, -1e150, 1e300, 1.7976931348623157e308),
    *(5e-324, 1e-150, 1e-149, 1e-134, 1e-118, -1e-140, NAN, INF, -INF, 0.1, 1 / 3, 123456.789, None),
]
DAYS = [-(2**31), 2**31 - 1, -719163, -719162, -719161, 2932896, 2932897, 0, -1, 18321, None]
MICROS = [
    *(-LARGEST - 1, LARGEST, -62135596800000001, -62135596800000000, 253402300799999999, 253402300800000000),
    *(0, -1, 1, 1583638200000000, 1604208600000000, -12219292800000000, None),
]
DECIMALS = {
    (38, 18): ["2.499999999999999999", "2.5", "-2.5", "-2.500000000000000001", "9223372036854775807.4",
               "9223372036854775807.5", "-9223372036854775808.5", "99999999999999999999.5", None],
    (38, 0): ["9" * 38, "-" + "9" * 38, "9223372036854775807", "9223372036854775808", "1", None],
    (18, 2): ["0.49", "0.50", "-0.50", "-0.51", "9007199254740993.01", "1234567890123456.78", None],
    (5, 5): ["0.49999", "0.5", "-0.5", "-0.50001", None],
}  # fmt: skip


def nasty_cells():
    """Columns of every type that both engines read, as long as the longest of them."""
    columns = {
        "text": pa.array(TEXTS, pa.string()),
        "real": pa.array(REALS, pa.float64()),
        "float": pa.array(REALS, pa.float64()).cast(pa.float32()),
        "tiny": pa.array([-128, 127, 0, None], pa.int8()),
        "long": pa.array([-LARGEST - 1, LARGEST, 2**53 + 1, 0, -1, None], pa.int64()),
        "flag": pa.array([True, False, None]),
        "day": pa.array(DAYS, pa.date32()),
        "moment": pa.array(MICROS, pa.timestamp("us")),
        "instant": pa.array(MICROS, pa.timestamp("us", tz="UTC")),
        "bytes": pa.array([b"\xff\x00", b"", None]),
        "list": pa.array([[1], [], None], pa.list_(pa.int64())),
    }
    for (precision, scale), cells in DECIMALS.items():
        numbers = [None if cell is None else Decimal(cell) for cell in cells]
        columns[f"decimal{precision}_{scale}"] = pa.array(numbers, pa.decimal128(precision, scale))
    rows = max(map(len, columns.values()))
    padded = {
        name: pa.concat_arrays([cells, pa.nulls(rows - len(cells), cells.type)]) for name, cells in columns.items()
    }
    return pa.table({"row": pa.array(range(rows)), **padded})


@pytest.fixture(scope="module")
def nasty(spark):
    table, session = nasty_cells(), spark.newSession()
    session.conf.set("spark.sql.timestampType", "TIMESTAMP_NTZ")  # a time without a zone stays one
    return table, session.createDataFrame(table)


HOSTILE_SETTINGS = {
    "spark.sql.session.timeZone": "America/New_York",
    "spark.sql.caseSensitive": "false",
    "spark.sql.parser.escapedStringLiterals": "true",
    "spark.sql.ansi.doubleQuotedIdentifiers": "true",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
    "spark.sql.decimalOperations.allowPrecisionLoss": "false",
    "spark.sql.legacy.timeParserPolicy": "LEGACY",
}


def shown(value):
    """Doubles by their bits, everything else by its text."""
    return value.hex() if isinstance(value, float) else repr(value)


def on_duckdb(engine, sql):
    with engine._use_connection("t") as cursor:
        return [[shown(cell) for cell in row] for row in cursor.execute(sql).fetchall()]


def on_spark(engine, sql):
    return [[shown(cell) for cell in row] for row in engine._session.sql(sql).collect()]


def read_sql(engine, pairs):
    stored, identifier = engine._place("t").stored, engine.dialect.identifier
    reads = [
        f"{engine.dialect.reads[stored[column], kind].format(identifier(column))} AS c{i}"
        for i, (column, kind) in enumerate(pairs)
    ]
    return f"SELECT {', '.join(reads)} FROM {engine._place('t').relation} ORDER BY {engine.dialect.identifier('row')}"


@pytest.mark.guarantee("engines.backends.spark.engine")
@pytest.mark.pitfall("A6")
@pytest.mark.parametrize("ansi", ["true", "false"])
def test_every_read_of_every_cell_is_that_of_duckdb_under_any_settings(nasty, opened, ansi):
    table, rows = nasty
    ours, theirs = opened(rows), opened(table, DuckDB)
    for setting, value in (HOSTILE_SETTINGS | {"spark.sql.ansi.enabled": ansi}).items():
        ours._session.conf.set(setting, value)
    stored = {name: (ours._place("t").stored[name], theirs._place("t").stored[name]) for name in table.column_names}
    pairs = [
        (name, kind)
        for name, kind in itertools.product(table.column_names, ColumnType)
        if (stored[name][0], kind) in ours.dialect.reads and (stored[name][1], kind) in theirs.dialect.reads
    ]
    assert len(pairs) > 65
    found, expected = on_spark(ours, read_sql(ours, pairs)), on_duckdb(theirs, read_sql(theirs, pairs))
    differing = [
        (
            column,
            str(kind),
            table[column][row].as_py() if column not in ("day", "moment", "instant") else row,
            mine,
            other,
        )
        for row, (mine_row, other_row) in enumerate(zip(found, expected, strict=True))
        for (column, kind), mine, other in zip(pairs, mine_row, other_row, strict=True)
        if mine != other
    ]
    assert differing == []


REAL = Read("a", ColumnType.REAL), Read("b", ColumnType.REAL)
EDGES = [Constant(edge, ColumnType.REAL) for edge in (-1e300, -1.0, 0.0, 5e-324, 0.5, 1.0, 1e149)]
TERMS = [
    *(Apply(name, REAL, ColumnType.REAL) for name in ("add", "subtract", "multiply", "divide")),
    *(Apply(name, REAL, ColumnType.BOOLEAN) for name in ("eq", "ne", "lt", "le", "gt", "ge")),
    Apply("to_integer", (Apply("multiply", REAL, ColumnType.REAL),), ColumnType.INTEGER),
    Apply("divide", (Apply("subtract", REAL, ColumnType.REAL), Apply("add", REAL, ColumnType.REAL)), ColumnType.REAL),
    Apply("missing", (Apply("divide", REAL, ColumnType.REAL),), ColumnType.BOOLEAN),
    Apply("in", (REAL[0], Constant(0.5, ColumnType.REAL), Constant(-0.0, ColumnType.REAL)), ColumnType.BOOLEAN),
    *(
        Apply("bin", (operand, *EDGES), ColumnType.INTEGER)
        for operand in (REAL[0], Apply("divide", REAL, ColumnType.REAL))
    ),
]


def test_every_operator_on_every_pair_of_reals_is_that_of_duckdb(spark, opened):
    pairs = list(itertools.product(REALS, REALS))
    table = pa.table({"row": range(len(pairs)), **{n: pa.array([p[i] for p in pairs]) for i, n in enumerate("ab")}})
    found = []
    for engine, ask in ((opened(spark.createDataFrame(table)), on_spark), (opened(table, DuckDB), on_duckdb)):
        quoted, place = engine.dialect.identifier, engine._place("t")
        read = engine.dialect.reads[StorageType.REAL, ColumnType.REAL]
        columns = ", ".join(f"{read.format(quoted(name))} AS {quoted(name)}" for name in "ab")
        terms = ", ".join(f"{term(node, engine.dialect)} AS c{i}" for i, node in enumerate(TERMS))
        scanned = f"(SELECT {quoted('row')}, {columns} FROM {place.relation}) AS scanned"
        found.append(ask(engine, f"SELECT {terms} FROM {scanned} ORDER BY {quoted('row')}"))
    assert found[0] == found[1]


def test_constants_of_any_text_stand_for_themselves(spark, opened):
    texts = [text for text in TEXTS if text is not None and "\x00" not in text]
    engine = opened(spark.createDataFrame(pa.table({"v": texts})))
    query = T.group_by("v", keys={"v": [*texts[::-1], None]}).agg(n=N)
    assert answer(engine, query, {"v": "text"}) == [[1] * len(texts) + [0]]
    for text in ("a'b", "a\\b", "${x}", "é"):
        assert answer(engine, T.where(T.v == text).agg(n=N), {"v": "text"}) == [[1]]


def test_text_is_compared_byte_by_byte_whatever_its_collation_and_missing_where_it_is_none(spark, opened):
    rows = spark.sql(
        "SELECT collate(id, 'UTF8_LCASE') AS id, CAST(bytes AS STRING) AS v, CAST(NULL AS VOID) AS nothing FROM VALUES "
        "('p', X'61'), ('P', X'ff'), ('p ', X'41'), ('é', X'6100'), (concat('e', char(769)), X'c328') AS t(id, bytes)"
    )
    columns = {"id": "text", "v": "text", "nothing": "text"}
    engine = opened(unchecked(rows))
    assert answer(engine, T.agg(u=frame.count_units()), columns) == [[5]]
    present = T.where(T.v.is_present() & T.nothing.is_missing()).agg(n=N)
    assert answer(engine, present, columns) == [[3]]


@pytest.mark.pitfall("A3")
@pytest.mark.pitfall("A19")
def test_sums_beyond_64_bits_and_numbers_beyond_53_are_exact(spark, opened):
    engine = opened(spark.range(80_000).selectExpr("id", "9223372036854775807 AS v", "id % 2 AS g"))
    query = T.group_by("g", keys={"g": [0, 5, 1]}).agg(s=frame.sum("v", bounds=(0, 2**48)), n=N)
    exact = answer(engine, query, {"id": "integer", "v": "integer", "g": "integer"}, max_rows=1)
    assert exact[0] == [40_000 * 2**48, 0, 40_000 * 2**48] > [LARGEST]


# which rows of a unit count


def many_rows(rows=3_000, units=40):
    rng = np.random.default_rng(11)
    return pa.table(
        {
            "id": pa.array(rng.integers(0, units, rows)),
            "g": pa.array([f"k{i}" for i in rng.integers(0, 12, rows)]),
            "x": pa.array(np.round(rng.random(rows) * 100, 3)),
        }
    )


COLUMNS = {"id": "integer", "g": "text", "x": "real"}
BY_GROUP = T.group_by("g", keys={"g": [None, "absent", *(f"k{i}" for i in range(10))]}).agg(
    n=N, u=frame.count_units(), s=frame.sum("x", bounds=(0, 50), grid=Decimal("0.01"))
)


@pytest.mark.parametrize(
    "caps",
    [
        {"max_rows": 7},
        {"max_rows": 20, "max_groups": 3, "max_rows_per_group": 2},
        {"max_groups": 4, "max_rows_per_group": 1},
    ],
)
def test_portable_caps_keep_the_same_rows_as_duckdb(spark, opened, caps):
    table = many_rows()
    ours, theirs = opened(spark.createDataFrame(table).repartition(5)), opened(table, DuckDB)
    asked = {"sampling": "portable"} | caps
    assert answer(ours, BY_GROUP, COLUMNS, **asked) == answer(theirs, BY_GROUP, COLUMNS, **asked)


def test_the_same_rows_count_however_spark_has_spread_them(spark, opened):
    rows = spark.createDataFrame(many_rows())
    caps = {"max_rows": 20, "max_groups": 3, "max_rows_per_group": 2}
    first, second = (answer(opened(rows.repartition(parts)), BY_GROUP, COLUMNS, **caps) for parts in (1, 7))
    assert first == second


def plan_of(engine, sql):
    return engine._session.sql(sql)._jdf.queryExecution().executedPlan().toString()


def test_every_cap_is_applied_before_rows_are_moved(spark, opened):
    engine = opened(spark.createDataFrame(many_rows()))
    rows = engine.prepare(question(BY_GROUP, COLUMNS, max_rows=1_500))
    assert plan_of(engine, rows.rows_sql).count("row_number(), 1500, Partial") == 1
    groups = engine.prepare(question(BY_GROUP, COLUMNS, max_groups=3, max_rows_per_group=2))
    engine.run(groups)
    plan = plan_of(engine, engine.answer_sql(groups))
    assert plan.count("row_number(), 2, Partial") == plan.count("), 3, Partial") == 1


# the owner's session


def test_nothing_in_the_owners_session_changes_an_answer(spark, opened):
    table = many_rows()
    expected = answer(opened(spark.createDataFrame(table)), BY_GROUP, COLUMNS, max_rows=5)
    theirs = spark.newSession()
    rows = theirs.createDataFrame(table)
    for setting, value in {
        **HOSTILE_SETTINGS,
        "spark.sql.ansi.enabled": "true",
        "spark.sql.groupByAliases": "false",
    }.items():
        theirs.conf.set(setting, value)
    theirs.sql("CREATE TEMPORARY FUNCTION floor(x DOUBLE) RETURNS DOUBLE RETURN 1D")
    theirs.sql("CREATE TEMPORARY FUNCTION coalesce(x BIGINT, y BIGINT) RETURNS BIGINT RETURN 1")
    settings = dict(theirs.conf.getAll)
    assert answer(opened(rows), BY_GROUP, COLUMNS, max_rows=5) == expected
    assert dict(theirs.conf.getAll) == settings
    assert theirs.catalog.listTables() == []
    assert theirs.catalog.listTables("global_temp") == []


def test_closing_leaves_neither_views_nor_rows(spark, opened):
    before = spark.sparkContext._jsc.getPersistentRDDs().size()
    engine = opened(spark.createDataFrame(many_rows()))
    prepared = engine.prepare(question(BY_GROUP, COLUMNS, max_rows=5))
    engine.run(prepared)
    assert not engine.is_prepared(prepared)
    assert spark.sparkContext._jsc.getPersistentRDDs().size() == before
    engine.run(prepared)
    assert engine.is_prepared(prepared)
    assert spark.sparkContext._jsc.getPersistentRDDs().size() > before
    assert len(engine._session.catalog.listTables()) == 3
    engine.close()
    assert spark.sparkContext._jsc.getPersistentRDDs().size() == before
    assert engine._session.catalog.listTables() == []
    assert spark.range(1).count() == 1


def test_progress_is_told_in_stages_while_a_question_runs(spark, opened):
    engine = opened(spark.range(300_000).selectExpr("id", "CAST(id % 3 AS STRING) AS g", "id * 0.5D AS x"))
    seen, run = [], threading.Thread(target=answer, args=(engine, BY_GROUP, COLUMNS), kwargs={"max_rows": 2})
    run.start()
    while run.is_alive():
        seen.append(engine.progress())
        time.sleep(0.02)
    run.join()
    stages = [stage for stage in seen if stage is not None]
    assert stages
    assert all(stage.what == "stages" and 0 <= stage.done <= stage.total for stage in stages)
    assert engine.progress() is None


INTERRUPTED = """
import signal, sys, threading, time
from pathlib import Path
sys.path[:0] = [sys.argv[1], sys.argv[2]]
from servers import start_spark
import test_engine as own
here = Path(sys.argv[3])
spark = start_spark(here)
tracker = spark.sparkContext.statusTracker()
endless = lambda: spark.range(10**13, numPartitions=1).selectExpr("max(xxhash64(id))").collect()
threading.Thread(target=endless, daemon=True).start()
while not tracker.getActiveJobsIds():
    time.sleep(0.05)
others = set(tracker.getActiveJobsIds())
source = own.module.source(spark.range(10**13, numPartitions=1).selectExpr("id", "id AS v"), None)
engine = own.Spark({"t": own.RegisteredSource(source, 1)}, own.Workspace(here))
asked = engine.prepare(own.question(own.T.agg(n=own.N), {"id": "integer", "v": "integer"}, max_rows=2))
mark = []
def ours():
    return set(tracker.getJobIdsForGroup(mark[0])) & set(tracker.getActiveJobsIds())
def tell():
    while not mark or not ours():
        mark[:] = engine._running
        time.sleep(0.05)
    print("running", flush=True)
threading.Thread(target=tell, daemon=True).start()
try:
    engine.run(asked)
except KeyboardInterrupt:
    end = time.monotonic() + 30
    while ours() and time.monotonic() < end:
        time.sleep(0.05)
    time.sleep(1)
    print("ended", not ours(), others <= set(tracker.getActiveJobsIds()), engine._running, flush=True)
engine.close()
spark.sparkContext.cancelAllJobs()
spark.stop()
"""


def test_an_interrupt_ends_our_own_jobs_and_no_others(tmp_path, discreet_home):
    script = tmp_path / "interrupted.py"
    script.write_text(INTERRUPTED)
    here = Path(__file__).parent
    child = subprocess.Popen(
        [sys.executable, "-W", "ignore", script, here.parents[2], here, tmp_path],
        env=os.environ | {"DISCREET_HOME": str(discreet_home)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert child.stdout.readline() == "running\n"
    child.send_signal(signal.SIGINT)
    said = child.communicate(timeout=120)[0]
    assert said == "ended True True []\n"


# sources


def test_a_source_is_recognised_without_the_driver_and_refused_politely_where_it_is_missing(spark, monkeypatch):
    code = (
        "import sys, discreet.engines.backends.spark.engine as s;"
        "assert not s.is_source(1); assert not s.is_source('x.parquet');"
        "assert 'pyspark' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert module.is_source(spark.range(1))
    assert module.is_source(spark)
    monkeypatch.setattr(module, "find_spec", lambda _: None)
    with pytest.raises(SourceError) as refusal:
        module.source(spark.range(1), None)
    assert refusal.value.instead == "pip install 'discreet[spark]'"


def test_types_are_drafted_from_the_schema(nasty):
    drafted = module.draft(module.source(nasty[1], None, FIXED))
    assert drafted["moment"] == drafted["instant"] == "timestamp"
    kinds = {"bytes": "binary", "list": "document", "tiny": "integer", "decimal5_5": "real"}
    assert {name: drafted[name] for name in kinds} == kinds


@pytest.mark.parametrize(
    "unrepeatable",
    [
        lambda rows: rows.selectExpr("id", "rand() AS x"),
        lambda rows: rows.where("current_timestamp() > timestamp '2020-01-01'"),
        lambda rows: rows.sample(0.5, seed=1).where("id > 1"),
        lambda rows: rows.limit(3),
        lambda rows: rows.selectExpr("id", "id % 2 AS g").dropDuplicates(["g"]),
        lambda rows: rows.where("id IN (SELECT id FROM range(3) WHERE rand() < 0.5)"),
    ],
)
def test_rows_that_may_change_between_readings_are_refused(spark, unrepeatable):
    with pytest.raises(SourceError, match="other rows when it is read again"):
        module.source(unrepeatable(spark.range(10)), None)


def test_what_cannot_be_opened_is_refused_without_the_drivers_words(spark, opened, tmp_path):
    with pytest.raises(SourceError, match="a Spark session without a table"):
        module.source(spark, None)
    with pytest.raises(SourceError, match="no table 'no_such_table'") as refusal:
        module.source(spark, "no_such_table")
    assert refusal.value.__cause__ is refusal.value.__context__ is None
    with pytest.raises(SourceError, match="not distinct"):
        module.source(spark.sql("SELECT 1 AS a, 2 AS A"), None)
    strict = spark.newSession()
    strict.conf.set("spark.sql.parquet.datetimeRebaseModeInRead", "EXCEPTION")
    with pytest.raises(SourceError, match="datetimeRebaseModeInRead=EXCEPTION"):
        module.source(strict.range(1), None)
    with pytest.raises(ParameterError, match="memory_limit='1GB'"):
        Spark({"t": RegisteredSource(module.source(spark.range(1), None), 1)}, Workspace(tmp_path), memory_limit="1GB")


def test_all_columns_that_are_no_value_are_present_or_missing_and_nothing_more(spark, opened):
    rows = spark.sql(
        "SELECT id, map('a', 1) AS m, struct(id) AS s, parse_json('1') AS v, INTERVAL 1 DAY AS i, X'00' AS b, "
        "array(id) AS a, CAST(NULL AS ARRAY<INT>) AS n FROM range(4)"
    )
    columns = {"id": "integer"} | dict.fromkeys("msviban", "document")
    engine = opened(unchecked(rows))
    for name, present in zip("msviban", [4] * 6 + [0], strict=True):
        assert answer(engine, T.where(T[name].is_present()).agg(n=N), columns, max_rows=1) == [[present]]
    with pytest.raises(SourceError, match="column 'm' of 't' as integer"):
        engine.require("t", {"m": ColumnType.INTEGER})
