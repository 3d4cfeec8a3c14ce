"""The epsilon by privacy loss distributions: below the charged one, and absent where it cannot be computed."""

from fractions import Fraction

import pytest

import discreet as dp
from discreet.learning.sgd.reported_epsilon import reported_epsilon, reported_text
from discreet.learning.sgd.sampled_sums import sampled_schedule
from discreet.planner.budget.allocation import spending

BUDGET = dp.Budget(epsilon=1, delta=1e-5)
SPENT = spending(BUDGET, epsilon=1, rho=None, mechanism="gaussian")
EVENT = sampled_schedule(
    rate=Fraction(1, 20), steps=200, size=20_000, length=10, rho=SPENT.amount, orders=SPENT.orders
).event


def test_the_reported_epsilon_is_below_the_charged_one_and_near_that_of_renyi():
    found = reported_epsilon(EVENT, SPENT.delta)
    by_renyi = dp.accounting.renyi.conversion(EVENT, SPENT.delta).epsilon
    assert 0.8 * by_renyi < found < by_renyi <= 1


def test_it_agrees_with_dp_accounting_on_the_same_sampled_gaussian():
    accountants = pytest.importorskip("dp_accounting.pld")
    step = EVENT.event
    multiplier = float(step.variance / step.squared_sensitivity) ** 0.5
    pld = accountants.privacy_loss_distribution.from_gaussian_mechanism(
        multiplier, value_discretization_interval=1e-4, sampling_prob=float(step.rate)
    )
    other = pld.self_compose(EVENT.count).get_epsilon_for_delta(float(SPENT.delta))
    assert reported_epsilon(EVENT, SPENT.delta) == pytest.approx(other, rel=0.005)


def test_the_sentence_is_rounded_up_and_empty_without_an_epsilon(monkeypatch):
    assert float(reported_text(EVENT, SPENT.delta).split()[1]) >= reported_epsilon(EVENT, SPENT.delta)
    assert reported_text(EVENT, Fraction(1, 10**30)) == ""
    reported_epsilon.cache_clear()

    def missing(*_):
        raise dp.errors.missing_extra("privacy-loss distributions", "dp-accounting", "audit")

    monkeypatch.setattr("discreet.accounting.pld.epsilon", missing)
    assert reported_text(EVENT, SPENT.delta) == ""
    reported_epsilon.cache_clear()
