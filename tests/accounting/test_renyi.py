"""Divergences are at least the true ones, and convert to at least the true epsilon."""

import math
from fractions import Fraction

import numpy as np
import pytest
from dp_accounting import dp_event, rdp

from discreet import events
from discreet.accounting import concentrated, renyi
from discreet.errors import AccountingError, ParameterError
from grids import over

ORDERS = ["1.01", "1.5", "2", "7", "40"]


def divergence(upper: np.ndarray, lower: np.ndarray, alpha: float) -> float:
    return float(np.logaddexp.reduce(alpha * np.log(upper) + (1 - alpha) * np.log(lower))) / (alpha - 1)


def at_distance(weights: np.ndarray, shift: int) -> tuple[np.ndarray, np.ndarray]:
    """A law and the same law moved, on the integers where both are far from the ends."""
    weights = weights / weights.sum()
    return weights[shift:], weights[: len(weights) - shift]


@pytest.mark.guarantee("accounting.renyi")
@over("alpha", ORDERS)
@over(("scale", "shift"), [(1, 1), (3, 2), (10, 1), (10, 25)])
def test_the_divergence_of_discrete_laplace_noise_is_its_sum(alpha, scale, shift):
    reach = np.arange(-80 * scale - shift, 80 * scale + shift + 1)
    upper, lower = at_distance(np.exp(-np.abs(reach) / scale), shift)
    found = renyi.epsilon(events.DiscreteLaplaceEvent(scale, shift), Fraction(alpha))
    assert float(found) == pytest.approx(divergence(upper, lower, float(alpha)), rel=1e-7)


@pytest.mark.parametrize("alpha", ORDERS)
@pytest.mark.parametrize(("sigma", "shift"), [(1, 1), (3, 2), (10, 1)])
def test_the_divergence_of_discrete_gaussian_noise_is_within_its_bound(alpha, sigma, shift):
    """The sum over a wide range, for orders at which the moved peak still lies inside it."""
    if float(alpha) * shift > 60 * sigma:
        pytest.skip("the peak of the sum leaves the range")
    reach = np.arange(-120 * sigma, 120 * sigma + 1)
    logs = -(reach**2) / (2 * sigma**2)
    logs = logs - np.logaddexp.reduce(logs)
    order = float(alpha)
    moment = np.logaddexp.reduce(order * logs[shift:] + (1 - order) * logs[: len(logs) - shift])
    found = renyi.epsilon(events.DiscreteGaussianEvent(sigma**2, shift**2), Fraction(alpha))
    assert moment / (order - 1) <= float(found) * (1 + 1e-9)
    assert float(found) == pytest.approx(order * shift**2 / (2 * sigma**2))


@pytest.mark.parametrize("alpha", ORDERS)
@pytest.mark.parametrize("shifts", [(1, 1), (2, 3), (1, 1, 1, 2)])
def test_a_vector_under_laplace_noise_is_dominated_by_one_coordinate_that_moves_all_of_it(alpha, shifts):
    whole = renyi.epsilon(events.DiscreteLaplaceEvent(4, sum(shifts)), Fraction(alpha))
    spread = sum(renyi.epsilon(events.DiscreteLaplaceEvent(4, shift), Fraction(alpha)) for shift in shifts)
    assert spread <= whole


@pytest.mark.parametrize("alpha", ORDERS)
@pytest.mark.parametrize("rate", ["0.01", "0.5", "3"])
def test_the_divergence_of_a_coin_is_the_worst_for_its_epsilon(alpha, rate):
    order, size = float(alpha), float(rate)
    heads = 1 / (1 + math.exp(-size))
    truth = divergence(np.array([heads, 1 - heads]), np.array([1 - heads, heads]), order)
    found = renyi.epsilon(events.PureEvent(Fraction(rate)), Fraction(alpha))
    assert float(found) == pytest.approx(truth, rel=1e-9)
    assert found <= Fraction(alpha) * min(Fraction(rate), Fraction(rate) ** 2 / 2)
    assert renyi.epsilon(events.LaplaceEvent(1, Fraction(rate)), Fraction(alpha)) <= found


