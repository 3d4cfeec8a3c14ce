"""Search for minimal sample uniques: the smallest sets of columns on which a person is alone.

A person is unique on a set of columns where one of their classes on it has no other person. The set is minimal where
the person is unique on none of its proper subsets (Elliot, Manning and Ford 2002, International Journal of Uncertainty,
Fuzziness and Knowledge-Based Systems 10:493; for SUDA2 Manning, Haglin and Keane 2008, Data Mining and Knowledge
Discovery 16:165). All sets up to a size are counted, smaller ones first:

- Each row has small integer codes, and a set of columns has one mixed-radix key a row. A count by key, or a sort of
  keys where there are many more keys than rows, finds the rows that share their class with nobody else.
- Such a row is alone on every larger set too, so it changes no other class: it is left out of them.

Memory is a few arrays of the length of the rows, and one bit for each row and each set below the largest size.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from discreet.anonymity.uniques.row_codes import RowCodes

Flags = NDArray[np.bool_]
Keys = NDArray[np.integer]
Bits = NDArray[np.uint8]
Subset = tuple[int, ...]

_SMALLEST_TABLE = 1 << 20
_FEW_ROWS = 0.75
"""Share of rows left below which the other rows are left out of the keys; above it copying costs more than it saves."""


@dataclass
class MinimalSets:
    """Result of the search.

    Attributes:
        people: For each set of columns the number of people for whom it is minimal.
        sets: For each size from 1 the number of minimal sets of each person (or row, where persons have one row).
    """

    people: dict[Subset, int] = field(default_factory=dict)
    sets: list[NDArray[np.unsignedinteger]] = field(default_factory=list)


def find_minimal_sets(rows: RowCodes, size: int) -> MinimalSets:
    """Count for whom each set of at most `size` columns is minimal."""
    search = _SubsetSearch(rows)
    found = MinimalSets()
    for k in range(1, size + 1):
        tally = np.zeros(search.everyone, dtype=np.min_scalar_type(comb(len(rows.columns), k)))
        for subset in combinations(range(len(rows.columns)), k):
            people = search.minimal_people(subset, is_last=k == size)
            tally[people] += 1
            found.people[subset] = len(people)
        found.sets.append(tally)
        search.forget_below(k)
    return found


class _SubsetSearch:
    """Rows that are alone on each set of columns of the last size, as bits."""

    def __init__(self, rows: RowCodes) -> None:
        self._rows = rows
        self._row_bits: dict[Subset, Bits] = {}
        self._person_bits: dict[Subset, Bits] = {}
        self._prefix: tuple[Subset, Keys, int] = ((), np.empty(0, dtype=np.int32), 1)
        self.everyone = len(rows) if rows.persons is None else int(rows.persons.max(initial=-1)) + 1

    def minimal_people(self, subset: Subset, *, is_last: bool) -> NDArray[np.intp]:
        """The people for whom the set is minimal; remembers who is alone on it unless sets of its size are the last."""
        alone_before = self._union(self._row_bits, subset, len(self._rows))
        left = None if alone_before is None else np.flatnonzero(~alone_before)
        if left is not None and len(left) > _FEW_ROWS * len(self._rows):
            left = None
        alone = self._alone_rows(subset, left)
        people = self._people_of(alone, alone_before, subset)
        if not is_last:
            self._remember(subset, alone, alone_before, people)
        return people

    def forget_below(self, size: int) -> None:
        """Drop what is known of sets smaller than `size`: larger sets need their largest subsets alone."""
        for known in (self._row_bits, self._person_bits):
            for subset in [each for each in known if len(each) < size]:
                del known[subset]

    def _union(self, known: dict[Subset, Bits], subset: Subset, length: int) -> Flags | None:
        """Who is unique on a subset with one column less; None where nobody is."""
        parts = [known[part] for part in combinations(subset, len(subset) - 1) if part in known]
        if not parts:
            return None
        bits = parts[0].copy()
        for part in parts[1:]:
            bits |= part
        return np.unpackbits(bits, count=length).view(np.bool_)

    def _alone_rows(self, subset: Subset, left: NDArray[np.intp] | None) -> NDArray[np.intp]:
        """Rows whose class has no other person, ascending; of the rows that are left, where they are given."""
        if not len(self._rows) or (left is not None and not len(left)):
            return np.empty(0, dtype=np.intp)
        keys, domain = self._keys(subset, left)
        persons = self._rows.persons
        if persons is not None and left is not None:
            persons = persons[left]
        if domain <= max(_SMALLEST_TABLE, 4 * len(keys)):
            found = _alone_by_table(keys, domain, persons)
        else:
            found = _alone_by_sort(keys, domain, persons)
        return found if left is None else left[found]

    def _keys(self, subset: Subset, left: NDArray[np.intp] | None) -> tuple[Keys, int]:
        """One key a row for its values in the columns, and the number of possible keys."""
        sizes = [self._rows.sizes[c] for c in subset]
        columns = [self._rows.columns[c] for c in subset]
        if left is not None:
            return _mix([column[left] for column in columns], sizes)
        if len(subset) == 1:
            return columns[0], sizes[0]
        if self._prefix[0] != subset[:-1]:
            self._prefix = (subset[:-1], *_mix(columns[:-1], sizes[:-1]))
        _, keys, domain = self._prefix
        return _mix([keys, columns[-1]], [domain, sizes[-1]])

    def _people_of(self, alone: NDArray[np.intp], alone_before: Flags | None, subset: Subset) -> NDArray[np.intp]:
        """The people of rows that are alone now, without those who are unique on a smaller set."""
        new = alone if alone_before is None else alone[~alone_before[alone]]
        persons = self._rows.persons
        if persons is None:
            return new
        unique = np.zeros(self.everyone, dtype=np.bool_)
        unique[persons[new]] = True
        before = self._union(self._person_bits, subset, self.everyone)
        return np.flatnonzero(unique if before is None else unique & ~before)

    def _remember(
        self, subset: Subset, alone: NDArray[np.intp], before: Flags | None, people: NDArray[np.intp]
    ) -> None:
        if not len(alone) and before is None:
            return
        flags = np.zeros(len(self._rows), dtype=np.bool_) if before is None else before
        flags[alone] = True
        self._row_bits[subset] = np.packbits(flags)
        if self._rows.persons is not None:
            earlier = self._union(self._person_bits, subset, self.everyone)
            unique = np.zeros(self.everyone, dtype=np.bool_) if earlier is None else earlier
            unique[people] = True
            self._person_bits[subset] = np.packbits(unique)


def _mix(columns: Sequence[Keys], sizes: Sequence[int]) -> tuple[Keys, int]:
    """Mixed-radix keys; where they would not fit 63 bits, the keys so far are numbered anew."""
    keys, domain = columns[0], sizes[0]
    for column, size in zip(columns[1:], sizes[1:], strict=True):
        if domain * size >= 1 << 62:
            values, keys = np.unique(keys, return_inverse=True)
            domain = len(values)
        domain *= size
        kind = np.int32 if domain < 1 << 31 else np.int64
        keys = np.multiply(keys, size, dtype=kind, casting="unsafe")
        keys += column.astype(kind, copy=False)
    return keys, domain


def _alone_by_table(keys: Keys, domain: int, persons: NDArray[np.int32] | None) -> NDArray[np.intp]:
    """Rows that are alone, by a table with a cell for each key."""
    if persons is None:
        single = np.bincount(keys, minlength=domain) == 1
        return np.flatnonzero(np.take(single, keys)) if single.any() else np.empty(0, dtype=np.intp)
    # a cell holds the last person of its class; a class where any row has another person is shared
    last = np.full(domain, -1, dtype=np.int32)
    last[keys] = persons
    shared = last < 0
    shared[keys[np.take(last, keys) != persons]] = True
    return np.empty(0, dtype=np.intp) if shared.all() else np.flatnonzero(~np.take(shared, keys))


def _alone_by_sort(keys: Keys, domain: int, persons: NDArray[np.int32] | None) -> NDArray[np.intp]:
    """Rows that are alone, by a sort of keys with the row's number in the low bits."""
    bits = max(1, (len(keys) - 1).bit_length())
    if domain.bit_length() + bits > 63:
        _, keys = np.unique(keys, return_inverse=True)
    packed = keys.astype(np.int64) << bits
    packed |= np.arange(len(keys))
    packed.sort()
    rows = packed & ((1 << bits) - 1)
    packed >>= bits
    starts = np.ones(len(keys) + 1, dtype=np.bool_)
    np.not_equal(packed[1:], packed[:-1], out=starts[1:-1])
    if persons is None:
        return np.sort(rows[starts[1:] & starts[:-1]])
    who = persons[rows]
    runs = np.cumsum(starts[:-1]) - 1
    differs = ~starts[1:-1] & (who[1:] != who[:-1])
    shared = np.zeros(int(runs[-1]) + 1, dtype=np.bool_)
    shared[runs[1:][differs]] = True
    return np.sort(rows[~shared[runs]])


def score_weights(columns: int, size: int) -> Iterator[int]:
    """For k = 1, ..., size the score of a minimal set of k columns: the product of (columns - i) for i = k, ..., size.

    Elliot, Manning, Mayes, Gurd and Bane 2005, "SUDA: A Program for Detecting Special Uniques". A factor of zero, which
    occurs where size is the number of columns, is left out: then the score is (columns - k)!.
    """
    for k in range(1, size + 1):
        yield int(np.prod([columns - i for i in range(k, min(size, columns - 1) + 1)], dtype=object))
