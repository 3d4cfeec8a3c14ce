"""What is spent is never told below what it is, and what is left never above it."""

import math
from fractions import Fraction

import numpy as np
import pytest
from dp_accounting import dp_event
from dp_accounting.rdp import RdpAccountant
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting.costs import DELTA_UNITS, EPSILON_UNITS, NOTHING, RHO_UNITS, Cost
from discreet.accounting.filters import Budget
from discreet.exact.zcdp import epsilon_at_order
from discreet.ledger.reporting.spending import (
    SpendingTotal,
    left_of,
    plain,
    plain_down,
    plain_up,
    promised_at,
    text_down,
    text_up,
)

MILLIONTH = Fraction(1, 10**6)
BILLIONTH = Fraction(1, 10**9)

numbers = st.fractions(min_value=0, max_value=10**6, max_denominator=10**15)
costs = st.builds(
    lambda epsilon, rho, delta, part: Cost(epsilon, rho, delta, int(part * rho)),
    st.none() | st.integers(0, 3 * EPSILON_UNITS),
    st.integers(0, RHO_UNITS),
    st.integers(0, 10**12),
    st.sampled_from([Fraction(1, 3), 1]),
)


def spending(epsilon: str | None = "0", rho: str = "0", delta: str = "0") -> SpendingTotal:
    whole = None if epsilon is None else int(Fraction(epsilon) * EPSILON_UNITS)
    return SpendingTotal(
        cost=Cost(
            whole, int(Fraction(rho) * RHO_UNITS), int(Fraction(delta) * DELTA_UNITS), int(Fraction(rho) * RHO_UNITS)
        )
    )


def conversion(rho: float, delta: float) -> float:
    """Canonne, Kamath and Steinke's conversion, by brute force over orders."""
    alpha = 1 + np.exp(np.linspace(-8, 12, 200_001))
    return float(
        (alpha * rho + (np.log(1 / delta) + alpha * np.log1p(-1 / alpha) - np.log(alpha - 1)) / (alpha - 1)).min()
    )


def test_the_smaller_of_both_ways_is_told_with_its_name():
    few = spending("0.3", "0.015").at(MILLIONTH)
    assert (few.epsilon, few.by) == (Fraction(3, 10), "sum of epsilons")
    many = spending("10", "0.05").at(MILLIONTH)
    assert many.by == "zCDP"
    assert float(many.epsilon) == pytest.approx(conversion(0.05, 1e-6), rel=1e-6)
    assert many.epsilon >= conversion(0.05, 1e-6) * (1 - 1e-9)


@pytest.mark.parametrize("rho", [0.001, 0.05, 0.5])
@pytest.mark.parametrize("delta", [1e-6, 1e-9, 1e-12])
def test_dp_accounting_agrees_on_what_a_rho_amounts_to(rho, delta):
    theirs = RdpAccountant(orders=list(1 + np.exp(np.linspace(-3, 9, 2_000)))).compose(dp_event.ZCDpEvent(rho, 0))
    ours = spending(None, str(rho)).at(Fraction(str(delta)))
    assert float(ours.epsilon) == pytest.approx(theirs.get_epsilon(delta), rel=1e-3)


def test_own_deltas_are_taken_off_before_rho_is_converted():
    own = spending(None, "0.05", "4e-7").at(MILLIONTH)
    assert float(own.epsilon) == pytest.approx(conversion(0.05, 6e-7), rel=1e-6)
    assert own.epsilon > spending(None, "0.05").at(MILLIONTH).epsilon


def test_own_deltas_beyond_the_delta_leave_no_epsilon():
    assert spending("0.3", "0.015", "2e-6").at(MILLIONTH).epsilon is None
    used = spending("0.3", "0.015", "1e-6").at(MILLIONTH)
    assert (used.epsilon, used.by) == (Fraction(3, 10), "sum of epsilons")
    gaussian = spending(None, "0.015", "1e-6").at(MILLIONTH)
    assert gaussian.epsilon is None
    assert "needs a delta" in gaussian.by


