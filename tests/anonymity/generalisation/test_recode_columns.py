"""Rules of columns, clipping, and cells that become stars."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.anonymity.generalisation import recode_columns

TENS = dp.anonymity.hierarchies.digits(1)


def test_a_rule_says_what_it_does_without_figures_of_the_data():
    rules = recode_columns.rules_of({"age": (TENS, 1), "sex": 0, "ill": None}, {"age": 60}, {})
    assert [rule.text for rule in rules] == ["age (level 1, top 60)", "sex (level 0)", "ill"]
    assert [rule.is_quasi for rule in rules] == [True, True, False]


def test_timestamps_and_floats_are_clipped_in_their_type():
    rule = recode_columns.rules_of({"t": None}, {"t": dt.date(2020, 1, 1)}, {})[0]
    times = pa.chunked_array([["2021-05-05 10:00:00", None]]).cast(pa.timestamp("us"))
    found = recode_columns.recode_column(times, rule)
    assert [str(found.values[code]) for code in found.codes] == ["2020-01-01 00:00:00", "None"]
    rule = recode_columns.rules_of({"x": None}, {"x": 0.3}, {"x": 0.1})[0]
    found = recode_columns.recode_column(pa.chunked_array([[0.05, 0.2, 9.0, float("nan")]]), rule)
    assert [found.values[code].as_py() for code in found.codes] == [0.1, 0.2, 0.3, None]


def test_a_star_that_is_a_value_is_the_same_star():
    column = recode_columns.CodedColumn(np.array([0, 1, 2]), pa.array(["*", "a", None]))
    found = recode_columns.with_suppression(column, np.array([False, True, False]))
    assert found.codes.tolist() == [0, 0, 2]
    assert found.values.to_pylist() == ["*", "a", None]


def test_an_error_of_a_hierarchy_names_the_column():
    rule = recode_columns.rules_of({"city": (dp.anonymity.hierarchies.categories([["Paris", "France"]]), 1)}, {}, {})[0]
    with pytest.raises(dp.errors.ParameterError) as caught:
        recode_columns.recode_column(pa.chunked_array([["Paris", "Rome"]]), rule)
    assert caught.value.what == "'city': 1 values without a category, such as 'Rome'"
