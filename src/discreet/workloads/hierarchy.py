"""Areas within areas, and areas that cross them: estimates from noisy counts of all, in which every sum is right.

Cells are the finest areas; every other area is a set of cells. Partitions that nest form a chain from the cells up to
the total; partitions that cross the chain, such as ZIP areas, are measured beside it. Estimates are of cells, so that
all sums of them are consistent. Along the chain the least squares are solved node by node; where there are
crossing areas too, conjugate gradients start from that solution and end at the one for all.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Numbers = NDArray[np.int_]
Operator = Callable[[Vector], Vector]
_ITERATIONS = 200
_ENOUGH = 1e-11
_FITS = 30
_SHARP = 1e-6


@dataclass(frozen=True, eq=False)
class Partition:
    """Which area each cell is in, and how the areas are called."""

    name: str
    areas: tuple[str, ...]
    area_of: Numbers

    def sums(self, cells: NDArray) -> NDArray:  # type: ignore[type-arg]
        """The totals of the areas."""
        return _totals(self.area_of, cells, len(self.areas))


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """A chain of partitions, cells first and everything in one area last, and partitions that cross it."""

    chain: tuple[Partition, ...]
    crossing: tuple[Partition, ...] = ()

    @property
    def parts(self) -> tuple[Partition, ...]:
        """All partitions, in the order of what is measured."""
        return (*self.chain, *self.crossing)

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return len(self.chain[0].areas)

    @cached_property
    def parents(self) -> tuple[Numbers, ...]:
        """For each partition of the chain but the last, the area of the next one that each of its areas is in."""
        return tuple(_parents(fine, coarse) for fine, coarse in pairwise(self.chain))

    def exact(self, counts: Sequence[int]) -> list[list[int]]:
        """The counts of all areas, partition by partition."""
        cells = np.array(counts, dtype=object)
        return [[int(total) for total in part.sums(cells)] for part in self.parts]

    def variances(self, noises: Sequence[complex]) -> list[NDArray]:  # type: ignore[type-arg]
        """The variance of the least-squares estimate of every area, where the noise of the partitions has these.

        It is exact where nothing crosses the chain. Elsewhere it is at least the true one: areas of the chain use
        the chain alone, and an area that crosses it uses its own count and those of its cells.
        """
        down = self._down(list(self._up(np.full(self.cells, noises[0]), noises)))
        for part, noise in zip(self.crossing, noises[len(self.chain) :], strict=True):
            several = part.sums(np.full(self.cells, noises[0]))
            down.append(several / (1 + several / noise))
        return down

    def weights(self, noises: Sequence[float]) -> list[Vector]:
        """How much each noisy count counts in the least-squares estimate of each area, partition by partition.

        One row for each area, in the order of `parts`, and one column for each count of a partition. It takes a matrix
        of all cells by all cells.
        """
        marks = [np.eye(len(part.areas))[part.area_of] for part in self.parts]
        every = np.concatenate(marks, axis=1)
        normal = sum((mark @ mark.T / noise for mark, noise in zip(marks, noises, strict=True)), np.zeros(()))
        solved = np.linalg.solve(normal, every).T
        return [solved @ mark / noise for mark, noise in zip(marks, noises, strict=True)]

    def chain_weights(self, noises: Sequence[float]) -> "ChainWeights":
        """Powers of the weights in the estimate of each area where nothing crosses the chain, in linear time.

        An area has an estimate from what lies in it. Its final estimate is a multiple of that, one of those of its
        siblings, and a share of the final estimate of the area that they lie in.
        """
        sizes = list(self._up(np.full(self.cells, noises[0]), noises))
        totals = [
            _totals(parents, size, len(part.areas))
            for parents, size, part in zip(self.parents, sizes, self.chain[1:], strict=False)
        ]
        own = [
            np.ones(self.cells),
            *(total / (noise + total) for total, noise in zip(totals, noises[1:], strict=False)),
        ]
        inner = [ChainWeights.nothing(self.cells, len(own))]
        for level, parents in enumerate(self.parents):
            below = inner[-1].joined(level, own[level]).collected(parents, len(own[level + 1]))
            inner.append(below.times(1 - own[level + 1]))
        of_self, outer = np.ones(1), ChainWeights.nothing(1, len(own))
        found = [outer.beside(inner[-1].times(of_self)).with_own(len(own) - 1, own[-1])]
        for level in range(len(own) - 2, -1, -1):
            parents, mine = self.parents[level], inner[level].joined(level, own[level])
            share = sizes[level] / totals[level][parents]
            whole = (of_self * (1 - own[level + 1]))[parents]
            others = (
                mine.collected(parents, len(own[level + 1])).taken(parents).without(mine).times(share * (1 - whole))
            )
            outer = found[-1].with_rest(outer).taken(parents).times(share).beside(others)
            of_self = 1 - share + share * whole
            found.append(outer.beside(inner[level].times(of_self)).with_own(level, of_self * own[level]))
        every = found[::-1]
        return ChainWeights(*(np.concatenate([getattr(each, name) for each in every]) for name in ChainWeights.names))

    def fit(self, noisy: Sequence[Sequence[int]], noises: Sequence[float]) -> Vector:
        """Least squares: the cells that fit all noisy counts best."""
        return self._fit_free_cells(
            [np.array(column, dtype=np.float64) for column in noisy], noises, np.ones(self.cells, bool)
        )

    def fit_nonnegative(self, noisy: Sequence[Sequence[int]], noises: Sequence[float]) -> Vector:
        """Cells of at least zero: those that come out below are set to zero, and the others fitted again."""
        columns = [np.array(column, dtype=np.float64) for column in noisy]
        free = np.ones(self.cells, bool)
        for _ in range(_FITS):
            cells = self._fit_free_cells(columns, noises, free)
            below = cells < 0
            if not below.any():
                break
            free &= ~below
        return np.maximum(cells, 0)

    def round_cells(self, cells: Vector) -> list[int]:
        """Whole cells of at least zero, from the top down: every area of the chain is less than one from its sum.

        Each area is its parent's whole number, divided: all children are rounded down, and what is left goes to those
        with the largest remainders; among cells, those come first whose crossing areas have lost most so far.
        """
        sums = [_sharp(part.sums(cells)) for part in self.chain]
        whole = np.rint(sums[-1])
        for level in range(len(sums) - 2, -1, -1):
            down = np.floor(sums[level])
            left = whole - np.bincount(self.parents[level], down, len(whole))
            rank = sums[level] - down
            if level == 0 and self.crossing:
                rank = np.where(rank > 0, 1 + rank + 1e-3 * self._rounding_loss(rank), rank)
            whole = down + _largest(rank, self.parents[level], np.asarray(left, dtype=np.float64))
        return [int(cell) for cell in whole]

    def _rounding_loss(self, remainders: Vector) -> Vector:
        """The amount that rounding down removes from the crossing areas of each cell."""
        return sum((part.sums(remainders)[part.area_of] for part in self.crossing), np.zeros(self.cells))

    def _fit_free_cells(self, noisy: Sequence[Vector], noises: Sequence[float], free: NDArray[np.bool_]) -> Vector:
        chained = len(self.chain)
        alone = np.where(free, noises[0], 0.0)
        cells = self._fit_chain(noisy[:chained], noises, alone)
        if not self.crossing:
            return cells
        precisions = [1 / noise for noise in noises]
        columns = zip(self.parts, noisy, precisions, strict=True)
        target = sum(((p * y)[part.area_of] for part, y, p in columns), np.zeros(self.cells))
        nothing = [np.zeros(len(part.areas)) for part in self.chain[1:]]

        def normal(x: Vector) -> Vector:
            pairs = zip(self.parts, precisions, strict=True)
            return free * sum(((p * part.sums(x))[part.area_of] for part, p in pairs), np.zeros(self.cells))

        def near(residual: Vector) -> Vector:
            return self._fit_chain([alone * residual, *nothing], noises, alone)

        return _conjugate(normal, near, free * target, cells)

    def _up(self, alone: NDArray, noises: Sequence[complex]) -> Iterator[NDArray]:  # type: ignore[type-arg]
        """The variance of each area as far as what lies in it tells, level by level."""
        sizes = alone
        yield sizes
        for parents, part, noise in zip(self.parents, self.chain[1:], noises[1:], strict=False):
            together = _totals(parents, sizes, len(part.areas))
            sizes = together / (1 + together / noise)
            yield sizes

    def _down(self, up: list[NDArray]) -> list[NDArray]:  # type: ignore[type-arg]
        """The variance of each area once everything above it is known too."""
        settled = [up[-1]]
        for level in range(len(up) - 2, -1, -1):
            parents, sizes = self.parents[level], up[level]
            together = _totals(parents, sizes, len(up[level + 1]))[parents]
            settled.append(sizes - sizes**2 / together * (1 - settled[-1][parents] / together))
        return settled[::-1]

    def _fit_chain(self, noisy: Sequence[Vector], noises: Sequence[float], alone: Vector) -> Vector:
        """The least squares along the chain; cells whose variance is zero are zero."""
        sizes = list(self._up(alone, noises))
        estimates = [np.where(alone > 0, noisy[0], 0.0)]
        for level, (parents, noise) in enumerate(zip(self.parents, noises[1:], strict=False), start=1):
            areas = len(self.chain[level].areas)
            below, together = _totals(parents, estimates[-1], areas), _totals(parents, sizes[level - 1], areas)
            estimates.append((below + together * noisy[level] / noise) / (1 + together / noise))
        settled = estimates[-1]
        for level in range(len(estimates) - 2, -1, -1):
            parents, areas = self.parents[level], len(settled)
            together = _totals(parents, sizes[level], areas)
            short = settled - _totals(parents, estimates[level], areas)
            share = np.divide(short, together, out=np.zeros(areas), where=together > 0)
            settled = estimates[level] + sizes[level] * share[parents]
        return settled


@dataclass(frozen=True, eq=False)
class ChainWeights:
    """How much noisy counts of each level count in estimates; one row for each estimate, one column for each level.

    Attributes:
        path: Weight of the count of the area itself, and of the areas that it lies in.
        second: Sum of the squared weights of all other counts.
        fourth: Sum of their fourth powers.
        largest: At least the largest of their absolute values.
    """

    path: Vector
    second: Vector
    fourth: Vector
    largest: Vector

    names = ("path", "second", "fourth", "largest")

    @classmethod
    def nothing(cls, areas: int, levels: int) -> "ChainWeights":
        """No weights."""
        return cls(*np.zeros((4, areas, levels)))

    def times(self, factor: Vector) -> "ChainWeights":
        """All weights times a factor for each row."""
        by = np.abs(factor)[:, None]
        return ChainWeights(self.path * by, self.second * by**2, self.fourth * by**4, self.largest * by)

    def with_own(self, level: int, weight: Vector) -> "ChainWeights":
        """The same with a weight of an area's own count."""
        path = self.path.copy()
        path[:, level] = np.abs(weight)
        return ChainWeights(path, self.second, self.fourth, self.largest)

    def with_rest(self, rest: "ChainWeights") -> "ChainWeights":
        """The path of this with all others of another."""
        return ChainWeights(self.path, rest.second, rest.fourth, rest.largest)

    def joined(self, level: int, weight: Vector) -> "ChainWeights":
        """The same with one more count of a level, not on the path."""
        more = np.zeros_like(self.second)
        more[:, level] = np.abs(weight)
        return ChainWeights(self.path, self.second + more**2, self.fourth + more**4, np.maximum(self.largest, more))

    def beside(self, other: "ChainWeights") -> "ChainWeights":
        """Together with others, which have no path."""
        largest = np.maximum(self.largest, other.largest)
        return ChainWeights(self.path, self.second + other.second, self.fourth + other.fourth, largest)

    def without(self, other: "ChainWeights") -> "ChainWeights":
        """Without some of them."""
        second, fourth = np.maximum(self.second - other.second, 0), np.maximum(self.fourth - other.fourth, 0)
        return ChainWeights(self.path, second, fourth, np.minimum(self.largest, np.sqrt(second)))

    def taken(self, rows: Numbers) -> "ChainWeights":
        """Some rows."""
        return ChainWeights(self.path[rows], self.second[rows], self.fourth[rows], self.largest[rows])

    def collected(self, parents: Numbers, areas: int) -> "ChainWeights":
        """Those of all areas of a parent in one row; paths are left out."""
        found = ChainWeights.nothing(areas, self.second.shape[1])
        np.add.at(found.second, parents, self.second)
        np.add.at(found.fourth, parents, self.fourth)
        np.maximum.at(found.largest, parents, self.largest)
        return found


