"""Scores of candidates on tables that can be counted by hand."""

import numpy as np

from discreet.anonymity.linkage.candidates import CandidateSearch
from discreet.anonymity.linkage.matching import EqualCells
from discreet.anonymity.linkage.scores import PersonIdentity, identifying_people, people_with, score


def _search(published: list[int], auxiliary: list[int], people: list[int]) -> CandidateSearch:
    return CandidateSearch(
        [EqualCells(np.array(published), np.array(auxiliary))], np.array(people), np.arange(len(auxiliary))
    )


def test_the_likeliest_value_and_the_true_person_are_found():
    search, people = _search([0, 0, 0, 1], [0, 1, 2], [0, 1, 2, 3]), np.arange(4)
    identity = PersonIdentity(np.array([10, 11, 12, 13]), np.array([11, 10, 13]))
    scores = score(search, people, identity, np.array([5, 6, 6, 5]))
    assert scores.candidates.tolist() == [3, 1, 0]
    assert scores.has_truth is not None
    assert scores.has_truth.tolist() == [True, False, False]
    assert scores.guess.tolist() == [6, 5, -1]
    assert scores.guess_count.tolist() == [2, 1, 0]
    assert scores.value_count.tolist() == [3, 1, 0]


def test_equally_likely_values_are_taken_by_their_frequency_in_the_file():
    search = _search([0, 0, 1, 1], [0], [0, 1, 2, 3])
    assert score(search, np.arange(4), None, np.array([0, 1, 1, 1])).guess.tolist() == [1]


def test_a_person_with_several_rows_counts_once_for_a_value():
    people = np.array([0, 0, 1])
    scores = score(_search([0, 0, 0], [0], people.tolist()), people, None, np.array([0, 0, 1]))
    assert scores.value_count.tolist() == [2]
    assert people_with(np.array([0, 0, 1]), people).tolist() == [1, 1]


def test_candidates_with_a_value_of_their_own_are_counted():
    search = _search([0, 0, 0, 1], [0, 1], [0, 1, 2, 3])
    numbers = identifying_people(search, np.array([True, False]), np.arange(4), [np.array([0, 0, 1, 2])])
    assert [each.tolist() for each in numbers] == [[1, 0]]
