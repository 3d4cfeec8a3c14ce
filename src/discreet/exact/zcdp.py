"""Between rho and (epsilon, delta): the tight conversion of zCDP, with every rounding on the safe side.

For every order alpha > 1, a rho-zCDP mechanism is (epsilon, delta)-DP with

    delta = exp((alpha - 1)(alpha rho - epsilon)) / (alpha - 1) * (1 - 1/alpha)^alpha

(Canonne, Kamath and Steinke, The Discrete Gaussian for Differential Privacy, NeurIPS 2020, Proposition 12). Floats only
choose alpha; for any choice, the bound is evaluated at that alpha in rationals and holds.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from discreet.errors import AccountingError
from discreet.exact.rounding import exp_up, log_down, log_up, sqrt_up

_NARROWEST, _WIDEST = -30.0, 60.0
_STEPS = 120
_GOLDEN = (math.sqrt(5) - 1) / 2


@lru_cache(maxsize=4096)
def epsilon_of(rho: Fraction, delta: Fraction) -> Fraction:
    """An epsilon, least up to rounding, such that rho-zCDP implies (epsilon, delta)-DP."""
    if rho == 0:
        return Fraction(0)
    alpha = epsilon_order(rho, delta)
    return max(Fraction(0), alpha * rho + _penalty_up(alpha, delta))


@lru_cache(maxsize=4096)
def epsilon_order(rho: Fraction, delta: Fraction) -> Fraction:
    """The order alpha at which `epsilon_of` evaluates the conversion; rho and delta are above zero."""
    log_inverse_delta = float(log_up(1 / _delta_needed_error(delta)))
    size = float(rho)
    return _best_order(lambda a: a * size + _penalty(a, log_inverse_delta))


@lru_cache(maxsize=4096)
def rho_of(epsilon: Fraction, delta: Fraction) -> Fraction:
    """A rho, greatest up to rounding, such that rho-zCDP implies (epsilon, delta)-DP; zero where delta is zero."""
    return Fraction(0) if delta == 0 else cap_at_order(epsilon, delta, conversion_order(epsilon, delta))


@lru_cache(maxsize=4096)
def conversion_order(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The order alpha at which `rho_of` evaluates the conversion; delta is above zero."""
    log_inverse_delta = float(log_up(1 / _delta_needed_error(delta)))
    size = float(epsilon)
    return _best_order(lambda a: (_penalty(a, log_inverse_delta) - size) / a)


def cap_at_order(epsilon: Fraction, delta: Fraction, alpha: Fraction) -> Fraction:
    """A rho such that a Renyi divergence of order alpha of at most alpha rho implies (epsilon, delta)-DP."""
    return max(Fraction(0), (epsilon - _penalty_up(alpha, delta)) / alpha)


def delta_of(rho: Fraction, epsilon: Fraction) -> Fraction:
    """A delta, least up to rounding, such that rho-zCDP implies (epsilon, delta)-DP."""
    if rho == 0:
        return Fraction(0)
    size, target = float(rho), float(epsilon)
    alpha = _best_order(lambda a: (a - 1) * (a * size - target) + a * math.log1p(-1 / a) - math.log(a - 1))
    exponent = (alpha - 1) * (alpha * rho - epsilon) + alpha * log_up(1 - 1 / alpha) - log_down(alpha - 1)
    return Fraction(1) if exponent >= 0 else min(Fraction(1), exp_up(exponent))


def epsilon_at_order(divergence: Fraction, alpha: Fraction, delta: Fraction) -> Fraction:
    """An epsilon such that a Renyi divergence of order alpha > 1 implies (epsilon, delta)-DP, rounded up."""
    return max(Fraction(0), divergence + _penalty_up(alpha, _delta_needed_error(delta)))


def classic_epsilon_at_order(divergence: Fraction, alpha: Fraction, delta: Fraction) -> Fraction:
    """The older form, divergence + ln(1/delta)/(alpha - 1) (Mironov, CSF 2017, Proposition 3): shown, never charged."""
    return divergence + log_up(1 / _delta_needed_error(delta)) / (alpha - 1)


def loose_epsilon_of(rho: Fraction, delta: Fraction) -> Fraction:
    """The older and looser form, rho + 2 sqrt(rho ln(1/delta)) (Bun and Steinke, TCC 2016): shown, never charged."""
    return rho + 2 * sqrt_up(rho * log_up(1 / _delta_needed_error(delta)))


def pure_rho(epsilon: Fraction) -> Fraction:
    """The rho of any epsilon-DP mechanism: epsilon^2 / 2 (Bun and Steinke, TCC 2016, Proposition 1.4), or epsilon."""
    return min(epsilon, epsilon * epsilon / 2)


def _penalty(alpha: float, log_inverse_delta: float) -> float:
    return (log_inverse_delta + alpha * math.log1p(-1 / alpha) - math.log(alpha - 1)) / (alpha - 1)


def _penalty_up(alpha: Fraction, delta: Fraction) -> Fraction:
    return (log_up(1 / delta) + alpha * log_up(1 - 1 / alpha) - log_down(alpha - 1)) / (alpha - 1)


def _best_order(objective: Callable[[float], float]) -> Fraction:
    """The order that makes the objective smallest, by golden section on log(alpha - 1)."""
    low, high = _NARROWEST, _WIDEST

    def at(position: float) -> float:
        return objective(1 + math.exp(position))

    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    value_left, value_right = at(left), at(right)
    for _ in range(_STEPS):
        if value_left <= value_right:
            high, right, value_right = right, left, value_left
            left = high - _GOLDEN * (high - low)
            value_left = at(left)
        else:
            low, left, value_left = left, right, value_right
            right = low + _GOLDEN * (high - low)
            value_right = at(right)
    return 1 + Fraction(math.exp((low + high) / 2))


def _delta_needed_error(delta: Fraction) -> Fraction:
    if delta <= 0:
        raise AccountingError(
            "a conversion from rho at delta 0",
            because="a conversion to epsilon needs a delta above zero",
            instead="delta=1e-9, or accounting.pure.epsilon(event) for Laplace noise",
        )
    return delta