def _parents(fine: Partition, coarse: Partition) -> Numbers:
    parents = np.zeros(len(fine.areas), dtype=np.int_)
    parents[fine.area_of] = coarse.area_of
    return parents


def _totals(parents: Numbers, values: NDArray, areas: int) -> NDArray:  # type: ignore[type-arg]
    if values.dtype == np.float64:
        return np.bincount(parents, values, areas)
    totals = np.zeros(areas, dtype=values.dtype)
    np.add.at(totals, parents, values)
    return totals


def _sharp(sums: Vector) -> Vector:
    """Sums that are next to a whole number are that number: floats of whole cells are rounded down to themselves."""
    near = np.rint(sums)
    result: Vector = np.where(np.abs(sums - near) < _SHARP, near, sums)
    return result


def _largest(rank: Vector, parents: Numbers, left: Vector) -> Vector:
    """One more for as many children of each parent as it has left, those of the highest rank first."""
    order = np.lexsort((-rank, parents))
    starts = np.searchsorted(parents[order], np.arange(len(left)))
    more = np.zeros(len(rank))
    more[order] = (np.arange(len(rank)) - starts[parents[order]]) < left[parents[order]]
    return more


def _conjugate(normal: Operator, near: Operator, target: Vector, start: Vector) -> Vector:
    """The solution of a positive system, from a start and by way of an approximate inverse."""
    place, residual = start, target - normal(start)
    turned = near(residual)
    direction, size = turned, float(residual @ turned)
    limit = _ENOUGH**2 * float(target @ near(target))
    for _ in range(_ITERATIONS):
        if size <= limit:
            break
        image = normal(direction)
        step = size / float(direction @ image)
        place, residual = place + step * direction, residual - step * image
        turned = near(residual)
        before, size = size, float(residual @ turned)
        direction = turned + size / before * direction
    return place
