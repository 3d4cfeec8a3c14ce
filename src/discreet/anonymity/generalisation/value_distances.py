"""Distance between the sensitive values of a class and those of the whole table, in exact integers.

For a class with counts c_v, S their sum, and a table with counts C_v, C their sum (t-closeness: Li, Li,
Venkatasubramanian 2007):

- nominal values: 1/2 * sum over v of |c_v/S - C_v/C|, the earth mover's distance where all values are equally far;
- ordered values: sum over i < m of |(c_1 + ... + c_i)/S - (C_1 + ... + C_i)/C| / (m - 1), for m values in order.

Both are fractions. Numerators and denominators are integers here; a float decides only where the distance is farther
from the limit than the rounding of the float.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from discreet.anonymity.classes.cube import Codes, Cube

Integers = NDArray[Any]  # 64 bits, or objects where sums may not fit
_EXACT = 2**62  # sums below this are exact in 64 bits
_MARGIN = 1e-9  # much more than the rounding of a ratio of two integers


@dataclass(frozen=True)
class ClassHistograms:
    """Counts of sensitive values within classes, in the order of the classes.

    Attributes:
        owners: For each count the number of its class, in ascending order.
        values: For each count the code of its value.
        counts: Number of people.
        classes: Number of classes.
    """

    owners: Codes
    values: Codes
    counts: Codes
    classes: int

    @cached_property
    def distinct(self) -> Codes:
        """Number of distinct values of each class."""
        return np.bincount(self.owners, minlength=self.classes).astype(np.int64)

    @cached_property
    def starts(self) -> Codes:
        """Position of the first count of each class."""
        return np.concatenate(([0], np.cumsum(self.distinct)))[:-1]

    @cached_property
    def sums(self) -> Codes:
        """Sum of the counts of each class."""
        if not self.classes:
            return np.zeros(0, dtype=np.int64)
        return np.add.reduceat(self.counts, self.starts)


@dataclass(frozen=True)
class ValueDistribution:
    """The sensitive values of the whole table.

    Attributes:
        totals: Number of people with each value, by the code of the value.
        ranks: For ordered values the place of each code in the order, otherwise None.
    """

    totals: Codes
    ranks: Codes | None = None

    @property
    def is_small(self) -> bool:
        """Whether every sum below fits 64 bits."""
        total = int(self.totals.sum())
        return 2 * max(2, len(self.totals)) * total * total < _EXACT

    def distances(self, histograms: ClassHistograms) -> tuple[Integers, Integers]:
        """Numerators and denominators of the distance of each class."""
        kind: Any = np.int64 if self.is_small else np.object_
        counts, sums = histograms.counts.astype(kind), histograms.sums.astype(kind)
        total = int(self.totals.sum())
        if self.ranks is None:
            shares = self.totals.astype(kind)[histograms.values] * sums[histograms.owners]
            return (
                np.add.reduceat(abs(counts * total - shares) - shares, histograms.starts) + sums * total,
                2 * sums * total,
            )
        numerators = self._ordered_numerators(histograms, counts, sums)
        return numerators, sums * (total * max(1, len(self.totals) - 1))

    def _ordered_numerators(self, histograms: ClassHistograms, counts: Integers, sums: Integers) -> Integers:
        """Sum of |a*C - T_i*S| over ranks i, where a is the count so far of the class and T_i that of the table.

        Between two values of a class `a` is constant and T_i grows, so that the sign changes once: at the first rank
        whose T_i exceeds a*C/S. Prefix sums of T give both parts.
        """
        ranks = self._ranks[histograms.values]
        order = np.lexsort((ranks, histograms.owners))
        ranks, counts = ranks[order], counts[order]
        table = np.cumsum(self.totals[np.argsort(self._ranks)]).astype(counts.dtype)
        prefix = np.concatenate((np.zeros(1, dtype=table.dtype), np.cumsum(table)))
        number, total = len(table), int(self.totals.sum())
        running: Integers = np.cumsum(counts)
        before = (running - counts)[histograms.starts]
        reach = running - before[histograms.owners]
        ends = np.append(ranks[1:], number)
        ends[histograms.starts[1:] - 1] = number
        own = sums[histograms.owners]
        turn = np.clip(np.searchsorted(table, reach * total // own, side="right"), ranks, ends)
        upper = reach * total * (2 * turn - ranks - ends) - own * (2 * prefix[turn] - prefix[ranks] - prefix[ends])
        first = sums * prefix[ranks[histograms.starts]]
        sums_of_gaps: Integers = np.add.reduceat(upper, histograms.starts) + first
        return sums_of_gaps

    @property
    def _ranks(self) -> Codes:
        if self.ranks is None:
            raise AssertionError("nominal values have no order")
        return self.ranks

    def exceeds(self, histograms: ClassHistograms, limit: Fraction) -> NDArray[np.bool_]:
        """Whether the distance of each class is above a limit."""
        if not histograms.classes:
            return np.zeros(0, dtype=np.bool_)
        numerators, denominators = self.distances(histograms)
        ratios = (numerators / denominators).astype(np.float64)
        above: NDArray[np.bool_] = ratios > float(limit)
        for near in np.flatnonzero(abs(ratios - float(limit)) < _MARGIN):
            above[near] = Fraction(int(numerators[near]), int(denominators[near])) > limit
        return above

    def largest(self, histograms: ClassHistograms, published: NDArray[np.bool_]) -> Fraction | None:
        """The largest distance of a published class; None where none is published."""
        if not published.any():
            return None
        numerators, denominators = (numbers[published] for numbers in self.distances(histograms))
        ratios = (numerators / denominators).astype(np.float64)
        near = np.flatnonzero(ratios >= ratios.max() - _MARGIN)
        pairs = {(int(numerators[each]), int(denominators[each])) for each in near}
        return max(Fraction(*pair) for pair in pairs)


def table_distribution(cube: Cube, sensitive: str, *, ordered: bool) -> ValueDistribution:
    """The distribution of a sensitive column over the people of the cube; a person counts once for each value."""
    number, codes = len(cube.values[sensitive]), cube.codes[sensitive]
    if cube.persons is None:
        totals = np.zeros(number, dtype=np.int64)
        np.add.at(totals, codes, cube.people)
    else:
        totals = np.bincount(np.unique(cube.persons * number + codes) % number, minlength=number).astype(np.int64)
    return ValueDistribution(totals, value_ranks(cube.values[sensitive]) if ordered else None)


def value_ranks(values: pa.Array) -> Codes:
    """The place of each distinct value in ascending order; a null is last."""
    order = pc.array_sort_indices(values).to_numpy()
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(len(order))
    return ranks
