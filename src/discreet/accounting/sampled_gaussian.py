"""Poisson-sampled Gaussian noise: its Renyi divergence at an order.

Definition
    Every unit is in the sample with probability q. The answer is the sum of the integer vectors of the sampled units,
    with discrete Gaussian noise of variance sigma^2; rho is s^2/(2 sigma^2) for the L2 sensitivity s. With
        A(m) = sum over k = 0..m of C(m, k) (1 - q)^(m-k) q^k e^(k (k-1) rho)
    the divergence of a whole order m is ln A(m)/(m - 1). Between two whole orders, (alpha - 1) times the divergence is
    at most the chord of ln A, and at most the logarithm of a Taylor polynomial in the moments of the likelihood ratio.
Guarantee
    At least the divergence of the order in both directions, for neighbours by one unit more or less, for discrete
    Gaussian noise on integers and for continuous noise. At most alpha rho, the divergence without sampling. Proof:
    docs/proofs/accounting/sampled_gaussian.md.
Exactness
    A whole order is tight for one step, but for the 60th digit. Between whole orders the smaller of the two bounds adds
    less than 1% to the divergence where that grows like alpha, and more at the order from which sampling no longer
    helps. The polynomial serves orders up to 16. Orders above 4,000 count as without sampling.
Not covered
    Neighbours that replace a unit; samples of a fixed size; a sample that is published.
References
    Mironov, Talwar and Zhang, Renyi Differential Privacy of the Sampled Gaussian Mechanism, 2019, Sections 3.1 to 3.3.
    Canonne, Kamath and Steinke, The Discrete Gaussian for Differential Privacy, NeurIPS 2020, Proposition 5.
    Van Erven and Harremoes, Renyi Divergence and Kullback-Leibler Divergence, IEEE Transactions on Information Theory
    2014, Theorems 12 and 13 (convexity in the pair).
"""

import math
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from discreet import events
from discreet.exact.rounding import Directed, digits_up, log_up, units_down, units_up

LARGEST_ORDER = 4_000
_BISECTIONS = 60
_VARIANCE_DIGITS = 9
_DIGITS = 60
_LARGEST_EXPONENT = 10**9
_UP = Directed(_DIGITS, up=True, reach=999_999_999)
_LARGEST_POLYNOMIAL = 16
_LARGEST_FINE_EXPONENT = 250
_FINE_UNITS = 10**120
_FINE_UP, _FINE_DOWN = Directed(240, up=True), Directed(240, up=False)


def divergence(event: events.SampledGaussianEvent, alpha: Fraction) -> Fraction:
    """Bound on the Renyi divergence of a sampled sum, rounded up.

    Args:
        event: The event.
        alpha: The order, above 1.

    Returns:
        The divergence; at most that without sampling.
    """
    rho = event.squared_sensitivity / (2 * event.variance)
    without_sampling = alpha * rho
    below = math.floor(alpha)
    if event.rate == 1 or not rho or below >= LARGEST_ORDER or (below + 1) ** 2 * rho > _LARGEST_EXPONENT:
        return without_sampling
    share = alpha - below
    least = (1 - share) * _log_moment(event.rate, rho, below)
    if share:
        least += share * _log_moment(event.rate, rho, below + 1)
    if share and below < _LARGEST_POLYNOMIAL and (below + 1) ** 2 * rho <= _LARGEST_FINE_EXPONENT:
        least = min(least, log_up(_polynomial(event.rate, rho, alpha)))
    return min(without_sampling, least / (alpha - 1))


def least_variance(
    *, rate: Fraction, squared_sensitivity: Fraction, steps: int, rho: Fraction, order: Fraction
) -> Fraction:
    """About the least variance at which so many sampled steps cost at most rho at the order of a budget.

    Args:
        rate: Probability that a unit is in the sample of a step.
        squared_sensitivity: Square of the L2 sensitivity of a step.
        steps: Number of steps.
        rho: Bound on the sum of the divergences of all steps, divided by the order.
        order: The order, above 1.

    Returns:
        A variance of nine digits that was checked; at most 1 + 10^-6 times the least one.
    """

    def fits(variance: Fraction) -> bool:
        event = events.SampledGaussianEvent(rate, variance, squared_sensitivity)
        return steps * divergence(event, order) <= rho * order

    high = digits_up(steps * squared_sensitivity / (2 * rho), _VARIANCE_DIGITS)
    low = high
    while fits(low):
        low, high = low / 4, low
    for _ in range(_BISECTIONS):
        if high <= low * (1 + Fraction(1, 10**6)):
            break
        middle = digits_up((low + high) / 2, _VARIANCE_DIGITS)
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high


