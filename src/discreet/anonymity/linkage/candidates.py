"""Candidates: for every person of an auxiliary table, the published people who are compatible with what is known.

Auxiliary rows that are compatible with the same published rows are one description, and people with the same
description are one target, so that each is joined once. Published rows are sorted by their exact columns and the first
approximate one; the candidates of a description are spans of that order. Pairs are enumerated block by block.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from discreet.anonymity.classes.keys import pack
from discreet.anonymity.classes.keys import renumber as renumber_keys
from discreet.anonymity.linkage.matching import Cells, EqualCells, RangeCells, SimilarCells
from discreet.anonymity.linkage.persons import distinct, expand, renumber
from discreet.engines.sources.arrow_tables import Codes
from discreet.errors import UnsupportedError

Flags = NDArray[np.bool_]
MOST_PAIRS = 4_000_000
MOST_PATTERNS = 4_096


@dataclass(frozen=True)
class CandidateRows:
    """Compatible pairs of some targets: published rows that fit, and the pairs of a target and a person, once each.

    Attributes:
        targets: The first target of the block and the one after the last.
        row_target: Target of each compatible row.
        row: The compatible row.
        pair_target: Target of each pair.
        pair_person: Person of each pair.
    """

    targets: tuple[int, int]
    row_target: Codes
    row: Codes
    pair_target: Codes
    pair_person: Codes


@dataclass(frozen=True)
class _Spans:
    """For each description the spans of compatible rows within `order`, sorted by description."""

    order: Codes
    description: Codes
    low: Codes
    high: Codes


class CandidateSearch:
    """The join of an auxiliary table with a published one.

    `published_nulls` and `auxiliary_nulls` flag missing cells by column where a missing cell is compatible with
    everything; without them missing cells are values.
    """

    def __init__(
        self,
        cells: Sequence[Cells],
        published_people: Codes,
        auxiliary_people: Codes,
        *,
        published_nulls: Flags | None = None,
        auxiliary_nulls: Flags | None = None,
    ) -> None:
        self._cells = cells
        self._people = published_people
        self._has_one_row = len(published_people) == int(published_people.max(initial=-1)) + 1
        self._nulls = (published_nulls, auxiliary_nulls)
        descriptions = _combine([each.auxiliary for each in cells], len(auxiliary_people))
        _, self._examples = np.unique(descriptions, return_index=True)
        self.target_of, self._members, self._first = _targets(descriptions, auxiliary_people)
        self._spans = self._find_spans()

    @property
    def targets(self) -> int:
        """Number of targets."""
        return len(self._first) - 1

    def blocks(self, chosen: Flags | None = None) -> Iterator[CandidateRows]:
        """The compatible pairs, some targets at a time; those that are not chosen have none."""
        lengths = self._span_lengths()
        if chosen is not None:
            lengths = np.where(chosen, lengths, 0)
        ends = np.cumsum(lengths)
        start = 0
        while start < self.targets:
            before = ends[start - 1] if start else 0
            stop = max(start + 1, int(np.searchsorted(ends, before + MOST_PAIRS, side="right")))
            yield self._block(start, stop, chosen)
            start = stop

    def _span_lengths(self) -> Codes:
        spans, count = self._spans, len(self._examples)
        each = np.bincount(spans.description, weights=spans.high - spans.low, minlength=count).astype(np.int64)
        sums = np.concatenate([[0], np.cumsum(each[self._members])])
        return np.asarray(sums[self._first[1:]] - sums[self._first[:-1]])

    def _block(self, start: int, stop: int, chosen: Flags | None) -> CandidateRows:
        spans = self._spans
        places = np.arange(self._first[start], self._first[stop])
        counts = self._first[start + 1 : stop + 1] - self._first[start:stop]
        target = np.repeat(np.arange(start, stop), counts)
        if chosen is not None:
            places, target = places[chosen[target]], target[chosen[target]]
        description = self._members[places]
        edges = np.searchsorted(spans.description, [description, description + 1])
        which, span = expand(edges[0], edges[1] - edges[0])
        part, place = expand(spans.low[span], spans.high[span] - spans.low[span])
        row, item = spans.order[place], which[part]
        keep = self._fits(description[item], row)
        return self._pairs((start, stop), target[item][keep], item[keep], row[keep])

    def _fits(self, description: Codes, row: Codes) -> Flags:
        """Whether rows are within the distances that the order of rows does not have."""
        keep = np.ones(len(row), dtype=np.bool_)
        example = self._examples[description]
        for column, cells in enumerate(self._cells):
            if not isinstance(cells, RangeCells) or (column == self._sort_column() and self._nulls[0] is None):
                continue
            code, rank = cells.auxiliary[example], cells.published[row]
            inside = (cells.low[code] <= rank) & (rank < cells.high[code])
            if self._nulls[0] is not None and self._nulls[1] is not None:
                inside |= self._nulls[0][column][row] | self._nulls[1][column][example]
            keep &= inside
        return keep

    def _pairs(self, targets: tuple[int, int], target: Codes, item: Codes, row: Codes) -> CandidateRows:
        """The people who have a compatible row for every description of the target, and those rows."""
        people, count = self._people[row], int(self._people.max(initial=-1)) + 1
        needs = self._first[targets[0] + 1 : targets[1] + 1] - self._first[targets[0] : targets[1]]
        if self._has_one_row and needs.max(initial=0) <= 1:
            return CandidateRows(targets, target, row, target, people)
        keys = (target - targets[0]) * count + people
        pairs, place = np.unique(keys, return_inverse=True)
        if needs.max(initial=0) > 1:
            # a description counts once for a person, however many rows fit it
            items = int(item.max(initial=0)) + 1
            once = distinct(place * items + item) // items
            is_full = np.bincount(once, minlength=len(pairs)) == needs[pairs // count]
            target, row, pairs = target[is_full[place]], row[is_full[place]], pairs[is_full]
        return CandidateRows(targets, target, row, pairs // count + targets[0], pairs % count)

    def _sort_column(self) -> int | None:
        return next((place for place, each in enumerate(self._cells) if isinstance(each, RangeCells)), None)

    def _find_spans(self) -> _Spans:
        everything = range(len(self._cells))
        if self._nulls[0] is None or self._nulls[1] is None:
            parts = [self._join(everything, np.arange(len(self._people)), np.arange(len(self._examples)))]
        else:
            theirs, ours = _patterns(self._nulls[0]), _patterns(self._nulls[1][:, self._examples])
            if len(theirs) * len(ours) > MOST_PATTERNS:
                raise UnsupportedError(
                    f"missing cells in {len(theirs)} times {len(ours)} combinations of columns",
                    because=f"at most {MOST_PATTERNS:,} combinations are joined as wildcards",
                    instead='nulls="value", or fewer columns',
                )
            parts = [
                self._join([c for c in everything if not (here[c] or there[c])], rows, descriptions)
                for (here, rows), (there, descriptions) in product(theirs.items(), ours.items())
            ]
        starts = np.cumsum([0, *(len(part.order) for part in parts)])
        description = np.concatenate([part.description for part in parts])
        sorting = np.argsort(description, kind="stable")
        low = np.concatenate([part.low + start for part, start in zip(parts, starts, strict=False)])
        high = np.concatenate([part.high + start for part, start in zip(parts, starts, strict=False)])
        order = np.concatenate([part.order for part in parts])
        return _Spans(order, description[sorting], low[sorting], high[sorting])

    def _join(self, columns: Sequence[int], rows: Codes, descriptions: Codes) -> _Spans:
        """Spans of some published rows for some descriptions, on some columns."""
        theirs, ours = np.zeros(len(rows), dtype=np.int64), np.zeros(len(descriptions), dtype=np.int64)
        examples, probes = self._examples[descriptions], np.arange(len(descriptions))
        for column in columns:
            cells = self._cells[column]
            if isinstance(cells, EqualCells):
                here, there = cells.published[rows], cells.auxiliary[examples[probes]]
            elif isinstance(cells, SimilarCells):
                code = cells.auxiliary[examples[probes]]
                which, place = expand(cells.first[code], cells.first[code + 1] - cells.first[code])
                probes, ours = probes[which], ours[which]
                here, there = cells.published[rows], cells.codes[place]
            else:
                continue
            both = _combine([np.concatenate([theirs, ours]), np.concatenate([here, there])], len(rows) + len(ours))
            theirs, ours = both[: len(rows)], both[len(rows) :]
        low_rank = high_rank = ranks = None
        sort = next((column for column in columns if isinstance(self._cells[column], RangeCells)), None)
        if sort is not None and isinstance(cells := self._cells[sort], RangeCells):
            code, ranks = cells.auxiliary[examples[probes]], cells.published[rows]
            low_rank, high_rank = cells.low[code], cells.high[code]
        return _sort_rows(rows, descriptions[probes], (theirs, ours), ranks, (low_rank, high_rank))


def _sort_rows(
    rows: Codes,
    descriptions: Codes,
    keys: tuple[Codes, Codes],
    ranks: Codes | None,
    bounds: tuple[Codes | None, Codes | None],
) -> _Spans:
    theirs, ours = keys
    width = 1
    if ranks is not None:
        width = int(ranks.max(initial=0)) + 2
        theirs = theirs * width + ranks
    order = np.argsort(theirs, kind="stable")
    known = theirs[order]
    first, last = (np.minimum(each, width) if each is not None else None for each in bounds)
    low = np.searchsorted(known, ours * width + (0 if first is None else first))
    high = np.searchsorted(known, ours * width + (1 if last is None else last))
    full = high > low
    return _Spans(rows[order], descriptions[full], low[full], high[full])


def _combine(columns: Sequence[Codes], rows: int) -> Codes:
    """One code for each combination of codes."""
    return renumber_keys(pack([(codes, int(codes.max(initial=0)) + 1) for codes in columns], rows).values)[0]


def _targets(descriptions: Codes, people: Codes) -> tuple[Codes, Codes, Codes]:
    """The target of each person, and the descriptions of each target: `members[first[t]:first[t + 1]]`."""
    width = int(descriptions.max(initial=-1)) + 1
    pairs = distinct(people * max(width, 1) + descriptions)
    person, description = np.divmod(pairs, max(width, 1))
    count = int(people.max(initial=-1)) + 1
    times = np.bincount(person, minlength=count)
    # one description: everybody who has it is one target; several: a target of the person's own
    single = np.zeros(count, dtype=np.int64)
    single[person] = description
    target_of = renumber(np.where(times == 1, single, width + np.arange(count)))
    target, member = np.divmod(distinct(target_of[person] * max(width, 1) + description), max(width, 1))
    first = np.searchsorted(target, np.arange(int(target_of.max(initial=-1)) + 2))
    return target_of, member, first


def _patterns(nulls: Flags) -> dict[tuple[bool, ...], Codes]:
    """The places of each combination of missing cells."""
    kinds, places = np.unique(nulls, axis=1, return_inverse=True)
    return {
        tuple(kinds[:, kind].tolist()): np.flatnonzero(places.reshape(-1) == kind) for kind in range(kinds.shape[1])
    }
