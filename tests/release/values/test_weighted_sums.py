"""Margins of weighted sums of noise: never below the exact least ones, and hardly above them."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.signal import fftconvolve

from discreet.mechanisms import Gaussian, Laplace
from discreet.release.values.error_bounds import margin
from discreet.release.values.weighted_sums import _DEGREE, _LARGEST, Sums, _Inversion

LEVELS = (Fraction(1, 2), Fraction(19, 20), Fraction(99, 100), Fraction(999, 1000))


def laplace(scale):
    return Laplace.with_scale(scale=scale, sensitivity=1)


def gaussian(sigma):
    return Gaussian.with_sigma(sigma=sigma, sensitivity=1)


def sums_of(terms):
    """One sum of weighted noises, which are listed as pairs."""
    return Sums.of([noise for _, noise in terms], [np.array([[float(weight)]]) for weight, _ in terms])


def law_of(terms, step):
    """The probabilities of all multiples of a step, for weights that are multiples of it, by convolution."""
    whole = np.ones(1)
    for weight, noise in terms:
        reach, times = int(noise.margin(1 - Fraction(1, 10**11))), round(abs(weight) / step)
        spaced = np.zeros(2 * times * reach + 1)
        spaced[:: max(1, times)] = [noise.pmf(y) for y in range(-reach, reach + 1)] if times else 1
        whole = fftconvolve(whole, spaced)
    return whole


def least_margin(law, level):
    middle = len(law) // 2
    within = law[middle] + 2 * np.concatenate([[0], np.cumsum(law[middle + 1 :])])
    return int(np.argmax(within >= float(level) - 1e-9))


MIXTURES = {
    "one narrow": [(1, laplace(0.4))],
    "one wide": [(0.25, laplace(40.0))],
    "narrow": [(1, laplace(1.0)), (0.7, laplace(2.0)), (-0.3, laplace(1.0))],
    "narrow Gaussian": [(1, gaussian(0.6)), (0.7, gaussian(1.3)), (-0.3, gaussian(2.5))],
    "both kinds": [(1, laplace(3.0)), (0.9, gaussian(5.0)), (0.1, laplace(20.0)), (0.5, gaussian(1.0))],
    "a tree": [(1 - 0.1 * i, laplace(5.0)) for i in range(8)] + [(0.1, laplace(7.0))] * 12,
    "alike": [(1, laplace(1.5))] * 45,
    "many": [(0.02 * i, laplace(4.0)) for i in range(1, 50)],
    "many of both kinds": [(0.02 * i, laplace(2.0) if i % 3 else gaussian(6.0)) for i in range(1, 50)],
    "many Gaussian": [(0.02 * i, gaussian(3.0)) for i in range(1, 50)],
}
STEPS = {"one wide": 0.25, "alike": 1, "many": 0.02, "many of both kinds": 0.02, "many Gaussian": 0.02}


@pytest.mark.guarantee("release.values.weighted_sums")
@pytest.mark.parametrize("name", MIXTURES)
def test_margins_hold_by_the_exact_law_and_are_at_most_two_percent_above_the_least(name):
    """The law by convolution. A margin may also be up to a step of the grid of values above the least."""
    step = STEPS.get(name, 0.1)
    law, sums = law_of(MIXTURES[name], step), sums_of(MIXTURES[name])
    for level in LEVELS:
        least, found = least_margin(law, level) * step, float(sums.margins(level)[0])
        assert found >= least - 1e-9
        if level >= Fraction(9, 10):
            assert found <= 1.02 * least + step


@pytest.mark.guarantee("release.values.weighted_sums")
@pytest.mark.parametrize("count", [1, 2, 7, 40, 400])
@pytest.mark.parametrize(
    "noise", [laplace(1.0), laplace(30.0), laplace(65_537.0), gaussian(0.4), gaussian(50.0)], ids=str
)
def test_equal_weights_have_the_margins_of_whole_numbers(noise, count):
    sums = Sums.of([noise], [np.full((1, count), 0.3)])
    for level in LEVELS[1:]:
        least, found = 0.3 * margin([(1, noise)] * count, level), float(sums.margins(level)[0])
        assert 0.995 * least <= found <= 1.02 * least + 0.3
        assert count > 1 or found >= least


@pytest.mark.guarantee("release.values.weighted_sums")
def test_terms_beyond_the_largest_keep_the_margin_right():
    """Three times as many different weights as count exactly, by convolution in steps of a thousandth."""
    random = np.random.default_rng(5)
    weights = np.round(np.exp(random.normal(-2, 1, 3 * _LARGEST)), 2) + 0.01
    for make in (laplace, gaussian):
        terms = [(weight, make(3.0)) for weight in weights]
        law, sums = law_of(terms, 0.01), sums_of(terms)
        assert sums.rest.largest[0] > 0
        for level in LEVELS[1:3]:
            least = least_margin(law, level) * 0.01
            assert least - 1e-9 <= float(sums.margins(level)[0]) <= 1.02 * least


@pytest.mark.guarantee("release.values.weighted_sums")
def test_bounds_on_characteristic_functions_hold_for_all_terms_together():
    random = np.random.default_rng(6)
    noises = [laplace(2.0), gaussian(0.7), gaussian(4.0)]
    weights = [np.exp(random.normal(-1, 1, (5, 60))) for _ in noises]
    t = np.linspace(0.001, 3, 400) * np.ones((5, 1))
    factors = zip(noises, weights, strict=True)
    exact = math.prod(noise.characteristic(part[:, :, None] * t[:, None, :]).prod(axis=1) for noise, part in factors)
    low, high = Sums.of(noises, weights).spectrum(t)
    assert (low <= exact + 1e-15).all()
    assert (exact <= high + 1e-15).all()
    assert (Sums.of(noises, weights).spectrum(t, 8)[1] >= exact - 1e-15).all()


@pytest.mark.guarantee("release.values.weighted_sums")
def test_the_polynomial_is_below_the_indicator_of_the_interval():
    """The characteristic function of a point is a cosine: the bound on its probability is the polynomial there."""
    harmonics = np.arange(1, _DEGREE + 1)
    for point, distance in itertools.product(np.linspace(0, 0.5, 401), (0.01, 0.1, 0.21)):
        wave = np.cos(2 * math.pi * harmonics * point)[None, :]
        found = _Inversion.coverage(np.array([distance]), wave, wave)[0]
        assert found <= (1 if point < distance else 0) + 1e-9
    flat = np.zeros((1, _DEGREE))
    assert _Inversion.coverage(np.array([0.2]), flat, flat)[0] == pytest.approx(0.4 - 1 / (_DEGREE + 1))


def test_margins_grow_with_the_confidence():
    """Of confidences close to each other the higher one may have a margin that is smaller, by 1% and a step."""
    levels = [1 - Fraction(1, 2**power) for power in range(1, 45)]
    for terms in MIXTURES.values():
        sums = sums_of(terms)
        found = np.array([float(sums.margins(level)[0]) for level in levels])
        assert (found[:-2] < found[2:] + 1e-9).all()
        assert (found[:-1] <= 1.01 * found[1:] + 1).all()


def test_next_to_certainty_margins_are_chernoffs_and_those_of_gaussian_noise_in_closed_form():
    level = 1 - Fraction(1, 10**40)
    sums = sums_of([(1, gaussian(3.0)), (2, gaussian(2.0))])
    assert sums.margins(level)[0] == pytest.approx(5 * math.sqrt(2 * math.log(2e40)), rel=1e-6)
    assert sums_of(MIXTURES["both kinds"]).margins(level)[0] > sums_of(MIXTURES["both kinds"]).margins(LEVELS[3])[0]


def test_many_sums_at_once_have_the_margins_that_each_has_alone():
    random = np.random.default_rng(7)
    weights = np.exp(random.normal(-1, 2, (700, 90)))
    weights[::7, 1:] = 0
    weights[3::7, 20:] = 1
    noises = [laplace(3.0), gaussian(8.0)]
    parts = [weights[:, :50], weights[:, 50:]]
    together = Sums.of(noises, parts).margins(LEVELS[1])
    for row in (0, 3, 10, 350, 699):
        alone = Sums.of(noises, [part[row : row + 1] for part in parts]).margins(LEVELS[1])
        assert alone[0] == pytest.approx(together[row], rel=1e-12)


def test_counted_weights_are_the_same_as_repeated_ones():
    random = np.random.default_rng(8)
    weights, counts = np.exp(random.normal(-1, 1, (4, 200))), random.integers(0, 4, (4, 200))
    for row in range(4):
        repeated = np.repeat(weights[row], counts[row])[None, :]
        listed = Sums.of([laplace(2.0)], [repeated]).margins(LEVELS[1])
        counted = Sums.of([laplace(2.0)], [weights[row : row + 1]], [counts[row : row + 1].astype(float)])
        assert counted.margins(LEVELS[1])[0] == pytest.approx(listed[0], rel=1e-3)


def test_a_sum_of_nothing_is_within_nothing():
    sums = Sums.of([laplace(2.0)], [np.array([[0.0, 0.0], [0.0, 1.0]])])
    assert sums.margins(LEVELS[1])[0] == 0
    assert sums.margins(LEVELS[1])[1] >= laplace(2.0).margin()


@pytest.mark.guarantee("release.values.weighted_sums")
def test_sums_of_which_powers_are_known_have_margins_hardly_above_those_of_all_weights():
    random = np.random.default_rng(9)
    noises = [laplace(3.0), gaussian(6.0), laplace(9.0)]
    own, others = random.uniform(0.2, 1, (6, 3)), random.uniform(0, 0.15, (3, 6, 40))
    powers = [(others**2).sum(axis=2).T, (others**4).sum(axis=2).T, others.max(axis=2).T]
    known = Sums.with_rest(noises, own, *powers)
    every = Sums.of(noises, [np.concatenate([own[:, [i]], others[i]], axis=1) for i in range(3)])
    assert known.chernoff(Fraction(1, 20)) == pytest.approx(every.chernoff(Fraction(1, 20)), rel=1e-9)
    t = np.linspace(0.001, 0.5, 100) * np.ones((6, 1))
    (low, high), (inner_low, inner_high) = known.spectrum(t), every.spectrum(t)
    assert (low <= inner_high + 1e-15).all()
    assert (inner_low <= high + 1e-15).all()
    for level in LEVELS[1:3]:
        assert (known.margins(level) <= 1.01 * every.margins(level)).all()
        assert (known.margins(level) >= 0.985 * every.margins(level)).all()


def test_sums_that_are_only_bounded_have_chernoffs_margin():
    noise = laplace(5.0)
    exact = Sums.of([noise], [np.ones((1, 4))])
    bounded = Sums.bounded([noise], np.array([4 * noise.variance_bound]), np.array([noise.variance_bound]))
    assert bounded.margins(LEVELS[1])[0] == pytest.approx(exact.chernoff(Fraction(1, 20))[0])
    mixed = Sums.bounded([noise, gaussian(2.0)], np.array([54.0]), np.array([50.0]))
    assert mixed.margins(LEVELS[1])[0] >= sums_of([(1, noise), (1, gaussian(2.0))]).margins(LEVELS[1])[0]
