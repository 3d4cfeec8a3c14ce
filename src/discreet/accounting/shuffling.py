"""Amplification by shuffling: the guarantee of one report among others that came in random order.

Definition
    n honest clients each send one report of an epsilon_0-DP local randomizer, with fresh randomness. A shuffler
    permutes the reports uniformly at random before anyone reads them. Neighbours differ in the value of one client.
Guarantee
    With E = e^epsilon_0, draw C from Binomial(n - 1, 1/E), A from Binomial(C, 1/2) and D from Bernoulli(E/(E + 1)).
    The hockey-stick divergence of the reports in random order, at e^epsilon and in either direction, is at most that
    of (A + D, C) from (A + 1 - D, C). More honest clients never raise it. It is not tight: others are clones with
    probability 2/(E + 1) in binary randomized response. For other randomizers that is not proved, and not used.
    Proof: docs/proofs/accounting/shuffling.md.
Exactness
    The bound is rounded up. E, e^epsilon and the first term of each sum are on the safe side by directed rounding;
    further terms are doubles of a proved relative error, which is added. Numbers of clones are in blocks, and a block
    counts as its least: together with the search this raises an epsilon by less than 1%.
Not covered
    Reports that can be distinguished: by a time, an address, a version, a cohort or a batch in clear, or by memoised
    randomness. Count n within what is left. Clients who do not follow the protocol do not count. Whether a client took
    part. Several reports of a client: compose them (accounting.approximate). Tighter bounds for one randomizer.
References
    Feldman, McMillan and Talwar, Hiding Among the Clones, FOCS 2021, Theorems 3.1 and 3.2.
    Kairouz, Oh and Viswanath, The Composition Theorem for Differential Privacy, ICML 2015, Theorem 2.5 (any pair
    of epsilon-DP outputs is post-processed randomized response).
    Robbins, A Remark on Stirling's Formula, American Mathematical Monthly 1955.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np

from discreet.errors import AccountingError, public_class, short_traceback
from discreet.exact.numbers import Number, positive, probability, rational, whole
from discreet.exact.rounding import Directed, brief_up, double_up, exp_down, exp_up

_PI_DOWN = Fraction(103993, 33102)
_UP, _DOWN = Directed(40, up=True), Directed(40, up=False)
_UNIT = 2.0**-52
_NOTHING = 2.0**-900
"""More than all terms that underflow to zero."""
_BLOCKS = 160
_EXACT_SIZE = 1000
_DEVIATIONS = 14
_LARGEST_LOCAL = 30
_LARGEST_REPORTS = 10**9
_HALVINGS = 11


@short_traceback
def delta(*, local_epsilon: Number, reports: int, epsilon: Number) -> Fraction:
    """The delta of one report among shuffled ones, at an epsilon.

    Args:
        local_epsilon: Epsilon of one report alone.
        reports: Number of honest reports that are shuffled together, with this one.
        epsilon: Epsilon of the guarantee, at least 0.

    Returns:
        The delta, rounded up.

    Raises:
        AccountingError: If the local epsilon is above 30.
        ParameterError: If an argument is outside its range.

    Example:
        >>> import discreet as dp
        >>> 0 < dp.accounting.shuffling.delta(local_epsilon=1, reports=10_000, epsilon=0.055) < 1.1e-6
        True
    """
    clones, at = _clones(local_epsilon, reports), rational(epsilon, "epsilon")
    if at < 0:
        positive(epsilon, "epsilon")
    return Fraction(clones.delta(exp_down(at) if at else Fraction(1)))


@short_traceback
def epsilon(*, local_epsilon: Number, reports: int, delta: Number) -> Fraction:
    """The epsilon of one report among shuffled ones, at a delta; at most that of the report alone.

    Args:
        local_epsilon: Epsilon of one report alone.
        reports: Number of honest reports that are shuffled together, with this one.
        delta: Delta of the guarantee, above 0.

    Returns:
        The epsilon, rounded up.

    Raises:
        AccountingError: If the local epsilon is above 30.
        ParameterError: If an argument is outside its range.

    Example:
        >>> import discreet as dp
        >>> round(float(dp.accounting.shuffling.epsilon(local_epsilon=1, reports=10_000, delta=1e-6)), 3)
        0.053
    """
    clones, local, most = _clones(local_epsilon, reports), positive(local_epsilon, "local_epsilon"), _delta(delta)
    low, high = Fraction(0), local
    while low == 0 and high > local / 2**40:
        tried = brief_up(high / 2)
        low, high = (low, tried) if clones.delta(exp_down(tried)) <= most else (tried, high)
    for _ in range(_HALVINGS):
        tried = brief_up((low + high) / 2)
        low, high = (low, tried) if clones.delta(exp_down(tried)) <= most else (tried, high)
    return high


@short_traceback
def closed_form(*, local_epsilon: Number, reports: int, delta: Number) -> float:
    """The epsilon of the published closed form, for comparison: two to five times that of `epsilon`.

    Args:
        local_epsilon: Epsilon of one report alone.
        reports: Number of honest reports that are shuffled together, with this one.
        delta: Delta of the guarantee, above 0.

    Returns:
        The epsilon, or infinity where the theorem does not hold.

    Raises:
        ParameterError: If an argument is outside its range.

    Example:
        >>> import discreet as dp
        >>> round(dp.accounting.shuffling.closed_form(local_epsilon=1, reports=10_000, delta=1e-6), 2)
        0.21
    """
    local, count, small = positive(local_epsilon, "local_epsilon"), whole(reports, "reports"), float(_delta(delta))
    if count <= 16 * math.log(2 / small) or local > math.log(count / (16 * math.log(2 / small))):
        return math.inf
    growth = math.exp(local)
    spread = 8 * math.sqrt(growth * math.log(4 / small) / count) + 8 * growth / count
    return math.log1p((growth - 1) / (growth + 1) * spread)


def _delta(given: Number) -> Fraction:
    """A delta above 0."""
    return probability(positive(given, "delta"), "delta")


def _clones(local_epsilon: Number, reports: int) -> "Clones":
    """The clones of a report; fewer than there are where there are very many, which bounds them."""
    local, count = positive(local_epsilon, "local_epsilon"), whole(reports, "reports")
    if local > _LARGEST_LOCAL:
        raise AccountingError(
            f"amplification at a local epsilon above {_LARGEST_LOCAL}",
            because="such a report protects no value, and fewer than one in 10^13 others hides it",
            instead="local_epsilon=4",
        )
    return Clones(exp_up(local), min(count, _LARGEST_REPORTS) - 1)


@public_class
@dataclass(frozen=True)
class Clones:
    """The other reports, as far as they hide one: each is a clone with probability 1/growth.

    Attributes:
        growth: A rational at least e^epsilon_0.
        others: Number of other honest reports.

    Example:
        >>> from fractions import Fraction
        >>> round(Clones(Fraction(3), 0).delta(Fraction(1)), 9)
        0.5
    """

    growth: Fraction
    others: int

    def delta(self, factor: Fraction) -> float:
        """The hockey-stick divergence over all numbers of clones, rounded up.

        Args:
            factor: e^epsilon, at least 1.

        Returns:
            The divergence, at most 1.
        """
        return min(
            1.0, math.fsum(mass * self.divergence(least, factor) for least, mass in self.blocks) * (1 + 8 * _UNIT)
        )

    def divergence(self, clones: int, factor: Fraction) -> float:
        """The divergence where so many are clones, rounded up.

        The difference of probabilities at `first + j` is proportional to C(clones + 1, first + j) (start + j).

        Args:
            clones: Number of clones.
            factor: e^epsilon, at least 1.

        Returns:
            The divergence.

        Raises:
            RuntimeError: If the sum was cut off too early; it never is below 10^9 reports.
        """
        growth, size = self.growth, clones + 1
        if factor >= growth:
            return 0.0
        slope = (growth - 1) * (1 + factor)
        level = size * (factor * growth - 1) / slope
        first = math.floor(level) + 1
        scale = double_up(2 * slope / ((growth + 1) * size)) * _binomial_up(size, first, Fraction(1, 2))
        alone = double_up((growth - factor) / (growth + 1))
        return min(alone, scale * _sum_up(size, first, double_up(first - level)) * (1 + 8 * _UNIT) + _NOTHING)

    @cached_property
    def blocks(self) -> tuple[tuple[int, float], ...]:
        """The least number of clones of each block, with its probability, rounded up."""
        return tuple(_blocks(self.others, Fraction(math.floor(2**200 / self.growth), 2**200)))


def _sum_up(size: int, first: int, start: float) -> float:
    """The sum over j >= 0 of C(size, first + j)/C(size, first) (start + j), rounded up; start is above 0."""
    decay = (size - first) / (first + 1)
    reach = 12 * math.sqrt(size) / 2 + 60
    count = math.ceil(min(size - first, reach, 60 / (1 - decay) + 60 if decay < 1 else reach))
    places = np.arange(first, first + count, dtype=np.float64)
    terms = np.concatenate(([1.0], np.cumprod((size - places) / (places + 1)))) * (start + np.arange(count + 1))
    last, at = float(terms[-1]), first + count
    ratio = (size - at) / (at + 1) * (start + count + 1) / (start + count)
    rest = 0.0 if at == size else last * ratio / (1 - ratio)
    if at < size and ratio >= 1 - 2.0**-20:
        raise RuntimeError("a sum that was cut off before its terms decrease")
    return (float(terms.sum()) + rest * (1 + 2.0**-20)) * (1 + (16 * count + 64) * _UNIT) + count * _NOTHING


def _blocks(others: int, chance: Fraction) -> Iterator[tuple[int, float]]:
    """Blocks of Binomial(others, chance): below the first, what is left counts as no clone at all."""
    mode = min(others, math.floor((others + 1) * chance))
    reach = math.ceil(_DEVIATIONS * math.sqrt(mode + 1)) + 200
    low, high = max(0, mode - reach), min(others, mode + reach)
    odds = double_up(chance / (1 - chance)), double_up((1 - chance) / chance)
    up = np.arange(mode, high, dtype=np.float64)
    down = np.arange(mode, low, -1, dtype=np.float64)
    rising = np.cumprod((others - up) / (up + 1) * odds[0])
    falling = np.cumprod(down / (others - down + 1) * odds[1])
    slack = (1 + (24 * (high - low) + 64) * _UNIT) * _binomial_up(others, mode, chance)
    weights = np.concatenate((falling[::-1], [1.0], rising)) * slack + _NOTHING
    if low > 0:
        yield 0, _rest(float(weights[0]), low / (others - low + 1) * odds[1])
    edges = np.unique(np.linspace(low, high + 1, min(_BLOCKS, high + 1 - low) + 1).astype(np.int64))[:-1]
    masses = np.add.reduceat(weights, edges - low)
    beyond = _rest(float(weights[-1]), (others - high) / (high + 1) * odds[0]) if high < others else 0.0
    masses[-1] += beyond
    yield from zip(map(int, edges), map(float, masses * (1 + 8 * _UNIT)), strict=True)


def _rest(weight: float, ratio: float) -> float:
    """All further weights, where each is at most `ratio` times the one before."""
    if ratio >= 1 - 2.0**-20:
        raise RuntimeError("a tail whose weights do not decrease")
    return weight * ratio / (1 - ratio) * (1 + 2.0**-20)


def _binomial_up(size: int, index: int, chance: Fraction) -> float:
    """The probability of `index` under Binomial(size, chance), rounded up, of large sizes by Stirling's formula."""
    other = size - index
    times, add = _UP.context.multiply, _UP.context.add
    power = add(times(Decimal(index), _log(_UP, chance)), times(Decimal(other), _log(_UP, 1 - chance)))
    if size <= _EXACT_SIZE:
        power = add(power, _log(_UP, math.comb(size, index)))
    elif index and other:
        less = [_DOWN.context.multiply(Decimal(each), _log(_DOWN, each)) for each in (index, other)]
        power = add(power, times(Decimal(size), _log(_UP, size)))
        power = _UP.context.subtract(power, _DOWN.context.add(*less))
        root = _UP.context.divide(_log(_UP, Fraction(size) / (2 * _PI_DOWN * index * other)), Decimal(2))
        correction = Fraction(1, 12 * size) - Fraction(1, 12 * index + 1) - Fraction(1, 12 * other + 1)
        power = add(add(power, root), _UP.of(correction))
    return math.nextafter(float(_UP.exp(power)), math.inf)


@lru_cache(4096)
def _log(side: Directed, value: Fraction | int) -> Decimal:
    """The natural logarithm of a positive rational, on one side."""
    return side.step_outward(side.context.ln(side.of(Fraction(value))))
