"""Variants without noise say so, are not charged, and pass the checks of scikit-learn."""

import numpy as np
import pandas as pd
import pytest

import discreet as dp
from discreet.learning.testing import STAMP, noiseless
from learning.checks import unexpected
from learning.test_estimator import account, classifier, regressor, table
from learning.tiny import SlotClassifier, SlotRegressor

DECLARED = dp.learning.linear_bins(-4, 4, 64)


@pytest.mark.parametrize(
    "make",
    [
        SlotClassifier,
        SlotRegressor,
        lambda: SlotClassifier(features=DECLARED),
        lambda: SlotRegressor(features=DECLARED),
    ],
    ids=["classifier", "regressor", "declared classifier", "declared regressor"],
)
def test_the_checks_of_scikit_learn_pass(make):
    assert unexpected(make()) == []


def test_a_variant_is_stamped_and_not_charged():
    budget = account()
    x, y = table(100)
    model = noiseless(classifier(budget=budget)).fit(x, y)
    assert model.guarantee_ == STAMP
    assert "NOT PRIVATE" in repr(model)
    assert "NotPrivate" in model._repr_html_()
    assert budget.charges == 0
    assert noiseless(model) is model
    with pytest.raises(dp.errors.UnsupportedError, match="NOT PRIVATE"):
        model.save("model.json")


def test_a_variant_trains_without_noise():
    x, y = table(100)
    one, two = (noiseless(classifier()).fit(x, y) for _ in range(2))
    assert (one.decision_function(x) == two.decision_function(x)).all()


def test_a_variant_of_a_scaler_needs_no_target():
    scaler = dp.learning.StandardScaler(features={"age": dp.learning.linear_bins(0, 100)})
    model = noiseless(scaler).fit(pd.DataFrame({"age": [10.0, 20.0]}))
    assert model.model_.means[0] == pytest.approx(15, abs=100 / 64)


def test_declared_facts_are_those_of_the_estimator():
    x, y = table(100)
    model = noiseless(classifier(classes=["yes", "no", "maybe"], size=7)).fit(x, y)
    assert model.classes_.tolist() == ["yes", "no", "maybe"]
    assert model.declared_size() == 7
    assert noiseless(regressor()).fit(x, x["age"]).declared_bounds() == (0, 100)


def test_undeclared_facts_come_from_rows():
    x, y = table(100)
    model = noiseless(SlotClassifier()).fit(x, y)
    assert model.classes_.tolist() == ["no", "yes"]
    assert [each.kind for each in model.features_.values()] == ["bins", "categories"]
    assert noiseless(SlotRegressor()).fit(np.ones((3, 1)), [5, 5, 5]).predict([[1]]) == pytest.approx(5)


def test_a_session_refuses_a_variant_before_a_charge():
    people, budget = dp.datasets.people(50), dp.Budget(epsilon=2, delta=1e-9)
    bounds = {"hours_per_week": dp.learning.linear_bins(0, 100)}
    model = noiseless(dp.learning.Ridge(features=bounds, target_bounds=(0, 200_000), size=50))
    with dp.testing.protect(people, name="people", privacy_unit=dp.ROW, budget=budget) as session:
        left = float(session.remaining())
        with pytest.raises(dp.errors.Refusal, match="NotPrivateRidge"):
            session.release(dp.table("people").fit(model, target="income"), epsilon=1)
        assert float(session.remaining()) == left
    with pytest.raises(dp.errors.UnsupportedError, match="NOT PRIVATE"):
        model.training(None)


def test_only_estimators_of_discreet_have_variants():
    with pytest.raises(dp.errors.ParameterError, match="str"):
        noiseless("model")
