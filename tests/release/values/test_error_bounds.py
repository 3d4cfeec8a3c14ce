"""Margins of several noises together: held against their probabilities, written out, and against draws."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import fftconvolve
from scipy.stats import binom

from discreet.mechanisms import Gaussian, Laplace
from discreet.release.values.error_bounds import margin, margin_of_crowds
from grids import over

LEVELS = (Fraction(1, 2), Fraction(19, 20), Fraction(999, 1000))
FALSE_ALARM = 1e-6


def _gaussian(sigma: float) -> Gaussian:
    return Gaussian.with_sigma(sigma=sigma, sensitivity=1)


def _laplace(scale: float) -> Laplace:
    return Laplace.with_scale(scale=scale, sensitivity=1)


def _written_out(mixture) -> np.ndarray:
    """The probability of every value, from the lowest to the highest, by the definition of a sum."""
    whole = np.ones(1)
    for times, noise in mixture:
        reach = int(noise.margin(1 - 1e-13))
        spaced = np.zeros(2 * times * reach + 1)
        spaced[::times] = [noise.pmf(y) for y in range(-reach, reach + 1)]
        whole = fftconvolve(whole, spaced)
    return whole


def _within(masses: np.ndarray, most: int) -> float:
    middle = len(masses) // 2
    return float(masses[max(0, middle - most) : middle + most + 1].sum()) if most >= 0 else 0.0


noises = st.one_of(st.floats(0.05, 25).map(_gaussian), st.floats(0.05, 8).map(_laplace))
mixtures = st.lists(st.tuples(st.integers(1, 7), noises), min_size=2, max_size=3)


@settings(deadline=None, max_examples=60)
@given(mixtures, st.sampled_from(LEVELS))
def test_of_few_possible_values_the_margin_is_the_least(mixture, level):
    masses, found = _written_out(mixture), margin(mixture, level)
    assert _within(masses, found) >= float(level) - 1e-9
    assert _within(masses, found - 1) < float(level) + 1e-9


@over("level", LEVELS)
@over("make", [_gaussian, _laplace])
@over("times", [(1, 40, 200), (2, 1, 60), (300, 300, 1), (1, 1000, 1)])
def test_of_many_possible_values_the_margin_is_at_most_two_percent_above_the_least(times, make, level):
    mixture = list(zip(times, map(make, (150.0, 11.0, 1.5)), strict=True))
    masses, found = _written_out(mixture), margin(mixture, level)
    assert _within(masses, found) >= float(level) - 1e-9
    assert _within(masses, int(found * 0.98) - 2) < float(level)


@pytest.mark.statistical(false_alarm=6e-6)
@pytest.mark.parametrize("make", [_gaussian, _laplace])
def test_margins_cover_draws_as_often_as_they_say(make, samples):
    """False alarms: a band of 1e-6 on each side of three levels; margins are too wide by less than half a percent."""
    mixture, many = [(2, make(3.4e6)), (25_000, make(121.0)), (125_000, make(18.4))], samples(20_000)
    draws = sum(times * np.array(noise.release([0] * many), dtype=object) for times, noise in mixture)
    for level in LEVELS:
        inside = int((np.abs(draws) <= margin(mixture, level)).sum())
        assert binom.ppf(FALSE_ALARM, many, float(level)) <= inside
        assert inside <= binom.isf(FALSE_ALARM, many, min(1, float(level) + 0.005))


def test_one_noise_has_the_margin_of_its_mechanism_times_how_often_it_counts():
    noise = _gaussian(7.0)
    assert margin([(1, noise)], LEVELS[1]) == noise.margin(LEVELS[1])
    assert margin([(-3, noise), (0, _laplace(5.0))], LEVELS[1]) == 3 * noise.margin(LEVELS[1])
    assert margin([], LEVELS[1]) == 0


def test_sizes_far_apart_and_beyond_64_bits_have_margins():
    mixture = [(10**20, _gaussian(30.0)), (1, _laplace(2.0**49)), (3, _gaussian(0.001))]
    assert 1.9 < margin(mixture, LEVELS[1]) / (10**20 * 30) < 2.1
    assert margin([(1, _gaussian(0.001)), (7, _gaussian(0.001))], LEVELS[1]) == 0


def test_confidence_next_to_certainty_has_chernoffs_margin_and_never_more_than_all_added_up():
    level = 1 - Fraction(1, 10**40)
    mixture = [(1, _laplace(10.0)), (5, _laplace(2.0))]
    half = 1 - (1 - level) / 2
    assert margin(mixture, LEVELS[2]) < margin(mixture, level)
    assert margin(mixture, level) <= sum(times * noise.margin(half) for times, noise in mixture)
    masses = _written_out([(1, _laplace(10.0)), (5, _laplace(2.0))])
    small = 1 - Fraction(1, 10**8)
    assert _within(masses, margin(mixture, small)) >= float(small) - 1e-10


@pytest.mark.guarantee("release.values.error_bounds")
@pytest.mark.parametrize("size", [2, 7, 60, 1_000])
@pytest.mark.parametrize("make", [_gaussian, _laplace])
def test_a_crowd_has_the_least_margin_of_its_sum_written_out(make, size):
    """The distribution of the sum is the power of that of one, by transforms of twice the length."""
    noise, reach = make(4.0), 160
    one = np.zeros(2**16)
    one[: reach + 1] = [noise.pmf(y) for y in range(reach + 1)]
    one[-reach:] = [noise.pmf(y) for y in range(reach, 0, -1)]
    masses = np.fft.irfft(np.fft.rfft(one) ** size, 2**16)
    for level in LEVELS:
        found = margin_of_crowds({(1, noise): size}, level)
        within = [masses[0] + 2 * masses[1 : most + 1].sum() for most in (found, found - 1)]
        assert within[0] >= float(level) - 1e-9
        assert within[1] < float(level) + 1e-6


@pytest.mark.guarantee("release.values.error_bounds")
@pytest.mark.statistical(false_alarm=6e-6)
@pytest.mark.parametrize("make", [_gaussian, _laplace])
def test_a_crowd_of_wide_noises_is_in_cells_and_still_covers(make, samples):
    """2,000 sums of 40 draws of two sizes. False alarms: 1e-6 on each side of each of three bands."""
    wide, narrow, many = make(2.0e6), make(900.0), samples(2_000)
    sizes = {(1, wide): 30, (1_000, narrow): 10}
    drawn = np.array(wide.release([0] * 30 * many), dtype=object).reshape(many, 30).sum(axis=1)
    drawn = drawn + 1_000 * np.array(narrow.release([0] * 10 * many), dtype=object).reshape(many, 10).sum(axis=1)
    for level in LEVELS:
        inside = int((np.abs(drawn) <= margin_of_crowds(sizes, level)).sum())
        assert binom.ppf(FALSE_ALARM, many, float(level)) <= inside
        assert inside <= binom.isf(FALSE_ALARM, many, min(1, float(level) + 0.005))


@pytest.mark.parametrize("size", [100, 10_000, 100_000])
def test_of_many_wide_noises_the_margin_is_at_most_three_percent_above_that_of_a_normal_sum(size):
    noise = _gaussian(3.0e7)
    normal = 1.959964 * 3.0e7 * size**0.5
    assert normal * 0.999 < margin_of_crowds({(1, noise): size}, LEVELS[1]) < normal * 1.03


def test_a_factor_that_all_share_is_taken_out():
    sizes = {(6, _gaussian(5.0)): 3, (10, _laplace(2.0)): 2}
    halved = {(3, _gaussian(5.0)): 3, (5, _laplace(2.0)): 2}
    assert margin_of_crowds(sizes, LEVELS[1]) == 2 * margin_of_crowds(halved, LEVELS[1])
    assert margin_of_crowds({}, LEVELS[1]) == margin_of_crowds({(0, _gaussian(5.0)): 9}, LEVELS[1]) == 0


def test_very_many_kinds_of_noise_have_a_margin_too():
    sizes = {(times, _gaussian(5.0)): 1 for times in range(1, 200)}
    deviation = 5.0 * sum(times**2 for times in range(1, 200)) ** 0.5
    assert 1.96 * deviation < margin_of_crowds(sizes, LEVELS[1]) < 2.75 * deviation
