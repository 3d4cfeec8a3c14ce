"""Differences of digamma and log-gamma functions against exact sums and products."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.anonymity.uniques.gamma import digamma_difference, digamma_step, log_gamma_difference

STARTS = (Fraction(1, 1000), Fraction(1, 3), Fraction(1), Fraction(11, 2), Fraction(10**4), Fraction(10**13))


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("steps", [1, 2, 7, 300])
def test_the_difference_of_digammas_is_the_exact_sum_of_reciprocals(start, steps):
    exact = sum(1 / (start + i) for i in range(steps))
    for found in (float(digamma_difference(float(start), steps)), digamma_step(float(start), steps)):
        assert found == pytest.approx(float(exact), rel=4e-15)


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("steps", [2, 7, 300])
def test_the_difference_of_log_gammas_is_the_exact_product(start, steps):
    exact = math.prod(start + i for i in range(steps))
    logarithm = math.log(exact.numerator) - math.log(exact.denominator)
    found = float(log_gamma_difference(float(start), steps))
    assert found == pytest.approx(logarithm, rel=4e-15, abs=4e-14)


def test_half_steps_double():
    once = log_gamma_difference(np.array([2.5, 1e8]), 0.5) + log_gamma_difference(np.array([3.0, 1e8 + 0.5]), 0.5)
    assert once == pytest.approx(np.log([2.5, 1e8]), rel=1e-13)
