"""Rows as codes: alike in value, alike in code, over blocks, nulls and persons."""

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.anonymity.classes import encoding
from discreet.anonymity.uniques.row_codes import read_rows


@pytest.mark.parametrize("block", [1, 7, 1 << 20])
def test_codes_are_the_same_over_any_number_of_blocks(block, monkeypatch):
    monkeypatch.setattr(encoding, "_TOGETHER", block)
    rng = dp.testing.generator(2100)
    cells = [None if v == 0 else f"value {v}" for v in rng.integers(0, 30, 200)]
    numbers = rng.integers(-5, 400, 200)
    rows = read_rows(pa.table({"a": cells, "b": numbers, "n": range(200)}), ["a", "b", "n"], person=None, table=None)
    a, b, places = (column.tolist() for column in rows.columns)
    assert len(set(places)) == len(rows) == 200
    assert len({*zip(a, b, strict=True)}) == len({*zip(cells, numbers.tolist(), strict=True)})
    assert (max(a) + 1, max(b) + 1) == rows.sizes[:2] == (len({*cells}), len({*numbers.tolist()}))


def test_codes_have_the_smallest_type():
    rows = read_rows(pa.table({"a": [1, 2, 3], "b": ["x", "y", None]}), ["a", "b"], person=None, table=None)
    assert [column.dtype for column in rows.columns] == [np.uint8, np.uint8]
    assert (rows.sizes, rows.people, rows.persons, len(rows)) == ((3, 3), 3, None, 3)


def test_a_row_that_several_people_have_stands_twice():
    rows = read_rows(pa.table({"a": [1, 1, 1, 1, 2]}), ["a"], person=None, table=None)
    assert sorted(rows.columns[0].tolist()) in ([0, 0, 1], [0, 1, 1])
    assert rows.people == 5


def test_persons_with_one_row_each_are_not_read_and_others_are_numbered():
    table = pa.table({"a": [1, 1, 2, 2], "who": ["x", "y", "z", None]})
    assert read_rows(table, ["a"], person="who", table=None).persons is None
    table = pa.table({"a": [1, 1, 2, 2, 2], "who": ["x", "x", "x", None, None]})
    rows = read_rows(table, ["a"], person="who", table=None)
    assert rows.people == 3
    assert sorted(rows.persons.tolist()) == [0, 0, 1, 2]


def test_a_quasi_identifier_may_have_the_name_of_the_count():
    table = pa.table({"discreet_count": [21, 21, 35], "b": [1, 1, 1]})
    assert dp.anonymity.minimal_uniques(table, ["discreet_count", "b"], size=1).people == 3
