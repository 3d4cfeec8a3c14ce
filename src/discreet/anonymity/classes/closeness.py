"""t-closeness of a sensitive column: how far the values of a class are from those of the table, as exact Fractions.

The distance is the earth mover's distance of Li, Li and Venkatasubramanian, "t-closeness: privacy beyond k-anonymity
and l-diversity", ICDE 2007, section 5: with equal ground distance half the sum of |p - q|, with ordered values the sum
of |cumulative difference| over m - 1. Sums are over all values of the table, also those that a class does not have:

- half the sum of |p - q| is the sum of the positive p - q, because both add up to 1, and a value that the class does
  not have is not positive;
- between two neighbouring values of a class its cumulative share is constant, and that of the table ascends: two
  differences of prefix sums give the sum of the absolute values, from where the table crosses the class.
"""

from fractions import Fraction

import numpy as np

from discreet.anonymity.classes.encoding import Integers
from discreet.anonymity.classes.keys import largest_ratio
from discreet.anonymity.classes.sensitive_table import SensitiveTable

_LIMIT = 2**62


def closeness_of(table: SensitiveTable, *, is_ordered: bool) -> Fraction:
    """The largest distance of a class from the table; 0 for a table without classes."""
    if not len(table.starts):
        return Fraction(0)
    values, total = len(table.whole), int(table.whole.sum())
    # products of a class's sum, the table's sum and the number of values must fit 64 bits; larger classes are few
    largest = _LIMIT // (total * values)
    is_small = table.sums <= largest
    small = table if is_small.all() else table.part(np.flatnonzero(is_small))
    found = [_of_large_class(table, int(i), is_ordered=is_ordered) for i in np.flatnonzero(~is_small)]
    if len(small.starts):
        moved = _moved_in_order(small, total) if is_ordered else _moved(small, total)
        found.append(largest_ratio(moved, small.sums) / total)
    steps = max(values - 1, 1) if is_ordered else 1
    return max(found) / steps


def _moved(table: SensitiveTable, total: int) -> Integers:
    """Positive differences of each class, times its sum and the table's sum."""
    differences = table.counts * total
    differences -= table.whole[table.values] * np.repeat(table.sums, table.lengths)
    np.maximum(differences, 0, out=differences)
    return np.add.reduceat(differences, table.starts)


def _moved_in_order(table: SensitiveTable, total: int) -> Integers:
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
