"""Duchi's mechanism."""

import itertools
from fractions import Fraction

import pytest

from discreet.errors import ParameterError
from discreet.local.oracles import DuchiResponse
from grids import over
from local_laws import assert_draws_fit, assert_exact_loss, assert_payloads


@pytest.mark.guarantee("local.oracles.duchi")
@over(("steps", "epsilon"), itertools.product((1, 2, 7, 100), (Fraction(1, 2), Fraction(1), Fraction(3))))
def test_the_largest_likelihood_ratio_is_the_stated_one_and_at_most_e_to_the_epsilon(steps, epsilon):
    assert_exact_loss(DuchiResponse.calibrate(steps, epsilon), epsilon)


@over("steps", (1, 2, 7))
def test_draws_have_the_probabilities_in_code(steps):
    assert_draws_fit(DuchiResponse(steps, Fraction(5, 2)))
    assert_payloads(DuchiResponse(steps, Fraction(5, 2)))


@over("steps", (1, 2, 7, 100))
def test_scores_are_unbiased_exactly(steps):
    oracle = DuchiResponse.calibrate(steps, 1)
    for step in range(oracle.size):
        assert sum(mass * oracle.score(bit) for bit, mass in oracle.pmf(step).items()) == step


def test_the_variance_is_the_published_one():
    assert DuchiResponse.calibrate(256, 1).variance() == pytest.approx(4.68, abs=0.005)
    assert DuchiResponse.calibrate(256, 0.5).variance() == pytest.approx(16.7, abs=0.05)


def test_the_largest_variance_is_that_of_a_step():
    for steps in (1, 2, 3, 8):
        oracle = DuchiResponse.calibrate(steps, 1)
        assert oracle.worst_variance == max(map(oracle.variance_at, range(oracle.size)))


def test_no_steps_and_other_symbols_are_refused():
    with pytest.raises(ParameterError):
        DuchiResponse(0, Fraction(3))
    with pytest.raises(ParameterError):
        DuchiResponse(4, Fraction(3)).outcome(b"\x02")
    assert DuchiResponse(4, Fraction(3)).probability(2, 0) == 0
