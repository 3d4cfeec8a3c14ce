"""The interface of additive noise: every class says the same of itself that its draws, its pmf and its event say."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from discreet.accounting import prices
from discreet.errors import UnsupportedError
from discreet.mechanisms import NOISES, Gaussian, Laplace, additive_noise


@dataclass(frozen=True)
class Moved:
    l0: int = 2
    l1: int = 6
    l2_squared: int = 20
    linf: int = 4


AMOUNTS = [Fraction(1, 20), Fraction(1, 2), Fraction(3)]
CALIBRATED = [(kind, amount) for kind in NOISES for amount in AMOUNTS]


def test_each_noise_is_found_by_its_tag_and_by_its_published_name_and_nothing_else_is():
    assert [additive_noise(kind.tag) for kind in NOISES] == list(NOISES)
    assert [additive_noise(kind.name) for kind in NOISES] == list(NOISES)
    assert additive_noise("discrete Laplace above a threshold") is None


@pytest.mark.parametrize(("kind", "amount"), CALIBRATED)
def test_calibrated_noise_costs_at_most_the_amount_and_its_event_costs_the_same(kind, amount):
    noise = kind.calibrate(Moved(), amount)
    assert noise.amount <= amount
    assert noise.amount >= amount * (1 - Fraction(1, 10**12))
    price = prices.total(noise.event())
    assert (price.epsilon if kind.cost == "epsilon" else price.rho) == noise.amount


@pytest.mark.parametrize(("kind", "amount"), CALIBRATED)
def test_noise_covers_what_it_was_calibrated_for_and_nothing_that_moves_farther_in_its_norms(kind, amount):
    noise = kind.calibrate(Moved(), amount)
    assert noise.covers(Moved())
    for norm in kind.norms:
        assert not noise.covers(Moved(**{norm: getattr(Moved(), norm) + 1})), norm


@pytest.mark.parametrize(("kind", "amount"), CALIBRATED)
def test_a_release_publishes_enough_to_have_the_same_distribution_again(kind, amount):
    noise = kind.calibrate(Moved(), amount)
    again = kind.from_release(noise.width, noise.shape, Moved().l1, Moved().l2_squared)
    assert [again.pmf(y) for y in range(40)] == [noise.pmf(y) for y in range(40)]


@pytest.mark.parametrize(("kind", "amount"), CALIBRATED)
def test_tails_weights_and_moments_are_those_of_the_probabilities(kind, amount):
    noise = kind.calibrate(Moved(), amount)
    reach = int(noise.margin(1 - Fraction(1, 10**14)))
    masses = {y: noise.pmf(y) for y in range(-reach, reach + 1)}
    assert math.fsum(masses.values()) == pytest.approx(1, abs=1e-9)
    assert math.fsum(y * y * p for y, p in masses.items()) == pytest.approx(noise.variance, rel=1e-6)
    assert noise.variance <= noise.variance_bound * (1 + 1e-9)
    for t in (0, 1, 3, reach // 3):
        assert noise.tail(t) == pytest.approx(math.fsum(p for y, p in masses.items() if abs(y) > t), abs=1e-9)
        assert noise.cdf(t) == pytest.approx(math.fsum(p for y, p in masses.items() if y <= t), abs=1e-9)
        assert noise.log_weight(t) == pytest.approx(math.log(masses[t] / masses[0]), abs=1e-9)
    for part in (0.1, 0.5):
        s = part / noise.width
        exact = math.log(math.fsum(p * math.exp(s * y) for y, p in masses.items()))
        assert exact <= noise.log_moment(s) + 1e-6


def test_unit_variances_are_those_of_wide_noise():
    for kind in (Laplace, Gaussian):
        amount = Fraction(1, 10**4)
        noise = kind.calibrate(Moved(), amount)
        assert noise.variance == pytest.approx(float(kind.unit_variance(Moved()) / amount**kind.power), rel=1e-3)


def test_draws_alone_are_as_many_as_asked_for():
    for kind in NOISES:
        assert len(kind.calibrate(Moved(), Fraction(1)).draw(7)) == 7


def widths_of(kind):
    return [kind.from_release(width, (), 1, 1) for width in (0.3, 0.9, 1.5, 2.9, 20.0)]


@pytest.mark.parametrize("noise", [noise for kind in NOISES if kind.bounds_sums for noise in widths_of(kind)], ids=str)
def test_characteristic_functions_are_those_of_the_probabilities_and_within_their_bounds(noise):
    x = np.concatenate([np.linspace(0, 7, 200), [1e-4, 2 * math.pi, 40.0]])
    reach = int(noise.margin(1 - 1e-14))
    exact = sum((2 if y else 1) * noise.pmf(y) * np.cos(y * x) for y in range(reach + 1))
    found = noise.characteristic(x)
    assert found == pytest.approx(exact, abs=1e-11)
    turned = noise.variance * (1 - np.cos(x))
    assert (found <= (np.exp(-turned) if noise.is_subgaussian else 1 / (1 + turned)) + 1e-12).all()
    floor = noise.variance_bound if noise.is_subgaussian else noise.variance
    assert (found >= np.exp(-floor * x**2 / 2) - 1e-12).all()
    half = noise.variance_bound / 2
    for s in np.linspace(0.01, 0.99, 20) / math.sqrt(half):
        assert noise.log_moment(s) <= (half * s**2 if noise.is_subgaussian else -math.log1p(-half * s**2)) + 1e-12


def test_noise_whose_characteristic_function_is_not_known_refuses_to_state_one():
    for kind in NOISES:
        if not kind.bounds_sums:
            with pytest.raises(UnsupportedError, match="its characteristic function is not known"):
                kind.calibrate(Moved(), Fraction(1)).characteristic(np.zeros(1))
