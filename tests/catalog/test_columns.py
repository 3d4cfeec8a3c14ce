"""Facts of one column, on their own; tests/catalog/test_catalog.py has what whole catalogs say of columns."""

import datetime as dt
from fractions import Fraction

import pydantic
import pytest

from discreet.catalog.columns import NUMERIC, UNSTRUCTURED, Column, ColumnType, FeatureBins, is_of_type, python_value


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


def test_bins_are_linear_logarithmic_or_between_edges():
    assert Column(type="integer", bounds=(0, 9), bins={"linear": 3}).bins == FeatureBins(linear=3)
    assert Column(type="real", bounds=(0, 9), bins={"log": 4}).bins == FeatureBins(log=4)
    assert Column(type="real", bins=[0, 0.1]).bins == FeatureBins(edges=(0, Fraction(1, 10)))
    assert Column(type="real", bins={"edges": [0, 1]}).bins == Column(type="real", bins=(0, 1)).bins


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({"type": "text", "bins": [1]}, "bins: a column of type text has none"),
        ({"type": "real", "bins": {"linear": 4}}, "which the column needs"),
        ({"type": "real", "bounds": (1, 1), "bins": {"log": 4}}, "which the column needs"),
        ({"type": "real", "bounds": (0, 1), "bins": {"linear": 0}}, "from 1 to 4,095 of them"),
        ({"type": "real", "bounds": (0, 1), "bins": {"log": 4096}}, "from 1 to 4,095 of them"),
        ({"type": "real", "bounds": (0, 1), "bins": {"log": 4, "linear": 4}}, "one of linear, log and edges"),
        ({"type": "real", "bounds": (0, 1), "bins": {}}, "one of linear, log and edges"),
        ({"type": "real", "bounds": (0, 1), "bins": {"log": True}}, "valid integer"),
        ({"type": "real", "bounds": (0, 1), "bins": {"equal": 4}}, "Extra inputs"),
        ({"type": "real", "bins": []}, "from 1 to 4,094 edges"),
        ({"type": "real", "bins": [1, 1]}, "edges increase"),
        ({"type": "real", "bins": [2, 1]}, "edges increase"),
        (
            {"type": "real", "bins": [1, "1000000000000000000001/1000000000000000000000"]},
            "differ as numbers of 64 bits",
        ),
        ({"type": "real", "bins": [10**400]}, "too large"),
        ({"type": "real", "bins": 8}, "dictionary"),
    ],
)
def test_bins_that_cannot_be_used_are_refused(facts, reason):
    with pytest.raises(pydantic.ValidationError, match=reason):
        Column(**facts)
