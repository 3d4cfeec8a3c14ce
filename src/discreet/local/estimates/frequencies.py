"""Estimated counts of all values, with standard errors and simultaneous confidence intervals.

The estimates are unbiased and may be negative. Intervals are about the reports that were counted: how many of them come
from clients with each value. They hold if clients follow the task; `dp.local.poisoning` is about those that do not.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from discreet.errors import ParameterError, SourceError, UnsupportedError, public_class, short_traceback
from discreet.local.collector.accumulator import Accumulator
from discreet.local.collector.payloads import layout_of
from discreet.local.estimates.consistency import ConsistentCounts, largest, simplex, value_column
from discreet.local.estimates.intervals import Method, NoiseVariance, confidence_level, intervals, method_for
from discreet.local.estimates.listing import SHOWN, count_row, listing
from discreet.local.oracles.oracle import FrequencyOracle
from discreet.local.oracles.randomizer import Floats
from discreet.plan.wording import counted
from discreet.release.forms import pandas_frame

if TYPE_CHECKING:
    import pandas as pd

    from discreet.local.domain import SlotDomain
    from discreet.local.task import Task


@public_class
@dataclass(frozen=True, eq=False, repr=False)
class FrequencyEstimates:
    """Estimated counts of all values of a domain.

    Attributes:
        values: The values of the domain.
        estimates: Unbiased count of each value; it may be negative.
        standard_errors: Standard deviation of each estimate.
        low: Lower end of each interval.
        high: Upper end of each interval.
        confidence: Probability that all intervals hold at once.
        method: How the intervals were computed: "normal" or "bernstein", for each value with Bonferroni's correction.
        reports: Number of reports.

    Example:
        >>> import discreet as dp
        >>> task = dp.local.Task.choose(domain=["red", "green", "blue"], epsilon=1, n=1_000)
        >>> client = dp.local.Client(task.assignment(0))
        >>> state = dp.local.collector.count_reports(task, [client.report("red") for _ in range(1_000)])
        >>> estimates = dp.local.estimates.estimate(task, state)
        >>> estimates.top(1)[0][0]
        'red'
    """

    values: Sequence[str] | Sequence[int] | Sequence[float]
    estimates: Floats
    standard_errors: Floats
    low: Floats
    high: Floats
    confidence: float
    method: Method
    reports: int

    def __len__(self) -> int:
        return len(self.estimates)

    def __repr__(self) -> str:
        what = f"{counted(self.reports, 'report')}, {counted(len(self), 'value')}"
        heading = f"{what}; with probability {self.confidence:.15g} all intervals hold"
        return listing(heading, (count_row(*row) for row in self.top()), len(self) - SHOWN)

    def top(self, number: int = SHOWN) -> list[tuple[str | int | float, float, float, float]]:
        """The values of the largest estimates. Their estimates are biased upwards; the intervals still hold.

        Args:
            number: How many. Default 10.

        Returns:
            A value, its estimate and both ends of its interval, largest first.

        Raises:
            ParameterError: If the number is negative.
        """
        rows = largest(self.estimates, number)
        return [
            (self.values[slot], float(self.estimates[slot]), float(self.low[slot]), float(self.high[slot]))
            for slot in rows
        ]

    def consistent(self) -> ConsistentCounts:
        """Counts that are not negative and add up to the number of reports, by norm-sub.

        They are post-processed and biased, so they have no intervals.

        Returns:
            The counts.
        """
        return ConsistentCounts(self.values, simplex(self.estimates, self.reports), self.reports)

    def to_arrow(self) -> pa.Table:
        """The estimates as an Arrow table.

        Returns:
            The columns value, estimate, standard_error, low and high.
        """
        names = ("estimate", "standard_error", "low", "high")
        columns = (self.estimates, self.standard_errors, self.low, self.high)
        return pa.table({"value": value_column(self.values)} | dict(zip(names, columns, strict=True)))

    def to_pandas(self) -> "pd.DataFrame":
        """The estimates as a pandas frame.

        Returns:
            The columns value, estimate, standard_error, low and high.

        Raises:
            UnsupportedError: If pandas is not installed.
        """
        return pandas_frame(self.to_arrow())


@short_traceback
def estimate(
    task: "Task", accumulator: "Accumulator", confidence: float = 0.95, *, method: Method | None = None
) -> FrequencyEstimates:
    """Estimate how many of the counted reports come from clients with each value.

    Args:
        task: The task.
        accumulator: The counts of its reports.
        confidence: Probability that the intervals of all values hold at once.
        method: "normal" or "bernstein". Default: "normal" where there are enough reports for it, else "bernstein".

    Returns:
        Estimates of all values.

    Raises:
        ParameterError: If the counts are those of another task, or there are none.
        SourceError: If the counts do not add up to the number of reports.
        UnsupportedError: If the task asks for a mean.

    Example:
        >>> import discreet as dp
        >>> task = dp.local.Task.choose(domain=["red", "green", "blue"], epsilon=1, n=1_000)
        >>> client = dp.local.Client(task.assignment(0))
        >>> state = dp.local.collector.count_reports(task, [client.report("red") for _ in range(1_000)])
        >>> bool(dp.local.estimates.estimate(task, state).estimates.sum().round() == 1_000)
        True
    """
    level = confidence_level(confidence)
    oracle = _frequency_oracle(task)
    check_counts(task, accumulator)
    reports, slots = accumulator.reports, oracle.size
    counts = oracle.estimate(accumulator.counts, reports)
    errors = oracle.standard_error(counts, reports)
    noise = noise_of(oracle, reports, counts, errors)
    chosen = method or method_for(noise, slots, level)
    low, high = intervals(counts, noise, chosen, comparisons=slots, confidence=level)
    return FrequencyEstimates(labels(task.domain), counts, errors, low, high, level, chosen, reports)


def noise_of(oracle: FrequencyOracle, reports: int, counts: Floats, errors: Floats) -> NoiseVariance:
    """The variance of the estimates of a frequency oracle. What reports do not reduce is what is left of the errors."""
    at_zero, step = oracle.variance(0.0), 1 / float(oracle.true_rate - oracle.false_rate)
    bare = NoiseVariance(reports * at_zero, oracle.variance(1.0) - at_zero, reports, step)
    floor = float(np.min(errors**2 - bare.at(np.clip(counts, 0, reports))))
    return replace(bare, floor=max(0.0, floor))


def check_counts(task: "Task", accumulator: "Accumulator") -> None:
    """Refuse counts that are not those of a task."""
    if not isinstance(accumulator, Accumulator):
        raise ParameterError(
            f"counts of type {type(accumulator).__name__}",
            because="estimates are made of the accumulator of a collection",
            instead="estimate(task, dp.local.collector.count_reports(task, reports))",
        )
    if accumulator.task != task.hash:
        raise ParameterError(
            f"counts of the task {accumulator.task[:16]}",
            because=f"the task is {task.hash[:16]}",
            instead="estimate(task, accumulator) with the task that clients were given",
        )
    if not accumulator.reports:
        raise ParameterError(
            "an estimate without reports", because="the accumulator is empty", instead="merge partial counts first"
        )
    is_symbol = layout_of(task).form == "symbol"
    if is_symbol and not np.array_equal(accumulator.counts.sum(axis=1), accumulator.cohort_reports):
        raise SourceError(
            "counts that do not add up",
            because="each report has one symbol",
            instead="count the reports again",
        )


def labels(domain: "SlotDomain") -> Sequence[str] | Sequence[int] | Sequence[float]:
    """The values of a domain, as a column."""
    if domain.is_numeric:
        return [float(domain.label(slot)) for slot in range(domain.size)]
    texts = domain.values  # noqa: PD011 - not a frame of pandas
    return range(domain.size) if texts is None else list(texts)


def _frequency_oracle(task: "Task") -> FrequencyOracle:
    oracle = task.decoder
    if not isinstance(oracle, FrequencyOracle):
        raise UnsupportedError(
            f"counts of the oracle {oracle.kind!r}",
            because="it estimates a mean, not counts",
            instead="dp.local.estimates.estimate_mean(task, accumulator)",
        )
    return oracle
