"""How far apart discrete Gaussian noise and the same noise shifted are: delta as a function of epsilon.

Definition
    For integer noise with P[Y = y] = g(y)/Z, g(y) = exp(-y^2/(2 sigma^2)), Z the sum of g over the integers, and a
    whole shift s >= 1: delta(epsilon) = sum over y of max(0, P[Y = y] - e^epsilon P[Y + s = y]), which is
    (G(a) - e^epsilon G(a + s))/Z with G(k) the sum of g over y >= k and a the least integer above
    epsilon sigma^2/s - s/2.

Guarantee
    A whole-number answer that neighbours move by at most s steps, released with this noise, is (epsilon, delta)-DP with
    delta = delta(epsilon); no smaller delta holds for all such answers. Smaller shifts need not be checked, because
    delta(epsilon) never falls when the shift grows. Proof: docs/proofs/mechanisms/hockey_stick.md.

Exactness
    `delta_up` returns a rational at or above delta(epsilon). Up to sigma = 256 the sums are added term by term in
    decimals rounded outward, with a geometric bound on what is left: above the true value by less than one part in
    10^15 where delta is above 10^-30. Beyond, G(k) comes from the integral with its first correction and a proven
    remainder: by less than one part in a thousand. Never from a formula for continuous noise: at (8, 1e-6) that is
    wrong by a factor of 3.

Not covered
    Vectors of which one unit moves several coordinates: go through rho. Composition: go through events.

References
    Canonne, Kamath and Steinke, The Discrete Gaussian for Differential Privacy, NeurIPS 2020, Theorem 7.
    Balle and Wang, Improving the Gaussian Mechanism for Differential Privacy, ICML 2018 (continuous noise).
"""

import decimal
import math
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from discreet.exact.rounding import DIGITS, Directed

_REACH = 1000
_UP, _DOWN = Directed(DIGITS, up=True, reach=_REACH), Directed(DIGITS, up=False, reach=_REACH)

_SQRT_TWO_PI_DOWN = Fraction("2.506628274631000502415765284811045253006986740609938316629923")
_SQRT_TWO_PI_UP = _SQRT_TWO_PI_DOWN + Fraction(1, 10**60)

LARGEST_SUMMED_SIGMA = 256
_LARGEST_EPSILON = Fraction(2000)
_SERIES_REACH = 16
_SERIES_TERMS = 600
_REMAINDER = Fraction(1, 124)
_CLOSENESS = 1.0001


def delta_up(sigma: float, shift: int, epsilon: Fraction) -> Fraction:
    """A rational at least delta(epsilon), for noise of exactly this sigma and answers that move by up to `shift`."""
    exact, order = Fraction(sigma), min(epsilon, _LARGEST_EPSILON)
    first = math.floor(order * exact**2 / shift - Fraction(shift, 2)) + 1
    numerator = _mass(first, exact, _UP) - _exp(order, _DOWN) * _mass(first + shift, exact, _DOWN)
    return min(Fraction(1), max(Fraction(0), numerator / _total_down(exact)))


def tail_up(sigma: float, beyond: int) -> Fraction:
    """A rational at least P[Y > beyond], for noise of exactly this sigma."""
    exact = Fraction(sigma)
    return min(Fraction(1), _mass(beyond + 1, exact, _UP) / _total_down(exact))


@lru_cache(maxsize=1024)
def least_sigma(shift: int, epsilon: Fraction, delta: Fraction, proven: float) -> float:
    """A sigma whose delta(epsilon) is within delta, while some sigma less than 1/10,000 below it is not.

    `proven` is a sigma known to suffice. delta(epsilon) is not monotone in sigma, so the search keeps a sigma that was
    checked and never concludes from one sigma to another.
    """
    good, bad = proven, proven / 2
    while delta_up(bad, shift, epsilon) <= delta:
        good, bad = bad, bad / 2
    while good > bad * _CLOSENESS:
        middle = (good + bad) / 2
        if delta_up(middle, shift, epsilon) <= delta:
            good = middle
        else:
            bad = middle
    return good


