"""A score is said without data: a column, a measure, a side, public factors."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import discreet as dp
from discreet.errors import ParameterError
from discreet.plan import logical
from discreet.query.frame import relation_of

T = dp.table("t")


def test_a_selection_has_the_candidates_as_plain_values_and_their_factors():
    selection = T.choose(
        np.array([1, 4]), score=dp.score(by="bid", side="or above", times=lambda price: price / 2)
    ).plan
    assert selection.candidates == (1, 4)
    assert selection.factors == (Fraction(1, 2), Fraction(2))
    assert selection.measure == logical.Count()
    assert all(type(candidate) is int for candidate in selection.candidates)


def test_without_factors_none_are_kept():
    assert T.choose(["A"], score=dp.score(by="ward")).plan.factors is None


@pytest.mark.parametrize("words", [{"by": T.ward}, {"by": "ward", "side": "above"}, {"by": "ward", "of": 3}])
def test_a_score_that_is_none_is_refused(words):
    with pytest.raises(ParameterError):
        dp.score(**words)


def test_candidates_are_chosen_by_a_score():
    with pytest.raises(ParameterError, match="a score of type str"):
        T.choose(["A", "B"], score="ward")


@pytest.mark.parametrize("top", [1, 2])
def test_a_choice_is_of_the_rows_of_its_frame(top):
    choice = T.where(T.bid > 3).choose(["A", "B"], score=dp.score(by="ward"), top=top)
    assert choice.plan.source == relation_of(T.where(T.bid > 3))
    assert choice.top == top


@pytest.mark.parametrize("top", [0.5, "1", True])
def test_a_number_of_candidates_is_whole(top):
    with pytest.raises(ParameterError, match="top"):
        T.choose(["A", "B"], score=dp.score(by="ward"), top=top)


@pytest.mark.parametrize("times", [3, "12", {1: 2}])
def test_factors_are_a_list_or_a_function(times):
    with pytest.raises(ParameterError):
        T.choose(["A", "B"], score=dp.score(by="ward", times=times))


def test_a_frame_is_no_list_of_candidates():
    with pytest.raises(ParameterError, match="DataFrame"):
        T.choose(pd.DataFrame({"a": ["A"]}), score=dp.score(by="ward"))
