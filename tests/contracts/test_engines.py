"""The contract of engines: the same integers for the same rows, whatever the cells hold, and nothing read too early."""

import bisect
import datetime as dt
import math
import threading
import time
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import oracle
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.errors import SourceError
from discreet.query import frame
from opened import KEY

T = frame.table("t")
N = frame.count()
NAN, INF = float("nan"), float("inf")
LARGEST = 2**63 - 1


def _one(asking, values, kind, query, declared="real", **facts):
    """The first number of an answer about one column `v`, each row its own unit."""
    return asking.answer(pa.table({"v": pa.array(values, kind)}), query, {"v": declared}, **facts)[0][0]


def _each(asking, values, kind, measure, declared="real"):
    """One answer for each of several cells, by the number of its row."""
    table = pa.table({"row": range(len(values)), "v": pa.array(values, kind)})
    query = T.group_by("row", keys={"row": list(range(len(values)))}).agg(s=measure)
    return asking.answer(table, query, {"row": "integer", "v": declared})[0]


# what is read, and when


def _parquet_with_broken_pages(path: Path, broken: str) -> Path:
    """A Parquet file whose schema and statistics are whole, and one column's pages are zeros."""
    table = pa.table({"id": [1, 2, 3], "v": [1.0, 2.0, 3.0], "secret": ["x", "y", "z"]})
    pq.write_table(table, path)
    group = pq.ParquetFile(path).metadata.row_group(0)
    chunk = next(group.column(i) for i in range(3) if group.column(i).path_in_schema == broken)
    start = chunk.dictionary_page_offset or chunk.data_page_offset
    content = bytearray(path.read_bytes())
    content[start : start + chunk.total_compressed_size] = bytes(chunk.total_compressed_size)
    path.write_bytes(content)
    return path


COLUMNS = {"id": "integer", "v": "real", "secret": "text"}


def not_in_files(test):
    """A test of Parquet files, for engines that read them."""
    for engine in ("postgres", "sqlite"):
        test = pytest.mark.never(engine, "its rows are in a database, not in Parquet files")(test)
    return test


@not_in_files
def test_prepare_reads_no_row_and_run_on_broken_rows_raises(asking, question_of, tmp_path):
    engine = asking.engine(_parquet_with_broken_pages(tmp_path / "t.parquet", "v"))
    prepared = engine.prepare(question_of(T.agg(s=frame.sum("v", bounds=(0, 1))), COLUMNS))
    with pytest.raises(Exception):  # noqa: B017 - whatever the driver raises; never a number
        engine.run(prepared)


@not_in_files
def test_only_the_referenced_columns_are_read(asking, question_of, tmp_path):
    engine = asking.engine(_parquet_with_broken_pages(tmp_path / "t.parquet", "secret"))
    asked = question_of(T.where(T.v > 1).agg(s=frame.sum("v", bounds=(0, 10), grid=1)), COLUMNS)
    assert asked.columns_read == ("id", "v")
    assert engine.run(engine.prepare(asked)) == [[5]]


@not_in_files
def test_prepare_needs_no_file_and_run_without_it_raises(asking, question_of, tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"id": [1]}), path)
    engine = asking.engine(path)
    path.unlink()
    prepared = engine.prepare(question_of(T.agg(n=N), {"id": "integer"}))
    with pytest.raises(Exception):  # noqa: B017 - whatever the driver raises; never a number
        engine.run(prepared)


def test_a_column_that_the_source_does_not_have_is_refused_by_prepare(asking, question_of):
    engine = asking.engine(pa.table({"id": [1], "cost": [1.0]}))
    with pytest.raises(SourceError, match="'costs' of 't'") as refusal:
        engine.prepare(question_of(T.agg(s=frame.sum("costs", bounds=(0, 1))), {"id": "integer", "costs": "real"}))
    assert refusal.value.instead == "cost"


# the shape of an answer


@pytest.mark.pitfall("A11")
@pytest.mark.pitfall("A17")
def test_every_public_key_is_answered_in_its_order_and_absent_ones_with_zeros(asking):
    table = pa.table({"g": ["z", "a", "a", "rare"], "x": [1.0, 2.0, 3.0, 4.0]})
    groups = T.group_by("g", keys={"g": ["z", "nobody", "a"]})
    total, average = frame.sum("x", bounds=(0, 10), grid=1), frame.mean("x", bounds=(0, 10), grid=1)
    exact = [
        asking.answer(table, groups.agg(it=measure), {"g": "text", "x": "real"})
        for measure in (N, frame.count_units(), total, average)
    ]
    assert exact == [[[1, 0, 2]], [[1, 0, 2]], [[1, 0, 5]], [[-4, 0, -5], [1, 0, 2]]]
    assert all(type(number) is int for columns in exact for column in columns for number in column)


@pytest.mark.pitfall("A17")
def test_an_empty_table_has_the_same_answers_as_one_with_other_keys_only(asking):
    query = T.group_by("g", keys={"g": ["a", None]}).agg(n=N, s=frame.sum("x", bounds=(0, 1)))
    columns = {"g": "text", "x": "real"}
    empty = pa.table({"g": pa.array([], pa.string()), "x": pa.array([], pa.float64())})
    assert asking.answer(empty, query, columns) == [[0, 0], [0, 0]]
    assert asking.answer(empty, T.agg(n=N, s=frame.sum("x", bounds=(0, 1))), columns) == [[0], [0]]
    assert asking.answer(pa.table({"g": ["b"], "x": [1.0]}), query, columns) == [[0, 0], [0, 0]]


def test_the_missing_key_is_answered_only_where_it_is_public(asking):
    table = pa.table({"g": ["a", None, None], "h": [1, None, 2]})
    columns = {"g": "text", "h": "integer"}
    assert asking.answer(table, T.group_by("g", keys={"g": ["a"]}).agg(n=N), columns) == [[1]]
    assert asking.answer(table, T.group_by("g", keys={"g": [None, "a"]}).agg(n=N), columns) == [[2, 1]]
    both = T.group_by("g", "h", keys={"g": ["a", None], "h": [1, None]})
    assert asking.answer(table, both.agg(n=N), columns) == [[1, 0, 0, 1]]


@pytest.mark.parametrize(
    ("kind", "cells", "keys", "counts"),
    [
        (
            "integer",
            pa.array([2**53, 2**53 + 1, LARGEST, -LARGEST - 1, None]),
            [2**53 + 1, -LARGEST - 1, 2**53],
            [1] * 3,
        ),
        ("text", pa.array(["a", "A", "a ", " a", "", "é", "e\u0301"]), ["a", "", "a ", "e\u0301", "é", "A"], [1] * 6),
        ("boolean", pa.array([True, None, False, True]), [False, True], [1, 2]),
        (
            "date",
            pa.array([dt.date(1, 1, 1), dt.date(2020, 2, 29)]),
            [dt.date(2020, 2, 29), dt.date(2020, 3, 1)],
            [1, 0],
        ),
        (
            "timestamp",
            pa.array(["2020-01-01 12:00:00.000001", "2020-01-01 12:00:00"]).cast(pa.timestamp("us")),
            ["2020-01-01 12:00", "2020-01-01 12:00:00.000001", "2020-01-01 13:00"],
            [1, 1, 0],
        ),
    ],
)
def test_keys_of_every_type_are_distinguished(asking, kind, cells, keys, counts):
    query = T.group_by("v", keys={"v": keys}).agg(n=N)
    assert asking.answer(pa.table({"v": cells}), query, {"v": kind}) == [counts]


# missing values, NaN, infinities


