"""Conditions are true, missing or false slot by slot, and refused where a slot fulfils them in part."""

import datetime as dt

import numpy as np
import pytest

import discreet as dp
from discreet.catalog.catalog import ColumnType
from discreet.plan import logical
from discreet.plan.slots import SlotColumn
from discreet.query.frame import relation_of
from discreet.synthesis.answers.truth import columns_in, compare, number_of, substitute, truth

AGE = SlotColumn("age", ColumnType.INTEGER, edges=(0, 18, 65, 100))
COST = SlotColumn("cost", ColumnType.REAL, edges=(0.0, 10.0, 20.0))
SEX = SlotColumn("sex", ColumnType.TEXT, values=("F", "M"))
IS_NEW = SlotColumn("is_new", ColumnType.BOOLEAN, values=(False, True))
DAY = SlotColumn("day", ColumnType.DATE, edges=(dt.date(2024, 1, 1), dt.date(2024, 7, 1), dt.date(2025, 1, 1)))
COLUMNS = {column.name: column for column in (AGE, COST, SEX, IS_NEW, DAY)}
T = dp.table("people")


def node(expression):
    return relation_of(T.where(expression)).predicate


def found(expression, *axes):
    array = truth(node(expression), COLUMNS, axes)
    return None if array is None else array.ravel().tolist()


@pytest.mark.parametrize(
    ("sign", "value", "slots"),
    [
        ("<", 18, [2, 0, 0, 1]),
        ("<=", 17, [2, 0, 0, 1]),
        ("<=", 17.5, [2, 0, 0, 1]),
        (">=", 65, [0, 0, 2, 1]),
        (">", 64, [0, 0, 2, 1]),
        ("<", 100, [2, 2, 2, 1]),
        ("<", 0, [0, 0, 0, 1]),
        (">=", -5, [2, 2, 2, 1]),
        ("<=", 18, None),
        ("==", 18, None),
        ("!=", 200, [2, 2, 2, 1]),
        ("<", "18", None),
        ("<", True, None),
    ],
)
def test_whole_numbers_are_compared_at_edges(sign, value, slots):
    array = compare(AGE, sign, value)
    assert (None if array is None else array.tolist()) == slots


@pytest.mark.parametrize(
    ("sign", "value", "slots"),
    [
        ("<", 10, [2, 0, 1]),
        (">=", 10.0, [0, 2, 1]),
        ("<=", 10, None),
        (">", 10, None),
        ("<=", 20, [2, 2, 1]),
        ("<", 20, None),
        ("==", 10, None),
        ("<", 5, None),
    ],
)
def test_real_numbers_belong_to_the_bin_that_begins_with_them(sign, value, slots):
    array = compare(COST, sign, value)
    assert (None if array is None else array.tolist()) == slots


def test_single_values_of_whole_numbers_are_slots():
    grade = SlotColumn("grade", ColumnType.INTEGER, edges=(1, 2, 3, 4))
    assert compare(grade, "==", 2).tolist() == [0, 2, 0, 1]
    assert compare(grade, "!=", 2).tolist() == [2, 0, 2, 1]


def test_declared_values_are_compared_and_others_are_with_the_missing_ones():
    assert compare(SEX, "==", "F").tolist() == [2, 0, 1]
    assert compare(SEX, "!=", "F").tolist() == [0, 2, 1]
    assert compare(SEX, "==", "X") is None
    assert compare(SEX, "<", "M") is None
    assert compare(SlotColumn("year", ColumnType.INTEGER, values=(3, 1)), ">=", 2).tolist() == [2, 0, 1]


def test_dates_are_compared_at_edges():
    assert compare(DAY, "<", dt.date(2024, 7, 1)).tolist() == [2, 0, 1]
    assert compare(DAY, "<=", dt.date(2024, 6, 30)).tolist() == [2, 0, 1]
    assert compare(DAY, ">", dt.date(2024, 7, 1)) is None
    assert number_of(dt.date(1970, 1, 3)) == 2
    assert number_of(dt.datetime.fromisoformat("1970-01-01T00:00:01")) == 1_000_000


def test_constants_beside_dates_and_times_are_read_as_a_session_reads_them():
    times = tuple(dt.datetime.fromisoformat(f"2024-0{month}-01") for month in (1, 4, 7))
    seen = SlotColumn("seen", ColumnType.TIMESTAMP, edges=times)
    assert compare(DAY, "<", "2024-07-01").tolist() == [2, 0, 1]
    assert compare(DAY, "<", "2024-07-02") is None
    for value in ("2024-04-01", "2024-04-01T00:00:00+00:00", dt.date(2024, 4, 1), times[1].replace(tzinfo=dt.UTC)):
        assert compare(seen, ">=", value).tolist() == [0, 2, 1]
    assert compare(seen, ">=", "April") is None
    assert found(T.day.is_in(["2024-01-01", "2024-07-01"]), "day") is None


def test_conditions_combine_as_in_sql():
    assert found((T.age >= 18) & (T.age < 65), "age") == [0, 2, 0, 1]
    assert found(~(T.sex == "F"), "sex") == [0, 2, 1]
    assert found(T.sex.is_missing() | (T.sex == "F"), "sex") == [2, 0, 2]
    assert found(T.sex.is_in(["F", "M"]), "sex") == [2, 2, 1]
    assert found(T.sex.is_in(["F", "X"]), "sex") is None
    assert found(T.is_new, "is_new") == [0, 2, 1]
    assert found(T.age.bin([18, 65]) == 1, "age") == [0, 2, 0, 1]
    assert found(T.age.bin([18, 65]) != 1, "age") == [2, 0, 2, 1]
    assert found(T.age.bin([30]) == 1, "age") is None


def test_several_columns_have_an_axis_each():
    array = truth(node((T.sex == "F") | (T.age < 18)), COLUMNS, ("age", "sex"))
    np.testing.assert_array_equal(array, [[2, 2, 2], [2, 0, 1], [2, 0, 1], [2, 1, 1]])


def test_other_expressions_are_not_about_slots():
    assert found(T.age + 1 > 18, "age") is None
    assert found(T.sex.starts_with("F"), "sex") is None
    assert found(T.age > T.cost, "age", "cost") is None
    assert truth(logical.Literal(True), COLUMNS, ()) is None


def test_derived_columns_stand_for_what_they_are_derived_from():
    derived = {"adult": logical.Compare(">=", logical.ColumnRef("age"), logical.Literal(18))}
    plain = substitute(logical.Not(logical.ColumnRef("adult")), derived)
    assert columns_in(plain) == {"age"}
    assert truth(plain, COLUMNS, ("age",)).tolist() == [2, 0, 0, 1]
    assert substitute(logical.Cast(logical.ColumnRef("age"), ColumnType.TEXT), {}) == logical.Case(())
