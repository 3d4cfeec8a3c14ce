"""The search against all nodes in plain loops; the classes of Mondrian and of recoded tables against their rows."""

import math
from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import brute
import brute_search
import pyarrow as pa
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


def whole_request_of(each: Case) -> dict[str, Any]:
    """k, l and t at once, with persons of several rows."""
    return {
        "k": 1 + each.index % 3,
        "suppression": Fraction(each.index % 9, 10),
        "person": list(FAMILIES[each.family])[5],
        "sensitive": each.sensitive[0],
        "l": 1 + each.index % 3,
        "t": Fraction(each.index % 11 + 1, 12),
    }


def compare(each: Case, request: dict[str, Any]) -> None:
    hierarchies = hierarchies_of(each)
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


def sizes_of(rows: Sequence[Mapping[str, Any]], members: Mapping[Hashable, list[int]], person: str | None) -> list[int]:
    """Number of distinct people of each class."""
    persons = brute.persons_of(rows, person)
    return [len({persons[i] for i in each}) for each in members.values()]


def check_mondrian(each: Case, person: str | None) -> None:
    """Every row is in exactly one box; boxes hold k distinct people and l values, and the result counts them."""
    k, least, name = 1 + each.index % 5, 1 + each.index % 3, each.sensitive[0]
    found = dp.anonymity.mondrian(each.table, list(each.quasi), k=k, l=least, sensitive=name, person=person)
    boxes = [
        {column: {brute.plain(value) for value in values} for column, values in found.box(number).items()}
        for number in range(found.classes)
    ]
    members: dict[Hashable, list[int]] = {}
    for i, row in enumerate(each.rows):
        cells = {column: brute.plain(row[column]) for column in each.quasi}
        owners = [number for number, box in enumerate(boxes) if all(cells[c] in box[c] for c in cells)]
        assert len(owners) == (1 if boxes else 0), each
        if owners:
            members.setdefault(owners[0], []).append(i)
    sizes = sizes_of(each.rows, members, person)
    values = [len({brute.plain(each.rows[i][name]) for i in rows}) for rows in members.values()]
    assert (found.classes, found.k, found.l) == (len(members), min(sizes, default=None), min(values, default=None))
    assert all(size >= k for size in sizes), each
    assert all(number >= least for number in values), each
    if not boxes:
        everyone = {0: list(range(len(each.rows)))}
        number = len({brute.plain(row[name]) for row in each.rows})
        assert sizes_of(each.rows, everyone, person)[0] < k or number < least, each


def check_generalise(each: Case, person: str | None, *, cells: bool) -> None:
    """Rows of classes of k distinct people and no others; with cells suppressed no class is below k."""
    k = 1 + each.index % 5
    # a number for each row, published beside its cells, tells which rows are left out
    rows = [row | {"row": i} for i, row in enumerate(each.rows)]
    table = each.table.append_column("row", pa.array(range(len(rows)), pa.int64()))
    recoding = dict.fromkeys(each.quasi, 0) | {"row": None}
    found = dp.anonymity.generalise(table, recoding, k=k, person=person, suppress_cells=cells)
    published = found.table.to_pylist()
    members: dict[Hashable, list[int]] = {}
    for row in published:
        members.setdefault(tuple(brute.plain(row[name]) for name in each.quasi), []).append(row["row"])
    sizes = sizes_of(rows, members, person)
    assert all(size >= k for size in sizes), each
    assert found.k == min(sizes, default=None), each
    assert found.suppressed == len(rows) - len(published), each
    if not cells:
        classes: dict[Hashable, list[int]] = {}
        for i, row in enumerate(rows):
            classes.setdefault(tuple(brute.plain(row[name]) for name in each.quasi), []).append(i)
        holds = [
            each for each, size in zip(classes.values(), sizes_of(rows, classes, person), strict=True) if size >= k
        ]
        assert sorted(row["row"] for row in published) == sorted(i for each in holds for i in each)


def check_classes(each: Case) -> None:
    for person in (None, list(FAMILIES[each.family])[5]):
        check_mondrian(each, person)
        for cells in (False, True):
            check_generalise(each, person, cells=cells)


def test_no_class_of_mondrian_or_of_a_recoded_table_is_below_k():
    for number in range(SOME):
        check_classes(case(number))


@pytest.mark.nightly
def test_no_class_of_mondrian_or_of_many_recoded_tables_is_below_k():
    for number in range(SOME, 250):
        check_classes(case(number))


def test_the_search_finds_the_optimum_of_all_nodes():
    for number in range(SOME):
        compare(case(number), request_of(case(number)))
        compare(case(number), whole_request_of(case(number)))


@pytest.mark.nightly
def test_the_search_finds_the_optimum_of_all_nodes_of_many_tables():
    for number in range(SOME, MANY):
        compare(case(number), request_of(case(number)))
        compare(case(number), whole_request_of(case(number)))
