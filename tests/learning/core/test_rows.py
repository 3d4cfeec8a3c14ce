"""Rows of a person stand together."""

import numpy as np
import pytest

from discreet.learning.core.rows import EncodedRows, group_people, pack_rows, split_people, unpack_rows


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


@pytest.mark.parametrize("people", [None, 40, 3])
def test_blocks_have_whole_people_and_all_rows_once(people):
    rows = np.arange(1_000)
    person = None if people is None else rows % people
    grouped = group_people(rows[:, None].astype(np.uint16), rows, person)
    blocks = split_people(grouped, 100)
    assert np.concatenate([block.target for block in blocks]).tolist() == grouped.target.tolist()
    assert sum(block.people for block in blocks) == grouped.people
    owners = [set((block.target % people).tolist()) for block in blocks] if people else []
    assert sum(map(len, owners)) == (people or 0)
    assert len(blocks) == {None: 10, 40: 10, 3: 3}[people]


def test_a_block_is_the_same_after_a_journey_as_bytes():
    codes, target = np.array([[1, 2], [3, 4]], dtype=np.uint16), np.array([5, -6])
    for starts in (None, np.array([0, 1]), np.array([0])):
        found = unpack_rows(pack_rows(EncodedRows(codes, target, starts)))
        assert found.codes.tolist() == codes.tolist()
        assert found.codes.dtype == np.uint16
        assert found.target.tolist() == target.tolist()
        assert (found.starts is None) == (starts is None)
