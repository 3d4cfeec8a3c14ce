"""The best of a random number of runs costs at least the truth, and what dp-accounting says."""

import math
from fractions import Fraction

import numpy as np
import pytest
from dp_accounting import dp_event, rdp

from discreet import Budget, events
from discreet.accounting import concentrated, costs, pld, prices, pure, renyi, repeated_selection
from discreet.errors import AccountingError, ParameterError
from grids import over

LAWS = [(Fraction(0), Fraction(1, 50)), (Fraction(1, 2), Fraction(1, 10)), (Fraction(1), Fraction(1, 20))]
LAWS += [(Fraction(-1, 2), Fraction(1, 4)), (Fraction(3), Fraction(1, 3))]


def numbers(eta: Fraction, gamma: Fraction, reach: int = 4_000) -> np.ndarray:
    """Probabilities of 1, 2, ... runs."""
    weights = [1.0]
    for number in range(1, reach):
        weights.append(weights[-1] * float(1 - gamma) * float(number + eta) / (number + 1))
    return np.array(weights) / math.fsum(weights)


def selected(law: np.ndarray, one_run: np.ndarray) -> np.ndarray:
    """Probabilities of the best of several runs, outputs in the order of their scores."""
    below = np.concatenate([[0.0], np.cumsum(one_run)])
    generating = np.array([float((law * x ** np.arange(1, len(law) + 1)).sum()) for x in below])
    return np.diff(generating)


def divergence(upper: np.ndarray, lower: np.ndarray, order: float) -> float:
    return math.log(float((upper**order * lower ** (1 - order)).sum())) / (order - 1)


@over(("eta", "gamma"), LAWS)
def test_the_mean_is_rounded_up(eta, gamma):
    law = numbers(eta, gamma)
    mean = float((law * np.arange(1, len(law) + 1)).sum())
    assert mean <= float(repeated_selection.mean_runs(eta, gamma)) * (1 + 1e-9)
    assert float(repeated_selection.mean_runs(eta, gamma)) == pytest.approx(mean, rel=1e-6)


@over("eta", [Fraction(1, 10**80), Fraction(-1, 10**80), Fraction(2)])
def test_a_mean_beyond_the_digits_falls_back_to_a_simple_bound(eta):
    near_one = 1 - Fraction(1, 10**70)
    assert 1 <= repeated_selection.mean_runs(eta, near_one) < 1 + Fraction(1, 10**50)
    assert repeated_selection.mean_runs(eta, Fraction(1, 2)) <= 3


@pytest.mark.guarantee("accounting.repeated_selection")
@over(("eta", "gamma"), LAWS)
@over("order", [1.5, 4, 18])
@over("rate", [0.02, 0.5])
def test_the_divergence_is_at_least_that_of_selections_by_hand(eta, gamma, order, rate):
    """Coins whose outputs are ranked either way, and randomized response with a third output between."""
    bound = float(renyi.epsilon(events.RepeatedSelectionEvent(events.PureEvent(rate), eta, gamma), order))
    law, tilt = numbers(eta, gamma), math.exp(rate)
    coins = [np.array([1, tilt]) / (1 + tilt), np.array([tilt, 1]) / (1 + tilt)]
    rare = np.array([0.01 * tilt, 1 - 0.01 * tilt]), np.array([0.01, 0.99])
    for one, other in [coins, coins[::-1], rare, rare[::-1], [each[::-1] for each in rare]]:
        assert divergence(selected(law, one), selected(law, other), order) <= bound * (1 + 1e-9)


@over(("eta", "gamma"), [law for law in LAWS if law[0] >= 0])
@over("sigma", [5, 20, 100])
def test_large_orders_agree_with_dp_accounting(eta, gamma, sigma):
    orders = [1 + 2 ** (step / 8) / 8 for step in range(120)]
    mean = float(repeated_selection.mean_runs(eta, gamma))
    accountant = rdp.RdpAccountant(orders)
    accountant.compose(dp_event.RepeatAndSelectDpEvent(dp_event.GaussianDpEvent(sigma), mean, float(eta)))
    event = events.RepeatedSelectionEvent(events.DiscreteGaussianEvent(sigma**2, 1), eta, gamma)
    theirs = {order: float(found) for order, found in zip(orders, accountant._rdp, strict=True)}
    for order in orders[40::8]:
        later = min(found for other, found in theirs.items() if other >= order)
        ours = float(renyi.epsilon(event, Fraction(order)))
        assert ours <= later * 1.01
        if order > 40 * sigma:
            assert ours >= later * 0.99


