"""People of rows, and blocks of people, from public numbers alone."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.plan.models import MOST_BLOCKS, TrainableModel, people_in_rows, split_people
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


def test_blocks_have_a_bounded_number_of_people():
    assert split_people(1).number == 1
    assert split_people(200_001).number == 2
    assert split_people(10**15).number == MOST_BLOCKS


def test_a_share_of_the_blocks_is_held_out():
    split = split_people(1_000, 0.2)
    assert (split.number, split.held_out) == (5, 1)
    assert [split.is_held_out(block) for block in range(5)] == [True, False, False, False, False]
    larger = split_people(3_000_000, Fraction(1, 5))
    assert larger.held_out * 5 == larger.number >= 15


@pytest.mark.parametrize("share", [0, 1, -0.1, 1.5])
def test_a_share_that_leaves_nobody_on_one_side_is_refused(share):
    with pytest.raises(dp.Refusal, match="holdout"):
        split_people(10, share)


def test_an_estimator_is_a_trainable_model():
    assert isinstance(CountEstimator(), TrainableModel)
    assert not isinstance(np.zeros(1), TrainableModel)
