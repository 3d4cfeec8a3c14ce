"""What a question names: the values that neighbours are made from."""

import datetime as dt

import pytest

import discreet as dp
from discreet.accounting.filters import Budget
from discreet.auditing.sensitivity import names
from discreet.catalog.catalog import Catalog
from discreet.planner.queries.tables import analyze

CATALOG = Catalog.model_validate(
    {
        "tables": {
            "t": {
                "privacy_unit": "id",
                "max_rows": 3,
                "columns": {
                    "id": {"type": "text"},
                    "ward": {"type": "text", "keys": ["a", "b"]},
                    "age": {"type": "integer"},
                    "cost": {"type": "real"},
                    "day": {"type": "date"},
                },
                "slice": {"of": "all", "column": "day", "start": "2020-01-01", "end": "2021-01-01"},
            }
        }
    }
)
T = dp.table("t")


def private(query):
    return analyze(query.plan, CATALOG, Budget(epsilon=1), epsilon=1)


def named(query):
    return names.values_of(private(query).pushdown, CATALOG.table("t"))


def test_keys_of_a_grouping_are_named_and_come_first():
    found = named(T.where(T.age >= 40).group_by("ward", keys={"ward": ["b"]}).agg(n=dp.count()))
    assert next(iter(found)) == "ward"
    assert found["ward"] == ["b"]


def test_constants_of_conditions_are_named():
    assert 40 in named(T.where(T.age >= 40).agg(n=dp.count()))["age"]
    assert {3, 5} <= set(named(T.where(T.age.is_in([3, 5])).agg(n=dp.count()))["age"])


def test_bounds_of_sums_and_domains_of_values_are_named():
    assert {-1.0, 7.0} <= set(named(T.agg(s=dp.sum("cost", bounds=(-1, 7))))["cost"])
    assert {1, 2} <= set(named(T.agg(v=dp.count_distinct("age", domain=[1, 2])))["age"])


def test_the_ends_of_a_slice_are_named_as_days():
    assert dt.date(2020, 1, 1) in named(T.agg(n=dp.count()))["day"]


def test_values_are_read_in_the_type_of_their_column():
    found = named(T.derive(tens=T.age.cast("text")).group_by("tens", keys={"tens": ["0", "x"]}).agg(n=dp.count()))
    assert found["age"] == [0]


def test_a_long_list_of_keys_is_cut():
    found = named(T.group_by("age", keys={"age": list(range(100))}).agg(n=dp.count()))
    assert len(found["age"]) == names.MOST_VALUES


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"n": dp.count()}, "rows"),
        ({"u": dp.count_units()}, "units"),
        ({"v": dp.count_distinct("age", domain=[1])}, "values of 'age'"),
        ({"s": dp.sum(T.cost + T.age, bounds=(0, 1))}, "sum of 'cost', 'age'"),
    ],
)
def test_measures_are_told_in_a_few_words(asked, told):
    (noised,) = private(T.agg(**asked)).noisy_measures
    assert names.description(noised.measure) == told


def test_a_difference_of_measures_is_told_as_one():
    plan = private(T.group_by("ward").agg(n=dp.count(), u=dp.count_units(), s=dp.sum("cost", bounds=(3, 7))))
    assert all(names.description(noised.measure) for noised in plan.noisy_measures)
