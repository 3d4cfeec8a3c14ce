"""A public scale of whole steps whose edges grow by about half: bins, clamped totals made from them, choices of bounds.

A bound is one of the candidates: zero, and numbers on both sides of it. Every bin lies on one side of every candidate,
so the total of steps clamped to any two of them follows exactly from the count and the sum of each bin.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

TWICE_A_DECADE = (2, 3, 4, 6, 10, 14)
"""Twice 1, 1.5, 2, 3, 5 and 7: bounds that are easily read, about half as far apart as they are large."""

MOST_LOST = 0.75
"""How much of the total distance of values from zero clamping may move them by, as noisy counts estimate it."""

Bounds = tuple[int, int]


@dataclass(frozen=True)
class Scale:
    """The candidates below and above zero by their distance from it, the nearest first."""

    below: tuple[int, ...]
    above: tuple[int, ...]

    @classmethod
    def between(cls, low: int, high: int) -> "Scale":
        """The scale that ends at these two, of which one is below zero or one is above."""
        return cls(_distances(-low), _distances(high))

    @cached_property
    def candidates(self) -> tuple[int, ...]:
        """What a bound may be, in order; there are as many as bins."""
        return (*(-distance for distance in reversed(self.below)), 0, *self.above)

    @cached_property
    def edges(self) -> tuple[int, ...]:
        """Where bins begin: a step is in the bin of as many edges as are at most it."""
        return (*(1 - distance for distance in reversed(self.below)), *self.above)

    @cached_property
    def bins(self) -> tuple[Bounds, ...]:
        """The two candidates that the steps of each bin lie between, once they are clamped to the ends of the scale."""
        ends, zero = self.candidates, len(self.below)
        negative = [(ends[max(0, i - 1)], ends[i]) for i in range(zero)]
        positive = [(ends[i], ends[min(len(ends) - 1, i + 1)]) for i in range(zero + 1, len(ends))]
        return (*negative, (0, 0), *positive)

    @property
    def narrowest(self) -> Bounds:
        """Zero and the step next to it."""
        return (0, self.above[0]) if self.above else (-self.below[0], 0)

    def clamped_sum(self, counts: Sequence[int], sums: Sequence[int], bounds: Bounds) -> int:
        """The sum of all steps, clamped to two candidates, from the count and the sum of each bin."""
        low, high = bounds
        first, last = self._cut(low), self._cut(high)
        return low * sum(counts[:first]) + sum(sums[first:last]) + high * sum(counts[last:])

    def _cut(self, bound: int) -> int:
        """How many bins are at or below a candidate; steps of all others are at least it."""
        return self.candidates.index(bound) + (bound <= 0)

    def filled_bounds(self, counts: Sequence[int], thresholds: Sequence[int]) -> Bounds | None:
        """The bounds of all bins that are surely not empty, and of those beyond them that are hardly so.

        A bin is surely not empty where its count is above the first threshold. As far beyond the outermost of these as
        there are further thresholds, a bin needs no more than the threshold of its distance.
        """
        sure = [i for i, count in enumerate(counts) if count > thresholds[0]]
        if not sure:
            return None
        first, last = (_outermost(counts, end, side, thresholds) for end, side in ((sure[0], -1), (sure[-1], 1)))
        return self.bins[first][0], self.bins[last][1]

    def nonempty_bounds(self, span: Bounds | None) -> Bounds | None:
        """A span as bounds, of which one is below the other; None where nothing, or nothing but zero, was seen."""
        low, high = span or (0, 0)
        if low == high:
            low, high = min(0, low), max(0, high)
        return (low, high) if low < high else None

    def least_error_bounds(
        self, counts: Sequence[int], thresholds: Sequence[int], noise: Callable[[Bounds], float]
    ) -> Bounds | None:
        """The bounds with the least expected error: what clamping takes away, as the counts say, and the noise.

        Bounds that most rows are beyond, or at which clamping takes away nearly all, do not count: their answers would
        be precise and wrong. Of bounds that are equally good, the widest are taken; None where nothing, or nothing but
        zero, was seen.
        """
        span = self.filled_bounds(counts, thresholds)
        if span is None:
            return None
        inside = [bound for bound in self.candidates if min(0, span[0]) <= bound <= max(0, span[1])]
        above, below = (self._clipping_loss(counts, span, inside, side) for side in (1, -1))
        most = MOST_LOST * (above[inside.index(0)] + below[inside.index(0)])
        over, under = (self._rows_beyond(counts, span, inside, side) for side in (1, -1))
        half = sum(self._weights(counts, span)) / 2
        costs = {
            (low, high): float(below[i] + above[j]) + noise((low, high))
            for i, low in enumerate(inside)
            for j, high in enumerate(inside)
            if low < high and below[i] + above[j] <= most and under[i] + over[j] <= half
        }
        return min(costs, key=lambda bounds: (costs[bounds], bounds[0] - bounds[1]), default=None)

    def _clipping_loss(
        self, counts: Sequence[int], span: Bounds, bounds: Sequence[int], side: int
    ) -> NDArray[np.float64]:
        """What clamping to each bound takes from the total on one side of it, with values in the middle of bins."""
        lost: NDArray[np.float64] = np.maximum(0.0, self._distances(bounds, side)) @ self._weights(counts, span)
        return lost

    def _rows_beyond(
        self, counts: Sequence[int], span: Bounds, bounds: Sequence[int], side: int
    ) -> NDArray[np.float64]:
        """How many rows are beyond each bound on one side of it."""
        rows: NDArray[np.float64] = (self._distances(bounds, side) > 0) @ self._weights(counts, span)
        return rows

    def _distances(self, bounds: Sequence[int], side: int) -> NDArray[np.float64]:
        """How far the middle of each bin is beyond each bound on one side of it."""
        distances: NDArray[np.float64] = side * (self._middles[None, :] - np.array(bounds, dtype=float)[:, None])
        return distances

    def _weights(self, counts: Sequence[int], span: Bounds) -> NDArray[np.float64]:
        """Rows of each bin within the span, as the noisy counts say."""
        is_inside = (span[0] <= self._middles) & (self._middles <= span[1])
        return np.where(is_inside, np.maximum(0.0, np.array(counts, dtype=float)), 0.0)

    @cached_property
    def _middles(self) -> NDArray[np.float64]:
        return np.array([(low + high) / 2 for low, high in self.bins])


def _outermost(counts: Sequence[int], start: int, side: int, thresholds: Sequence[int]) -> int:
    """The farthest bin on one side whose count is above the threshold of its distance."""
    reached = start
    for distance, threshold in enumerate(thresholds[1:], 1):
        place = start + side * distance
        if 0 <= place < len(counts) and counts[place] > threshold:
            reached = place
    return reached


def _distances(limit: int) -> tuple[int, ...]:
    """The distances of candidates from zero up to a limit, which is one of them."""
    found, tens = set(), 1
    while tens <= max(0, limit):
        found |= {-(-twice * tens // 2) for twice in TWICE_A_DECADE}
        tens *= 10
    return (*sorted(distance for distance in found if distance < limit), limit) if limit > 0 else ()
