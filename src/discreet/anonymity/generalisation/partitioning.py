"""Mondrian partitioning of a cube (LeFevre, DeWitt, Ramakrishnan 2006): cut boxes at medians while both sides hold k.

All boxes of one depth are cut at once, so that a million base classes need some dozens of passes and no recursion. A
pass does this for each box:

1. The columns are tried from the widest to the narrowest; the width is the share of the places of the column between
   the lowest and the highest value in the box. Equal widths go to the column that was named first.
2. The cut is the one nearest to half of the records (people, where each person has one row); the lower one of two. A
   column with a hierarchy is cut only between groups of the coarsest level at which the box has two groups.
3. The cut is allowed where both sides hold k distinct people and, if stated, l distinct sensitive values. Otherwise the
   next column is tried. A box without an allowed cut is a class.

Without persons of several rows and without l the test misses no cut: the one nearest to half has the largest smaller
side. With them another cut of the same column might hold k on both sides; boxes may then be larger than necessary, and
never too small.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.anonymity.classes.cube import Codes
from discreet.anonymity.classes.encoding import ranks as value_ranks
from discreet.anonymity.generalisation.levels import GeneralisationLevels
from discreet.anonymity.generalisation.rollup import merge_rows

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class ValueAxis:
    """The distinct values of a column in the order in which boxes cut them.

    Attributes:
        order: For each place the code of its value.
        places: For each code its place.
        groups: For each level the group of each place, in ascending order; level 0 has one group for each place.
        labels: For each level the text of each group; None is a missing value. Empty without a hierarchy.
    """

    order: Codes
    places: Codes
    groups: NDArray[np.int64]
    labels: tuple[tuple[str | None, ...], ...] = ()


def value_axis(values: pa.Array, levels: GeneralisationLevels | None) -> ValueAxis:
    """Values in ascending order, null last; with a hierarchy all values of a group are neighbours at every level."""
    ranks = value_ranks(values)
    if levels is None:
        return ValueAxis(np.argsort(ranks), ranks, np.arange(len(ranks), dtype=np.int64)[None, :])
    keys = [ranks]
    for codes in levels.codes[1:]:
        first = np.full(int(codes.max(initial=0)) + 1, len(ranks), dtype=np.int64)
        np.minimum.at(first, codes, ranks)
        keys.append(first[codes])
    order = np.lexsort(tuple(keys))
    groups = [np.arange(len(ranks), dtype=np.int64)]
    groups += [np.cumsum(np.diff(key[order], prepend=key[order][:1]) != 0) for key in keys[1:]]
    labels = []
    for codes, texts, group in zip(levels.codes, levels.labels, groups, strict=True):
        starts = np.flatnonzero(np.diff(group, prepend=-1))
        labels.append(tuple(texts[code] for code in codes[order][starts].tolist()))
    return ValueAxis(order, np.argsort(order), np.array(groups), tuple(labels))


@dataclass(frozen=True)
class BoxRows:
    """Rows of the cube as places on the axes.

    Attributes:
        places: For each column the place of each row.
        records: Number of people of each row.
        persons: Code of the person of each row, where persons have several rows; otherwise None.
        sensitive: Code of the sensitive value of each row, or None.
    """

    places: NDArray[np.int64]
    records: Codes
    persons: Codes | None
    sensitive: Codes | None

    def people(self, rows: Codes, owners: Codes, number: int) -> Codes:
        """Number of distinct people of each owner."""
        if self.persons is None:
            sums = np.zeros(number, dtype=np.int64)
            np.add.at(sums, owners, self.records[rows])
            return sums
        return distinct_counts(owners, self.persons[rows], number)

    def hold(self, rows: Codes, owners: Codes, number: int, k: int, least: int | None) -> Flags:
        """Whether each owner has k distinct people and l distinct sensitive values."""
        enough = self.people(rows, owners, number) >= k
        if least is not None and self.sensitive is not None:
            enough &= distinct_counts(owners, self.sensitive[rows], number) >= least
        return enough


def distinct_counts(owners: Codes, values: Codes, number: int) -> Codes:
    """Number of distinct values of each owner."""
    bits = max(1, int(values.max(initial=0)).bit_length())
    keys = np.sort((owners << bits) | values)
    return np.bincount(keys[np.diff(keys, prepend=-1) != 0] >> bits, minlength=number).astype(np.int64)


def partition_rows(axes: Sequence[ValueAxis], data: BoxRows, k: int, least: int | None = None) -> tuple[Codes, int]:
    """For each row the number of its class, and the number of classes; -1 and 0 where the whole table does not hold."""
    count = len(data.records)
    classes = np.full(count, -1, dtype=np.int64)
    rows, boxes = np.arange(count), np.zeros(count, dtype=np.int64)
    if not count or not data.hold(rows, boxes, 1, k, least)[0]:
        return classes, 0
    cutter = BoxCutter(axes, data, k, least)
    number = 0
    while len(rows):
        cuts = cutter.cut(rows, boxes)
        whole = ~cuts.is_cut[boxes]
        numbers = np.cumsum(~cuts.is_cut) - 1
        classes[rows[whole]] = number + numbers[boxes[whole]]
        number += int(np.count_nonzero(~cuts.is_cut))
        rows, boxes = _next_boxes(rows[~whole], 2 * boxes[~whole] + cuts.is_upper[~whole])
    return classes, number


def _next_boxes(rows: Codes, boxes: Codes) -> tuple[Codes, Codes]:
    """Rows in the order of their boxes, with boxes counted from 0."""
    bits = max(1, int(rows.max(initial=0)).bit_length())
    keys = np.sort((boxes << bits) | rows)
    boxes = keys >> bits
    return keys & ((1 << bits) - 1), np.cumsum(np.diff(boxes, prepend=boxes[:1]) != 0)


@dataclass
class BoxCuts:
    """Which boxes are cut, and for each row whether it is on the upper side."""

    is_cut: Flags
    is_upper: Flags


@dataclass(frozen=True)
class BoxCutter:
    """Cuts of all boxes of one depth."""

    axes: Sequence[ValueAxis]
    data: BoxRows
    k: int
    least: int | None

    def cut(self, rows: Codes, boxes: Codes) -> BoxCuts:
        """Cut each box by the widest column that allows it; rows are in the order of their boxes."""
        starts = np.flatnonzero(np.diff(boxes, prepend=-1))
        lows = np.array([np.minimum.reduceat(places[rows], starts) for places in self.data.places])
        highs = np.array([np.maximum.reduceat(places[rows], starts) for places in self.data.places])
        ends = np.array([max(1, len(axis.order) - 1) for axis in self.axes])
        widths = (highs - lows) / ends[:, None]
        order = np.argsort(-widths, axis=0, kind="stable")
        cuts = BoxCuts(np.zeros(len(starts), dtype=np.bool_), np.zeros(len(rows), dtype=np.bool_))
        # a box with fewer than 2k records has no cut with k people on both sides
        pending = np.add.reduceat(self.data.records[rows], starts) >= 2 * self.k
        for columns in order:
            pending &= ~cuts.is_cut & (widths[columns, np.arange(len(starts))] > 0)
            if not pending.any():
                break
            self._try(rows, boxes, pending, self._groups(columns, lows, highs), columns, cuts)
        return cuts

    def _groups(self, columns: Codes, lows: NDArray[np.int64], highs: NDArray[np.int64]) -> Codes:
        """For each box the coarsest level of its column at which it has two groups."""
        levels = np.zeros(len(columns), dtype=np.int64)
        for column, axis in enumerate(self.axes):
            mine = np.flatnonzero(columns == column)
            for level in range(1, len(axis.groups)):
                differs = axis.groups[level][lows[column, mine]] != axis.groups[level][highs[column, mine]]
                levels[mine[differs]] = level
        return levels

    def _try(self, rows: Codes, boxes: Codes, pending: Flags, levels: Codes, columns: Codes, cuts: BoxCuts) -> None:
        """Cut the pending boxes by one column each where the cut is allowed."""
        here = np.flatnonzero(pending[boxes])
        chosen, owners = rows[here], (np.cumsum(pending) - 1)[boxes[here]]
        number = int(np.count_nonzero(pending))
        groups = self._group_of_rows(chosen, columns[boxes[here]], levels[boxes[here]])
        middles = median_cuts(owners, groups, self.data.records[chosen])
        upper = groups > middles[owners]
        sides = self.data.hold(chosen, 2 * owners + upper, 2 * number, self.k, self.least)
        holds = sides[::2] & sides[1::2]
        cuts.is_cut[np.flatnonzero(pending)[holds]] = True
        cuts.is_upper[here[holds[owners]]] = upper[holds[owners]]

    def _group_of_rows(self, rows: Codes, columns: Codes, levels: Codes) -> Codes:
        """The group of each row at the column and the level of its box."""
        groups = np.empty(len(rows), dtype=np.int64)
        for column, axis in enumerate(self.axes):
            mine = np.flatnonzero(columns == column)
            groups[mine] = axis.groups[levels[mine], self.data.places[column][rows[mine]]]
        return groups


def median_cuts(owners: Codes, groups: Codes, records: Codes) -> Codes:
    """For each owner the group that ends the lower side: the cut nearest to half of the records, the lower of two."""
    bits = max(1, int(groups.max(initial=0)).bit_length())
    merged = merge_rows([(owners << bits) | groups], records)
    keys = merged.words[0]
    boxes = keys >> bits
    starts = np.flatnonzero(np.diff(boxes, prepend=-1))
    totals = np.add.reduceat(merged.records, starts)
    below = np.cumsum(merged.records)
    below -= (below[starts] - merged.records[starts])[boxes]
    gaps = np.abs(2 * below - totals[boxes])
    gaps[np.append(starts[1:], len(keys)) - 1] = np.iinfo(np.int64).max  # the last group ends the box
    nearest = np.flatnonzero(gaps == np.minimum.reduceat(gaps, starts)[boxes])
    first = nearest[np.diff(boxes[nearest], prepend=-1) != 0]
    cuts: Codes = keys[first] & ((1 << bits) - 1)
    return cuts
