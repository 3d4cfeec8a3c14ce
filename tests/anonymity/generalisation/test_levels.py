"""Levels know how high they are, and are nested."""

import numpy as np
import pytest

import discreet as dp
from discreet.anonymity.generalisation.levels import GeneralisationLevels


def test_the_height_is_the_number_of_the_last_level():
    assert GeneralisationLevels((np.arange(2), np.zeros(2, dtype=np.int64)), (("a", "b"), ("*",))).height == 1


def test_levels_that_are_not_nested_are_refused_whoever_makes_them():
    """A search rolls counts up from level to level, which is wrong for these."""
    codes = (np.arange(3), np.array([0, 0, 1]), np.array([0, 1, 1]))
    with pytest.raises(dp.errors.ParameterError) as caught:
        GeneralisationLevels(codes, (("a", "b", "c"), ("ab", "c"), ("a", "bc")))
    assert caught.value.because == "values that are alike at level 1 must be alike above it"


@pytest.mark.parametrize("codes", [np.array([0, 0, 1]), np.array([1, 0, 2]), np.array([0, 2, 1])])
def test_a_level_0_that_is_not_the_value_itself_is_refused(codes):
    with pytest.raises(dp.errors.ParameterError) as caught:
        GeneralisationLevels((codes, np.zeros(3, dtype=np.int64)), (("x", "y", "z"), ("*",)))
    assert caught.value.instead == "np.arange(3) as the codes of level 0"


@pytest.mark.parametrize(
    ("codes", "labels"),
    [
        ((), ()),
        ((np.arange(2),), (("a",),)),
        ((np.arange(2),), (("a", "b"), ("*",))),
        ((np.arange(2), np.zeros(3, dtype=np.int64)), (("a", "b"), ("*",))),
        ((np.arange(2), np.array([0, -1])), (("a", "b"), ("*",))),
    ],
)
def test_levels_without_a_label_or_a_code_for_each_value_are_refused(codes, labels):
    with pytest.raises(dp.errors.ParameterError, match="a label for each code"):
        GeneralisationLevels(codes, labels)
