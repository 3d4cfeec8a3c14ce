"""Intervals: closed forms that solve their equations, and a method that fits the number of reports."""

import math
from statistics import NormalDist

import numpy as np
import pytest

from discreet.local.estimates.intervals import NoiseVariance, half_widths, intervals, method_for, normal_quantile


def test_the_quantile_is_that_of_bonferroni():
    assert normal_quantile(1, 0.95) == pytest.approx(1.959964)
    assert normal_quantile(10, 0.95) == pytest.approx(NormalDist().inv_cdf(1 - 0.05 / 20))
    assert 9 < normal_quantile(2**24, 1 - 1e-12) < 10


@pytest.mark.parametrize("slope", [-0.5, 0.0, 2.0])
def test_both_methods_solve_their_equations(slope):
    variances, step = np.array([500.0, 10_000.0]), 3.0
    level, quantile = math.log(2 * 8 / 0.05), normal_quantile(8, 0.95)
    reach = half_widths(variances, step, slope, "bernstein", 8, 0.95)
    assert reach**2 == pytest.approx(2 * level * (variances + slope * reach + step * reach / 3))
    reach = half_widths(variances, step, slope, "normal", 8, 0.95)
    assert (reach - step / 2) ** 2 == pytest.approx(quantile**2 * (variances + slope * reach))


def test_the_method_is_normal_where_skewness_hardly_matters():
    methods = [method_for(NoiseVariance(3.7 * n, 1.0, n, 2.0), 16, 0.95) for n in (10, 100, 1_000, 1_000_000)]
    assert methods == ["bernstein", "bernstein", "normal", "normal"]
    assert method_for(NoiseVariance(3.7 * 1_000, 1.0, 1_000, 2.0), 10**6, 0.95) == "bernstein"
    assert method_for(NoiseVariance(0.0, 0.0, 5, 1.0), 2, 0.95) == "bernstein"


def test_intervals_stay_within_possible_counts():
    low, high = intervals(
        np.array([-500.0, 50.0, 700.0]), NoiseVariance(100, 1, 100, 2), "bernstein", comparisons=3, confidence=0.95
    )
    assert (low >= 0).all()
    assert (high <= 100).all()
    assert (low <= high).all()


def test_the_variance_at_an_impossible_count_is_no_smaller_than_at_a_possible_one():
    noise = NoiseVariance(100.0, 2.0, 50, 1.0, floor=7.0)
    assert noise.at(np.array([-40.0, 0.0, 10.0, 60.0])).tolist() == [107, 107, 127, 227]
    assert NoiseVariance(100.0, -1.0, 50, 1.0).at(np.array([200.0])).tolist() == [50]
