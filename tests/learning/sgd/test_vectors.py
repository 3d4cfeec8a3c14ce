"""Gradients become integers row by row, and a person's integer vector is never longer than the clip."""

import math

import numpy as np
import pytest

from discreet.learning.sgd.vectors import CLIP, LARGEST_LENGTH, LARGEST_STEPS, clip_vectors, lattice_steps

GENERATOR = np.random.default_rng(88)


def test_steps_are_rounded_towards_zero():
    one = 1 / CLIP
    assert lattice_steps(np.array([[1.9 * one, -1.9 * one, 0.9 * one, -0.9 * one]]), 1.0).tolist() == [[1, -1, 0, 0]]


def test_steps_follow_the_norm_that_is_the_clip():
    assert lattice_steps(np.array([[4.0, -2.0]]), 4.0).tolist() == [[CLIP, -CLIP // 2]]


def test_every_float_has_steps():
    found = lattice_steps(np.array([[np.nan, np.inf, -np.inf, 1e308, -1e308]]), 1e-300)
    assert found.tolist() == [[0, LARGEST_STEPS, -LARGEST_STEPS, LARGEST_STEPS, -LARGEST_STEPS]]


@pytest.mark.guarantee("learning.sgd.sampled_sums")
@pytest.mark.parametrize("length", [1, 2, 3, 1000])
@pytest.mark.parametrize("largest", [1, CLIP, CLIP + 1, 1 << 40, (1 << 62)])
def test_the_norm_of_a_clipped_vector_is_at_most_the_clip_in_integers(length, largest):
    vectors = GENERATOR.integers(-largest, largest, size=(50, length), endpoint=True)
    for vector in clip_vectors(vectors):
        assert sum(int(value) ** 2 for value in vector) <= CLIP**2


def test_a_vector_within_the_clip_is_unchanged():
    vectors = np.array([[CLIP, 0], [0, -CLIP], [3, 4]])
    assert (clip_vectors(vectors) == vectors).all()


def test_a_vector_of_whole_norm_beyond_the_clip_becomes_one_of_the_clip():
    assert clip_vectors(np.array([[0, 5 * CLIP]])).tolist() == [[0, CLIP]]
    found = clip_vectors(np.array([[CLIP, CLIP]]))[0]
    assert math.isqrt(int(found @ found)) in {CLIP - 2, CLIP - 1, CLIP}


def test_vectors_of_too_many_coordinates_are_refused():
    wide = np.broadcast_to(np.zeros(1, dtype=np.int64), (1, LARGEST_LENGTH + 1))
    with pytest.raises(OverflowError):
        clip_vectors(wide)
