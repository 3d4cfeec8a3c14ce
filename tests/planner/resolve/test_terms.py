"""Constants, casts and comparisons have one type, or an error says what does not fit."""

import datetime as dt

import pytest

from discreet.catalog.catalog import ColumnType
from discreet.errors import ParameterError, TypeMismatchError
from discreet.plan.physical import Apply, Constant, Read
from discreet.planner.resolve import terms

WHOLE, REAL = Read("i", ColumnType.INTEGER), Read("r", ColumnType.REAL)
DAY, MOMENT = Read("d", ColumnType.DATE), Read("z", ColumnType.TIMESTAMP)


def test_a_constant_has_the_type_that_it_is_compared_with():
    assert terms.constant("2026-01-31", ColumnType.DATE, "a test") == dt.date(2026, 1, 31)
    assert type(terms.constant(1, ColumnType.REAL, "a test")) is float
    with pytest.raises(TypeMismatchError, match="'x' in a test"):
        terms.constant("x", ColumnType.DATE, "a test")
    with pytest.raises(ParameterError, match="NUL"):
        terms.constant("a\0", ColumnType.TEXT, "a test")


def test_both_sides_of_a_comparison_are_widened():
    assert terms.alike(WHOLE, REAL, "==") == (Apply("to_real", (WHOLE,), ColumnType.REAL), REAL)
    assert terms.alike(DAY, MOMENT, "<")[0].type is ColumnType.TIMESTAMP
    text = Constant("2026-01-31", ColumnType.TEXT)
    assert terms.alike(DAY, text, "<")[1] == Constant(dt.date(2026, 1, 31), ColumnType.DATE)
    with pytest.raises(TypeMismatchError, match="different types"):
        terms.alike(WHOLE, DAY, "==")


def test_a_cast_that_is_not_the_same_everywhere_is_refused():
    assert terms.cast(WHOLE, ColumnType.INTEGER) is WHOLE
    with pytest.raises(TypeMismatchError, match="a cast from real to text"):
        terms.cast(REAL, ColumnType.TEXT)


def test_a_condition_is_true_or_false_and_documents_stand_in_no_expression():
    with pytest.raises(TypeMismatchError, match="a condition is true or false"):
        terms.require_condition(WHOLE, "where")
    with pytest.raises(TypeMismatchError, match="documents"):
        terms.refuse_documents(WHOLE, Read("x", ColumnType.DOCUMENT))
