"""Class sizes by hand."""

import numpy as np
import pyarrow as pa

from discreet.anonymity.classes.base_groups import read_groups
from discreet.anonymity.classes.class_table import ClassTable, class_table, distinct_persons, weighted_runs
from discreet.engines.exact_tables import open_table


def _table(table: pa.Table, person: str | None = None, *, are_wildcards: bool = False) -> ClassTable:
    with open_table(table) as rows:
        return class_table(read_groups(rows, ["zip"], person), ["zip"], are_wildcards=are_wildcards)


def test_a_class_has_the_people_with_a_row_in_it() -> None:
    found = _table(pa.table({"zip": ["1", "1", "2", "1"], "who": ["a", "a", "a", "b"]}), "who")
    assert sorted(found.sizes.tolist()) == [1, 2]
    assert found.people == 2
    assert found.pairs == 3
    assert found.alone == 1
    sizes, people = found.people_by_size
    assert (sizes.tolist(), people.tolist()) == ([1, 2], [1, 1])


def test_a_wildcard_belongs_to_every_class() -> None:
    found = _table(pa.table({"zip": ["1", "1", "2", None]}), are_wildcards=True)
    assert sorted(found.sizes.tolist()) == [2, 3, 4]
    assert sorted(found.own.tolist()) == [1, 1, 2]


def test_weights_of_equal_values_are_added() -> None:
    for values in ([2, 1, 2], [2**40, 1, 2**40]):
        found, sums = weighted_runs(np.array(values), np.array([3, 4, 5]))
        assert (found.tolist(), sums.tolist()) == ([1, values[0]], [4, 8])


def test_persons_are_counted_once() -> None:
    assert distinct_persons(np.array([3, 3, 0]), 5) == 2
