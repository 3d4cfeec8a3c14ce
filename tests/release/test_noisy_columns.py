"""What follows the aggregates: values as SQL has them, with missing ones, and recipes that survive JSON."""

import datetime as dt
import json
from decimal import Decimal

import pytest

from discreet.release import noisy_columns as noisy
from discreet.release.noisy_columns import (
    Arithmetic,
    Condition,
    ConstantColumn,
    IntervalEnd,
    KeyOf,
    Order,
    OutputOf,
    TableRecipe,
)

RECIPE = TableRecipe(
    {
        "ward": KeyOf("ward"),
        "tens": KeyOf("tens", (1, 2), (0, 10)),
        "n": OutputOf("n"),
        "share": Arithmetic("/", OutputOf("n"), ConstantColumn(Decimal("2.5"))),
        "low": IntervalEnd(OutputOf("n"), is_high=False),
    },
    Condition("and", (Condition(">", (OutputOf("n"), ConstantColumn(10))), Condition("is null", (KeyOf("ward"),)))),
    (Order(KeyOf("day"), descending=True, nulls_first=False), Order(ConstantColumn(dt.date(2026, 1, 1)), False, True)),
    3,
    1,
)


def test_a_recipe_survives_json():
    assert TableRecipe.from_json(json.loads(json.dumps(RECIPE.to_json()))) == RECIPE


@pytest.mark.parametrize(
    "change",
    [
        {"columns": {}},
        {"columns": {"n": 5}},
        {"limit": "3"},
        {"offset": None},
        {"having": ["order", 1, 2, 3]},
        {"order": 3},
    ],
)
def test_a_damaged_recipe_is_an_error(change):
    with pytest.raises((TypeError, KeyError, ValueError)):
        TableRecipe.from_json(RECIPE.to_json() | change)


@pytest.mark.parametrize(
    ("sign", "row", "expected"),
    [
        ("and", (True, None), None),
        ("and", (False, None), False),
        ("or", (True, None), True),
        ("or", (False, None), None),
        ("not", (None,), None),
        ("=", (None, 1), None),
        ("is null", (None,), True),
        ("in", (2, 1, 2), True),
        ("in", (3, 1, 2), False),
        ("<", ("a", 1), None),
        (">=", (2, 2), True),
    ],
)
def test_conditions_have_missing_values_as_sql_has_them(sign, row, expected):
    assert noisy._test(sign, row) is expected


def test_a_division_by_zero_is_missing():
    assert noisy._combine("/", 1, 0) is None


def test_the_formula_of_a_column_is_in_words():
    formulas = {name: noisy.formula(column) for name, column in RECIPE.columns.items()}
    assert formulas["share"] == "(output n / constant Decimal('2.5'))"
    assert formulas["low"] == "lower end of output n"
    assert formulas["ward"] == "key ward"
    assert noisy.formula(RECIPE.having) == "and (> (output n, constant 10), is null (key ward))"
