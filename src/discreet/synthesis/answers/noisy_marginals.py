"""Intervals from the noisy marginals of a synthetic table, for counts, sums and means over unions of cells.

Definition
    Marginals are measured in stages: first columns one by one, then marginals that earlier answers choose. The first
    stage has all columns of a table of one level, and the visit columns of a two-level table. The number of rows in a
    union of cells is estimated by the first stage that has its columns: by the marginal itself, or by the mean of
    several of that stage, weighted by the inverse of their variances. The interval is that estimate plus and minus the
    margin of its noise.
    For a sum of binned numbers the interval goes from the least sum that the bins allow to the largest.

Guarantee
    For a query that is fixed before the release, and any table: given that the columns were measured, each interval
    holds its number with a probability of at least the confidence. It holds however marginals were chosen.
    Proof: docs/proofs/synthesis/answers/noisy_marginals.md.

Exactness
    Margins are those of discrete Gaussian noise, of `discreet.release.values`; ends are floats. Later measurements of
    the same columns play no part, because how many there are depends on earlier noise.

Not covered
    Several intervals at once. Queries that were chosen by looking at the release. Rows beyond the contribution bounds,
    values outside the bounds of their column, and values that are not declared: they count as the table counts them.

References
    Canonne, Kamath and Steinke, The Discrete Gaussian for Differential Privacy, NeurIPS 2020. Fieller, Some Problems in
    Interval Estimation, Journal of the Royal Statistical Society B, 1954 (ratios).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms import Gaussian
from discreet.release.values.error_bounds import margin_of_crowds
from discreet.release.values.weighted_sums import Sums
from discreet.synthesis.core.domain import Columns, Domain
from discreet.synthesis.core.measurement import Floats

Mask = NDArray[np.bool_]
"""Cells of a union: True where a cell belongs to it, one axis for each of its columns."""

_HALVINGS = 60


class NoiseInterval(NamedTuple):
    """An interval, and the noisy number that it is around."""

    measured: float
    lower: float
    upper: float


@dataclass(frozen=True, eq=False)
class NoisyMarginal:
    """A measured marginal of a released table.

    Attributes:
        columns: The columns.
        values: The noisy counts, over merged slots.
        sigma: The parameter of the noise.
        groups: The group of each slot, for columns whose slots were merged.
    """

    columns: Columns
    values: Floats
    sigma: float
    groups: Mapping[str, tuple[int, ...]]

    @property
    def noise(self) -> Gaussian:
        """The noise of a cell."""
        return Gaussian.with_sigma(sigma=self.sigma, sensitivity=1)

    def sum_to(self, columns: Columns) -> tuple[Floats, int]:
        """The noisy counts of some of its columns, and how many cells each of them is the sum of."""
        others = tuple(axis for axis, name in enumerate(self.columns) if name not in columns)
        values = self.values.sum(axis=others)
        return values, self.values.size // max(values.size, 1)

    def merge(self, mask: Mask, columns: Columns) -> Mask | None:
        """A union of cells over merged slots, or None where it has a part of a group."""
        for axis, name in enumerate(columns):
            if name in self.groups:
                groups = np.asarray(self.groups[name])
                small = mask.take(np.unique(groups, return_index=True)[1], axis=axis)
                if not np.array_equal(small.take(groups, axis=axis), mask):
                    return None
                mask = small
        return mask

    def merge_ends(self, ends: Floats, column: str, *, is_lower: bool) -> Floats:
        """The least or largest end of the slots of each group of a column."""
        if column not in self.groups:
            return ends
        groups = np.asarray(self.groups[column])
        merged = np.full(groups.max() + 1, np.inf if is_lower else -np.inf)
        (np.minimum if is_lower else np.maximum).at(merged, groups, ends)
        return merged


@dataclass(frozen=True, eq=False)
class NoisyMarginals:
    """The measured marginals of a released table, in the order of measuring.

    Attributes:
        domain: The columns and their slots.
        first: The first stage: columns one by one, all of them or those of visits.
        later: The marginals that were chosen then, each a stage of its own.
    """

    domain: Domain
    first: tuple[NoisyMarginal, ...]
    later: tuple[NoisyMarginal, ...]

    def total(self, confidence: Fraction) -> NoiseInterval:
        """The number of rows: the weighted mean of the first stage.

        Args:
            confidence: The probability that the interval holds.

        Returns:
            The interval.
        """
        variances = np.array([each.values.size * each.sigma**2 for each in self.first])
        weights = (1 / variances) / (1 / variances).sum()
        centre = float(sum(weight * each.values.sum() for weight, each in zip(weights, self.first, strict=True)))
        rows = [np.array([[weight]]) for weight in weights]
        counts = [np.array([[float(each.values.size)]]) for each in self.first]
        margin = float(Sums.of([each.noise for each in self.first], rows, counts).margins(confidence)[0])
        return NoiseInterval(centre, centre - margin, centre + margin)

    def count(self, mask: Mask, columns: Columns, confidence: Fraction) -> NoiseInterval | None:
        """The rows in a union of cells.

        Args:
            mask: The cells.
            columns: Their columns, in the order of the domain.
            confidence: The probability that the interval holds.

        Returns:
            The interval, or None if no marginal has these cells.
        """
        if not columns:
            return NoisyMarginals.total(self, confidence)
        found = self._covering(mask, columns)
        if found is None:
            return None
        marginal, own = found
        values, behind = marginal.sum_to(columns)
        centre, cells = float(values[own].sum()), int(own.sum()) * behind
        margin = margin_of_crowds({(1, marginal.noise): cells}, confidence)
        return NoiseInterval(centre, centre - margin, centre + margin)

    def sum(self, mask: Mask, columns: Columns, ends: "SlotEnds", confidence: Fraction) -> NoiseInterval | None:
        """The sum of a binned number over the rows in a union of cells; its columns have the column of the number.

        Args:
            mask: The cells.
            columns: Their columns, in the order of the domain.
            ends: The least, middle and largest number in each slot.
            confidence: The probability that the interval holds.

        Returns:
            The interval, or None if no marginal has these cells.
        """
        found = self._covering(mask, columns)
        if found is None:
            return None
        marginal, own = found
        values, behind = marginal.sum_to(columns)
        low, high = (_spread(side, own, columns, ends.column) for side in ends.merge(marginal))
        weights, counts = np.stack([low.ravel(), high.ravel()]), np.full((2, low.size), float(behind))
        margins = Sums.of([marginal.noise], [weights], [counts]).margins(confidence)
        lower, upper = float((low * values).sum()), float((high * values).sum())
        return NoiseInterval((lower + upper) / 2, lower - float(margins[0]), upper + float(margins[1]))

    def mean(self, mask: Mask, columns: Columns, ends: "SlotEnds", confidence: Fraction) -> NoiseInterval | None:
        """The mean of a binned number over the rows in a union of cells; its columns have the column of the number.

        Args:
            mask: The cells.
            columns: Their columns, in the order of the domain.
            ends: The least, middle and largest number in each slot.
            confidence: The probability that the interval holds.

        Returns:
            The interval, or None if no marginal has these cells, or nothing is known of the mean.
        """
        found = self._covering(mask, columns)
        if found is None:
            return None
        marginal, own = found
        values, behind = marginal.sum_to(columns)
        low, high = (_spread(side, own, columns, ends.column)[own] for side in ends.merge(marginal))
        rows = values[own]
        if rows.sum() <= 0:
            return None
        noise = marginal.sigma * math.sqrt(2 * behind * math.log(2 / float(1 - confidence)))
        lower, upper = _least_mean(low, rows, noise, high.max()), -_least_mean(-high, rows, noise, -low.min())
        return NoiseInterval(float(((low + high) / 2 * rows).sum() / rows.sum()), lower, upper)

    def _covering(self, mask: Mask, columns: Columns) -> tuple[NoisyMarginal, Mask] | None:
        """The first marginal that has all of the columns, with its own cells of the union; or nothing."""
        for each in (*self.first, *self.later):
            if set(columns) <= set(each.columns):
                own = each.merge(mask, columns)
                return None if own is None else (each, own)
        return None


@dataclass(frozen=True, eq=False)
class SlotEnds:
    """The numbers that the slots of a column hold; the slot of missing values is in no union.

    Attributes:
        column: Name of the column.
        low: The least number of each slot.
        high: The largest number of each slot.
    """

    column: str
    low: Floats
    high: Floats

    @property
    def middle(self) -> Floats:
        """The middle of each slot."""
        return (self.low + self.high) / 2

    def merge(self, marginal: NoisyMarginal) -> tuple[Floats, Floats]:
        """The least and largest numbers of merged slots."""
        return (
            marginal.merge_ends(self.low, self.column, is_lower=True),
            marginal.merge_ends(self.high, self.column, is_lower=False),
        )


def noisy_marginals(state: Mapping[str, Any], domain: Domain) -> NoisyMarginals:
    """The measured marginals of a state.

    Every synthesizer first measures the columns of rows one by one, in a public order: a two-level table those of its
    visits. So the first stage ends at the first marginal of several columns, or of a column that has its own already.
    """
    found = [_marginal(each, domain) for each in state["measurements"]]
    number = 0
    while number < len(found) and _is_first(found[number].columns, found[:number]):
        number += 1
    return NoisyMarginals(domain, tuple(found[:number]), tuple(found[number:]))


def _is_first(columns: Columns, before: Sequence[NoisyMarginal]) -> bool:
    return len(columns) == 1 and all(each.columns != columns for each in before)


def _marginal(data: Mapping[str, Any], domain: Domain) -> NoisyMarginal:
    groups = {name: tuple(each) for name, each in data.get("groups", {}).items()}
    columns: Columns = tuple(data["columns"])
    shape = domain.merge(groups).shape(columns)
    values = np.asarray(data["values"], dtype=np.float64).reshape(shape)
    return NoisyMarginal(columns, values, float(data["sigma"]), groups)


def _spread(ends: Floats, mask: Mask, columns: Sequence[str], column: str) -> Floats:
    """The end of each cell of a union, by its slot of one column; 0 in other cells."""
    shape = [-1 if name == column else 1 for name in columns]
    return np.where(mask, ends.reshape(shape), 0.0)


def _least_mean(ends: Floats, rows: Floats, noise: float, high: float) -> float:
    """The least m with sum of (end - m) * rows <= noise * |end - m|: the difference is concave in m."""

    def is_excluded(m: float) -> bool:
        return float(((ends - m) * rows).sum()) > noise * float(np.linalg.norm(ends - m))

    low = float(ends.min())
    if not is_excluded(low):
        return low
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if is_excluded(middle) else (low, middle)
    return low
