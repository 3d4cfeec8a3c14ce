"""The conversion from rho: at least the truth, equal to two other implementations, and the best there is."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import opendp.prelude as opendp
import pytest
from dp_accounting.rdp import rdp_privacy_accountant
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import norm

from discreet.errors import AccountingError
from discreet.exact.zcdp import (
    classic_epsilon_at_order,
    delta_of,
    epsilon_at_order,
    epsilon_of,
    loose_epsilon_of,
    pure_rho,
    rho_of,
)
from grids import over

opendp.enable_features("contrib")

RHOS = [Fraction(1, 10**6), Fraction(1, 2000), Fraction(1, 50), Fraction(1, 2), Fraction(5), Fraction(40)]
DELTAS = [Fraction(1, 10**3), Fraction(1, 10**6), Fraction(1, 10**9), Fraction(1, 10**12)]

rhos = st.fractions(min_value=Fraction(1, 10**8), max_value=20, max_denominator=10**9)
deltas = st.fractions(min_value=Fraction(1, 10**15), max_value=Fraction(1, 10), max_denominator=10**15)
epsilons = st.fractions(min_value=Fraction(1, 1000), max_value=20, max_denominator=10**6)


def gaussian_delta(shift: float, epsilon: float) -> float:
    return norm.cdf(shift / 2 - epsilon / shift) - math.exp(epsilon + norm.logcdf(-shift / 2 - epsilon / shift))


def gaussian_epsilon(rho: Fraction, delta: Fraction) -> float:
    shift = math.sqrt(2 * float(rho))
    if gaussian_delta(shift, 0.0) <= float(delta):
        return 0.0
    return brentq(lambda e: gaussian_delta(shift, e) - float(delta), 0, float(rho) + 40 * shift, xtol=1e-14)


@pytest.mark.guarantee("exact.zcdp")
@over("rho", RHOS)
@over("delta", DELTAS)
def test_the_converted_epsilon_is_at_least_that_of_gaussian_noise(rho, delta):
    truth = gaussian_epsilon(rho, delta)
    assert truth <= epsilon_of(rho, delta) <= loose_epsilon_of(rho, delta)


@pytest.mark.parametrize("rho", RHOS[1:-1])
@pytest.mark.parametrize("delta", DELTAS[1:])
def test_opendp_converts_to_the_same_epsilon_and_delta(rho, delta):
    sigma = math.sqrt(1 / (2 * rho))
    exact_rho = 1 / (2 * Fraction(sigma) ** 2)
    noise = opendp.m.make_gaussian(opendp.atom_domain(T=int), opendp.absolute_distance(T=int), scale=sigma)
    profile = opendp.c.make_zCDP_to_approxDP(noise).map(1)
    epsilon = profile.epsilon(float(delta))
    assert float(epsilon_of(exact_rho, delta)) == pytest.approx(epsilon, rel=1e-6)
    assert float(delta_of(exact_rho, Fraction(epsilon))) == pytest.approx(profile.delta(epsilon), rel=1e-6)


@over("rho", RHOS)
@over("delta", DELTAS)
def test_dp_accounting_converts_to_the_same_epsilon(rho, delta):
    orders = np.exp(np.linspace(math.log(0.02), math.log(1e7), 20_000)) + 1
    theirs, order = rdp_privacy_accountant.compute_epsilon(orders, orders * float(rho), float(delta))
    ours = float(epsilon_of(rho, delta))
    assert ours <= theirs * (1 + 1e-9)
    assert ours == pytest.approx(theirs, rel=1e-6)
    at_order = epsilon_at_order(Fraction(order) * rho, Fraction(order), delta)
    assert float(at_order) == pytest.approx(theirs, rel=1e-9)


@settings(deadline=None, max_examples=60)
@given(rhos, deltas)
def test_the_three_forms_of_the_conversion_agree(rho, delta):
    epsilon = epsilon_of(rho, delta)
    if epsilon > 0:
        assert delta_of(rho, epsilon) <= delta * (1 + Fraction(1, 10**9))
        assert rho_of(epsilon, delta) >= rho * (1 - Fraction(1, 10**9))
        assert rho_of(epsilon, delta) <= rho * (1 + Fraction(1, 10**9))


@settings(deadline=None, max_examples=60)
@given(epsilons, deltas)
def test_a_rho_from_a_promise_keeps_it(epsilon, delta):
    rho = rho_of(epsilon, delta)
    assert rho > 0
    assert gaussian_delta(math.sqrt(2 * float(rho)), float(epsilon)) <= float(delta)
    assert loose_epsilon_of(rho, delta) >= epsilon * (1 - Fraction(1, 10**9))


@settings(deadline=None, max_examples=40)
@given(rhos, deltas)
def test_more_rho_or_less_delta_never_lowers_epsilon(rho, delta):
    assert epsilon_of(rho * 2, delta) >= epsilon_of(rho, delta)
    assert epsilon_of(rho, delta / 2) >= epsilon_of(rho, delta)


@pytest.mark.parametrize(("rho", "delta"), [(0.05, 1e-6), (0.5, 1e-9), (0.005, 1e-5)])
def test_no_conversion_from_rho_alone_could_be_tighter(rho, delta):
    """A pair of two-outcome laws that is rho-zCDP at every order has 99.8% of the converted delta."""
    epsilon = float(epsilon_of(Fraction(str(rho)), Fraction(str(delta))))
    order = brentq(lambda a: (2 * a - 1) * rho - epsilon - math.log(a / (a - 1)), 1 + 1e-9, 1e6)
    loss = (2 * order - 1) * rho
    likely = math.exp((order - 1) * (order * rho - loss)) * 0.998
    upper, lower = np.array([likely, 1 - likely]), np.array([likely * math.exp(-loss), 1 - likely * math.exp(-loss)])
    for alpha in 1 + np.exp(np.linspace(-8, 8, 2000)):
        for p, q in ((upper, lower), (lower, upper)):
            moment = np.logaddexp.reduce(alpha * np.log(p) + (1 - alpha) * np.log(q))
            assert moment / (alpha - 1) <= alpha * rho
    assert upper[0] - math.exp(epsilon) * lower[0] >= 0.998 * delta * (1 - 1e-6)


def test_the_older_forms_are_shown_as_they_are_printed():
    assert float(loose_epsilon_of(Fraction(1, 20), Fraction(1, 10**6))) == pytest.approx(
        0.05 + 2 * math.sqrt(0.05 * math.log(1e6)), rel=1e-12
    )
    classic = classic_epsilon_at_order(Fraction(1), Fraction(11), Fraction(1, 10**5))
    assert float(classic) == pytest.approx(1 + math.log(1e5) / 10, rel=1e-12)


def test_a_promise_of_one_and_a_millionth_buys_what_the_notes_say():
    assert float(rho_of(Fraction(1), Fraction(1, 10**6))) == pytest.approx(0.02436, abs=5e-6)


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 2.0, 3.0, 8.0])
def test_an_epsilon_private_answer_has_at_most_the_stated_rho(epsilon):
    """Randomized response is the worst epsilon-private answer; its divergence over its order is largest near one."""
    rho = float(pure_rho(Fraction(str(epsilon))))
    for alpha in 1 + np.exp(np.linspace(-6, 6, 300)):
        coin = epsilon + math.log((1 + math.exp(-(2 * alpha - 1) * epsilon)) / (1 + math.exp(-epsilon))) / (alpha - 1)
        assert coin <= alpha * rho * (1 + 1e-9)


def test_without_a_delta_there_is_nothing_to_convert():
    assert epsilon_of(Fraction(0), Fraction(0)) == 0
    assert rho_of(Fraction(1), Fraction(0)) == 0
    assert delta_of(Fraction(0), Fraction(1)) == 0
    with pytest.raises(AccountingError, match="delta 0"):
        epsilon_of(Fraction(1), Fraction(0))


@over("alpha", [Fraction(1001, 1000), Fraction(3, 2), Fraction(7, 3), Fraction(17), Fraction(10**6, 7)])
@over("delta", DELTAS)
def test_the_conversion_at_an_order_is_never_below_the_formula_in_200_digits(alpha, delta):
    """Each logarithm is rounded so that the sum is too large, never too small: by less than 1e-30."""
    with mpmath.workdps(200):
        order, inverse = (
            mpmath.mpf(alpha.numerator) / alpha.denominator,
            mpmath.mpf(delta.denominator) / delta.numerator,
        )
        exact = (mpmath.log(inverse) + order * mpmath.log(1 - 1 / order) - mpmath.log(order - 1)) / (order - 1)
        stated = epsilon_at_order(Fraction(10**4), alpha, delta) - 10**4
        assert 0 < mpmath.mpf(stated.numerator) / stated.denominator - exact < mpmath.mpf(10) ** -30
