"""The divergence of a sampled sum is at least the true one, in both directions, and near what dp-accounting says."""

import math
from fractions import Fraction

import numpy as np
import pytest
from dp_accounting import dp_event, rdp

from discreet import Budget, events
from discreet.accounting import costs, renyi, sampled_gaussian
from discreet.errors import ParameterError
from grids import over

RATES = [0.001, 0.01, 0.1, 0.5]


def by_dp_accounting(rate: float, sigma: float, order: float) -> float:
    accountant = rdp.RdpAccountant([order])
    accountant.compose(dp_event.PoissonSampledDpEvent(rate, dp_event.GaussianDpEvent(sigma)))
    return float(accountant._rdp[0])


def summed_up(rate: float, sigma: float, shift: int, order: float) -> tuple[float, float]:
    """Divergences of the two directions for one coordinate of discrete noise, by the sum over integers."""
    reach = math.ceil(order * shift + 40 * sigma)
    values = np.arange(-reach, reach + 1, dtype=np.float64)
    here = -(values**2) / (2 * sigma**2)
    here -= np.logaddexp.reduce(here)
    there = here + shift * (2 * values - shift) / (2 * sigma**2)
    mixed = np.logaddexp(math.log1p(-rate) + here, math.log(rate) + there)
    added = np.logaddexp.reduce(order * mixed + (1 - order) * here) / (order - 1)
    removed = np.logaddexp.reduce(order * here + (1 - order) * mixed) / (order - 1)
    return float(added), float(removed)


@pytest.mark.guarantee("accounting.sampled_gaussian")
@over("rate", RATES)
@over(("sigma", "shift"), [(1, 1), (2, 1), (5, 3), (20, 10)])
@over("order", ["1.25", "2", "2.5", "3.5", "4.9", "7", "7.57", "15.5", "18", "35.06"])
def test_the_divergence_is_at_least_the_sum_over_integers_in_both_directions(rate, sigma, shift, order):
    bound = float(renyi.epsilon(events.SampledGaussianEvent(rate, sigma**2, shift**2), Fraction(order)))
    added, removed = summed_up(float(rate), sigma, shift, float(order))
    assert removed <= added * (1 + 1e-7) + 1e-13
    assert added <= bound * (1 + 1e-7) + 1e-13
    if Fraction(order).denominator == 1:
        assert added == pytest.approx(bound, rel=1e-6, abs=1e-12)


@over("rate", RATES)
@over("sigma", [0.6, 1, 2, 5])
@over("order", [2, 3, 8, 40, 256])
def test_whole_orders_agree_with_dp_accounting(rate, sigma, order):
    bound = float(renyi.epsilon(events.SampledGaussianEvent(rate, Fraction(sigma) ** 2, 1), order))
    assert bound == pytest.approx(by_dp_accounting(float(rate), float(sigma), order), rel=1e-9)


@over("rate", [0.001, 0.01, 0.1])
@over("sigma", [2, 5])
@over("order", ["5.2", "7.57", "13.33", "17.998", "35.06", "128.5"])
def test_orders_of_budgets_are_within_two_thousandths_of_dp_accounting(rate, sigma, order):
    """At orders below 5 its series in doubles is up to 1.5% above the integral, which the next test takes."""
    bound = float(renyi.epsilon(events.SampledGaussianEvent(rate, sigma**2, 1), Fraction(order)))
    assert 1 - 1e-5 <= bound / by_dp_accounting(rate, float(sigma), float(order)) <= 1.002


@over("rate", [0.001, 0.01, 0.1])
@over("sigma", [2, 5])
@over("order", ["2.5", "3.422", "3.9", "7.57"])
def test_orders_of_budgets_are_within_two_thousandths_of_the_integral_over_continuous_noise(rate, sigma, order):
    values = np.arange(-40, 60, 1 / 64)
    excess = rate * np.expm1((2 * sigma * values - 1) / (2 * sigma**2))
    alpha = float(order)
    above = np.expm1(alpha * np.log1p(excess)) - alpha * excess  # E[excess] = 0, so the linear part may be left out
    moment = float((above * np.exp(-(values**2) / 2)).sum()) / 64 / math.sqrt(2 * math.pi)
    bound = float(renyi.epsilon(events.SampledGaussianEvent(rate, sigma**2, 1), Fraction(order)))
    assert 1 - 1e-6 <= bound * (alpha - 1) / math.log1p(moment) <= 1.002


def test_a_thousand_steps_convert_to_what_dp_accounting_says_within_one_percent():
    steps = events.RepeatedEvent(events.SampledGaussianEvent(0.01, 1, 1), 1_000)
    accountant = rdp.RdpAccountant()
    accountant.compose(dp_event.PoissonSampledDpEvent(0.01, dp_event.GaussianDpEvent(1.0)), 1_000)
    ratio = float(renyi.conversion(steps, delta=1e-5).epsilon) / accountant.get_epsilon(1e-5)
    assert 0.99 < ratio < 1.01


