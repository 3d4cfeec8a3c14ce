"""Classes of a node: people are distinct, and classes that fail k, l or t are suppressed."""

from fractions import Fraction
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from cubes import cube_of

from discreet.anonymity.generalisation.levels import GeneralisationLevels
from discreet.anonymity.generalisation.nodes import (
    ClassRequirement,
    node_classes,
    suppress_by_values,
    value_distribution,
)
from discreet.anonymity.generalisation.rollup import RollUp, base_rows, key_layout

from .lattices import all_nodes, classes_at, published_and_suppressed, random_case


def _classes(case, node, k, sensitive="s"):
    layout = key_layout(case.cube, list(case.levels.values()), sensitive)
    rows = RollUp(layout).coarsen(base_rows(layout, case.cube, sensitive), (0,) * len(node), node)
    return node_classes(layout, node, rows, k)


@pytest.mark.parametrize("several", [False, True])
def test_sizes_are_distinct_people(several):
    case = random_case(np.random.default_rng(1), several=several)
    for node in all_nodes(case):
        classes, expected = _classes(case, node, 3), classes_at(case, node)
        keys = list(zip(*(classes.column(i).tolist() for i in range(2)), strict=True))
        sizes = {key: len({person for _, person, _ in rows}) for key, rows in expected.items()}
        assert dict(zip(keys, classes.sizes.tolist(), strict=True)) == sizes
        records = {key: len(rows) for key, rows in expected.items()}
        assert dict(zip(keys, classes.records.tolist(), strict=True)) == records


@pytest.mark.parametrize("several", [False, True])
def test_suppressed_people_are_distinct_and_never_grow_upwards_for_k(several):
    generator = np.random.default_rng(2)
    for _ in range(20):
        case, k = random_case(generator, several=several), int(generator.integers(1, 6))
        people = {}
        for node in all_nodes(case):
            classes = _classes(case, node, k, None)
            suppressed = published_and_suppressed(case, node, k=k)[1]
            assert classes.suppressed_people == len(suppressed)
            people[node] = suppressed
        for (fine, below), (coarse, above) in product(people.items(), repeat=2):
            if all(a <= b for a, b in zip(fine, coarse, strict=True)):
                assert above <= below


@pytest.mark.parametrize("several", [False, True])
def test_classes_that_fail_l_or_t_are_suppressed_too(several):
    case = random_case(np.random.default_rng(3), several=several, people=16)
    requirement = ClassRequirement(2, 0, 2, Fraction(1, 3))
    layout = key_layout(case.cube, list(case.levels.values()), "s")
    distribution = value_distribution(case.cube, layout, is_ordered=False)
    for node in all_nodes(case):
        classes = suppress_by_values(_classes(case, node, 2), requirement, distribution)
        published, suppressed = published_and_suppressed(case, node, k=2, l=2, t=Fraction(1, 3))
        assert classes.published_classes == len(published)
        assert classes.suppressed_people == len(suppressed)


def test_suppression_for_t_can_grow_upwards():
    counts = {("x", "a"): 3, ("x", "b"): 1, ("y", "a"): 4, ("z", "a"): 1, ("z", "b"): 7}
    table = pa.table({"q": [q for q, _ in counts], "s": [s for _, s in counts], "n": list(counts.values())})
    cube = cube_of(table, ["q"], ["s"], people="n")
    levels = GeneralisationLevels((np.arange(3), np.array([0, 0, 1])), (("x", "y", "z"), ("xy", "z")))
    layout = key_layout(cube, [levels], "s")
    distribution = value_distribution(cube, layout, is_ordered=False)
    base, requirement = base_rows(layout, cube, "s"), ClassRequirement(1, 0, None, Fraction(1, 4))
    people = []
    for node in [(0,), (1,)]:
        rows = RollUp(layout).coarsen(base, (0,), node)
        people.append(
            suppress_by_values(node_classes(layout, node, rows, 1), requirement, distribution).suppressed_people
        )
    assert people == [12, 16]
