"""Terms become SQL: quoting, constants, and texts that do not grow without end."""

import datetime as dt

import duckdb as driver
import pytest

from discreet.catalog.catalog import ColumnType
from discreet.engines.backends import duckdb, sqlite
from discreet.engines.backends.postgres import engine as postgres
from discreet.engines.backends.spark import engine as spark
from discreet.engines.sql import expressions
from discreet.engines.sql.dialect import StorageType, finite
from discreet.errors import UnsupportedError
from discreet.plan.physical import Apply, Constant, Read

DIALECTS = {"duckdb": duckdb.DIALECT, "postgres": postgres.DIALECT, "spark": spark.DIALECT, "sqlite": sqlite.DIALECT}
DIALECT = duckdb.DIALECT


@pytest.mark.parametrize("engine", DIALECTS)
def test_every_type_can_be_read_from_itself_and_from_text(engine):
    reads = DIALECTS[engine].reads
    for kind in set(ColumnType) - {ColumnType.DOCUMENT, ColumnType.BINARY}:
        assert {(StorageType(kind), kind), (StorageType.TEXT, kind)} <= reads.keys()
    assert all((stored, ColumnType.DOCUMENT) in reads for stored in StorageType)


# quoting


REALS = [0.1, -0.1, 1e-300, 5e-324, 1.7976931348623157e308, 2.0**53 + 2]
HOSTILE = [
    "x'; DROP TABLE t; --",
    "it''s",
    '"',
    '"; ATTACH',
    "\\",
    "{0}",
    "{x}",
    "%s",
    "$1",
    "?",
    "\n",
    "é",
    "\U0001f600",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_text_constant_is_read_back_as_it_was(text):
    connection = driver.connect(":memory:")
    assert connection.execute(f"SELECT {expressions.literal(text, DIALECT)}").fetchall() == [(text,)]
    node = Apply("eq", (Read(text, ColumnType.TEXT), Constant(text, ColumnType.TEXT)), ColumnType.BOOLEAN)
    source = f"(SELECT {DIALECT.text(text)} AS {DIALECT.identifier(text)})"
    assert connection.execute(f"SELECT {expressions.term(node, DIALECT)} FROM {source} AS t").fetchall() == [(True,)]


@pytest.mark.parametrize(
    "value",
    [None, True, False, 0, -1, 2**63 - 1, -(2**63), dt.date(1, 1, 1), dt.date(9999, 12, 31), *REALS],
)
def test_a_constant_is_read_back_as_it_was(value):
    assert driver.connect(":memory:").execute(f"SELECT {expressions.literal(value, DIALECT)}").fetchall() == [(value,)]


def test_a_timestamp_is_read_back_to_the_microsecond():
    noon = dt.datetime.fromisoformat("2026-01-31 12:00:00.000001")
    assert driver.connect(":memory:").execute(f"SELECT {expressions.literal(noon, DIALECT)}").fetchall() == [(noon,)]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_what_is_not_finite_is_never_emitted(value):
    with pytest.raises(ValueError, match="not finite"):
        finite(value)


def test_something_that_is_no_constant_or_term_is_a_mistake_of_ours():
    with pytest.raises(TypeError):
        expressions.literal(b"bytes", DIALECT)  # type: ignore[arg-type]
    with pytest.raises(AttributeError):
        expressions.term("text", DIALECT)  # type: ignore[arg-type]


# size


def _chain(operator: str, length: int) -> Apply:
    term = Read("x", ColumnType.REAL)
    for _ in range(length):
        term = Apply(operator, (Constant(1.0, ColumnType.REAL), term), ColumnType.REAL)  # type: ignore[arg-type,assignment]
    return term  # type: ignore[return-value]


@pytest.mark.parametrize("operator", ["add", "subtract", "multiply", "divide"])
def test_the_text_of_arithmetic_grows_with_its_length_and_not_faster(operator):
    short, long = (len(expressions.term(_chain(operator, length), DIALECT)) for length in (10, 100))
    assert long < 12 * short


def test_casts_within_casts_are_refused_before_they_fill_the_memory():
    term = Read("d", ColumnType.DATE)
    for _ in range(45):
        term = Apply("to_date", (Apply("to_timestamp", (term,), ColumnType.TIMESTAMP),), ColumnType.DATE)
    with pytest.raises(UnsupportedError, match="too long for SQL"):
        expressions.term(term, DIALECT)


def test_long_lists_of_constants_are_not_too_long():
    values = tuple(Constant(f"{'x' * 60}{i}", ColumnType.TEXT) for i in range(1_900))
    listed = Apply("in", (Read("g", ColumnType.TEXT), *values), ColumnType.BOOLEAN)
    both = Apply("and", (listed, Apply("not", (listed,), ColumnType.BOOLEAN)), ColumnType.BOOLEAN)
    assert len(expressions.term(both, DIALECT)) > 2 * expressions.LONGEST_TERM
