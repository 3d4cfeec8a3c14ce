"""Laplace log-normal noise of a smooth width: Renyi divergences of every order stay within order times rho."""

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
import pytest
from scipy.interpolate import CubicSpline
from scipy.special import logsumexp

from discreet.errors import ParameterError
from discreet.events import ConcentratedEvent
from discreet.exact.rounding import exp_up
from discreet.mechanisms.smooth.laplace_log_normal import calibrate

ORDERS = [1.05, 1.5, 2, 4, 8]
FARTHEST = 16  # in sinh^-1 z: z up to 4.4 million


@lru_cache
def table(sigma):
    """ln E[v e^(-|z| v)/2], v = e^(-sigma Y), over sinh^-1 |z|; by the trapezoidal rule, which is exact to rounding."""
    y = np.arange(-15, 60, 0.1)
    u = np.linspace(0, FARTHEST + 2, 2_401)
    exponents = -(y**2) / 2 - sigma * y - np.multiply.outer(np.sinh(u), np.exp(-sigma * y))
    return CubicSpline(u, logsumexp(exponents, axis=1) + math.log(0.1 / 2 / math.sqrt(2 * math.pi)))


def log_density(z, sigma):
    return table(sigma)(np.arcsinh(np.abs(z)))


def divergence(order, sigma, shift, dilation):
    """D_order(P || Q): P has width e^dilation about `shift`, Q width 1 about 0."""
    u = np.linspace(-FARTHEST, FARTHEST, 40_001)
    z = np.sinh(u)
    p = log_density((z - shift) * math.exp(-dilation), sigma) - dilation
    terms = order * p + (1 - order) * log_density(z, sigma) + np.log(np.cosh(u))
    return (logsumexp(terms) + math.log(u[1] - u[0])) / (order - 1)


@pytest.mark.guarantee("mechanisms.smooth.laplace_log_normal")
@pytest.mark.parametrize("rho", [Fraction(1, 200), Fraction(1, 2), Fraction(3)], ids=str)
@pytest.mark.parametrize("sigma", [Fraction(1, 4), Fraction(1, 2), Fraction(1)], ids=str)
def test_no_pair_within_shift_and_beta_diverges_by_more_than_rho(rho, sigma):
    made = calibrate(rho, Fraction(1, 2), sigma)
    reached = 0.0
    for dilation in (-float(made.beta), 0.0, float(made.beta)):
        room = float(made.shift) * min(1, math.exp(dilation))
        for shift in (0.0, room):
            for order in ORDERS:
                part = divergence(order, float(sigma), shift, dilation) / (order * float(rho))
                assert part <= 1 + 1e-6
                reached = max(reached, part)
    assert reached > 0.1


@pytest.mark.guarantee("mechanisms.smooth.laplace_log_normal")
@pytest.mark.parametrize("sigma", [0.25, 0.5, 1.0])
def test_the_steepest_slope_is_at_zero_and_the_price_of_a_move(sigma):
    z = np.concatenate([np.linspace(0, 1, 400), np.logspace(0, 4, 400)])
    slopes = -(log_density(z + 1e-6, sigma) - log_density(z, sigma)) / 1e-6
    assert np.all(slopes <= math.exp(1.5 * sigma**2) * (1 + 1e-6))
    assert slopes[0] == pytest.approx(math.exp(1.5 * sigma**2), rel=1e-3)
    assert np.all(np.diff(slopes[1:]) <= 1e-3)


@pytest.mark.guarantee("mechanisms.smooth.laplace_log_normal")
def test_a_change_of_width_costs_no_more_than_a_move_of_the_normal_number():
    for sigma in (0.25, 0.5, 1.0):
        for dilation in (0.02, 0.3, -0.3):
            for order in ORDERS:
                assert divergence(order, sigma, 0, dilation) <= order * (dilation / sigma) ** 2 / 2 * (1 + 1e-6) + 1e-9


def test_square_roots_of_prices_add_and_not_less():
    """Gaussians that move the same way twice reach the sum of roots, so the triangle inequality is the right one."""
    one, other = 0.3, 0.5
    for order in ORDERS:
        h = (order - 1) / order * other / one
        first, second = order * (1 + h), (order - 1) * (1 + 1 / h) + 1
        bound = (order * (1 + h) - 1) / ((1 + h) * (order - 1)) * first * one**2 / 2 + second * other**2 / 2
        assert bound == pytest.approx(order * (one + other) ** 2 / 2)


def test_the_parts_of_the_price_are_within_it_exactly():
    for rho in (Fraction(1, 10**6), Fraction(1, 2), Fraction(40)):
        for share in (Fraction(1, 5), Fraction(1, 2)):
            made = calibrate(rho, share, Fraction(1, 2))
            spent = (made.beta * 2 + exp_up(Fraction(3, 8)) * made.shift) ** 2 / 2
            assert rho * (1 - Fraction(1, 10**14)) < spent <= rho
            assert made.event == ConcentratedEvent(rho)


def test_sigma_one_half_is_near_the_best_where_the_bounds_grow_evenly():
    """S is then close to 1/(e beta), and E|Z| = e^(sigma^2/2): the mean error is least at 1/2."""

    def error(sigma):
        made = calibrate(Fraction(1, 200), Fraction(1, 2), sigma)
        return math.exp(float(sigma) ** 2 / 2) / (float(made.beta) * float(made.shift))

    sigmas = [Fraction(k, 20) for k in range(4, 21)]
    assert min(sigmas, key=error) == Fraction(1, 2)


def test_a_sigma_beyond_reason_is_refused():
    with pytest.raises(ParameterError, match="sigma"):
        calibrate(Fraction(1), Fraction(1, 2), 5)
