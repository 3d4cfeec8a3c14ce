"""Queries become unions of cells, with the keys that a session would show."""

import datetime as dt
from fractions import Fraction

import numpy as np
import pytest

import discreet as dp
from discreet.catalog.catalog import ColumnType
from discreet.plan.slots import SlotColumn
from discreet.synthesis.answers.group_cells import group_cells, operand_of, reduce_mask, slot_ends

AGE = SlotColumn("age", ColumnType.INTEGER, edges=(0, 18, 65, 100))
GRADE = SlotColumn("grade", ColumnType.INTEGER, edges=(1, 2, 3))
SEX = SlotColumn("sex", ColumnType.TEXT, values=("F", "M"))
COLUMNS = (AGE, GRADE, SEX)
T = dp.table("people")


def unions(query):
    found = group_cells(query.plan, COLUMNS)
    return [tuple(int(place) for place in np.flatnonzero(mask)) for mask in found.masks()]


def test_groups_are_declared_values_within_the_conditions():
    query = T.where(T.age >= 18).group_by("sex").agg(n=dp.count())
    found = group_cells(query.plan, COLUMNS)
    assert found.columns == ("age", "sex")
    assert found.keys[0].values == ("F", "M")
    assert unions(query) == [(3, 6), (4, 7)]


def test_keys_of_the_query_come_first_and_a_missing_key_is_the_missing_slot():
    assert unions(T.group_by("sex", keys={"sex": ["M", None]}).agg(n=dp.count())) == [(1,), (2,)]
    assert unions(T.group_by("grade").agg(n=dp.count())) == [(0,), (1,)]
    assert group_cells(T.group_by("age").agg(n=dp.count()).plan, COLUMNS) is None


def test_histograms_have_their_labels_and_a_bin_for_missing_values():
    query = T.group_by("sex").histogram("age", bins=[18, 65], missing=True)
    found = group_cells(query.plan, COLUMNS)
    assert found.keys[1].values[:4] == ("below 18", "[18, 65)", "65 and above", None)
    assert unions(T.histogram("age", bins=[65])) == [(0, 1), (2,)]


def test_derived_columns_are_those_of_the_table():
    adult = T.derive(age=T.age.bin([18])).where(T.age == 1)
    assert unions(adult.agg(n=dp.count())) == [(1, 2)]
    assert group_cells(T.derive(age=T.age + 1).where(T.age > 18).agg(n=dp.count()).plan, COLUMNS) is None


def test_parts_of_slots_unknown_columns_and_too_many_cells_are_left_to_drawn_rows(monkeypatch):
    assert group_cells(T.where(T.age > 30).agg(n=dp.count()).plan, COLUMNS) is None
    assert group_cells(T.where(T.size > 30).agg(n=dp.count()).plan, COLUMNS) is None
    assert group_cells(T.join(T, on="sex").agg(n=dp.count()).plan, COLUMNS) is None
    monkeypatch.setattr("discreet.synthesis.answers.group_cells.MOST_WORK", 5)
    assert group_cells(T.group_by("sex").agg(n=dp.count()).plan, COLUMNS) is None


def test_columns_that_play_no_part_are_left_out_of_a_union():
    mask, columns = reduce_mask(np.array([[True, True], [False, False]]), ("a", "b"))
    assert columns == ("a",)
    assert mask.tolist() == [True, False]
    assert reduce_mask(np.ones((2, 2), dtype=np.bool_), ("a", "b"))[1] == ()


def test_slots_of_numbers_have_ends_that_are_clamped():
    ends = slot_ends(AGE, None)
    assert ends.low.tolist() == [0, 18, 65, 0]
    assert ends.high.tolist() == [17, 64, 99, 0]
    wide = slot_ends(AGE, (Fraction(10), Fraction(120)))
    assert wide.low.tolist() == [10, 18, 65, 0]
    assert wide.high.tolist() == [17, 64, 120, 0]
    assert wide.middle[1] == 41
    assert slot_ends(SEX, None) is None
    assert slot_ends(SlotColumn("k", ColumnType.INTEGER, values=(3, 1)), None).middle.tolist() == [3, 1, 0]


@pytest.mark.parametrize(("column", "name"), [("age", "age"), ("ages", "age"), ("more", None)])
def test_the_column_of_a_sum_is_one_of_the_table(column, name):
    query = T.derive(ages=T.age, more=T.age * 2).agg(s=dp.sum(column, bounds=(0, 9)))
    assert operand_of(query.plan, query.plan.outputs[0].measure.operand) == name


def test_keys_that_are_dates_in_text_are_dates():
    day = SlotColumn("day", ColumnType.DATE, values=(dt.date(2024, 1, 1), dt.date(2024, 1, 2)))
    query = T.group_by("day", keys={"day": ["2024-01-02", dt.date(2024, 1, 1), None]}).agg(n=dp.count())
    cells = group_cells(query.plan, [day])
    assert cells.keys[0].values == (dt.date(2024, 1, 2), dt.date(2024, 1, 1), None)
    assert [mask.tolist() for mask in cells.masks()] == [
        [False, True, False],
        [True, False, False],
        [False, False, True],
    ]
