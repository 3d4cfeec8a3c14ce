"""People of rows, and blocks of people, from public numbers alone."""

import numpy as np
import pyarrow as pa

from discreet.plan.models import (
    BYTES_IN_A_BLOCK,
    LONG_TEXT,
    MOST_BLOCKS,
    TrainableModel,
    longest_text,
    number_of_blocks,
    people_in_rows,
)
from trainable import CountEstimator


def test_rows_of_a_unit_have_one_number_by_all_its_columns():
    columns = [pa.chunked_array([["a", "b"], ["a", "a"]]), pa.chunked_array([[1, 1, 1, 2]])]
    first, second, third, fourth = people_in_rows(columns, 4).tolist()
    assert first == third
    assert len({first, second, fourth}) == 3


def test_rows_of_which_a_part_of_the_unit_is_missing_are_one_person():
    columns = [pa.chunked_array([["a", None, "b", None]]), pa.chunked_array([[1, 1, None, None]])]
    first, *others = people_in_rows(columns, 4).tolist()
    assert len(set(others)) == 1
    assert first not in others


def test_rows_of_nobody_have_no_person():
    assert len(people_in_rows([pa.chunked_array([[]], pa.string())], 0)) == 0


def test_blocks_have_a_bounded_number_of_people_and_of_bytes():
    assert number_of_blocks(1, 1, 100) == 1
    assert number_of_blocks(200_001, 1, 100) == 2
    assert number_of_blocks(200_000, 10, 1_000) == -(-200_000 * 10_000 // BYTES_IN_A_BLOCK) == 15
    assert number_of_blocks(10**15, 1, 100) == MOST_BLOCKS


def test_a_text_that_counts_is_as_long_as_the_longest_declared_one():
    assert longest_text(["a", "b"]) == longest_text([]) == LONG_TEXT
    assert longest_text(["a", "\u00e9" * 100]) == 200


def test_an_estimator_is_a_trainable_model():
    assert isinstance(CountEstimator(), TrainableModel)
    assert not isinstance(np.zeros(1), TrainableModel)
