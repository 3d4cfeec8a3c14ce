"""Boosting from a public schedule and noisy sums: any data train, and without noise the model is that of exact sums."""

from fractions import Fraction

import numpy as np
import pytest

import discreet as dp
from discreet.learning.core.lattice import ONE
from discreet.learning.core.rows import EncodedRows
from discreet.learning.core.training import ExactSums, NoisySums, PeopleInMemory
from learning.boosting.boosting_cases import FEATURES, PAIR, learner_of, rows_of


class SameLeaves(NoisySums):
    """Noise, with the leaves and the order of trees that exact sums have."""

    public_generator = ExactSums.public_generator


def train(learner, *blocks, sums=NoisySums):
    return learner.train(sums(PeopleInMemory(blocks), learner.schedule))


@pytest.mark.guarantee("learning.boosting.learner")
@pytest.mark.parametrize("replace_one", [False, True])
@pytest.mark.parametrize("classes", [0, 2, 5])
def test_the_schedule_costs_the_rho_of_the_learner_whatever_the_data(classes, replace_one):
    learner = learner_of(classes, Fraction(3, 100), replace_one=replace_one, interactions=PAIR)
    assert learner.trees == len(learner.schedule.sums)
    assert Fraction(299, 10_000) < learner.schedule.rho <= Fraction(3, 100)
    moved = 2 if replace_one else 1
    assert {each.noise.squared_sensitivity for each in learner.schedule.sums} == {(moved * learner.objective.clip) ** 2}


@pytest.mark.guarantee("learning.boosting.learner")
def test_training_uses_exactly_the_sums_of_its_schedule():
    learner = learner_of(interactions=PAIR, rounds=3)
    sums = NoisySums(PeopleInMemory([rows_of(300)]), learner.schedule)
    learner.train(sums)
    assert sums.left == 0
    with pytest.raises(RuntimeError, match="more sums"):
        learner.train(sums)


@pytest.mark.guarantee("learning.boosting.learner")
@pytest.mark.parametrize("classes", [0, 2, 3])
def test_people_reach_the_model_through_sums_alone(classes):
    """The order of rows and their blocks leave no trace in a model from exact sums."""
    learner, rows = learner_of(classes, rounds=4, interactions=PAIR), rows_of(700, classes)
    whole = train(learner, rows, sums=ExactSums)
    order = dp.testing.generator(3).permutation(700)
    parts = [EncodedRows(rows.codes[part], rows.target[part]) for part in (order[:50], order[50:51], order[51:])]
    assert train(learner, *parts, sums=ExactSums).to_json() == whole.to_json()


@pytest.mark.parametrize("classes", [0, 2, 3])
def test_an_unlimited_budget_gives_the_model_of_exact_sums(classes):
    learner, rows = learner_of(classes, Fraction(2) ** 60, rounds=5), rows_of(500, classes)
    assert train(learner, rows, sums=SameLeaves).to_json() == train(learner, rows, sums=ExactSums).to_json()


def test_a_large_budget_learns_what_the_target_follows():
    rows, others = rows_of(3_000), rows_of(3_000)
    model = train(learner_of(2, Fraction(100), size=3_000), rows)
    found = model.scores(others.codes)[:, 0] > 0
    assert (found == (others.target == 1)).mean() > 0.8
    assert next(iter(model.importance())) == "age"


def test_many_classes_and_numbers_are_learned():
    rows, others = rows_of(4_000, 3), rows_of(2_000, 3)
    model = train(learner_of(3, Fraction(100), size=4_000), rows)
    assert (model.scores(others.codes).argmax(axis=1) == others.target).mean() > 0.75
    rows, others = rows_of(4_000, 0), rows_of(2_000, 0)
    scores = train(learner_of(0, Fraction(100), size=4_000), rows).scores(others.codes)[:, 0]
    assert np.abs(scores - others.target).mean() < 0.12 * ONE


@pytest.mark.parametrize("rho", [Fraction(1, 10**15), Fraction(1, 10**6), Fraction(10)])
@pytest.mark.parametrize("classes", [0, 2, 4])
@pytest.mark.parametrize("people", [0, 1, 40])
def test_any_noise_and_any_number_of_people_train(rho, classes, people):
    model = train(learner_of(classes, rho, rounds=2, size=max(people, 1)), rows_of(people, classes))
    assert np.isfinite(list(model.importance().values())).all()
    assert np.abs(model.scores(rows_of(50).codes)).max() < 2**40


def test_one_class_alone_and_rows_that_miss_everything_train():
    rows = rows_of(400)
    only = train(learner_of(rho=Fraction(50)), EncodedRows(rows.codes, np.ones(400, dtype=np.int64)))
    assert (only.scores(rows.codes) > 0).mean() > 0.99
    nothing = np.zeros((400, len(FEATURES)), dtype=np.uint16)  # slot 0: missing cells and unknown categories
    assert np.isfinite(train(learner_of(), EncodedRows(nothing, rows.target)).scores(nothing)).all()


def test_an_empty_table_and_no_block_train():
    assert np.abs(train(learner_of(rho=Fraction(1, 100))).scores(rows_of(20).codes)).max() < 2**40


def test_people_with_many_rows_train():
    rows = rows_of(600)
    grouped = EncodedRows(rows.codes, rows.target, np.arange(0, 600, 6))
    assert train(learner_of(rho=Fraction(1)), grouped).scores(rows.codes).shape == (600, 1)
