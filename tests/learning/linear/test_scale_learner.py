"""Means and deviations from one sum: what a person moves, what is charged, and that they are right."""

from fractions import Fraction

import numpy as np
import pytest

import discreet as dp
from discreet.learning.core.lattice import ONE
from discreet.learning.core.rows import EncodedRows, group_people
from discreet.learning.core.sums import people_sum
from discreet.learning.core.training import ExactSums, NoisySums, PeopleInMemory
from discreet.learning.linear.scale_learner import ScaleLearner, has_equal_bins, outer_bounds

FEATURES = {"x": dp.learning.linear_bins(-5, 5, 1_000), "z": dp.learning.linear_bins(0, 10, 500)}


def _rows(count, generator):
    table = np.column_stack([generator.normal(1, 1, count), generator.uniform(2, 8, count)])
    codes = np.column_stack([feature.encode(table[:, i]) for i, feature in enumerate(FEATURES.values())])
    return table, codes, np.zeros(count, dtype=np.int64)


@pytest.mark.guarantee("learning.linear.scale_learner")
@pytest.mark.parametrize("rows", [1, 2, 8])
def test_a_person_moves_the_sum_by_at_most_the_clip(rows):
    _, codes, target = _rows(30 + rows, np.random.default_rng(rows))
    codes[-rows:] = [feature.slots - 1 for feature in FEATURES.values()]
    people = np.append(np.arange(30), np.full(rows, 30))
    step = ScaleLearner(FEATURES, Fraction(1))._step()
    moved = people_sum(step, [group_people(codes, target, people)])
    moved = moved - people_sum(step, [group_people(codes[:30], target[:30], people[:30])])
    square = sum(int(each) ** 2 for each in moved)
    assert 4 * ONE**2 < square <= step.clip**2


@pytest.mark.guarantee("learning.linear.scale_learner")
@pytest.mark.parametrize("replace_one", [False, True])
def test_one_sum_is_charged_and_no_other_can_be_asked_for(replace_one):
    learner = ScaleLearner(FEATURES, Fraction(1, 10), replace_one)
    (planned,) = learner.schedule.sums
    assert planned.noise.squared_sensitivity == ((1 + replace_one) * planned.clip) ** 2
    sums = NoisySums(PeopleInMemory([EncodedRows(*_rows(10, np.random.default_rng(3))[1:])]), learner.schedule)
    learner.train(sums)
    with pytest.raises(RuntimeError):
        learner.train(sums)


def test_without_noise_means_and_deviations_are_those_of_the_columns():
    table, codes, target = _rows(5_000, np.random.default_rng(4))
    learner = ScaleLearner(FEATURES, Fraction(1))
    model = learner.train(ExactSums(PeopleInMemory([EncodedRows(codes, target)]), learner.schedule))
    assert np.allclose(model.means, table.mean(axis=0), atol=0.01)
    assert np.allclose(model.deviations, table.std(axis=0), atol=0.01)


def test_bounds_are_read_off_bins_of_equal_width():
    lows, highs = outer_bounds(FEATURES)
    assert np.allclose(lows, [-5, 0])
    assert np.allclose(highs, [5, 10])
    assert not has_equal_bins(dp.learning.log_bins(0, 100))
    assert not has_equal_bins(dp.learning.categories(["a", "b", "c"]))
