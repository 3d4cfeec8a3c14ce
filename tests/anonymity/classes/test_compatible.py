"""Classes with missing cells as wildcards, against a comparison of all pairs."""

import itertools
import time

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.anonymity.classes import compatible
from discreet.anonymity.classes.base_groups import BaseGroups
from discreet.anonymity.classes.compatible import reach, wildcard_sizes
from discreet.anonymity.classes.keys import People

ROWS = list(itertools.product([None, "a", "b"], [None, 1, 2], [None, True]))


@pytest.mark.parametrize(("most", "number"), [(2**20, 1), (1, len(ROWS))])
def test_a_class_reaches_every_group_that_agrees_where_both_have_values(
    most: int, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["one", "two", "three"]
    columns = dict(zip(names, map(list, zip(*ROWS, strict=True)), strict=True))
    encoded = {name: pa.array(cells).dictionary_encode(null_encoding="encode") for name, cells in columns.items()}
    counts = np.arange(1, len(ROWS) + 1)
    groups = BaseGroups(
        {name: each.dictionary for name, each in encoded.items()},
        {name: each.indices.to_numpy() for name, each in encoded.items()},
        People(counts),
        counts,
    )
    monkeypatch.setattr(compatible, "_MOST_PAIRS", most)
    blocks = list(reach(groups, names))
    assert len(blocks) == number
    order = np.argsort(groups.keys(names).values)
    pairs = [
        (ROWS[order[target]], ROWS[i])
        for classes, index in blocks
        for target, i in zip(classes.values.tolist(), index.tolist(), strict=True)
    ]
    found = set(pairs)
    assert found == {
        (one, other)
        for one in ROWS
        for other in ROWS
        if all(a is None or b is None or a == b for a, b in zip(one, other, strict=True))
    }
    assert len(pairs) == len(found)
    sums = [sum(int(counts[ROWS.index(other)]) for one, other in found if one == ROWS[i]) for i in order]
    assert wildcard_sizes(groups, names).tolist() == sums


def test_sizes_of_many_classes_without_values_in_common_need_no_pairs() -> None:
    half = 20_000
    cells = {"a": [*range(half), *[None] * half], "b": [*[None] * half, *range(half)]}
    table = pa.table({**cells, "who": [*range(half), *range(half)]})
    started = time.monotonic()
    found = dp.anonymity.measure(table, ["a", "b"], nulls="wildcard")
    assert found.class_sizes == ((half + 1, 2 * half),)
    assert time.monotonic() - started < 20  # 800,000,000 pairs take minutes and more memory than there is


def test_people_of_several_rows_are_counted_once_over_all_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compatible, "_MOST_PAIRS", 7)
    cells = {"a": [1, 2, None, 4, 1], "b": [None, None, 1, 2, 2], "who": ["x", "x", "x", "y", None]}
    table = pa.table({**cells, "s": ["u", "v", "u", "v", "u"]})
    found = dp.anonymity.measure(table, ["a", "b"], sensitive=["s"], person="who", nulls="wildcard")
    # (1, -): x and the last; (2, -): x; (-, 1): x; (4, 2): y; (1, 2): x and the last
    assert found.class_sizes == ((1, 3), (2, 2))
    assert found.diversity["s"].distinct == 1
