"""Checks of a collection for false reports: unused codewords, impossible counts, weights and goodness of fit."""

import math
from dataclasses import dataclass

import numpy as np

from discreet.errors import ParameterError, public_class, short_traceback
from discreet.exact.numbers import Number, probability, whole
from discreet.local.oracles import LocalRandomizer
from discreet.local.oracles.hadamard import HadamardResponse, walsh_hadamard
from discreet.local.oracles.oracle import TwoLevelOracle, merge_cohorts
from discreet.local.oracles.projective_geometry import ProjectiveGeometryResponse
from discreet.local.oracles.randomizer import Counts, Floats
from discreet.local.oracles.subset import SubsetSelection
from discreet.local.oracles.unary import UnaryEncoding
from discreet.local.simulation import whole_counts
from discreet.local.task import Task

FALSE_ALARM = 1e-6
_LARGEST_MATRIX = 2**22
_FEWEST_PER_CELL = 10
_ROUNDS = 200


@public_class
@dataclass(frozen=True)
class CollectionCheck:
    """One test of a collection.

    Attributes:
        name: What is tested.
        statistic: What was found.
        threshold: What honest collections exceed with at most the false-alarm rate.
        false_alarm: That rate.
        cells: Number of counts that it looks at.

    Example:
        >>> import discreet as dp
        >>> dp.local.poisoning.CollectionCheck("honeypots", 3.0, 20.1, 1e-6, 69).is_suspicious
        False
    """

    name: str
    statistic: float
    threshold: float
    false_alarm: float
    cells: int

    @property
    def is_suspicious(self) -> bool:
        """Whether an honest collection exceeds the threshold so rarely that false reports are likelier."""
        return self.statistic > self.threshold

    def __str__(self) -> str:
        verdict = "suspicious" if self.is_suspicious else "as expected"
        return f"{self.name}: {verdict} ({self.statistic:.3g}, threshold {self.threshold:.3g}, {self.cells:,} counts)"


@short_traceback
def check(
    oracle: LocalRandomizer | Task, counts: Counts, reports: int, *, false_alarm: Number = FALSE_ALARM
) -> tuple[CollectionCheck, ...]:
    """Tests of a collection for reports that honest clients of any values hardly ever send.

    Args:
        oracle: The oracle, or the task of the collection.
        counts: Reports by symbol or by bit; a row for each cohort, or one row.
        reports: Number of reports.
        false_alarm: Probability that any of the tests calls an honest collection suspicious. Default 10^-6.

    Returns:
        One result for each test that the oracle allows; none for means.

    Raises:
        ParameterError: If the counts cannot be those of so many reports of this oracle, or the probability is outside
            its range.

    Example:
        >>> import discreet as dp, numpy as np
        >>> oracle = dp.local.oracles.ProjectiveGeometryResponse.calibrate(100, epsilon=1)
        >>> counts = dp.local.simulate(oracle, np.full(100, 50), np.random.default_rng())
        >>> any(each.is_suspicious for each in dp.local.poisoning.check(oracle, counts, 5_000))
        False
    """
    oracle = oracle.decoder if isinstance(oracle, Task) else oracle
    rate, number = float(probability(false_alarm, "false_alarm", example="1e-6")), whole(reports, "reports")
    column = _counts_of(oracle, counts, number)
    tests = [each for each in _TESTS if each.applies(oracle, column)]
    return tuple(each.run(oracle, column, number, rate / len(tests)) for each in tests)


@short_traceback
def check_weights(oracle: UnaryEncoding, weights: Counts, *, false_alarm: Number = FALSE_ALARM) -> CollectionCheck:
    """Chi-square test of how many bits of a unary report are 1, whose law is the same for every value.

    Args:
        oracle: The oracle.
        weights: Number of reports with 0, 1, ... up to all bits.
        false_alarm: Probability that an honest collection is called suspicious. Default 10^-6.

    Returns:
        The result.

    Raises:
        ParameterError: If there is not a whole number for each weight, from 0 to all ones.

    Example:
        >>> import discreet as dp, numpy as np
        >>> oracle = dp.local.oracles.UnaryEncoding.optimal(4, epsilon=1)
        >>> dp.local.poisoning.check_weights(oracle, np.array([0, 0, 0, 0, 900])).is_suspicious
        True
    """
    found = whole_counts(weights, "weights", width=oracle.size + 1).astype(np.float64)
    rate = float(probability(false_alarm, "false_alarm", example="1e-6"))
    expected = found.sum() * weight_law(oracle)
    return _chi_square("weights of reports", *_merge_small(found, expected), rate)


def weight_law(oracle: UnaryEncoding) -> Floats:
    """Probabilities that a report of unary encoding has 0, 1, ... ones."""
    others, q, p = oracle.size - 1, float(oracle.zero), float(oracle.one)
    places = np.arange(others + 1)
    logs = math.lgamma(others + 1) - np.array([math.lgamma(k + 1) + math.lgamma(others - k + 1) for k in places])
    rest = (
        np.exp(logs + places * math.log(q) + (others - places) * math.log1p(-q)) if 0 < q < 1 else places == q * others
    )
    law: Floats = (1 - p) * np.append(rest, 0.0) + p * np.append(0.0, rest)
    return law


