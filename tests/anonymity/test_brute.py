"""The oracle itself, on tables small enough to work out on paper."""

import math
from fractions import Fraction

import brute
import random_tables

ROWS = [
    {"zip": "1", "sex": "f", "ill": "flu", "who": 1},
    {"zip": "1", "sex": "f", "ill": "cold", "who": 1},
    {"zip": "1", "sex": "f", "ill": "flu", "who": 2},
    {"zip": "2", "sex": None, "ill": "flu", "who": None},
    {"zip": "2", "sex": None, "ill": "flu", "who": None},
    {"zip": "2", "sex": "m", "ill": "cold", "who": 2},
]


def test_people_are_counted_and_not_rows():
    told = brute.measure(ROWS, ["zip", "sex"], sensitive=["ill"], person="who")
    assert (told.rows, told.people, told.classes, told.pairs, told.k) == (6, 4, 3, 5, 1)
    assert told.class_sizes == ((1, 1), (2, 2))
    assert told.unique_people == 1
    assert told.marketer == Fraction(3, 5)
    assert told.average == Fraction(1, 4) * (1 + 3 * Fraction(1, 2))


def test_missing_cells_follow_the_policy():
    wild = brute.measure(ROWS, ["zip", "sex"], person="who", nulls="wildcard")
    assert wild.class_sizes == ((2, 1), (3, 2))
    left = brute.measure(ROWS, ["zip", "sex"], person="who", nulls="exclude")
    assert (left.excluded, left.rows, left.people, left.class_sizes) == (2, 6, 2, ((1, 1), (2, 1)))


def test_diversity_counts_people_by_value():
    told = brute.measure(ROWS, ["zip"], sensitive=["ill"], person="who").diversity["ill"]
    assert told.distinct == 2
    assert math.isclose(told.entropy, math.exp(-(2 / 3) * math.log(2 / 3) - (1 / 3) * math.log(1 / 3)))
    assert told.least_c == 2
    assert not told.is_recursive(Fraction(2))
    assert told.is_recursive(Fraction(5, 2))


def test_distances_are_those_of_the_definition():
    half, all_ = {1: 1, 2: 1}, {1: 1, 2: 1, 3: 2}
    assert brute.distance(half, all_, is_ordered=False) == Fraction(1, 2)
    assert brute.distance(half, all_, is_ordered=True) == (Fraction(1, 4) + Fraction(1, 2)) / 2


def test_minus_zero_is_zero_and_not_a_number_is_missing():
    rows = [{"x": 0.0}, {"x": -0.0}, {"x": math.nan}, {"x": None}]
    assert brute.measure(rows, ["x"]).class_sizes == ((2, 2),)


def test_random_tables_are_the_same_each_time_and_have_what_they_are_for():
    cases = [random_tables.case(i) for i in range(200)]
    assert cases[7].rows == random_tables.case(7).rows or "nan" in str(cases[7].rows)
    cells = [cell for each in cases for row in each.rows for cell in row.values()]
    assert {None, "", "a ", 2**53 + 1} <= set(cells)
    assert any(isinstance(cell, float) and math.isnan(cell) for cell in cells)
    assert {each.nulls for each in cases} == set(random_tables.NULLS)
    repeated = [brute.measure(each.rows, each.quasi, person=each.person) for each in cases if each.person]
    assert sum(told.pairs > told.people for told in repeated) > 20


def test_tables_of_one_family_fit_into_one():
    cases = [random_tables.case(i) for i in range(0, 40, 4)]
    table = random_tables.packed(cases, "case")
    assert table.num_rows == sum(each.table.num_rows for each in cases)
