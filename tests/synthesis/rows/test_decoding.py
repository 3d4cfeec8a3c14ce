"""Slots become values within their bins, and the last slot a missing value."""

import datetime as dt

import numpy as np
import pytest

from discreet.catalog.catalog import ColumnType
from discreet.plan.slots import SlotColumn
from discreet.synthesis.rows.decoding import decode

TIME = dt.datetime.fromisoformat
COLUMNS = [
    SlotColumn("whole", ColumnType.INTEGER, edges=(-3, 0, 10)),
    SlotColumn("large", ColumnType.INTEGER, edges=(-(2**62), 0, 2**62)),
    SlotColumn("real", ColumnType.REAL, edges=(-1.5, 0.0, 0.1)),
    SlotColumn("day", ColumnType.DATE, edges=(dt.date(1, 1, 1), dt.date(2024, 1, 1), dt.date(2024, 1, 3))),
    SlotColumn("time", ColumnType.TIMESTAMP, edges=tuple(map(TIME, ("2024-01-01", "2024-01-02", "2024-01-02T12:00")))),
]


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: column.name)
def test_values_lie_within_their_bins_and_the_last_slot_is_missing(column):
    slots = np.tile([0, 1, 2], 200)
    values = decode(column, slots, np.random.default_rng(1)).to_pylist()
    for slot in (0, 1):
        low, high = column.edges[slot : slot + 2]
        found = [value for value, place in zip(values, slots, strict=True) if place == slot]
        assert all(low <= value and (value < high or column.type is ColumnType.REAL) for value in found)
        assert len(set(found)) > 1
    assert all(value is None for value, place in zip(values, slots, strict=True) if place == 2)


def test_declared_values_are_decoded_as_they_are():
    column = SlotColumn("text", ColumnType.TEXT, values=("", "a"))
    assert decode(column, np.array([1, 0, 2], dtype=np.uint8), np.random.default_rng(1)).to_pylist() == ["a", "", None]


def test_a_bin_of_one_value_is_that_value():
    column = SlotColumn("whole", ColumnType.INTEGER, edges=(5, 6))
    assert decode(column, np.array([0, 0]), np.random.default_rng(1)).to_pylist() == [5, 5]
