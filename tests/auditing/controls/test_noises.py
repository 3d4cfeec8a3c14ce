"""Controls of noise are wrong in the way they say, or right to the last digit of their claims."""

import math

import numpy as np

from discreet.auditing.controls.noises import BROKEN, RIGHT
from discreet.mechanisms import Gaussian

NAMED = {control.name: control for control in BROKEN + RIGHT}


def test_local_noise_has_a_scale_of_8_on_one_side_and_1_on_the_other():
    """The median of |noise| is scale ln 2; false-alarm rate below 1e-6."""
    control = NAMED["noise scaled to the local sensitivity"]
    for values, scale in ((control.one, 8), (control.other, 1)):
        far = np.abs(control.mechanism(values, 20_000) - 2)
        assert abs(np.mean(far < scale * math.log(2)) - 0.5) < 0.02


def test_local_noise_is_shown_by_replacing_one_value():
    control = NAMED["noise scaled to the local sensitivity"]
    assert len(set(control.one) - set(control.other)) == len(set(control.other) - set(control.one)) == 1


def test_a_catastrophe_leaks_one_time_in_a_hundred():
    """Binomial(100,000, 0.01) leaves 840 to 1160 with probability below 1e-6."""
    for control, dataset in ((NAMED["catastrophe of delta 0.01, claimed pure"], 71_000),):
        leaks = int(np.sum(control.mechanism(dataset, 100_000) == dataset))
        assert 840 <= leaks <= 1_160


def test_a_catastrophe_of_rows_shows_all_of_them_or_a_number():
    control = NAMED["catastrophe of delta 0.01, rows in full, claimed as such"]
    outcomes = control.mechanism(("ann", "bob"), 5_000)
    assert {type(outcome) for outcome in outcomes} == {int, tuple}
    assert {outcome for outcome in outcomes if isinstance(outcome, tuple)} == {("ann", "bob")}


def test_randomized_response_tells_the_truth_with_e_over_1_plus_e():
    """Five and a half standard deviations: false-alarm rate below 1e-7."""
    control = NAMED["randomized response"]
    truths = control.mechanism(1, 100_000).mean()
    assert abs(truths - math.e / (1 + math.e)) < 5.5 * math.sqrt(0.2 / 100_000)
    assert abs(control.mechanism(0, 100_000).mean() - 1 / (1 + math.e)) < 5.5 * math.sqrt(0.2 / 100_000)


def test_the_discrete_gaussian_of_a_right_control_is_tight():
    assert Gaussian(sensitivity=1, epsilon=1, delta=0.01).delta(1) > 0.0099
    assert Gaussian(sensitivity=1, rho=0.5).rho == NAMED["discrete Gaussian noise, claimed in rho"].claim.rho