@pytest.mark.pitfall("A4")
def test_null_nan_and_infinities_are_missing_everywhere(asking):
    cells = [1.0, None, NAN, INF, -INF, 3.0]
    assert _one(asking, cells, pa.float64(), T.agg(n=N)) == 6
    assert _one(asking, cells, pa.float64(), T.agg(s=frame.sum("v", bounds=(0, 10), grid=1))) == 4
    average = T.agg(m=frame.mean("v", bounds=(0, 10), grid=1))
    assert asking.answer(pa.table({"v": cells}), average, {"v": "real"}) == [[4 - 2 * 5], [2]]
    assert _one(asking, cells, pa.float64(), T.where(T.v.is_missing()).agg(n=N)) == 4
    assert _one(asking, cells, pa.float64(), T.where(T.v < 1e300).agg(n=N)) == 2
    assert _one(asking, cells, pa.float64(), T.where(~(T.v < 1e300)).agg(n=N)) == 0


@pytest.mark.pitfall("A5")
def test_a_missing_value_is_skipped_by_the_clamp_and_not_taken_for_a_bound(asking):
    assert _each(asking, [None, 200.0, -5.0], pa.float64(), frame.sum("v", bounds=(0, 150), grid=1)) == [0, 150, 0]
    assert _each(asking, [None, 200, -5], pa.int64(), frame.sum("v", bounds=(0, 150)), "integer") == [0, 150, 0]


def test_a_declared_constant_replaces_missing_values_within_the_bounds(asking):
    for missing, steps in [(3, 3), (-50, 0), (50, 10)]:
        declared = {"type": "real", "bounds": [0, 10], "grid": 1, "missing": missing}
        cells = pa.table({"v": [1.0, NAN, None]})
        assert asking.answer(cells, T.agg(s=frame.sum("v")), {"v": declared}) == [[1 + 2 * steps]]
        assert asking.answer(cells, T.agg(m=frame.mean("v")), {"v": declared}) == [[1 + 2 * steps - 15], [3]]


@pytest.mark.pitfall("A4")
def test_minus_zero_is_zero(asking):
    cells = [-0.0, 0.0]
    assert _one(asking, cells, pa.float64(), T.where(T.v == 0).agg(n=N)) == 2
    assert _one(asking, cells, pa.float64(), T.where(1 / T.v > 0).agg(n=N)) == 0
    by_whole = T.derive(k=T.v.cast("integer")).group_by("k", keys={"k": [0]}).agg(n=N)
    assert _one(asking, cells, pa.float64(), by_whole) == 2


def test_logic_with_missing_values_is_that_of_sql(asking):
    table = pa.table({"a": [True, True, True, False, False, None], "b": [True, False, None, False, None, None]})
    columns = {"a": "boolean", "b": "boolean"}

    def count(predicate):
        return asking.answer(table, T.where(predicate).agg(n=N), columns)[0][0]

    assert [count(T.a & T.b), count(T.a | T.b), count(~(T.a & T.b)), count(~T.a)] == [1, 3, 3, 2]
    assert [count(T.a == T.b), count(T.a != T.b), count(T.b.is_missing()), count(T.a.is_in([False]))] == [2, 1, 3, 2]


# total operators


@pytest.mark.pitfall("A18")
def test_division_is_total_and_never_raises(asking):
    ages = [29, 30, 31, None]
    assert _one(asking, ages, pa.int64(), T.where(1 / (T.v - 30) > 0).agg(n=N), "integer") == 1
    assert _one(asking, ages, pa.int64(), T.where((1 / (T.v - 30)).is_missing()).agg(n=N), "integer") == 2
    assert _one(asking, ages, pa.int64(), T.where((0 / (T.v - 30)).is_missing()).agg(n=N), "integer") == 2


@pytest.mark.parametrize(
    "expression",
    [
        T.v * 1e300 * 1e300,
        T.v * -1e300 * 1e300,
        T.v * 1e300 * 1e300 * 0,
        T.v * 1e300 * 1e300 - T.v * 1e300 * 1e300,
        1 / (T.v * 1e300 * 1e300),
        (T.v * 1e300 * 1e300).cast("integer"),
        (T.v * 1e19).cast("integer"),
    ],
)
def test_an_intermediate_nan_or_infinity_makes_the_result_missing(asking, expression):
    assert _one(asking, [2.0, 3.0], pa.float64(), T.where(expression.is_missing()).agg(n=N)) == 2
    assert _one(asking, [2.0, 3.0], pa.float64(), T.agg(s=frame.sum(expression, bounds=(-1, 1)))) == 0


def test_long_sums_of_columns_are_answered_at_once(asking):
    expression = T.v
    for _ in range(60):
        expression = expression + T.v
    assert _one(asking, [1.0], pa.float64(), T.agg(s=frame.sum(expression, bounds=(0, 100), grid=1))) == 61


@pytest.mark.notimpl("sqlite", "its parser accepts about ninety nested parentheses; more are refused")
@pytest.mark.parametrize("step", [lambda x: x * T.w, lambda x: x / T.w, lambda x: x.cast("integer") + T.w])
@pytest.mark.timing
def test_long_chains_of_arithmetic_are_planned_at_once(asking, question_of, step):
    """Seven products within each other once took DuckDB a minute to plan, before a row was read."""
    expression = T.v
    for _ in range(20):
        expression = step(expression)
    engine = asking.engine(pa.table({"v": [1.0, None], "w": [1.0, 1.0]}))
    asked = question_of(T.agg(s=frame.sum(expression, bounds=(0, 50), grid=1)), {"v": "real", "w": "real"})
    start = time.perf_counter()
    assert engine.run(engine.prepare(asked))[0][0] in (1, 21)
    assert time.perf_counter() - start < 60


@pytest.mark.pitfall("A6")
@pytest.mark.parametrize("kind", ["integer", "real", "date", "timestamp"])
def test_text_that_does_not_fit_is_missing_and_never_an_error(asking, kind):
    cells = ["HIV+ alice", "", "1e400", "0000-00-00", "999999-01-01", "12:61", "NaN", "inf", None]
    query = T.where(T.v.cast(kind).is_present()).agg(n=N)
    assert _one(asking, cells, pa.string(), query, "text") in (0, 1)
    assert _one(asking, cells, pa.string(), T.where(T.v.is_present()).agg(n=N), kind) in (0, 1)


AS_NUMBERS = {
    "7": (7, 28), " 7 ": (7, 28), "+7": (7, 28), "-7": (-7, -28), "007": (7, 28), "7.": (7, 28), "7.0": (7, 28),
    "2.5": (3, 10), "-2.5": (-2, -10), ".5": (1, 2), "1e1": (10, 40), "25E-1": (3, 10), "0.25": (0, 1),
    "": None, " ": None, "7a": None, "1_0": None, "1,0": None, "0x10": None, "nan": None, "inf": None, "--7": None,
    "1e": None, "e1": None, ".": None, "1e100": None, "7\n": None, "\u0667": None, "7\u00a0": None, "true": (1, 4),
}  # fmt: skip


@pytest.mark.pitfall("A6")
@pytest.mark.pitfall("A18")
def test_text_is_read_as_numbers_by_one_grammar(asking):
    cells = list(AS_NUMBERS)
    expected = [AS_NUMBERS[cell] or (0, 0) for cell in cells]
    whole, real = frame.sum("v", bounds=(-50, 50)), frame.sum("v", bounds=(-50, 50), grid=0.25)
    assert _each(asking, cells, pa.string(), whole, "integer") == [each[0] for each in expected]
    assert _each(asking, cells, pa.string(), real) == [each[1] for each in expected]
    derived = frame.sum(T.v.cast("integer"), bounds=(-50, 50))
    assert _each(asking, cells, pa.string(), derived, "text") == [each[0] for each in expected]
    absent = frame.sum(T.v.cast("real").is_missing().cast("integer"), bounds=(0, 1))
    assert _each(asking, cells, pa.string(), absent, "text") == [int(AS_NUMBERS[cell] is None) for cell in cells]


