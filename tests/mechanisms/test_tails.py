"""Margins of weighted sums of noise: never below the exact ones, and not far above."""

import itertools
import math

import numpy as np
import pytest

from discreet.mechanisms import Gaussian, Laplace
from discreet.mechanisms.tails import _exponent, gaussian_margin, laplace_margin

OUTSIDE = [0.5, 0.05, 1e-4]


def masses_of(noise, weight, reach):
    half = np.array([noise.pmf(y) for y in range(reach + 1)])
    spaced = np.zeros(2 * weight * reach + 1)
    spaced[::weight] = np.concatenate([half[:0:-1], half])
    return spaced


def least_margin(noises, outside):
    """The exact one: convolve all, and add up from the outside."""
    total = np.ones(1)
    for noise, weight in noises:
        total = np.convolve(total, masses_of(noise, weight, 400))
    middle = len(total) // 2
    beyond = 1 - (total[middle] + 2 * np.cumsum(np.concatenate([[0], total[middle + 1 :]])))
    return int(np.argmax(beyond <= outside))


LAPLACES = [
    [(Laplace(sensitivity=1, epsilon=1), 1)],
    [(Laplace(sensitivity=1, epsilon=0.3), 1), (Laplace(sensitivity=1, epsilon=2), 3)],
    [(Laplace(sensitivity=1, epsilon=0.5), 1)] * 12,
    [(Laplace(sensitivity=1, epsilon=5), 1)] * 4,
]


@pytest.mark.guarantee("mechanisms.tails")
@pytest.mark.parametrize("outside", OUTSIDE)
@pytest.mark.parametrize("noises", LAPLACES)
def test_sums_of_laplace_noise_stay_within_the_margin(noises, outside):
    squares = sum((weight * noise.scale) ** 2 for noise, weight in noises)
    largest = max(weight * noise.scale for noise, weight in noises)
    margin = laplace_margin(squares, largest, outside)
    assert math.floor(margin) >= least_margin(noises, outside)
    assert margin <= 2.7 * least_margin(noises, outside) + 3


@pytest.mark.guarantee("mechanisms.tails")
@pytest.mark.parametrize("outside", OUTSIDE)
@pytest.mark.parametrize("count", [1, 5])
def test_sums_of_gaussian_noise_stay_within_the_margin(count, outside):
    noise = Gaussian(sensitivity=1, rho=0.02)
    margin = gaussian_margin(count * noise.sigma**2, outside)
    least = least_margin([(noise, 1)] * count, outside)
    assert least <= math.floor(margin)
    assert margin <= 2.8 * least


def test_a_larger_share_of_one_noise_never_narrows_the_margin():
    margins = [laplace_margin(4.0, largest, 0.05) for largest in (0.1, 0.5, 1, 2)]
    assert margins == sorted(margins)


def test_no_noise_has_no_margin():
    assert laplace_margin(0.0, 0.0, 0.05) == 0
    assert gaussian_margin(0.0, 0.05) == 0


@pytest.mark.guarantee("mechanisms.tails")
def test_the_exponent_of_the_tail_bound_is_the_largest_over_all_its_parameters():
    for distance, terms in itertools.product((0.5, 3, 40.0), (1.0, 30.0)):
        tried = [distance * u + terms * math.log1p(-(u**2)) for u in np.linspace(0, 1, 4001)[:-1]]
        assert max(tried) <= _exponent(distance, terms) + 1e-12 <= max(tried) + 1e-3
