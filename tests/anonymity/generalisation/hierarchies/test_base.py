"""Levels are checked, and missing values are values until the highest level."""

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.anonymity.generalisation.hierarchies import base

HIERARCHIES = dp.anonymity.hierarchies


class _Parting(HIERARCHIES.ValueHierarchy):
    """Level 1 holds all alike and level 2 parts them again."""

    def _steps(self, values):
        alike = base.LevelGroups(np.zeros(len(values), dtype=np.int64), ["a"])
        return [alike, base.LevelGroups(np.arange(len(values), dtype=np.int64), [str(n) for n in range(len(values))])]


def test_levels_that_part_what_was_alike_are_refused():
    with pytest.raises(dp.errors.ParameterError) as caught:
        _Parting().levels(pa.array(["x", "y"]))
    assert caught.value.because == "values that are alike at level 1 must be alike above it"


def test_a_null_stays_null_below_the_highest_level():
    levels = HIERARCHIES.intervals(10).levels(pa.array([5, None, 15]))
    assert levels.labels == (("5", None, "15"), ("[0, 10)", "[10, 20)", None), ("*",))
    assert [codes.tolist() for codes in levels.codes] == [[0, 1, 2], [0, 2, 1], [0, 0, 0]]


def test_nan_is_missing_and_negative_zero_is_zero():
    levels = HIERARCHIES.digits(1).levels(pa.array([float("nan"), None, -0.0]))
    assert levels.labels[0] == (None, None, "0")
    assert levels.codes[1].tolist() == [1, 1, 0]


def test_each_value_has_a_code_of_its_own_at_level_0():
    values = pa.array(["a", "b", "a"]).dictionary_encode()
    levels = HIERARCHIES.mask().levels(values)
    assert levels.codes[0].tolist() == [0, 1, 2]
    assert levels.labels[0] == ("a", "b", "a")


def test_chunked_and_empty_values_have_levels():
    assert HIERARCHIES.mask().levels(pa.chunked_array([["ab"], ["ac"]])).labels[1] == ("a*",)
    empty = HIERARCHIES.intervals(5, 10).levels(pa.array([], pa.int64()))
    assert empty.height == 3
    assert [len(codes) for codes in empty.codes] == [0, 0, 0, 0]


def test_values_without_text_are_refused():
    with pytest.raises(dp.errors.TypeMismatchError):
        HIERARCHIES.mask().levels(pa.array([[1], [2]]))


def test_a_column_of_nulls_has_one_group():
    levels = HIERARCHIES.intervals(5).levels(pa.array([None], pa.float64()))
    assert levels.labels == ((None,), (None,), ("*",))