def test_whole_numbers_in_text_are_exact_to_64_bits_and_missing_beyond(asking):
    cells = ["9007199254740993", "9223372036854775807", "-9223372036854775808", "9223372036854775808", "9" * 38]
    query = T.group_by("v", keys={"v": [2**53 + 1, LARGEST, -LARGEST - 1, None]}).agg(n=N)
    assert asking.answer(pa.table({"v": cells}), query, {"v": "integer"}) == [[1, 1, 1, 2]]


AS_DATES = {
    "2020-02-29": "2020-02-29", "2000-02-29": "2000-02-29", "1900-02-29": None, "2021-02-29": None, "2020-04-31": None,
    "0001-01-01": "0001-01-01", "0000-01-01": None, "9999-12-31": "9999-12-31", "10000-01-01": None, "2020-1-1": None,
    "2020-02-29 12:30": "2020-02-29", "2020-02-29T23:59:59.999999": "2020-02-29", "2020-02-29 24:00": None,
    "2020-02-29 23:30:00-01:00": "2020-03-01", "2020-03-01T00:30:00Z": "2020-03-01", "2020-02-29 12:60": None,
    "29.2.2020": None, "20200229": None, "infinity": None, "today": None, "": None, " 2020-02-29": None,
    "9999-12-31T23:00:00-02:00": None, "0001-01-01T00:00:00+01:00": None, "2020-02-29\n": None, "epoch": None,
}  # fmt: skip


def test_text_is_read_as_dates_and_times_by_one_grammar(asking):
    days = sorted({day for day in AS_DATES.values() if day})
    table = pa.table({"v": list(AS_DATES)})
    expected = [[list(AS_DATES.values()).count(day) for day in (*days, None)]]
    as_date = T.group_by("v", keys={"v": [*days, None]}).agg(n=N)
    as_time = T.derive(d=T.v.cast("date")).group_by("d", keys={"d": [*days, None]}).agg(n=N)
    assert asking.answer(table, as_date, {"v": "date"}) == expected
    assert asking.answer(table, as_time, {"v": "timestamp"}) == expected
    assert asking.answer(table, as_time, {"v": "text"}) == expected


def test_booleans_are_read_from_text_and_from_numbers(asking):
    cells = ["true", "TRUE", "t", "yes", "Y", "1", "false", "F", "no", "n", "0", "2", "", "truish", None]
    query = T.group_by("v", keys={"v": [True, False, None]}).agg(n=N)
    assert asking.answer(pa.table({"v": cells}), query, {"v": "boolean"}) == [[6, 5, 4]]
    assert asking.answer(pa.table({"v": [0, 1, -3, None]}), query, {"v": "boolean"}) == [[1, 1, 2]]


def test_decimals_are_read_exactly_with_halves_rounded_up(asking):
    cells = [Decimal("2.50"), Decimal("-2.50"), Decimal("0.49"), Decimal("1234.56"), None]
    kind = pa.decimal128(10, 2)
    assert _each(asking, cells, kind, frame.sum("v", bounds=(-9, 9999)), "integer") == [3, -2, 0, 1235, 0]
    cents = frame.sum("v", bounds=(-9, 9999), grid=Decimal("0.01"))
    assert _each(asking, cells, kind, cents) == [250, -250, 49, 123456, 0]


