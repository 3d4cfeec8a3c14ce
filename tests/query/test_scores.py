"""A score is said without data: a table, a column, a measure, a side, public factors."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import discreet as dp
from discreet.errors import ParameterError
from discreet.plan import logical

T = dp.table("t")


def test_a_contest_has_the_candidates_as_plain_values_and_their_factors():
    contest = dp.score(T, by="bid", side="or above", times=lambda price: price / 2).contest(np.array([1, 4]))
    assert contest.candidates == (1, 4)
    assert contest.factors == (Fraction(1, 2), Fraction(2))
    assert contest.measure == logical.Count()
    assert all(type(candidate) is int for candidate in contest.candidates)


def test_without_factors_none_are_kept():
    assert dp.score(T, by="ward").contest(["A"]).factors is None


@pytest.mark.parametrize("words", [{"by": T.ward}, {"by": "ward", "side": "above"}, {"by": "ward", "of": 3}])
def test_a_score_that_is_none_is_refused(words):
    with pytest.raises(ParameterError):
        dp.score(T, **words)


def test_a_score_is_measured_on_a_table():
    with pytest.raises(ParameterError, match="on a table"):
        dp.score("t", by="ward")


@pytest.mark.parametrize("times", [3, "12", {1: 2}])
def test_factors_are_a_list_or_a_function(times):
    with pytest.raises(ParameterError):
        dp.score(T, by="ward", times=times).contest(["A", "B"])


def test_a_frame_is_no_list_of_candidates():
    with pytest.raises(ParameterError, match="DataFrame"):
        dp.score(T, by="ward").contest(pd.DataFrame({"a": ["A"]}))
