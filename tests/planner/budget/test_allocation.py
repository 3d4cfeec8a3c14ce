"""The price of a query is spent to the last unit and never beyond, and the noise follows the shares."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting.costs import EPSILON_UNITS, RHO_UNITS, cost
from discreet.accounting.filters import Budget
from discreet.errors import BudgetError, ParameterError
from discreet.events import ComposedEvent
from discreet.mechanisms import Gaussian, Laplace
from discreet.planner.budget.allocation import Spending, gaussian_spending, mechanisms, spending, spendings
from discreet.planner.sensitivity.sensitivity import Sensitivity
from grids import over

PURE = Budget(epsilon=2)
MIXED = Budget(epsilon=2, delta=1e-9)
RESERVED = Budget(epsilon=2, delta=1e-9, reserved_delta=4e-10)
ALL_RESERVED = Budget(epsilon=2, delta=1e-9, reserved_delta=1e-9)
ONE = Sensitivity(1, 1, 1, 1)


def _spending(budget, *, epsilon=None, rho=None, mechanism=None) -> Spending:
    return spending(budget, epsilon=epsilon, rho=rho, mechanism=mechanism)


def test_a_pure_promise_takes_laplace_noise_and_says_why():
    spent = _spending(PURE, epsilon=0.5)
    assert (spent.kind.tag, spent.amount, spent.epsilon) == ("laplace", Fraction(1, 2), Fraction(1, 2))
    assert "pure" in spent.reason


def test_a_promise_with_a_delta_takes_gaussian_noise_in_terms_of_the_promise():
    spent = _spending(MIXED, epsilon=2)
    assert (spent.kind.tag, spent.epsilon) == ("gaussian", 2)
    assert spent.amount * RHO_UNITS == MIXED.caps().rho
    assert "delta 1e-09" in spent.reason


def test_a_query_for_all_of_epsilon_fits_exactly_whatever_part_of_delta_is_reserved():
    for budget in (PURE, MIXED, RESERVED, ALL_RESERVED):
        spent = _spending(budget, epsilon=2)
        event = ComposedEvent(tuple(m.event() for m in mechanisms(spent, [Fraction(1)], [ONE])))
        assert budget.admits(cost(event))
        assert not budget.admits(cost(event) + cost(event))


def test_where_all_of_delta_is_reserved_noise_is_laplace():
    spent = _spending(ALL_RESERVED, epsilon=1)
    assert spent.kind.tag == "laplace"
    assert "reserved" in spent.reason
    with pytest.raises(BudgetError):
        _spending(ALL_RESERVED, epsilon=1, mechanism="gaussian")


def test_only_a_query_for_the_whole_promise_that_leaves_the_noise_open_may_have_either():
    asked = {"rho": None, "mechanism": None}
    first, second = spendings(MIXED, **asked | {"epsilon": 2})
    assert (first.kind.tag, second.kind.tag) == ("gaussian", "laplace")
    assert second.amount == second.epsilon == 2
    for budget, price in (
        (MIXED, {"epsilon": 1.999}),
        (MIXED, {"epsilon": 2, "mechanism": "gaussian"}),
        (MIXED, {"epsilon": 2, "mechanism": "laplace"}),
        (MIXED, {"epsilon": None, "rho": 1}),
        (PURE, {"epsilon": 2}),
        (ALL_RESERVED, {"epsilon": 2}),
    ):
        assert len(spendings(budget, **asked | price)) == 1


def test_laplace_noise_can_be_asked_for_under_a_delta():
    spent = _spending(MIXED, epsilon=0.5, mechanism="laplace")
    assert (spent.kind.tag, spent.amount) == ("laplace", Fraction(1, 2))
    assert "asked for" in spent.reason


def test_rho_is_a_price_under_a_delta_and_its_epsilon_is_shown():
    spent = _spending(MIXED, rho=0.01)
    assert (spent.kind.tag, spent.amount) == ("gaussian", Fraction(1, 100))
    assert spent.epsilon > 0
    assert float(MIXED.rho(spent.epsilon)) == pytest.approx(0.01, rel=1e-12)


@pytest.mark.parametrize("price", [{}, {"epsilon": 1, "rho": 1}])
def test_a_query_states_its_price_once(price):
    with pytest.raises(ParameterError, match="once"):
        _spending(MIXED, **price)


@pytest.mark.parametrize("asked", [{"rho": 0.1}, {"epsilon": 1, "mechanism": "gaussian"}])
def test_gaussian_noise_under_a_pure_promise_is_refused(asked):
    with pytest.raises(BudgetError, match="delta"):
        _spending(PURE, **asked)


@pytest.mark.parametrize("mechanism", ["exponential", "", "Laplace", 5, ["laplace"]])
def test_other_mechanisms_are_refused(mechanism):
    with pytest.raises(ParameterError, match="mechanism"):
        _spending(MIXED, epsilon=1, mechanism=mechanism)


def test_rho_does_not_price_laplace_noise():
    with pytest.raises(ParameterError, match="rho"):
        _spending(MIXED, rho=0.1, mechanism="laplace")


@pytest.mark.pitfall("D")
@over(
    "price",
    [float("nan"), float("inf"), 0, -0.0, -1, True, "0.1", Decimal("1e999"), np.float64("nan"), 1e-320, 10**350, 1e300],
)
@over("name", ["epsilon", "rho"])
def test_hostile_prices_are_refused_before_any_arithmetic(name, price):
    for mechanism in (None, "gaussian"):
        with pytest.raises(ParameterError, match=name):
            _spending(MIXED, **{name: price}, mechanism=mechanism)


@pytest.mark.pitfall("B4")
def test_a_price_below_one_unit_of_the_ledger_is_refused_and_others_are_rounded_down():
    for price in ({"epsilon": 1e-13}, {"rho": 1e-16}, {"epsilon": 1e-12}):
        with pytest.raises(ParameterError, match="too small"):
            _spending(MIXED, **price)
    assert _spending(PURE, epsilon=Fraction(1, 3)).amount == Fraction(333333333333, 10**12)


amounts = st.fractions(Fraction(1, 1000), 10)
shares = st.lists(st.fractions(Fraction(1, 100), 10), min_size=1, max_size=5)
sizes = st.integers(1, 10**6)


@settings(deadline=None)
@given(amounts, shares, st.data())
def test_parts_cost_the_whole_price_to_the_last_unit_and_never_more(amount, parts, data):
    moved = [Sensitivity(1, size, size**2, size) for size in data.draw(st.lists(sizes, min_size=5, max_size=5))]
    for budget, name, units in ((PURE, "epsilon", EPSILON_UNITS), (MIXED, "rho", RHO_UNITS)):
        spent = _spending(budget, **{name: amount})
        noises = mechanisms(spent, parts, moved[: len(parts)])
        charged = getattr(cost(ComposedEvent(tuple(noise.event() for noise in noises))), name)
        asked = spent.amount * units
        assert charged <= asked
        assert charged >= asked - (1 if name == "epsilon" else 1 + asked / 10**15)


@settings(deadline=None)
@given(shares)
def test_each_part_gets_its_share(parts):
    noises = mechanisms(_spending(PURE, epsilon=1), parts, [ONE] * len(parts))
    for part, noise in zip(parts, noises, strict=True):
        assert float(noise.epsilon) == pytest.approx(float(part / sum(parts)))


def test_noise_follows_the_norm_that_its_mechanism_needs():
    moved = Sensitivity(l0=3, l1=30, l2_squared=300, linf=10)
    (laplace,) = mechanisms(_spending(PURE, epsilon=1), [Fraction(1)], [moved])
    (gaussian,) = mechanisms(_spending(MIXED, rho=0.5), [Fraction(1)], [moved])
    assert isinstance(laplace, Laplace)
    assert laplace.sensitivity == 30
    assert isinstance(gaussian, Gaussian)
    assert (gaussian.squared_sensitivity, gaussian.dimension) == (300, 3)


@pytest.mark.pitfall("D")
def test_noise_that_cannot_be_drawn_is_refused_in_the_words_of_a_query():
    huge = Sensitivity(1, 2**60, 2**120, 2**60)
    for budget in (PURE, MIXED):
        with pytest.raises(ParameterError, match="grid=") as caught:
            mechanisms(_spending(budget, epsilon=0.1), [Fraction(1)], [huge])
        assert "Laplace(" not in str(caught.value)
        assert "Gaussian(" not in str(caught.value)


def test_gaussian_noise_alone_has_nothing_under_a_pure_budget():
    assert gaussian_spending("a model", MIXED, epsilon=1, rho=None).kinds == (Gaussian,)
    with pytest.raises(BudgetError, match="a model under a pure privacy budget"):
        gaussian_spending("a model", PURE, epsilon=1, rho=None)