ODD_COLUMNS = {
    "seconds": pa.array([2**62, 1, None], pa.timestamp("s")),
    "zoned": pa.array([2**62, 1, None], pa.timestamp("ms", tz="Europe/Paris")),
    "micro": pa.array([LARGEST, -LARGEST, 0], pa.timestamp("us")),
    "nano": pa.array([LARGEST, -LARGEST, 0], pa.timestamp("ns")),
    "days": pa.array([2**31 - 1, -(2**31), 0], pa.date32()),
    "milli_days": pa.array([2**53 // 86_400_000 * 86_400_000, 0, None], pa.date64()),
    "clock": pa.array([1, 2, None], pa.time64("us")),
    "span": pa.array([2**62, 1, None], pa.duration("s")),
    "half": pa.array([np.float16(1.5), np.float16("nan"), None], pa.float16()),
    "wide": pa.array([Decimal("9" * 38), Decimal(-1), None], pa.decimal128(38, 0)),
    "unsigned": pa.array([2**64 - 1, 0, None], pa.uint64()),
    "real": pa.array([NAN, INF, 1e308]),
    "bytes": pa.array([b"\xff\x00", b"a", None]),
    "text": pa.array(["a\x00b", "\U0001f600", "9" * 400]),
    "named": pa.array(["a", "b", None]).dictionary_encode(),
    "list": pa.array([[1.0, NAN], [], None]),
    "struct": pa.array([{"a": 1}, {"a": None}, None]),
    "nothing": pa.nulls(3),
}


_NO_SUCH_TIMES = pytest.mark.never("postgres", "its times end in the year 294276; such a cell cannot be stored")
_NOT_NESTED = pytest.mark.notimpl("postgres", "nested cells are loaded as JSON")
_SPARK = {
    "seconds": pytest.mark.never("spark", "Parquet cannot store such seconds, and the tests load Parquet"),
    "zoned": pytest.mark.never("spark", "its own Parquet reader fails on milliseconds beyond 64 bits of microseconds"),
    "nano": pytest.mark.never("spark", "its own Parquet reader refuses nanoseconds when the DataFrame is made"),
    "clock": pytest.mark.never("spark", "it refuses times of day when the DataFrame is made"),
    "half": pytest.mark.never("spark", "its own Parquet reader refuses 16-bit floats when the DataFrame is made"),
}
_POSTGRES = {
    **dict.fromkeys(("seconds", "zoned", "micro", "nano", "days"), _NO_SUCH_TIMES),
    **dict.fromkeys(("list", "struct"), _NOT_NESTED),
    "text": pytest.mark.never("postgres", "its text cannot hold NUL"),
    "span": pytest.mark.never("postgres", "its intervals are shorter; such a cell cannot be stored"),
}
ODD_GAPS = {name: [gaps[name] for gaps in (_SPARK, _POSTGRES) if name in gaps] for name in ODD_COLUMNS}
KINDS = ("integer", "real", "text", "boolean", "date", "timestamp", "document", "binary")


@pytest.mark.pitfall("A22")
@pytest.mark.parametrize("name", [pytest.param(name, marks=ODD_GAPS[name], id=name) for name in ODD_COLUMNS])
def test_no_cell_of_any_type_can_raise_an_error(asking, question_of, name):
    """A column is refused as a type before a row is read, or all of its cells can be read as that type."""
    engine = asking.engine(pa.table({"id": ["a", "b", "a"], "v": ODD_COLUMNS[name]}))
    query = T.where(T.v.is_present() | T.v.is_missing()).agg(n=N)
    read = []
    for kind in KINDS:
        asked = question_of(query, {"id": "text", "v": kind}, max_rows=2)
        try:
            prepared = engine.prepare(asked)
        except SourceError as refusal:
            assert f"'v' of 't' as {kind}" in refusal.what  # noqa: PT017 - both outcomes are right
            continue
        for rows in ("read anew", "kept"):
            assert engine.run(prepared) == [[3]], (kind, rows)
        read.append(kind)
    assert read[-2:] == ["document", "binary"]


def test_reals_beyond_the_limits_are_missing_and_tiny_ones_are_zero(asking):
    cells = [1e149, -1e149, 1e151, -1e300, 1e-160, -5e-324, 1e-140]
    assert _one(asking, cells, pa.float64(), T.where(T.v.is_present()).agg(n=N)) == 5
    assert _one(asking, cells, pa.float64(), T.where(T.v == 0).agg(n=N)) == 2
    assert _one(asking, cells, pa.float64(), T.where(T.v > 0).agg(n=N)) == 2


@pytest.mark.pitfall("A18")
@pytest.mark.parametrize(
    "expression",
    [
        T.v * T.v, T.v * T.v * T.v, T.v / T.v, 1 / T.v, T.v / 1e149 / 1e149, T.v * 1e-149 * 1e-149, T.v + T.v - T.v,
        (T.v + 1e149) * (T.v - 1e149), T.v * 0, 0 / T.v, (T.v * T.v).cast("integer"), (T.v / 3).cast("integer"),
    ],
)  # fmt: skip
def test_arithmetic_of_extreme_numbers_raises_nothing_and_means_the_same_everywhere(asking, expression):
    """Held against Python's arithmetic with the limits that docs/limits.md states."""
    cells = [0.0, 1.0, -1.0, 3.5, 1e149, -1e149, 1e-149, -1e-149, 1e75, 1e-75, 7e18, None]
    found = [oracle.value(expression.node, cell) for cell in cells]
    rounded = [0 if value is None else math.floor(max(-2, min(2, value)) + 0.5) for value in found]
    by_sign = frame.sum((expression > 0).cast("integer"), bounds=(0, 1))
    by_absence = frame.sum(expression.is_missing().cast("integer"), bounds=(0, 1))
    assert _each(asking, cells, pa.float64(), frame.sum(expression, bounds=(-1, 1), grid=1)) == [
        max(-1, min(1, whole)) for whole in rounded
    ]
    assert _each(asking, cells, pa.float64(), by_sign) == [int(value is not None and value > 0) for value in found]
    assert _each(asking, cells, pa.float64(), by_absence) == [int(value is None) for value in found]


# bins


def _days(*texts):
    return [text and dt.date.fromisoformat(text) for text in texts]


def _times(*texts):
    return [text and dt.datetime.fromisoformat(text) for text in texts]


MANY = 1_000  # more than a tree of comparisons is made for
BINS = {
    "integers": ("integer", pa.int64(), [-LARGEST - 1, 17, 18, 29, 30, 2**53 + 1, LARGEST, None], [18, 30, 2**53 + 1]),
    "one edge": ("integer", pa.int64(), [39, 40, 41, None], [40]),
    "the ends of 64 bits": ("integer", pa.int64(), [-LARGEST - 1, 0, LARGEST, None], [-LARGEST - 1, LARGEST]),
    "halves beside integers": ("integer", pa.int64(), [17, 18, 19, None], [17.5, 18, 18.5]),
    "reals": ("real", pa.float64(), [-1e149, -0.0, 0.1, 0.25, 1e149, NAN, INF, -INF, None], [-1, 0, 0.1, 0.3]),
    "extreme edges": ("real", pa.float64(), [-1e149, 0.0, 1e-149, 1e149, None], [-1e300, -5e-324, 5e-324, 1e300]),
    "neighbouring edges": ("real", pa.float64(), [0.1, 0.1 + 2**-56, 0.1 + 2**-55], [0.1, 0.1 + 2**-56, 0.1 + 2**-55]),
    "many integers": ("integer", pa.int64(), [*range(-3, 2_010, 7), None], list(range(0, 2 * MANY, 2))),
    "many reals": ("real", pa.float64(), [*(i / 3 for i in range(400)), NAN], [i / 10 for i in range(MANY)]),
    "days": (
        "date",
        pa.date32(),
        _days("0001-01-01", "2020-02-28", "2020-02-29", "2020-03-01", "9999-12-31", None),
        _days("0001-01-01", "2020-02-29", "2020-03-01"),
    ),
    "many days": (
        "date",
        pa.date32(),
        [dt.date(2020, 1, 1) + dt.timedelta(days=i) for i in range(0, 500, 3)],
        [dt.date(2020, 1, 1) + dt.timedelta(days=i) for i in range(MANY)],
    ),
    "times": (
        "timestamp",
        pa.timestamp("us"),
        _times("0001-01-01", "2020-02-29 11:59:59.999999", "2020-02-29 12:00", "2020-02-29 12:00:00.000001", None),
        _times("2020-02-29 12:00", "2020-02-29 12:00:00.000001", "9999-12-31 23:59:59.999999"),
    ),
    "many times": (
        "timestamp",
        pa.timestamp("us"),
        [dt.datetime.fromisoformat("2020-01-01 00:00:30") + dt.timedelta(minutes=i) for i in range(0, 500, 3)],
        [dt.datetime.fromisoformat("2020-01-01") + dt.timedelta(minutes=i) for i in range(MANY)],
    ),
}


def _is_there(cell):
    return cell is not None and not (isinstance(cell, float) and (math.isnan(cell) or math.isinf(cell)))


@pytest.mark.pitfall("A4")
@pytest.mark.pitfall("A18")
@pytest.mark.parametrize("name", BINS)
def test_a_bin_is_how_many_of_its_edges_are_at_most_the_value(asking, name):
    declared, kind, cells, edges = BINS[name]
    counted = [bisect.bisect_right(edges, cell) if _is_there(cell) else 0 for cell in cells]
    binned = T.v.bin(edges)
    assert _each(asking, cells, kind, frame.sum(binned, bounds=(0, len(edges))), declared) == counted
    table = pa.table({"row": range(len(cells)), "v": pa.array(cells, kind)})
    absent = T.where(binned.is_missing()).group_by("row", keys={"row": list(range(len(cells)))}).agg(n=N)
    columns = {"row": "integer", "v": declared}
    assert asking.answer(table, absent, columns) == [[int(not _is_there(cell)) for cell in cells]]


@pytest.mark.parametrize("edges", [[2, 4, 7], list(range(MANY))], ids=["few", "many"])
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (T.v * 2 + 1, lambda cell: cell * 2 + 1),
        (T.v / T.v, lambda cell: cell / cell if cell else None),
        (T.v.cast("integer"), lambda cell: math.floor(cell + 0.5)),
        (T.v.cast("integer").cast("text").cast("real"), lambda cell: math.floor(cell + 0.5)),
        (T.v.bin([0, 1, 2, 3]), lambda cell: bisect.bisect_right([0, 1, 2, 3], cell)),
    ],
    ids=["arithmetic", "what may be missing", "a cast", "casts", "a bin"],
)
def test_computed_values_can_be_binned(asking, value, expected, edges):
    cells = [0.0, 0.4, 1.0, 1.5, 2.0, 3.5, -1.0, NAN, None]
    values = [expected(cell) if _is_there(cell) else None for cell in cells]
    counted = [0 if found is None else bisect.bisect_right(edges, found) for found in values]
    assert _each(asking, cells, pa.float64(), frame.sum(value.bin(edges), bounds=(0, len(edges)))) == counted


@pytest.mark.pitfall("A17")
@pytest.mark.parametrize("caps", [{}, {"max_rows": 2}, {"max_rows_per_group": 1, "max_groups": 2}], ids=str)
def test_bins_are_keys_and_conditions(asking, caps):
    """A unit has two rows in one band, or one in each of two: no cap takes any away but the one row for each group."""
    ages = [17, 18, 29, 30, 30, 44, 45, 99, None, None]
    table = pa.table({"id": [1, 1, 2, 2, 3, 3, 4, 4, 5, 5], "age": ages})
    columns, facts = {"id": "integer", "age": "integer"}, caps or {"max_rows": 1_000}
    bands = T.derive(band=T.age.bin([18, 30, 45]))
    histogram = bands.group_by("band", keys={"band": [*range(5), None]})
    counts = [1, 2, 2, 1, 0, 1] if "max_groups" in caps else [1, 2, 3, 2, 0, 2]
    assert asking.answer(table, histogram.agg(n=N), columns, **facts) == [counts]
    assert asking.answer(table, histogram.agg(u=frame.count_units()), columns, **facts) == [[1, 2, 2, 1, 0, 1]]
    middle = bands.where(T.band.is_in([1, 2]) & (T.age.bin([30]) == 1)).agg(n=N, s=frame.sum("band", bounds=(0, 3)))
    assert asking.answer(table, middle, columns, max_rows=2) == [[3], [6]]


