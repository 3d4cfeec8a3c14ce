"""Nearest rows by Gower's distance, with ties at random."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.anonymity.linkage.nearest import RowDistances, as_numbers, is_number


def test_the_nearest_row_is_that_of_the_definition():
    draw = dp.testing.generator(1)
    tables = [
        pa.table({"age": draw.integers(0, 50, rows), "town": [str(town) for town in draw.integers(0, 3, rows)]})
        for rows in (30, 20)
    ]
    ages, towns = ([table[name].to_pylist() for table in tables] for name in ("age", "town"))
    width = max(ages[0]) - min(ages[0])
    rows = RowDistances(*tables, ["age", "town"]).nearest(np.arange(20), 1, draw)

    def far(target: int, row: int) -> float:
        clipped = min(max(ages[1][target], min(ages[0])), max(ages[0]))
        return abs(clipped - ages[0][row]) / width + (towns[1][target] != towns[0][row])

    for target, (row,) in enumerate(rows.tolist()):
        assert far(target, row) <= min(far(target, other) for other in range(30)) + 1e-5


def test_missing_cells_are_near_to_missing_cells_alone():
    published = pa.table({"age": [None, 10.0, 50.0]})
    targets = pa.table({"age": pa.array([None, 11.0], pa.float64())})
    rows = RowDistances(published, targets, ["age"]).nearest(np.arange(2), 1, dp.testing.generator(2))
    assert rows.tolist() == [[0], [1]]


def test_equally_near_rows_are_taken_at_random():
    published = pa.table({"sex": ["f"] * 50})
    rows = RowDistances(published, published[:1], ["sex"]).nearest(np.zeros(40, int), 1, dp.testing.generator(3))
    assert len(set(rows.ravel().tolist())) > 10


def test_more_neighbours_than_rows_are_all_rows():
    published = pa.table({"sex": ["f", "m"]})
    rows = RowDistances(published, published, ["sex"]).nearest(np.arange(2), 9, dp.testing.generator(4))
    assert [sorted(line) for line in rows.tolist()] == [[0, 1], [0, 1]]
    assert len(RowDistances(published, published, ["sex"]).nearest(np.arange(0), 1, dp.testing.generator(4))) == 0


def test_dates_are_numbers_of_days():
    column = pa.chunked_array([[dt.date(1970, 1, 3), None]])
    assert as_numbers(column)[0] == 2
    assert np.isnan(as_numbers(column)[1])
    assert is_number(pa.timestamp("us"))
    assert not is_number(pa.string())


@pytest.mark.parametrize(
    ("unit", "value"), [("s", 2), ("ms", 2_000), ("us", 2_000_000), ("ns", 2_000_000_000), ("ns", 2_000_000_001)]
)
def test_times_of_every_unit_are_microseconds(unit, value):
    """A time between two microseconds is no error: Arrow would show it."""
    assert as_numbers(pa.chunked_array([pa.array([value], pa.timestamp(unit))]))[0] == pytest.approx(2e6)
