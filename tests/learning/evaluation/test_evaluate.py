"""Evaluations are charged whole before a cell is read, and cost what their fits and scores compose to."""

import json
from fractions import Fraction

import numpy as np
import pytest
from sklearn.metrics import accuracy_score

import discreet as dp
from discreet.accounting.prices import total
from discreet.errors import BudgetError, Failure, ParameterError
from discreet.learning.evaluation.evaluate import base_class_of, figures_of
from discreet.learning.evaluation.figures import ErrorTable
from learning.tiny import SlotClassifier, SlotRegressor

GENERATOR = np.random.default_rng(90)
FEATURES = {"a": dp.learning.linear_bins(0, 1, 8), "b": dp.learning.linear_bins(0, 1, 8)}


def account(epsilon=1):
    return dp.learning.BudgetAccount(dp.Budget(epsilon=epsilon, delta=1e-5))


def rows_of(number):
    values = GENERATOR.random((number, 2))
    return values, (values.sum(axis=1) + GENERATOR.normal(0, 0.2, number) > 1).astype(int)


def classifier(**more):
    return SlotClassifier(**({"features": FEATURES, "classes": [0, 1], "size": 4000, "budget": account()} | more))


@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
def test_a_cost_is_stated_by_epsilon_or_by_rho(neighbours):
    model, rows = classifier(neighbours=neighbours, epsilon=0.5, budget=account(3)), rows_of(300)
    candidates = [{"rate": 0.5}, {"rate": 1.0}]
    found = dp.learning.evaluate(model, *rows, rho=0.01), dp.learning.cross_validate(model, *rows, rho=0.01, folds=2)
    assert all(Fraction(99, 10**4) < total(each.event).rho <= Fraction(1, 100) for each in found)
    best = dp.learning.search(model, candidates, *rows, rho=0.01)
    assert best.guarantee.split(",")[0] == found[0].guarantee.split(",")[0]
    assert model.budget.budget.cost(best.event).renyi <= 10**13
    for call in (dp.learning.evaluate, dp.learning.cross_validate):
        with pytest.raises(ParameterError, match="both"):
            call(model, *rows, rho=0.01, epsilon=1)


def test_a_model_that_is_not_fitted_is_fitted_to_some_people_and_scored_on_the_others():
    model = classifier()
    found = dp.learning.evaluate(model, *rows_of(4000))
    assert found.figures["auc"].value > 0.8
    assert 500 < found.figures["weight"].value < 1100
    assert not hasattr(model, "model_")
    assert found.model.predict(rows_of(9)[0]).shape == (9,)
    assert found.model.guarantee_ == found.guarantee


@pytest.mark.guarantee("learning.evaluation.holdout")
@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
def test_the_whole_budget_pays_one_evaluation_and_no_more(neighbours):
    budget = account()
    model = classifier(budget=budget, neighbours=neighbours)
    found = dp.learning.evaluate(model, *rows_of(300))
    assert budget.charges == 1
    cap = budget.budget.rho(1)
    assert 0.99 * cap < total(found.event).rho <= cap
    with pytest.raises(BudgetError):
        dp.learning.evaluate(model, *rows_of(300), epsilon=0.1)


def test_fit_and_score_have_the_whole_rho_each_where_people_are_added_or_removed():
    found = dp.learning.evaluate(classifier(), *rows_of(300))
    sigma = found.table.sigma
    assert 1 / (2 * sigma**2) == pytest.approx(float(total(found.event).rho), rel=1e-3)


def test_a_fitted_model_is_scored_on_all_rows_for_its_score_alone():
    budget, (rows, labels) = account(3), rows_of(3000)
    model = classifier(budget=budget, epsilon=1).fit(rows, labels)
    found = dp.learning.evaluate(model, rows, labels, budget=budget, epsilon=1)
    assert budget.charges == 2
    assert found.model is model
    low, high = found.figures["weight"][1:]
    assert low - 200 < 3000 < high + 200
    assert abs(found.figures["accuracy"].value - accuracy_score(labels, model.predict(rows))) < 0.2


