"""Differences of digamma and log-gamma functions that stay exact for large arguments."""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

_ASYMPTOTIC = 16
# Bernoulli numbers over 2k and over 2k(2k-1): coefficients of the asymptotic series in 1/x^2.
_DIGAMMA = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)
_LOG_GAMMA = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)


def digamma_difference(start: ArrayLike, steps: ArrayLike) -> Floats:
    """psi(x + m) - psi(x), which is the sum of 1 / (x + i) over i = 0, ..., m-1, for x > 0 and m >= 0.

    Differences are taken before rounding: log(x + m) - log(x) is log1p(m / x), so that m much smaller than x loses
    no digits.
    """
    x, m = np.broadcast_arrays(np.asarray(start, dtype=np.float64), np.asarray(steps, dtype=np.float64))
    total = np.zeros(x.shape)
    for i in range(_ASYMPTOTIC):
        # psi(x) = psi(x + 16) - sum of 1 / (x + i)
        total += m / ((x + i) * (x + i + m))
    low, high = x + _ASYMPTOTIC, x + _ASYMPTOTIC + m
    tail = np.log1p(m / low) + m / (2 * low * high)
    return np.asarray(total + tail - (_power_series(high, _DIGAMMA, 2) - _power_series(low, _DIGAMMA, 2)))


def digamma_step(x: float, m: float) -> float:
    """`digamma_difference` of two numbers; solvers call it too often for arrays of one."""
    total = sum(m / ((x + i) * (x + i + m)) for i in range(_ASYMPTOTIC))
    low, high = x + _ASYMPTOTIC, x + _ASYMPTOTIC + m
    low_tail, high_tail = _scalar_series(low, _DIGAMMA), _scalar_series(high, _DIGAMMA)
    return total + math.log1p(m / low) + m / (2 * low * high) - (high_tail - low_tail)


def log_gamma_difference(start: ArrayLike, steps: ArrayLike) -> Floats:
    """Difference log Gamma(x + m) - log Gamma(x) for x > 0 and m >= 0; m need not be whole."""
    x, m = np.broadcast_arrays(np.asarray(start, dtype=np.float64), np.asarray(steps, dtype=np.float64))
    total = np.zeros(x.shape)
    for i in range(_ASYMPTOTIC):
        total -= np.log1p(m / (x + i))
    low, high = x + _ASYMPTOTIC, x + _ASYMPTOTIC + m
    total += m * np.log(high) + (low - 0.5) * np.log1p(m / low) - m
    return total + (_power_series(high, _LOG_GAMMA, 1) - _power_series(low, _LOG_GAMMA, 1))


def _power_series(x: Floats, coefficients: tuple[float, ...], first: int) -> Floats:
    square = 1 / (x * x)
    total = np.zeros(x.shape)
    for coefficient in reversed(coefficients):
        total = total * square + coefficient
    return total / x**first


def _scalar_series(x: float, coefficients: tuple[float, ...]) -> float:
    square, total = 1 / (x * x), 0.0
    for coefficient in reversed(coefficients):
        total = total * square + coefficient
    return total * square
