"""Classifiers predict declared labels and probabilities."""

import numpy as np
import pytest

from learning.test_estimator import classifier, table


def test_a_fitted_classifier_predicts_labels_and_probabilities():
    x, y = table()
    model = classifier().fit(x, y)
    assert model.score(x, y) > 0.85
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.predict_proba(x).sum(axis=1) == pytest.approx(1)
    assert (model.predict(x) == np.where(model.decision_function(x) > 0, "yes", "no")).all()
    assert model.n_features_in_ == 2
    assert model.feature_names_in_.tolist() == ["age", "ward"]


def test_three_classes_have_a_score_each():
    x, _ = table()
    y = np.digitize(x["age"], [33, 66])
    model = classifier(classes=[0, 1, 2]).fit(x, y)
    assert model.decision_function(x).shape == (2_000, 3)
    assert model.score(x, y) > 0.8


def test_labels_of_several_types_are_predicted_as_declared():
    x, y = table(500)
    model = classifier(classes=["no", 1]).fit(x, ["no" if each == "no" else 1 for each in y])
    assert {type(label) for label in model.predict(x)} == {str, int}