def test_people_with_several_rows_are_on_one_side():
    rows, labels = rows_of(2000)
    found = dp.learning.evaluate(classifier(epsilon=1), rows, labels, np.arange(2000) // 4, max_rows=4)
    assert "person" in found.guarantee
    assert found.table.sigma == pytest.approx(
        4 * dp.learning.evaluate(classifier(), rows, labels).table.sigma, rel=0.01
    )


def test_a_regression_has_a_mean_squared_error():
    rows, _ = rows_of(3000)
    model = SlotRegressor(features=FEATURES, target_bounds=(0, 2), size=3000, budget=account(3))
    found = dp.learning.evaluate(model, rows, rows.sum(axis=1))
    error = found.figures["mean_squared_error"]
    assert 0 <= error.low <= error.value <= error.high <= 0.25
    assert found.figures["root_mean_squared_error"].value == pytest.approx(error.value**0.5)


@pytest.mark.guarantee("learning.evaluation.holdout")
@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
def test_the_whole_budget_pays_one_cross_validation(neighbours):
    budget = account()
    found = dp.learning.cross_validate(classifier(budget=budget, neighbours=neighbours), *rows_of(900), folds=3)
    assert len(found.folds) == 3
    assert budget.charges == 1
    cap = budget.budget.rho(1)
    assert 0.99 * cap < total(found.event).rho <= cap
    assert found.figures["auc"].value == pytest.approx(sum(fold["auc"].value for fold in found.folds) / 3)
    with pytest.raises(BudgetError):
        dp.learning.cross_validate(classifier(budget=budget), *rows_of(300), epsilon=0.1)


def test_nothing_is_read_where_the_account_is_spent(monkeypatch):
    def fail(*_):
        raise AssertionError("a cell was read")

    budget = account()
    budget.charge(dp.events.ConcentratedEvent(budget.budget.rho(1)))
    monkeypatch.setattr("discreet.learning.estimator.encode_table", fail)
    monkeypatch.setattr(SlotClassifier, "target_steps", fail)
    with pytest.raises(BudgetError):
        dp.learning.evaluate(classifier(budget=budget), *rows_of(30))


def test_an_error_after_the_charge_is_one_sentence(monkeypatch):
    def fail(*_):
        raise ValueError("alice")

    budget = account()
    monkeypatch.setattr(SlotClassifier, "target_steps", fail)
    for run in (dp.learning.evaluate, dp.learning.cross_validate):
        with pytest.raises(Failure) as caught:
            run(classifier(budget=budget), *rows_of(30), epsilon=0.1)
        assert "alice" not in str(caught.value)
    assert budget.charges == 2


def test_results_are_text_and_plain_data():
    for found in (
        dp.learning.evaluate(classifier(), *rows_of(300)),
        dp.learning.cross_validate(classifier(), *rows_of(300), folds=2),
    ):
        data = json.loads(json.dumps(found.to_json()))
        assert data["figures"]["auc"]["value"] == found.figures["auc"].value
        assert dp.events.from_json(data["event"]) == found.event
        assert "auc" in found.text
        assert ") of " in found.text
        assert found.guarantee in str(found)


@pytest.mark.parametrize(
    ("run", "arguments"),
    [
        (dp.learning.evaluate, {"holdout": 1}),
        (dp.learning.evaluate, {"bins": 3}),
        (dp.learning.cross_validate, {"folds": 1}),
        (dp.learning.cross_validate, {"folds": 1000}),
    ],
)
def test_arguments_outside_their_range_are_refused_before_a_charge(run, arguments):
    budget = account()
    with pytest.raises(ParameterError):
        run(classifier(budget=budget), *rows_of(30), **arguments)
    assert budget.charges == 0


def test_other_models_are_refused():
    with pytest.raises(ParameterError, match="evaluation of a dict"):
        dp.learning.evaluate({}, *rows_of(30), budget=account())


def test_the_base_rate_is_that_of_the_second_of_two_classes_or_the_first_of_several():
    assert base_class_of(dp.learning.NaiveBayes(classes=["no", "yes"])) == "yes"
    assert base_class_of(dp.learning.NaiveBayes(classes=[np.int64(3), 4, 5])) == 3
    assert base_class_of(dp.learning.Ridge()) is None


def test_figures_of_errors_have_their_names():
    assert set(figures_of(ErrorTable(10, 1, 1.0, 0.1))) == {"mean_squared_error", "root_mean_squared_error"}