@short_traceback
def honeypots(oracle: ProjectiveGeometryResponse | HadamardResponse, counts: Counts) -> Floats:
    """Reports that support each codeword that stands for no slot; none of them has clients.

    Args:
        oracle: The oracle.
        counts: Reports by symbol; a row for each cohort, or one row.

    Returns:
        A number for each unused codeword. Each is binomial with the oracle's false rate, for any honest values.

    Raises:
        ParameterError: If there is not a whole number for each symbol.

    Example:
        >>> import discreet as dp, numpy as np
        >>> oracle = dp.local.oracles.HadamardResponse.calibrate(5, epsilon=1)
        >>> len(dp.local.poisoning.honeypots(oracle, np.ones(16, dtype=np.int64)))
        3
    """
    counts = whole_counts(counts, "counts", width=oracle.symbols, has_rows=True)
    if isinstance(oracle, ProjectiveGeometryResponse):
        return oracle.hyperplanes(counts)[oracle.size :]
    pairs = merge_cohorts(counts).reshape(oracle.order, 2).astype(np.float64)
    columns = walsh_hadamard(pairs[:, 0] - pairs[:, 1])
    unused: Floats = (pairs.sum() + np.append(columns[0], columns[oracle.size + 1 :])) / 2
    return unused


def _counts_of(oracle: LocalRandomizer, values: object, reports: int) -> Counts:
    """Counts that so many reports of an oracle can have: a report has one symbol, a set of one size, or any bits."""
    counts = whole_counts(values, "counts", width=oracle.symbols or oracle.size, has_rows=True)
    per_report = oracle.subset if isinstance(oracle, SubsetSelection) else 1
    is_summed = isinstance(oracle, UnaryEncoding) or counts.sum() == reports * per_report
    largest = merge_cohorts(counts).max()
    if not is_summed or largest > reports:
        raise ParameterError(
            f"counts of {reports:,} reports that add up to {counts.sum():,}, the largest {largest:,}",
            because="each report adds at most one to a count, and the counts of symbols or sets have a fixed sum",
            instead="check(task, accumulator.counts, accumulator.reports)",
        )
    return counts


class _Honeypots:
    """Unused codewords have exactly binomial support."""

    def applies(self, oracle: LocalRandomizer, _: Counts) -> bool:
        return isinstance(oracle, HadamardResponse) or (
            isinstance(oracle, ProjectiveGeometryResponse) and oracle.symbols > oracle.size
        )

    def run(self, oracle: LocalRandomizer, counts: Counts, reports: int, rate: float) -> CollectionCheck:
        unused = honeypots(oracle, counts)  # type: ignore[arg-type]
        chance = float(oracle.false_rate)  # type: ignore[attr-defined]
        return _binomial_check("honeypots", unused, reports, chance, chance, rate)


class _Symbols:
    """No symbol is rarer or more frequent than the oracle sends it for any value."""

    def applies(self, oracle: LocalRandomizer, _: Counts) -> bool:
        return isinstance(oracle, TwoLevelOracle)

    def run(self, oracle: LocalRandomizer, counts: Counts, reports: int, rate: float) -> CollectionCheck:
        weight = float(oracle.total_weight)  # type: ignore[attr-defined]
        column = merge_cohorts(counts).astype(np.float64)
        return _binomial_check("symbols", column, reports, 1 / weight, float(oracle.ratio) / weight, rate)


class _Rows:
    """Rows of Hadamard response are uniform for every value."""

    def applies(self, oracle: LocalRandomizer, _: Counts) -> bool:
        return isinstance(oracle, HadamardResponse)

    def run(self, _: LocalRandomizer, counts: Counts, reports: int, rate: float) -> CollectionCheck:
        rows = merge_cohorts(counts).reshape(-1, 2).sum(axis=1).astype(np.float64)
        return _binomial_check("rows", rows, reports, 1 / len(rows), 1 / len(rows), rate)


class _Bits:
    """Each bit of a unary report is 1 with a probability from q to p, and each slot of a set likewise."""

    def applies(self, oracle: LocalRandomizer, _: Counts) -> bool:
        return isinstance(oracle, UnaryEncoding | SubsetSelection)

    def run(self, oracle: LocalRandomizer, counts: Counts, reports: int, rate: float) -> CollectionCheck:
        low, high = sorted((float(oracle.false_rate), float(oracle.true_rate)))  # type: ignore[attr-defined]
        return _binomial_check("bits", merge_cohorts(counts).astype(np.float64), reports, low, high, rate)


