"""Naive Bayes as an estimator."""

import numpy as np
import pandas as pd
import pytest

import discreet as dp
from discreet.errors import BudgetError, ParameterError

FEATURES = {"x": dp.learning.linear_bins(-3, 3, 16), "kind": dp.learning.categories(["a", "b"])}


def account(epsilon=1):
    return dp.learning.BudgetAccount(dp.Budget(epsilon=epsilon, delta=1e-6))


def table(count, generator, classes=2):
    label = generator.integers(0, classes, count)
    kind = np.where(generator.uniform(size=count) < 0.2 + 0.6 * (label > 0), "a", "b")
    return pd.DataFrame({"x": generator.normal(label - 0.5, 1), "kind": kind}), label


@pytest.mark.parametrize("classes", [2, 3])
def test_classes_are_learned_with_noise(classes):
    frame, label = table(20_000, np.random.default_rng(classes), classes)
    model = dp.learning.NaiveBayes(features=FEATURES, classes=range(classes), budget=account()).fit(frame, label)
    assert model.score(frame, label) > {2: 0.75, 3: 0.55}[classes]
    shares = model.predict_proba(frame)
    assert np.allclose(shares.sum(axis=1), 1)
    assert np.abs(shares[:, -1].mean() - (label == classes - 1).mean()) < 0.05


def test_a_fit_is_charged_once_and_a_spent_account_refuses_the_next(tmp_path):
    frame, label = table(300, np.random.default_rng(4))
    model = dp.learning.NaiveBayes(features=FEATURES, classes=[0, 1], budget=account()).fit(frame, label)
    model.save(tmp_path / "model.json")
    assert np.array_equal(dp.learning.load(tmp_path / "model.json").predict(frame), model.predict(frame))
    with pytest.raises(BudgetError):
        model.fit(frame, label)


@pytest.mark.parametrize("words", [{"classes": [0]}, {"smoothing": 0}, {"features": None}])
def test_what_is_not_declared_is_refused_before_a_charge(words):
    frame, label = table(20, np.random.default_rng(5))
    given = {"features": FEATURES, "classes": [0, 1], "budget": account()} | words
    with pytest.raises(ParameterError):
        dp.learning.NaiveBayes(**given).fit(frame, label)
    assert given["budget"].charges == 0
