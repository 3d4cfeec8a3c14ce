"""A search is charged once and never more than its epsilon; the number of runs and the other runs are not seen."""

import json
from fractions import Fraction

import numpy as np
import pytest

import discreet as dp
from discreet import events
from discreet.accounting.renyi import divergence_over_order
from discreet.errors import BudgetError, Failure, ParameterError
from discreet.exact.zcdp import conversion_order
from discreet.learning.evaluation.search import gamma_of, require_cost, run_rho
from discreet.samplers import repetitions
from learning.tiny import SlotClassifier, SlotRegressor

GENERATOR = np.random.default_rng(91)
FEATURES = {"a": dp.learning.linear_bins(0, 1, 8), "b": dp.learning.linear_bins(0, 1, 8)}
USELESS = {"a": dp.learning.linear_bins(5, 6, 8), "b": dp.learning.linear_bins(5, 6, 8)}
CANDIDATES = [{"rate": 0.5}, {"rate": 1.0}, {"rate": 2.0}]


def account(epsilon=1, total=None):
    return dp.learning.BudgetAccount(dp.Budget(epsilon=total or epsilon, delta=1e-5))


def rows_of(number):
    values = GENERATOR.random((number, 2))
    return values, (values.sum(axis=1) + GENERATOR.normal(0, 0.2, number) > 1).astype(int)


def classifier(**more):
    return SlotClassifier(**({"features": FEATURES, "classes": [0, 1], "size": 4000, "budget": account()} | more))


@pytest.mark.guarantee("learning.evaluation.search")
@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
@pytest.mark.parametrize(("epsilon", "whole"), [(1, 1), (0.5, 2)])
def test_a_search_is_charged_once_and_at_most_its_epsilon(neighbours, epsilon, whole):
    budget = account(whole)
    model = classifier(budget=budget, neighbours=neighbours)
    found = dp.learning.search(model, CANDIDATES, *rows_of(300), epsilon=epsilon)
    assert budget.charges == 1
    amount = budget.budget.rho(epsilon)
    for order in (budget.budget.order, conversion_order(Fraction(str(epsilon)), budget.budget.conversion_delta)):
        assert divergence_over_order(found.event, order) <= amount
    assert budget.budget.cost(found.event).renyi <= amount * 10**15
    if epsilon == whole:
        with pytest.raises(BudgetError):
            dp.learning.search(model, CANDIDATES, *rows_of(300), epsilon=0.1)


@pytest.mark.guarantee("learning.evaluation.search")
def test_the_run_that_is_charged_is_the_run_that_is_made(monkeypatch):
    costs = []
    original = SlotClassifier.learner

    def learner(self, features, rho, *, replace_one):
        costs.append(rho)
        return original(self, features, rho, replace_one=replace_one)

    monkeypatch.setattr(SlotClassifier, "learner", learner)
    found = dp.learning.search(classifier(), CANDIDATES, *rows_of(300))
    assert {found.event.event.rho} == set(costs)
    assert 1 / (2 * found.table.sigma**2) <= found.event.event.rho
    assert 1 / (2 * found.table.sigma**2) == pytest.approx(float(found.event.event.rho), rel=1e-3)


@pytest.mark.guarantee("learning.evaluation.search")
@pytest.mark.parametrize("runs", [1, 6])
def test_the_number_of_runs_is_not_seen(monkeypatch, runs):
    fits = []
    original = SlotClassifier._train

    def train(self, learner, blocks):
        fits.append(self)
        return original(self, learner, blocks)

    monkeypatch.setattr(SlotClassifier, "_train", train)
    monkeypatch.setattr(repetitions, "negative_binomial", lambda *_: runs)
    budget = account()
    found = dp.learning.search(classifier(budget=budget), CANDIDATES, *rows_of(300), runs=5)
    assert len(fits) == runs
    assert budget.charges == 1
    assert set(found.to_json()) == {"figures", "event", "guarantee", "parameters", "is_biased_upwards"}
    assert set(vars(found)) == {"model", "parameters", "figures", "table", "event", "guarantee"}
    assert found.event == dp.learning.search(classifier(), CANDIDATES, *rows_of(300), runs=5).event


