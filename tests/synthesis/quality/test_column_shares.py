"""Labels are edges as people write them, or values."""

import datetime as dt

import numpy as np

from discreet.catalog.catalog import ColumnType
from discreet.plan.slots import SlotColumn
from discreet.synthesis.quality.column_shares import column_shares

HALVES = np.array([0.5, 0.5, 0.0])


def test_numbers_and_dates_are_bins_with_edges():
    found = column_shares(SlotColumn("income", ColumnType.INTEGER, edges=(0, 1_000, 20_000)), HALVES, HALVES)
    assert found.is_ordered
    assert found.labels == ("0", "1,000", "20,000")
    days = (dt.date(2020, 1, 1), dt.date(2020, 2, 1), dt.date(2020, 3, 1))
    assert column_shares(SlotColumn("day", ColumnType.DATE, edges=days), HALVES, HALVES).labels[0] == "2020-01-01"


def test_other_columns_have_their_values():
    found = column_shares(SlotColumn("member", ColumnType.BOOLEAN, values=(True, False)), HALVES, HALVES[::-1])
    assert not found.is_ordered
    assert found.labels == ("True", "False")
    assert found.drawn == (0.0, 0.5, 0.5)
