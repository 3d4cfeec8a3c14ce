"""Columns as slots have one more for missing values."""

import datetime as dt
import json

import pytest

from discreet.catalog.catalog import ColumnType
from discreet.plan.slots import SlotColumn, UnitColumns, UnitRule, columns_from_json, columns_to_json


def test_bins_have_one_slot_each_and_missing_values_the_last():
    age = SlotColumn("age", ColumnType.INTEGER, edges=(0, 10, 20, 30))
    assert (age.size, age.missing) == (4, 3)


def test_declared_values_have_one_slot_each():
    assert SlotColumn("sex", ColumnType.TEXT, values=("F", "M")).size == 3


@pytest.mark.parametrize(
    "column",
    [
        SlotColumn("age", ColumnType.INTEGER, edges=(0, 10, 20)),
        SlotColumn("cost", ColumnType.REAL, edges=(-0.5, 1.0, 2.5)),
        SlotColumn("day", ColumnType.DATE, edges=(dt.date(2024, 1, 1), dt.date(2024, 2, 1))),
        SlotColumn("time", ColumnType.TIMESTAMP, values=(dt.datetime.fromisoformat("2024-01-01T12:30"),)),
        SlotColumn("sex", ColumnType.TEXT, values=("F", "")),
        SlotColumn("is_new", ColumnType.BOOLEAN, values=(False, True)),
    ],
    ids=lambda column: column.name,
)
def test_a_column_is_written_as_plain_data_and_read_back(column):
    written = json.loads(json.dumps(columns_to_json([column])))
    assert columns_from_json(written) == (column,)


@pytest.mark.parametrize(
    "damage",
    [{"name": 1}, {"type": "none"}, {"edges": []}, {"edges": [1]}, {"values": ["F"]}, {"edges": ["a", "b"]}],
    ids=str,
)
def test_a_damaged_column_is_not_read(damage):
    written = SlotColumn("age", ColumnType.INTEGER, edges=(0, 10, 20)).to_json()
    with pytest.raises((KeyError, TypeError, ValueError)):
        SlotColumn.from_json(written | damage)


def test_a_marginal_of_columns_of_units_alone_counts_units():
    number = SlotColumn("visits", ColumnType.INTEGER, values=(1, 2, 3))
    units = UnitColumns(number, (("sex", UnitRule.MIN),))
    assert units.names == ("visits", "sex")
    assert units.covers(("sex",))
    assert units.covers(("visits", "sex"))
    assert not units.covers(("sex", "ward"))
