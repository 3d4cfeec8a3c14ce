"""Quantiles and the interquartile range of whole numbers within public bounds: how far one unit can move them.

Definition
    x_1 <= ... <= x_n are whole steps in [low, high], at most m of each unit; x_i = low for i <= 0, high for i > n. The
    quantile of level q, 0 < q < 1, is f(x) = x_ceil(q n): the least step with at least a share q of the rows at or
    below it, and `low` where n = 0. With g = max(q, 1 - q) where one unit is added or removed, and g = 1 where one is
    replaced, A_k is the greatest x_ceil(q n + b) - x_ceil(q n + a) over real a <= 0 <= b with b - a <= m (k + g), and
    -a <= k m g, b <= (k + 1) m g or -a <= (k + 1) m g, b <= k m g.
    The interquartile range is the quantile of level 3/4 less that of 1/4; its A_k is the sum of theirs, or high - low
    where that is less.

Guarantee
    The contract of local.py, for both neighbour relations. For m = 1 and one row replaced this is the classic maximum
    of x_(r+t) - x_(r+t-k-1) over t = 0, ..., k + 1; where rows are added or removed a row moves the rank of a median by
    half a place only, and A_k reaches half as far. Proof: docs/proofs/mechanisms/smooth/quantiles.md.

Exactness
    Ranks are computed in rationals, steps and gaps in 64-bit integers, with bounds within 2^62.

Not covered
    Whether units are bounded. Rows beyond the bounds are put onto them. Time grows with the number of distinct steps.

References
    Nissim, Raskhodnikova and Smith, Smooth Sensitivity and Sampling in Private Data Analysis, STOC 2007, Section 3
    (the median).
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from discreet.catalog.privacy_unit import Neighbours
from discreet.errors import ParameterError, public_class
from discreet.exact.numbers import Number, positive, rational, shown, whole
from discreet.mechanisms.smooth.local import private_whole, relation_of

Whole = Sequence[int] | NDArray[np.integer[Any]]

_FARTHEST = 2**62


@public_class
class StepCounts:
    """Rows as distinct whole numbers in order, with the number of rows at each.

    Args:
        values: The distinct numbers, in order.
        counts: Number of rows at each.
        low: Lower bound.
        high: Upper bound.

    Example:
        >>> import discreet as dp
        >>> dp.mechanisms.smooth.StepCounts.of_rows([31, 35, 36, 36, 44], (0, 125)).count
        5
    """

    def __init__(self, values: NDArray[np.int64], counts: NDArray[np.int64], low: int, high: int) -> None:
        self._values, self._upto = values, np.cumsum(counts, dtype=np.int64)
        self._padded = np.append(values, np.int64(high))
        self.low, self.high = low, high
        self.count = int(self._upto[-1]) if len(self._upto) else 0

    @classmethod
    def of_rows(cls, rows: Whole, bounds: tuple[int, int]) -> Self:
        """Steps of rows.

        Args:
            rows: Whole numbers, one per row; those outside the bounds are clipped.
            bounds: Lowest and highest whole number.

        Returns:
            The steps.

        Raises:
            ParameterError: If the bounds are not two whole numbers in order.
        """
        low, high = _whole_bounds(bounds)
        values, counts = np.unique(_clip(rows, low, high), return_counts=True)
        return cls(values, counts.astype(np.int64), low, high)

    @classmethod
    def of_counts(cls, counts: Whole, low: int) -> Self:
        """Steps of a histogram.

        Args:
            counts: Number of rows at `low`, `low` + 1 and so on; cut at 0 and at 2^62 in all.
            low: The first number.

        Returns:
            The steps.

        Raises:
            ParameterError: If `low` is not a whole number.
        """
        first, high = _whole_bounds((low, low + max(1, len(counts) - 1)))
        rows = _clip(counts, 0, _FARTHEST // max(1, len(counts)))
        filled = np.flatnonzero(rows)
        return cls(filled.astype(np.int64) + first, rows[filled], first, high)

    def at_rank(self, rank: int) -> int:
        """Value at a rank.

        Args:
            rank: The rank, from 1.

        Returns:
            The value; the bounds outside the ranks.
        """
        if rank <= 0:
            return self.low
        return int(self._values[np.searchsorted(self._upto, rank)]) if rank <= self.count else self.high

    def widest(self, first: int, last: int, length: int) -> int:
        """Largest distance between values that are some ranks apart.

        Args:
            first: First rank of the lower value.
            last: Last rank of the lower value.
            length: Number of ranks between both values.

        Returns:
            The distance.
        """
        # x_i is constant up to a rank in `upto`, and x_(i + length) never falls: those ranks, 0 and `last` decide
        candidates = [i for i in (0, last) if first <= i <= last]
        best = max(self.at_rank(i + length) - self.at_rank(i) for i in candidates)
        ends = [max(0, min(rank, self.count + 1)) for rank in (first, last + 1)]
        start, stop = np.searchsorted(self._upto, ends)
        if start >= stop:
            return best
        ranks = np.searchsorted(self._upto, self._upto[start:stop] + min(length, self.count + 1))
        tops = self._padded[ranks]
        return max(best, int((tops - self._values[start:stop]).max()))


@public_class
class Quantile:
    """Quantile of whole numbers within bounds, with its local sensitivity.

    Args:
        rows: Whole numbers, one per row, or `StepCounts`; private.
        level: Part of the rows at or below it, above 0 and below 1.
        bounds: Lowest and highest whole number, for rows. Default: those of `StepCounts`.
        step: Size of one whole number, in the unit of the answer. Default 1.
        max_rows: Number of rows that one unit has at most. Default 1.
        neighbours: "add_remove" one unit, or "replace_one". Default "add_remove".

    Raises:
        ParameterError: If an argument is outside its range.

    Example:
        >>> import discreet as dp
        >>> dp.mechanisms.smooth.Quantile([31, 35, 36, 36, 44], level=0.9, bounds=(0, 125)).value()
        Fraction(44, 1)
    """

    def __init__(
        self,
        rows: Whole | StepCounts,
        *,
        level: Number,
        bounds: tuple[int, int] | None = None,
        step: Number = 1,
        max_rows: int = 1,
        neighbours: str = "add_remove",
    ) -> None:
        self.level = _level(level)
        self.step = positive(step, "step")
        self.max_rows = whole(max_rows, "max_rows")
        self.neighbours = relation_of(neighbours)
        self._steps = _steps(rows, bounds)

    @property
    def largest(self) -> Fraction:
        """The width of the bounds."""
        return (self._steps.high - self._steps.low) * self.step

    @property
    def reach(self) -> int:
        """How many units must change before no row need be left as it was."""
        return -(-self._steps.count // self.max_rows)

    def value(self) -> Fraction:
        """The exact answer. It is private.

        Returns:
            The answer.
        """
        return self._steps.at_rank(math.ceil(self.level * self._steps.count)) * self.step

    def at(self, distance: int) -> Fraction:
        """Local sensitivity at a distance: largest change by one unit, on any data within that many units. It is
        private.

        Args:
            distance: Number of units.

        Returns:
            The sensitivity.
        """
        share = Fraction(1) if self.neighbours is Neighbours.REPLACE_ONE else max(self.level, 1 - self.level)
        near, far = distance * self.max_rows * share, (distance + 1) * self.max_rows * share
        length = self.max_rows * (distance + share)
        return max(self._widest(near, far, length), self._widest(far, near, length)) * self.step

    def __repr__(self) -> str:
        return f"{type(self).__name__}(level={self.level}, bounds=({self._steps.low}, {self._steps.high}), ...)"

    def _widest(self, below: Fraction, above: Fraction, length: Fraction) -> int:
        """The greatest gap over a <= 0 <= b with -a <= below, b <= above and b - a <= length."""
        centre = self.level * self._steps.count
        first, top = math.ceil(centre - below), math.ceil(centre + above)
        end = max(first, math.ceil(centre + above - length))
        highest = self._steps.at_rank(top) - self._steps.at_rank(end)
        return highest if end == first else max(highest, self._steps.widest(first, end - 1, math.ceil(length)))


@public_class
class Median(Quantile):
    """Lower median of whole numbers within bounds, with its local sensitivity.

    Args:
        rows: Whole numbers, one per row, or `StepCounts`; private.
        bounds: Lowest and highest whole number, for rows. Default: those of `StepCounts`.
        step: Size of one whole number, in the unit of the answer. Default 1.
        max_rows: Number of rows that one unit has at most. Default 1.
        neighbours: "add_remove" one unit, or "replace_one". Default "add_remove".

    Raises:
        ParameterError: If an argument is outside its range.

    Example:
        >>> import discreet as dp
        >>> dp.mechanisms.smooth.Median([31, 35, 36, 36, 44], bounds=(0, 125)).value()
        Fraction(36, 1)
    """

    def __init__(
        self,
        rows: Whole | StepCounts,
        *,
        bounds: tuple[int, int] | None = None,
        step: Number = 1,
        max_rows: int = 1,
        neighbours: str = "add_remove",
    ) -> None:
        half = Fraction(1, 2)
        super().__init__(rows, level=half, bounds=bounds, step=step, max_rows=max_rows, neighbours=neighbours)


@public_class
class InterquartileRange:
    """Upper minus lower quartile of whole numbers within bounds, with its local sensitivity.

    Args:
        rows: Whole numbers, one per row, or `StepCounts`; private.
        bounds: Lowest and highest whole number, for rows. Default: those of `StepCounts`.
        step: Size of one whole number, in the unit of the answer. Default 1.
        max_rows: Number of rows that one unit has at most. Default 1.
        neighbours: "add_remove" one unit, or "replace_one". Default "add_remove".

    Raises:
        ParameterError: If an argument is outside its range.

    Example:
        >>> import discreet as dp
        >>> dp.mechanisms.smooth.InterquartileRange([31, 35, 36, 36, 44], bounds=(0, 125)).value()
        Fraction(1, 1)
    """

    def __init__(
        self,
        rows: Whole | StepCounts,
        *,
        bounds: tuple[int, int] | None = None,
        step: Number = 1,
        max_rows: int = 1,
        neighbours: str = "add_remove",
    ) -> None:
        steps = _steps(rows, bounds)
        self._quarters = tuple(
            Quantile(steps, level=Fraction(part, 4), step=step, max_rows=max_rows, neighbours=neighbours)
            for part in (1, 3)
        )

    @property
    def largest(self) -> Fraction:
        """The width of the bounds."""
        return self._quarters[0].largest

    @property
    def reach(self) -> int:
        """How many units must change before no row need be left as it was."""
        return self._quarters[0].reach

    def value(self) -> Fraction:
        """The exact answer. It is private.

        Returns:
            The answer.
        """
        lower, upper = self._quarters
        return upper.value() - lower.value()

    def at(self, distance: int) -> Fraction:
        """Local sensitivity at a distance: largest change by one unit, on any data within that many units. It is
        private.

        Args:
            distance: Number of units.

        Returns:
            The sensitivity.
        """
        return min(self.largest, sum((quarter.at(distance) for quarter in self._quarters), start=Fraction(0)))

    def __repr__(self) -> str:
        return f"InterquartileRange(largest={self.largest}, ...)"


def _steps(rows: Whole | StepCounts, bounds: tuple[int, int] | None) -> StepCounts:
    if isinstance(rows, StepCounts):
        return rows
    if bounds is None:
        raise ParameterError(
            "a quantile without bounds",
            because="the gap to the farthest possible row has no limit",
            instead="Median(rows, bounds=(0, 100)), or Median(StepCounts.of_counts(counts, low=0))",
        )
    return StepCounts.of_rows(rows, bounds)


def _level(level: Number) -> Fraction:
    share = rational(level, "level")
    if not 0 < share < 1:
        raise ParameterError(
            f"level={shown(share)}",
            because="it is a share of the rows, above 0 and below 1",
            instead=f"level={shown(share / 100) if 1 < share < 100 else '0.5'}",
        )
    return share


def _whole_bounds(bounds: tuple[int, int]) -> tuple[int, int]:
    low, high = (whole(bound, "bounds", least=-_FARTHEST // 2) for bound in bounds)
    if not low < high <= _FARTHEST // 2:
        raise ParameterError(
            f"bounds=({low}, {high})",
            because="the lower bound must be below the upper one, and both within 2**61 of zero",
            instead="bounds=(0, 100), in whole steps",
        )
    return low, high


def _clip(numbers: Whole, low: int, high: int) -> NDArray[np.int64]:
    if isinstance(numbers, np.ndarray):
        if numbers.dtype.kind not in "iu" or numbers.ndim != 1:
            raise _not_whole(f"{numbers.ndim}-dimensional array of {numbers.dtype}")
        if numbers.dtype == np.uint64:
            numbers = np.minimum(numbers, np.uint64(max(0, high)))
        return np.clip(numbers.astype(np.int64), low, high)
    return np.array([min(high, max(low, private_whole(number))) for number in numbers], dtype=np.int64)


def _not_whole(kind: str) -> ParameterError:
    return ParameterError(
        f"rows as a {kind}",
        because="rows are whole steps: floats would have to be rounded, which moves them",
        instead="a list of ints, or a one-dimensional array of integers",
    )
