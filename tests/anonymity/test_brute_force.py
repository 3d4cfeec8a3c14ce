"""`dp.anonymity.measure` against the oracle on random tables: the same integers and fractions on every engine.

The fast tier has 60 tables on DuckDB. The full tier has 200 there, 60 on PostgreSQL and SQLite, and a few on Spark,
where a table takes seconds. The nightly tier has all 1,000: one by one on DuckDB, PostgreSQL and SQLite, and on all
four as one table for each family and policy, in which a column tells the tables apart. `test_brute_force_groups.py` has
the classes of each of the 1,000 on all four.
"""

import math
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import brute
import pyarrow as pa
import pytest
from places import ENGINES, place_table
from random_tables import CASES, FAMILIES, NULLS, Case, case, packed

import discreet as dp

ON_SPARK, FEW, SOME, MANY = 6, 20, 60, 200
EXACT = ("rows", "excluded", "people", "classes", "pairs", "k", "class_sizes", "unique_people", "marketer")

pytestmark = pytest.mark.pitfall("C7")


def figures(found: Any) -> dict[str, Any]:
    """The measures of the library by the names of the oracle."""
    return {name: getattr(found, name) for name in EXACT} | {
        "highest": found.prosecutor.highest,
        "average": found.prosecutor.average,
        "share_above": found.prosecutor.share_above,
        "uniqueness": {name: each.uniqueness for name, each in found.columns.items()},
        "selectivity": {name: each.selectivity for name, each in found.columns.items()},
        "distinct": {name: each.distinct for name, each in found.diversity.items()},
        "least_c": {name: each.least_c for name, each in found.diversity.items()},
        "closeness": dict(found.closeness),
    }


def expected(told: brute.Measures) -> dict[str, Any]:
    """The same of the oracle."""
    names = (*EXACT, "highest", "average", "share_above", "uniqueness", "selectivity", "closeness")
    return {name: getattr(told, name) for name in names} | {
        "distinct": {name: each.distinct for name, each in told.diversity.items()},
        "least_c": {name: each.least_c for name, each in told.diversity.items()},
    }


def options_of(each: Case) -> dict[str, Any]:
    return {"sensitive": each.sensitive, "ordered": each.ordered, "person": each.person, "nulls": each.nulls}


def oracle(each: Case) -> brute.Measures:
    return brute.measure(each.rows, each.quasi, **options_of(each), l=each.l, threshold=each.threshold)


def compare(each: Case, place: dict[str, Any], told: brute.Measures) -> None:
    """One table on one engine."""
    found = dp.anonymity.measure(
        place["source"],
        each.quasi,
        table=place.get("table"),
        **options_of(each),
        l=each.l,
        c=each.c,
        threshold=each.threshold,
    )
    assert figures(found) == expected(told), each
    for name, diversity in told.diversity.items():
        assert math.isclose(found.diversity[name].entropy, diversity.entropy, rel_tol=1e-12), each
        assert found.diversity[name].recursive == diversity.is_recursive(each.c), each


def compare_all(kind: str, numbers: range, directory: Path, request: pytest.FixtureRequest) -> None:
    for number in numbers:
        each = case(number)
        compare(each, place_table(kind, each.table, directory, request), oracle(each))


def test_measures_of_random_tables_are_those_of_the_oracle(tmp_path: Path, request: pytest.FixtureRequest):
    compare_all("duckdb", range(SOME), tmp_path, request)


@pytest.mark.full
def test_measures_of_many_random_tables_are_those_of_the_oracle(tmp_path: Path, request: pytest.FixtureRequest):
    compare_all("duckdb", range(SOME, MANY), tmp_path, request)


@pytest.mark.parametrize(("kind", "tables"), [("postgres", SOME), ("sqlite", SOME), ("spark", ON_SPARK)])
def test_measures_of_random_tables_are_the_same_on_other_engines(
    kind: str, tables: int, tmp_path: Path, request: pytest.FixtureRequest
):
    compare_all(kind, range(tables), tmp_path, request)


@pytest.mark.nightly
@pytest.mark.parametrize("part", range(10))
@pytest.mark.parametrize("kind", ["duckdb", "postgres", "sqlite"])
def test_measures_of_all_random_tables_are_those_of_the_oracle(
    kind: str, part: int, tmp_path: Path, request: pytest.FixtureRequest
):
    size = CASES // 10
    compare_all(kind, range(part * size, (part + 1) * size), tmp_path, request)


@cache
def as_one(family: int, tables: int, nulls: str) -> tuple[Case, brute.Measures]:
    """Tables of a family as one: persons have rows in several of them, and a class has the number of its table."""
    cases = [case(i) for i in range(family, tables, len(FAMILIES))]
    names = list(FAMILIES[family])
    one = Case(
        **{name: getattr(cases[0], name) for name in ("index", "family", "l", "c", "threshold")},
        table=packed(cases, "case"),
        quasi=("case", *names[:3]),
        sensitive=tuple(names[3:5]),
        ordered=tuple(names[4:5]),
        person=names[5],
        nulls=nulls,
    )
    return one, oracle(one)


@pytest.mark.parametrize("family", range(len(FAMILIES)))
@pytest.mark.parametrize("kind", ENGINES)
def test_measures_of_many_tables_as_one_are_those_of_the_oracle(
    kind: str, family: int, tmp_path: Path, request: pytest.FixtureRequest
):
    one, told = as_one(family, 20 * len(FAMILIES), NULLS[family % len(NULLS)])
    compare(one, place_table(kind, one.table, tmp_path, request), told)


@pytest.mark.nightly
@pytest.mark.parametrize("nulls", NULLS)
@pytest.mark.parametrize("family", range(len(FAMILIES)))
@pytest.mark.parametrize("kind", ENGINES)
def test_measures_of_all_tables_as_one_are_those_of_the_oracle(
    kind: str, family: int, nulls: str, tmp_path: Path, request: pytest.FixtureRequest
):
    one, told = as_one(family, CASES, nulls)
    compare(one, place_table(kind, one.table, tmp_path, request), told)


def population_of(each: Case) -> tuple[pa.Table, pa.Table]:
    """A table as the population, and its first half as the sample; every fifth population lacks a row of it."""
    sample = each.table.slice(0, (each.table.num_rows + 1) // 2)
    population = each.table if each.index % 5 else each.table.slice(1)
    return population, sample


def test_journalist_risk_of_random_tables_is_that_of_the_oracle():
    for number in range(FEW):
        each = case(number)
        population, sample = population_of(each)
        found = dp.anonymity.measure(sample, each.quasi, person=each.person, population=population).journalist
        told = brute.journalist(
            sample.to_pylist(),
            population.to_pylist(),
            each.quasi,
            person=each.person,
            population_person=each.person,
        )
        names = ("k_map", "absent_classes", "absent_people", "average")
        assert {name: getattr(found, name) for name in names} == {name: getattr(told, name) for name in names}, each


def test_weights_of_random_tables_are_summed_exactly():
    for number in range(FEW):
        each = case(number)
        weights = [None if i % 7 == 6 else (i * 37 % 11 + 1) / 10 for i in range(each.table.num_rows)]
        table = each.table.append_column("weight", [weights])
        found = dp.anonymity.measure(table, each.quasi, weight="weight").weights
        sums = brute.class_weights(table.to_pylist(), each.quasi, "weight")
        assert found.population == sum(sums.values(), Fraction(0)), each
        assert found.smallest == min(sums.values()), each
