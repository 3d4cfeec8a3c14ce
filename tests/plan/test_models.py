"""Blocks of people, from public numbers alone."""

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.plan.models import (
    BYTES_IN_A_BLOCK,
    LEAST_BLOCKS,
    LONG_TEXT,
    MOST_MODEL_BLOCKS,
    TrainableModel,
    candidate_arguments,
    longest_text,
    number_of_blocks,
)
from trainable import CountEstimator


def test_blocks_have_a_bounded_number_of_people_and_of_bytes():
    assert number_of_blocks(1, 1, 100) == LEAST_BLOCKS == 16
    assert number_of_blocks(3_200_001, 1, 100) == 17
    assert number_of_blocks(200_000, 20, 1_000) == -(-200_000 * 20_000 // BYTES_IN_A_BLOCK) == 30
    assert number_of_blocks(10**15, 1, 100) == MOST_MODEL_BLOCKS


@pytest.mark.parametrize("candidates", [[], "rounds", {"rounds": 20}, [3], None])
def test_candidates_are_dictionaries_of_arguments(candidates):
    with pytest.raises(ParameterError, match="not dictionaries"):
        candidate_arguments(candidates)
    assert candidate_arguments([{"rounds": 20}]) == ({"rounds": 20},)


def test_a_text_that_counts_is_as_long_as_the_longest_declared_one():
    assert longest_text(["a", "b"]) == longest_text([]) == LONG_TEXT
    assert longest_text(["a", "\u00e9" * 100]) == 200


def test_an_estimator_is_a_trainable_model():
    assert isinstance(CountEstimator(), TrainableModel)
    assert not isinstance(np.zeros(1), TrainableModel)