def test_a_pure_epsilon_exists_only_without_deltas_and_without_gaussian_noise():
    assert spending("0.3", "0.015").pure == Fraction(3, 10)
    assert spending("0.3", "0.015", "1e-9").pure is None
    assert spending("0.3", "0.015", "1e-9").epsilon == Fraction(3, 10)
    assert spending(None, "0.015").pure is None


def test_nothing_spent_is_nothing_at_any_delta():
    assert SpendingTotal(cost=NOTHING).at(Fraction(0)).epsilon == 0
    assert SpendingTotal(cost=NOTHING).of_promise(Budget(epsilon=1)).epsilon == 0


@pytest.mark.parametrize(("epsilon", "delta"), [(2, 1e-9), (Fraction(117, 40), 1e-6), (Fraction(175, 40), 1e-9)])
def test_a_promise_that_is_used_up_is_told_as_its_epsilon(epsilon, delta):
    """Converting the cap on rho back and rounding up would tell a little more than was promised."""
    budget = Budget(epsilon=epsilon, delta=delta)
    caps = budget.caps()
    assert SpendingTotal(cost=Cost(None, caps.rho, 0, caps.rho)).of_promise(budget).epsilon == epsilon
    assert SpendingTotal(cost=Cost(None, caps.rho + 10**9, 0, caps.rho + 10**9)).of_promise(budget).epsilon > epsilon
    assert SpendingTotal(cost=Cost(caps.epsilon, 2 * caps.rho, 0, 2 * caps.rho)).of_promise(budget).epsilon == epsilon


def test_more_own_delta_than_is_reserved_is_beyond_the_promise():
    budget = Budget(epsilon=2, delta=1e-6, reserved_delta=1e-7)
    assert spending("0.1", "0.005", "1e-7").of_promise(budget).epsilon == Fraction(1, 10)
    assert spending("0.1", "0.005", "2e-7").of_promise(budget).epsilon is None


def test_the_share_of_a_promise_is_that_of_the_cap_that_holds_longer():
    assert spending("0.35", "0.02125").share(Budget(epsilon=1)) == Fraction(35, 100)
    assert spending(None, "0.02").share(Budget(epsilon=1)) is None
    assert SpendingTotal(cost=NOTHING).share(Budget(epsilon=1)) == 0
    budget = Budget(epsilon=2, delta=1e-6, reserved_delta=1e-7)
    assert spending(None, "0.01").share(budget) == Fraction(1, 100) / budget.rho(2)
    assert spending("0.1", "1").share(budget) == Fraction(1, 20)
    assert spending("0.1", "1", "9e-8").share(budget) == Fraction(9, 10)
    assert spending("3", "1").share(budget) > 1
    assert spending("0.1", "0.005", "1e-9").share(Budget(epsilon=2, delta=1e-6, reserved_delta=0)) is None


@settings(deadline=None, max_examples=60)
@given(costs, st.sampled_from([Budget(epsilon=2, delta=1e-6, reserved_delta=1e-7), Budget(epsilon=1)]))
def test_a_share_of_at_most_one_is_what_a_promise_admits(cost, budget):
    share = SpendingTotal(cost=cost).share(budget)
    assert (share is not None and share <= 1) == budget.admits(cost)


def test_what_is_left_is_told_in_the_terms_of_each_sum():
    left = left_of(Budget(epsilon=1), spending("0.35", "0.02125").cost)
    assert (left.laplace, left.gaussian, left.epsilon, left.rho, left.delta) == (
        Fraction(13, 20),
        0,
        Fraction(13, 20),
        0,
        0,
    )
    budget = Budget(epsilon=2, delta=1e-6, reserved_delta=1e-7)
    left = left_of(budget, spending(None, "0.01", "4e-8").cost)
    assert left.epsilon == 0
    assert left.rho == budget.rho(2) - Fraction(1, 100)
    assert left.delta == Fraction(6, 10**8)
    assert left.laplace > 0
    assert left.gaussian > 0


