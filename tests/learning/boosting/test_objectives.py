"""Residuals and Hessians in integers: those of the loss, cut to what a row has at the start, for each row alone."""

import numpy as np
import pytest

from discreet.learning.boosting.objectives import Objective
from discreet.learning.core.lattice import ONE, logistic, softmax
from learning.boosting.boosting_cases import GENERATOR

CLASSES = [0, 2, 3, 7]


def cases(classes, number=4_000):
    objective = Objective(classes)
    scores = GENERATOR.integers(-6 * ONE, 6 * ONE, size=(number, objective.outputs))
    target = GENERATOR.integers(0, classes, number) if classes else GENERATOR.integers(-2 * ONE, 2 * ONE, number)
    return objective, target.astype(np.int64), scores


@pytest.mark.guarantee("learning.boosting.objectives")
@pytest.mark.parametrize("classes", CLASSES)
def test_no_row_is_longer_than_the_clip(classes):
    objective, target, scores = cases(classes)
    values = objective.derivatives(target, scores)
    assert values.shape == (len(target), objective.outputs + 1)
    assert values.dtype == np.int64
    assert (values**2).sum(axis=1).max() <= objective.clip**2


@pytest.mark.guarantee("learning.boosting.objectives")
@pytest.mark.parametrize("classes", CLASSES)
def test_a_row_has_the_same_derivatives_alone_and_among_others(classes):
    objective, target, scores = cases(classes, 300)
    whole = objective.derivatives(target, scores)
    order = GENERATOR.permutation(300)
    assert (objective.derivatives(target[order], scores[order]) == whole[order]).all()
    for row in range(0, 300, 17):
        assert (objective.derivatives(target[row : row + 1], scores[row : row + 1]) == whole[row : row + 1]).all()


@pytest.mark.parametrize("classes", [2, 3, 7])
def test_the_clip_is_reached_at_the_start_and_nothing_is_cut_there(classes):
    objective = Objective(classes)
    target = np.arange(classes)
    values = objective.derivatives(target, np.zeros((classes, objective.outputs), dtype=np.int64))
    norms = np.sqrt((values.astype(float) ** 2).sum(axis=1))
    assert objective.clip - 8 <= norms.max() <= objective.clip
    if classes == 2:
        assert values.tolist() == [[-ONE // 2, ONE // 4], [ONE // 2, ONE // 4]]


def test_two_classes_have_the_residual_of_the_logistic_loss_cut_at_a_half():
    objective, target, scores = cases(2)
    share = logistic(scores[:, 0])
    values = objective.derivatives(target, scores)
    exact = target * ONE - share
    assert (values[:, 0] == np.clip(exact, -ONE // 2, ONE // 2)).all()
    assert (values[np.abs(exact) > ONE // 2, 1] == 0).all()
    assert (values[np.abs(exact) <= ONE // 2, 1] > 0).any()


def test_many_classes_have_the_residual_of_the_softmax_in_its_direction():
    objective, target, scores = cases(4)
    exact = (np.eye(4)[target] - softmax(scores) / ONE).astype(float)
    values = objective.derivatives(target, scores)[:, :4] / ONE
    factor = np.minimum(1, np.sqrt(3 / 4) / np.linalg.norm(exact, axis=1, keepdims=True))
    assert np.abs(values - exact * factor).max() < 1e-5


def test_numbers_outside_the_declared_range_count_as_its_ends():
    objective = Objective(0)
    values = objective.derivatives(np.array([-(2**40), 2**40, 0]), np.zeros((3, 1), dtype=np.int64))
    assert values[:, 0].tolist() == [-ONE // 2, ONE // 2, 0]
    assert (values[:, 1] == 3 * ONE // 10).all()
