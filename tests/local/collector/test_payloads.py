"""Payloads are read by the oracle of the task, and what no client sends is not valid."""

import secrets

import numpy as np
import pytest

from discreet.local.collector.payloads import layout_of
from local_reports import bitmap_task, subset_task, symbol_task


def cells(*payloads):
    return np.frombuffer(b"".join(payloads), dtype=np.uint8).reshape(len(payloads), -1)


def test_a_symbol_is_big_endian_and_below_the_number_of_symbols():
    layout = layout_of(symbol_task(300))
    assert (layout.form, layout.length, layout.width) == ("symbol", 2, 300)
    payloads = cells(b"\x00\x05", b"\x01\x2b", b"\x01\x2c", b"\xff\xff")
    assert layout.are_valid(payloads).tolist() == [True, True, False, False]
    assert layout.symbols(payloads[:2]).tolist() == [5, 299]
    assert np.flatnonzero(layout.count(payloads[:2])).tolist() == [5, 299]


def test_bits_of_a_bitmap_are_counted_from_the_highest_bit_of_the_first_byte():
    layout = layout_of(bitmap_task(20))
    payloads = cells(b"\x80\x01\x10", b"\x80\x00\x00", b"\x00\x00\x08")
    assert layout.are_valid(payloads).tolist() == [True, True, False]
    assert np.flatnonzero(layout.count(payloads[:2])).tolist() == [0, 15, 19]
    assert layout.count(payloads[:2])[0] == 2


def test_counts_of_many_bitmaps_are_those_of_python():
    task = bitmap_task(20)
    layout = layout_of(task)
    rows = [bytes([secrets.randbelow(256), secrets.randbelow(256), secrets.randbelow(16) << 4]) for _ in range(500)]
    expected = [sum(row[i // 8] >> (7 - i % 8) & 1 for row in rows) for i in range(20)]
    assert layout.count(cells(*rows)).tolist() == expected


def test_a_subset_as_a_bitmap_has_exactly_its_weight():
    layout = layout_of(subset_task(16, 5))
    assert (layout.form, layout.weight) == ("bitmap", 5)
    payloads = cells(b"\xf8\x00", b"\xff\x00", b"\x00\x00", b"\x01\xe1")
    assert layout.are_valid(payloads).tolist() == [True, False, False, True]


def test_a_subset_as_slots_is_sorted_without_repetitions_and_in_range():
    layout = layout_of(subset_task(1_000, 3))
    assert (layout.form, layout.length) == ("slots", 6)
    rows = [(1, 2, 999), (2, 1, 3), (1, 1, 2), (1, 2, 1_000), (0, 1, 2)]
    payloads = cells(*(b"".join(slot.to_bytes(2, "big") for slot in row) for row in rows))
    assert layout.are_valid(payloads).tolist() == [True, False, False, False, True]
    counts = layout.count(payloads[[0, 4]])
    assert {slot: counts[slot] for slot in np.flatnonzero(counts)} == {0: 1, 1: 2, 2: 2, 999: 1}


@pytest.mark.parametrize("task", [symbol_task(300), bitmap_task(), subset_task(16, 5), subset_task(1_000, 3)])
def test_no_payloads_are_no_counts(task):
    layout = layout_of(task)
    nothing = np.zeros((0, layout.length), dtype=np.uint8)
    assert layout.are_valid(nothing).tolist() == []
    assert layout.count(nothing).tolist() == [0] * layout.width
