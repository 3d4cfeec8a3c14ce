"""A model and its score in a session: a person is in one part, whose sums move by the clip; one event for both."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet import events
from discreet.accounting.prices import total
from discreet.catalog.catalog import Column
from discreet.engines.sql.model_rows import encode_block
from discreet.learning.core.question import SessionTraining
from discreet.learning.evaluation.figures import table_from_json
from discreet.learning.evaluation.held_out import PartStep, add_packed_part, held_out_training
from discreet.learning.evaluation.scores import score_edges
from discreet.plan.models import ModelFacts, holdout_of
from trainable import CLIP, CountStep

AGE, INCOME = Column(type="integer", bounds=(0, 90)), Column(type="text", keys=["no", "yes"])
STEP = CountStep((33,), 2)
RHO = Fraction(1, 50)


def facts(**changes):
    known = {"target": "income", "columns": {"age": AGE}, "target_column": INCOME, "has_feature_list": False}
    return ModelFacts(**known | {"size": 100, "rho": RHO, "replace_one": False} | changes)


def training(model=None, share=Fraction(1, 2), **changes):
    return held_out_training(model or dp.learning.NaiveBayes(), facts(**changes), holdout_of(share, "adult"))


def rows(people, ages=None):
    number = len(people)
    ages = [33] * number if ages is None else ages
    columns = {"unit": people, "age": pa.array(ages, pa.int64()), "income": pa.array(["yes"] * number)}
    return pa.table(columns)


def sums(plan, table, unit_columns=("unit",)):
    table = table if unit_columns else table.drop_columns(["unit"])
    people = plan.people([encode_block(plan, unit_columns, {}, table)])
    return [people.sum(PartStep(STEP, is_test=is_test)) for is_test in (False, True)]


PEOPLE = [f"p{i}" for i in range(40)]


@pytest.mark.guarantee("learning.evaluation.holdout")
@pytest.mark.parametrize("rows_of_one", [1, 2, 50])
def test_one_person_moves_one_part_by_at_most_the_clip(rows_of_one):
    plan, sides = training(), set()
    without = sums(plan, rows(PEOPLE))
    for name in (f"new {i}" for i in range(20)):
        here = sums(plan, rows([*PEOPLE, *[name] * rows_of_one]))
        moved = [int(np.square(one - other).sum()) for one, other in zip(here, without, strict=True)]
        assert min(moved) == 0
        assert max(moved) == min(100 * rows_of_one, CLIP) ** 2
        sides.add(moved[0] > 0)
    assert sides == {True, False}


@pytest.mark.guarantee("learning.evaluation.holdout")
def test_a_row_that_is_a_person_moves_one_part_also_beside_equal_rows():
    plan, ages = training(), [i % 7 for i in range(60)]
    without, sides = sums(plan, rows(PEOPLE + PEOPLE[:20], ages), ()), set()
    for age in range(14):
        here = sums(plan, rows([*PEOPLE, *PEOPLE[:20], "x"], [age, *ages]), ())
        moved = [int(np.square(one - other).sum()) for one, other in zip(here, without, strict=True)]
        assert sorted(moved) == [0, 100**2]
        sides.add(moved[0] > 0)
    assert sides == {True, False}


@pytest.mark.guarantee("learning.evaluation.holdout")
@pytest.mark.parametrize("rows_of_one", [1, 2, 50])
def test_a_replaced_person_moves_each_part_by_at_most_twice_the_clip(rows_of_one):
    plan = training(replace_one=True)
    before = sums(plan, rows([*PEOPLE, *["one"] * rows_of_one]))
    for name in (f"new {i}" for i in range(10)):
        after = sums(plan, rows([*PEOPLE, *[name] * rows_of_one], [*[33] * 40, *[80] * rows_of_one]))
        assert all(np.square(a - b).sum() <= (2 * CLIP) ** 2 for a, b in zip(after, before, strict=True))


@pytest.mark.parametrize("unit_columns", [("unit",), ()])
def test_parts_do_not_depend_on_the_order_of_rows(unit_columns):
    plan, names, ages = training(), [f"p{i // 3}" for i in range(60)], [i % 5 for i in range(60)]
    order = np.random.default_rng(89).permutation(60)
    here, there = rows(names, ages), rows(names, ages).take(pa.array(order))
    pairs = zip(sums(plan, here, unit_columns), sums(plan, there, unit_columns), strict=True)
    assert all((one == other).all() for one, other in pairs)


def test_people_are_told_apart_by_all_columns_of_the_unit_and_missing_ones_are_one():
    plan = training()
    table = rows(["a"] * 40, [1] * 40).append_column("part", pa.array([*range(38), None, None], pa.int64()))
    block = encode_block(plan, ("unit", "part"), {}, table)
    assert len(block.train) + len(block.test) == 40
    assert min(len(block.train), len(block.test)) > 5
    assert block.train.people + block.test.people == 39


def test_packed_parts_add_up_to_the_same_integers():
    plan = training()
    blocks = [encode_block(plan, ("unit",), {}, rows([f"{name}{i}" for i in range(30)])) for name in "ab"]
    for is_test in (False, True):
        step = PartStep(STEP, is_test=is_test)
        packed = add_packed_part(step, [plan.pack(block) for block in blocks])
        assert (packed == plan.people(blocks).sum(step)).all()
        assert packed.any()
        assert step.length == STEP.length


def test_fit_and_score_are_one_event_of_the_larger_cost_or_of_the_sum():
    together = training()
    assert isinstance(together.event, events.ConcentratedEvent)
    assert RHO * 99 / 100 < max(together.fit.rho, together.score_schedule.rho) == together.rho <= RHO
    replaced = training(replace_one=True)
    assert total(replaced.event).rho == replaced.fit.rho + replaced.score_schedule.rho <= RHO
    assert abs(float(replaced.score_schedule.rho / RHO) - 0.25) < 0.01


def test_a_restored_model_has_its_evaluation_and_card():
    plan = training(share=Fraction(1, 5))
    names, ages = [f"p{i}" for i in range(300)], [i % 90 for i in range(300)]
    table = rows(names, ages).set_column(2, "income", [["yes" if age > 40 else "no" for age in ages]])
    people = plan.people([encode_block(plan, ("unit",), {}, table)])
    state = plan.train(people, is_private=False)
    assert state["event"] == events.to_json(plan.event)
    fitted = plan.restore(state, "the guarantee")
    found = fitted.evaluation
    assert 30 < found.figures["weight"].value == table_from_json(state["evaluation"]).weight.value < 90
    assert found.figures["auc"].value > 0.9
    assert found.model is fitted
    assert (found.guarantee, found.event) == ("the guarantee", plan.event)
    card = dict(plan.card(state))
    assert card["held out"].startswith("20% of people, by a keyed hash of their names; of their codes where rows are")
    assert "95% interval" in card["auc"]
    assert card["base rate"].endswith(") of 'yes', 95% interval")
    assert ("base_rate", "share of 'yes'") in [figure[:2] for figure in plan.planned_figures(Fraction(19, 20))]
    assert card["weight"].split(" (")[0] == str(round(found.figures["weight"].value))


def test_a_regression_is_scored_by_its_errors():
    bounds = Column(type="integer", bounds=(0, 10))
    model = dp.learning.Ridge()
    plan = held_out_training(model, facts(target_column=bounds), holdout_of(Fraction(1, 5), "adult"))
    table = rows([f"p{i}" for i in range(200)]).set_column(2, "income", [[i % 10 for i in range(200)]])
    state = plan.train(plan.people([encode_block(plan, ("unit",), {}, table)]), is_private=False)
    assert sorted(plan.restore(state, "").evaluation.figures) == ["mean_squared_error", "root_mean_squared_error"]
    assert [figure.margin for figure in plan.planned_figures(Fraction(19, 20))] == [None, None]


def test_the_margin_of_the_weight_is_that_of_its_interval():
    plan = training()
    *_, number = plan.planned_figures(Fraction(19, 20))
    noisy = {"noisy": [10**7] * 64, "edges": list(score_edges(32)), "confidence": 0.95}
    found = table_from_json(noisy | {"sigma": plan.score_schedule.sums[0].noise.sigma}).weight
    assert number.name == "weight"
    assert 1 <= float(number.margin) / (found.high - found.value) < 1.01
    assert float(number.margin) == float(f"{float(number.margin):.3g}")


@pytest.mark.parametrize(
    ("model", "match"),
    [(dp.learning.StandardScaler(), "classifiers and regressors"), (object(), "classifiers and regressors")],
)
def test_models_without_integer_scores_are_refused(model, match):
    with pytest.raises(dp.Refusal, match=match):
        training(model)


def sides(plan, unit_columns):
    """Whether each of 40 people, alone in a block, is held out."""
    tables = [rows([name], [age]).append_column("height", pa.array([150 + age])) for age, name in enumerate(PEOPLE)]
    if not unit_columns:
        tables = [table.drop_columns(["unit"]) for table in tables]
    return [len(encode_block(plan, unit_columns, {}, table).test) for table in tables]


def test_queries_of_a_table_hold_the_same_units_out_and_other_rows_where_rows_are_units():
    height = Column(type="integer", bounds=(150, 200))
    one, other = training(), training(dp.learning.Ridge(), columns={"age": AGE}, target="height", target_column=height)
    assert sides(one, ("unit",)) == sides(other, ("unit",))
    assert 5 < sum(sides(one, ("unit",))) < 35
    assert sides(one, ()) != sides(other, ())


def test_the_key_of_a_table_is_the_same_for_every_share():
    one, other = holdout_of(Fraction(1, 5), "adult"), holdout_of(Fraction(1, 4), "adult")
    assert one.key == other.key != holdout_of(Fraction(1, 5), "visits").key
    assert len(one.key) == 32


def test_what_is_not_covered_and_where_sums_are_is_that_of_the_training(monkeypatch):
    plan = training()
    assert (plan.caveat, plan.own_epsilon, plan.has_sums_in_cluster) == ("", "", True)
    monkeypatch.setattr(SessionTraining, "caveat", property(lambda _: "Floats."))
    monkeypatch.setattr(SessionTraining, "has_sums_in_cluster", property(lambda _: False))
    assert (plan.caveat, plan.has_sums_in_cluster) == ("Floats.", False)
