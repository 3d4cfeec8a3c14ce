"""A roll-up counts what the rows have, from any finer node, with keys of one word or several."""

import numpy as np
import pytest

from discreet.anonymity.generalisation.rollup import (
    KeyLayout,
    RollUp,
    _place_fields,
    base_rows,
    key_layout,
    merge_rows,
)

from .lattices import all_nodes, classes_at, random_case


def _records(layout, rows):
    columns = [layout.codes(rows, field).tolist() for field in layout.fields]
    keys = list(zip(*columns, strict=True))
    totals = dict.fromkeys(keys, 0)
    for key, count in zip(keys, rows.records.tolist(), strict=True):
        totals[key] += count
    return totals


@pytest.mark.parametrize("several", [False, True])
def test_every_node_has_the_records_of_its_classes_from_every_finer_node(several):
    case = random_case(np.random.default_rng(1), several=several)
    layout = key_layout(case.cube, list(case.levels.values()), "s")
    rollup, base = RollUp(layout), base_rows(layout, case.cube, "s")
    for middle in all_nodes(case):
        rows = rollup.coarsen(base, (0, 0), middle)
        for node in all_nodes(case):
            if all(a <= b for a, b in zip(middle, node, strict=True)):
                expected = {key: len(each) for key, each in classes_at(case, node).items()}
                assert _records(layout, rollup.coarsen(rows, middle, node)) == expected


def test_keys_of_two_words_count_the_same_as_keys_of_one():
    case = random_case(np.random.default_rng(2), several=True)
    levels = list(case.levels.values())
    one = key_layout(case.cube, levels, "s")
    fields, words = _place_fields([40, 30, one.person.bits, one.sensitive.bits])
    two = KeyLayout(tuple(levels), fields[:2], fields[2], fields[3], words)
    assert (one.words, two.words) == (1, 2)
    for node in all_nodes(case):
        rows = [RollUp(each).coarsen(base_rows(each, case.cube, "s"), (0, 0), node) for each in (one, two)]
        assert _records(one, rows[0]) == _records(two, rows[1])
        assert np.array_equal(one.starts(rows[0], one.class_masks), two.starts(rows[1], two.class_masks))
        assert np.array_equal(one.starts(rows[0], one.pair_masks), two.starts(rows[1], two.pair_masks))


def test_large_keys_and_large_counts_merge_exactly():
    keys, records = np.array([2**61, 5, 2**61]), np.array([2**50, 1, 3])
    rows = merge_rows([keys], records)
    assert rows.words[0].tolist() == [5, 2**61]
    assert rows.records.tolist() == [1, 2**50 + 3]


def test_a_field_never_crosses_a_word():
    fields, words = _place_fields([10, 50, 40, 20])
    assert words == 2
    assert [(field.word, field.shift) for field in fields] == [(0, 50), (0, 0), (1, 20), (1, 0)]


def test_base_classes_without_people_are_left_out():
    case = random_case(np.random.default_rng(3))
    case.cube.people[0] = 0
    layout = key_layout(case.cube, list(case.levels.values()), None)
    assert base_rows(layout, case.cube, None).records.sum() == case.cube.total
