"""Minimal sample uniques against brute force over all sets of columns, and against published tables."""

import json
from collections import Counter
from fractions import Fraction
from itertools import combinations
from math import prod

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import discreet as dp

NAMES = ("a", "b", "c", "d", "e")


def brute_force(rows, names, size, person=None):
    """For each person the minimal sets of columns, by the definition."""
    people = [row[person] if person and row[person] is not None else ("row", i) for i, row in enumerate(rows)]
    found = {each: set() for each in people}
    for k in range(1, size + 1):
        for subset in combinations(names, k):
            classes = {}
            for who, row in zip(people, rows, strict=True):
                classes.setdefault(tuple(row[name] for name in subset), set()).add(who)
            for who in {next(iter(members)) for members in classes.values() if len(members) == 1}:
                if not any(set(smaller) < set(subset) for smaller in found[who]):
                    found[who].add(subset)
    return found


def expected(found, names, size):
    """Figures of the result, from the minimal sets of each person."""
    weight = [prod(len(names) - i for i in range(k, min(size, len(names) - 1) + 1)) for k in range(1, size + 1)]
    scores = Counter(sum(weight[len(s) - 1] for s in sets) for sets in found.values() if sets)
    total = sum(weight[len(s) - 1] for sets in found.values() for s in sets)
    shares = {
        name: Fraction(sum(weight[len(s) - 1] for sets in found.values() for s in sets if name in s), total or 1)
        for name in names
    }
    return {
        "people": len(found),
        "by_size": tuple(sum(any(len(s) == k for s in sets) for sets in found.values()) for k in range(1, size + 1)),
        "by_smallest": tuple(
            sum(min(map(len, sets)) == k for sets in found.values() if sets) for k in range(1, size + 1)
        ),
        "unique_people": sum(bool(sets) for sets in found.values()),
        "scores": tuple(sorted(scores.items())),
        "sets": dict(Counter(s for sets in found.values() for s in sets)),
        "shares": shares,
    }


def figures(result):
    names = ("people", "by_size", "by_smallest", "unique_people", "scores")
    return {name: getattr(result, name) for name in names} | {
        "sets": dict(result.sets),
        "shares": {each.column: each.contribution for each in result.columns},
    }


def random_rows(rng, names):
    """Few values, so that people share them; some cells and some persons are missing."""
    sizes = rng.integers(1, 6, size=len(names))
    count = int(rng.integers(1, 25))
    cells = [[None if rng.random() < 0.1 else int(v) for v in rng.integers(0, s, size=count)] for s in sizes]
    persons = [None if rng.random() < 0.1 else int(v) for v in rng.integers(0, 12, size=count)]
    return [dict(zip(names, row, strict=True)) | {"who": who} for *row, who in zip(*cells, persons, strict=True)]


def table_of(rows, names):
    return pa.table({name: pa.array([row[name] for row in rows], pa.int64()) for name in (*names, "who")})


@pytest.mark.parametrize("person", [None, "who"])
def test_the_result_is_that_of_brute_force_on_random_tables(person):
    """More of them, without an engine, are in test_suda.py."""
    rng = dp.testing.generator(1800)
    for _ in range(12):
        names = NAMES[: int(rng.integers(1, 6))]
        rows, size = random_rows(rng, names), int(rng.integers(1, len(names) + 1))
        found = dp.anonymity.minimal_uniques(table_of(rows, names), names, size=size, person=person)
        assert figures(found) == expected(brute_force(rows, names, size, person), names, size)


def practice_guide():
    """Ten records of the World Bank's practice guide on statistical disclosure control, table of SUDA scores."""
    text = """Urban Female Secondary-incomplete Employed
    Urban Female Secondary-incomplete Employed
    Urban Female Primary-incomplete Non-LF
    Urban Male Secondary-complete Employed
    Rural Female Secondary-complete Unemployed
    Urban Male Secondary-complete Employed
    Urban Female Primary-complete Non-LF
    Urban Male Post-secondary Unemployed
    Urban Female Secondary-incomplete Non-LF
    Urban Female Secondary-incomplete Non-LF"""
    columns = zip(*(line.split() for line in text.splitlines()), strict=True)
    return pa.table(dict(zip(("residence", "gender", "education", "labor"), map(list, columns), strict=True)))


def test_the_published_scores_come_out():
    """Practice guide: scores 6, 12, 6 and 10 for four records, with sets of at most three columns."""
    found = dp.anonymity.minimal_uniques(practice_guide(), ["residence", "gender", "education", "labor"], size=3)
    assert found.scores == ((6, 2), (10, 1), (12, 1))
    assert found.unique_people == 4


