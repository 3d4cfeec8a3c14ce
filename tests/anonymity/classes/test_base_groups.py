"""Groups of a source: numbers of people, or pairs with persons where somebody has several rows."""

import pyarrow as pa

from discreet.anonymity.classes.base_groups import BaseGroups, read_groups
from discreet.engines.exact_tables import open_table


def _groups(table: pa.Table, names: list[str], person: str | None = None) -> BaseGroups:
    with open_table(table) as rows:
        return read_groups(rows, names, person, are_distinct=True)


def test_groups_of_persons_with_one_row_each_are_numbers_of_people() -> None:
    groups = _groups(pa.table({"age": [30, 30, None], "who": [1, 2, None]}), ["age"], "who")
    assert groups.people.persons is None
    assert sorted(groups.people.counts.tolist()) == [1, 2]


def test_groups_of_persons_with_several_rows_are_pairs() -> None:
    groups = _groups(pa.table({"age": [30, 30, 40], "who": ["a", "a", "b"]}), ["age"], "who")
    assert groups.people.persons is not None
    assert sorted(groups.rows.tolist()) == [1, 2]
    assert groups.people.counts.tolist() == [1, 1]


def test_rows_without_a_person_are_persons_of_their_own() -> None:
    groups = _groups(pa.table({"age": [30, 30, 30, 30], "who": ["a", "a", None, None]}), ["age"], "who")
    assert groups.people.persons is not None
    assert len(set(groups.people.persons.tolist())) == 3
    assert sorted(groups.rows.tolist()) == [1, 1, 2]


def test_the_person_may_be_a_quasi_identifier() -> None:
    groups = _groups(pa.table({"who": ["a", "a", "b"]}), ["who"], "who")
    assert groups.people.by(groups.keys(["who"]))[1].tolist() == [1, 1]


def test_groups_with_a_missing_cell_are_found_and_left_out() -> None:
    groups = _groups(pa.table({"age": [30, None], "sex": pa.array([None, None], pa.string())}), ["age", "sex"])
    assert groups.has_null(["age"]).sum() == 1
    assert groups.has_null(["age", "sex"]).all()
    assert groups.take(~groups.has_null(["age"])).rows.tolist() == [1]
