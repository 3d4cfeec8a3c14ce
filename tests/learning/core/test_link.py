"""Probabilities are those at which the expected clipped gradient is zero."""

import numpy as np
import pytest

from discreet.learning.core.link import probabilities


def test_two_classes_have_the_link_of_gradients_cut_at_a_half():
    scores = np.linspace(-8, 8, 41)
    q = 1 / (1 + np.exp(-scores))
    expected = np.where(q <= 0.5, 2 * q / (1 + 2 * q), 1 - 2 * (1 - q) / (1 + 2 * (1 - q)))
    assert probabilities(scores)[:, 1] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("classes", [2, 3, 7])
def test_the_expected_clipped_gradient_is_zero_at_the_probabilities(classes):
    scores = np.random.default_rng(classes).normal(0, 2, (20, classes))
    q = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    gradients = np.eye(classes)[None] - q[:, None, :]
    norms = np.linalg.norm(gradients, axis=2, keepdims=True)
    clipped = gradients * np.minimum(1, np.sqrt(1 - 1 / classes) / norms)
    expected = np.einsum("nk,nkc->nc", probabilities(scores), clipped)
    assert np.abs(expected).max() < 1e-5


def test_probabilities_add_up_to_one_even_for_the_farthest_scores():
    shares = probabilities(np.array([[1000.0, -1000, 0], [0, 0, 0]]))
    assert shares.sum(axis=1) == pytest.approx(1)
    assert shares[1] == pytest.approx(1 / 3)


def test_one_column_and_two_columns_agree():
    scores = np.array([[-1.5], [0.25]])
    assert probabilities(scores) == pytest.approx(probabilities(np.hstack([0 * scores, scores])))


@pytest.mark.parametrize("classes", [2, 3, 4, 9])
def test_classes_are_in_the_order_of_their_scores(classes):
    scores = np.random.default_rng(classes).normal(0, 3, (500, classes))
    assert (probabilities(scores).argsort(axis=1) == scores.argsort(axis=1)).all()
