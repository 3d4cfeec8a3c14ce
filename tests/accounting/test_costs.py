"""Costs are whole units, at least the truth, at most rho at any order, and read as they were written."""

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import accounting, events
from discreet.accounting.costs import DELTA_UNITS, EPSILON_UNITS, NOTHING, RHO_UNITS, Cost, cost, restate, total_cost
from discreet.accounting.filters import Budget
from discreet.accounting.renyi import divergence_over_order

PROMISE = Budget(epsilon=2, delta=1e-9, reserved_delta=0)

rates = st.fractions(min_value=Fraction(1, 10**15), max_value=3, max_denominator=10**18)
small = st.fractions(min_value=0, max_value=Fraction(1, 10**8), max_denominator=10**25)
spent_costs = st.builds(
    lambda epsilon, rho, delta, part: Cost(epsilon, rho, delta, int(rho * part)),
    st.none() | st.integers(0, 3 * EPSILON_UNITS),
    st.integers(0, RHO_UNITS // 10) | st.integers(0, 10**6),
    st.integers(0, 2 * 10**8),
    st.sampled_from([Fraction(1, 3), 1]),
)
EVENTS = st.one_of(
    st.builds(events.PureEvent, rates),
    st.builds(events.BoundedRangeEvent, rates),
    st.builds(events.ConcentratedEvent, rates),
    st.builds(events.DiscreteLaplaceEvent, st.integers(1, 200), st.integers(1, 5)),
    st.builds(events.ApproximateEvent, rates, st.just(Fraction(1, 10**9))),
)
orders = st.fractions(min_value=Fraction(11, 10), max_value=300, max_denominator=1000)


@settings(deadline=None, max_examples=100)
@given(EVENTS, orders)
def test_the_cost_at_an_order_is_the_divergence_and_at_most_rho(event, order):
    charged = cost(event, order)
    assert charged.renyi <= charged.rho == cost(event).renyi
    if not charged.delta:
        exact = min(accounting.renyi.epsilon(event, order) / order, Fraction(charged.rho, RHO_UNITS))
        assert 0 <= charged.renyi - exact * RHO_UNITS + exact * RHO_UNITS / 10**9 <= 2 + exact * RHO_UNITS / 10**8


@settings(deadline=None, max_examples=100)
@given(st.lists(EVENTS, min_size=1, max_size=3), orders, orders)
def test_what_is_restated_is_at_least_what_it_costs_at_the_new_order_and_never_falls(asked, before, after):
    spent = sum((cost(event, before) for event in asked), NOTHING)
    restated = restate(spent, before, after)
    assert restated.renyi >= RHO_UNITS * sum(divergence_over_order(event, after) for event in asked)
    assert spent.renyi <= restated.renyi <= spent.rho
    assert replace(restated, renyi=spent.renyi) == spent
    for unknown in ((None, after), (before, None), (None, None)):
        assert restate(spent, *unknown) == spent.at_any_order


def test_gaussian_noise_costs_the_same_at_every_order():
    one = events.ConcentratedEvent(PROMISE.rho(0.5))
    assert {cost(one, Fraction(order)).renyi for order in (2, 19, 1000)} == {cost(one).rho}


@given(spent_costs)
def test_units_are_read_as_they_were_written(spent):
    assert Cost.of_units(*spent.units()) == spent
    assert len(spent.at_any_order.units()) == 3


@pytest.mark.pitfall("B4")
def test_many_tiny_charges_are_not_free():
    tiny = events.PureEvent(Fraction(1, 10**17))
    together = cost(events.RepeatedEvent(tiny, 10**17))
    assert together.epsilon == EPSILON_UNITS
    one_by_one = cost(tiny)
    assert one_by_one.epsilon == 1
    assert one_by_one.rho == 1
    assert one_by_one.epsilon * 10**17 >= together.epsilon


@settings(deadline=None)
@given(rates, rates, small, small)
def test_costs_round_up_and_sums_stay_above_the_exact_sum(first, second, own_first, own_second):
    pair = [events.ApproximateEvent(first, own_first), events.ConcentratedEvent(second, own_second)]
    spent = cost(pair[0]) + cost(pair[1])
    assert spent.epsilon is None
    assert Fraction(spent.rho, RHO_UNITS) >= min(first, first**2 / 2) + second
    assert Fraction(spent.delta, DELTA_UNITS) >= own_first + own_second
    assert Fraction(cost(pair[0]).epsilon, EPSILON_UNITS) >= first
    together = cost(events.ComposedEvent(tuple(pair)))
    assert spent.rho >= together.rho
    assert spent.delta >= together.delta


def test_the_parts_of_an_event_add_up_at_an_order():
    one, order = events.PureEvent(Fraction(1, 10)), Fraction(20)
    single = cost(one, order).renyi
    for seven in (events.RepeatedEvent(one, 7), events.ComposedEvent((one,) * 7)):
        assert 7 * (single - 1) <= cost(seven, order).renyi <= 7 * single


def test_a_total_is_the_sum_in_each_component_and_has_no_epsilon_where_one_cost_has_none():
    assert total_cost([]) == NOTHING
    assert total_cost([Cost(1, 2, 3, 4), Cost(10, 20, 30, 40)]) == Cost(11, 22, 33, 44)
    assert total_cost(iter([Cost(1, 2, 3, 4), Cost(None, 20, 30, 40)])) == Cost(None, 22, 33, 44)
