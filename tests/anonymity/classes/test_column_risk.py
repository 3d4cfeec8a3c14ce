"""Uniqueness and selectivity of single columns."""

from fractions import Fraction

import pyarrow as pa

from discreet.anonymity.classes.base_groups import read_groups
from discreet.anonymity.classes.column_risk import ColumnRisk, column_risks
from discreet.engines.exact_tables import open_table


def _risk(table: pa.Table, people: int, person: str | None = None, *, are_wildcards: bool = False) -> ColumnRisk:
    with open_table(table) as rows:
        groups = read_groups(rows, ["zip"], person)
    return column_risks(groups, ["zip"], people, are_wildcards=are_wildcards)["zip"]


def test_a_person_is_unique_in_a_column_if_alone_with_a_value() -> None:
    found = _risk(pa.table({"zip": ["1", "1", "2", None]}), 4)
    assert (found.values, found.unique_people, found.uniqueness) == (3, 2, Fraction(1, 2))
    assert found.selectivity == Fraction(3, 4)
    assert "alone" in str(found)


def test_a_person_with_two_values_of_their_own_is_one_person() -> None:
    found = _risk(pa.table({"zip": ["1", "2", "3", "3"], "who": ["a", "a", "a", "b"]}), 2, "who")
    assert (found.values, found.unique_people) == (3, 1)


def test_nobody_is_unique_beside_a_wildcard() -> None:
    assert _risk(pa.table({"zip": ["1", "2", None]}), 3, are_wildcards=True).unique_people == 0
