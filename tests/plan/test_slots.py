"""Columns as slots have one more for missing values."""

from discreet.catalog.catalog import ColumnType
from discreet.plan.slots import SlotColumn


def test_bins_have_one_slot_each_and_missing_values_the_last():
    age = SlotColumn("age", ColumnType.INTEGER, edges=(0, 10, 20, 30))
    assert (age.size, age.missing) == (4, 3)


def test_declared_values_have_one_slot_each():
    assert SlotColumn("sex", ColumnType.TEXT, values=("F", "M")).size == 3
