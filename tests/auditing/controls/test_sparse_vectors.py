"""The forms of the sparse vector technique are those that the paper compares.

What must come at least once has a probability of a fifth or more in each of 1,000 runs: false alarms below 1e-90.
Roth's form shows an answer in 8% of 10,000 runs: none or half of them have a probability below 1e-300.
"""

import numpy as np
import pytest

from discreet.auditing.controls.sparse_vectors import BROKEN, RIGHT, _drawn_again, _sparse, _until

NAMED = {control.name: control for control in BROKEN + RIGHT}


@pytest.mark.parametrize("control", BROKEN + RIGHT, ids=lambda control: control.name)
def test_no_answer_of_a_question_moves_by_more_than_1(control):
    assert max(abs(a - b) for a, b in zip(control.one, control.other, strict=True)) == 1


def test_without_noise_on_answers_below_then_above_happens_on_one_side_only():
    control = NAMED["sparse vector of Stoddard and others"]
    assert (control.mechanism(control.one, 10_000) >= 1).any()
    assert not (control.mechanism(control.other, 10_000) >= 1).any()


def test_a_run_ends_after_as_many_as_it_may_find():
    above = np.array([[True, True, True], [False, True, False], [True, False, True]])
    assert _until(above, 1).tolist() == [[True, False, False], [False, True, False], [True, False, False]]
    assert _until(above, 2).sum(axis=1).tolist() == [2, 1, 2]


@pytest.mark.parametrize("run", [_sparse(2, 4, 1), _drawn_again(1, 1)], ids=["Lyu, Su and Li", "Dwork and Roth"])
def test_with_one_above_at_most_the_balance_is_minus_one_none_or_one(run):
    assert set(run((0.0, 0.0), 1_000).tolist()) == {-1, 0, 1}


def test_roths_form_shows_the_last_answer_or_nothing():
    control = NAMED["sparse vector of Roth's notes, which shows noisy answers"]
    shown = control.mechanism(control.one, 10_000)
    assert 0 < np.sum(~np.isnan(shown)) < 5_000


def test_stages_end_after_as_many_above_as_there_are_stages():
    """Answers far above the threshold: each is above, so three of them are counted, and no more."""
    assert set(_drawn_again(1, 3)((10.0**6,) * 8, 100).tolist()) == {-3}
