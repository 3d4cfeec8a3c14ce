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


class LookAlike:
    """A model that would write rows into its state."""

    def training(self, facts):
        return CountEstimator(size=10).training(facts)


class Ridge(dp.learning.Ridge):
    """A subclass of the same name, which would read targets beside one another."""

    def target_steps(self, target):
        return target, target


def hiding(name):
    model = dp.learning.Ridge(size=10)
    setattr(model, name, lambda *_: None)
    return model


NOT_OURS = [None, "logistic", object(), CountEstimator, LookAlike(), Ridge(size=10)]


@pytest.mark.parametrize("model", [*NOT_OURS, dp.learning.testing.noiseless(dp.learning.Ridge(size=10))])
def test_what_is_no_model_of_ours_is_refused(model):
    with pytest.raises(dp.Refusal, match=r"models of dp\.learning"):
        T.fit(model, target="income")


@pytest.mark.parametrize("name", ["target_steps", "training", "get_params", "_get_param_names", "learner"])
def test_a_model_of_ours_that_hides_a_method_is_refused(name):
    with pytest.raises(dp.Refusal, match=f"{name}' was replaced"):
        T.fit(hiding(name), target="income")


def test_a_fitted_model_may_be_trained_again():
    fitted = dp.learning.Ridge(size=10)
    fitted.model_, fitted.guarantee, fitted.n_features_in_ = object(), "", 1
    assert T.fit(fitted, target="income").model is fitted


@pytest.mark.parametrize("features", ["age", [], [1], ["age", "age"], 3])
def test_features_that_are_no_list_of_names_are_refused(features):
    with pytest.raises(dp.Refusal, match="list of names"):
        T.fit(MODEL, target="income", features=features)


def test_the_target_is_a_name_and_not_a_feature():
    with pytest.raises(dp.Refusal, match="target of type int"):
        T.fit(MODEL, target=3)
    with pytest.raises(dp.Refusal, match="among the features"):
        T.fit(MODEL, target="income", features=["age", "income"])