class _Weight:
    """The ones of all unary reports are a sum of independent coins of two kinds, by Bernstein's inequality."""

    def applies(self, oracle: LocalRandomizer, _: Counts) -> bool:
        return isinstance(oracle, UnaryEncoding)

    def run(self, oracle: LocalRandomizer, counts: Counts, reports: int, rate: float) -> CollectionCheck:
        p, q = float(oracle.true_rate), float(oracle.false_rate)  # type: ignore[attr-defined]
        others, effort = oracle.size - 1, math.log(2 / rate)
        distance = abs(float(merge_cohorts(counts).sum()) - reports * (p + others * q))
        variance = reports * (p * (1 - p) + others * q * (1 - q))
        return CollectionCheck("weight", distance, math.sqrt(2 * variance * effort) + effort, rate, 1)


class _Fit:
    """Counts of symbols against the likeliest mixture of the oracle's laws, by a chi-square statistic.

    The likelihood-ratio statistic of the likeliest mixture is at most that of the true one, which has as many degrees
    of freedom as there are symbols, less one. The threshold is the bound of Laurent and Massart for that.
    """

    def applies(self, oracle: LocalRandomizer, counts: Counts) -> bool:
        if not isinstance(oracle, ProjectiveGeometryResponse | HadamardResponse):
            return False
        symbols = oracle.symbols
        return symbols * oracle.size <= _LARGEST_MATRIX and counts.sum() >= _FEWEST_PER_CELL * symbols

    def run(self, oracle: LocalRandomizer, counts: Counts, reports: int, rate: float) -> CollectionCheck:
        laws = np.array([oracle.weights(slot) for slot in range(oracle.size)])  # type: ignore[attr-defined]
        column, start = merge_cohorts(counts).astype(np.float64), oracle.estimate(counts, reports)  # type: ignore[attr-defined]
        threshold = chi_square_threshold(len(column) - 1, rate)
        return CollectionCheck(
            "goodness of fit", _least_misfit(laws, column, start, threshold), threshold, rate, len(column)
        )


_TESTS = (_Honeypots(), _Symbols(), _Rows(), _Bits(), _Weight(), _Fit())


def _least_misfit(laws: Floats, found: Floats, start: Floats, threshold: float) -> float:
    """The likelihood-ratio statistic of a mixture, until it is below the threshold or provably above it for all.

    Rounds of expectation and maximisation from clipped estimates. Where g is the largest mean ratio of a law to the
    mixture, no mixture has a statistic below that of this one by more than 2 n (g - 1), because it is convex.
    """
    reports = found.sum()
    shares = np.maximum(start, reports / len(laws) / 10)
    shares, present, least = shares / shares.sum(), found > 0, 0.0
    for _ in range(_ROUNDS):
        mixture = shares @ laws
        gains = laws @ (found / (reports * mixture))
        statistic = 2 * float(found[present] @ np.log(found[present] / (reports * mixture[present])))
        least = max(least, statistic - 2 * reports * (float(gains.max()) - 1))
        if statistic <= threshold:
            return statistic
        if least > threshold:
            break
        shares = shares * gains
    return least


def chi_square_threshold(freedom: int, rate: float) -> float:
    """A number that a chi-square variable exceeds with at most this probability, by Laurent and Massart.

    Args:
        freedom: Degrees of freedom.
        rate: The probability.

    Returns:
        k + 2 sqrt(k x) + 2 x with x = ln(1/rate).
    """
    effort = math.log(1 / rate)
    return freedom + 2 * math.sqrt(freedom * effort) + 2 * effort


def _binomial_check(name: str, counts: Floats, reports: int, low: float, high: float, rate: float) -> CollectionCheck:
    """The largest Chernoff exponent of counts below their least or above their largest chance.

    A count of n independent coins of chances from `low` to `high` is below n x, x < low, with probability at most
    exp(-n d(x, low)), and above n x, x > high, with at most exp(-n d(x, high)), for d the relative entropy.
    """
    shares = np.clip(counts / reports, 0.0, 1.0)
    exponents = np.where(shares < low, _entropy(shares, low), np.where(shares > high, _entropy(shares, high), 0.0))
    return CollectionCheck(name, float(reports * exponents.max()), math.log(2 * len(counts) / rate), rate, len(counts))


def _entropy(shares: Floats, chance: float) -> Floats:
    """The relative entropy of coins, from 0 on."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ones = np.where(shares > 0, shares * np.log(shares / chance), 0.0)
        zeros = np.where(shares < 1, (1 - shares) * np.log((1 - shares) / (1 - chance)), 0.0)
    entropy: Floats = np.maximum(ones + zeros, 0.0)
    return entropy


def _merge_small(found: Floats, expected: Floats) -> tuple[Floats, Floats]:
    """Neighbouring cells together, so that each expects a few reports."""
    starts, total = [0], 0.0
    for place, number in enumerate(expected):
        total += number
        if total >= _FEWEST_PER_CELL and expected[place + 1 :].sum() >= _FEWEST_PER_CELL:
            starts.append(place + 1)
            total = 0.0
    return np.add.reduceat(found, starts), np.add.reduceat(expected, starts)


def _chi_square(name: str, found: Floats, expected: Floats, rate: float) -> CollectionCheck:
    statistic = float(np.sum((found - expected) ** 2 / np.maximum(expected, 1e-300)))
    return CollectionCheck(name, statistic, chi_square_threshold(max(1, len(found) - 1), rate), rate, len(found))
