"""Clones, searches, pipelines and copies of scikit-learn."""

import copy
import pickle

import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import discreet as dp
from learning.test_estimator import account, classifier, table


def test_clones_share_the_account_and_are_not_fitted():
    x, y = table(50)
    model = classifier(epsilon=0.1).fit(x, y)
    copied = clone(model)
    assert copied.budget is model.budget
    assert clone(copied.set_params(rate=2.0)).rate == 2.0
    with pytest.raises(NotFittedError):
        copied.predict(x)


def test_a_grid_search_raises_when_the_account_is_spent():
    x, y = table(200)
    spent = account(1)
    search = GridSearchCV(classifier(budget=spent, epsilon=0.5), {"rate": [1.0, 2.0, 3.0]}, cv=2, refit=False)
    with pytest.raises(dp.errors.BudgetError, match="does not fit the account"):
        search.fit(x, y)
    assert spent.charges >= 2


def test_a_pipeline_takes_an_estimator():
    x, y = table(500)
    pipeline = make_pipeline(FunctionTransformer(), classifier()).set_output(transform="pandas")
    assert pipeline.fit(x, y).score(x, y) > 0.8
    assert "SlotClassifier" in pipeline._repr_html_()
    assert "age" in repr(classifier())


def test_the_state_holds_nothing_but_arguments_and_what_was_released():
    x, y = table(50)
    model = classifier().fit(x, y)
    model.leak_ = x
    state = model.__getstate__()
    assert "leak_" not in state
    assert not hasattr(copy.deepcopy(model), "leak_")
    with pytest.raises(dp.errors.UnsupportedError, match="another process"):
        pickle.dumps(model)


def test_what_a_release_has_is_named_where_a_model_has_none():
    x, y = table(50)
    model = classifier().fit(x, y)
    for name in ("release", "receipt", "guarantee", "evaluation"):
        assert not hasattr(model, name)
    with pytest.raises(dp.errors.UnknownCallError, match=r"without its release.*\n.*\n.*model\.guarantee_"):
        _ = model.release
    with pytest.raises(dp.errors.UnknownCallError, match=r"fitted by itself.*\n.*\n.*dp\.learning\.evaluate"):
        _ = model.evaluation
    scaler = dp.learning.StandardScaler(features=dp.learning.linear_bins(0, 1), budget=account(1)).fit([[0], [1]])
    with pytest.raises(dp.errors.UnknownCallError, match="it predicts nothing"):
        _ = scaler.evaluation


def test_other_names_and_models_that_are_not_fitted_raise_plain_errors():
    for name in ("release", "evaluation", "model_", "nothing"):
        with pytest.raises(AttributeError, match=f"no attribute '{name}'") as error:
            getattr(classifier(), name)
        assert type(error.value) is AttributeError
