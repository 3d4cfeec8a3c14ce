"""How many constants are at most a value: every tree and every search finds what counting finds."""

import bisect
import datetime as dt
import sqlite3
from contextlib import closing

import duckdb as driver
import pytest

from discreet.catalog.catalog import ColumnType
from discreet.engines.backends import duckdb, sqlite
from discreet.engines.backends.postgres import engine as postgres
from discreet.engines.backends.spark import engine as spark
from discreet.engines.sql import bins, expressions
from discreet.plan.physical import Apply, Constant, Read
from grids import over

SIZES = [*range(1, 21), 63, 64, 65, 255, 1_000]


def _bin(operand, edges):
    return Apply("bin", (operand, *(Constant(edge, operand.type) for edge in edges)), ColumnType.INTEGER)


@over("size", SIZES)
def test_a_tree_finds_what_counting_finds(size):
    edges = [3 * i for i in range(size)]
    values = range(-1, 3 * size + 1)
    tree = bins.tree("v", list(map(str, edges)))
    connection = driver.connect(":memory:")
    found = connection.execute(f"SELECT {tree} FROM range(-1, {3 * size + 1}) AS t(v) ORDER BY v").fetchall()
    assert [each for (each,) in found] == [bisect.bisect_right(edges, value) for value in values]
    assert connection.execute(f"SELECT {tree} FROM (SELECT NULL::BIGINT AS v)").fetchall() == [(None,)]


@over("size", SIZES)
def test_strides_through_a_list_find_what_counting_finds(size):
    edges = [3 * i for i in range(size)]
    search = duckdb.DIALECT.search("v", [bins.format_edge(edge) for edge in edges], ColumnType.INTEGER)
    connection = driver.connect(":memory:")
    found = connection.execute(f"SELECT {search} FROM range(-1, {3 * size + 1}) AS t(v) ORDER BY v").fetchall()
    assert [each for (each,) in found] == [bisect.bisect_right(edges, value) for value in range(-1, 3 * size + 1)]
    assert connection.execute(f"SELECT {search} FROM (SELECT NULL::BIGINT AS v)").fetchall() == [(None,)]


@pytest.mark.parametrize("size", [1, 2, 3, 4, 7, 8, 9_999, 10_000])
def test_strides_add_up_to_any_number_of_edges_and_each_is_half_of_the_one_before(size):
    strides = bins.strides(size)
    assert sum(strides) >= size >= strides[0]
    assert strides == [2**power for power in reversed(range(len(strides)))]


def test_the_largest_tree_is_not_deep():
    """A parser that keeps about five symbols for each CASE within a CASE has room for a hundred."""
    tree = bins.tree("v", list(map(str, range(10_000))))
    depth = deepest = 0
    for word in tree.split():
        depth += (word == "CASE") - (word == "END")
        deepest = max(deepest, depth)
    assert deepest <= 8
    with closing(sqlite3.connect(":memory:")) as connection:
        found = connection.execute(f"SELECT sum(({tree})) FROM (SELECT 5000 AS v)").fetchall()
    assert found == [(5_001,)]


@pytest.mark.parametrize(
    ("edge", "text"),
    [
        (-3, "-3"),
        (0.1, "0.1"),
        (1e300, "1e+300"),
        (dt.date(1, 2, 3), "0001-02-03"),
        (dt.datetime.fromisoformat("2026-01-31 12:00"), "2026-01-31 12:00:00"),
        (dt.datetime.fromisoformat("2026-01-31 12:00:00.000001"), "2026-01-31 12:00:00.000001"),
    ],
)
def test_a_constant_is_spelled_as_every_engine_reads_it(edge, text):
    assert bins.format_edge(edge) == text


DIALECTS = {"duckdb": duckdb.DIALECT, "postgres": postgres.DIALECT, "spark": spark.DIALECT, "sqlite": sqlite.DIALECT}


@pytest.mark.parametrize("engine", DIALECTS)
def test_a_computed_value_stands_in_the_text_once(engine):
    dialect = DIALECTS[engine]
    value = Apply("to_integer", (Read("x", ColumnType.REAL),), ColumnType.INTEGER)
    for edges in (range(3), range(1_000)):
        text = expressions.term(_bin(value, edges), dialect)
        assert text.count(expressions.term(value, dialect)) == 1


@pytest.mark.parametrize("engine", DIALECTS)
def test_the_text_of_many_edges_has_at_most_a_hundred_characters_for_each(engine):
    read = Read("a column of ordinary length", ColumnType.REAL)
    assert len(expressions.term(_bin(read, [i / 7 for i in range(10_000)]), DIALECTS[engine])) < 10_000 * 100
