"""The plan of a model: its event, its columns and its refusals, from public facts alone."""

from fractions import Fraction

import pytest

import discreet as dp
import draws as record
from discreet.accounting.filters import Budget
from discreet.catalog.catalog import Catalog
from discreet.planner import identity
from discreet.planner.budget.price import Price
from discreet.planner.queries.model import analyze_model
from discreet.query.frame import relation_of
from trainable import CLIP, CountEstimator, CountStep

T = dp.table("adult")
BUDGET = Budget(epsilon=2, delta=1e-9)
COLUMNS = {
    "id": {"type": "text"},
    "age": {"type": "integer", "bounds": (0, 90)},
    "sex": {"type": "text", "keys": ["F", "M"]},
    "employed": {"type": "boolean"},
    "income": {"type": "text", "keys": ["no", "yes"]},
}


def catalog(columns=None, **facts):
    known = {"privacy_unit": "id", "max_rows": 3, "population": 300} | facts
    return Catalog(tables={"adult": {"columns": COLUMNS | (columns or {}), **known}})


def planned(model=None, known=None, source=T, features=None, **words):
    price = words or {"epsilon": 1}
    return analyze_model(
        relation_of(source),
        known or catalog(),
        BUDGET,
        model=model or CountEstimator(),
        target="income",
        features=features,
        **price,
    )


class NoPeople:
    """Sums over nobody."""

    def sum(self, step):
        return __import__("numpy").zeros(step.length, dtype="int64")


def test_features_classes_and_size_come_from_the_catalog():
    plan = planned()
    assert plan.training.features == ("age", "sex", "employed")
    assert plan.training.size == 300
    assert plan.training.estimator.classes == ["no", "yes"]
    assert [feature.slots for feature in plan.training.declared.values()] == [33, 3, 3]
    assert plan.pushdown.columns_read == ("age", "employed", "id", "income", "sex")
    assert plan.unit_columns == ("discreet_unit_0",)


def test_a_model_takes_what_it_declares_and_the_query_names():
    own = {"age": dp.learning.log_bins(0, 90, 4)}
    assert planned(CountEstimator(features=own, size=7)).training.features == ("age",)
    assert planned(CountEstimator(features=own, size=7)).training.size == 7
    both = planned(CountEstimator(features=own), features=["sex", "age"]).training.declared
    assert {name: feature.slots for name, feature in both.items()} == {"sex": 3, "age": 5}


def test_where_each_row_is_a_unit_no_column_says_whose_it_is():
    plan = planned(known=catalog(privacy_unit="dp.ROW", max_rows=None, rows=500, population=None), features=["age"])
    assert plan.unit_columns == ()
    assert plan.training.size == 500


def test_missing_cells_of_features_are_not_said_to_be_left_out():
    assert planned().missing_cells.startswith("have a slot of their own")
    assert planned().missing_cells.endswith("rows without a target are left out")


def test_a_derived_column_with_bounds_is_a_feature():
    source = T.derive(old=dp.when(T.age > 64, 1).otherwise(0))
    assert planned(source=source, features=["old"]).training.features == ("old",)


@pytest.mark.parametrize(("neighbours", "sides"), [("add_remove", 1), ("replace_one", 2)])
@pytest.mark.draws("planner.queries.model.ModelPlan")
@pytest.mark.pitfall("B23")
def test_a_training_draws_the_noise_of_its_event_on_every_sum(draws, neighbours, sides):
    plan = planned(known=catalog(neighbours=neighbours))
    plan.randomize(NoPeople())
    leaves = record.additive(plan.event, [CountStep((33, 3, 3), 2).length] * 2)
    assert draws.calls == leaves
    assert plan.training.learner.schedule.sums[0].noise.squared_sensitivity == (sides * CLIP) ** 2
    assert Fraction(999, 1000) < plan.training.rho / plan.spending.amount <= 1
    assert plan.spending.amount == BUDGET.rho(1)


def test_a_training_without_noise_draws_nothing(draws):
    planned().combine(NoPeople())
    assert draws.calls == []


def test_a_share_of_a_batch_buys_a_share_of_the_rho():
    assert planned(epsilon=1, share=Fraction(1, 2)).training.rho <= BUDGET.rho(1) / 2


def test_a_training_that_would_cost_more_than_was_asked_for_is_not_planned(monkeypatch):
    honest = CountEstimator.learner
    monkeypatch.setattr(
        CountEstimator, "learner", lambda self, features, rho, **side: honest(self, features, 2 * rho, **side)
    )
    with pytest.raises(RuntimeError, match="larger cost"):
        planned(CountEstimator())


