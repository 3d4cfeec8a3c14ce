"""Joins and features as people write them: what becomes a plan, and what is refused before any catalog is asked."""

import pytest

import discreet as dp
from discreet.errors import ParameterError, TypeMismatchError
from discreet.plan import logical
from discreet.query.frame import relation_of

VISITS, WARDS = dp.table("visits"), dp.table("wards")


@pytest.mark.parametrize(
    ("on", "pairs"),
    [
        ("ward", (("ward", "ward"),)),
        (["ward", "day"], (("ward", "ward"), ("day", "day"))),
        ({"ward_id": "id"}, (("ward_id", "id"),)),
    ],
)
def test_columns_to_join_on_are_named_once_together_or_in_pairs(on, pairs):
    assert relation_of(VISITS.join(WARDS, on=on)) == logical.Join(logical.TableRef("visits"), "wards", pairs)


def test_a_join_says_how_and_gives_names_and_a_cap():
    made = relation_of(VISITS.join(WARDS, on="ward", how="left", names={"name": "ward_name"}, max_rows=5))
    assert (made.how, made.names, made.max_rows) == ("left", (("name", "ward_name"),), 5)


@pytest.mark.parametrize("on", [[], {}, 7, [1], {"a": 1}, ["a", "a"], {"a": "x", "b": "x"}, None])
def test_a_join_on_nothing_or_on_a_column_twice_is_refused(on):
    with pytest.raises(ParameterError, match="pairs of columns"):
        VISITS.join(WARDS, on=on)


def test_joins_with_other_things_than_tables_of_the_catalog_are_refused_with_the_call_to_write():
    with pytest.raises(ParameterError, match=r'instead  .join\(dp.table\("wards"\), on=...\)'):
        VISITS.join("wards", on="ward")
    with pytest.raises(ParameterError, match="conditions"):
        VISITS.join(WARDS.where(WARDS.beds > 3), on="ward")
    with pytest.raises(ParameterError, match="how='outer'"):
        VISITS.join(WARDS, on="ward", how="outer")
    with pytest.raises(ParameterError, match="names of type list"):
        VISITS.join(WARDS, on="ward", names=["name"])
    with pytest.raises(ParameterError, match="max_rows"):
        VISITS.join(WARDS, on="ward", max_rows=0)


def test_features_are_aggregates_of_a_units_rows_by_name():
    made = relation_of(VISITS.per_unit(n=dp.count(), first=dp.smallest("age"), last=dp.largest(VISITS.age + 1)))
    assert [feature.name for feature in made.features] == ["n", "first", "last"]
    assert made.features[1].measure == logical.UnitExtreme(logical.ColumnRef("age"), is_largest=False)


def test_features_of_nothing_or_of_other_things_are_refused():
    with pytest.raises(ParameterError, match="per_unit"):
        VISITS.per_unit()
    with pytest.raises(TypeMismatchError, match=r"per_unit\(n=\.\.\.\) of type str"):
        VISITS.per_unit(n="age")
    with pytest.raises(TypeMismatchError, match=r"dp\.largest of type int"):
        dp.largest(7)


def test_a_feature_that_only_units_have_is_refused_in_a_release():
    with pytest.raises(TypeMismatchError, match="is per unit") as caught:
        VISITS.agg(oldest=dp.largest("age"))
    assert caught.value.instead.startswith('agg(oldest=dp.quantile("age", 0.99, bounds=(0, 100)))')
    with pytest.raises(TypeMismatchError) as caught:
        VISITS.agg(youngest=dp.smallest(VISITS.age))
    assert "0.01" in caught.value.instead
    assert 'per_unit(youngest=dp.smallest("age"))' in caught.value.instead


def test_a_join_without_on_is_refused_with_what_to_type():
    with pytest.raises(ParameterError) as caught:
        VISITS.join(WARDS)
    assert caught.value.instead.startswith('on="ward"')


def test_a_frame_tells_what_it_was_joined_with():
    frame = VISITS.join(WARDS, on="ward").per_unit(n=dp.count()).where(VISITS.n > 1)
    assert repr(frame) == "table 'visits', joined with 'wards', one row per unit, 1 condition"
