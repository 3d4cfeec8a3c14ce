"""What every fitted model offers, and the estimates that all of them start from.

Everything here is post-processing of noisy marginals: floats are allowed, and nothing is charged.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from discreet.synthesis.core.domain import Columns, Domain
from discreet.synthesis.core.measurement import Floats, Measurement

Slots = NDArray[np.integer[Any]]
"""Rows of slots: one line for each row, one place for each column of the domain."""


@runtime_checkable
class MarginalModel(Protocol):
    """A distribution over the cells of a domain, with a number of rows."""

    @property
    def domain(self) -> Domain:
        """The columns and their slots."""

    @property
    def total(self) -> float:
        """The estimated number of rows; at least 0."""

    def marginal(self, columns: Iterable[str]) -> Floats:
        """The estimated counts of any columns: one axis for each, in the order of the domain; they add to the total."""

    def rows(self, number: int, generator: np.random.Generator) -> Slots:
        """Rows that are drawn from the model."""

    def to_json(self) -> dict[str, Any]:
        """The model as plain data."""


class CountEstimate(NamedTuple):
    """Unbiased estimates of counts, with the variance of each."""

    values: Floats
    variance: float


def project(values: Floats, total: float) -> Floats:
    """The nearest point in L2 norm without negative values that adds to the total.

    Args:
        values: Noisy counts of any shape.
        total: What they add to; values below 0 count as 0.

    Returns:
        Values of the same shape.

    References:
        Duchi, Shalev-Shwartz, Singer and Chandra, Efficient Projections onto the L1-Ball, ICML 2008.
    """
    if total <= 0:
        return np.zeros(values.shape)
    descending = np.sort(values, axis=None)[::-1].astype(np.float64)
    excess = (np.cumsum(descending) - total) / np.arange(1, descending.size + 1)
    above = np.flatnonzero(descending > excess)
    level = float(excess[above[-1] if above.size else 0])
    return np.asarray(np.maximum(values - level, 0.0), dtype=np.float64)


def combine(estimates: Sequence[CountEstimate]) -> CountEstimate:
    """The mean of independent estimates of the same counts, weighted by the inverse of their variances."""
    weights = [1 / each.variance for each in estimates]
    values = sum(weight * each.values for weight, each in zip(weights, estimates, strict=True)) / sum(weights)
    return CountEstimate(np.asarray(values, dtype=np.float64), 1 / sum(weights))


def estimate_of(measurement: Measurement, columns: Columns) -> CountEstimate:
    """What a measurement says of some of its columns: the others are summed out, and their variances add."""
    others = tuple(axis for axis, name in enumerate(measurement.columns) if name not in columns)
    values = measurement.values.sum(axis=others).astype(np.float64)
    return CountEstimate(values, measurement.sigma**2 * measurement.values.size / values.size)


def column_estimates(measurements: Iterable[Measurement], domain: Domain) -> Mapping[str, CountEstimate]:
    """The best unbiased estimate of each column that was measured, from all marginals that have it."""
    seen: dict[str, list[CountEstimate]] = {}
    for each in measurements:
        if each.values.shape == domain.shape(each.columns):
            for name in each.columns:
                seen.setdefault(name, []).append(estimate_of(each, (name,)))
    return {name: combine(estimates) for name, estimates in seen.items()}
