"""The public tables: close to the functions, and the same for a row whoever else is there."""

import numpy as np
import pytest

from discreet.learning.core import lattice

GENERATOR = np.random.default_rng(20)


def test_the_logistic_table_is_within_a_thousandth():
    scores = GENERATOR.integers(-20 * lattice.ONE, 20 * lattice.ONE, size=10_000)
    exact = 1 / (1 + np.exp(-scores / lattice.ONE))
    assert np.abs(lattice.logistic(scores) / lattice.ONE - exact).max() < 2**-10


def test_softmax_is_within_a_thousandth_and_never_above_one():
    scores = GENERATOR.integers(-8 * lattice.ONE, 8 * lattice.ONE, size=(5_000, 4))
    found = lattice.softmax(scores)
    weights = np.exp((scores - scores.max(axis=1, keepdims=True)) / lattice.ONE)
    assert np.abs(found / lattice.ONE - weights / weights.sum(axis=1, keepdims=True)).max() < 2**-9
    assert (found.sum(axis=1) <= lattice.ONE).all()
    assert (found >= 0).all()


def test_far_scores_are_certain():
    ends = lattice.logistic(np.array([-(2**60), 2**60]))
    assert ends[0] <= 1
    assert ends[1] == lattice.ONE


@pytest.mark.guarantee("learning.core.lattice")
def test_softmax_of_a_row_is_the_same_alone():
    scores = GENERATOR.integers(-8 * lattice.ONE, 8 * lattice.ONE, size=(300, 5))
    together = lattice.softmax(scores)
    assert all(lattice.softmax(scores[i : i + 1])[0].tolist() == together[i].tolist() for i in range(300))


def test_numbers_of_a_model_become_whole_steps():
    assert lattice.steps_of([0.5, -1]).tolist() == [lattice.ONE // 2, -lattice.ONE]


def test_roots_are_rounded_up():
    for root in (0, 1, 2, 3, 2**20, 2**40 + 1):
        assert lattice.root_up(root * root) == root
        assert lattice.root_up(root * root + 1) == root + 1
    assert lattice.root_up(2**60 - 1) == 2**30
