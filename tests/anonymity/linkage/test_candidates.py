"""Compatible pairs, block by block."""

import numpy as np
import pytest

from discreet.anonymity.linkage import candidates
from discreet.anonymity.linkage.candidates import CandidateSearch
from discreet.anonymity.linkage.matching import EqualCells, RangeCells


def _pairs(search: CandidateSearch) -> set[tuple[int, int]]:
    return {
        pair
        for block in search.blocks()
        for pair in zip(block.pair_target.tolist(), block.pair_person.tolist(), strict=True)
    }


def test_people_with_the_same_description_are_one_target():
    cells = [EqualCells(np.array([0, 1, 1]), np.array([1, 1, 0, 2]))]
    search = CandidateSearch(cells, np.arange(3), np.arange(4))
    assert search.targets == 3
    assert search.target_of.tolist() == [0, 0, 1, 2]
    assert _pairs(search) == {(0, 1), (0, 2), (1, 0)}


def test_a_candidate_fits_every_known_row_of_a_person():
    cells = [EqualCells(np.array([0, 1, 0]), np.array([0, 1]))]
    search = CandidateSearch(cells, np.array([0, 0, 1]), np.array([0, 0]))
    assert _pairs(search) == {(0, 0)}


def test_the_second_distance_filters_the_spans_of_the_first():
    ranges = [
        RangeCells(np.array([0, 1, 2]), np.array([0]), np.array([0]), np.array([2])),
        RangeCells(np.array([5, 9, 5]), np.array([0]), np.array([5]), np.array([6])),
    ]
    assert _pairs(CandidateSearch(ranges, np.arange(3), np.array([0]))) == {(0, 0)}


@pytest.mark.parametrize("most", [1, 2, 100])
def test_blocks_of_any_size_have_the_same_pairs(most, monkeypatch):
    monkeypatch.setattr(candidates, "MOST_PAIRS", most)
    cells = [EqualCells(np.array([0, 1, 1, 2]), np.array([2, 1, 0]))]
    search = CandidateSearch(cells, np.arange(4), np.arange(3))
    assert _pairs(search) == {(0, 3), (1, 1), (1, 2), (2, 0)}
    chosen = np.array([False, True, False])
    assert {t for block in search.blocks(chosen) for t in block.pair_target.tolist()} == {1}


def test_a_missing_cell_can_be_compatible_with_everything():
    cells = [EqualCells(np.array([0, 1, 2]), np.array([0, 2]))]
    published, auxiliary = np.array([[False, False, True]]), np.array([[False, True]])
    search = CandidateSearch(cells, np.arange(3), np.arange(2), published_nulls=published, auxiliary_nulls=auxiliary)
    assert _pairs(search) == {(0, 0), (0, 2), (1, 0), (1, 1), (1, 2)}
