"""People by class and sensitive value."""

import pyarrow as pa

from discreet.anonymity.classes.base_groups import read_groups
from discreet.anonymity.classes.sensitive_table import sensitive_table
from discreet.engines.exact_tables import open_table

ROWS = pa.table({"zip": ["1", "1", "1", "2", None], "stage": [3, 1, 3, 2, None], "who": ["a", "a", "b", "b", "c"]})


def test_values_stand_in_order_within_a_class() -> None:
    with open_table(ROWS) as rows:
        found = sensitive_table(read_groups(rows, ["zip", "stage"], None), ["zip"], "stage")
    classes = [
        (found.values[start : start + length].tolist(), found.counts[start : start + length].tolist())
        for start, length in zip(found.starts, found.lengths, strict=True)
    ]
    assert sorted(classes) == [([0, 2], [1, 2]), ([1], [1]), ([3], [1])]
    assert found.whole.tolist() == [1, 1, 2, 1]
    assert sorted(found.sums.tolist()) == [1, 1, 3]


def test_a_person_counts_once_for_each_value() -> None:
    with open_table(ROWS) as rows:
        found = sensitive_table(read_groups(rows, ["zip", "stage"], "who"), ["zip"], "stage")
    assert found.whole.tolist() == [1, 1, 2, 1]
    assert sorted(found.sums.tolist()) == [1, 1, 3]


def test_values_of_rows_that_are_left_out_are_not_values_of_the_table() -> None:
    with open_table(ROWS) as rows:
        groups = read_groups(rows, ["zip", "stage"], None)
    found = sensitive_table(groups.take(~groups.has_null(["zip"])), ["zip"], "stage")
    assert found.whole.tolist() == [1, 1, 2]


def test_a_part_has_the_chosen_classes() -> None:
    with open_table(ROWS) as rows:
        found = sensitive_table(read_groups(rows, ["zip", "stage"], None), ["zip"], "stage")
    index = found.sums.argmax(keepdims=True)
    part = found.part(index)
    assert (part.starts.tolist(), part.values.tolist(), part.counts.tolist()) == ([0], [0, 2], [1, 2])


def test_a_wildcard_brings_its_value_into_every_class() -> None:
    with open_table(ROWS) as rows:
        found = sensitive_table(read_groups(rows, ["zip", "stage"], None), ["zip"], "stage", are_wildcards=True)
    assert sorted(found.sums.tolist()) == [2, 4, 5]
