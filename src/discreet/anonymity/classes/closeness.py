"""t-closeness of a sensitive column: how far the values of a class are from those of the table, as exact Fractions.

The distance is the earth mover's distance of Li, Li and Venkatasubramanian, "t-closeness: privacy beyond k-anonymity
and l-diversity", ICDE 2007, section 5: with equal ground distance half the sum of |p - q|, with ordered values the sum
of |cumulative difference| over m - 1. Sums are over all values of the table, also those that a class does not have:

- half the sum of |p - q| is the sum of the positive p - q, because both add up to 1, and a value that the class does
  not have is not positive;
- between two neighbouring values of a class its cumulative share is constant, and that of the table ascends: two
  differences of prefix sums give the sum of the absolute values, from where the table crosses the class.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.anonymity.classes.encoding import Integers
from discreet.anonymity.classes.keys import largest_ratio
from discreet.anonymity.classes.sensitive_table import SensitiveTable

_LIMIT = 2**62
_NEAR = 1e-9  # much more than the rounding of a ratio of two integers


def closeness_of(table: SensitiveTable, *, is_ordered: bool) -> Fraction:
    """The largest distance of a class from the table; 0 for a table without classes."""
    if not len(table.starts):
        return Fraction(0)
    found = _distances(table, is_ordered=is_ordered)
    largest = list(found.large.values())
    if len(found.small):
        largest.append(largest_ratio(found.sums, found.sizes) / found.scale)
    return max(largest)


def classes_above(table: SensitiveTable, limit: Fraction, *, is_ordered: bool) -> NDArray[np.bool_]:
    """Whether the distance of each class is above a limit: floats decide only where they are far from it."""
    above = np.zeros(len(table.starts), dtype=np.bool_)
    if not len(table.starts):
        return above
    found = _distances(table, is_ordered=is_ordered)
    estimates = found.sums / (found.sizes * float(found.scale))
    above[found.small] = estimates > float(limit)
    for near in np.flatnonzero(abs(estimates - float(limit)) < _NEAR):
        distance = Fraction(int(found.sums[near]), int(found.sizes[near]) * found.scale)
        above[found.small[near]] = distance > limit
    for index, distance in found.large.items():
        above[index] = distance > limit
    return above


@dataclass(frozen=True)
class _Distances:
    """Distances of classes: `sums / (sizes * scale)` for the classes `small`, Fractions for those of large counts."""

    small: Integers
    sums: Integers
    sizes: Integers
    scale: int
    large: dict[int, Fraction]


def _distances(table: SensitiveTable, *, is_ordered: bool) -> _Distances:
    values, total = len(table.whole), int(table.whole.sum())
    steps = max(values - 1, 1) if is_ordered else 1
    # products of a class's sum, the table's sum and the number of values must fit 64 bits; larger classes are few
    is_small = table.sums <= _LIMIT // (total * values)
    large = {int(i): _of_large_class(table, int(i), is_ordered=is_ordered) / steps for i in np.flatnonzero(~is_small)}
    index = np.flatnonzero(is_small)
    small = table.part(index) if large else table
    if not len(index):
        return _Distances(index, index, index, total * steps, large)
    sums = _cumulative_differences(small, total) if is_ordered else _differences(small, total)
    return _Distances(index, sums, small.sums, total * steps, large)


def _differences(table: SensitiveTable, total: int) -> Integers:
    """Positive differences of each class, times its sum and the table's sum."""
    differences = table.counts * total
    differences -= table.whole[table.values] * np.repeat(table.sums, table.lengths)
    np.maximum(differences, 0, out=differences)
    return np.add.reduceat(differences, table.starts)


def _cumulative_differences(table: SensitiveTable, total: int) -> Integers:
    """Absolute cumulative differences of each class, times its sum and the table's sum."""
    values, starts = table.values, table.starts
    cumulative = np.cumsum(table.whole)
    prefix = np.concatenate([[0], np.cumsum(cumulative)])
    sums = np.repeat(table.sums, table.lengths)
    until = np.append(values[1:], len(table.whole))
    until[starts[1:] - 1] = len(table.whole)
    running = np.cumsum(table.counts)
    running -= np.repeat(running[starts] - table.counts[starts], table.lengths)
    level = running * total
    crossing = np.clip(np.searchsorted(cumulative, -(-level // sums)), values, until)
    moved = level * (2 * crossing - values - until)
    moved += sums * (prefix[until] + prefix[values] - 2 * prefix[crossing])
    total_moved: Integers = np.add.reduceat(moved, starts) + table.sums * prefix[values[starts]]
    return total_moved


def _of_large_class(table: SensitiveTable, index: int, *, is_ordered: bool) -> Fraction:
    """The same for one class with integers of any size, before the division by m - 1."""
    part = table.part(np.array([index]))
    own = dict(zip(part.values.tolist(), part.counts.tolist(), strict=True))
    one, total = sum(own.values()), int(table.whole.sum())
    differences = [own.get(i, 0) * total - int(count) * one for i, count in enumerate(table.whole)]
    if not is_ordered:
        return Fraction(sum(max(each, 0) for each in differences), one * total)
    running, moved = 0, 0
    for each in differences:
        running += each
        moved += abs(running)
    return Fraction(moved, one * total)
