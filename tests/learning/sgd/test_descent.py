"""Descent on mean gradients uses all steps that were charged, and finds the least of a simple function."""

import numpy as np
import pytest

from discreet.learning.sgd.descent import descend


class Pull:
    """Mean gradients of the squared distance to a point."""

    def __init__(self, steps):
        self.left = steps

    def mean_gradient(self, rule):
        self.left -= 1
        return rule


def test_descent_finds_the_least_and_uses_all_steps():
    point, sums = np.array([1.0, -2.0]), Pull(800)
    found = descend(sums, lambda weights: weights - point, np.zeros(2), 0.05)
    assert sums.left == 0
    assert found == pytest.approx(point, abs=0.01)


def test_one_step_is_enough():
    assert descend(Pull(1), lambda _: np.array([1.0]), np.zeros(1), 0.5) == pytest.approx([-0.5])
