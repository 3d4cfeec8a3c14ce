"""Few larger marginals have all that were asked for as sums; marginals of units and of rows never share one."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from discreet.catalog.catalog import ColumnType
from discreet.catalog.privacy_unit import Caps
from discreet.engines import marginal_parents
from discreet.engines.marginal_parents import MOST_PARENT_CELLS, parents, project
from discreet.plan.physical import CountRows, Keys, MissingUnits, Pushdown, Read, Scan
from discreet.plan.slots import MarginalBatch, SlotColumn, SlotTerm, UnitColumns, UnitRule

SIZES = {"a": 32, "b": 12, "c": 32, "d": 12, "e": 500, "f": 3}


def batch_of(marginals, units=None, sizes=SIZES):
    columns = [SlotColumn(name, ColumnType.INTEGER, values=tuple(range(size))) for name, size in sizes.items()]
    terms = tuple(SlotTerm(column, Read(column.name, column.type)) for column in columns)
    scan = Scan("t", 1, tuple(each.term for each in terms), (), MissingUnits.DROP, None)
    return MarginalBatch(Pushdown(scan, None, Keys(), Caps(), (CountRows(),)), terms, tuple(marginals), units)


def every(size, names=SIZES):
    return [part for number in range(1, size + 1) for part in itertools.combinations(names, number)]


@pytest.mark.parametrize("size", [1, 2, 3])
def test_every_marginal_has_one_parent_that_holds_its_columns(size):
    batch = batch_of(every(size))
    found = parents(batch)
    assert sorted(marginal for some in found.values() for marginal in some) == sorted(batch.marginals)
    for parent, some in found.items():
        assert len(set(parent)) == len(parent)
        assert all(set(marginal) <= set(parent) for marginal in some)
        assert math.prod(batch.shape(parent)) <= MOST_PARENT_CELLS or parent in batch.marginals
    assert len(found) < len(batch.marginals) or size == 1


def test_a_marginal_of_more_cells_than_a_parent_may_have_is_its_own():
    wide = ("a", "c", "e")
    found = parents(batch_of([wide, ("a", "c"), ("b",), ("b", "e")]))
    assert set(found[wide]) == {wide, ("a", "c")}
    assert ("b",) in found[next(parent for parent in found if parent != wide)]


def test_all_pairs_of_eight_columns_are_a_third_as_many_groupings():
    sizes = {f"n{i}": 32 for i in range(4)} | {f"t{i}": 12 for i in range(4)}
    batch = batch_of(every(2, sizes), sizes=sizes)
    assert len(batch.marginals) == 36
    assert len(parents(batch)) <= 12


def test_marginals_of_units_and_of_rows_have_different_parents():
    """A marginal of units counts each unit once, so it is no sum of a marginal of rows."""
    number = SlotColumn("rows", ColumnType.INTEGER, values=(1, 2, 3))
    units = UnitColumns(number, (("a", UnitRule.MAX), ("b", UnitRule.MIN)))
    names = [*SIZES, "rows"]
    batch = batch_of(every(3, names), units)
    for parent, some in parents(batch).items():
        assert {units.covers(marginal) for marginal in some} == {units.covers(parent)}


def test_the_parents_of_a_batch_are_the_same_in_any_order_of_its_marginals():
    marginals = every(2)
    assert parents(batch_of(marginals)) == parents(batch_of(marginals[::-1]))


def test_sums_over_a_parent_are_counts_of_rows_in_any_order_of_columns():
    generator = np.random.default_rng(1)
    rows = {name: generator.integers(SIZES[name], size=500) for name in ("a", "b", "f")}

    def count(names):
        counts = np.zeros([SIZES[name] for name in names], dtype=np.int64)
        np.add.at(counts, tuple(rows[name] for name in names), 1)
        return counts

    parent = ("b", "f", "a")
    for marginal in (("a",), ("a", "b"), ("f", "a"), ("a", "b", "f"), parent):
        found = project(count(parent), parent, marginal)
        assert found.dtype == np.int64
        assert np.array_equal(found, count(marginal))


def test_columns_that_complete_no_marginal_are_not_added(monkeypatch):
    """However many cells a parent may have, no other marginals than those that wait are completed."""
    monkeypatch.setattr(marginal_parents, "MOST_PARENT_CELLS", 1 << 40)
    batch = batch_of([("a", "b"), ("c", "d")])
    assert sorted(parents(batch)) == [("a", "b"), ("c", "d")]
    assert parents(replace(batch, marginals=())) == {}
