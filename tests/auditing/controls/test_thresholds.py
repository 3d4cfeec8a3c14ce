"""The thresholds of controls let through what they say, by the formulas and by brute force."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import binomtest

from discreet.auditing.controls.thresholds import BROKEN, KEYS, RIGHT, distance

NAMED = {control.name: control for control in BROKEN + RIGHT}
BOUNDS = (0.0, 1_000.0)


def local_sensitivity(values):
    """By replacing every value by everything that matters."""
    middle = sorted(values)[len(values) // 2]
    return max(
        abs(sorted([*values[:i], other, *values[i + 1 :]])[len(values) // 2] - middle)
        for i in range(len(values))
        for other in (*BOUNDS, *values)
    )


def test_the_distance_to_unsafe_data_is_that_of_all_neighbours_of_neighbours():
    for values in itertools.combinations_with_replacement([0.0, 1.0, 2.0, 500.0, 1_000.0], 5):
        reached, far = {values}, 0
        while all(local_sensitivity(near) <= 1 for near in reached) and far < 4:
            reached = {
                tuple(sorted((*near[:i], other, *near[i + 1 :])))
                for near in reached
                for i in range(5)
                for other in (*BOUNDS, *values)
            }
            far += 1
        assert distance(values, 1.0) == far, values


def test_the_data_of_propose_test_release_are_unsafe_and_differ_in_one_value():
    for control in (c for c in BROKEN + RIGHT if "propose" in c.name):
        assert distance(control.one, 1.0) == distance(control.other, 1.0) == 0
        assert sum(a != b for a, b in zip(control.one, control.other, strict=True)) == 1


@pytest.mark.statistical(false_alarm=2e-6)
def test_unsafe_data_pass_as_often_as_each_threshold_says(samples):
    """100,000 runs, false-alarm rate 1e-6 for each of two thresholds."""
    many = samples(100_000)
    for name, chance in (
        ("propose-test-release with the textbook's threshold", math.sqrt(0.01 / 8)),
        ("propose-test-release with its true threshold", 0.01),
    ):
        control = NAMED[name]
        passed = int((~np.isnan(control.mechanism(control.one, many))).sum())
        assert binomtest(passed, many, chance).pvalue > 1e-6


@pytest.mark.statistical(false_alarm=2e-6)
def test_a_key_of_one_unit_is_shown_as_often_as_each_comparison_says(samples):
    """100,000 keys of one release, false-alarm rate 1e-6 for each of two comparisons."""
    many = samples(KEYS)
    for name, steps in (("a threshold with >= instead of >", 4), ("a threshold with >", 5)):
        control = NAMED[name]
        chance = math.exp(-steps) / (1 + math.exp(-1))
        assert binomtest(int(np.sum(control.mechanism(1, many))), many, chance).pvalue > 1e-6
        assert not control.mechanism(0, KEYS).any()
        assert 0 <= float(control.claim.delta) - math.exp(-5) / (1 + math.exp(-1)) < 1e-6
