"""Tags of a monotone test are those of every node, with fewer evaluations."""

from itertools import product

import numpy as np
import pytest

from discreet.anonymity.generalisation.rollup import RollUp, base_rows, key_layout
from discreet.anonymity.generalisation.traversal import NodeStore, Traversal, nodes_by_level, number_of_nodes

from .lattices import all_nodes, random_case


def test_tags_are_those_of_a_visit_to_every_node():
    generator = np.random.default_rng(1)
    for _ in range(30):
        heights = tuple(int(height) for height in generator.integers(0, 4, size=3))
        minimal = [tuple(int(generator.integers(height + 1)) for height in heights) for _ in range(2)]
        calls = []

        def test(node, minimal=minimal, calls=calls):
            calls.append(node)
            return any(all(a >= b for a, b in zip(node, least, strict=True)) for least in minimal)

        traversal = Traversal(heights, [range(height + 1, 0, -1) for height in heights], test)
        traversal.run()
        assert len(calls) == len(set(calls)) <= number_of_nodes(heights)
        expected = [node for node in nodes_by_level(heights) if test(node)]
        assert list(traversal.passing()) == expected
        assert np.count_nonzero(traversal.tags == 0) == 0


def test_one_path_needs_few_evaluations():
    calls = []
    traversal = Traversal((1_000,), [range(1_001, 0, -1)], lambda node: calls.append(node) or node[0] >= 700)
    traversal.run()
    assert len(calls) <= 11
    assert sum(1 for _ in traversal.passing()) == 301


@pytest.mark.parametrize("store", [0, 10, 10_000])
def test_a_store_without_room_counts_the_same(store):
    case = random_case(np.random.default_rng(2), people=30, values=8, levels=4)
    layout = key_layout(case.cube, list(case.levels.values()), None)
    base = base_rows(layout, case.cube, None)
    nodes = NodeStore(RollUp(layout), base, store=store)
    for node in all_nodes(case):
        expected = RollUp(layout).coarsen(base, (0, 0), node)
        found = nodes.rows(node)
        assert np.array_equal(found.words[0], expected.words[0])
        assert np.array_equal(found.records, expected.records)


def test_nodes_come_finer_first():
    nodes = nodes_by_level((1, 2))
    assert sorted(nodes) == sorted(product(range(2), range(3)))
    assert [sum(node) for node in nodes] == [0, 1, 1, 2, 2, 3]
