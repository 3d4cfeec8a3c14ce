"""Minimal sample uniques of random tables against all subsets of columns in plain loops."""

import brute
import pytest
from random_tables import CASES, FAMILIES, case

import discreet as dp

SOME = 20


def compare(number: int) -> None:
    each = case(number)
    quasi, size = list(FAMILIES[each.family])[:5], 1 + number % 4
    found = dp.anonymity.minimal_uniques(each.table, quasi, size=size, person=each.person)
    told = brute.minimal_uniques(each.rows, quasi, size, person=each.person)
    by_size = [{who for columns, people in told.items() if len(columns) == k for who in people} for k in range(1, 6)]
    everyone: set[object] = set()
    smallest = []
    for people in by_size[:size]:
        smallest.append(len(people - everyone))
        everyone |= people
    assert found.people == len(set(brute.persons_of(each.rows, each.person))), each
    assert found.unique_people == len(everyone), each
    assert found.by_size == tuple(len(people) for people in by_size[:size]), each
    assert found.by_smallest == tuple(smallest), each
    for columns, people in found.sets:
        assert people == len(told[tuple(columns)]), (each, columns)


def test_minimal_uniques_of_random_tables_are_those_of_the_oracle():
    for number in range(SOME):
        compare(number)


@pytest.mark.nightly
def test_minimal_uniques_of_many_random_tables_are_those_of_the_oracle():
    for number in range(SOME, CASES, 3):
        compare(number)
