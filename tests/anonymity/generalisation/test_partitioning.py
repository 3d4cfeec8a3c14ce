"""Boxes are those of a recursive Mondrian in plain Python: the same rule, one box at a time."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from discreet.anonymity.generalisation.levels import GeneralisationLevels
from discreet.anonymity.generalisation.partitioning import (
    BoxRows,
    distinct_counts,
    median_cuts,
    partition_rows,
    value_axis,
)

from .lattices import random_levels


def _holds(data, rows, k, least):
    people = int(data.records[rows].sum()) if data.persons is None else len(set(data.persons[rows].tolist()))
    return people >= k and (least is None or len(set(data.sensitive[rows].tolist())) >= least)


def _cut(axis, data, column, rows):
    """Lower and upper rows of the cut nearest to half of the records; None without a cut."""
    places = data.places[column][rows]
    levels = [each for each in axis.groups if each[places.min()] != each[places.max()]]
    if not levels:
        return None
    groups = levels[-1][places]
    total, best = int(data.records[rows].sum()), None
    for group in sorted(set(groups.tolist()))[:-1]:
        gap = abs(2 * int(data.records[rows[groups <= group]].sum()) - total)
        if best is None or gap < best[0]:
            best = gap, group
    return rows[groups <= best[1]], rows[groups > best[1]]


def _reference(axes, data, rows, k, least):
    """Classes as sets of rows."""
    widths = []
    for column, axis in enumerate(axes):
        places = data.places[column][rows]
        widths.append((-Fraction(int(places.max() - places.min()), max(1, len(axis.order) - 1)), column))
    for _, column in sorted(widths):
        parts = _cut(axes[column], data, column, rows)
        if parts is not None and all(_holds(data, part, k, least) for part in parts):
            return [found for part in parts for found in _reference(axes, data, part, k, least)]
    return [frozenset(rows.tolist())]


def _random(generator, *, several, hierarchy):
    number, columns = int(generator.integers(2, 40)), int(generator.integers(1, 4))
    axes, places = [], []
    for _ in range(columns):
        values = pa.array([*range(int(generator.integers(1, 9))), None])
        levels = random_levels(generator, values, 3) if hierarchy else None
        axes.append(value_axis(values, levels))
        places.append(generator.integers(len(values), size=number))
    records = np.ones(number, dtype=np.int64) if several else generator.integers(1, 5, size=number)
    persons = generator.integers(number, size=number) if several else None
    return axes, BoxRows(np.array(places), records, persons, generator.integers(3, size=number))


@pytest.mark.parametrize("hierarchy", [False, True])
@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("least", [None, 2])
def test_classes_are_those_of_one_box_at_a_time(several, hierarchy, least):
    generator = np.random.default_rng(1)
    for _ in range(60):
        axes, data = _random(generator, several=several, hierarchy=hierarchy)
        k, everything = int(generator.integers(1, 5)), np.arange(len(data.records))
        classes, number = partition_rows(axes, data, k, least)
        if not _holds(data, everything, k, least):
            assert number == 0
            assert (classes == -1).all()
            continue
        found = {frozenset(np.flatnonzero(classes == each).tolist()) for each in range(number)}
        assert found == set(_reference(axes, data, everything, k, least))
        assert all(_holds(data, np.array(sorted(rows)), k, least) for rows in found)


def test_the_cut_is_nearest_to_half_and_the_lower_of_two():
    owners, groups = np.array([0, 0, 0, 1, 1, 1, 1]), np.array([0, 1, 2, 3, 5, 7, 9])
    records = np.array([1, 9, 1, 1, 1, 1, 1])
    assert median_cuts(owners, groups, records).tolist() == [0, 5]


def test_values_of_one_group_are_neighbours():
    levels = GeneralisationLevels(
        (np.arange(4), np.array([1, 0, 1, 0]), np.zeros(4, dtype=np.int64)), (("a", "b", "c", None), ("g", "h"), ("*",))
    )
    axis = value_axis(pa.array(["a", "b", "c", None]), levels)
    assert axis.order.tolist() == [0, 2, 1, 3]
    assert axis.groups.tolist() == [[0, 1, 2, 3], [0, 0, 1, 1], [0, 0, 0, 0]]
    assert axis.labels == (("a", "c", "b", None), ("h", "g"), ("*",))


def test_distinct_values_are_counted_for_each_owner():
    assert distinct_counts(np.array([0, 0, 2]), np.array([5, 5, 1]), 4).tolist() == [1, 0, 1, 0]


def test_a_long_chain_of_cuts_needs_no_recursion():
    number = 3_000
    records = 2 ** np.minimum(np.arange(number), 40)
    values = pa.array(range(number))
    data = BoxRows(np.arange(number)[None, :], records, None, None)
    assert partition_rows([value_axis(values, None)], data, 1)[1] == number
