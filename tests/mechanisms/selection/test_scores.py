"""Scores are read exactly or refused unseen, and the rate covers how far one unit moves their differences."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.mechanisms.selection import Exponential, NoisyMax, PermuteAndFlip, TopK
from discreet.mechanisms.selection.scores import SelectionMechanism, distances, standing
from grids import over
from score_vectors import monotone_neighbours, neighbours, vectors

ONE = Fraction(1)
HOSTILE = [math.nan, math.inf, 1e999, 0, -0.0, -1, True, "0.1", None, [1]]
KINDS = [Exponential, PermuteAndFlip, NoisyMax, lambda **given: TopK(k=1, **given)]


@pytest.mark.guarantee("mechanisms.selection.scores")
@pytest.mark.parametrize("sensitivity", [1, 2])
def test_differences_of_scores_move_by_at_most_epsilon_over_the_rate_and_reach_it(sensitivity):
    both_ways = SelectionMechanism(sensitivity=sensitivity, epsilon=Fraction(1, 3))
    one_way = SelectionMechanism(sensitivity=sensitivity, epsilon=Fraction(1, 3), monotone=True)
    for selection, near in ((both_ways, neighbours), (one_way, monotone_neighbours)):
        moves = [
            selection.rate * abs((other[r] - scores[r]) - (other[s] - scores[s]))
            for scores in vectors(2, 2)
            for other in near(scores, sensitivity)
            for r, s in ((0, 1), (1, 0))
        ]
        assert max(moves) == selection.epsilon


def test_the_rate_is_epsilon_over_twice_the_sensitivity_and_over_once_where_scores_are_monotone():
    assert SelectionMechanism(sensitivity=3, epsilon=0.5).rate == Fraction(1, 12)
    assert SelectionMechanism(sensitivity=3, epsilon=0.5, monotone=True).rate == Fraction(1, 6)


@pytest.mark.pitfall("A9")
def test_counts_are_monotone_under_add_remove_and_not_under_replace_one():
    rows = ["a", "a", "b"]
    count = [[rows.count(ward) for ward in "ab"]]
    added = [[(*rows, new).count(ward) for ward in "ab"] for new in "ab"]
    replaced = [[(*rows[:-1], new).count(ward) for ward in "ab"] for new in "ab"]
    moves = [[b - a for a, b in zip(count[0], other, strict=True)] for other in added + replaced]
    assert moves == [[1, 0], [0, 1], [1, -1], [0, 0]]


@settings(deadline=None)
@given(st.lists(st.integers(-(2**80), 2**80), min_size=1, max_size=8))
def test_gaps_of_integers_are_exact_whatever_their_size(scores):
    where = standing(scores, ONE)
    assert [int(gap) for gap in where.gaps] == [max(scores) - score for score in scores]
    assert where.step == 1


@pytest.mark.parametrize(
    "scores",
    [
        np.array([-(2**63), 2**63 - 1, 0]),
        np.array([2**64 - 1, 0], dtype=np.uint64),
        np.array([-128, 127], dtype=np.int8),
        np.array([255, 0], dtype=np.uint8),
    ],
    ids=str,
)
def test_gaps_of_arrays_are_exact_to_the_ends_of_their_types(scores):
    listed = scores.tolist()
    assert [int(gap) for gap in standing(scores, ONE).gaps] == [max(listed) - score for score in listed]


@settings(deadline=None)
@given(st.lists(st.integers(-50, 50), min_size=1, max_size=6), st.fractions(Fraction(1, 12), 20, max_denominator=12))
def test_fractions_on_a_grid_have_whole_gaps_in_its_steps(steps, grid):
    where = standing([step * grid for step in steps], grid)
    assert [int(gap) * where.step for gap in where.gaps] == [(max(steps) - step) * grid for step in steps]
    assert [int(gap) for gap in where.on(grid)] == [max(steps) - step for step in steps]


def test_whole_scores_on_a_grid_are_read_in_units_and_turned_into_steps():
    assert [int(gap) for gap in standing([6, 0, 3], Fraction(3)).gaps] == [0, 6, 3]
    assert standing([6, 0, 3], Fraction(3)).on(Fraction(3)) == [0, 2, 1]
    assert standing(np.array([6, 0, 3]), Fraction(3, 2)).on(Fraction(3, 2)) == [0, 4, 2]
    assert standing([1, 0], Fraction(1, 4)).on(Fraction(1, 4)) == [0, 4]


@over("kind", KINDS)
@over(
    "scores",
    [
        [71234.5, 1],
        [71234, True],
        [71234, None],
        [71234, "1"],
        "71234",
        {71234},
        71234,
        np.array([71234.0]),
        np.array([[71234]]),
        np.array([True]),
        [],
        np.array([], dtype=np.int64),
        [Fraction(71234, 7), 0],
    ],
)
def test_scores_that_are_not_exact_are_refused_and_not_shown(kind, scores):
    with pytest.raises(ParameterError) as refusal:
        kind(sensitivity=1, epsilon=1).release(scores)
    assert "71234" not in str(refusal.value)


def test_a_score_off_the_grid_is_refused_and_not_shown():
    for scores in ([71235], np.array([71235]), [Fraction(71235)]):
        with pytest.raises(ParameterError, match="grid") as refusal:
            Exponential(sensitivity=1, epsilon=1, grid=2).release(scores)
        assert "71235" not in str(refusal.value)


@over("kind", KINDS)
@over("value", HOSTILE)
@over("name", ["sensitivity", "epsilon", "grid"])
def test_numbers_that_are_none_are_refused_by_name_with_code_that_works(kind, name, value):
    with pytest.raises(ParameterError, match=name) as refusal:
        kind(**{"sensitivity": 1, "epsilon": 1, "grid": 1} | {name: value})
    assert f"{name}=" in refusal.value.instead


@pytest.mark.parametrize("value", [0, 1, "yes", None])
def test_monotone_is_true_or_false_and_nothing_else(value):
    with pytest.raises(ParameterError, match="monotone"):
        Exponential(sensitivity=1, epsilon=1, monotone=value)


@pytest.mark.parametrize("kind", KINDS)
def test_selections_are_values_with_keyword_parameters(kind):
    one, same = kind(sensitivity=1, epsilon=0.1), kind(sensitivity=1, epsilon=Fraction(1, 10))
    assert one == same
    assert hash(one) == hash(same)
    assert one != kind(sensitivity=2, epsilon=0.1)
    assert type(one).__name__ in repr(one)
    with pytest.raises(TypeError):
        Exponential(1, 1)


def test_mechanisms_of_one_epsilon_and_different_kinds_are_different():
    assert Exponential(sensitivity=1, epsilon=1) != PermuteAndFlip(sensitivity=1, epsilon=1)


@pytest.mark.parametrize("beta", [0, 1, -0.1, 1.5, math.nan, True])
def test_a_probability_that_is_none_is_refused(beta):
    with pytest.raises(ParameterError, match="beta"):
        Exponential(sensitivity=1, epsilon=1).utility(3, beta)


def test_distances_for_display_survive_scores_beyond_doubles():
    shown = distances(standing([10**400, 0], ONE), Fraction(1))
    assert shown[0] == 0
    assert shown[1] > 1e299
