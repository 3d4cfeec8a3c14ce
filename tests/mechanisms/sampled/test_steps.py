"""Answers become steps of a public grid, whatever they are, and one unit moves one of them or two."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.catalog.privacy_unit import Neighbours
from discreet.errors import ParameterError
from discreet.mechanisms.sampled.steps import Steps

FINITE = st.one_of(st.integers(-(10**400), 10**400), st.fractions(), st.floats(allow_nan=False, allow_infinity=False))


def steps(bounds=(0, 10), chunks=3, grid=1, neighbours="add_remove", parts=1_000) -> Steps:
    return Steps(bounds, chunks, grid, neighbours, parts)


@pytest.mark.guarantee("mechanisms.sampled.steps")
@given(st.lists(FINITE, min_size=3, max_size=3), FINITE, st.integers(0, 2), st.fractions(Fraction(1, 50), 3))
def test_changing_one_answer_moves_one_step_by_at_most_the_width(answers, other, place, grid):
    of = steps(bounds=(-7, 9), grid=grid)
    before = of.read(answers)
    after = of.read([other if i == place else answer for i, answer in enumerate(answers)])
    moved = [abs(a - b) for a, b in zip(before, after, strict=True)]
    assert sum(moved) == moved[place] <= of.width
    assert all(of.low <= step <= of.high for step in (*before, *after))


@pytest.mark.pitfall("A9")
def test_a_unit_moves_one_answer_when_it_comes_or_goes_and_two_when_it_is_replaced():
    assert steps().changed_answers == 1
    assert (
        steps(neighbours="replace_one").changed_answers == steps(neighbours=Neighbours.REPLACE_ONE).changed_answers == 2
    )


@pytest.mark.pitfall("A21")
def test_bounds_move_inwards_to_the_grid_and_halves_go_up():
    of = steps(bounds=(0.25, 2.9), grid=0.5)
    assert of.bounds == (Fraction(1, 2), Fraction(5, 2))
    assert of.read([0.0, 0.75, 2.9]) == [1, 2, 5]
    assert steps(bounds=(-5, 5)).read([-0.5, Fraction(-3, 2), 0.5]) == [0, -1, 1]


def test_the_default_grid_is_a_power_of_ten_that_cuts_the_bounds_finely_enough():
    assert steps(bounds=(0, 120), grid=None, parts=1_000).grid == Fraction(1, 10)
    assert steps(bounds=(0, 120), grid=None, parts=100_000).grid == Fraction(1, 1_000)
    assert steps(bounds=(-(10**9), 10**9), grid=None, parts=1_000).grid == 10**6


def test_numbers_of_numpy_are_numbers():
    assert steps().read([np.int64(3), np.float64(2.6), np.float64(99)]) == [3, 3, 10]


@pytest.mark.parametrize("answer", [math.nan, math.inf, "3", None, True, 1j, [1]])
def test_what_is_no_finite_number_is_refused_without_being_shown(answer):
    with pytest.raises(ParameterError, match="no finite number"):
        steps().read([1, 2, answer])


def test_an_answer_too_many_is_refused():
    with pytest.raises(ParameterError, match="4 answers of 3 blocks"):
        steps().read([1, 2, 3, 4])


@pytest.mark.parametrize(
    "given_facts",
    [
        {"bounds": (5, 5)},
        {"bounds": (9, 1)},
        {"bounds": (0, math.inf)},
        {"bounds": 3},
        {"bounds": (1, 2, 3)},
        {"bounds": (0.1, 0.9)},
        {"bounds": (0, 2**60)},
        {"grid": 0},
        {"grid": math.nan},
        {"chunks": 0},
        {"chunks": 2.0},
        {"neighbours": "some"},
    ],
)
def test_public_facts_that_are_none_are_refused(given_facts):
    with pytest.raises(ParameterError):
        steps(**given_facts)
