"""Intervals hold the number that they stand for, and are narrow."""

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.auditing.exact import intervals
from discreet.auditing.exact.intervals import Interval, point

NARROW = Fraction(1, 10**50)


@settings(deadline=None)
@given(st.fractions(-50, 50, max_denominator=1000))
def test_an_exponential_and_its_logarithm_come_back(value):
    held = intervals.exp(value)
    assert held.low <= held.high <= held.low * (1 + NARROW)
    back = intervals.log(held)
    assert back.low <= value <= back.high
    assert back.high - back.low <= NARROW * (1 + abs(value))
    assert math.isclose(held.low, math.exp(value), rel_tol=1e-12)


def test_what_is_known_exactly_stays_exact():
    assert intervals.exp(Fraction(0)) == point(1)
    assert intervals.log(point(1)) == point(0)


@settings(deadline=None)
@given(st.lists(st.fractions(0, 5, max_denominator=97), max_size=20))
def test_a_sum_holds_the_true_one(values):
    held = intervals.total(map(point, values))
    assert held.low <= sum(values) <= held.high
    assert held.high - held.low <= Fraction(1, 10**100)


@settings(deadline=None)
@given(st.fractions("1/9", 5, max_denominator=97), st.fractions("1/9", 5, max_denominator=97))
def test_powers_of_whole_orders_are_exact_and_others_hold_them(one, other):
    assert intervals.powered(point(one), point(other), Fraction(3)) == point(one**3 / other**2)
    held = intervals.powered(point(one), point(other), Fraction(3, 2))
    squared = one**3 / other
    assert held.low**2 <= squared <= held.high**2
    assert held.high <= held.low * (1 + NARROW)


@pytest.mark.parametrize("order", [Fraction(2), Fraction(5, 2)])
def test_powers_of_wide_intervals_hold_every_power_within(order):
    here, there = Interval(Fraction(1, 2), Fraction(2, 3)), Interval(Fraction(1, 5), Fraction(1, 4))
    held = intervals.powered(here, there, order)
    for one in here:
        for other in there:
            assert held.low <= intervals.powered(point(one), point(other), order).high
            assert held.high >= intervals.powered(point(one), point(other), order).low


def test_quotients_and_widening_go_outward():
    quotient = Interval(Fraction(1), Fraction(2)).over(Interval(Fraction(2), Fraction(4)))
    assert quotient == Interval(Fraction(1, 4), Fraction(1))
    assert point(10).widened(Fraction(1, 10)) == Interval(Fraction(9), Fraction(11))