@pytest.mark.guarantee("accounting.renyi")
@over("alpha", ORDERS)
@over("rate", ["0.01", "0.5", "3", "20"])
def test_the_divergence_of_bounded_range_is_that_of_its_worst_coin(alpha, rate):
    """Coins with losses t and t - rate, for t on a fine grid: none exceeds it and the worst is near it."""
    order, size = float(alpha), float(rate)
    found = float(renyi.epsilon(events.BoundedRangeEvent(Fraction(rate)), Fraction(alpha)))
    worst = 0.0
    for loss in np.linspace(size / 4000, size * (1 - 1 / 4000), 4000):
        heads = -math.expm1(loss - size) / -math.expm1(-size)
        tails = math.exp(loss - size) * -math.expm1(-loss) / -math.expm1(-size)
        upper, lower = np.array([heads, tails]), np.array([heads * math.exp(-loss), tails * math.exp(size - loss)])
        worst = max(worst, divergence(upper, lower, order))
    assert worst * (1 - 1e-9) <= found <= worst * (1 + 1e-3)
    assert found <= min(size, order * size**2 / 8) * (1 + 1e-9)
    assert found <= float(renyi.epsilon(events.PureEvent(Fraction(rate)), Fraction(alpha))) * (1 + 1e-9)


def test_ranges_far_too_small_and_far_too_large_have_a_divergence_at_once():
    assert renyi.epsilon(events.BoundedRangeEvent(0), 3) == 0
    assert renyi.epsilon(events.BoundedRangeEvent(10**6), 3) <= 10**6
    assert 0 < renyi.epsilon(events.BoundedRangeEvent(Fraction(1, 10**70)), 3) <= Fraction(3, 8 * 10**140)


def test_a_sensitivity_that_is_no_integer_falls_back_to_the_coin():
    broken = events.DiscreteLaplaceEvent(4, Fraction(5, 2))
    assert renyi.epsilon(broken, 3) == renyi.epsilon(events.PureEvent(Fraction(5, 8)), 3)
    assert renyi.epsilon(events.DiscreteLaplaceEvent(4, 0), 3) == 0


@pytest.mark.pitfall("B7")
@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (events.LaplaceEvent(10, 1), dp_event.LaplaceDpEvent(10.0)),
        (events.GaussianEvent(100, 1), dp_event.GaussianDpEvent(10.0)),
        (events.ConcentratedEvent(0.005), dp_event.ZCDpEvent(rho=0.005)),
    ],
)
@pytest.mark.parametrize("count", [1, 50])
def test_dp_accounting_agrees_at_its_own_orders(ours, theirs, count):
    accountant = rdp.RdpAccountant()
    accountant.compose(theirs, count)
    reached, order = accountant.get_epsilon_and_optimal_order(1e-6)
    ours_at_order = renyi.epsilon(events.RepeatedEvent(ours, count), Fraction(float(order)))
    assert float(ours_at_order) == pytest.approx(accountant._rdp[list(accountant._orders).index(order)], rel=1e-6)
    assert float(renyi.conversion(events.RepeatedEvent(ours, count), 1e-6).epsilon) <= reached * (1 + 1e-3)


def test_one_laplace_answer_converts_to_little_more_than_its_true_epsilon():
    """Laplace noise has delta 1 - e^((epsilon - e)/2) at epsilon, so at delta its epsilon is e + 2 ln(1 - delta)."""
    truth = 0.1 + 2 * math.log1p(-1e-6)
    found = float(renyi.conversion(events.LaplaceEvent(10, 1), 1e-6).epsilon)
    assert truth <= found <= truth * (1 + 1e-6)


def test_the_best_order_is_found_and_the_classic_conversion_is_looser():
    event = events.RepeatedEvent(events.GaussianEvent(100, 1), 40)
    found = renyi.conversion(event, 1e-6)
    assert float(found.epsilon) == pytest.approx(float(concentrated.epsilon(event, 1e-6)), rel=1e-3)
    assert found.epsilon >= concentrated.epsilon(event, 1e-6)
    assert found.classic_epsilon > found.epsilon
    exact = renyi.epsilon(event, found.classic_order) + Fraction(math.log(1e6)) / (found.classic_order - 1)
    assert float(found.classic_epsilon) == pytest.approx(float(exact), rel=1e-9)


def test_deltas_of_events_come_out_of_the_delta_asked_for():
    with_delta = events.ComposedEvent((events.GaussianEvent(100, 1), events.ApproximateEvent(0, 5e-7)))
    assert renyi.conversion(with_delta, 1e-6).epsilon == renyi.conversion(events.GaussianEvent(100, 1), 5e-7).epsilon
    with pytest.raises(AccountingError, match="infinite"):
        renyi.epsilon(with_delta, 2)
    with pytest.raises(AccountingError, match="deltas of the events sum"):
        renyi.conversion(with_delta, 1e-7)


def test_orders_are_above_one_and_events_are_known():
    with pytest.raises(ParameterError, match="above 1"):
        renyi.epsilon(events.PureEvent(1), 1)
    with pytest.raises(AccountingError, match="privacy cost is not known"):
        renyi.conversion(object(), 1e-6)
