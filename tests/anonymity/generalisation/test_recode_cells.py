"""Cell suppression by a greedy heuristic."""

import numpy as np
import pytest

import discreet as dp
from discreet.anonymity.generalisation import recode_cells
from discreet.anonymity.generalisation.recode_people import RowGroups


def test_the_set_that_rescues_most_rows_is_tried_first():
    # hiding the second column rescues four rows, hiding the first rescues two
    first, second = np.array([0, 0, 0, 0, 1]), np.array([0, 1, 2, 3, 3])
    cells, left = recode_cells.choose_cells([first, second], RowGroups(np.ones(5, dtype=np.int64)), 2)
    assert cells.tolist() == [[False, True]] * 4 + [[False, False]]
    assert left.tolist() == [False] * 4 + [True]


def test_classes_of_k_people_are_left_alone():
    codes = np.array([0, 0, 1])
    cells, left = recode_cells.choose_cells([codes], RowGroups(np.array([1, 1, 5])), 2)
    assert not cells.any()
    assert not left.any()


def test_a_person_with_many_rows_is_one_person():
    cells, left = recode_cells.choose_cells([np.array([0, 1])], RowGroups(np.array([5, 5]), np.array([0, 0])), 2)
    assert left.all()
    assert not cells.any()


def test_more_columns_than_can_be_tried_are_refused():
    with pytest.raises(dp.errors.ParameterError):
        recode_cells.require_few(13)
