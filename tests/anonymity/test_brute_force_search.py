"""The search over the lattice against all nodes in plain loops: the same optimum, and as many nodes admitted."""

import math
from fractions import Fraction
from typing import Any

import brute_search
import pytest
from random_tables import CELLS, FAMILIES, Case, case

import discreet as dp

SOME, MANY = 6, 300
LOSSES = ("discernibility", "average_class_size", "non_uniform_entropy")


def hierarchies_of(each: Case) -> dict[str, brute_search.Halves]:
    kinds = FAMILIES[each.family]
    return {
        name: brute_search.Halves(tuple(CELLS[kinds[name]]), 1 + (each.index + i) % 3)
        for i, name in enumerate(each.quasi)
    }


def request_of(each: Case) -> dict[str, Any]:
    """k, l and t of a case; persons with several rows in every second one."""
    kind = each.index % 3
    return {
        "k": 2 + each.index % 4,
        "suppression": Fraction(each.index % 5, 10),
        "person": each.person if each.index % 2 else None,
        "sensitive": None if kind == 0 else each.sensitive[0],
        "l": each.l if kind == 1 else None,
        "t": Fraction(each.index % 7 + 1, 10) if kind == 2 else None,
    }


def compare(each: Case) -> None:
    request, hierarchies = request_of(each), hierarchies_of(each)
    is_ordered = request["sensitive"] in each.ordered
    by_k, outcomes = brute_search.outcomes(each.rows, hierarchies, **request, is_ordered=is_ordered)
    for loss in LOSSES:
        if loss == "non_uniform_entropy" and request["person"]:
            continue  # records of people with several rows are those of the cube, not of the file
        ordered = [request["sensitive"]] if is_ordered else []
        found = dp.anonymity.search(each.table, hierarchies, **request, ordered=ordered, loss=loss)
        assert (found.admitted_by_k, found.admitted) == (by_k, len(outcomes)), (each, loss)
        if not outcomes:
            assert found.optimal is None
            continue
        least = min(outcome.losses[loss] for outcome in outcomes)
        assert math.isclose(found.value, least, rel_tol=1e-9, abs_tol=1e-9), (each, loss)
        same = next(outcome for outcome in outcomes if outcome.node == tuple(found.optimal.values()))
        assert math.isclose(same.losses[loss], least, rel_tol=1e-9, abs_tol=1e-9), (each, loss)
        assert (found.suppressed, found.classes, found.k) == (same.suppressed, same.classes, same.k), (each, loss)


def test_the_search_finds_the_optimum_of_all_nodes():
    for number in range(SOME):
        compare(case(number))


@pytest.mark.nightly
def test_the_search_finds_the_optimum_of_all_nodes_of_many_tables():
    for number in range(SOME, MANY):
        compare(case(number))
