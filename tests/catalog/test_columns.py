"""Facts of one column, on their own; tests/catalog/test_catalog.py has what whole catalogs say of columns."""

import datetime as dt
from fractions import Fraction

import pydantic
import pytest

from discreet.catalog.columns import NUMERIC, UNSTRUCTURED, Column, ColumnType, is_of_type, python_value


def test_numbers_of_a_column_are_exact():
    column = Column(type="real", bounds=[0, 0.1], grid="1/3", missing=0.5)
    assert column.bounds == (Fraction(0), Fraction(1, 10))
    assert (column.grid, column.missing) == (Fraction(1, 3), Fraction(1, 2))


def test_a_column_of_text_has_no_bounds_and_a_real_one_no_keys():
    with pytest.raises(pydantic.ValidationError, match="bounds: a column of type text has none"):
        Column(type="text", bounds=(0, 1))
    with pytest.raises(pydantic.ValidationError, match="has no list of keys"):
        Column(type="real", keys=[1])


def test_keys_are_of_the_type_of_their_column():
    assert Column(type="date", keys=["2026-01-31"]).keys == (dt.date(2026, 1, 31),)
    with pytest.raises(pydantic.ValidationError, match="is not of type integer"):
        Column(type="integer", keys=["A"])


def test_every_type_is_either_a_number_unstructured_or_neither():
    assert not set(NUMERIC) & set(UNSTRUCTURED)
    assert is_of_type(True, ColumnType.BOOLEAN)
    assert not is_of_type(True, ColumnType.INTEGER)
    assert python_value(True) is True
