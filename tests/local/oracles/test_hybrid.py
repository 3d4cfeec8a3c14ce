"""The hybrid mechanism."""

import itertools
from dataclasses import replace
from fractions import Fraction

import pytest

from discreet.errors import ParameterError
from discreet.local.oracles import DuchiResponse, HybridResponse
from discreet.local.oracles.mean import MeanOracle
from grids import over
from local_laws import assert_draws_fit, assert_exact_loss, assert_payloads

SMALL = HybridResponse(3, 2, 4, Fraction(5, 2), Fraction(1, 3))


@pytest.mark.guarantee("local.oracles.hybrid")
@over(("steps", "epsilon"), itertools.product((1, 4), (Fraction(1, 2), Fraction(1), Fraction(3))))
def test_the_largest_likelihood_ratio_is_the_stated_one_and_at_most_e_to_the_epsilon(steps, epsilon):
    assert_exact_loss(HybridResponse.calibrate(steps, epsilon), epsilon)


@over(("step", "window", "share"), itertools.product((1, 2), (1, 3), (Fraction(1), Fraction(1, 2))))
def test_every_window_and_share_loses_the_stated_ratio(step, window, share):
    oracle = HybridResponse(5, step, window, Fraction(3), share)
    assert_exact_loss(oracle)
    assert_draws_fit(oracle)


def test_draws_have_the_probabilities_in_code():
    assert_draws_fit(SMALL)
    assert_payloads(SMALL)


@over("oracle", (SMALL, HybridResponse.calibrate(5, 1), HybridResponse(2, 1, 5, Fraction(9), Fraction(1))))
def test_scores_are_unbiased_exactly_with_the_stated_variance(oracle):
    for step in range(oracle.size):
        law = oracle.pmf(step)
        assert sum(mass * oracle.score(symbol) for symbol, mass in law.items()) == step
        assert oracle.variance_at(step) == MeanOracle.variance_at(oracle, step)


def test_variances_are_the_published_ones():
    assert HybridResponse.calibrate(256, 1).variance() == pytest.approx(4.29, abs=0.005)
    assert HybridResponse.calibrate(256, 2).variance() == pytest.approx(1.04, abs=0.005)
    assert HybridResponse.calibrate(256, 4).variance() == pytest.approx(0.219, abs=0.0005)
    assert HybridResponse.calibrate(256, 0.5).variance() == pytest.approx(16.7, abs=0.05)


def test_below_epsilon_0_61_the_piecewise_part_is_not_used():
    assert HybridResponse.calibrate(256, 0.6).piecewise == 0
    assert HybridResponse.calibrate(256, 0.62).piecewise > 0
    assert HybridResponse.calibrate(256, 0.6).variance() == DuchiResponse.calibrate(256, 0.6).variance()


@over("steps", (1, 2, 3, 8))
def test_the_largest_variance_is_that_of_an_end_or_the_middle(steps):
    oracle = HybridResponse.calibrate(steps, 1)
    assert oracle.worst_variance == max(map(oracle.variance_at, range(oracle.size)))


def test_a_share_above_one_is_refused():
    with pytest.raises(ParameterError, match="piecewise"):
        replace(SMALL, piecewise=Fraction(3, 2))
