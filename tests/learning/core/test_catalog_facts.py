"""Features, classes and bounds of a training come from the catalog, and what it lacks is named at once."""

from fractions import Fraction

import pytest

import discreet as dp
from discreet.catalog.catalog import Column
from discreet.learning.core.catalog_facts import catalog_classes, catalog_features, catalog_target_bounds
from discreet.plan.models import ModelFacts

AGE, SEX = Column(type="integer", bounds=(0, 90)), Column(type="text", keys=["F", "M", None])


def facts(columns, target_column=SEX):
    return ModelFacts(
        target="income",
        columns=columns,
        target_column=target_column,
        has_feature_list=False,
        size=100,
        rho=Fraction(1, 50),
        replace_one=False,
    )


def test_bounds_become_bins_and_keys_categories():
    found = catalog_features(None, facts({"age": AGE, "sex": SEX, "well": Column(type="boolean")}))
    assert [feature.slots for feature in found.values()] == [33, 3, 3]


def test_all_columns_that_lack_a_declaration_are_named_in_one_error():
    columns = {"age": AGE, "town": Column(type="text"), "weight": Column(type="real"), "born": Column(type="date")}
    with pytest.raises(dp.errors.UnboundedError) as refusal:
        catalog_features(None, facts(columns))
    text = str(refusal.value)
    assert "the features 'town', 'weight', 'born'" in text
    assert "features=['age'] in fit" in text
    assert "bounds={'weight': (0, 100)}, keys={'town': [\"A\", \"B\"]} in dp.protect" in text


def test_the_advice_for_a_column_that_is_not_there_can_be_followed():
    with pytest.raises(dp.errors.ParameterError, match=r"features=\{'sex': dp\.learning\.categories"):
        catalog_features({"aeg": dp.learning.linear_bins(0, 9)}, facts({"sex": SEX}))
    with pytest.raises(dp.errors.ParameterError, match=r"features=\{'age': dp\.learning\.linear_bins"):
        catalog_features({"born": dp.learning.linear_bins(0, 9)}, facts({"born": Column(type="date"), "age": AGE}))


def test_classes_and_bounds_of_the_target_are_its_keys_and_bounds():
    assert catalog_classes(None, facts({})) == ["F", "M"]
    assert catalog_target_bounds(None, facts({}, AGE)) == [0.0, 90.0]
    assert catalog_target_bounds((1, 2), facts({}, AGE)) == (1, 2)
    with pytest.raises(dp.errors.ParameterError, match="type text"):
        catalog_target_bounds(None, facts({}))


def test_a_class_that_is_no_key_of_the_target_is_refused():
    with pytest.raises(dp.errors.ParameterError, match=r"the class 'm' of the target 'income'[\s\S]*\['F', 'M'\]"):
        catalog_classes(["F", "m"], facts({}))
    assert catalog_classes(["M", "F"], facts({})) == ["M", "F"]
    assert catalog_classes([0, "1"], facts({}, Column(type="integer", keys=[0, 1, 2]))) == [0, "1"]
    assert catalog_classes(["x", "y"], facts({}, Column(type="text"))) == ["x", "y"]
