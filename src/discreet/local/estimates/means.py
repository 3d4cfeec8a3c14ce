"""The mean of a bounded number, from reports of Duchi's mechanism or the hybrid one.

Each report has a score whose expectation is the client's value on the public grid, so the mean of the scores is
unbiased for the mean of rounded values. The interval is about the clients that reported, and about their values before
rounding: it is wider by half a step at each end, because all clients may round in one direction. It does not cover
values outside of the range: clamping them moves a mean by an unknown amount.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import UnsupportedError, public_class, short_traceback
from discreet.local.estimates.frequencies import check_counts
from discreet.local.estimates.intervals import (
    Method,
    NoiseVariance,
    confidence_level,
    log_level,
    method_for,
    normal_quantile,
)
from discreet.local.oracles.mean import MeanOracle

if TYPE_CHECKING:
    from discreet.local.collector.accumulator import Accumulator
    from discreet.local.task import Task

_ROUNDING = 0.5  # steps: clients report the nearest step


@public_class
@dataclass(frozen=True)
class MeanEstimate:
    """An estimated mean, in the units of the domain.

    Attributes:
        mean: The estimate; it is unbiased for the mean of rounded values, and may be outside of the range.
        standard_error: The largest standard deviation that the estimate may have.
        low: Lower end of the interval.
        high: Upper end of the interval.
        confidence: Probability that the interval holds, for the mean of the values before they were rounded.
        method: How the interval was computed: "normal", or "bernstein" where few reports may make noise skewed.
        rounding: Half a step, the most that rounding to the grid moves the mean; both ends contain it.
        reports: Number of reports.

    Example:
        >>> MeanEstimate(3.5, 0.5, 2.5, 4.5, 0.95, "normal", 0.01, 2_000).mean
        3.5
    """

    mean: float
    standard_error: float
    low: float
    high: float
    confidence: float
    method: Method
    rounding: float
    reports: int


@short_traceback
def estimate_mean(task: "Task", accumulator: "Accumulator", confidence: float = 0.95) -> MeanEstimate:
    """Estimate the mean of the clients whose reports were counted.

    Args:
        task: A task whose oracle is Duchi's mechanism or the hybrid one.
        accumulator: The counts of its reports.
        confidence: Probability that the interval holds, for any values within the range.

    Returns:
        The mean, with an interval.

    Raises:
        ParameterError: If the counts are those of another task, or there are none.
        SourceError: If the counts do not add up to the number of reports.
        UnsupportedError: If the task asks for counts.

    Example:
        >>> import discreet as dp
        >>> oracle = dp.local.oracles.DuchiResponse.calibrate(256, epsilon=1)
        >>> task = dp.local.Task(dp.local.SlotDomain(low=0, high=100, steps=256), "1", oracle)
        >>> client = dp.local.Client(task.assignment(0))
        >>> state = dp.local.collector.count_reports(task, [client.report(40) for _ in range(200)])
        >>> dp.local.estimates.estimate_mean(task, state).method
        'normal'
    """
    level = confidence_level(confidence)
    oracle = task.decoder
    if not isinstance(oracle, MeanOracle):
        raise UnsupportedError(
            f"the mean of the oracle {oracle.kind!r}",
            because="it estimates counts, not a mean",
            instead="dp.local.estimates.estimate(task, accumulator)",
        )
    check_counts(task, accumulator)
    reports, scores = accumulator.reports, oracle.scores
    counts = accumulator.counts.sum(axis=0)
    steps = float(counts @ scores) / reports
    # The variance of scores that were observed would be 0 where all reports are equal; the largest one is public.
    variance = float(oracle.worst_variance)
    noise = NoiseVariance(reports * float(oracle.least_variance), 0.0, reports, float(np.ptp(scores)))
    method = method_for(noise, 1, level)
    half = _half_width(oracle, reports, level, method) + _ROUNDING
    low, unit = float(task.domain.low or 0), _unit(task)
    ends = np.clip([steps - half, steps + half], 0, oracle.steps)
    low_end, high_end = (low + unit * ends).tolist()
    error = unit * math.sqrt(variance / reports)
    return MeanEstimate(low + unit * steps, error, low_end, high_end, level, method, unit * _ROUNDING, reports)


def _unit(task: "Task") -> float:
    """One step of the grid, in the units of the domain."""
    domain = task.domain
    return float((domain.high or Fraction(0)) - (domain.low or Fraction(0))) / (domain.steps or 1)


def _half_width(oracle: MeanOracle, reports: int, confidence: float, method: Method) -> float:
    """Half of the interval, in steps, by the largest variance of a score."""
    bound = float(oracle.worst_variance)
    if method == "normal":
        return normal_quantile(1, confidence) * math.sqrt(bound / reports)
    level = log_level(1, confidence)
    step = float(np.ptp(oracle.scores))
    return level * step / (3 * reports) + math.sqrt((level * step / (3 * reports)) ** 2 + 2 * level * bound / reports)
