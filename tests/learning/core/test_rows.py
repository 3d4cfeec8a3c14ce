"""Rows of a person stand together."""

import numpy as np

from discreet.learning.core.rows import group_people


def test_rows_are_sorted_by_person():
    codes = np.arange(6, dtype=np.uint16)[:, None]
    block = group_people(codes, np.arange(6), np.array([5, 2, 5, 2, 9, 5]))
    assert block.codes.ravel().tolist() == [1, 3, 0, 2, 5, 4]
    assert block.starts.tolist() == [0, 2, 5]
    assert block.people == 3


def test_without_repeated_people_each_row_is_a_person():
    codes = np.arange(3, dtype=np.uint16)[:, None]
    assert group_people(codes, np.arange(3), np.array([2, 0, 1])).starts is None
    assert group_people(codes, np.arange(3), None).people == 3
