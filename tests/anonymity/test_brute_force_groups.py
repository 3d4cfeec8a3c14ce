"""Classes of random tables on every engine against the oracle: the same values and the same integers.

Many tables of one family are one table here, and the first column of a group is the number of its table. So one
statement on Spark counts the classes of hundreds of tables.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import brute
import pytest
from places import ENGINES, place_table
from random_tables import CASES, FAMILIES, Case, case, packed

from discreet.engines.exact_tables import COUNT, open_table

NUMBER = "case"
SOME = 60
Counts = dict[brute.Key, int]

pytestmark = pytest.mark.pitfall("C7")


def groups_of(place: dict[str, Any], columns: Sequence[str], **options: Any) -> Counts:
    """Counts by the values of the columns, as an engine has them."""
    with open_table(**place) as rows:
        batches = list(rows.groups(columns, **options))
    found = [row for batch in batches for row in batch.to_pylist()]
    counts = {tuple(brute.plain(row[name]) for name in columns): row[COUNT] for row in found}
    assert len(counts) == len(found), "a class came twice"
    return counts


def oracle(cases: Sequence[Case], columns: Sequence[str], *, person: str | None = None) -> Counts:
    """The same by loops, one table after the other."""
    counts: Counts = {}
    for each in cases:
        rows = each.rows
        members = brute.classes_of(rows, columns, brute.persons_of(rows, person))
        counts |= {(each.index, *key): len(people) for key, people in members.items()}
    return counts


def compare(kind: str, family: int, tables: int, directory: Path, request: pytest.FixtureRequest) -> None:
    cases = [case(i) for i in range(tables) if i % len(FAMILIES) == family]
    place = place_table(kind, packed(cases, NUMBER), directory, request)
    names = list(FAMILIES[family])
    quasi, sensitive, person = names[:3], names[3], names[5]
    for columns, options in (
        (quasi, {}),
        ([*quasi, sensitive], {"person": person}),
        (quasi[::-1], {"person": person}),
    ):
        counts = groups_of(place, [NUMBER, *columns], **options)
        assert counts == oracle(cases, columns, **options)


@pytest.mark.parametrize("family", range(len(FAMILIES)))
@pytest.mark.parametrize("kind", ENGINES)
def test_classes_of_some_random_tables_are_those_of_the_oracle(
    kind: str, family: int, tmp_path: Path, request: pytest.FixtureRequest
):
    compare(kind, family, SOME, tmp_path, request)


@pytest.mark.nightly
@pytest.mark.parametrize("family", range(len(FAMILIES)))
@pytest.mark.parametrize("kind", ENGINES)
def test_classes_of_all_random_tables_are_those_of_the_oracle(
    kind: str, family: int, tmp_path: Path, request: pytest.FixtureRequest
):
    compare(kind, family, CASES, tmp_path, request)