class LargestTarget(dp.learning.Ridge):
    """Targets over the largest of all rows: one person moves those of all others."""

    def target_steps(self, target):
        return target, target


class LargestCell(dp.learning.DeclaredFeature):
    """A feature that reads cells beside one another."""

    def encode(self, column):
        return column


def test_a_model_of_another_class_is_refused_where_no_query_checked_it():
    with pytest.raises(dp.Refusal, match=r"models of dp\.learning"):
        planned(LargestTarget(size=10))


def test_a_feature_of_another_class_is_refused_and_what_an_instance_hides_is_not_used():
    with pytest.raises(dp.Refusal, match="LargestCell"):
        planned(CountEstimator(features={"age": LargestCell("bins", (1.0,))}))
    hiding = dp.learning.edges([1])
    object.__setattr__(hiding, "encode", lambda _: None)
    (used,) = planned(CountEstimator(features={"age": hiding})).training.declared.values()
    assert used == hiding
    assert "encode" not in vars(used)


def test_the_fingerprint_has_a_tag_that_stays_when_a_class_is_renamed():
    plan = planned(dp.learning.NaiveBayes())
    assert plan.tag == "naive bayes"
    before = question_of(plan)
    dp.learning.NaiveBayes.__name__ = "BayesClassifier"
    try:
        assert question_of(planned(dp.learning.NaiveBayes())) == before
    finally:
        dp.learning.NaiveBayes.__name__ = "NaiveBayes"
    assert question_of(planned(dp.learning.LogisticRegression())) != before


def question_of(plan):
    return identity.model(relation_of(T), catalog(), BUDGET, Price(1), plan)


DATED = CountEstimator(features={"born": dp.learning.edges([1])})
NAMED = CountEstimator(features={"born": dp.learning.categories(["2000-01-01"])})
REFUSED = {
    "no bounds": (lambda: planned(known=catalog({"age": {"type": "integer"}})), "'age'.*bounds"),
    "no keys": (lambda: planned(known=catalog({"sex": {"type": "text"}})), "'sex'.*keys"),
    "no classes": (lambda: planned(known=catalog({"income": {"type": "text"}})), "classes"),
    "no size": (lambda: planned(known=catalog(population=None)), "size=30_000"),
    "unit": (lambda: planned(features=["id"]), "privacy unit 'id'"),
    "unknown": (lambda: planned(features=["aeg"]), "aeg"),
    "undeclared": (lambda: planned(CountEstimator(features={"aeg": dp.learning.edges([1])})), "'aeg'"),
    "bins of texts": (lambda: planned(CountEstimator(features={"sex": dp.learning.edges([1])})), "'sex'.*categories"),
    "bins of dates": (lambda: planned(DATED, catalog({"born": {"type": "date"}})), "'born'.*numbers"),
    "categories of dates": (lambda: planned(NAMED, catalog({"born": {"type": "date"}})), "'born'"),
    "regression of texts": (lambda: planned(dp.learning.Ridge(target_bounds=(0, 1))), "'income'.*numbers"),
    "endless": (lambda: planned(CountEstimator(steps=float("inf"))), "inf"),
    "no price": (lambda: planned(epsilon=None), "without epsilon or rho"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_public_is_refused_before_data(name):
    call, text = REFUSED[name]
    with pytest.raises(dp.Refusal, match=f"(?s){text}"):
        call()


def test_advice_names_the_features_that_can_be_read():
    with pytest.raises(dp.Refusal) as error:
        planned(known=catalog({"note": {"type": "text"}}))
    assert "features=['age', 'sex', 'employed']" in error.value.instead


def test_a_pure_budget_is_refused():
    with pytest.raises(dp.Refusal, match="delta"):
        analyze_model(
            relation_of(T),
            catalog(),
            Budget(epsilon=1),
            model=CountEstimator(),
            target="income",
            features=None,
            epsilon=1,
        )


def test_an_explanation_has_the_lines_of_the_model_card():
    labels = [label for label, _ in planned(CountEstimator(size=7)).details]
    assert labels[:4] == ["features", "declared size", "parameters", "training"]
    assert ("declared size", "7 people") in planned(CountEstimator(size=7)).details


def test_a_model_under_a_pure_budget_is_told_to_have_a_delta():
    with pytest.raises(dp.errors.BudgetError, match=r"delta=1e-9\) in dp\.protect") as refusal:
        analyze_model(
            relation_of(T), catalog(), dp.Budget(epsilon=1), model=CountEstimator(), target="income", features=None
        )
    assert "laplace" not in str(refusal.value)
