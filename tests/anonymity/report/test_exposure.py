"""Exposure from a cube: the same integers as by counting people one by one."""

import itertools
from collections import Counter, defaultdict
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from cubes import cube_of

import discreet as dp
from discreet.anonymity.report import exposure

QUASI = ("zip", "sex", "age")


def rows(number, *, persons):
    """Rows with missing cells; `persons` is the number of people, or None for one row each."""
    generator = dp.testing.generator(number)
    return [
        {
            "person": place if persons is None else int(generator.integers(0, persons)),
            "zip": [None, "A", "B"][generator.integers(0, 3)],
            "sex": ["f", "m"][generator.integers(0, 2)],
            "age": int(generator.integers(0, 4)),
            "condition": ["flu", "cancer", None][generator.integers(0, 3)],
        }
        for place in range(int(generator.integers(1, 25)))
    ]


def cube_from(found, *, by_person):
    names = [*QUASI, "condition", *(["person"] if by_person else [])]
    table = pa.Table.from_pylist(found).group_by(names, use_threads=False).aggregate([([], "count_all")])
    return cube_of(table, QUASI, ("condition",), people="count_all", person="person" if by_person else None)


def classes(found, columns):
    members = defaultdict(set)
    for row in found:
        members[tuple(row[name] for name in columns)].add(row["person"])
    return members


@pytest.mark.parametrize("number", range(30))
@pytest.mark.parametrize("persons", [None, 8])
def test_the_counts_are_those_of_sets_of_people(number, persons):
    found = rows(number, persons=persons)
    cube = cube_from(found, by_person=persons is not None)
    for size in range(1, 4):
        for columns in itertools.permutations(QUASI, size):
            members = classes(found, columns)
            counts = exposure.class_counts(cube, columns)
            assert counts.people == len({row["person"] for row in found})
            assert (counts.classes, counts.k) == (len(members), min(map(len, members.values())))
            assert counts.pairs == sum(map(len, members.values()))
            alone = set().union(*(each for each in members.values() if len(each) == 1))
            assert counts.unique_people == len(alone)
            assert sum(size * number for size, number in counts.sizes) == counts.pairs
            smallest = Counter(
                min(len(each) for each in members.values() if person in each)
                for person in {row["person"] for row in found}
            )
            assert dict(counts.people_by_size) == smallest
            assert sum(smallest.values()) == counts.people
            assert counts.marketer == Fraction(len(members), counts.pairs)


@pytest.mark.parametrize("number", range(30))
@pytest.mark.parametrize("persons", [None, 8])
def test_values_are_learned_of_people_who_are_alone_or_whose_class_has_the_same_values(number, persons):
    found = rows(number, persons=persons)
    learned = exposure.sensitive_exposure(cube_from(found, by_person=persons is not None), "condition", Fraction(0))
    values, own = defaultdict(set), defaultdict(lambda: defaultdict(set))
    for row in found:
        key = tuple(row[name] for name in QUASI)
        values[key].add(row["condition"])
        own[key][row["person"]].add(row["condition"])
    members = classes(found, QUASI)
    same = [key for key, people in own.items() if all(each == values[key] for each in people.values())]
    assert all(key in same for key, each in members.items() if len(each) == 1)
    assert (learned.least, learned.classes) == (min(map(len, values.values())), len(same))
    assert learned.people >= len(set().union(*(each for each in members.values() if len(each) == 1)))
    assert learned.people == len(set().union(*(members[key] for key in same)))
    assert learned.sharing == len(set().union(*(members[key] for key in same if len(members[key]) > 1)))


@pytest.mark.parametrize("persons", [None, 8])
def test_rows_with_missing_cells_can_be_left_out(persons):
    found = rows(3, persons=persons)
    smaller, lost = exposure.without_missing(cube_from(found, by_person=persons is not None))
    complete = [row for row in found if row["zip"] is not None]
    assert smaller.total == len({row["person"] for row in complete})
    assert lost == len({row["person"] for row in found}) - smaller.total
    assert exposure.class_counts(smaller, QUASI).classes == len(classes(complete, QUASI))


def test_the_most_revealing_column_is_the_one_without_which_fewest_are_alone():
    found = [{"person": place, "zip": "A", "sex": "fm"[place % 2], "age": place // 2} for place in range(8)]
    found = [row | {"condition": None} for row in found]
    first, *_, last = exposure.column_exposures(cube_from(found, by_person=False))
    assert (first.name, first.without, first.distinct) in {("age", 0, 4), ("sex", 0, 2)}
    assert (last.name, last.without) == ("zip", 8)


def test_a_table_without_rows_has_no_class():
    empty = cube_of(pa.table({"zip": pa.array([], pa.string()), "n": pa.array([], pa.int64())}), ("zip",), people="n")
    counts = exposure.class_counts(empty, ("zip",))
    assert (counts.people, counts.classes, counts.k, counts.unique_share, counts.prosecutor) == (0, 0, 0, 0, 0)
    assert np.array_equal(empty.people, [])


def test_all_diagnoses_of_somebody_who_is_alone_are_learned():
    found = [{"person": 1, "zip": "A", "sex": "f", "age": 1, "condition": each} for each in ("flu", "cancer", None)]
    found += [{"person": each, "zip": "B", "sex": "f", "age": 1, "condition": "flu"} for each in (2, 3)]
    found += [{"person": 3, "zip": "B", "sex": "f", "age": 1, "condition": "cancer"}]
    learned = exposure.sensitive_exposure(cube_from(found, by_person=True), "condition", Fraction(0))
    assert (learned.people, learned.sharing, learned.least) == (1, 0, 2)