def test_ten_thousand_edges_are_searched_and_no_rows_are_lost(asking):
    rows, edges = 20_000, list(range(5, 100_005, 10))
    cells = np.random.default_rng(8).integers(-50, 100_100, rows)
    expected = np.bincount(np.searchsorted(edges, cells, side="right"), minlength=len(edges) + 1).tolist()
    bands = T.derive(band=T.v.bin(edges)).group_by("band", keys={"band": range(len(edges) + 1)})
    assert asking.answer(pa.table({"v": cells}), bands.agg(n=N), {"v": "integer"}) == [expected]
    halved = (T.v / 2).bin([edge / 2 for edge in edges])
    upper = T.where(halved >= 5_000).agg(n=N)
    assert asking.answer(pa.table({"v": cells}), upper, {"v": "integer"}) == [[sum(expected[5_000:])]]


# clamping, rounding, sums


@pytest.mark.pitfall("A18")
def test_halves_are_rounded_up_on_every_engine(asking):
    cells = [1.5, 2.5, 3.5, -1.5, -2.5, 0.49999999999999994, -0.5]
    rounded = [2, 3, 4, -1, -2]
    assert _each(asking, cells, pa.float64(), frame.sum("v", bounds=(-9, 9), grid=1))[:5] == rounded
    assert _each(asking, cells, pa.float64(), frame.sum(T.v.cast("integer"), bounds=(-9, 9)))[:5] == rounded
    assert _each(asking, [0.125, 0.375], pa.float64(), frame.sum("v", bounds=(0, 1), grid=0.25)) == [1, 2]


@pytest.mark.pitfall("A21")
def test_rounding_does_not_leave_the_bounds(asking):
    assert _each(asking, [0.25, 0.2, 1e100], pa.float64(), frame.sum("v", bounds=(0, 0.25), grid=0.1)) == [2, 2, 2]
    assert _each(asking, [-0.25, -1e100], pa.float64(), frame.sum("v", bounds=(-0.25, 0), grid=0.1)) == [-2, -2]
    assert _each(asking, [2**53 - 1.0], pa.float64(), frame.sum("v", bounds=(0, 2**49 - 1), grid=1)) == [2**49 - 1]


@pytest.mark.pitfall("A3")
def test_the_largest_integers_do_not_overflow(asking):
    cells = [LARGEST, LARGEST, -LARGEST - 1]
    assert _one(asking, cells, pa.int64(), T.agg(s=frame.sum("v", bounds=(-(2**48), 2**48))), "integer") == 2**48
    assert _one(asking, cells, pa.int64(), T.agg(m=frame.mean("v", bounds=(-(2**48), 2**48))), "integer") == 2**48
    doubled = T.derive(w=T.v + T.v).agg(s=frame.sum("w", bounds=(0, 2**48), grid=1))
    assert _one(asking, cells, pa.int64(), doubled, "integer") == 2**49


@pytest.mark.pitfall("A3")
@pytest.mark.pitfall("A19")
def test_sums_beyond_64_bits_are_exact(asking):
    rows = 40_000
    cells = pa.array(np.full(rows, LARGEST)).slice(0, rows)
    exact = _one(asking, cells, None, T.agg(s=frame.sum("v", bounds=(0, 2**49 - 1))), "integer")
    assert exact == rows * (2**49 - 1) > LARGEST


@pytest.mark.pitfall("A3")
def test_squares_around_a_centre_are_exact_each_and_together(asking, question_of):
    """Squares of up to 2^53 whose sum is beyond 64 bits, small ones, and those of missing cells."""
    asked = question_of(T.agg(d=frame.std("v", bounds=(0, 10), grid=1)), {"v": "integer"})
    total, squares, _ = asked.measures
    reach, cells = math.isqrt(2**53), [LARGEST] * 1_500 + [-LARGEST, 7, None]
    far = replace(squares, low=2**52 - 2 * reach, high=2**52, centre=2**52 - reach)
    wide = replace(squares, low=-reach, high=reach, centre=0)
    measures = (total, squares, wide, far, replace(far, missing=2**52 - 1))
    engine = asking.engine(pa.table({"v": pa.array(cells, pa.int64())}))
    exact = [column[0] for column in engine.run(engine.prepare(replace(asked, measures=measures)))]
    expected = [1_500 * 5 - 5 + 2, 1_501 * 25 + 4, 1_501 * reach**2 + 49, 1_502 * reach**2]
    assert exact == [*expected, expected[-1] + (reach - 1) ** 2]
    assert exact[2] > LARGEST


@pytest.mark.pitfall("A2")
def test_sums_do_not_depend_on_the_order_of_rows(asking):
    rng = np.random.default_rng(5)
    cells = np.concatenate([rng.random(20_000) * 2**40, -rng.random(20_000) * 2**40, rng.random(20_000)])
    query = T.agg(s=frame.sum("v", bounds=(-(2**40), 2**40), grid=Decimal("0.001")))
    first = _one(asking, cells, None, query)
    assert all(_one(asking, rng.permutation(cells), None, query) == first for _ in range(3))


# ids


IDS = ["p", "P", "p ", " p", "é", "e\u0301", "p\u200b", "ﬁ", "fi", ""]


@pytest.mark.pitfall("A16")
def test_ids_that_differ_in_case_spaces_or_form_are_different_units(asking):
    table = pa.table({"id": IDS * 3})
    assert asking.answer(table, T.agg(u=frame.count_units(), n=N), {"id": "text"}, max_rows=2) == [[10], [20]]


@pytest.mark.pitfall("A16")
@pytest.mark.never("postgres", "its text cannot hold NUL")
def test_ids_that_differ_after_a_nul_are_different_units(asking):
    table = pa.table({"id": ["p", "p\x00", "p\x00q", "p\x00r"] * 2})
    assert asking.answer(table, T.agg(u=frame.count_units(), n=N), {"id": "text"}, max_rows=2) == [[4], [8]]


@pytest.mark.pitfall("A16")
@pytest.mark.parametrize(
    ("unit", "policy", "units", "rows"),
    [
        ("id", "drop", 2, 3),
        ("id", "one_unit", 3, 5),
        (["id", "part"], "drop", 2, 2),
        (["id", "part"], "one_unit", 3, 4),
    ],
)
def test_rows_without_an_id_are_dropped_or_one_unit_together(asking, unit, policy, units, rows):
    """Of seven rows four lack an id or a part of it; together they keep no more than the cap of two."""
    table = pa.table({"id": ["a", "a", "b", "a", None, None, None], "part": [1, 2, None, None, 1, None, 2]})
    columns = {"id": "text", "part": "integer"}
    query = T.agg(u=frame.count_units(), n=N)
    assert asking.answer(table, query, columns, privacy_unit=unit, missing_units=policy, max_rows=2) == [
        [units],
        [rows],
    ]
    ungrouped = T.agg(u=frame.count_units())
    exact = asking.answer(table, ungrouped, columns, privacy_unit=unit, missing_units=policy, max_rows=None)
    assert exact == [[units]]


def test_an_id_that_does_not_fit_its_type_is_missing(asking):
    table = pa.table({"id": ["1", "01", "x", "y", None]})
    query = T.agg(u=frame.count_units(), n=N)
    assert asking.answer(table, query, {"id": "integer"}) == [[1], [2]]
    assert asking.answer(table, query, {"id": "integer"}, missing_units="one_unit", max_rows=2) == [[2], [4]]


# which rows of a unit are kept