def test_the_better_candidate_is_found(monkeypatch):
    monkeypatch.setattr(repetitions, "negative_binomial", lambda *_: 25)  # both are tried but once in 2^24
    model = classifier(budget=account(3))
    found = dp.learning.search(model, [{"features": USELESS}, {"features": FEATURES}], *rows_of(20_000))
    assert found.parameters["features"] is FEATURES
    assert found.figures["auc"].value > 0.8
    assert found.model.features_ == FEATURES
    assert found.model.predict(rows_of(7)[0]).shape == (7,)


def test_a_regression_is_chosen_by_the_smaller_error(monkeypatch):
    monkeypatch.setattr(repetitions, "negative_binomial", lambda *_: 25)
    rows, _ = rows_of(20_000)
    model = SlotRegressor(features=FEATURES, target_bounds=(0, 2), size=20_000, budget=account(3))
    found = dp.learning.search(model, [{"features": USELESS}, {"features": FEATURES}], rows, rows.sum(axis=1))
    assert found.parameters["features"] is FEATURES


def test_results_are_text_and_plain_data():
    found = dp.learning.search(classifier(), CANDIDATES, *rows_of(300), metric="accuracy")
    data = json.loads(json.dumps(found.to_json()))
    assert dp.events.from_json(data["event"]) == found.event
    assert "biased upwards" in str(found)
    assert found.model.guarantee_ == found.guarantee


def test_an_error_after_the_charge_is_one_sentence(monkeypatch):
    def fail(*_):
        raise ValueError("alice")

    budget = account()
    monkeypatch.setattr(SlotClassifier, "target_steps", fail)
    with pytest.raises(Failure) as caught:
        dp.learning.search(classifier(budget=budget), CANDIDATES, *rows_of(30))
    assert "alice" not in str(caught.value)
    assert budget.charges == 1


@pytest.mark.parametrize(
    ("candidates", "arguments"),
    [
        ([], {}),
        ({"rate": 1}, {}),
        ([3], {}),
        ([{"epsilon": 3}], {}),
        ([{"depth": 3}], {}),
        ([{"classes": [1, 2]}], {}),
        (CANDIDATES, {"metric": "f1"}),
        (CANDIDATES, {"runs": 1}),
        (CANDIDATES, {"runs": 10**6}),
        (CANDIDATES, {"eta": -1}),
        (CANDIDATES, {"holdout": 2}),
    ],
)
def test_what_cannot_be_searched_is_refused_before_a_charge(candidates, arguments):
    budget = account()
    with pytest.raises(ParameterError):
        dp.learning.search(classifier(budget=budget), candidates, *rows_of(30), **arguments)
    assert budget.charges == 0


def test_more_runs_than_epsilon_pays_for_are_refused():
    budget = account(10)
    with pytest.raises(BudgetError, match="runs"):
        dp.learning.search(classifier(budget=budget), CANDIDATES, *rows_of(30), epsilon=0.001, runs=10_000)
    assert budget.charges == 0


def test_a_run_that_costs_more_than_planned_is_an_error_of_the_program():
    require_cost(events.ConcentratedEvent(Fraction(1, 50)), Fraction(1, 50))
    with pytest.raises(RuntimeError, match="a larger cost than planned"):
        require_cost(events.ConcentratedEvent(Fraction(1, 49)), Fraction(1, 50))


@pytest.mark.parametrize("eta", [Fraction(0), Fraction(1), Fraction(1, 2), Fraction(-1, 2)])
def test_the_mean_number_of_runs_is_the_one_asked_for(eta):
    gamma, weight, weights = gamma_of(eta, 20), 1.0, []
    for number in range(1, 200_000):  # weights of the law: each is the one before times (1 - gamma)(k + eta)/(k + 1)
        weights.append(weight)
        weight *= float(1 - gamma) * (number + float(eta)) / (number + 1)
    mean = sum(number * weight for number, weight in enumerate(weights, 1)) / sum(weights)
    assert mean == pytest.approx(20, rel=1e-3)
    if eta == 1:
        assert gamma == Fraction(1, 20)


def test_a_run_has_a_smaller_part_of_the_cost_the_more_runs_there_are():
    budget = dp.Budget(epsilon=1, delta=1e-5)
    orders = (budget.order,)
    shares = [
        float(run_rho(orders, budget.rho(1), Fraction(0), gamma_of(Fraction(0), runs)) / budget.rho(1))
        for runs in (2, 20)
    ]
    assert 0.1 < shares[1] < shares[0] < 1