def test_selection_among_sampled_fits_is_near_what_dp_accounting_says_at_the_order_of_a_budget():
    fit = events.RepeatedEvent(events.SampledGaussianEvent(0.01, 16, 1), 500)
    budget = Budget(epsilon=1, delta=1e-5)
    event = events.RepeatedSelectionEvent(fit, 0, Fraction(1, 50))
    orders = [float(budget.order), *range(2, 400)]
    accountant = rdp.RdpAccountant(orders)
    one = dp_event.SelfComposedDpEvent(dp_event.PoissonSampledDpEvent(0.01, dp_event.GaussianDpEvent(4.0)), 500)
    mean = float(repeated_selection.mean_runs(Fraction(0), Fraction(1, 50)))
    accountant.compose(dp_event.RepeatAndSelectDpEvent(one, mean, 0.0))
    best = min(found for order, found in zip(orders, accountant._rdp, strict=True) if order >= orders[0])
    ours = float(renyi.divergence_over_order(event, budget.order) * budget.order)
    assert 0.99 * best <= ours <= 1.02 * best


@over(("eta", "gamma"), LAWS)
@over("rho", [Fraction(1, 10**4), Fraction(1, 10), Fraction(10)])
def test_rho_holds_at_every_order(eta, gamma, rho):
    event = events.RepeatedSelectionEvent(events.ConcentratedEvent(rho), eta, gamma)
    most = prices.price(event).rho
    assert most == repeated_selection.concentrated(rho, eta, gamma)
    for order in (Fraction(11, 10), Fraction(2), Fraction(20), Fraction(10_000)):
        penalty = min(
            repeated_selection.penalty_at(c * rho, c, gamma) for c in (Fraction(1), Fraction(7), Fraction(99))
        )
        found = repeated_selection.divergence(lambda a, rho=rho: a * rho, penalty, eta, gamma, order)
        assert renyi.divergence_over_order(event, order) <= most
        assert renyi.epsilon(event, order) <= found + Fraction(1, 10**6) or found > order * most


def test_a_large_rho_takes_the_penalty_of_order_one():
    gamma = Fraction(9, 10)
    found = repeated_selection.concentrated(Fraction(10), Fraction(0), gamma)
    assert found >= 10 + repeated_selection.penalty_at(Fraction(0), Fraction(1), gamma)


def test_pure_runs_are_two_plus_eta_times_as_costly():
    event = events.RepeatedSelectionEvent(events.RepeatedEvent(events.PureEvent(0.1), 3), 1, Fraction(1, 10))
    assert pure.epsilon(event) == Fraction(9, 10)
    assert prices.price(event).rho <= Fraction(81, 200)
    assert renyi.epsilon(event, 1_000) <= Fraction(9, 10)
    assert pld.epsilon(event, 1e-6) <= 0.9001


def test_runs_that_reveal_nothing_make_a_selection_that_reveals_nothing():
    event = events.RepeatedSelectionEvent(events.ConcentratedEvent(0), 1, Fraction(1, 10))
    assert prices.price(event).rho == 0
    assert costs.cost(event, Fraction(20)).renyi == 0


def test_every_accountant_knows_a_selection_of_gaussian_runs():
    event = events.RepeatedSelectionEvent(events.DiscreteGaussianEvent(10**6, 1), 1, Fraction(1, 10))
    by_rho = concentrated.epsilon(event, 1e-6)
    assert renyi.conversion(event, 1e-6).epsilon < by_rho
    assert pld.epsilon(event, 1e-6) == pytest.approx(float(by_rho), rel=0.01)
    with pytest.raises(AccountingError):
        pure.epsilon(event)


def test_a_selection_is_written_and_read_back_and_counts_as_one_leaf():
    event = events.RepeatedSelectionEvent(events.RepeatedEvent(events.PureEvent(1), 2), Fraction(1, 2), Fraction(1, 9))
    assert events.from_canonical(events.canonical(event)) == event
    assert list(events.leaves(events.RepeatedEvent(event, 3))) == [(event, 3)]
    assert events.canonical(event) == (
        '{"eta":"1/2","event":{"count":2,"event":{"epsilon":"1/1","kind":"PureEvent"},"kind":"RepeatedEvent"},'
        '"gamma":"1/9","kind":"RepeatedSelectionEvent"}'
    )


@pytest.mark.parametrize(("eta", "gamma"), [(-1, 0.5), (1, 0), (1, 1), (math.nan, 0.5)])
def test_a_law_outside_its_range_is_refused(eta, gamma):
    with pytest.raises(ParameterError):
        events.RepeatedSelectionEvent(events.PureEvent(1), eta, gamma)


def test_runs_with_a_delta_of_their_own_are_refused():
    with pytest.raises(AccountingError, match="without one"):
        events.RepeatedSelectionEvent(events.ApproximateEvent(1, 1e-9), 1, Fraction(1, 2))
