"""Sums over people of clipped integer vectors: the only way by which a model meets rows.

Definition
    A row contributes integers to a few places of a vector, by a public rule that reads this row and the public model.
    The vectors of a person's rows are added, then scaled to an L2 norm of at most `clip` (each coordinate multiplied by
    clip/norm and rounded towards zero), and people are added.

Guarantee
    Adding or removing one person moves the sum by at most `clip` in L2 norm, for any number of rows of that person;
    replacing one by at most 2 clip. Proof: docs/proofs/learning/core/sums.md.

Exactness
    64-bit integers throughout. A person's norm is rounded up to a whole number before the division, so rounding never
    raises a norm. Magnitudes are refused before data is read where a sum could leave 64 bits.

Not covered
    Noise, which `discreet.learning.core.training` adds.

References
    Abadi and others, Deep Learning with Differential Privacy, CCS 2016 (clipping); McMahan and others, Learning
    Differentially Private Recurrent Language Models, ICLR 2018 (clipping for each person).
"""

from collections.abc import Iterable
from typing import NamedTuple, Protocol

import numpy as np

from discreet.learning.core.lattice import Integers, root_up
from discreet.learning.core.rows import EncodedRows, split_people

LARGEST_CLIP = 1 << 28
LARGEST_VALUE = 1 << 31
ENTRIES_AT_ONCE = 1 << 18
"""Entries of rows that are in memory together: wide rows come in smaller parts, by public numbers alone.

So many 64-bit integers fit a processor's cache, and a gradient of 20 features takes a third less time than with 2^24.
"""


class Contributions(NamedTuple):
    """What rows add: `values[i, j]` to the place `places[i, j]` of the vector."""

    places: Integers
    values: Integers


class Step(Protocol):
    """One sum that a learner asks for: public, and a rule for each row alone."""

    @property
    def length(self) -> int:
        """Number of places of the vector."""

    @property
    def clip(self) -> int:
        """The largest L2 norm of a person's vector."""

    @property
    def has_distinct_places(self) -> bool:
        """Whether no row can name a place twice; it only saves work."""

    def contributions(self, rows: EncodedRows) -> Contributions:
        """What each row adds, from this row and the public model alone."""


def people_sum(step: Step, blocks: Iterable[EncodedRows]) -> Integers:
    """The exact sum over all people of their clipped vectors."""
    if not 1 <= step.clip <= LARGEST_CLIP:
        raise ValueError("a clip outside 1 to 2^28")
    total = np.zeros(step.length, dtype=np.int64)
    for block in blocks:
        if len(block):
            rows = _rows_at_once(step, block)
            for part in split_people(block, rows):
                total += _part_sum(step, part, rows)
    return total


def _rows_at_once(step: Step, block: EncodedRows) -> int:
    """How many rows are read together; the entries of a row are as many for every row."""
    width: int = step.contributions(_between(block, 0, 1)).values.shape[1]
    return max(1, ENTRIES_AT_ONCE // width)


def _between(block: EncodedRows, low: int, high: int) -> EncodedRows:
    """Consecutive rows of a block, of any people; all rows are the block itself, whose scores may be known."""
    if (low, high) == (0, len(block)):
        return block
    return EncodedRows(block.codes[low:high], block.target[low:high])


def _part_sum(step: Step, part: EncodedRows, rows: int) -> Integers:
    if part.starts is None and step.has_distinct_places:
        places, values = _bounded(step, part)
        return _add(places.ravel(), _clip_rows(values, step.clip).ravel(), step.length)
    starts = np.arange(len(part), dtype=np.int64) if part.starts is None else part.starts
    person = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(part)))
    lows = range(0, len(part), rows)
    found = [_entries(step, _between(part, low, min(low + rows, len(part))), person[low : low + rows]) for low in lows]
    owners, spots, amounts = found[0]
    if len(found) > 1:
        owners, spots, amounts = (np.concatenate(each) for each in zip(*found, strict=True))
        owners, spots, amounts = _merge(owners, spots, amounts, step.length)
    return _add(spots, _clip_people(owners, amounts, len(starts), step.clip), step.length)


