"""Logistic regression as an estimator: declared facts, charged fits, probabilities and files."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import discreet as dp
from discreet.learning.core.link import probabilities

FEATURES = {"age": dp.learning.linear_bins(0, 100, 10), "town": dp.learning.categories(["a", "b"])}


def account(epsilon=5):
    return dp.learning.BudgetAccount(dp.Budget(epsilon=epsilon, delta=1e-5))


def estimator(**changes):
    facts = {"features": FEATURES, "classes": ["no", "yes"], "size": 4_000, "budget": account()}
    return dp.learning.LogisticRegression(**facts | changes)


def rows(count=4_000, names=("no", "yes")):
    rng = np.random.default_rng(count)
    age, town = rng.uniform(0, 100, count), rng.integers(0, 2, count)
    label = np.minimum((age / 100 + town / 2 + rng.normal(0, 0.1, count)) / 1.5 * len(names), len(names) - 1)
    return pa.table({"age": age, "town": np.array(["a", "b"])[town]}), np.array(names)[np.maximum(label, 0).astype(int)]


def test_a_fit_is_charged_once_and_predicts():
    table, labels = rows()
    model = estimator().fit(table, labels)
    assert model.budget.charges == 1
    assert np.mean(model.predict(table) == labels) > 0.85
    assert "epsilon 5" in model.guarantee_


def test_three_classes_have_three_scores_and_the_link_of_the_clipped_loss():
    table, labels = rows(names=("low", "middle", "high"))
    model = estimator(classes=["low", "middle", "high"]).fit(table, labels)
    scores = model.decision_function(table)
    assert scores.shape == (4_000, 3)
    assert model.predict_proba(table) == pytest.approx(probabilities(scores))
    assert np.mean(model.predict(table) == labels) > 0.7


def test_a_model_comes_back_from_its_file(tmp_path):
    table, labels = rows()
    model = estimator().fit(table, labels)
    model.save(tmp_path / "model.json")
    loaded = dp.learning.load(tmp_path / "model.json")
    assert (loaded.predict_proba(table) == model.predict_proba(table)).all()
    assert list(loaded.model_.coefficients()["town"]) == ["missing", "a", "b"]


def test_it_stands_in_a_pipeline_and_clones_share_the_account():
    table, labels = rows(500)
    model = make_pipeline(estimator(epsilon=1))
    model.fit(table, labels)
    assert clone(model)[-1].budget is model[-1].budget


@pytest.mark.parametrize("iterations", [0, 10_001, 2.5])
def test_iterations_outside_their_range_are_refused_before_a_charge(iterations):
    table, labels = rows(100)
    model = estimator(iterations=iterations)
    with pytest.raises(dp.errors.ParameterError, match="iterations"):
        model.fit(table, labels)
    assert not model.budget.charges


def test_iterations_are_the_number_of_gradient_sums():
    learner = estimator(iterations=7).learner(FEATURES, Fraction(1), replace_one=False)
    assert len(learner.schedule.sums) == 8
