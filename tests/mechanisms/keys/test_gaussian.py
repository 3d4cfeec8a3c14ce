"""Thresholds with Gaussian noise: delta is proved for the discrete noise that is drawn, and the price is a rho."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet.accounting import prices
from discreet.mechanisms.hockey_stick import tail_up
from discreet.mechanisms.keys import GaussianThreshold, LaplaceThreshold
from grids import over


def above(sigma, beyond):
    """P[Y > beyond] by adding up the discrete law."""
    reach = int(40 * sigma) + 40
    weights = {y: math.exp(-(y**2) / (2 * sigma**2)) for y in range(-reach, reach + 1)}
    return math.fsum(weight for y, weight in weights.items() if y > beyond) / math.fsum(weights.values())


@pytest.mark.guarantee("mechanisms.keys.gaussian")
@pytest.mark.guarantee("mechanisms.hockey_stick")
@pytest.mark.parametrize("sigma", [0.3, 1.0, 10.0, 300.0, 1_000.0])
def test_the_tail_is_rounded_up_and_hardly_so(sigma):
    for beyond in (-3, 0, int(sigma), int(5 * sigma), int(7 * sigma)):
        exact, stated = above(sigma, beyond), float(tail_up(sigma, beyond))
        assert stated >= exact * (1 - 1e-9)
        assert stated <= exact * 1.001


@pytest.mark.guarantee("mechanisms.keys.gaussian")
@pytest.mark.pitfall("A12")
@over("neighbours", ["add_remove", "replace_one"])
@over("groups", [1, 4, 100])
@over("delta", [1e-12, 1e-5, 0.2])
@over("rho", [0.001, 0.5])
def test_a_unit_that_is_alone_in_all_of_its_keys_shows_with_at_most_delta(rho, delta, groups, neighbours):
    rule = GaussianThreshold(rho=rho, delta=delta, groups=groups, neighbours=neighbours)
    sigma = rule.noise.sigma
    assert 1 - (1 - tail_up(sigma, rule.threshold - 1)) ** groups <= rule.delta
    assert -math.expm1(groups * math.log1p(-above(sigma, rule.threshold - 1))) <= delta * (1 + 1e-9)
    if rule.threshold > 1:
        assert -math.expm1(groups * math.log1p(-above(sigma, rule.threshold - 2))) > delta * (1 - 1e-3)


@pytest.mark.guarantee("mechanisms.keys.gaussian")
@pytest.mark.pitfall("A12")
def test_the_threshold_of_laplace_noise_of_the_same_deviation_would_break_delta_or_keep_less():
    """The two have different tails: at a large delta Laplace's threshold is too low, at a small one too high."""
    for delta, is_too_low in ((0.05, True), (1e-9, False)):
        rule = GaussianThreshold(rho=0.01, delta=delta)
        laplace = LaplaceThreshold(epsilon=math.sqrt(2) / rule.noise.sigma, delta=delta)
        assert (above(rule.noise.sigma, laplace.threshold - 1) > delta) is is_too_low


@pytest.mark.guarantee("mechanisms.keys.gaussian")
@pytest.mark.pitfall("A12")
@pytest.mark.statistical(false_alarm=1e-6)
def test_a_hundred_thousand_singletons_stay_within_the_claimed_delta(samples):
    """False alarm: 1e-6."""
    rule = GaussianThreshold(rho=0.1, delta=Fraction(49, 10_000))
    many = samples(100_000)
    shown = len(rule.release(np.ones(many, dtype=np.int64)))
    assert shown <= stats.binom.isf(1e-6, many, 0.0049)


@pytest.mark.statistical(false_alarm=1e-6)
def test_draws_fit_the_chances(samples):
    """False alarms: 1e-6, two-sided binomial tests over four numbers of units."""
    rule, draws = GaussianThreshold(rho=0.5, delta=0.01, groups=2, at_least=2), samples(5_000)
    for units in (1, 2, 5, 8):
        kept = rule.release([units] * draws)
        assert all(one.units - 1 > rule.threshold for one in kept)
        assert stats.binomtest(len(kept), draws, rule.keep_probability(units)).pvalue > 1e-6 / 4


@pytest.mark.parametrize(("neighbours", "times"), [("add_remove", 1), ("replace_one", 2)])
def test_the_price_is_that_of_the_noise_and_of_delta(neighbours, times):
    rule = GaussianThreshold(rho=0.02, delta=1e-9, groups=3, neighbours=neighbours)
    price = prices.total(rule.event())
    assert price.epsilon is None
    assert price.rho == rule.rho == 3 * times / (2 * Fraction(rule.noise.sigma) ** 2)
    assert price.rho <= Fraction(2, 100)
    assert price.delta == Fraction(1, 10**9)


def test_units_with_many_keys_need_fewer_units_than_by_laplace_noise_of_the_same_rho():
    gaussian = GaussianThreshold(rho=0.02, delta=1e-9, groups=50)
    assert 3 * gaussian.least_units() < LaplaceThreshold(epsilon=0.2, delta=1e-9, groups=50).least_units()
