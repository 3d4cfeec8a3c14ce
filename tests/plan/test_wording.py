"""A logical plan in words: every condition, join and derived column is named, and long lists are shortened."""

import datetime as dt
from fractions import Fraction

import pytest

import discreet as dp
from discreet.plan import logical, wording

visits = dp.table("visits")


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        (visits.age < 65, "age < 65"),
        ((visits.age >= 18) & (visits.ward == "A"), "(age >= 18) and (ward = 'A')"),
        ((visits.age < 1) | ~(visits.ward != "A"), "(age < 1) or (not (ward ≠ 'A'))"),
        (visits["a b"].is_missing(), "'a b' is missing"),
        (visits.ward.is_in(["A", "B"]), "ward in ('A', 'B')"),
        (visits.day >= dt.date(2026, 1, 31), "day >= '2026-01-31'"),
        (visits.at < dt.datetime.fromisoformat("2026-01-31 12:00"), "at < '2026-01-31 12:00:00'"),
        (visits.urgent == True, "urgent = true"),  # noqa: E712 - an expression
        ((visits.cost / 2 + 1) > 3, "((cost / 2) + 1) > 3"),
        (visits.cost.cast("integer") > 3, "(cost as integer) > 3"),
        (visits.cost.bin([0, 1]) == 1, "(bin of cost by the edges (0, 1)) = 1"),
        (dp.when(visits.age < 18, "child"), "'child' if (age < 18), otherwise missing"),
        (dp.when(visits.a, 1).when(visits.b, visits.cost).otherwise(0), "1 if a, cost if b, otherwise 0"),
        (visits.cost.fill_missing(0) > 2, "(cost if (not (cost is missing)), otherwise 0) > 2"),
        (visits.ward.starts_with("A"), "ward starts with 'A'"),
        (~visits.ward.ends_with("%"), "not (ward ends with '%')"),
        (visits.ward.contains("A"), "ward contains 'A'"),
        (visits.day.truncate("week"), "start of the week of day"),
        (visits.day.part("weekday") == 7, "(weekday of day) = 7"),
    ],
    ids=str,
)
def test_expressions_read_as_people_write_them(expression, words):
    assert wording.expression(expression.node) == words


def test_a_long_list_and_a_long_text_are_shortened():
    assert wording.expression(visits.age.is_in(range(20)).node).endswith("6, 7, and 12 more)")
    long = wording.expression((visits.ward == "x" * 2_000).node)
    assert long.endswith("(1,009 more characters)")


def test_steps_stand_in_the_order_in_which_they_were_asked_for():
    relation = visits.where(visits.age < 65).derive(young=visits.age < 18).where(visits.ward == "A")._relation
    assert wording.relation(relation) == (
        ("table", "visits"),
        ("where", "age < 65"),
        ("derived", "young = age < 18"),
        ("where", "ward = 'A'"),
    )


def test_a_join_names_its_columns_and_what_becomes_of_other_rows():
    join = logical.Join(logical.TableRef("visits"), "wards", (("ward", "id"),), "left", (), 3)
    words = "wards on ward = wards.id; rows without a match are kept, at most 3 rows of each unit"
    assert wording.relation(join)[1] == ("joined with", words)


def test_features_of_a_unit_are_named():
    relation = visits.per_unit(n=dp.count(), oldest=dp.largest(visits.age))._relation
    assert wording.relation(relation)[1] == ("one row per unit", "n = number of rows, oldest = largest age")


@pytest.mark.parametrize(
    ("aggregate", "words"),
    [
        (dp.count(), "number of rows"),
        (dp.count_units(), "number of privacy units"),
        (dp.count_distinct("ward", domain=["A"]), "number of distinct values of ward, out of a public list"),
        (dp.quantile("age", 0.25, bounds=(0, 9)), "quantile 0.25 of age"),
        (dp.std("age", bounds=(0, 9)), "standard deviation of age"),
        (dp.sum("cost", bounds="auto"), "sum of cost"),
    ],
    ids=str,
)
def test_aggregates_have_the_words_of_the_field(aggregate, words):
    assert wording.measure(aggregate.measure) == words


def test_numbers_of_things_and_bounds_read_as_people_write_them():
    assert [wording.counted(number, "key") for number in (0, 1, 2_000)] == ["0 keys", "1 key", "2,000 keys"]
    assert wording.clipped((Fraction(0), Fraction(5_000))) == "values clipped to 0 to 5,000"
    assert wording.clipped((Fraction(-1, 2), Fraction(1))) == "values clipped to -0.5 to 1"


def test_ranges_and_hierarchies_say_what_they_count():
    ranges = visits.ranges("age", [(0, 18), (18, 65)]).plan.outputs[0].measure
    assert wording.measure(ranges) == "number of rows in each of 2 ranges of age between 3 edges"
    hierarchy = logical.HierarchyCounts(("state", "county"), ("sex",))
    assert wording.measure(hierarchy).endswith("each area of state, county, and in each combination with sex")


def test_an_inner_join_drops_rows_without_a_match():
    join = logical.Join(logical.TableRef("visits"), "wards", (("ward", "id"),))
    assert wording.relation(join)[1] == ("joined with", "wards on ward = wards.id; rows without a match are dropped")
