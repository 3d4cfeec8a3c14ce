"""Draws against the law that a mechanism states. False alarms: 1e-6 for each call of a check."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.auditing.finding import Verdict
from discreet.auditing.statistical import goodness_of_fit
from discreet.auditing.statistical.goodness_of_fit import check_fit, check_margin, critical, divergence
from discreet.mechanisms import Gaussian, Laplace
from discreet.testing import generator

NOISE = [
    Laplace(sensitivity=1, epsilon=1),
    Laplace(sensitivity=1, epsilon=1e-9),
    Laplace(sensitivity=1, epsilon=40),
    Laplace(sensitivity=1, epsilon=0.05, grid=Fraction(1, 3)),
    Gaussian(sensitivity=1, rho=1),
    Gaussian(sensitivity=1000, rho=1e-6),
    Gaussian(sensitivity=1, rho=30),
]


@dataclass(frozen=True)
class Drawing:
    """A mechanism that states one thing and draws another."""

    stated: Any
    drawn: Any
    margin_of: Any = None
    has_cdf: bool = True

    @property
    def grid(self):
        return self.stated.grid

    @property
    def cdf(self):
        return self.stated.cdf if self.has_cdf else None

    def pmf(self, y):
        return self.stated.pmf(y)

    def margin(self, confidence):
        return (self.margin_of or self.stated).margin(confidence)

    def release(self, value):
        return self.drawn.release(value)


@pytest.mark.guarantee("auditing.statistical.goodness_of_fit")
@pytest.mark.statistical(false_alarm=2e-6)
@pytest.mark.parametrize("mechanism", NOISE, ids=repr)
def test_draws_of_our_mechanisms_fit_and_stay_within_their_margins(mechanism, samples):
    fit, margin = check_fit(mechanism, samples=samples(3_000)), check_margin(mechanism, samples=samples(2_000))
    assert fit.verdict is margin.verdict is Verdict.NOTHING_FOUND
    assert fit.alarm == margin.alarm == 1e-6


@pytest.mark.parametrize("number", [20_000, 80_000])
@pytest.mark.parametrize("has_cdf", [True, False])
@pytest.mark.parametrize(
    ("stated", "drawn"),
    [
        (Laplace(sensitivity=1, epsilon=1), Laplace(sensitivity=1, epsilon=1.3)),
        (Laplace(sensitivity=1, epsilon=0.1), Gaussian.with_sigma(sigma=14, sensitivity=1)),
        (Gaussian.with_sigma(sigma=10, sensitivity=1), Gaussian.with_sigma(sigma=8, sensitivity=1)),
    ],
    ids=["another scale", "another shape", "another sigma"],
)
def test_draws_of_another_law_are_found(stated, drawn, has_cdf, number):
    """Missed with a probability below 1e-12: a relative entropy of 0.03 or more in each draw, over 15 deviations."""
    mechanism = Drawing(stated, drawn, has_cdf=has_cdf)
    assert check_fit(mechanism, samples=number).is_broken


def test_draws_that_are_impossible_are_found():
    class Even:
        def pmf(self, y):
            return Laplace(sensitivity=1, epsilon=1).pmf(y // 2) if y % 2 == 0 else 0.0

        def release(self, value):
            return Laplace(sensitivity=1, epsilon=1).release(value)

    assert check_fit(Even(), samples=2_000).is_broken


@pytest.mark.parametrize("number", [20_000, 80_000])
def test_a_margin_that_is_too_small_is_found(number):
    """It covers 92%, not 95%, 16 deviations below: missed with a probability below 1e-12."""
    stated = Laplace(sensitivity=1, epsilon=0.1)
    small = Drawing(stated, stated, margin_of=Laplace(sensitivity=1, epsilon=0.12))
    finding = check_margin(small, samples=number)
    assert finding.is_broken
    assert finding.found < finding.stated


def test_noise_too_wide_for_its_pmf_is_skipped():
    wide = Laplace(sensitivity=1, epsilon=1e-6)
    assert check_fit(Drawing(wide, wide, has_cdf=False), samples=500).verdict is Verdict.SKIPPED


def test_a_mechanism_without_vectors_is_drawn_one_by_one():
    class Scalars:
        def release(self, value):
            if isinstance(value, list):
                raise TypeError
            return value + 3

    assert goodness_of_fit.many(Scalars(), 4, 5) == [7] * 5
    assert goodness_of_fit.steps(Scalars(), 3) == [3] * 3


@pytest.mark.guarantee("auditing.statistical.goodness_of_fit")
@pytest.mark.parametrize(("bins", "draws"), [(2, 30), (5, 100), (20, 400)])
def test_the_bound_on_the_statistic_holds_in_simulation(bins, draws):
    """Of the statistics of a true law a tenth may exceed the bound for 0.1. The counts are seeded."""
    random = generator(1)
    for chances in (np.full(bins, 1 / bins), np.arange(1, bins + 1) / (bins * (bins + 1) / 2)):
        limit = critical(bins, 0.1)
        seen = [divergence(counts, chances) for counts in random.multinomial(draws, chances, 4_000)]
        assert sum(value > limit for value in seen) <= 400


def test_the_bound_is_the_one_that_was_proved():
    for bins, alarm in ((2, 1e-3), (10, 1e-6), (25, 1e-9)):
        limit, free = critical(bins, alarm), bins - 1
        assert limit > free
        assert math.exp(-limit) * (math.e * limit / free) ** free == pytest.approx(alarm)


def test_the_statistic_is_infinite_for_the_impossible_and_zero_for_the_expected():
    assert divergence([1, 0], [0.0, 1.0]) == math.inf
    assert divergence([50, 50], [0.5, 0.5]) == 0


def test_bins_are_chosen_by_earlier_draws_and_pool_the_ends():
    edges = goodness_of_fit.chosen_edges([0] * 90 + list(range(-5, 6)))
    assert edges == sorted(set(edges))
    assert {0, 1} <= set(edges)
    assert len(goodness_of_fit.chosen_edges(list(range(10_000)))) <= goodness_of_fit.MOST_BINS + 1


def test_outcomes_are_put_into_bins_by_their_chances_and_all_others_into_the_last():
    law = {"a": 0.5, "b": 0.3, "c": 0.1, "d": 0.05}
    part = goodness_of_fit.part_of_outcomes(["a", "a", "b", "c", "d", "never said"], law)
    assert list(part.seen) == [2, 1, 3]
    assert list(part.expected) == pytest.approx([0.5, 0.3, 0.2])


def test_noise_is_put_into_bins_around_zero_whose_chances_add_up():
    noise = Laplace(sensitivity=4, epsilon=1)
    part = goodness_of_fit.part_of_noise([-100, -1, 0, 0, 1, 100], noise, noise.scale)
    assert sum(part.seen) == 6
    assert max(part.seen) == 2
    assert sum(part.expected) == pytest.approx(1)
    assert part.expected[list(part.seen).index(2)] == pytest.approx(noise.pmf(0))


def test_parts_are_held_together_against_the_bins_of_all():
    """Each part alone stays within what chance allows; ten of them do not."""
    part = goodness_of_fit.BinCounts([130, 70], [0.5, 0.5])
    alone, together = (goodness_of_fit.check_parts([part] * times, alarm=1e-6, name="coins") for times in (1, 10))
    assert not alone.is_broken
    assert together.is_broken
    assert (together.samples, together.alarm) == (2_000, 1e-6)
    assert goodness_of_fit.critical(11, 1e-6) < 10 * goodness_of_fit.divergence(*part)


def test_an_outcome_that_cannot_be_breaks_the_law():
    assert goodness_of_fit.check_parts(
        [goodness_of_fit.BinCounts([1, 9], [0.0, 1.0])], alarm=1e-6, name="a coin"
    ).is_broken
