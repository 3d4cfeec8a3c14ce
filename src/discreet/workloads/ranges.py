"""A workload of ranges over bins, the strategies to measure it by, and the one whose expected error is least.

A strategy says which sums of bins are measured, each part with a share of the budget; the bins are then estimated by
least squares, and a range is the sum of its bins. The error of every range is known before anything is measured: the
strategies are a flat histogram, trees of every sensible branching whose levels have the best shares, and a matrix that
was made for the workload. None of it depends on how much is spent, so one choice serves every privacy cost.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.catalog.privacy_unit import Neighbours
from discreet.workloads import optimal
from discreet.workloads.matrix import Matrix, SensitivityNorms
from discreet.workloads.tree import Tree

Vector = NDArray[np.float64]
Power = Literal[1, 2]

BRANCHINGS = (2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32)
_ROUNDS = 60
_ENOUGH = 1e-5
_LEAST_SHARE = 2e-3
_DIGITS = 4
_FEW = 64


@dataclass(frozen=True)
class RangeWorkload:
    """RangeWorkload of bins, each from a first bin up to one that is no longer in it."""

    bins: int
    pairs: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        if not self.pairs or not all(0 <= lo < hi <= self.bins for lo, hi in self.pairs):
            raise ValueError("a range has at least one bin, and there is at least one range")

    @cached_property
    def ends(self) -> tuple[NDArray[np.int_], NDArray[np.int_]]:
        """The first bins, and those after the last."""
        table = np.array(self.pairs)
        return table[:, 0], table[:, 1]

    @cached_property
    def gram(self) -> Vector:
        """How many ranges each pair of bins is in together."""
        lo, hi = self.ends
        marks = np.zeros((self.bins + 1, self.bins + 1))
        for rows, columns, sign in ((lo, lo, 1), (lo, hi, -1), (hi, lo, -1), (hi, hi, 1)):
            np.add.at(marks, (rows, columns), sign)
        result: Vector = marks.cumsum(axis=0).cumsum(axis=1)[:-1, :-1]
        return result

    def indicators(self) -> Vector:
        """One row for each range: ones in its bins."""
        lo, hi = self.ends
        bins = np.arange(self.bins)
        return ((bins >= lo[:, None]) & (bins < hi[:, None])).astype(np.float64)


class Strategy(Protocol):
    """What is measured for a workload, and how ranges are read off it."""

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """The share of the budget of each part that is measured; they add up to one."""

    @property
    def places(self) -> tuple[str, ...]:
        """What the integers of each part stand for, in words."""

    def exact(self, counts: Sequence[int]) -> list[list[int]]:
        """The whole numbers of each part."""

    def sensitivity(self, rows: int, neighbours: Neighbours) -> tuple[SensitivityNorms, ...]:
        """Sensitivity of each part to one unit of so many rows."""

    def estimates(self, noisy: Sequence[Sequence[int]], variances: Sequence[float]) -> Vector:
        """The bins that fit noisy parts best."""

    def weights(self, sums: Vector, variances: Sequence[float]) -> list[Vector]:
        """How much each noisy integer counts in each weighted sum of bins, part by part."""

    def error(self, workload: RangeWorkload, variances: Sequence[float]) -> Vector:
        """The variance of each range, where the noise of the parts has these."""


@dataclass(frozen=True)
class Levels:
    """Levels of a tree over the bins; with the leaves alone, a flat histogram. `kept` says which are measured."""

    tree: Tree
    kept: tuple[int, ...]
    shares: tuple[Fraction, ...]

    @property
    def places(self) -> tuple[str, ...]:
        """What the integers of each part stand for, in words."""
        return tuple(
            "bins" if level == 0 else f"sums of {self.tree.branching**level} bins beside each other"
            for level in self.kept
        )

    def exact(self, counts: Sequence[int]) -> list[list[int]]:
        """The counts of each level that is measured."""
        levels = self.tree.sums(counts)
        return [levels[level] for level in self.kept]

    def sensitivity(self, rows: int, neighbours: Neighbours) -> tuple[SensitivityNorms, ...]:
        """A row is in one node of a level, so a unit changes one node for each row, and a replaced one twice that."""
        return tuple(_bin_sensitivity(self.tree.widths[level], rows, neighbours) for level in self.kept)

    def estimates(self, noisy: Sequence[Sequence[int]], variances: Sequence[float]) -> Vector:
        """The bins that fit noisy levels best."""
        levels: list[Sequence[int]] = [()] * len(self.tree.widths)
        for level, column in zip(self.kept, noisy, strict=True):
            levels[level] = column
        return self.tree.consistent(levels, self._all(variances))

    def weights(self, sums: Vector, variances: Sequence[float]) -> list[Vector]:
        """How much each noisy count of a level counts in each weighted sum of bins."""
        levels = self.tree.weights(sums, self._all(variances))
        return [levels[level] for level in self.kept]

    def error(self, workload: RangeWorkload, variances: Sequence[float]) -> Vector:
        """The variance of each range, where the noise of the levels has these."""
        return self.tree.range_variances(*workload.ends, self._all(variances))

    def _all(self, variances: Sequence[float]) -> list[float]:
        every = [np.inf] * len(self.tree.widths)
        for level, variance in zip(self.kept, variances, strict=True):
            every[level] = variance
        return every


@dataclass(frozen=True)
class MatrixStrategy:
    """Matrix mechanism: all rows of a matrix, with one noise."""

    matrix: Matrix
    shares: tuple[Fraction, ...] = (Fraction(1),)

    @property
    def places(self) -> tuple[str, ...]:
        """What the integers stand for, in words."""
        return (f"rows of the strategy matrix {self.matrix.name}",)

    def exact(self, counts: Sequence[int]) -> list[list[int]]:
        """The weighted sums of the bins."""
        return [self.matrix.product(list(counts))]

    def sensitivity(self, rows: int, neighbours: Neighbours) -> tuple[SensitivityNorms, ...]:
        """Sensitivity of the matrix product."""
        return (self.matrix.sensitivity(rows, neighbours),)

    def estimates(self, noisy: Sequence[Sequence[int]], variances: Sequence[float]) -> Vector:  # noqa: ARG002 - one noise for all
        """The bins that fit noisy sums best."""
        return self.matrix.inverse @ np.asarray(noisy[0], dtype=np.float64)

    def weights(self, sums: Vector, variances: Sequence[float]) -> list[Vector]:  # noqa: ARG002 - one noise for all
        """How much each noisy sum counts in each weighted sum of bins."""
        return [sums @ self.matrix.inverse]

    def error(self, workload: RangeWorkload, variances: Sequence[float]) -> Vector:
        """The variance of each range, where the noise has this one."""
        (variance,) = variances
        running = np.vstack([np.zeros(len(self.matrix.entries)), self.matrix.inverse.cumsum(axis=0)])
        lo, hi = workload.ends
        result: Vector = variance * np.square(running[hi] - running[lo]).sum(axis=1)
        return result


def expected_variance(strategy: Strategy, workload: RangeWorkload, power: Power, neighbours: Neighbours) -> Vector:
    """The variance of each range for a unit of one row and a budget of one: epsilon (power 2) or rho (power 1).

    At epsilon, it is this over epsilon^2; at rho, over rho; with R rows of a unit, R^2 times as much. Continuous noise
    stands for discrete, which is a little less.
    """
    norms = strategy.sensitivity(1, neighbours)
    parts = [size(each, power) / float(share) ** power for each, share in zip(norms, strategy.shares, strict=True)]
    return strategy.error(workload, parts)


def size(norms: SensitivityNorms, power: Power) -> float:
    """The variance of noise for all of a budget of one."""
    return 2.0 * norms.l1**2 if power == 2 else norms.l2_squared / 2


def flat(bins: int) -> Levels:
    """The histogram alone."""
    return Levels(Tree(bins, max(2, bins)), (0,), (Fraction(1),))


def candidates(workload: RangeWorkload, power: Power, neighbours: Neighbours) -> Iterator[Strategy]:
    """Every strategy that is compared."""
    yield flat(workload.bins)
    for branching in BRANCHINGS:
        if branching < workload.bins or branching == BRANCHINGS[0] <= workload.bins:
            yield balance_levels(workload, Tree(workload.bins, branching), power, neighbours)
    distinct = dict.fromkeys(workload.pairs)
    if 1 < workload.bins <= optimal.MOST_BINS:
        if len(distinct) <= min(workload.bins, _FEW):
            yield MatrixStrategy(Matrix(RangeWorkload(workload.bins, tuple(distinct)).indicators().astype(np.int64)))
        yield MatrixStrategy(optimal.for_l1(workload.gram) if power == 2 else optimal.for_l2(workload.gram))


@lru_cache(maxsize=64)
def best(workload: RangeWorkload, power: Power, neighbours: Neighbours) -> Strategy:
    """The strategy with the least mean error over the workload; of equal ones the first, which is the simplest."""
    every = list(candidates(workload, power, neighbours))
    return min(every, key=lambda each: float(expected_variance(each, workload, power, neighbours).mean()))


def balance_levels(workload: RangeWorkload, tree: Tree, power: Power, neighbours: Neighbours) -> Levels:
    """A tree whose levels have the shares that make the mean error of the workload least, or next to it.

    For given weights of the noisy counts, the best shares are known in closed form; for given shares, so are the best
    weights; each step can only lower the error. Levels that are left with next to nothing are not measured.
    """
    units = np.array([size(_bin_sensitivity(width, 1, neighbours), power) for width in tree.widths])
    shares, least, best_shares = np.full(len(units), 1 / len(units)), np.inf, np.full(len(units), 1 / len(units))
    for _ in range(_ROUNDS):
        variances = np.divide(units, shares**power, out=np.full(len(units), np.inf), where=shares > 0)
        error = float(tree.range_variances(*workload.ends, list(variances)).sum())
        if error > least * (1 - _ENOUGH):
            break
        least, best_shares = error, shares
        roots = np.maximum(tree.slopes(*workload.ends, list(variances)) * units, 0) ** (1 / (1 + power))
        shares = _trim_shares(np.where(shares > 0, roots, 0))
    kept = np.nonzero(best_shares)[0]
    brief = [Fraction(f"{share:.{_DIGITS}g}") for share in best_shares[kept]]
    whole = sum(brief, Fraction(0))
    return Levels(tree, tuple(map(int, kept)), tuple(share / whole for share in brief))


def _trim_shares(shares: Vector) -> Vector:
    """Shares that add up to one, without those that are hardly there; the leaves are always measured."""
    shares = shares / shares.sum()
    shares[1:][shares[1:] < _LEAST_SHARE] = 0
    shares[0] = max(shares[0], _LEAST_SHARE)
    result: Vector = shares / shares.sum()
    return result


def _bin_sensitivity(bins: int, rows: int, neighbours: Neighbours) -> SensitivityNorms:
    if neighbours is Neighbours.ADD_REMOVE or bins == 1:
        return SensitivityNorms(min(rows, bins), rows, rows**2, rows)
    return SensitivityNorms(min(2 * rows, bins), 2 * rows, 2 * rows**2, rows)
