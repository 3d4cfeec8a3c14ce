"""l-diversity of a sensitive column: distinct, entropy and recursive (c, l).

Definitions: Machanavajjhala, Kifer, Gehrke and Venkitasubramaniam, "l-diversity: privacy beyond k-anonymity", ACM TKDD
1(1), 2007, sections 4.1 and 4.2. The least favourable class decides. Counts are of people, not of rows.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.anonymity.classes.encoding import Integers
from discreet.anonymity.classes.keys import bits_of, largest_ratio
from discreet.anonymity.classes.sensitive_table import SensitiveTable
from discreet.anonymity.owners import OwnerResult
from discreet.errors import public_class
from discreet.exact.numbers import Number, rational, shown

_TABULATED = 2**16


@public_class
@dataclass(frozen=True, repr=False)
class Diversity(OwnerResult):
    """l-diversity of one sensitive column, in the class where it is least.

    Attributes:
        distinct: Least number of distinct values in a class.
        entropy: Least exp of the entropy of a class: that many equally frequent values have the same entropy.
        l: The l of recursive (c, l)-diversity.
        c: The c of recursive (c, l)-diversity.
        recursive: Whether recursive (c, l)-diversity holds in every class: r1 < c * (r_l + ... + r_m).
        least_c: Recursive (c, l)-diversity holds for every c above this; None if for no c.

    Example:
        >>> import discreet as dp
        >>> table = {"age": [30, 30, 30, 40, 40], "disease": ["flu", "flu", "cold", "flu", "cold"]}
        >>> import pyarrow as pa
        >>> found = dp.anonymity.measure(pa.table(table), ["age"], sensitive=["disease"])
        >>> found.diversity["disease"].distinct
        2
    """

    kind = "l-diversity"
    distinct: int
    entropy: float
    l: int  # noqa: E741 - the field's letter
    c: Fraction
    recursive: bool
    least_c: Fraction | None

    def _lines(self) -> list[str]:
        holds = "holds" if self.recursive else "does not hold"
        return [
            f"distinct l {self.distinct}, entropy l {self.entropy:.2f}",
            f"recursive ({shown(self.c)}, {self.l})-diversity {holds}",
        ]

    def is_recursive(self, c: Number) -> bool:
        """Whether recursive (c, l)-diversity holds in every class.

        Args:
            c: Largest ratio of the most frequent value to the tail, exclusive.

        Returns:
            Whether it holds.

        Raises:
            ParameterError: If `c` is not a number.
        """
        return self.least_c is not None and rational(c, "c") > self.least_c


def diversity_of(table: SensitiveTable, l: int, c: Fraction) -> Diversity:  # noqa: E741
    """The diversity of the least diverse class."""
    if not len(table.starts):
        return Diversity(0, 0.0, l, c, recursive=False, least_c=None)
    distinct = int(table.lengths.min())
    least_c = _least_c(table, l) if distinct >= l else None
    return Diversity(distinct, _entropy(table), l, c, recursive=least_c is not None and c > least_c, least_c=least_c)


def _entropy(table: SensitiveTable) -> float:
    """The least exp of entropy: estimates choose the class, and its counts in lowest terms give the number."""
    if int(table.lengths.min()) == 1:
        return 1.0
    sums = table.sums
    estimates = np.log(sums) - np.add.reduceat(_times_logarithm(table.counts), table.starts) / sums
    least = int(np.argmin(estimates))
    start = int(table.starts[least])
    counts = table.counts[start : start + int(table.lengths[least])].tolist()
    divisor = math.gcd(*counts)
    lowest = sorted(count // divisor for count in counts)
    total = sum(lowest)
    return math.exp(-math.fsum(count / total * math.log(count / total) for count in lowest))


def _times_logarithm(counts: Integers) -> NDArray[np.float64]:
    """Product c ln c of each count, from a table where the counts are small."""
    largest = int(counts.max())
    if largest > _TABULATED:
        return counts.astype(np.float64) * np.log(counts)
    numbers = np.arange(largest + 1, dtype=np.float64)
    products: NDArray[np.float64] = numbers * np.log(np.maximum(numbers, 1))
    return products[counts]


def _least_c(table: SensitiveTable, l: int) -> Fraction:  # noqa: E741
    """The largest ratio of the most frequent value to the values from the l-th on."""
    largest = np.maximum.reduceat(table.counts, table.starts)
    return largest_ratio(largest, table.sums - _head(table, largest, l - 1))


def _head(table: SensitiveTable, largest: Integers, number: int) -> Integers:
    """The sum of the most frequent values of each class, that many of them."""
    if number <= 1:
        return largest * number
    lengths = table.lengths
    width = bits_of(int(largest.max()) + 1)
    classes = np.repeat(np.arange(len(lengths)), lengths)
    ordered = np.sort(classes << width | table.counts) & ((1 << width) - 1)
    totals = np.concatenate([[0], np.cumsum(ordered)])
    ends = table.starts + lengths
    head: Integers = totals[ends] - totals[np.maximum(ends - number, table.starts)]
    return head
