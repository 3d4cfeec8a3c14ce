"""Classes with missing cells as wildcards, against a comparison of all pairs."""

import itertools

import numpy as np
import pyarrow as pa

from discreet.anonymity.classes.base_groups import BaseGroups
from discreet.anonymity.classes.compatible import compatible_people, reach
from discreet.anonymity.classes.keys import People

ROWS = list(itertools.product([None, "a", "b"], [None, 1, 2], [None, True]))


def test_a_class_reaches_every_group_that_agrees_where_both_have_values() -> None:
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
    classes, index = reach(groups, names)
    order = np.argsort(groups.keys(names).values)
    pairs = zip(classes.values.tolist(), index.tolist(), strict=True)
    found = {(ROWS[order[number]], ROWS[i]) for number, i in pairs}
    assert found == {
        (one, other)
        for one in ROWS
        for other in ROWS
        if all(a is None or b is None or a == b for a, b in zip(one, other, strict=True))
    }
    assert len(index) == len(found)
    sums = [sum(int(counts[ROWS.index(other)]) for one, other in found if one == ROWS[i]) for i in order]
    assert compatible_people(groups, names).tolist() == sums