@over("order", ["1.5", "2", "9", "20.5", "2000.5", "20000", "1000000.5"])
@over("rate", [0.01, 1])
def test_sampling_never_costs_more_than_no_sampling(order, rate):
    event = events.SampledGaussianEvent(rate, 9, 4)
    assert 0 < sampled_gaussian.divergence(event, Fraction(order)) <= Fraction(order) * Fraction(2, 9)


def test_every_unit_sampled_is_the_sum_without_sampling():
    event = events.SampledGaussianEvent(1, 9, 4)
    assert renyi.epsilon(event, 5) == renyi.epsilon(events.DiscreteGaussianEvent(9, 4), 5)


def test_the_bound_grows_with_the_rate_the_sensitivity_and_the_order():
    def found(rate=0.01, squared=1, order="18"):
        return sampled_gaussian.divergence(events.SampledGaussianEvent(rate, 4, squared), Fraction(order))

    assert found() < found(rate=0.02) < found(rate=0.03)
    assert found() < found(squared=2) < found(squared=3)
    assert found() < found(order="18.5") < found(order="19")


def test_noise_without_sensitivity_costs_nothing_and_almost_no_noise_is_no_error():
    assert sampled_gaussian.divergence(events.SampledGaussianEvent(0.1, 1, 0), Fraction(7)) == 0
    huge = events.SampledGaussianEvent(0.1, Fraction(1, 10**9), 1)
    assert sampled_gaussian.divergence(huge, Fraction(1000)) == 1000 * Fraction(10**9, 2)


def test_a_budget_charges_the_divergence_at_its_order_and_rho_without_sampling():
    budget = Budget(epsilon=1, delta=1e-5)
    steps = events.RepeatedEvent(events.SampledGaussianEvent(0.01, 4, 1), 1_000)
    cost = budget.cost(steps)
    assert cost.epsilon is None
    assert cost.rho == 125 * costs.RHO_UNITS
    at_order = renyi.divergence_over_order(steps, budget.order)
    assert cost.renyi == math.ceil(at_order * costs.RHO_UNITS)
    assert cost.renyi < cost.rho / 1_000
    assert budget.admits(cost)


@pytest.mark.parametrize("rate", [0, -0.1, 1.5, math.nan])
def test_a_rate_is_a_probability_above_zero(rate):
    with pytest.raises(ParameterError):
        events.SampledGaussianEvent(rate, 1, 1)


@over("rate", [0.001, 0.01, 0.3, 1])
@over("steps", [1, 1_000])
@over("epsilon", [0.1, 1, 8])
def test_the_least_variance_costs_its_rho_and_a_smaller_one_more(rate, steps, epsilon):
    budget = Budget(epsilon=epsilon, delta=1e-5)
    target = budget.rho(epsilon)
    given = {"rate": Fraction(str(rate)), "squared_sensitivity": Fraction(2**40), "steps": steps}
    variance = sampled_gaussian.least_variance(**given, rho=target, order=budget.order)

    def cost(variance):
        step = events.SampledGaussianEvent(given["rate"], variance, given["squared_sensitivity"])
        return budget.cost(events.RepeatedEvent(step, steps)).renyi

    assert cost(variance) <= target * costs.RHO_UNITS + steps
    assert cost(variance * Fraction(9_999, 10_000)) > target * costs.RHO_UNITS
    assert variance <= steps * Fraction(2**40) / (2 * target) * Fraction(1_000_001, 1_000_000)


@over("rho", [Fraction(1, 10**8), Fraction(1, 50), Fraction(1, 2)])
def test_central_moments_are_not_negative_and_grow_with_rho(rho):
    here = sampled_gaussian._central_moments(rho, 16)
    there = sampled_gaussian._central_moments(rho * Fraction(101, 100), 16)
    assert all(0 <= one <= other for one, other in zip(here, there, strict=True))


@over("order", ["1.5", "2.5", "3.5", "9.75"])
def test_the_polynomial_is_between_the_truth_and_the_chord_for_many_small_steps(order):
    event = events.SampledGaussianEvent(0.01, 25, 1)
    alpha = Fraction(order)
    truth = summed_up(0.01, 5, 1, float(order))[0]
    below = math.floor(alpha)
    parts = [sampled_gaussian._log_moment(event.rate, Fraction(1, 50), whole) for whole in (below, below + 1)]
    chord = float(((below + 1 - alpha) * parts[0] + (alpha - below) * parts[1]) / (alpha - 1))
    found = float(sampled_gaussian.divergence(event, alpha))
    assert truth * (1 - 1e-7) <= found < chord
    assert found <= truth * 1.003