@lru_cache(maxsize=4096)
def _log_moment(rate: Fraction, rho: Fraction, order: int) -> Fraction:
    """Logarithm of A(order), rounded up: all parts of the sum are positive, and each is rounded up."""
    if order == 1:
        return Fraction(0)
    context = _UP.context
    ratio, step = _UP.of(rate / (1 - rate)), _UP.exp(_UP.of(2 * rho))
    weight = _power_up(_UP.of(1 - rate), order)
    moment, growth, total = Decimal(1), Decimal(1), weight
    for k in range(1, order + 1):
        factor = context.divide(Decimal(order - k + 1), Decimal(k))
        weight = context.multiply(context.multiply(weight, factor), ratio)
        total = context.add(total, context.multiply(weight, moment))
        growth = context.multiply(growth, step)
        moment = context.multiply(moment, growth)
    return Fraction(_UP.step_outward(context.ln(total)))


def _polynomial(rate: Fraction, rho: Fraction, alpha: Fraction) -> Fraction:
    """Taylor polynomial of E[(1 + q (L - 1))^alpha], whose last coefficient makes it a bound, rounded up."""
    below = math.floor(alpha)
    weights = [Fraction(1)]
    for j in range(below + 1):
        weights.append(weights[-1] * (alpha - j) / (j + 1) * rate)
    if below % 2:
        weights[-1] = _unsampled_power(rate, alpha) - sum((-1) ** j * weight for j, weight in enumerate(weights[:-1]))
    moments = _central_moments(rho, below + 1)
    return sum((weight * moment for weight, moment in zip(weights, moments, strict=True)), Fraction(0)) / _FINE_UNITS


@lru_cache(maxsize=1024)
def _unsampled_power(rate: Fraction, alpha: Fraction) -> Fraction:
    """(1 - q)^alpha, rounded up."""
    logarithm = Fraction(_FINE_UP.step_outward(_FINE_UP.context.ln(_FINE_UP.of(1 - rate))))
    return Fraction(units_up(Fraction(_FINE_UP.exp(_FINE_UP.of(alpha * logarithm))), _FINE_UNITS), _FINE_UNITS)


@lru_cache(maxsize=1024)
def _central_moments(rho: Fraction, largest: int) -> list[int]:
    """E[(L - 1)^j] for j = 0, 1, ..., largest, in fine units, rounded up."""
    high = [units_up(Fraction(each), _FINE_UNITS) for each in _moments(_FINE_UP, rho, largest)]
    low = [units_down(Fraction(each), _FINE_UNITS) for each in _moments(_FINE_DOWN, rho, largest)]
    moments = [_FINE_UNITS, 0]
    for j in range(2, largest + 1):
        signed = (math.comb(j, i) * (-low[i] if (j - i) % 2 else high[i]) for i in range(j + 1))
        moments.append(sum(signed))
    return moments[: largest + 1]


def _moments(side: Directed, rho: Fraction, largest: int) -> list[Decimal]:
    """e^(i (i - 1) rho) for i = 0, 1, ..., largest, on one side."""
    step, growth, moments = side.exp(side.of(2 * rho)), Decimal(1), [Decimal(1), Decimal(1)]
    for _ in range(2, largest + 1):
        growth = side.context.multiply(growth, step)
        moments.append(side.context.multiply(moments[-1], growth))
    return moments


def _power_up(base: Decimal, exponent: int) -> Decimal:
    """base^exponent by squaring, rounded up."""
    result, square, left = Decimal(1), base, exponent
    while left:
        if left & 1:
            result = _UP.context.multiply(result, square)
        square = _UP.context.multiply(square, square)
        left >>= 1
    return result
