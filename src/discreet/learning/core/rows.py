"""Rows as codes of public features: what a learner computes contributions from, in blocks of whole people."""

import io
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from discreet.learning.core.lattice import Integers

Codes = NDArray[np.uint16]


@dataclass(frozen=True)
class EncodedRows:
    """A block of rows; all rows of a person are in one block, and stand together.

    Attributes:
        codes: The slot of each feature, one row for each row.
        target: The number of the class of a row, or its target in steps.
        starts: Where the rows of each person begin; None where each row is a person.
    """

    codes: Codes
    target: Integers
    starts: Integers | None = None

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def people(self) -> int:
        """How many people the block has."""
        return len(self.codes) if self.starts is None else len(self.starts)


def group_people(codes: Codes, target: Integers, person: NDArray[np.int64] | None) -> EncodedRows:
    """A block whose rows are sorted by person, so that the rows of a person stand together."""
    if person is None:
        return EncodedRows(codes, target)
    order = np.argsort(person, kind="stable")
    sorted_ids = person[order]
    is_first = np.ones(len(order), dtype=np.bool_)
    is_first[1:] = sorted_ids[1:] != sorted_ids[:-1]
    starts = np.flatnonzero(is_first)
    alone = len(starts) == len(order)
    return EncodedRows(codes[order], target[order], None if alone else starts.astype(np.int64))


def split_people(rows: EncodedRows, largest: int = 1 << 16) -> list[EncodedRows]:
    """The same rows in blocks of whole people, of about so many rows; the rows of one person may be more."""
    if len(rows) <= largest:
        return [rows]
    begins = np.arange(len(rows)) if rows.starts is None else rows.starts
    cuts = np.unique(begins[np.searchsorted(begins, np.arange(0, len(rows), largest), side="right") - 1])
    blocks = []
    for low, high in pairwise([*cuts.tolist(), len(rows)]):
        inside = None if rows.starts is None else rows.starts[(rows.starts >= low) & (rows.starts < high)] - low
        blocks.append(EncodedRows(rows.codes[low:high], rows.target[low:high], inside))
    return blocks


def pack_rows(block: EncodedRows) -> bytes:
    """A block as bytes, to send to another process; `unpack_rows` reads it."""
    sink = io.BytesIO()
    starts = np.full(1, -1, dtype=np.int64) if block.starts is None else block.starts
    np.savez(sink, codes=block.codes, target=block.target, starts=starts)
    return sink.getvalue()


def unpack_rows(data: bytes) -> EncodedRows:
    """The block that `pack_rows` wrote."""
    with np.load(io.BytesIO(data), allow_pickle=False) as found:
        codes, target, starts = found["codes"], found["target"], found["starts"]
    return EncodedRows(codes, target, None if starts[:1].tolist() == [-1] else starts)
