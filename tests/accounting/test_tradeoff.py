"""Rates of attackers: above closed forms, above an independent numeric computation, and never loose without need."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

import discreet as dp
from discreet.accounting import tradeoff

RATES = (0.001, 0.01, 0.1, 0.5)


@pytest.mark.guarantee("accounting.tradeoff")
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1, 3])
@pytest.mark.parametrize("rate", RATES)
def test_pure_epsilon_has_the_rates_of_randomized_response(epsilon: float, rate: float):
    exact = min(math.exp(epsilon) * rate, 1 - math.exp(-epsilon) * (1 - rate))
    found = tradeoff.true_positive_rate(dp.events.PureEvent(epsilon), rate)
    by_rho = tradeoff.true_positive_rate(dp.events.ConcentratedEvent(min(epsilon, epsilon**2 / 2)), rate)
    assert found == min(found, by_rho)
    assert float(found) <= exact * (1 + 1e-5)
    if found < by_rho:
        assert exact <= float(found) <= exact * (1 + 1e-5)
    assert math.tanh(epsilon / 2) <= float(tradeoff.advantage(dp.events.PureEvent(epsilon)))


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1, 3])
def test_the_advantage_of_a_pure_epsilon_is_that_of_randomized_response(epsilon: float):
    exact = math.tanh(epsilon / 2)
    assert exact <= float(tradeoff.advantage(dp.events.PureEvent(epsilon))) <= exact * (1 + 1e-5)


@pytest.mark.guarantee("accounting.tradeoff")
@pytest.mark.parametrize("rho", [1e-6, 1e-4, 0.005, 0.05, 0.5, 2, 5])
@pytest.mark.parametrize("rate", RATES)
def test_rates_by_rho_are_above_those_of_gaussian_noise(rho: float, rate: float):
    event, shift = dp.events.ConcentratedEvent(rho), math.sqrt(2 * rho)
    exact = norm.cdf(norm.ppf(rate) + shift)
    found = float(tradeoff.true_positive_rate(event, rate))
    assert exact <= found <= 1
    if rho <= 0.01 and rate == 0.01:
        assert found <= 1.1 * exact
    assert 2 * norm.cdf(shift / 2) - 1 <= float(tradeoff.advantage(event))


def discrete_laplace(scale: float, shift: int) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities of the noise at 0 and at `shift`, summed far into the tails."""
    values = np.arange(-60 * int(scale + 1), 60 * int(scale + 1) + shift)
    weights = [np.exp(-np.abs(values - place) / scale) for place in (shift, 0)]
    return weights[0] / weights[0].sum(), weights[1] / weights[1].sum()


def best_rate(first: np.ndarray, second: np.ndarray, rate: float) -> float:
    """The power of the most powerful test, by the lemma of Neyman and Pearson, with a randomized last answer."""
    order = np.argsort(-(first / second), kind="stable")
    false, true = np.cumsum(second[order]), np.cumsum(first[order])
    return float(np.interp(rate, np.concatenate(([0.0], false)), np.concatenate(([0.0], true))))


@pytest.mark.guarantee("accounting.tradeoff")
@pytest.mark.parametrize(("scale", "shift"), [(2, 1), (10, 1), (20, 5), (3, 3)])
def test_rates_are_above_the_most_powerful_test_of_the_noise_itself(scale: int, shift: int):
    event = dp.events.DiscreteLaplaceEvent(scale, shift)
    pair = discrete_laplace(scale, shift)
    for rate in RATES:
        assert best_rate(*pair, rate) <= float(tradeoff.true_positive_rate(event, rate)) + 1e-12
    assert np.abs(pair[0] - pair[1]).sum() / 2 <= float(tradeoff.advantage(event)) + 1e-12


@pytest.mark.guarantee("accounting.tradeoff")
def test_rates_of_several_releases_are_above_the_most_powerful_test_of_them_together():
    one = discrete_laplace(4, 1)
    many = [np.outer(each, each).ravel() for each in one]
    event = dp.events.RepeatedEvent(dp.events.DiscreteLaplaceEvent(4, 1), 2)
    for rate in RATES:
        assert best_rate(*many, rate) <= float(tradeoff.true_positive_rate(event, rate)) + 1e-12


@settings(deadline=None, max_examples=25)
@given(
    st.floats(0, 3),
    st.sampled_from([0.0, 1e-9, 1e-3, 0.2]),
    st.sampled_from(RATES),
)
def test_a_lost_part_is_added_to_every_rate(epsilon: float, delta: float, rate: float):
    """The pair that (epsilon, delta) allows: with probability delta the answer names the dataset."""
    event = dp.events.ApproximateEvent(epsilon, delta)
    first = np.array([delta, (1 - delta) * np.exp(epsilon), 1 - delta, 0]) / [1, *[1 + np.exp(epsilon)] * 2, 1]
    second = first[::-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        reached = best_rate(first, np.maximum(second, 1e-300), rate)
    assert reached <= float(tradeoff.true_positive_rate(event, rate)) + 1e-9
    assert np.abs(first - second).sum() / 2 <= float(tradeoff.advantage(event)) + 1e-9


def test_nothing_released_is_nothing_gained():
    nothing = dp.events.ComposedEvent(())
    assert tradeoff.advantage(nothing) == 0
    assert tradeoff.true_positive_rate(nothing, 0.01) == Fraction(1, 100)


@pytest.mark.parametrize("epsilon", [600, 5_000])
def test_a_huge_epsilon_protects_nothing(epsilon: int):
    assert tradeoff.advantage(dp.events.PureEvent(epsilon)) == 1
    assert tradeoff.true_positive_rate(dp.events.PureEvent(epsilon), 0.01) == 1


def test_rates_outside_their_range_are_refused():
    with pytest.raises(dp.Refusal, match="false_positive_rate"):
        tradeoff.true_positive_rate(dp.events.PureEvent(1), 2)
    assert tradeoff.true_positive_rate(dp.events.ConcentratedEvent(1), 0) == 1
    assert tradeoff.true_positive_rate(dp.events.PureEvent(1), 0) == 0
