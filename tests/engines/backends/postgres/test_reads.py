"""PostgreSQL reads and computes as DuckDB does, cell by cell, and no cell of any type raises an error."""

import datetime as dt
import itertools
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from discreet.catalog.catalog import ColumnType
from discreet.engines import DuckDB, RegisteredSource, Workspace
from discreet.engines.backends.postgres.engine import DIALECT, PostgreSQL, source
from discreet.engines.sources import source as sources
from discreet.engines.sql import expressions as sql_expressions
from discreet.plan.physical import Apply, Constant, Read, SumSteps

NAN, INF, LARGEST = math.nan, math.inf, 2**63 - 1
KEY = 2**64 - 1
REALS = [
    *(0.0, -0.0, 1.0, -1.0, 0.1, 0.5, -0.5, 1.5, 2.5, -2.5, 0.49999999999999994, 1e15 + 0.5, 2.0**53, 2.0**63),
    *(-(2.0**63), 9.3e18, 1e19, 1e149, -1e149, 9.99e149, 1e150, -1e150, 1e151, 1e300, 1.7976931348623157e308),
    *(1e-133, 1e-149, -1e-149, 1e-150, 1e-151, 1e-200, -1e-200, 1e-300, 5e-324, -5e-324, NAN, INF, -INF, None),
]
TEXTS = [
    *("", " ", "0", "1", "-1", "+1", " 7 ", "007", "1.5", "2.5", "-2.5", ".5", "5.", ".", "-", "+", "1e5", "1E+5"),
    *("1e-5", "1e99", "1e100", "-1e99", "9e-99", ".00000000000000000000000000000000000000000000000001e-99", "0e-99"),
    *("9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "9" * 38),
    *("9" * 39, "-" + "9" * 38, "9" * 38 + ".5e99", "0" * 60, "9" * 400, "1_000", "0x10", "1,5", "1e", "e1", "--1"),
    *("NaN", "nan", "Infinity", "-inf", "inf", "infinity", "now", "today", "epoch", "allballs", "tomorrow"),
    *("true", "TRUE", "tRuE", "t", "T", "yes", "Y", "on", "false", "F", "no", "n", "off", "2", "truee", "tr"),
    *("2020-02-29", "2019-02-29", "1900-02-29", "2000-02-29", "0004-02-29", "0001-01-01", "0000-01-01", "9999-12-31"),
    *("0012-01-02", "0099-12-31", "10000-01-01", "2020-1-1", "2020-13-01", "2020-04-31", "20200101", "31.1.2020"),
    *("2020-01-31 BC", "2020-01-31 12:00", "2020-01-31T12:00", "2020-01-31 12:00:00", "2020-01-31 23:59:59.999999"),
    *("2020-01-31 24:00:00", "2020-01-31 12:60", "2020-01-31 12:00:60", "2020-01-31 12:00:00.1234567"),
    *("2020-01-31T12:00Z", "2020-01-31T12:00:00Z", "2020-01-31 12:00:00.5+05:30", "2020-01-31 12:00-13:59"),
    *("2020-01-31 12:00:00+14:00", "2020-01-31 12:00 UTC", "2020-01-31 12:00:00 America/New_York"),
    *("0001-01-01 00:00:00+13:00", "9999-12-31 23:59:59.999999-13:00", "0001-01-01 00:00:00", "1883-11-18 12:03:57"),
    *(
        "1\n",
        "\n1",
        "1\n2",
        "true\n",
        "2020-01-31\n",
        "a\nb",
        "1\t",
        "\u00a01",
        "\uff11",
        "٣",
        "é",
        "e\u0301",
        "\U0001f600",
    ),
    *("it's", "\\", "\\x31", "$1", "%s", "{0}", "***=1", "HIV+ alice", "a", "A", "a ", " a", "B", "b", "_", "Z", None),
]
MOMENTS = ["0001-01-01", "2020-02-29 12:00:00.000001", "1969-12-31 23:59:59.999999", "9999-12-31 23:59:59.999999"]
BEYOND = [-(2**55) * 5, 253402300800 * 10**6, -62135596800 * 10**6 - 1]


def _times(zone: str | None) -> pa.Array:
    micros = [int(np.datetime64(moment, "us").astype(int)) for moment in MOMENTS] + BEYOND
    return pa.array([*micros, None], pa.int64()).cast(pa.timestamp("us", tz=zone))


CELLS = {
    "small": pa.array([0, 1, -1, 32767, -32768, None], pa.int16()),
    "whole": pa.array([0, 1, -1, 2**31 - 1, -(2**31), None], pa.int32()),
    "long": pa.array([0, 1, -1, 2**53 + 1, LARGEST, -LARGEST - 1, None], pa.int64()),
    "unsigned": pa.array([0, 1, LARGEST, 2**63, 2**64 - 1, None], pa.uint64()),
    "single": pa.array([0.0, -0.0, 0.1, 1.5, 3.4e38, 1e-45, NAN, INF, -INF, None], pa.float32()),
    "real": pa.array(REALS),
    "money": pa.array(
        [Decimal(x) for x in ("0.1", "1.5", "-2.5", "0.49", "-0.5", "9" * 36)] + [None], pa.decimal128(38, 2)
    ),
    "huge": pa.array([Decimal("9" * 38), Decimal(LARGEST), Decimal(LARGEST + 1), Decimal(-LARGEST - 1), None]),
    "text": pa.array(TEXTS),
    "flag": pa.array([True, False, None]),
    "day": pa.array([dt.date(1, 1, 1), dt.date(2020, 2, 29), dt.date(9999, 12, 31), None], pa.date32()),
    "far_day": pa.array([-719163, 2932897, -1700000, None], pa.int32()).cast(pa.date32()),
    "moment": _times(None),
    "zoned": _times("Asia/Tokyo"),
}
CONVERTED = [
    ColumnType.INTEGER,
    ColumnType.REAL,
    ColumnType.TEXT,
    ColumnType.BOOLEAN,
    ColumnType.DATE,
    ColumnType.TIMESTAMP,
]


@pytest.fixture
def engines(postgres, tmp_path):
    """The same rows on DuckDB and on PostgreSQL, each closed at the end."""
    opened = []

    def both(table: pa.Table, name: str) -> tuple[DuckDB, PostgreSQL]:
        postgres.load(f"reads_{name}", table)
        there = source(postgres.engine_url, f"reads_{name}")
        opened.append(DuckDB({"t": RegisteredSource(sources.source_of(table), KEY)}, Workspace(tmp_path)))
        opened.append(PostgreSQL({"t": RegisteredSource(there, KEY)}, Workspace(tmp_path)))
        return opened[-2], opened[-1]

    yield both
    for each in opened:
        each.close()


def _fetched(engine, expressions, relation=None):
    """What expressions give for each row, as Python values that tell minus zero and NaN apart."""
    listed = ", ".join(f"{sql} AS e{i}" for i, sql in enumerate(expressions))
    with engine._use_connection("t") as connection:
        rows = connection.execute(f"SELECT row, {listed} FROM {relation or engine._place('t').relation}").fetchall()
    return [tuple(map(repr, row[1:])) for row in sorted(rows)]


def _read(engine, column, declared):
    template = engine.dialect.reads.get((engine._place("t").stored[column], declared))
    return None if template is None else template.format(engine.dialect.identifier(column))


def _differences(found, expected, cells):
    return [(cell, *pair) for cell, *pair in zip(cells, expected, found, strict=True) if pair[0] != pair[1]]


@pytest.mark.pitfall("A18")
@pytest.mark.pitfall("A22")
@pytest.mark.parametrize("column", CELLS)
def test_every_read_of_every_cell_is_the_same_as_on_duckdb(column, engines):
    cells = CELLS[column]
    here, there = engines(pa.table({"row": range(len(cells)), column: cells}), column)
    for declared in CONVERTED:
        reads = [_read(engine, column, declared) for engine in (here, there)]
        assert reads[0] is None or reads[1] is not None, declared
        if reads[0] is not None:
            expected, found = (_fetched(engine, [sql]) for engine, sql in zip((here, there), reads, strict=True))
            assert _differences(found, expected, cells.to_pylist() if column == "text" else range(len(cells))) == []


# operators


X, Y = Read("x", ColumnType.REAL), Read("y", ColumnType.REAL)


def _real(operator, *arguments):
    return Apply(operator, arguments, ColumnType.REAL)


def _chain(operator, length):
    term = X
    for _ in range(length):
        term = _real(operator, term, Y)
    return term


def _constant(value):
    return Constant(value, ColumnType.REAL)


def _cast(term, kind):
    name = {ColumnType.INTEGER: "to_integer", ColumnType.TEXT: "to_text", ColumnType.DATE: "to_date"}
    return Apply(name.get(kind, f"to_{kind}"), (term,), kind)


EDGES = [-1e300, -1.0, 0.0, 5e-324, 0.5, 1.0, 1e149]
ARITHMETIC = [_real(operator, X, Y) for operator in ("add", "subtract", "multiply", "divide")]
TERMS = [
    *ARITHMETIC,
    *(_chain(operator, length) for operator in ("add", "subtract", "multiply", "divide") for length in (2,)),
    *(_real(outer, one, one) for outer in ("add", "multiply", "divide") for one in ARITHMETIC),
    *(_real("multiply", _constant(value), X) for value in (1e308, 1e149, 1e-149, 1e-300, 5e-324, -1e308)),
    *(_real("divide", _constant(value), X) for value in (1e308, 1e149, 1e-149, 1e-300, 0.0, -1.0)),
    *(_real("divide", X, _constant(value)) for value in (1e308, 1e149, 1e-149, 1e-300, 0.0)),
    *(_cast(term, ColumnType.INTEGER) for term in ARITHMETIC),
    *(Apply(c, (one, Y), ColumnType.BOOLEAN) for c in ("eq", "ne", "lt", "le", "gt", "ge") for one in (X, *ARITHMETIC)),
    *(Apply("in", (one, Y, _constant(1.0)), ColumnType.BOOLEAN) for one in (X, *ARITHMETIC)),
    *(Apply("missing", (one,), ColumnType.BOOLEAN) for one in (X, *ARITHMETIC)),
    *(Apply("bin", (one, *map(_constant, EDGES)), ColumnType.INTEGER) for one in (X, *ARITHMETIC)),
    *(_real(o, _constant(1e149), _constant(y)) for o in ("multiply", "divide", "add") for y in (1e149, 1e-149, 0.0)),
]
PAIRS = list(
    itertools.product([*REALS[:8], 1e149, -1e149, 1e-149, 9.99e149, 1e-133, 1e150, 1e-200, NAN, INF, None], repeat=2)
)


@pytest.mark.pitfall("A18")
@pytest.mark.parametrize("kind", [pa.float64(), pa.string()], ids=str)
def test_every_operator_on_every_pair_of_cells_is_the_same_as_on_duckdb(kind, engines):
    texts = [
        [None if cell is None else repr(cell) if kind == pa.string() else cell for cell in side]
        for side in zip(*PAIRS, strict=True)
    ]
    table = pa.table({"row": range(len(PAIRS)), "x": pa.array(texts[0], kind), "y": pa.array(texts[1], kind)})
    answers = []
    for engine in engines(table, f"pairs_{'text' if kind == pa.string() else 'real'}"):
        reads = ", ".join(f"{_read(engine, name, ColumnType.REAL)} AS {name}" for name in "xy")
        relation = f"(SELECT row, {reads} FROM {engine._place('t').relation}) AS read"
        answers.append(_fetched(engine, [sql_expressions.term(term, engine.dialect) for term in TERMS], relation))
    assert answers[0] == answers[1]


STEPS = [
    SumSteps(X, grid, low, high, missing=missing)
    for grid in (1, 10**140, 10**-140)
    for low, high in ((-5, 5), (0, 2**49), (-(2**49), 0))
    for missing in (None, low)
]


def test_steps_of_every_cell_are_the_same_as_on_duckdb(engines):
    table = pa.table({"row": range(len(REALS)), "x": pa.array(REALS)})
    answers = []
    for engine in engines(table, "steps"):
        relation = (
            f"(SELECT row, {_read(engine, 'x', ColumnType.REAL)} AS x FROM {engine._place('t').relation}) AS read"
        )
        steps = [
            SumSteps(s.operand, Fraction(s.grid).limit_denominator(10**140), s.low, s.high, 0, s.missing) for s in STEPS
        ]
        answers.append(
            _fetched(engine, [sql_expressions.stored_steps(each, engine.dialect) for each in steps], relation)
        )
    assert answers[0] == answers[1]


@pytest.mark.pitfall("A18")
@pytest.mark.parametrize("operator", ["add", "subtract", "multiply", "divide"])
def test_long_arithmetic_raises_no_error(operator, engines):
    """On PostgreSQL alone, whose errors these would be."""
    table = pa.table({"row": range(len(PAIRS)), "x": [x for x, _ in PAIRS], "y": [y for _, y in PAIRS]})
    _, there = engines(table, f"long_{operator}")
    reads = ", ".join(f"{_read(there, name, ColumnType.REAL)} AS {name}" for name in "xy")
    relation = f"(SELECT row, {reads} FROM {there._place('t').relation}) AS read"
    found = _fetched(
        there, [sql_expressions.term(_chain(operator, length), DIALECT) for length in (7, 30, 60)], relation
    )
    assert not any("nan" in cell or "inf" in cell for row in found for cell in row)