def _bounded(step: Step, rows: EncodedRows) -> Contributions:
    places, values = step.contributions(rows)
    return Contributions(places, np.clip(values, -LARGEST_VALUE, LARGEST_VALUE))


def _entries(step: Step, rows: EncodedRows, person: Integers) -> tuple[Integers, Integers, Integers]:
    """Persons, places and amounts of some rows, one entry for each person and place."""
    places, values = _bounded(step, rows)
    return _merge(np.repeat(person, values.shape[1]), places.ravel(), values.ravel(), step.length)


def _clip_rows(values: Integers, clip: int) -> Integers:
    """The vectors of people who have one row each, clipped."""
    cut = np.clip(values, -clip, clip)
    if cut.shape[1] == 1:
        return cut
    if cut.shape[1] > (1 << 62) // (clip * clip):
        owners = np.repeat(np.arange(len(cut)), cut.shape[1])
        return _clip_people(owners, cut.ravel(), len(cut), clip).reshape(cut.shape)
    return scale_rows(cut, clip)


def scale_rows(values: Integers, clip: int) -> Integers:
    """Rows scaled to a norm of at most the clip and rounded towards zero; their squares add up within 64 bits."""
    squares = np.einsum("ij,ij->i", values, values)
    over = squares > clip * clip
    if over.any():
        values, norms = values.copy(), _roots_up(squares[over])
        values[over] = np.sign(values[over]) * (np.abs(values[over]) * clip // norms[:, None])
    return values


def _merge(owners: Integers, spots: Integers, amounts: Integers, length: int) -> tuple[Integers, Integers, Integers]:
    """One entry for each person and place."""
    keys = owners * length + spots
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    firsts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    merged = np.add.reduceat(amounts[order], firsts)
    return ordered[firsts] // length, ordered[firsts] % length, merged


def _clip_people(owners: Integers, amounts: Integers, people: int, clip: int) -> Integers:
    """The entries of each person, scaled to a norm of at most the clip.

    A coordinate beyond the clip is cut to it first: then squares fit 64 bits, and the norm after that is that of a
    vector which is shorter than the person's own, so the guarantee holds.
    """
    cut = np.clip(amounts, -clip, clip)
    norms = _norms(owners, cut, people, clip)
    over = norms[owners] > clip
    if not over.any():
        return cut
    scaled = np.abs(cut) * clip // np.maximum(norms[owners], 1)
    return np.where(over, np.sign(cut) * scaled, cut)


def _norms(owners: Integers, cut: Integers, people: int, clip: int) -> Integers:
    """The L2 norm of each person's vector, rounded up to a whole number.

    The squares of those few people whose sum could leave 64 bits are added as Python integers.
    """
    entries = np.bincount(owners, minlength=people)
    squares = np.zeros(people, dtype=np.int64)
    safe = entries[owners] <= max(1, (1 << 62) // (clip * clip))
    np.add.at(squares, owners[safe], cut[safe] ** 2)
    norms = _roots_up(squares)
    for person in np.unique(owners[~safe]).tolist():
        norms[person] = root_up(sum(int(value) ** 2 for value in cut[owners == person]))
    return norms


def _roots_up(squares: Integers) -> Integers:
    """Square roots, rounded up; floats propose and integers decide."""
    roots: Integers = np.sqrt(squares.astype(np.float64)).astype(np.int64)
    roots -= (roots * roots > squares).astype(np.int64)
    roots += ((roots + 1) * (roots + 1) <= squares).astype(np.int64)
    return roots + (roots * roots < squares)


def _add(spots: Integers, amounts: Integers, length: int) -> Integers:
    total = np.zeros(length, dtype=np.int64)
    np.add.at(total, spots, amounts)
    return total
