"""A model to train is declared without data."""

import pytest

import discreet as dp
from discreet.query.models import ModelQuery
from trainable import CountEstimator

T = dp.table("adult")
MODEL = CountEstimator(size=10)


def test_a_query_for_a_model_has_its_rows_target_and_features():
    query = T.where(T.age > 17).fit(MODEL, target="income", features=["age", "sex"])
    assert isinstance(query, ModelQuery)
    assert (query.model, query.target, query.features) == (MODEL, "income", ("age", "sex"))
    assert T.fit(MODEL, target="income").features is None


@pytest.mark.parametrize("model", [None, "logistic", object(), CountEstimator])
def test_what_is_no_model_of_ours_is_refused(model):
    with pytest.raises(dp.Refusal, match=r"models of dp\.learning"):
        T.fit(model, target="income")


@pytest.mark.parametrize("features", ["age", [], [1], ["age", "age"], 3])
def test_features_that_are_no_list_of_names_are_refused(features):
    with pytest.raises(dp.Refusal, match="list of names"):
        T.fit(MODEL, target="income", features=features)


def test_the_target_is_a_name_and_not_a_feature():
    with pytest.raises(dp.Refusal, match="target of type int"):
        T.fit(MODEL, target=3)
    with pytest.raises(dp.Refusal, match="among the features"):
        T.fit(MODEL, target="income", features=["age", "income"])
