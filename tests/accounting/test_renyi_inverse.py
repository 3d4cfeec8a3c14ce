"""The largest epsilon within a bound on Renyi divergences is checked at every order, and nearly reached."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import events
from discreet.accounting.filters import Budget
from discreet.accounting.renyi import divergence_over_order
from discreet.accounting.renyi_inverse import (
    bounded_range_epsilon,
    coin,
    discrete_laplace,
    laplace_epsilon,
    one_sided_coin,
    pure_epsilon,
)
from discreet.exact.zcdp import conversion_order

BUDGETS = [Budget(epsilon=e, delta=d) for e, d in ((1, 1e-6), (2, 1e-9), (10, 1e-7), (Fraction(1, 100), 1e-12))]
SHARES = [Fraction(1), Fraction(1, 2), Fraction(1, 10), Fraction(1, 1000)]


def laplace(sensitivity):
    def found(rho, orders):
        return laplace_epsilon(rho, orders, sensitivity)

    def event(epsilon):
        return events.DiscreteLaplaceEvent(sensitivity / epsilon, Fraction(sensitivity))

    return found, event


FAMILIES = {
    "pure": (pure_epsilon, events.PureEvent),
    "bounded range": (bounded_range_epsilon, events.BoundedRangeEvent),
    "laplace": laplace(1),
    "laplace, many steps": laplace(1_000),
}


@pytest.mark.guarantee("accounting.renyi_inverse")
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("share", SHARES, ids=str)
def test_the_event_is_within_the_bound_at_every_order_and_one_of_slightly_more_is_not(family, budget, share):
    largest, event = FAMILIES[family]
    asked = budget.epsilon * share
    rho, orders = budget.rho(asked), (budget.order, conversion_order(asked, budget.conversion_delta))
    epsilon = largest(rho, orders)
    assert all(divergence_over_order(event(epsilon), order) <= rho for order in orders)
    more = event(epsilon * (1 + Fraction(1, 10**5)))
    assert any(divergence_over_order(more, order) > rho for order in orders)


@pytest.mark.parametrize(("budget", "largest"), [((1, 1e-6), 0.5565), ((2, 1e-9), 1.0719)])
def test_the_largest_pure_epsilon_of_a_whole_budget(budget, largest):
    epsilon, delta = budget
    known = Budget(epsilon=epsilon, delta=delta)
    assert float(pure_epsilon(known.rho(epsilon), [known.order])) == pytest.approx(largest, abs=1e-3)


@pytest.mark.parametrize("family", FAMILIES)
def test_without_orders_the_bound_holds_at_all_of_them(family):
    largest, event = FAMILIES[family]
    rho = Fraction(1, 50)
    for order in (Fraction(11, 10), Fraction(5), Fraction(1_000)):
        assert divergence_over_order(event(largest(rho, ())), order) <= rho


@pytest.mark.guarantee("accounting.renyi_inverse")
@settings(max_examples=60, deadline=None)
@given(
    rho=st.fractions(min_value=Fraction(1, 10**9), max_value=20),
    orders=st.lists(st.fractions(min_value=Fraction(101, 100), max_value=10_000), min_size=1, max_size=2),
    family=st.sampled_from(sorted(FAMILIES)),
)
def test_no_bound_and_no_order_is_exceeded(rho, orders, family):
    largest, event = FAMILIES[family]
    epsilon = largest(rho, tuple(orders))
    assert epsilon > 0
    assert all(divergence_over_order(event(epsilon), order) <= rho for order in orders)


@settings(max_examples=60, deadline=None)
@given(
    epsilon=st.floats(min_value=1e-3, max_value=20),
    order=st.floats(min_value=1.01, max_value=1_000),
    sensitivity=st.integers(min_value=1, max_value=1_000),
)
def test_the_floats_that_guess_are_near_the_rationals_that_check(epsilon, order, sensitivity):
    alpha, exact = Fraction(order), Fraction(epsilon)
    scale = sensitivity / exact
    pairs = [
        (coin(epsilon, order), events.PureEvent(exact)),
        (one_sided_coin(epsilon, order), events.BoundedRangeEvent(exact)),
        (discrete_laplace(epsilon, order, sensitivity), events.DiscreteLaplaceEvent(scale, Fraction(sensitivity))),
    ]
    for guess, event in pairs:
        checked = float(divergence_over_order(event, alpha) * alpha)
        assert checked <= guess * (1 + 1e-6) + 1e-9