ROWS = pa.table(
    {
        "id": [f"u{i % 3}" for i in range(30)],
        "n": pa.array([None if i % 7 == 0 else i - 9 for i in range(30)], pa.int64()),
        "t": [None if i % 5 == 0 else "ab\u00e9c\U0001f600"[i % 5] * (i % 3) for i in range(30)],
        "x": pa.array([None if i % 6 == 0 else i * 0.37 - 4 for i in range(30)], pa.float64()),
        "b": pa.array([(True, False, None)[i % 3 - i % 2] for i in range(30)]),
        "d": pa.array([dt.date(1969, 12, 20) + dt.timedelta(days=i) for i in range(30)]),
        "s": pa.array([-3_600_000_000 + 420_000_001 * i for i in range(30)], pa.timestamp("us")),
    }
)
DECLARED = {"id": "text", "n": "integer", "t": "text", "x": "real", "b": "boolean", "d": "date", "s": "timestamp"}


@pytest.mark.pitfall("A15")
@pytest.mark.parametrize("most", [1, 2, 5])
def test_portable_sampling_keeps_the_rows_that_python_would_keep(asking, most):
    everything = T.where(*(T[name].is_present() | T[name].is_missing() for name in DECLARED))
    units = [f"u{i}" for i in range(3)]
    query = everything.derive(d_=T.n).group_by("id", keys={"id": units}).agg(s=frame.sum("d_", bounds=(-99, 99)), n=N)
    kept = {unit: oracle.kept(ROWS.to_pylist(), KEY, unit, most) for unit in units}
    found = asking.answer(ROWS, query, DECLARED, max_rows=most, sampling="portable")
    sums = [sum(row["n"] or 0 for row in kept[unit]) for unit in units]
    assert sorted(found) == sorted([sums, [len(kept[unit]) for unit in units]])


