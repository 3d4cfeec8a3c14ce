"""Simultaneous confidence intervals of counts that are sums of independent bounded reports.

With d estimates, each interval has the confidence 1 - (1 - confidence)/d (Bonferroni), so all of them hold at once with
the stated confidence. Two methods:

- "normal": the variance is that at the end of the interval (a score interval), with a correction for continuity. It is
  used where the skewness of the noise changes the error rate by less than a twentieth.
- "bernstein": Bernstein's inequality, with the same variance. It holds for every number of reports, and is wider.

The variance of a count c of n reports is n v(0) + s c: each report of the value itself has another variance than each
report of another value.
"""

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

import numpy as np

from discreet.errors import ParameterError
from discreet.exact.numbers import Number, probability
from discreet.local.oracles.randomizer import Floats

Method = Literal["normal", "bernstein"]

_INFLATION = 1.05


@dataclass(frozen=True)
class NoiseVariance:
    """The noise of an estimated count.

    Attributes:
        at_zero: Variance where no report has the value.
        slope: Change of the variance with each report that has the value.
        reports: Number of reports.
        step: The most that one report changes an estimate.
        floor: Variance that does not depend on reports, such as that of hash functions.
    """

    at_zero: float
    slope: float
    reports: int
    step: float
    floor: float = 0.0

    @property
    def least(self) -> float:
        """The variance at the count where it is smallest."""
        return min(self.at_zero, self.at_zero + self.slope * self.reports)

    def at(self, counts: Floats) -> Floats:
        """The variance at counts; at an impossible count at least the smallest one that is possible."""
        return np.maximum(self.at_zero + self.slope * counts, self.least) + self.floor


def method_for(noise: NoiseVariance, comparisons: int, confidence: float) -> Method:
    """The method whose intervals hold: by the first correction to the normal distribution for skewness.

    The chance of each tail changes by a factor exp(+-g z^3/6), where g is the skewness, at most step/deviation.
    """
    quantile = normal_quantile(comparisons, confidence)
    skewness = noise.step / math.sqrt(noise.least) if noise.least > 0 else math.inf
    return "normal" if skewness * quantile**3 / 6 <= math.acosh(_INFLATION) else "bernstein"


def intervals(
    estimates: Floats, noise: NoiseVariance, method: Method, *, comparisons: int, confidence: float
) -> tuple[Floats, Floats]:
    """Both ends of the interval of each count, within 0 to the number of reports."""
    variances, facts = noise.at(estimates), (method, comparisons, confidence)
    below = half_widths(variances, noise.step, -noise.slope, *facts)
    above = half_widths(variances, noise.step, noise.slope, *facts)
    return np.clip(estimates - below, 0, noise.reports), np.clip(estimates + above, 0, noise.reports)


def half_widths(
    variances: Floats, step: float, slope: float, method: Method, comparisons: int, confidence: float
) -> Floats:
    """How far intervals reach from their estimates, in the direction in which the variance changes by `slope`."""
    reach = _normal if method == "normal" else _bernstein
    return reach(variances, step, slope, comparisons, confidence)


def confidence_level(confidence: Number) -> float:
    """A confidence that intervals may have; with 0 they would say nothing."""
    level = probability(confidence, "confidence", example="0.95")
    if not 0 < float(level) < 1:
        raise ParameterError(
            f"confidence={confidence}",
            because="an interval holds with a probability above 0 and below 1",
            instead="confidence=0.95",
        )
    return float(level)


def normal_quantile(comparisons: int, confidence: float) -> float:
    """The normal quantile of two-sided intervals, so many at once."""
    return -NormalDist().inv_cdf((1 - confidence) / (2 * comparisons))


def log_level(comparisons: int, confidence: float) -> float:
    """The logarithm of one over the error of one tail."""
    return math.log(2 * comparisons / (1 - confidence))


def _normal(variances: Floats, step: float, slope: float, comparisons: int, confidence: float) -> Floats:
    """The u that solves (u - step/2)^2 = z^2 (variance + slope u)."""
    square = normal_quantile(comparisons, confidence) ** 2
    return _largest_root(step + square * slope, square * variances - step**2 / 4)


def _bernstein(variances: Floats, step: float, slope: float, comparisons: int, confidence: float) -> Floats:
    """The u that solves u^2 = 2 L (variance + slope u + step u/3), where exp(-L) is the error of one tail."""
    level = log_level(comparisons, confidence)
    return _largest_root(2 * level * (step / 3 + slope), 2 * level * variances)


def _largest_root(linear: float, constants: Floats) -> Floats:
    """The largest root of u^2 - linear u - constant."""
    roots: Floats = (linear + np.sqrt(np.maximum(linear**2 + 4 * constants, 0.0))) / 2
    return np.maximum(roots, 0.0)
