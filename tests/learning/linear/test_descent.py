"""Descent reads noisy sums alone."""

import numpy as np
import pytest

from discreet.learning.core.lattice import ONE
from discreet.learning.linear.descent import Descent, smoothing_kernel
from discreet.learning.linear.linear_model import LARGEST_WEIGHT, slot_count

from .tables import FEATURES

SLOTS = slot_count(FEATURES)


def test_weights_start_at_zero_and_follow_the_gradient():
    descent = Descent(FEATURES, 1, np.full(SLOTS, 100.0), 0.01)
    assert not descent.weights.any()
    gradient = np.repeat([-50.0, 50.0, -50.0], [feature.slots for feature in FEATURES.values()])[:, None]
    descent.move(gradient)
    assert (np.sign(descent.weights) == np.sign(gradient)).all()


def test_neighbouring_bins_are_averaged_and_categories_are_not():
    kernel = smoothing_kernel(FEATURES["age"])
    assert kernel.sum(axis=1) == pytest.approx(1)
    assert kernel[0].tolist() == [1] + [0] * 8
    assert 0 < kernel[3, 4] < kernel[3, 3]
    assert (smoothing_kernel(FEATURES["town"]) == np.eye(4)).all()


def test_a_gradient_no_longer_than_its_noise_moves_nothing():
    descent = Descent(FEATURES, 1, np.full(SLOTS, 100.0), 10.0)
    descent.move(np.full((SLOTS, 1), 5.0))
    assert not descent.weights.any()


def test_what_all_classes_share_moves_nothing():
    descent = Descent(FEATURES, 3, np.full(SLOTS, 100.0), 0.01)
    descent.move(np.full((SLOTS, 3), 50.0))
    assert not descent.weights.any()


@pytest.mark.parametrize(("iterations", "last"), [(1, 1), (2, 1), (5, 2), (10, 4)])
def test_the_average_is_over_the_last_two_fifths(iterations, last):
    descent = Descent(FEATURES, 1, np.full(SLOTS, 100.0), 0.01)
    path = []
    for _ in range(iterations):
        descent.move(np.full((SLOTS, 1), 20.0))
        path.append(descent.weights / ONE)
    assert descent.average / ONE == pytest.approx(np.mean(path[-last:], axis=0), abs=1e-5)


def test_weights_stay_within_what_scores_can_add():
    descent = Descent(FEATURES, 1, np.zeros(SLOTS), 1e-9)
    descent.move(np.full((SLOTS, 1), 1e9))
    assert np.abs(descent.weights).max() == LARGEST_WEIGHT * ONE
