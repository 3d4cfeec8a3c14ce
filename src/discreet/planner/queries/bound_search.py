"""Two ways to find bounds on a public scale from the rows in each of its bins.

By counts: each bin's count gets noise, and bounds are chosen from the noisy counts alone. By growth: a bound moves away
from zero, one candidate after the other, until the sum of clamped steps hardly grows; growth is counted in rows, by how
many rows it would take that are all beyond the next candidate, and above-threshold tells where it ends. Noise may end
it too early where rows are few, so the rows on each side of zero are counted as well, with noise of their own.

Both ways may find nothing. That is decided from what is noisy already, and is a result of its own.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

from discreet import events
from discreet.catalog.privacy_unit import Caps, Neighbours
from discreet.mechanisms import AdditiveNoise, Laplace
from discreet.mechanisms.threshold import AboveThreshold, Stream
from discreet.plan.physical import CountRows
from discreet.planner.budget.allocation import Spending, mechanisms
from discreet.planner.queries.log_scale import Bounds, Scale
from discreet.planner.sensitivity.contribution_bounds import spread
from discreet.planner.sensitivity.sensitivity import Sensitivity, sensitivity
from discreet.release.release import MeasuredColumn
from discreet.release.values.columns import measured_column

OVERLOOKED = Fraction(1, 5_000)
"""How often some noise on empty bins is so far from zero, on either side, that it is taken for rows."""
BEYOND = Fraction(3, 8), Fraction(2, 3)
"""The same of one bin beyond the others, and by how much less with each bin that it is farther: it costs more."""
OVERSHOT = Fraction(1, 100)
"""Twice how often noise on a threshold is so far above it that bounds are widened where nothing grows."""
SHARE_OF_PRESENCE = Fraction(1, 10)
"""What part of a search by growth pays for the number of rows on each side of zero."""
BOUNDS = "lower and upper bound"

Cost = Callable[[Bounds], float]


class FoundBounds(NamedTuple):
    """Bounds in steps, None where nothing was found, and the noisy counts that this was decided from."""

    bounds: Bounds | None
    counts: tuple[int, ...] = ()


@dataclass(frozen=True)
class ByCounts:
    """Noise on the count of each bin, and what counts must be above for a bin to be taken as filled."""

    scale: Scale
    mechanism: AdditiveNoise
    moved: Sensitivity

    @cached_property
    def thresholds(self) -> tuple[int, ...]:
        """Of any bin, and of those that are so far beyond the outermost that are above it."""
        sure = int(self.mechanism.simultaneous_margin(len(self.scale.bins), 1 - OVERLOOKED))
        found, distance, (chance, less) = [sure], 1, BEYOND
        while (near := int(self.mechanism.margin(1 - chance * less**distance / distance**2))) < sure:
            found.append(near)
            distance += 1
        return tuple(found)

    def event(self) -> events.Event:
        """What finding does, for the accountants."""
        return self.mechanism.event()

    def find(self, counts: Sequence[int], sums: Sequence[int], cost: Cost | None) -> FoundBounds:  # noqa: ARG002
        """Bounds from noisy counts: those of the least cost, or of all that is filled where there is none."""
        noisy = [int(count) for count in self.mechanism.release(list(counts))]
        if cost is None:
            return FoundBounds(
                self.scale.nonempty_bounds(self.scale.filled_bounds(noisy, self.thresholds)), tuple(noisy)
            )
        return FoundBounds(self.scale.least_error_bounds(noisy, self.thresholds, cost), tuple(noisy))

    def measurements(self, found: FoundBounds, grid: Fraction) -> tuple[MeasuredColumn, ...]:
        """What was noisy on the way, and the bounds that came of it."""
        norms = self.mechanism.width, self.moved.l1, self.moved.l2_squared
        return (
            measured_column("rows by size", self.mechanism, self.moved, found.counts, Fraction(1), "bins of sizes"),
            MeasuredColumn("bounds", "chosen from the noisy counts", *norms, grid, found.bounds or (), BOUNDS),
        )

    @property
    def description(self) -> str:
        """In words, with its noise."""
        return (
            f"noisy counts of {len(self.scale.bins)} bins of sizes; {self.thresholds[0]:,} rows in one are surely seen"
        )


@dataclass(frozen=True)
class ByGrowth:
    """One above-threshold for both sides of zero, which ends once on each side that the scale has.

    `presence` is the noise on the number of rows above and below zero: a side with too few of them is not believed.
    """

    scale: Scale
    mechanism: AboveThreshold
    presence: Laplace
    moved: Sensitivity

    def event(self) -> events.Event:
        """What finding does, for the accountants."""
        return events.ComposedEvent((self.mechanism.event(), self.presence.event()))

    @cached_property
    def least_rows(self) -> int:
        """How many rows a side must be seen to have, for its search to end with fewer than half of them beyond.

        Noise ends a search where more rows than `beyond` are still beyond the next candidate about once in a hundred
        searches, and makes a number of rows too large by `seen` as seldom.
        """
        scales, ends = self.mechanism.scales, max(len(self.scale.above), len(self.scale.below))
        rare = -math.log(OVERSHOT)
        beyond = -int(self.mechanism.threshold) + scales.threshold * rare + scales.comparison * (rare + math.log(ends))
        seen = self.presence.scale * rare
        return math.ceil(2 * beyond + seen)

    def find(self, counts: Sequence[int], sums: Sequence[int], cost: Cost | None) -> FoundBounds:  # noqa: ARG002
        """Bounds at which the sum hardly grows; zero on a side that is not seen to have enough rows."""
        stream = self.mechanism.open()
        rows = tuple(int(n) for n in self.presence.release(self.sides(counts)))
        above, below = self.growths(counts, sums)
        ends = _search_end(stream, self.scale.above, above), _search_end(stream, self.scale.below, below)
        high, low = (end if seen >= self.least_rows else 0 for end, seen in zip(ends, rows, strict=True))
        return FoundBounds((-low, high) if -low < high else None, rows)

    def sides(self, counts: Sequence[int]) -> list[int]:
        """The exact numbers of rows above and below zero."""
        zero = len(self.scale.below)
        return [sum(counts[zero + 1 :]), sum(counts[:zero])]

    def growths(self, counts: Sequence[int], sums: Sequence[int]) -> tuple[list[int], list[int]]:
        """The exact growth from each candidate to the next, in rows, above and below zero."""
        above = [self.scale.clamped_sum(counts, sums, (0, end)) for end in self.scale.above]
        below = [-self.scale.clamped_sum(counts, sums, (-end, 0)) for end in self.scale.below]
        return _growths(self.scale.above, above), _growths(self.scale.below, below)

    def measurements(self, found: FoundBounds, grid: Fraction) -> tuple[MeasuredColumn, ...]:
        """The bounds, with the noise of the comparisons, and the rows on both sides of zero."""
        size, moved = self.mechanism.scales.comparison, int(self.mechanism.sensitivity)
        return (
            measured_column(
                "rows by sign", self.presence, self.moved, found.counts, Fraction(1), "above and below zero"
            ),
            MeasuredColumn("bounds", "above threshold", size, moved, moved**2, grid, found.bounds or (), BOUNDS),
        )

    @property
    def description(self) -> str:
        """In words, with its noise."""
        return (
            f"bounds that are widened until the sum grows as by fewer than {-int(self.mechanism.threshold):,} rows; "
            f"{self.least_rows:,} rows on a side are needed"
        )


BoundSearch = ByCounts | ByGrowth


def by_counts(scale: Scale, spent: Spending, caps: Caps, groups: int, neighbours: Neighbours) -> ByCounts:
    """All groups are counted together: one unit has as many rows there as in all groups at most."""
    together = Caps(spread(caps, groups).l1)
    moved = sensitivity(CountRows(), together, 1, neighbours, len(scale.bins))
    (noise,) = mechanisms(spent, (Fraction(1),), (moved,))
    return ByCounts(scale, noise, moved)


def by_growth(scale: Scale, epsilon: Fraction, caps: Caps, groups: int, neighbours: Neighbours) -> ByGrowth:
    """Under add_remove, rows only make sums grow on both sides."""
    together = Caps(spread(caps, groups).l1)
    moved = sensitivity(CountRows(), together, 1, neighbours, 2)
    presence = Laplace(sensitivity=moved.l1, epsilon=epsilon * SHARE_OF_PRESENCE)
    words: dict[str, Any] = {
        "epsilon": epsilon * (1 - SHARE_OF_PRESENCE),
        "sensitivity": spread(caps, groups).l1,
        "answers": bool(scale.below) + bool(scale.above),
        "monotone": neighbours is Neighbours.ADD_REMOVE,
    }
    scales = AboveThreshold(threshold=0, **words).scales
    # noise on the threshold is drawn once, and where it is too high, bounds are widened without any growth
    least = math.ceil(scales.threshold * -math.log(OVERSHOT) + scales.comparison)
    return ByGrowth(scale, AboveThreshold(threshold=-least, **words), presence, moved)


def _growths(ends: Sequence[int], totals: Sequence[int]) -> list[int]:
    """By how many rows that are all beyond the next candidate each total is larger than the one before it.

    From one candidate to the next, a row adds at most their distance, so the growth over it, rounded down, is moved by
    a unit by at most its number of rows.
    """
    steps = zip(itertools.pairwise((0, *totals)), itertools.pairwise((0, *ends)), strict=True)
    return [(total - before) // (end - start) for (before, total), (start, end) in steps]


def _search_end(stream: Stream, ends: Sequence[int], growths: Sequence[int]) -> int:
    """The last candidate before which the total still grew."""
    reached = 0
    for end, growth in zip(ends, growths, strict=True):
        if stream.ask(-growth).is_above:
            break
        reached = end
    return reached
