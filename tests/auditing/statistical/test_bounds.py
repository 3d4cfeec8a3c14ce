"""Bounds from counts: their chance of being wrong is computed exactly, by summing the binomial."""

import math

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from discreet.auditing.claims import claim
from discreet.auditing.statistical import bounds

PLACES = np.linspace(0.001, 0.999, 333)


@pytest.mark.parametrize("count", [1, 2, 7, 40])
@pytest.mark.parametrize("alarm", [0.2, 0.05, 1e-4])
def test_bounds_are_wrong_with_at_most_their_alarm_whatever_the_probability(count, alarm):
    hits = np.arange(count + 1)
    lower = np.array([bounds.at_least(int(k), count, alarm) for k in hits])
    upper = np.array([bounds.at_most(int(k), count, alarm) for k in hits])
    for place in PLACES:
        chances = binom.pmf(hits, count, place)
        assert chances[lower > place].sum() <= alarm * (1 + 1e-9)
        assert chances[upper < place].sum() <= alarm * (1 + 1e-9)


def test_bounds_are_those_of_clopper_and_pearson():
    for hits, count in ((0, 10), (3, 10), (10, 10), (812, 1000), (1, 100_000)):
        interval = binomtest(hits, count).proportion_ci(confidence_level=0.98, method="exact")
        assert bounds.at_least(hits, count, 0.01) == pytest.approx(interval.low, abs=1e-12)
        assert bounds.at_most(hits, count, 0.01) == pytest.approx(interval.high, abs=1e-12)


def test_an_event_that_never_came_has_a_chance_of_at_most_that_of_not_coming():
    assert bounds.at_most(0, 50, 0.05) == pytest.approx(1 - 0.05 ** (1 / 50))
    assert (bounds.at_least(0, 50, 0.05), bounds.at_most(50, 50, 0.05)) == (0.0, 1.0)


def test_a_lower_bound_on_epsilon_is_wrong_with_at_most_the_alarm():
    count, alarm = 30, 0.1
    hits = np.arange(count + 1)
    found = np.array([[bounds.least(claim(epsilon=1), i, j, count, alarm) for j in hits] for i in hits])
    for there in (0.01, 0.05, 0.2, 0.3):
        chances = np.outer(binom.pmf(hits, count, math.e * there), binom.pmf(hits, count, there))
        assert chances[found > 1].sum() <= alarm


def test_one_pair_of_bounds_speaks_in_every_currency():
    pair = bounds.probabilities(812, 203, 1000, 1e-3)
    said = bounds.statements(pair, claim(epsilon=1, delta=0.01))
    assert said["epsilon"] == claim(epsilon=1, delta=0.01).lower_bound(*pair)
    assert said["mu"] == claim(mu=1).lower_bound(*pair)
    assert said["rho"] == claim(rho=1).lower_bound(*pair)
    assert said["delta"] == pytest.approx(1 - pair.most - math.e * (1 - pair.least))
    assert "delta" not in bounds.statements(pair, claim(mu=1))


def test_what_is_said_of_delta_comes_from_the_event_or_from_its_complement():
    for pair in (bounds.Probabilities(0.999, 0.5), bounds.Probabilities(0.5, 0.001)):
        assert bounds.statements(pair, claim(epsilon=1))["delta"] == pytest.approx(0.5 - math.e * 0.001)


def test_points_of_the_trade_off_hold_together():
    levels, count, alarm = np.array([0.0, 1.0]), 40, 0.1
    points = bounds.trade_off(levels, np.array([30, 10]), np.array([12, 2]), count, alarm)
    assert [point.level for point in points] == [0.0, 1.0]
    assert points[0].false_positive == bounds.at_most(12, count, alarm / 4)
    assert points[1].false_negative == 1 - bounds.at_least(10, count, alarm / 4)
    assert bounds.trade_off(np.empty(0), np.empty(0), np.empty(0), count, alarm) == []
