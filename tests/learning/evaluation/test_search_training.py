"""A search in a session: its cost is bounded where it is stated, candidates read the same codes, the best is kept."""

from fractions import Fraction

import pyarrow as pa
import pytest

import discreet as dp
from discreet import events
from discreet.accounting.prices import total
from discreet.accounting.renyi import divergence_over_order
from discreet.catalog.catalog import Column
from discreet.engines.sql.model_rows import encode_block
from discreet.learning.core.question import SessionTraining
from discreet.learning.evaluation.figures import table_from_json
from discreet.learning.evaluation.search import ModelSearch
from discreet.learning.evaluation.search_training import SearchTraining, search_training
from discreet.plan.models import ModelFacts, SearchOptions, holdout_of

AGE, INCOME = Column(type="integer", bounds=(0, 90)), Column(type="text", keys=["no", "yes"])
ORDERS = (Fraction(12), Fraction(30))
RHO = Fraction(1, 50)
CANDIDATES = ({"smoothing": 10**6}, {"smoothing": 1})
HOLDOUT = holdout_of(Fraction(1, 5), "adult")


def training(candidates=CANDIDATES, orders=ORDERS, model=None, metric=None, runs=None, **changes):
    known = {"target": "income", "columns": {"age": AGE}, "target_column": INCOME, "has_feature_list": False}
    facts = ModelFacts(**known | {"size": 100, "rho": RHO, "replace_one": False} | changes)
    search = SearchOptions(candidates, metric, runs, Fraction(0))
    return search_training(model or dp.learning.NaiveBayes(), facts, HOLDOUT, search, orders)


def people(plan, number=400):
    ages = [i % 90 for i in range(number)]
    columns = {"unit": [f"p{i}" for i in range(number)], "age": pa.array(ages, pa.int64())}
    table = pa.table(columns | {"income": ["yes" if age > 40 else "no" for age in ages]})
    return plan.people([encode_block(plan, ("unit",), {}, table)])


@pytest.mark.guarantee("learning.evaluation.search")
@pytest.mark.parametrize("replace_one", [False, True])
def test_the_cost_of_a_search_is_bounded_at_the_orders_of_its_epsilon(replace_one):
    plan = training(replace_one=replace_one)
    assert isinstance(plan.event, events.RepeatedSelectionEvent)
    assert RHO * 9 / 10 < plan.rho == max(divergence_over_order(plan.event, order) for order in ORDERS) <= RHO
    for trial in plan.trials:
        assert total(trial.event).rho <= plan.event.event.rho


@pytest.mark.guarantee("learning.evaluation.search")
def test_a_search_that_was_asked_for_by_rho_has_it_at_every_order():
    plan = training(orders=())
    assert plan.rho == total(plan.event).rho <= RHO
    assert all(divergence_over_order(plan.event, Fraction(order)) <= RHO for order in (2, 5, 40, 500))


def test_without_noise_every_candidate_has_one_run_and_the_best_is_restored(monkeypatch):
    plan, runs, quality = training(), [], SearchTraining._quality
    monkeypatch.setattr(SearchTraining, "_quality", lambda plan, run: runs.append(run) or quality(plan, run))
    state = plan.train(people(plan), is_private=False)
    fitted = plan.restore(state, "the guarantee")
    scores = [table_from_json(run.measured).auc.value for run in runs]
    assert [run.candidate for run in runs] == [0, 1]
    assert scores[0] < scores[1] == fitted.evaluation.figures["auc"].value
    assert state["search"] == {"candidate": 1, "parameters": CANDIDATES[1]}
    assert fitted.smoothing == 1
    assert isinstance(fitted.evaluation, ModelSearch)
    assert fitted.evaluation.parameters == state["search"]["parameters"]
    assert fitted.evaluation.figures["auc"].value > 0.9
    assert fitted.event_ == plan.event
    card = dict(plan.card(state))
    assert card["held out"] == dict(plan.trials[0].words)["held out"]
    assert card["chosen"] == str(state["search"]["parameters"])
    assert "2 on average, by auc" in card["search"]
    assert "95% interval" in card["auc"]


def test_the_score_decides_which_candidate_is_released(monkeypatch):
    plan = training(metric="accuracy")
    monkeypatch.setattr(type(plan), "_quality", lambda _, run: -run.candidate)
    assert plan.train(people(plan), is_private=False)["search"]["candidate"] == 0
    monkeypatch.setattr(type(plan), "_quality", lambda _, run: run.candidate)
    assert plan.train(people(plan), is_private=False)["search"]["candidate"] == 1


def test_a_regression_is_chosen_by_its_error():
    income = Column(type="integer", bounds=(0, 10))
    plan = training([{"alpha": 1}, {"alpha": 9}], model=dp.learning.Ridge(), target_column=income)
    assert plan.metric == "mean_squared_error"
    assert "mean_squared_error" in dict(plan.words)["search"]


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"candidates": ({"features": {}}, {})}, "features=... in the model, not in a candidate"),
        ({"candidates": ({"size": 3}, {})}, "size=... in the model, not in a candidate"),
        ({"candidates": ({"epsilon": 3}, {})}, "epsilon"),
        ({"candidates": ({"depth": 3}, {})}, "depth"),
        ({"metric": "f1"}, "metric"),
        ({"runs": 1}, "runs"),
        ({"model": dp.learning.StandardScaler()}, "classifiers and regressors"),
        ({"rho": Fraction(1, 10**13)}, "number of runs"),
    ],
)
def test_searches_that_cannot_be_made_are_refused(changes, match):
    with pytest.raises(dp.Refusal, match=match):
        training(**changes)


def test_what_is_not_covered_and_where_sums_are_is_that_of_the_candidates(monkeypatch):
    plan = training()
    assert (plan.caveat, plan.own_epsilon, plan.has_sums_in_cluster) == ("", "", True)
    monkeypatch.setattr(SessionTraining, "caveat", property(lambda _: "Floats."))
    monkeypatch.setattr(SessionTraining, "has_sums_in_cluster", property(lambda _: False))
    assert (plan.caveat, plan.has_sums_in_cluster) == ("Floats.", False)
