"""Counts at every level of a tree over bins, and the least-squares estimates of the bins from noisy ones.

A tree has one leaf for each bin; every further level adds up `branching` nodes of the one before, the last of them
fewer where they do not come out even, until one node is left. Noise of its own variance is on each level. With 1/v for
the precision w of a level, the normal equations of the least squares are a sum of a diagonal and, for each node, a
matrix of rank one; the Sherman-Morrison formula inverts them node by node, so that estimates and their variances take
one pass up the tree and one down.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
_Profile = list[tuple[int, float, int]]


@dataclass(frozen=True)
class Tree:
    """A tree over so many leaves whose nodes have `branching` children each, the last of a level perhaps fewer."""

    leaves: int
    branching: int

    def __post_init__(self) -> None:
        if self.leaves < 1 or self.branching < 2:
            raise ValueError("a tree has at least one leaf, and nodes have at least two children")

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """The number of nodes of each level: leaves first, the root last."""
        widths = [self.leaves]
        while widths[-1] > 1:
            widths.append(-(-widths[-1] // self.branching))
        return tuple(widths)

    def sums(self, leaves: Sequence[int]) -> list[list[int]]:
        """The exact counts of every level, leaves first."""
        levels = [list(leaves)]
        for _ in self.widths[1:]:
            below = levels[-1]
            levels.append([sum(below[i : i + self.branching]) for i in range(0, len(below), self.branching)])
        return levels

    def consistent(self, noisy: Sequence[Sequence[int]], variances: Sequence[float]) -> Vector:
        """The leaves that fit the noisy counts of all levels best, each weighed by the variance of its noise.

        A level with an infinite variance was not measured, and what stands for it is not read. Leaves are measured.
        """
        return self.solve([np.asarray(level, dtype=np.float64) for level in noisy], variances)

    def solve(self, noisy: Sequence[Vector], variances: Sequence[float]) -> Vector:
        """The same for arrays of several trees at once; nodes are along the last axis."""
        kept = self._subtrees(np.asarray(variances, dtype=np.float64))
        estimates = [noisy[0]]
        for level, (below, precision) in enumerate(zip(kept, self._precisions(variances), strict=False), start=1):
            total, size = self._sibling_totals(estimates[-1]), self._sibling_totals(below)
            measured = precision * noisy[level] if precision else 0.0
            estimates.append((total + size * measured) / (1 + size * precision))
        settled = estimates.pop()
        while estimates:
            below, size = estimates.pop(), kept[len(estimates)]
            settled = below + size * self._spread(
                (settled - self._sibling_totals(below)) / self._sibling_totals(size), below.shape[-1]
            )
        return settled

    def weights(self, leaves: Vector, variances: Sequence[float]) -> list[Vector]:
        """How much the noise of each node counts in the estimate of a weighted sum of leaves, level by level."""
        start = [np.asarray(leaves * variances[0], dtype=np.float64)]
        start += [np.zeros((*leaves.shape[:-1], width)) for width in self.widths[1:]]
        sums = [self.solve(start, variances)]
        for _ in self.widths[1:]:
            sums.append(self._sibling_totals(sums[-1]))
        precisions = (1 / variances[0], *self._precisions(variances))
        return [precision * level for precision, level in zip(precisions, sums, strict=True)]

    def contrast_weights(self, share: float, variances: Sequence[float]) -> tuple[list[Vector], list[Vector]]:
        """How much noise counts in the estimate of (leaves below a boundary) - share (all leaves), at each boundary.

        Nodes of a level that count alike are one column: there are few, because every subtree that the boundary does
        not cut counts as a whole.

        Args:
            share: Part of all leaves that is taken off.
            variances: Variance of the noise of each level; infinite where it was not measured.

        Returns:
            For each level, one row for each boundary 1, ..., leaves - 1: the weights, and how many nodes have each.
        """
        kept = self._subtrees(np.asarray(variances, dtype=np.float64))
        own = self._own_shares(kept, variances)
        profiles = [self._profiles(own, level) for level in range(len(own))]
        boundary = np.arange(1, self.leaves)
        below = self._shares_below(boundary, kept)
        weights: list[list[Vector]] = [[] for _ in own]
        counts: list[list[Vector]] = [[] for _ in own]

        def add(level: int, weight: Vector, count: Vector) -> None:
            weights[level].append(weight)
            counts[level].append(count)

        of_node, is_cut = below[-1] - share, np.ones(len(boundary), bool)
        for level in range(len(own) - 2, -1, -1):
            parent, child = boundary // self.branching ** (level + 1), boundary // self.branching**level
            mine = own[level + 1][parent]
            add(level + 1, mine * of_node, is_cut * 1.0)
            common = below[level + 1] - of_node * (1 - mine)
            cuts = is_cut & (boundary % self.branching**level != 0)
            end = np.minimum((parent + 1) * self.branching, self.widths[level])
            is_ragged = is_cut & (end == self.widths[level]) & (child + cuts < end) & (profiles[level][1] is not None)
            left, right = is_cut * (child - parent * self.branching), is_cut * (end - child - cuts) - is_ragged
            for deeper, weight, count in profiles[level][0] or ():
                add(deeper, (1 - common) * weight, left * count)
                add(deeper, common * weight, right * count)
            for deeper, weight, count in profiles[level][1] or ():
                add(deeper, common * weight, is_ragged * count)
            of_node, is_cut = np.where(cuts, below[level] - common, 0.0), cuts
        return [np.stack(level, axis=1) for level in weights], [np.stack(level, axis=1) for level in counts]

    def range_variance(self, lo: int, hi: int, variances: Sequence[float]) -> float:
        """The variance of the least-squares answer to how many there are in leaves lo to hi - 1."""
        return float(self.range_variances(np.array([lo]), np.array([hi]), variances)[0])

    def range_variances(self, lo: NDArray[np.int_], hi: NDArray[np.int_], variances: Sequence[float]) -> Vector:
        """The variances of many ranges of leaves, each not empty."""
        return self._ranges(lo, hi, np.asarray(variances, dtype=np.float64)).astype(np.float64)

    def slopes(self, lo: NDArray[np.int_], hi: NDArray[np.int_], variances: Sequence[float]) -> Vector:
        """The total of the variances of ranges, differentiated by the variance of each level that is measured.

        A variance is a ratio of polynomials in those of the levels, so a step along the imaginary axis gives its
        derivative to the last digit.
        """
        slopes = np.zeros(len(variances))
        for level, variance in enumerate(variances):
            if math.isfinite(variance):
                step = variance * 1e-100
                shifted = np.asarray(variances, dtype=np.complex128)
                shifted[level] += 1j * step
                slopes[level] = self._ranges(lo, hi, shifted).imag.sum() / step
        return slopes

    def _ranges(self, lo: NDArray[np.int_], hi: NDArray[np.int_], variances: NDArray) -> NDArray:  # type: ignore[type-arg]
        """Variances of ranges, one level after the other.

        A node that is partly in a range has the variance q of that part in its subtree and its covariance p with all
        of the subtree; a node that is whole has q = p = its own variance. Only the first and the last node of a range
        on each level can be partly in it.
        """
        kept = self._subtrees(variances)
        first, last = lo, hi - 1
        left = right = (kept[0][lo], kept[0][lo])
        right = (kept[0][last], kept[0][last])
        for below, precision, width in zip(kept, self._precisions(variances), self.widths, strict=False):
            running = np.concatenate([[0], np.cumsum(below)])
            size = self._sibling_totals(below)
            up, down = first // self.branching, last // self.branching
            together, one = up == down, first == last
            end = np.where(together, last, np.minimum((up + 1) * self.branching, width))
            after = running[np.maximum(end, first + 1)] - running[first + 1]
            before = running[last] - running[np.minimum(down * self.branching, last)]
            also = together & ~one
            left_new = tuple(mine + after + np.where(also, other, 0) for mine, other in zip(left, right, strict=True))
            right_new = tuple(mine + before for mine in right)
            left = _after_measurement(left_new, size[up], precision)
            right = _after_measurement(right_new, size[down], precision)
            right = tuple(np.where(together, a, b) for a, b in zip(left, right, strict=True))  # type: ignore[assignment]
            first, last = up, down
        return left[0]

    def _subtrees(self, variances: NDArray) -> list[NDArray]:  # type: ignore[type-arg]
        """The variance of each node's count as far as its own subtree tells it, level by level."""
        levels = [np.full(self.leaves, variances[0])]
        for precision in self._precisions(variances):
            size = self._sibling_totals(levels[-1])
            levels.append(size / (1 + size * precision))
        return levels

    def _own_shares(self, kept: list[NDArray], variances: Sequence[float]) -> list[Vector]:  # type: ignore[type-arg]
        """How much the count of a node itself counts in its estimate from its own subtree, level by level."""
        shares = [np.ones(self.leaves)]
        for below, precision in zip(kept, self._precisions(variances), strict=False):
            seen = self._sibling_totals(below) * precision
            shares.append(seen / (1 + seen))
        return shares

    def _profiles(self, own: list[Vector], level: int) -> tuple[_Profile | None, _Profile | None]:
        """Weights of all nodes in the estimate of one from its own subtree: of a full node, and of a last that is not.

        Each is a list of levels, weights, and how many nodes have them.
        """
        full: _Profile | None = None
        ragged: _Profile | None = None
        for place in range(level + 1):
            is_ragged, nodes = self.leaves % self.branching**place != 0, len(own[place])
            children = len(own[place - 1]) - (nodes - 1) * self.branching - (ragged is not None) if place else 0
            last = _grow(place, float(own[place][-1]), (full, children), (ragged, 1)) if is_ragged else None
            head = own[place][0] if nodes > is_ragged else None
            full = None if head is None else _grow(place, float(head), (full, self.branching))
            ragged = last
        return full, ragged

    def _shares_below(self, boundary: NDArray[np.int_], kept: list[NDArray]) -> list[Vector]:  # type: ignore[type-arg]
        """The part of a cut node that its children below each boundary have of it, level by level."""
        shares = [np.zeros(len(boundary))]
        for level, sizes in enumerate(kept[:-1]):
            running = np.concatenate([[0.0], np.cumsum(sizes)])
            parent, child = boundary // self.branching ** (level + 1), boundary // self.branching**level
            end = np.minimum((parent + 1) * self.branching, len(sizes))
            cut = np.where(boundary % self.branching**level, shares[-1] * sizes[np.minimum(child, len(sizes) - 1)], 0.0)
            start = running[parent * self.branching]
            shares.append((running[child] - start + cut) / (running[end] - start))
        return shares

    def _precisions(self, variances: Sequence[float] | NDArray) -> Iterator[float]:  # type: ignore[type-arg]
        """One over the variance of each level above the leaves; nothing where it was not measured."""
        return (0.0 if np.isinf(variance) else 1 / variance for variance in list(variances)[1:])

    def _sibling_totals(self, level: NDArray) -> NDArray:  # type: ignore[type-arg]
        """The totals of siblings."""
        starts = np.arange(0, level.shape[-1], self.branching)
        return np.add.reduceat(level, starts, axis=-1)

    def _spread(self, parents: Vector, width: int) -> Vector:
        """The value of each node's parent."""
        return np.repeat(parents, self.branching, axis=-1)[..., :width]


def _after_measurement(part: tuple[NDArray, ...], size: NDArray, precision: complex) -> tuple[NDArray, NDArray]:  # type: ignore[type-arg]
    """The variance and covariance of a part of a node, once the node itself has been measured too."""
    variance, covariance = part
    seen = 1 + size * precision
    return variance - covariance**2 * precision / seen, covariance / seen


def _grow(level: int, own: float, *subtrees: tuple[_Profile | None, int]) -> _Profile:
    """The profile of a node of a level, from those of its children and how many of each it has."""
    below = [
        (deeper, (1 - own) * weight, children * count)
        for profile, children in subtrees
        for deeper, weight, count in profile or ()
    ]
    return [(level, own, 1), *below]
