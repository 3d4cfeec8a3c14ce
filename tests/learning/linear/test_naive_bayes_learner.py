"""Naive Bayes from one histogram: what a person moves, what is charged, and that it learns."""

import pickle
from fractions import Fraction

import numpy as np
import pytest

import discreet as dp
from discreet.learning.core.lattice import ONE
from discreet.learning.core.rows import EncodedRows, group_people
from discreet.learning.core.sums import people_sum
from discreet.learning.core.training import ExactSums, NoisySums, PeopleInMemory
from discreet.learning.linear.naive_bayes_learner import NaiveBayesLearner, log_weights

FEATURES = {"age": dp.learning.linear_bins(0, 100, 4), "sex": dp.learning.categories(["female", "male"])}


def _learner(classes=2, rho=Fraction(1, 10), **words):
    return NaiveBayesLearner(FEATURES, classes, rho, **words)


def _rows(count, generator, classes=2):
    codes = np.column_stack([generator.integers(0, feature.slots, count) for feature in FEATURES.values()])
    return codes.astype(np.uint16), generator.integers(0, classes, count)


@pytest.mark.guarantee("learning.linear.naive_bayes_learner")
@pytest.mark.parametrize("classes", [2, 3])
def test_counts_are_those_of_a_plain_loop(classes):
    codes, target = _rows(70, np.random.default_rng(1), classes)
    expected = np.zeros((1 + 5 + 3, classes), dtype=np.int64)
    for (age, sex), label in zip(codes.tolist(), target.tolist(), strict=True):
        for place in (0, 1 + age, 6 + sex):
            expected[place, label] += ONE
    found = people_sum(_learner(classes)._step(), [EncodedRows(codes, target)])
    assert found.reshape(-1, classes).tolist() == expected.tolist()


@pytest.mark.guarantee("learning.linear.naive_bayes_learner")
@pytest.mark.parametrize("rows", [1, 2, 9])
def test_a_person_moves_the_counts_by_at_most_the_clip(rows):
    codes, target = _rows(30 + rows, np.random.default_rng(rows))
    people = np.append(np.arange(30), np.full(rows, 30))
    step = _learner()._step()
    with_person = people_sum(step, [group_people(codes, target, people)])
    without = people_sum(step, [group_people(codes[:30], target[:30], people[:30])])
    square = sum(int(each) ** 2 for each in with_person - without)
    assert square <= step.clip**2
    assert rows > 1 or square == 3 * ONE**2


@pytest.mark.guarantee("learning.linear.naive_bayes_learner")
@pytest.mark.parametrize("replace_one", [False, True])
def test_one_sum_is_charged_and_no_other_can_be_asked_for(replace_one):
    learner = _learner(replace_one=replace_one)
    (planned,) = learner.schedule.sums
    assert planned.noise.squared_sensitivity == ((1 + replace_one) * planned.clip) ** 2
    assert learner.schedule.rho <= Fraction(1, 10)
    sums = NoisySums(PeopleInMemory([EncodedRows(*_rows(10, np.random.default_rng(2)))]), learner.schedule)
    learner.train(sums)
    with pytest.raises(RuntimeError):
        learner.train(sums)


def test_without_noise_weights_are_logarithms_of_shares():
    codes = np.array([[1, 1], [1, 1], [2, 1], [2, 2]], dtype=np.uint16)
    target = np.array([0, 0, 1, 1])
    learner = _learner(rho=Fraction(10**9), smoothing=1.0)
    model = learner.train(ExactSums(PeopleInMemory([EncodedRows(codes, target)]), learner.schedule))
    score = model.scores(codes[:1])[0, 0] / ONE
    assert score == pytest.approx(np.log((1 / 7) / (3 / 7)) + np.log((2 / 5) / (3 / 5)), abs=1e-3)


def test_noisy_counts_below_zero_give_finite_weights():
    counts = np.random.default_rng(3).normal(0, 100, (9, 3))
    weights = log_weights(FEATURES, counts, 100.0)
    assert weights.shape == (8, 3)
    assert np.isfinite(weights).all()


def test_steps_travel_to_other_processes():
    step = pickle.loads(pickle.dumps(_learner()._step()))  # noqa: S301 - our own bytes
    rows = EncodedRows(*_rows(5, np.random.default_rng(9)))
    assert step.contributions(rows).places.tolist() == _learner()._step().contributions(rows).places.tolist()
