"""A learner of networks: defaults from public facts, and training on samples alone."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.learning.sgd.learner import NetworkLearner, default_rate, default_steps
from discreet.learning.sgd.sampled_sums import ExactSampledSums
from learning.sgd.plain import CodeRule, rows_of, schedule


class Flat:
    """A network of four weights, without torch."""

    layers, slots = (), (2,)

    def __init__(self):
        self._vector = np.zeros(4)

    def vector(self):
        return self._vector

    def at(self, vector):
        self._vector = vector
        return self

    def weights(self):
        return {"all": self._vector.astype(np.float32)}

    def gradients(self, codes, target):
        return CodeRule().gradients(codes, target)


def test_defaults_follow_the_declared_size():
    assert [default_rate(size) for size in (1, 32_768, 10**6)] == [Fraction(1, 8), Fraction(1, 32), Fraction(1, 64)]
    assert default_steps(Fraction(1, 32)) == 640


def test_training_moves_weights_and_returns_nothing_but_the_model():
    learner = NetworkLearner(Flat(), 2, schedule(), 1.0, 0.1, 8)
    model = learner.train_on_samples([rows_of(50)], ExactSampledSums)
    assert model.weights["all"][0] < 0
    assert set(vars(model)) == {"layers", "weights", "slots", "classes"}


def test_sums_of_all_people_are_not_a_training():
    with pytest.raises(RuntimeError, match="samples"):
        NetworkLearner(Flat(), 2, schedule(), 1.0, 0.1, 8).train(None)
