"""Composition theorems are at least the optimum, and the textbook shortcut is refused where it is false."""

import math
from fractions import Fraction

import pytest
from dp_accounting.pld import common
from dp_accounting.pld import privacy_loss_distribution as distributions
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import events
from discreet.accounting import approximate
from discreet.errors import AccountingError, ParameterError


def coin_delta(epsilon: float, count: int, total: float) -> float:
    """The binomial sum for randomized response in plain floats, for small counts."""
    heads = 1 / (1 + math.exp(-epsilon))
    return sum(
        math.comb(count, steps)
        * max(
            0.0,
            heads ** (count - steps) * (1 - heads) ** steps
            - math.exp(total) * heads**steps * (1 - heads) ** (count - steps),
        )
        for steps in range(count + 1)
    )


def test_basic_composition_sums_both_parameters():
    parts = events.ComposedEvent((events.ApproximateEvent(0.5, 1e-9), events.PureEvent(1)))
    assert approximate.basic(parts) == (Fraction(3, 2), Fraction(1, 10**9))
    with pytest.raises(AccountingError, match="sum of epsilons"):
        approximate.basic(events.GaussianEvent(1, 1))


def test_advanced_composition_is_the_printed_formula_rounded_up():
    found = approximate.advanced(epsilon=0.1, delta=1e-9, count=100, slack=1e-6)
    printed = 0.1 * math.sqrt(200 * math.log(1e6)) + 100 * 0.1 * math.expm1(0.1)
    assert float(found.epsilon) == pytest.approx(printed, rel=1e-11)
    assert found.delta == Fraction(1, 10**6) + 100 * Fraction(1, 10**9)
    several = events.RepeatedEvent(events.ApproximateEvent(0.1, 1e-9), 100)
    assert approximate.advanced_total(several, slack=1e-6) == found


def test_advanced_composition_takes_different_epsilons():
    parts = events.ComposedEvent((events.PureEvent(0.1), events.RepeatedEvent(events.PureEvent(0.2), 2)))
    printed = math.sqrt(2 * math.log(1e6) * 0.09) + 0.1 * math.expm1(0.1) + 0.4 * math.expm1(0.2)
    assert float(approximate.advanced_total(parts, slack=1e-6).epsilon) == pytest.approx(printed, rel=1e-11)
    with pytest.raises(AccountingError):
        approximate.advanced_total(events.GaussianEvent(1, 1), slack=1e-6)


@pytest.mark.guarantee("accounting.approximate")
@settings(max_examples=40, deadline=None)
@given(st.sampled_from([0.01, 0.1, 0.5, 1.0, 2.0]), st.integers(1, 200), st.sampled_from([1e-3, 1e-6, 1e-9]))
def test_every_composition_is_at_least_the_optimal_one(epsilon, count, delta):
    best = approximate.optimal(epsilon=epsilon, count=count, delta=delta)
    assert best <= count * Fraction(str(epsilon))
    assert best <= approximate.advanced(epsilon=epsilon, count=count, slack=delta).epsilon
    if best:
        allowed = Fraction(str(delta))
        reached, missed = (
            approximate.optimal_delta(epsilon=epsilon, count=count, total_epsilon=best * (1 - slack))
            for slack in (0, Fraction(2, 10**11))
        )
        assert reached <= allowed * (1 + Fraction(1, 10**11))
        assert missed >= allowed * (1 - Fraction(1, 10**9))


@pytest.mark.parametrize("count", [1, 2, 5, 20])
@pytest.mark.parametrize("total", [0.05, 0.7, 1.9])
def test_the_optimum_is_the_binomial_sum(count, total):
    found = approximate.optimal_delta(epsilon=0.3, count=count, total_epsilon=total)
    assert float(found) == pytest.approx(coin_delta(0.3, count, total), abs=1e-12)


@pytest.mark.parametrize(("epsilon", "count"), [(0.5, 10), (1.0, 40)])
def test_dp_accounting_composes_coins_to_the_same_epsilon(epsilon, count):
    coin = distributions.from_privacy_parameters(
        common.DifferentialPrivacyParameters(epsilon, 0), value_discretization_interval=epsilon / 64
    )
    theirs = coin.self_compose(count).get_epsilon_for_delta(1e-6)
    ours = approximate.optimal(epsilon=epsilon, count=count, delta=1e-6)
    assert float(ours) == pytest.approx(theirs, rel=1e-6)


@pytest.mark.pitfall("B15")
def test_the_textbook_shortcut_is_violated_where_it_exceeds_one():
    setting = {"epsilon": 1, "count": 500}
    printed = approximate.textbook_formula(**setting, slack=1e-5)
    assert printed == pytest.approx(214.59, abs=0.01)
    truth = approximate.optimal_delta(**setting, total_epsilon=printed)
    assert float(truth) == pytest.approx(0.78, abs=0.005)
    assert float(approximate.optimal(**setting, delta=1e-5)) == pytest.approx(311.8, abs=0.05)
    with pytest.raises(AccountingError, match="false beyond") as refusal:
        approximate.textbook(**setting, slack=1e-5)
    assert "advanced(" in refusal.value.instead


def test_the_textbook_shortcut_crosses_plain_addition_at_eight_logarithms():
    crossing = 8 * math.log(1e5)
    assert math.floor(crossing) == 92
    for count, below in ((92, True), (93, False)):
        printed = approximate.textbook_formula(epsilon=0.001, count=count, slack=1e-5)
        assert (printed > count * 0.001) is below


def test_the_textbook_shortcut_holds_where_it_is_not_refused():
    found = approximate.textbook(epsilon=0.001, count=1000, slack=1e-5)
    assert found <= 1
    assert found >= approximate.advanced(epsilon=0.001, count=1000, slack=1e-5).epsilon
    assert found >= approximate.optimal(epsilon=0.001, count=1000, delta=1e-5)


def test_limits_of_the_optimum():
    assert approximate.optimal(epsilon=1, count=3, delta=0) == 3
    assert approximate.optimal(epsilon=0.1, count=2, delta=0.5) == 0
    assert approximate.optimal_delta(epsilon=1, count=3, total_epsilon=3) == 0
    with pytest.raises(AccountingError, match="exact sum"):
        approximate.optimal(epsilon=1, count=10**6, delta=1e-6)


@pytest.mark.parametrize("slack", [0, 1, -1, 2])
def test_advanced_composition_needs_a_slack(slack):
    with pytest.raises(ParameterError):
        approximate.advanced(epsilon=1, count=2, slack=slack)
