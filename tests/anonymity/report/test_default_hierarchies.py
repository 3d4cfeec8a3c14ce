"""Hierarchies by type and form: dates, numbers, codes of one length, and other text."""

import datetime as dt
import math

import numpy as np
import pyarrow as pa
import pytest
from cubes import cube_of

from discreet.anonymity import hierarchies
from discreet.anonymity.report.default_hierarchies import MOST_NODES, column_levels, default_levels


def labels(values):
    return default_levels(pa.array(values)).labels


def test_dates_become_months_quarters_years_and_decades():
    found = labels([dt.date(1984, 3, 7), dt.date(1991, 12, 1)])
    assert [each[0] for each in found[1:]] == ["1984-03", "1984-Q1", "1984", "1980-1989", "*"]


def test_numbers_become_intervals_of_round_widths():
    assert [each[0] for each in labels([17, 90])[1:]] == ["[15, 20)", "[10, 20)", "[0, 20)", "*"]
    assert len(labels([0.5, 0.75])) > 2


def test_codes_of_one_length_are_masked_from_the_right():
    assert [each[0] for each in labels(["13053", "14850"])[1:3]] == ["1305*", "130**"]


@pytest.mark.parametrize("values", [["married", "widowed"], ["female", "male"], [True, False], ["A", None], [3, 3]])
def test_other_values_are_published_or_left_out(values):
    assert labels(values)[1:] == (("*",),)


def test_an_empty_column_has_levels_too():
    assert default_levels(pa.array([None, None], pa.int64())).height == 1
    assert default_levels(pa.array([None], pa.string())).height == 1


def test_a_lattice_of_many_columns_is_made_small_enough():
    table = pa.table({f"c{i}": [f"{j:010}" for j in range(20)] for i in range(11)} | {"n": np.ones(20, dtype=int)})
    cube = cube_of(table, [f"c{i}" for i in range(11)], people="n")
    levels = column_levels(cube, None)
    assert math.prod(each.height + 1 for each in levels.values()) <= MOST_NODES
    assert all(each.labels[-1] == ("*",) for each in levels.values())


def test_a_named_hierarchy_comes_first():
    cube = cube_of(pa.table({"age": [31, 44], "n": [1, 1]}), ["age"], people="n")
    levels = column_levels(cube, {"age": hierarchies.intervals(20)})
    assert levels["age"].labels[1] == ("[20, 40)", "[40, 60)")