def test_nothing_is_left_of_a_cap_below_what_is_spent():
    assert set(vars(left_of(Budget(epsilon=1), spending("1.5", "1.125").cost)).values()) == {Fraction(0)}
    reserved = Budget(epsilon=2, delta=1e-6, reserved_delta=1e-7)
    assert set(vars(left_of(reserved, spending("0.1", "0.005", "2e-7").cost)).values()) == {Fraction(0)}


def test_a_promise_is_told_at_other_deltas():
    budget = Budget(epsilon=2, delta=1e-9, reserved_delta=0)
    assert promised_at(budget, BILLIONTH) == 2
    assert promised_at(budget, MILLIONTH) == 2
    smaller = promised_at(budget, Fraction(1, 10**12))
    assert smaller == pytest.approx(epsilon_at_order(budget.order * budget.rho(2), budget.order, Fraction(1, 10**12)))
    assert conversion(float(budget.rho(2)), 1e-12) < float(smaller) < 1.05 * conversion(float(budget.rho(2)), 1e-12)
    assert promised_at(budget, Fraction(0)) is None
    assert promised_at(Budget(epsilon=1), Fraction(0)) == 1
    assert promised_at(Budget(epsilon=1), MILLIONTH) == 1
    reserved = Budget(epsilon=2, delta=1e-6, reserved_delta=1e-7)
    assert promised_at(reserved, MILLIONTH) == 2
    assert promised_at(reserved, Fraction(1, 10**8)) is None


@settings(deadline=None, max_examples=60)
@given(costs, st.sampled_from([Budget(epsilon=2, delta=1e-6, reserved_delta=1e-7), Budget(epsilon=1, delta=1e-9)]))
def test_whatever_a_promise_admits_is_within_it_at_every_delta(cost, budget):
    if not budget.admits(cost):
        return
    spent = SpendingTotal(cost=cost)
    assert spent.of_promise(budget).epsilon <= budget.epsilon
    for delta in (Fraction(1, 10**5), MILLIONTH, BILLIONTH, Fraction(1, 10**12)):
        promised = promised_at(budget, delta)
        if promised is not None:
            assert spent.at(delta, budget.order).epsilon <= promised * (1 + Fraction(1, 10**8))


@settings(deadline=None, max_examples=60)
@given(costs, costs)
def test_spending_more_is_never_told_as_less(one, other):
    more = SpendingTotal(cost=one + other).at(MILLIONTH).epsilon
    less = SpendingTotal(cost=one).at(MILLIONTH).epsilon
    assert more is None or less <= more * (1 + Fraction(1, 10**8))


@given(numbers, st.integers(1, 9))
def test_text_is_rounded_to_the_side_it_names(value, digits):
    up, down = Fraction(text_up(value, digits)), Fraction(text_down(value, digits))
    assert down <= value <= up
    assert up - down <= value * Fraction(10, 10**digits)


@given(numbers)
def test_doubles_are_rounded_to_the_side_they_name(value):
    assert Fraction(plain_down(value)["float"]) <= value <= Fraction(plain_up(value)["float"])
    assert Fraction(plain_up(value)["exact"]) == Fraction(plain_down(value)["exact"]) == value
    assert math.isclose(plain(value)["float"], value, rel_tol=1e-15)


def test_no_value_is_a_dash_in_text_and_null_in_json():
    assert text_up(None) == text_down(None) == "-"
    assert plain_up(None) is None
    assert plain_down(None) is None


def test_a_budget_too_small_to_convert_is_told_at_its_reserve():
    assert promised_at(Budget(epsilon=Fraction(1, 10**12), delta=1e-9), Fraction(1, 10**10)) == Fraction(1, 10**12)
