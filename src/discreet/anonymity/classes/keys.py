"""Several codes as one integer key, and people counted by key with one sort of integers.

A key has the bits of its columns side by side. Keys that would need more than 62 bits are numbered anew on the way, so
that any number of columns fits; there are less than 2^31 groups and values.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.anonymity.classes.encoding import Codes32, Integers

MOST_BITS = 62
Columns = Sequence[tuple[Codes32 | Integers, int]]


@dataclass(frozen=True)
class ClassKeys:
    """One key a row, all below `2**bits`."""

    values: Integers
    bits: int


def bits_of(size: int) -> int:
    """Bits of the codes 0 to size - 1."""
    return max(size - 1, 0).bit_length()


def pack(columns: Columns, rows: int) -> ClassKeys:
    """Keys of columns, each with its number of codes; the first column has the highest bits."""
    keys, bits = np.zeros(rows, np.int64), 0
    for codes, size in columns:
        width = bits_of(size)
        if bits + width > MOST_BITS:
            keys, bits = renumber(keys)
        if width:
            keys <<= width
            keys |= codes
            bits += width
    return ClassKeys(keys, bits)


def renumber(keys: Integers) -> tuple[Integers, int]:
    """Keys numbered in their order, and the bits of the numbers."""
    order = np.argsort(keys)
    is_first = first_of_runs(keys[order])
    numbers = np.empty(len(keys), np.int64)
    numbers[order] = np.cumsum(is_first) - 1
    return numbers, bits_of(int(is_first.sum()))


def first_of_runs(values: Integers | Codes32) -> NDArray[np.bool_]:
    """For sorted values whether each is the first of its kind."""
    is_first = np.ones(len(values), bool)
    np.not_equal(values[1:], values[:-1], out=is_first[1:])
    return is_first


@dataclass(frozen=True)
class People:
    """Who the rows of a table of groups stand for.

    `counts` is the number of people of each row where each person is in one row. Otherwise `persons` has a code for
    each, and a person is counted once however many rows of a key they have.
    """

    counts: Integers
    persons: Codes32 | Integers | None = None
    number: int = 0

    def by(self, keys: ClassKeys) -> tuple[Integers, Integers]:
        """The distinct keys in order, and the number of people of each."""
        if self.persons is None:
            return _sums(keys, self.counts)
        return runs(self.pairs(keys)[0])

    def pairs(self, keys: ClassKeys) -> tuple[Integers, Integers]:
        """Distinct pairs of a key and a person, in order of the keys; only where persons have codes."""
        if self.persons is None:
            raise ValueError("persons without codes")
        width = bits_of(self.number)
        if keys.bits + width <= MOST_BITS + 1:
            both = keys.values << width
            both |= self.persons
            both.sort()
            both = both[first_of_runs(both)]
            return both >> width, both & ((1 << width) - 1)
        order = np.lexsort((self.persons, keys.values))
        one, other = keys.values[order], self.persons[order]
        is_first = first_of_runs(one) | first_of_runs(other)
        return one[is_first], other[is_first].astype(np.int64)


def runs(values: Integers) -> tuple[Integers, Integers]:
    """Sorted values without repetition, and how often each stands there."""
    starts = np.flatnonzero(first_of_runs(values))
    return values[starts], run_lengths(starts, len(values))


def run_lengths(starts: Integers, end: int) -> Integers:
    """Lengths of runs that begin at some positions, the last until the end."""
    lengths = np.empty(len(starts), np.int64)
    np.subtract(starts[1:], starts[:-1], out=lengths[:-1])
    lengths[-1:] = end - starts[-1:]
    return lengths


def _sums(keys: ClassKeys, counts: Integers) -> tuple[Integers, Integers]:
    width = int(counts.max(initial=0)).bit_length()
    if keys.bits + width <= MOST_BITS + 1:
        both = keys.values << width
        both |= counts
        both.sort()
        ordered = both & ((1 << width) - 1)
        both >>= width
    else:
        order = np.argsort(keys.values)
        both, ordered = keys.values[order], counts[order]
    is_first = first_of_runs(both)
    if is_first.all():
        return both, ordered
    starts = np.flatnonzero(is_first)
    return both[starts], np.add.reduceat(ordered, starts)


def largest_ratio(numerators: Integers, denominators: Integers) -> Fraction:
    """The largest of many ratios, exactly: floats choose candidates, integers decide between them."""
    estimates = numerators / denominators
    near = np.flatnonzero(estimates >= estimates.max() * (1 - 2.0**-40))
    order = near[np.lexsort((numerators[near], denominators[near]))]
    last = np.append(first_of_runs(denominators[order])[1:], True)
    return max(Fraction(int(numerators[i]), int(denominators[i])) for i in order[last])


def sum_of_ratios(numerators: Sequence[int], denominators: Sequence[int]) -> Fraction:
    """A sum of ratios with one common denominator; adding Fractions one by one would reduce each sum."""
    common = math.lcm(*denominators)
    return Fraction(sum(a * (common // b) for a, b in zip(numerators, denominators, strict=True)), common)
