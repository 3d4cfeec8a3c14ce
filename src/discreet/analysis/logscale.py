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
        """Zero and the step next to it: what is left where nothing is known."""
        return (0, self.above[0]) if self.above else (-self.below[0], 0)

    def clamped(self, counts: Sequence[int], sums: Sequence[int], bounds: Bounds) -> int:
        """The sum of all steps, clamped to two candidates, from the count and the sum of each bin."""
        low, high = bounds
        first, last = self._cut(low), self._cut(high)
        return low * sum(counts[:first]) + sum(sums[first:last]) + high * sum(counts[last:])

    def _cut(self, bound: int) -> int:
        """How many bins are at or below a candidate; steps of all others are at least it."""
        return self.candidates.index(bound) + (bound <= 0)

    def filled(self, counts: Sequence[int], thresholds: Sequence[int]) -> Bounds | None:
        """The bounds of all bins that are surely not empty, and of those beyond them that are hardly so.

        A bin is surely not empty where its count is above the first threshold. As far beyond the outermost of these as
        there are further thresholds, a bin needs no more than the threshold of its distance.
        """
        sure = [i for i, count in enumerate(counts) if count > thresholds[0]]
        if not sure:
            return None
        first, last = (_outermost(counts, end, side, thresholds) for end, side in ((sure[0], -1), (sure[-1], 1)))
        return self.bins[first][0], self.bins[last][1]

    def spanned(self, span: Bounds | None) -> Bounds:
        """A span as bounds, of which one is below the other."""
        low, high = span or (0, 0)
        if low == high:
            low, high = min(0, low), max(0, high)
        return (low, high) if low < high else self.narrowest

    def chosen(self, counts: Sequence[int], thresholds: Sequence[int], noise: Callable[[Bounds], float]) -> Bounds:
        """The bounds with the least expected error: what clamping takes away, as the counts say, and the noise.

        Of bounds that are equally good, the widest are taken.
        """
        span = self.filled(counts, thresholds)
        if span is None:
            return self.narrowest
        inside = [bound for bound in self.candidates if min(0, span[0]) <= bound <= max(0, span[1])]
        above, below = (self._lost(counts, span, inside, side) for side in (1, -1))
        costs = {
            (low, high): float(below[i] + above[j]) + noise((low, high))
            for i, low in enumerate(inside)
            for j, high in enumerate(inside)
            if low < high
        }
        return min(costs, key=lambda bounds: (costs[bounds], bounds[0] - bounds[1]), default=self.narrowest)

    def _lost(self, counts: Sequence[int], span: Bounds, bounds: Sequence[int], side: int) -> NDArray[np.float64]:
        """What clamping to each bound takes from the total on one side of it, with values in the middle of bins."""
        middles = np.array([(low + high) / 2 for low, high in self.bins])
        weights = np.array([max(0, c) if span[0] <= m <= span[1] else 0 for c, m in zip(counts, middles, strict=True)])
        beyond = np.maximum(0.0, side * (middles[None, :] - np.array(bounds, dtype=float)[:, None]))
        lost: NDArray[np.float64] = beyond @ weights.astype(float)
        return lost


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
