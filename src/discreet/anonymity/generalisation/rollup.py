"""Roll-up of a count cube: from the classes of a node of the lattice to those of a coarser node.

A row of a node is a class, together with a person where persons have several rows and with a sensitive value where one
is measured. All of them are bit fields of one integer key, or of several where 63 bits are too few. A field keeps its
place at every node. A roll-up therefore replaces the fields of the columns whose level changes, sorts the keys and adds
up the rows with equal keys. It may start at any finer node, because levels are nested: the start that has the fewest
rows is the cheapest.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.anonymity.classes.cube import Codes, Cube
from discreet.anonymity.classes.encoding import ranks as value_ranks
from discreet.anonymity.generalisation.levels import GeneralisationLevels

Node = tuple[int, ...]
_BLOCK = 2**15  # rows that are recoded at once, so that they stay in the cache
_BITS = 62  # of the 64 bits of a word, one is the sign and one is spare


@dataclass(frozen=True)
class BitField:
    """Place of one column in the words of a key."""

    word: int
    shift: int
    bits: int

    @property
    def mask(self) -> int:
        """The bits of the field within its word."""
        return ((1 << self.bits) - 1) << self.shift


@dataclass(frozen=True)
class NodeRows:
    """Distinct keys in ascending order, with the number of records of each.

    Attributes:
        words: The words of the keys, the most significant first.
        records: For each key its number of records: rows of the cube, each counted with its number of people.
    """

    words: tuple[Codes, ...]
    records: Codes

    def __len__(self) -> int:
        return len(self.records)


@dataclass(frozen=True)
class KeyLayout:
    """Bit fields of the quasi-identifiers, then the person, then the sensitive value.

    Attributes:
        levels: The levels of each quasi-identifier.
        fields: The field of each quasi-identifier.
        person: Field of the person, where persons have several rows.
        sensitive: Field of the rank of the sensitive value, where one is measured.
        words: Number of words of a key.
    """

    levels: tuple[GeneralisationLevels, ...]
    fields: tuple[BitField, ...]
    person: BitField | None
    sensitive: BitField | None
    words: int

    @cached_property
    def class_masks(self) -> tuple[int, ...]:
        """For each word the bits that tell classes apart."""
        return self._masks(self.fields)

    @cached_property
    def pair_masks(self) -> tuple[int, ...]:
        """For each word the bits that tell pairs of a person and a class apart."""
        return self._masks((*self.fields, self.person) if self.person else self.fields)

    def _masks(self, fields: Sequence[BitField]) -> tuple[int, ...]:
        return tuple(sum(field.mask for field in fields if field.word == word) for word in range(self.words))

    def codes(self, rows: NodeRows, field: BitField) -> Codes:
        """The codes of a field for each row."""
        return (rows.words[field.word] >> field.shift) & ((1 << field.bits) - 1)

    def starts(self, rows: NodeRows, masks: tuple[int, ...]) -> Codes:
        """Positions where the bits of the masks differ from those of the row before."""
        return np.flatnonzero(self.changes(rows, masks))

    @staticmethod
    def changes(rows: NodeRows, masks: tuple[int, ...]) -> NDArray[np.bool_]:
        """Whether the bits of the masks differ from those of the row before; the first row does."""
        changes = np.ones(len(rows), dtype=np.bool_)
        changes[1:] = False
        for word, mask in zip(rows.words, masks, strict=True):
            if mask:
                changes[1:] |= ((word[1:] ^ word[:-1]) & mask) != 0
        return changes


def key_layout(cube: Cube, levels: Sequence[GeneralisationLevels], sensitive: str | None) -> KeyLayout:
    """The layout of the keys of a cube, with fields as wide as the largest code needs."""
    widths = [_bits(max(int(codes.max(initial=0)) for codes in each.codes)) for each in levels]
    if cube.persons is not None:
        widths.append(_bits(int(cube.persons.max(initial=0))))
    if sensitive is not None:
        widths.append(_bits(len(cube.values[sensitive]) - 1))
    fields, words = _place_fields(widths)
    number = len(levels)
    return KeyLayout(
        tuple(levels),
        fields[:number],
        fields[number] if cube.persons is not None else None,
        fields[-1] if sensitive is not None else None,
        words,
    )


def _bits(largest: int) -> int:
    return max(1, largest.bit_length())


def _place_fields(widths: Sequence[int]) -> tuple[tuple[BitField, ...], int]:
    """Fields from the lowest bits of the last word upwards; a field never crosses a word."""
    places, word, shift = [], 0, 0
    for bits in reversed(widths):
        if shift + bits > _BITS:
            word, shift = word + 1, 0
        places.append((word, shift, bits))
        shift += bits
    fields = tuple(BitField(word - back, shift, bits) for back, shift, bits in reversed(places))
    return fields, word + 1


def base_rows(layout: KeyLayout, cube: Cube, sensitive: str | None) -> NodeRows:
    """The rows of the cube at the node where every column has its own values."""
    words = [np.zeros(len(cube.people), dtype=np.int64) for _ in range(layout.words)]
    columns = [cube.codes[name] for name in cube.quasi]
    places = [*layout.fields]
    if cube.persons is not None and layout.person is not None:
        columns.append(cube.persons)
        places.append(layout.person)
    if sensitive is not None and layout.sensitive is not None:
        # by rank, so that the values of a class are in their order
        columns.append(value_ranks(cube.values[sensitive])[cube.codes[sensitive]])
        places.append(layout.sensitive)
    for codes, field in zip(columns, places, strict=True):
        words[field.word] |= codes.astype(np.int64) << field.shift
    present = cube.people > 0
    if not present.all():
        return merge_rows([word[present] for word in words], cube.people[present])
    return merge_rows(words, cube.people.astype(np.int64))


class RollUp:
    """Roll-ups between the nodes of one lattice; the maps between levels are made once."""

    def __init__(self, layout: KeyLayout) -> None:
        self.layout = layout
        self._level_map = cache(self._make_level_map)

    def coarsen(self, rows: NodeRows, start: Node, target: Node) -> NodeRows:
        """The rows of the node `target`, from those of a node `start` that is finer in every column or equal."""
        if start == target:
            return rows
        words = [np.empty_like(word) for word in rows.words]
        steps = [(column, *pair) for column, pair in enumerate(zip(start, target, strict=True)) if pair[0] != pair[1]]
        for begin in range(0, len(rows), _BLOCK):
            self._recode(rows, steps, slice(begin, begin + _BLOCK), words)
        return merge_rows(words, rows.records)

    def _recode(self, rows: NodeRows, steps: list[tuple[int, int, int]], block: slice, words: list[Codes]) -> None:
        """Write the keys of a block with the fields of the columns that step up."""
        for number, word in enumerate(words):
            word[block] = rows.words[number][block]
        for column, fine, coarse in steps:
            field = self.layout.fields[column]
            part = words[field.word][block]
            codes = self._level_map(column, fine, coarse)[(part >> field.shift) & ((1 << field.bits) - 1)]
            part &= ~field.mask
            codes <<= field.shift
            part |= codes

    def _make_level_map(self, column: int, fine: int, coarse: int) -> Codes:
        levels = self.layout.levels[column]
        codes = np.zeros(int(levels.codes[fine].max(initial=0)) + 1, dtype=np.int64)
        codes[levels.codes[fine]] = levels.codes[coarse]
        return codes


def merge_rows(words: Sequence[Codes], records: Codes) -> NodeRows:
    """Sort keys and add up the records of equal ones."""
    if len(records) == 0:
        return NodeRows(tuple(words), records)
    bits = _bits(int(records.max()))
    if len(words) == 1 and _bits(int(words[0].max())) + bits <= _BITS:
        return _merge_pairs(words[0], records, bits)
    order = np.lexsort(tuple(reversed(words)))
    words, records = [word[order] for word in words], records[order]
    changes = np.ones(len(records), dtype=np.bool_)
    changes[1:] = words[0][1:] != words[0][:-1]
    for word in words[1:]:
        changes[1:] |= word[1:] != word[:-1]
    starts = np.flatnonzero(changes)
    if len(starts) == len(records):
        return NodeRows(tuple(words), records)
    return NodeRows(tuple(word[starts] for word in words), np.add.reduceat(records, starts))


def _merge_pairs(keys: Codes, records: Codes, bits: int) -> NodeRows:
    """Merge rows whose key and records fit one integer, because sorting one array is fast."""
    pairs = keys << bits
    pairs |= records
    pairs.sort()
    changes = np.ones(len(pairs), dtype=np.bool_)
    np.greater(pairs[1:] ^ pairs[:-1], (1 << bits) - 1, out=changes[1:])
    starts = np.flatnonzero(changes)
    keys = pairs[starts] >> bits
    pairs &= (1 << bits) - 1
    return NodeRows((keys,), np.add.reduceat(pairs, starts))