def _mass(first: int, sigma: Fraction, way: Directed) -> Fraction:
    """G(first), on the side that `way` names."""
    if sigma > LARGEST_SUMMED_SIGMA:
        return _mass_by_integral(first, sigma, way)
    if first >= 1:
        return _mass_by_sum(first, sigma, way)
    return 1 + 2 * _mass_by_sum(1, sigma, way) - _mass_by_sum(1 - first, sigma, _opposite(way))


def _total_down(sigma: Fraction) -> Fraction:
    """At most Z: by Poisson summation Z is at least sigma sqrt(2 pi), and it is at least any partial sum."""
    if sigma > LARGEST_SUMMED_SIGMA:
        return sigma * _SQRT_TWO_PI_DOWN
    return 1 + 2 * _mass_by_sum(1, sigma, _DOWN)


def _mass_by_sum(first: int, sigma: Fraction, way: Directed) -> Fraction:
    """G(first) for first >= 1, each term from the one before: g(y+1) = g(y) r(y), r(y+1) = r(y) e^(-1/sigma^2)."""
    term = way.exp(way.of(-Fraction(first**2) / (2 * sigma**2)))
    ratio = way.exp(way.of(-Fraction(2 * first + 1) / (2 * sigma**2)))
    shrink = way.exp(way.of(-1 / sigma**2))
    total = Decimal(0)
    with decimal.localcontext(way.context):
        for _ in range(12 * math.ceil(sigma) + 12):
            total += term
            term *= ratio
            ratio *= shrink
    rest = Fraction(term) / (1 - Fraction(ratio)) if way.up else 0
    return Fraction(total) + rest


def _mass_by_integral(first: int, sigma: Fraction, way: Directed) -> Fraction:
    """G(first) = integral of g from x = first - 1/2, plus g'(x)/24, up to 1/124 of the variation of g'' beyond x."""
    place = (first - Fraction(1, 2)) / sigma
    slope = -place * _exp(-(place**2) / 2, _opposite(way) if place > 0 else way) / sigma
    remainder = _REMAINDER * _variation_up(place) / sigma**2
    middle = sigma * _normal_tail(place, way) + slope / 24
    return middle + remainder if way.up else max(Fraction(0), middle - remainder)


def _variation_up(place: Fraction) -> Fraction:
    """At least sigma^2 times the integral of |g'''| beyond place * sigma."""
    if place**2 <= 3:
        return Fraction(4)
    return (place**2 - 1) * _exp(-(place**2) / 2, _UP)


def _normal_tail(place: Fraction, way: Directed) -> Fraction:
    """The integral of exp(-u^2/2) from `place` to infinity, on the side that `way` names."""
    if place < 0:
        whole = _SQRT_TWO_PI_UP if way.up else _SQRT_TWO_PI_DOWN
        return whole - _normal_tail(-place, _opposite(way))
    density = _exp(-(place**2) / 2, way)
    bounds = [density / max(place, Fraction(1, 2)) if way.up else density * place / (1 + place**2)]
    if place <= _SERIES_REACH:
        half = (_SQRT_TWO_PI_UP if way.up else _SQRT_TWO_PI_DOWN) / 2
        bounds.append(half - _exp(-(place**2) / 2, _opposite(way)) * _normal_series(place, _opposite(way)))
    return min(bounds) if way.up else max(bounds)


def _normal_series(place: Fraction, way: Directed) -> Fraction:
    """Sum of place^(2n+1)/(1 3 5 ... (2n+1)): e^(place^2/2) times the integral of exp(-u^2/2) from 0 to place."""
    square, term = way.of(place**2), way.of(place)
    total = Decimal(0)
    with decimal.localcontext(way.context):
        for n in range(_SERIES_TERMS):
            total += term
            term = term * square / (2 * n + 3)
    return Fraction(total) + (2 * Fraction(term) if way.up else 0)


def _exp(value: Fraction, way: Directed) -> Fraction:
    return Fraction(way.exp(way.of(value)))


def _opposite(way: Directed) -> Directed:
    return _DOWN if way.up else _UP