@pytest.mark.pitfall("A15")
def test_portable_sampling_keeps_the_groups_that_python_would_keep(asking):
    groups = [f"g{i}" for i in range(6)]
    table = pa.table({"id": [i // 6 for i in range(60)], "g": groups * 10})
    query = T.group_by("g", keys={"g": groups}, max_groups=2).agg(u=frame.count_units())
    expected = [0] * 6
    for unit in range(10):
        for ordinal in oracle.kept_groups(KEY, unit, range(6), 2):
            expected[ordinal] += 1
    facts = {"sampling": "portable", "max_rows_per_group": 1}
    assert asking.answer(table, query, {"id": "integer", "g": "text"}, **facts) == [expected]


# dates and times


OCTOBER = {"of": "all", "column": "at", "start": "2026-10-01", "end": "2026-11-01"}
AROUND_OCTOBER = [
    ("2026-09-30 23:59:59.999999", 0),
    ("2026-10-01 00:00:00", 1),
    ("2026-10-15 12:00:00", 1),
    ("2026-10-31 23:59:59.999999", 1),
    ("2026-11-01 00:00:00", 0),
    ("0001-01-01 00:00:00", 0),
    ("9999-12-31 23:59:59.999999", 0),
    (None, 0),
]


@pytest.mark.pitfall("A4")
@pytest.mark.parametrize("kind", ["timestamp", "date", "text"])
def test_only_rows_of_the_slice_are_read(asking, kind):
    """From its start until before its end; a time that is missing or cannot be read is in no slice."""
    cells = [cell and dt.datetime.fromisoformat(cell) for cell, _ in AROUND_OCTOBER]
    inside = [is_in for _, is_in in AROUND_OCTOBER]
    if kind == "date":
        column = pa.array([cell and cell.date() for cell in cells], pa.date32())
    elif kind == "timestamp":
        column = pa.array(cells, pa.timestamp("us"))
    else:
        column = pa.array([*(cell for cell, _ in AROUND_OCTOBER), "soon", "", "2026-10-32", "2026-10-31 23:00-02:00"])
        inside += [0, 0, 0, 0]
    table = pa.table({"row": range(len(inside)), "at": column})
    query = T.group_by("row", keys={"row": list(range(len(inside)))}).agg(n=N)
    declared = {"row": "integer", "at": "date" if kind == "date" else "timestamp"}
    assert asking.answer(table, query, declared, slice=OCTOBER) == [inside]
    capped = {"privacy_unit": "row", "missing_units": "one_unit"}
    assert asking.answer(table, query, declared, slice=OCTOBER, **capped) == [inside]


@pytest.mark.pitfall("A8")
def test_a_slice_is_applied_to_the_stored_column_before_contribution_bounds(asking):
    """Many rows outside the slice take no place of the few inside; a derived column of its name changes nothing."""
    days = [dt.date(2026, 9, 1 + i) for i in range(30)] + [dt.date(2026, 10, 1 + i) for i in range(3)]
    table = pa.table({"id": ["p"] * 33 + ["q"], "at": pa.array([*days, days[0]], pa.date32()), "v": range(34)})
    columns = {"id": "text", "at": "date", "v": "integer"}
    later = T.derive(at=(T.v + 20_000).cast("integer").cast("text").cast("date"))
    for query in (T, later, T.derive(at=T.v)):
        asked = query.agg(n=N, u=frame.count_units(), s=frame.sum("v", bounds=(0, 100)))
        assert asking.answer(table, asked, columns, slice=OCTOBER, max_rows=3) == [[3], [1], [93]]
        assert asking.answer(table, asked, columns, slice=OCTOBER, max_rows=2)[0] == [2]


def test_dates_and_timestamps_compare_and_cast_as_in_utc(asking):
    noon = dt.datetime(2020, 1, 31, 12, tzinfo=dt.UTC)
    table = pa.table(
        {
            "d": [dt.date(2020, 1, 31), dt.date(2020, 2, 1), None],
            "s": pa.array([noon, noon, noon], pa.timestamp("us", tz="Pacific/Auckland")),
            "w": ["2020-01-31 12:00:00", "2020-01-31T13:00:00", "31.1.2020"],
        }
    )
    columns = {"d": "date", "s": "timestamp", "w": "timestamp"}

    def count(predicate):
        return asking.answer(table, T.where(predicate).agg(n=N), columns)[0][0]

    assert [count(T.d <= "2020-01-31"), count(T.d > dt.date(2020, 1, 31)), count(T.d < T.s)] == [1, 1, 1]
    assert [count(T.s == "2020-01-31 12:00"), count(T.s.cast("date") == "2020-01-31")] == [3, 3]
    assert [count(T.w == "2020-01-31 12:00"), count(T.w == "2020-01-31 13:00"), count(T.w.is_missing())] == [1, 1, 1]


# size, threads, close


@pytest.mark.never("spark", "its memory is set when the application starts; memory_limit is refused")
@pytest.mark.pitfall("A15")
def test_input_that_does_not_fit_in_memory_gives_the_same_integers(asking, question_of, tmp_path):
    rows = 200_000
    rng = np.random.default_rng(6)
    table = {"id": rng.integers(0, rows // 4, rows), "g": rng.integers(0, 4, rows), "x": rng.random(rows)}
    pq.write_table(pa.table(table), tmp_path / "t.parquet", row_group_size=25_000)
    query = T.group_by("g", keys={"g": [0, 1, 2, 3]}, max_groups=2).agg(n=N, s=frame.sum("x", bounds=(0, 1)))
    asked = question_of(query, {"id": "integer", "g": "integer", "x": "real"}, max_rows=3)
    exact = [
        (engine := asking.engine(tmp_path / "t.parquet", **limits)).run(engine.prepare(asked))
        for limits in ({}, {"memory_limit": "20MB", "threads": 2})
    ]
    assert exact[0] == exact[1]
    assert sum(exact[0][0]) > rows // 4


@pytest.mark.pitfall("A15")
def test_rows_with_the_same_cells_in_other_columns_are_told_apart_by_the_hash(asking, question_of):
    """A hash that skips what is missing would let the tie-break choose, for every unit in the same way."""
    units = 200
    table = pa.table({"id": [*range(units)] * 2, "a": [None] * units + [5] * units, "b": [5] * units + [None] * units})
    measures = {name: frame.sum(name, bounds=(0, 9), grid=1) for name in ("a", "b")}
    asked = question_of(T.agg(**measures), dict.fromkeys(("id", "a", "b"), "integer"), max_rows=1)
    engine = asking.engine(table)
    totals = [engine.run(engine.prepare(asked)) for _ in range(3)]
    assert totals[0] == totals[1] == totals[2]
    (a,), (b,) = totals[0]
    assert a + b == 5 * units
    assert 250 < a < 750  # of 200 coins, outside with a chance below 1e-12


@pytest.mark.pitfall("A15")
def test_rows_that_are_kept_give_the_same_integers_as_rows_that_are_read_anew(asking, question_of):
    """The first question of a session reads them, the second keeps them, the third finds them kept."""
    rng = np.random.default_rng(11)
    table = pa.table(
        {
            "id": pa.array(rng.integers(0, 80, 1_500), mask=rng.random(1_500) < 0.05),
            "g": rng.choice([None, "a", "b", "c", "é"], 1_500),
            "x": rng.choice([NAN, INF, -3.5, 0.25, 0.25, 7.0, 1e200], 1_500),
        }
    )
    columns = {"id": "integer", "g": "text", "x": "real"}
    measures = {"n": N, "u": frame.count_units(), "s": frame.sum("x", bounds=(-4, 9), grid=0.25)}
    by_key = T.group_by("g", keys={"g": ["c", "b", None, "z"]})
    asked = {
        "totals": question_of(T.where(T.g != "b").agg(**measures), columns, max_rows=3),
        "by key": question_of(by_key.agg(**measures), columns, max_rows=5),
        "within groups": question_of(
            T.group_by("g", keys={"g": ["a", "b", "c"]}, max_groups=2).agg(
                n=N, d=frame.count_distinct("g", domain=["a", "é"])
            ),
            columns,
            max_rows=7,
        ),
        "portable": question_of(by_key.agg(**measures), columns, max_rows=4, sampling="portable"),
    }
    engine = asking.engine(table)
    for name, each in asked.items():
        answers = [engine.run(engine.prepare(each)) for _ in range(3)]
        assert answers[0] == answers[1] == answers[2], name
        assert any(map(any, answers[0])), name
        assert engine.is_prepared(engine.prepare(each)), name


def test_eight_threads_at_once_get_the_same_answers(asking, question_of):
    rng = np.random.default_rng(7)
    table = pa.table({"id": rng.integers(0, 500, 5_000), "g": rng.integers(0, 9, 5_000), "x": rng.random(5_000)})
    columns = {"id": "integer", "g": "integer", "x": "real"}
    queries = [
        T.group_by("g", keys={"g": list(range(1 + i))}).agg(n=N, s=frame.sum("x", bounds=(0, 1))) for i in range(2)
    ]
    asked = [question_of(query, columns, max_rows=1 + i) for i in range(2) for query in queries]
    alone = asking.engine(table)
    expected = [alone.run(alone.prepare(each)) for each in asked]
    shared, answers, failures = asking.engine(table), {}, []

    def work(number):
        try:
            order = np.random.default_rng(number).permutation(len(asked))
            answers[number] = {int(i): shared.run(shared.prepare(asked[i])) for i in order}
        except Exception as error:  # noqa: BLE001 - told by the thread that waits
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert all(found == dict(enumerate(expected)) for found in answers.values())


def test_close_leaves_nothing_behind(asking, question_of, tmp_path):
    engine = asking.engine(pa.table({"id": [1, 2]}))
    engine.run(engine.prepare(question_of(T.agg(n=N), {"id": "integer"}, max_rows=1)))
    engine.close()
    assert not [path for path in (tmp_path / "private").iterdir() if path.is_dir()]


# conditional values, text matches and parts of dates


def _alike(expression, expected):
    """Whether an expression has the value of a column, or both are missing."""
    return (expression == expected) | (expression.is_missing() & expected.is_missing())


def _differing(asking, table, columns, expressions):
    """The names of the expressions that differ from the column of that name, in any row; one query if none does."""
    met = T
    for name, each in expressions.items():
        met = met.where(_alike(each, T[name]))
    if asking.answer(table, met.agg(n=N), columns)[0][0] == len(table):
        return []
    answers = [
        asking.answer(table, T.where(_alike(e, T[name])).agg(n=N), columns)[0][0] for name, e in expressions.items()
    ]
    return [name for name, rows in zip(expressions, answers, strict=True) if rows != len(table)]


def _start(moment, unit):
    """The start of a unit, by Python's calendar."""
    if moment is None:
        return None
    is_time = isinstance(moment, dt.datetime)
    day = moment.date() if is_time else moment
    if unit in ("hour", "minute"):
        return moment.replace(minute=moment.minute if unit == "minute" else 0, second=0, microsecond=0)
    start = {
        "year": lambda: day.replace(month=1, day=1),
        "quarter": lambda: day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1),
        "month": lambda: day.replace(day=1),
        "week": lambda: day - dt.timedelta(days=day.weekday()),
        "day": lambda: day,
    }[unit]()
    return dt.datetime.combine(start, dt.time()) if is_time else start


def _part(moment, part):
    if moment is None:
        return None
    own = {"quarter": lambda: (moment.month + 2) // 3, "weekday": moment.isoweekday}
    return own[part]() if part in own else getattr(moment, part)


UNITS = ("year", "quarter", "month", "week", "day", "hour", "minute")
PARTS = ("year", "quarter", "month", "day", "weekday", "hour")
DAYS = [
    *(dt.date(1, 1, 1), dt.date(1, 1, 7), dt.date(4, 2, 29), dt.date(1582, 10, 10), dt.date(1900, 2, 28)),
    *(dt.date(1969, 12, 31), dt.date(2000, 2, 29), dt.date(2023, 12, 31), dt.date(2024, 2, 29), dt.date(2024, 12, 30)),
    *(dt.date(2025, month, 15) for month in range(1, 13)),
    *(dt.date(2026, 11, day) for day in range(1, 9)),
    *(dt.date(9999, 12, 26), dt.date(9999, 12, 31), None),
]
TIMES = [dt.time(), dt.time(0, 0, 0, 1), dt.time(13, 59, 59, 999_999), dt.time(23, 59, 59, 999_999)]
MOMENTS = [None if day is None else dt.datetime.combine(day, TIMES[i % 4]) for i, day in enumerate(DAYS)]


@pytest.mark.pitfall("A18")
def test_dates_and_times_are_cut_to_their_units_and_have_the_parts_of_the_calendar(asking):
    cells = {"d": pa.array(DAYS, pa.date32()), "m": pa.array(MOMENTS, pa.timestamp("us"))}
    columns, expressions = {"d": "date", "m": "timestamp"}, {}
    for name, values, kind in (("d", DAYS, "date"), ("m", MOMENTS, "timestamp")):
        for unit in UNITS[: 5 if name == "d" else 7]:
            key = f"{name}_{unit}"
            cells[key] = pa.array([_start(value, unit) for value in values], cells[name].type)
            columns[key], expressions[key] = kind, T[name].truncate(unit)
        for part in PARTS[: 5 if name == "d" else 6]:
            key = f"{name}_part_{part}"
            cells[key] = pa.array([_part(value, part) for value in values], pa.int64())
            columns[key], expressions[key] = "integer", T[name].part(part)
    assert _differing(asking, pa.table(cells), columns, expressions) == []


MATCHED = ["", "a", "ab", "ba", "A", "aa%", "%a", "a_b", "_", "\\", "\\%", "it's", '"', "''", "é", "e\u0301", "\u0301"]
MATCHED += ["\U0001f600", "x\U0001f600y", "\U0001f469\u200d\U0001f52c", "ß", "SS", "a\nb", "{0}", "$1", "a" * 300, None]
SOUGHT = ["a", "A", "b", "%", "_", "\\", "'", '"', "e", "\u0301", "é", "\U0001f600", "\u200d", "ß", "\n", "{0}", "aaaa"]


@pytest.mark.pitfall("A18")
def test_text_is_matched_by_code_points_with_case_and_without_wildcards(asking):
    cells, columns, expressions = {"s": pa.array(MATCHED)}, {"s": "text"}, {}
    for i, text in enumerate(SOUGHT):
        calls = {"starts_with": str.startswith, "ends_with": str.endswith, "contains": str.__contains__}
        for call, python in calls.items():
            found = [None if cell is None else python(cell, text) for cell in MATCHED]
            cells[f"{call}_{i}"] = pa.array(found, pa.bool_())
            columns[f"{call}_{i}"], expressions[f"{call}_{i}"] = "boolean", getattr(T.s, call)(text)
    assert _differing(asking, pa.table(cells), columns, expressions) == []


@pytest.mark.pitfall("A4")
@pytest.mark.pitfall("A18")
def test_a_case_has_the_value_of_the_first_condition_that_is_true(asking):
    x = [1, 2, 3, None]
    cells = {
        "x": pa.array(x, pa.int64()),
        "r": pa.array([0.5, NAN, None, -2.0]),
        "s": pa.array(["A", "é", None, ""]),
        "d": pa.array([DAYS[0], DAYS[-2], None, DAYS[8]], pa.date32()),
        "b": pa.array([True, False, None, True]),
        "first": pa.array([10, 20, -(2**63), -(2**63)], pa.int64()),
        "nothing": pa.array([None, LARGEST, None, None], pa.int64()),
        "real": pa.array([0.5, None, 3.0, 7.0]),
        "filled": pa.array([0.5, 0.25, 0.25, -2.0]),
        "limited": pa.array([None, 2.0, 0.0, 0.0]),
        "text": pa.array(["A!", "é", "none", ""]),
        "day": pa.array([DAYS[0], DAYS[-2], dt.date(2026, 1, 31), DAYS[8]], pa.date32()),
        "moment": pa.array(
            [dt.datetime.combine(DAYS[0], TIMES[0]), MOMENTS[2], MOMENTS[2], MOMENTS[2]], pa.timestamp("us")
        ),
        "truth": pa.array([True, False, True, True]),
        "sum": pa.array([1.5, None, None, -1.0]),
    }
    columns = {"x": "integer", "r": "real", "s": "text", "d": "date", "b": "boolean", "first": "integer"}
    columns |= {"nothing": "integer", "real": "real", "filled": "real", "limited": "real", "text": "text"}
    columns |= {"day": "date", "moment": "timestamp", "truth": "boolean", "sum": "real"}
    expressions = {
        "first": dp.when(T.x == 1, 10).when(T.x <= 2, 20).otherwise(-(2**63)),
        "nothing": dp.when(T.x == 2, LARGEST),
        "real": dp.when(T.x <= 2, T.r).when(T.x == 3, T.x).otherwise(7),
        "filled": T.r.fill_missing(0.25),
        "limited": dp.when(T.x == 1, 1e200).when(T.x == 2, 2.0).otherwise(1e-200),
        "text": dp.when(T.s == "A", "A!").otherwise(T.s.fill_missing("none")),
        "day": T.d.fill_missing("2026-01-31"),
        "moment": dp.when(T.x == 1, T.d).otherwise(MOMENTS[2]),
        "truth": T.b.fill_missing(True),
        "sum": dp.when(T.b, T.r).when(T.r < 0, T.r) + 1,
    }
    assert _differing(asking, pa.table(cells), columns, expressions) == []


def test_a_case_of_many_branches_is_answered_as_a_key_and_a_sum(asking):
    rows = pa.table({"x": pa.array([*range(300), None], pa.int64())})
    number = T.x
    for i in range(300):
        number = dp.when(T.x == 0, 5) if i == 0 else number.when(T.x == i, i % 7)
    query = T.derive(k=number.otherwise(9)).group_by("k", keys={"k": [0, 5, 9]}).agg(n=N, s=frame.sum("k"))
    expected = [5 if i == 0 else i % 7 for i in range(300)]
    counts = [sum(each == key for each in expected) for key in (0, 5)]
    answered = asking.answer(rows, query, {"x": "integer"})
    assert answered == [[*counts, 1], [0, 5 * counts[1], 9]]


@pytest.mark.pitfall("A11")
def test_a_case_of_texts_and_the_start_of_a_month_are_keys(asking):
    rows = pa.table({"x": pa.array([1, 2, 3, None], pa.int64()), "m": pa.array(MOMENTS[8:12], pa.timestamp("us"))})
    columns = {"x": "integer", "m": "timestamp"}
    named = T.derive(g=dp.when(T.x < 2, "low").when(T.x < 3, "é"), month=T.m.truncate("month"))
    assert asking.answer(rows, named.group_by("g", keys={"g": ["é", "low", None]}).agg(n=N), columns) == [[1, 1, 2]]
    months = ["2024-02-01 00:00", "2024-12-01 00:00", "2024-12-02 00:00"]
    assert asking.answer(rows, named.group_by("month", keys={"month": months}).agg(n=N), columns) == [[1, 1, 0]]


SPELLED = {
    "2024-02-29 23:30:00.5+05:30": "2024-02-29 18:00:00.5", "2024-03-01T00:30-13:00": "2024-03-01 13:30",
    "0001-01-01 00:00+13:59": None, "9999-12-31 23:59:59-00:01": None, "2024-02-30": None, "24:00": None, "": None,
    "9999-12-31T23:59:59.999999Z": "9999-12-31 23:59:59.999999", "2024-02-29": "2024-02-29", "%": None,
    "\ufeff2024-02-29": None, " 2024-02-29 ": None,
}  # fmt: skip
IN_UTC = [None if text is None else dt.datetime.fromisoformat(text) for text in SPELLED.values()]


@pytest.mark.pitfall("A6")
@pytest.mark.pitfall("A18")
def test_parts_of_times_are_those_in_utc_and_missing_where_the_text_is_no_time(asking):
    """From text, from a column with a zone and from one without; a time beyond the calendar in UTC is no time."""
    zoned = [None if each is None else each.replace(tzinfo=dt.UTC) for each in IN_UTC]
    cells = {
        "s": pa.array(list(SPELLED)),
        "z": pa.array(zoned, pa.timestamp("us", "Asia/Kolkata")),
        "m": pa.array(IN_UTC, pa.timestamp("us")),
        "r": pa.array([NAN, INF, -INF, 1e300, -0.0, None, 1.0, 5e-324, 0.5, 2.0, -1.0, 1e149]),
    }
    columns, expressions = {"s": "text", "z": "timestamp", "m": "timestamp", "r": "real"}, {}
    for name, moment in (("s", T.s.cast("timestamp")), ("z", T.z), ("m", dp.when(T.m.is_present(), T.m))):
        for unit in ("quarter", "week", "hour", "minute"):
            cells[f"{name}_{unit}"] = pa.array([_start(each, unit) for each in IN_UTC], pa.timestamp("us"))
            columns[f"{name}_{unit}"], expressions[f"{name}_{unit}"] = "timestamp", moment.truncate(unit)
        for part in ("year", "weekday", "hour"):
            cells[f"{name}_{part}"] = pa.array([_part(each, part) for each in IN_UTC], pa.int64())
            columns[f"{name}_{part}"], expressions[f"{name}_{part}"] = "integer", moment.part(part)
    cells["case"] = pa.array([9.0, 9.0, 9.0, 9.0, 0.0, 9.0, 1.0, 0.0, 0.5, 2.0, 7.0, 1e149])
    columns["case"], expressions["case"] = "real", dp.when(T.r < 0, 7).otherwise(T.r.fill_missing(9))
    assert _differing(asking, pa.table(cells), columns, expressions) == []
