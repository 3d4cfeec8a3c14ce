"""Controls of noise are wrong in the way they say, or right to the last digit of their claims."""

import math

import numpy as np
import pytest
from scipy.stats import binomtest

from discreet.auditing.controls.noises import BROKEN, RIGHT
from discreet.mechanisms import Gaussian

NAMED = {control.name: control for control in BROKEN + RIGHT}


@pytest.mark.statistical(false_alarm=2e-6)
def test_local_noise_has_a_scale_of_8_on_one_side_and_1_on_the_other(samples):
    """The median of |noise| is scale ln 2; false-alarm rate 1e-6 for each side."""
    control, many = NAMED["noise scaled to the local sensitivity"], samples(20_000)
    for values, scale in ((control.one, 8), (control.other, 1)):
        near = np.abs(control.mechanism(values, many) - 2) < scale * math.log(2)
        assert binomtest(int(near.sum()), many).pvalue > 1e-6


def test_local_noise_is_shown_by_replacing_one_value():
    control = NAMED["noise scaled to the local sensitivity"]
    assert len(set(control.one) - set(control.other)) == len(set(control.other) - set(control.one)) == 1


@pytest.mark.statistical(false_alarm=1e-6)
def test_a_catastrophe_leaks_one_time_in_a_hundred(samples):
    """False-alarm rate 1e-6."""
    control, dataset, many = NAMED["catastrophe of delta 0.01, claimed pure"], 71_000, samples(100_000)
    leaks = int(np.sum(control.mechanism(dataset, many) == dataset))
    assert binomtest(leaks, many, 0.01).pvalue > 1e-6


def test_a_catastrophe_of_rows_shows_all_of_them_or_a_number():
    """One of 5,000 does, but for a probability of 0.99^5000, below 1e-21."""
    control = NAMED["catastrophe of delta 0.01, rows in full, claimed as such"]
    outcomes = control.mechanism(("ann", "bob"), 5_000)
    assert {type(outcome) for outcome in outcomes} == {int, tuple}
    assert {outcome for outcome in outcomes if isinstance(outcome, tuple)} == {("ann", "bob")}


@pytest.mark.statistical(false_alarm=2e-6)
def test_randomized_response_tells_the_truth_with_e_over_1_plus_e(samples):
    """False-alarm rate 1e-6 for each bit."""
    control, many = NAMED["randomized response"], samples(100_000)
    for bit, share in ((1, math.e / (1 + math.e)), (0, 1 / (1 + math.e))):
        assert binomtest(int(control.mechanism(bit, many).sum()), many, share).pvalue > 1e-6


def test_the_discrete_gaussian_of_a_right_control_is_tight():
    assert Gaussian(sensitivity=1, epsilon=1, delta=0.01).delta(1) > 0.0099
    assert Gaussian(sensitivity=1, rho=0.5).rho == NAMED["discrete Gaussian noise, claimed in rho"].claim.rho
