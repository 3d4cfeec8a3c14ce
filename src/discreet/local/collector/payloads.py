"""The payload of a report: one symbol, a bitmap, or a list of slots; which one follows from the oracle of the task.

A symbol is counted by a GROUP BY. Bitmaps and lists of slots are counted by numpy, bit by bit or slot by slot.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.local.oracles.randomizer import Counts, byte_width
from discreet.local.oracles.subset import SubsetSelection

if TYPE_CHECKING:
    from discreet.local.task import Task

Form = Literal["symbol", "bitmap", "slots"]
Bytes = NDArray[np.uint8]
_WEIGHTS = np.array([value.bit_count() for value in range(256)], dtype=np.uint8)
_BLOCK = 1 << 24  # unpacked bits at a time: 16 MB


@dataclass(frozen=True)
class PayloadLayout:
    """How the payloads of a task are read.

    Attributes:
        form: One symbol, a bitmap with one bit a slot, or a sorted list of slots.
        length: Number of bytes.
        width: Length of the count vector: symbols, or slots.
        weight: Number of slots in a subset; None where a bitmap may have any number of set bits.
        slot_bytes: Bytes of one slot in a list of slots.
    """

    form: Form
    length: int
    width: int
    weight: int | None = None
    slot_bytes: int = 1

    def symbols(self, payloads: Bytes) -> Counts:
        """The symbols of payloads, one row each."""
        return big_endian(payloads)

    def are_valid(self, payloads: Bytes) -> NDArray[np.bool_]:
        """Which payloads a client could have sent: symbols in range, no bits after the last slot, sorted slots."""
        if self.form == "symbol":
            return np.asarray(big_endian(payloads) < self.width)
        if self.form == "slots":
            slots = big_endian(payloads.reshape(len(payloads), self.length // self.slot_bytes, self.slot_bytes))
            return np.asarray((np.diff(slots, axis=1) > 0).all(axis=1) & (slots[:, -1] < self.width))
        padding = (1 << (8 * self.length - self.width)) - 1
        is_padded = (payloads[:, -1] & np.uint8(padding)) == 0
        if self.weight is None:
            return np.asarray(is_padded)
        return np.asarray(is_padded & (_WEIGHTS[payloads].sum(axis=1, dtype=np.int64) == self.weight))

    def count(self, payloads: Bytes) -> Counts:
        """The count vector of payloads that are valid."""
        if self.form == "symbol":
            return np.bincount(big_endian(payloads), minlength=self.width).astype(np.int64)
        if self.form == "slots":
            slots = big_endian(payloads.reshape(-1, self.slot_bytes))
            return np.bincount(slots, minlength=self.width).astype(np.int64)
        total = np.zeros(8 * self.length, dtype=np.int64)
        rows = max(1, _BLOCK // len(total))
        for start in range(0, len(payloads), rows):
            bits = np.unpackbits(payloads[start : start + rows], axis=1)
            total += bits.sum(axis=0, dtype=np.int64)
        return total[: self.width]


def layout_of(task: "Task") -> PayloadLayout:
    """The layout of the payloads of a task."""
    oracle = task.oracle
    if oracle.symbols is not None:
        return PayloadLayout("symbol", oracle.payload_bytes, oracle.symbols)
    if not isinstance(oracle, SubsetSelection):
        return PayloadLayout("bitmap", oracle.payload_bytes, oracle.size)
    form: Form = "bitmap" if oracle.is_bitmap else "slots"
    return PayloadLayout(form, oracle.payload_bytes, oracle.size, oracle.subset, byte_width(oracle.size))


def big_endian(digits: Bytes) -> Counts:
    """The unsigned integers whose bytes are on the last axis."""
    total = np.zeros(digits.shape[:-1], dtype=np.int64)
    for place in range(digits.shape[-1]):
        total = (total << 8) | digits[..., place]
    return total
