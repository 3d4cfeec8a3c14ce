"""Bitmaps."""

import pytest

from discreet.errors import ParameterError
from discreet.local.oracles.bitmaps import bitmap_bytes, pack, unpack
from grids import over


@over("slots", ((), (0,), (7, 8), (0, 9), (1, 2, 3)))
def test_a_bitmap_is_unpacked_to_the_same_slots(slots):
    assert unpack(pack(slots, 10), 10, "unary") == slots


def test_the_first_slot_is_the_highest_bit_of_the_first_byte():
    assert pack((0, 9), 10) == b"\x80\x40"
    assert [bitmap_bytes(size) for size in (1, 8, 9)] == [1, 1, 2]


def test_bits_without_a_slot_and_wrong_lengths_are_refused():
    for payload in (b"\x00\x20", b"\x00", bytes(3)):
        with pytest.raises(ParameterError):
            unpack(payload, 10, "unary")