def test_the_published_contributions_come_out():
    """The package sdcMicro, tests of suda2: contributions of 50, 37.5 and 37.5 percent."""
    rows = pa.table({"a": [2, 1, 1], "b": [0, 3, 0], "c": [0, 6, 0]})
    found = dp.anonymity.minimal_uniques(rows, ["a", "b", "c"])
    assert {each.column: each.contribution for each in found.columns} == {
        "a": Fraction(1, 2),
        "b": Fraction(3, 8),
        "c": Fraction(3, 8),
    }
    assert found.scores == ((2, 2), (4, 1))


def test_a_person_with_several_rows_is_alone_by_one_of_them():
    rows = pa.table({"zip": ["A", "B", "A"], "sex": ["f", "f", "f"], "who": [1, 1, 2]})
    found = dp.anonymity.minimal_uniques(rows, ["zip", "sex"], person="who")
    assert (found.people, found.by_smallest, found.sets) == (2, (1, 0), ((("zip",), 1),))


def test_a_person_with_equal_rows_is_alone_and_two_unnamed_rows_are_not():
    rows = pa.table({"zip": ["A", "A", "B", "B", "C"], "who": [1, 1, None, None, None]})
    found = dp.anonymity.minimal_uniques(rows, ["zip"], person="who")
    assert (found.people, found.unique_people) == (4, 2)


def test_sizes_beyond_the_columns_are_cut_and_an_empty_table_has_nobody():
    rows = pa.table({"a": pa.array([], pa.int64()), "b": pa.array([], pa.string())})
    found = dp.anonymity.minimal_uniques(rows, ["a", "b"], size=7)
    assert (found.people, found.size, found.unique_people, found.scores, found.sets) == (0, 2, 0, (), ())
    assert "0 of 0 people are alone" in str(found)


def test_a_file_and_a_database_give_the_same_figures(tmp_path):
    rng = dp.testing.generator(1900)
    rows = table_of(random_rows(rng, NAMES), NAMES)
    with duckdb.connect(str(tmp_path / "rows.duckdb")) as connection:
        connection.register("given", rows)
        connection.execute("CREATE TABLE visits AS SELECT * FROM given")
    stored = dp.anonymity.minimal_uniques(tmp_path / "rows.duckdb", NAMES, person="who", table="visits")
    assert figures(stored) == figures(dp.anonymity.minimal_uniques(rows, NAMES, person="who"))


def test_the_result_is_plain_data_and_stamped():
    found = dp.anonymity.minimal_uniques(practice_guide(), ["gender", "education", "labor"], size=2)
    document = json.loads(json.dumps(found.to_json()))
    assert document["figures"]["columns"][0]["column"] == found.columns[0].column
    assert "For the owners" in str(found)
    assert "minimal sets" in str(found.columns[0])


@pytest.mark.parametrize("size", [0, 1.5, True, "3"])
def test_a_size_that_is_no_size_is_refused(size):
    with pytest.raises(dp.errors.ParameterError):
        dp.anonymity.minimal_uniques(practice_guide(), ["gender"], size=size)


def test_columns_that_are_missing_or_listed_twice_are_refused():
    with pytest.raises(dp.errors.ParameterError):
        dp.anonymity.minimal_uniques(practice_guide(), ["gender", "gender"])
    with pytest.raises(dp.errors.NameNotFoundError):
        dp.anonymity.minimal_uniques(practice_guide(), ["gander"])
    with pytest.raises(dp.errors.NameNotFoundError):
        dp.anonymity.minimal_uniques(practice_guide(), ["gender"], person="who")


def test_many_rows_have_the_figures_of_a_plain_count():
    """More rows than one block of the reader has, and keys for tables and for sorts."""
    rng = dp.testing.generator(1901)
    columns = {
        "a": rng.integers(0, 3, 40_000),
        "b": rng.integers(0, 5_000, 40_000),
        "c": rng.integers(0, 9_000, 40_000),
    }
    found = dp.anonymity.minimal_uniques(pa.table(columns), ["a", "b", "c"], size=3)
    alone = np.zeros(40_000, dtype=bool)
    for names in (("a",), ("b",), ("c",), ("a", "b"), ("a", "c"), ("b", "c"), ("a", "b", "c")):
        keys = np.stack([columns[name] for name in names], axis=1)
        _, inverse, counts = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
        alone |= counts[inverse] == 1
    assert found.unique_people == int(alone.sum())


def test_the_text_says_one_column_and_one_person():
    found = dp.anonymity.minimal_uniques(pa.table({"a": [1, 1, 2], "b": [1, 1, 1]}), ["a", "b"], size=1)
    assert "1 of 3 people (33.3%) are alone on one column" in str(found)
    assert "1 person needs 1 column to be alone" in str(found)
    assert "a: minimal for 1 person" in str(found)
