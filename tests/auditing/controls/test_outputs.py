"""Each of these controls shows what it says, in one run on each dataset."""

import math
import time

import pytest
from scipy.stats import binomtest

from discreet.auditing.controls.outputs import BROKEN, float_sum

NAMED = {control.name: control for control in BROKEN}


def both(name, count=3):
    control = NAMED[name]
    return control.mechanism(control.one, count), control.mechanism(control.other, count)


def test_one_value_that_grows_by_1_moves_a_sum_of_floats_by_64():
    control = NAMED["a sum of floats"]
    assert sum(b - a for a, b in zip(control.one, control.other, strict=True)) == 1
    assert float_sum(control.other) - float_sum(control.one) == 64


def test_nan_passes_the_clipping():
    one, other = both("NaN passes the clipping")
    assert not any(map(math.isnan, one))
    assert all(map(math.isnan, other))


def test_keys_come_from_the_data():
    one, other = both("keys from the data")
    assert all("rare" in answer for answer in one)
    assert not any("rare" in answer for answer in other)


def test_an_output_is_as_long_as_the_data():
    one, other = both("an output as long as the data")
    assert {len(answer) for answer in one} == {3}
    assert {len(answer) for answer in other} == {2}


@pytest.mark.statistical(false_alarm=2e-6)
def test_noise_over_the_batch_has_a_scale_that_shows_the_rows(samples):
    """The median of |noise| is scale ln 2; 20,000 runs, false-alarm rate 1e-6 for each side."""
    many = samples(20_000)
    for drawn, scale in zip(both("a batch size of n q", many), (4, 8 / 3), strict=True):
        assert binomtest(int((abs(drawn - 2) < scale * math.log(2)).sum()), many).pvalue > 1e-6


def test_an_error_comes_on_one_side_only():
    control = NAMED["an error on one side only"]
    assert isinstance(control.mechanism(control.one), int)
    with pytest.raises(ValueError, match="too many rows"):
        control.mechanism(control.other)


def test_an_answer_is_slower_on_one_side():
    control = NAMED["a slower answer on one side"]
    started = time.perf_counter()
    control.mechanism(control.one)
    assert time.perf_counter() - started >= 0.001
