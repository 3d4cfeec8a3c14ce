"""A price enters a fingerprint in whole units of the ledger, with the delta that an epsilon is converted at."""

from fractions import Fraction

import pytest

import discreet as dp
from discreet.accounting.costs import EPSILON_UNITS, RHO_UNITS
from discreet.errors import ParameterError
from discreet.planner.budget.price import Price

PURE, PAIR = dp.Budget(epsilon=2), dp.Budget(epsilon=2, delta=1e-8)


def test_amounts_are_those_that_are_charged():
    third = Fraction(1, 3)
    epsilon, rho = (Price(**{name: third}).canonical_parts(PAIR)[name] for name in ("epsilon", "rho"))
    assert epsilon == Fraction(EPSILON_UNITS // 3, EPSILON_UNITS)
    assert rho == Fraction(RHO_UNITS // 3, RHO_UNITS)
    assert Price(epsilon=0.1).canonical_parts(PURE) == Price(epsilon=Fraction(1, 10)).canonical_parts(PURE)


def test_what_was_left_open_stays_open():
    assert Price().canonical_parts(PAIR) == dict.fromkeys(("epsilon", "rho", "delta", "mechanism", "converted at"))
    assert Price(epsilon=1, delta=1e-9).canonical_parts(PURE)["delta"] == Fraction(1, 10**9)


@pytest.mark.parametrize(
    ("price", "is_converted", "matters"),
    [
        (Price(epsilon=1), True, True),
        (Price(epsilon=1, mechanism="gaussian"), True, True),
        (Price(epsilon=1, mechanism="laplace"), True, False),
        (Price(epsilon=1, mechanism="staircase"), True, False),
        (Price(rho=0.1), True, False),
        (Price(epsilon=1, delta=1e-9), False, False),
    ],
)
def test_the_delta_of_the_budget_matters_where_an_epsilon_is_converted_at_it(price, is_converted, matters):
    asked = price.canonical_parts(PAIR, is_converted=is_converted)
    assert asked["converted at"] == (PAIR.conversion_delta if matters else None)


@pytest.mark.parametrize("price", [Price(epsilon=0), Price(rho=-1), Price(epsilon="much")])
def test_an_amount_that_is_none_is_refused(price):
    with pytest.raises(ParameterError):
        price.canonical_parts(PURE)
