"""Laplace noise of a smooth width: delta is the exact hockey-stick divergence, beta the largest that it allows."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from discreet.mechanisms.smooth.laplace import calibrate, delta_up, largest_beta
from grids import over

EPSILONS = [Fraction(1, 10), Fraction(1), Fraction(4), Fraction(11)]
DELTAS = [Fraction(1, 10**3), Fraction(1, 10**6), Fraction(1, 10**12)]


def hockey_stick(epsilon, shift, dilation):
    """Integral of max(0, p - e^epsilon q): p has width e^dilation about `shift`, q width 1 about 0."""
    reach = 60 * max(1, math.exp(dilation)) + abs(shift)
    z = np.linspace(-reach, reach, 100_001)
    p = np.exp(-dilation - np.abs(z - shift) * math.exp(-dilation)) / 2
    return np.trapezoid(np.maximum(0, p - math.exp(epsilon) * np.exp(-np.abs(z)) / 2), z)


@pytest.mark.guarantee("mechanisms.smooth.laplace")
@pytest.mark.parametrize("epsilon", [0.2, 1, 3])
def test_delta_is_the_hockey_stick_divergence_and_grows_with_shift_and_dilation(epsilon):
    for dilation in (0.05, 0.2, 0.9):
        exact = [
            delta_up(Fraction(epsilon), Fraction(shift), Fraction(dilation)) for shift in (0, epsilon / 2, epsilon)
        ]
        assert exact == sorted(exact)
        for shift, delta in zip((0, epsilon / 2, epsilon), exact, strict=True):
            assert hockey_stick(epsilon, shift, dilation) == pytest.approx(float(delta), rel=1e-3, abs=1e-13)
            assert hockey_stick(epsilon, -shift, dilation) == pytest.approx(float(delta), rel=1e-3, abs=1e-13)
        wider = delta_up(Fraction(epsilon), Fraction(epsilon), Fraction(dilation) * Fraction(11, 10))
        assert wider > exact[-1]


@pytest.mark.guarantee("mechanisms.smooth.laplace")
@over("epsilon", EPSILONS)
@over("delta", DELTAS)
@over("share", [Fraction(1, 2), Fraction(1, 10)])
def test_no_pair_within_shift_and_beta_exceeds_delta_and_the_farthest_reaches_it(epsilon, delta, share):
    made = calibrate(epsilon, delta, share)
    assert made.shift == (1 - share) * epsilon
    assert 0 < made.beta <= share * epsilon
    worst = 0
    for dilation in np.linspace(-float(made.beta), float(made.beta), 5):
        # where the other side is the narrower one, it is the one whose width bounds the move
        room = float(made.shift) * min(1, math.exp(dilation))
        worst = max(worst, *(hockey_stick(float(epsilon), s, dilation) for s in (0, room / 2, room)))
    assert worst <= float(delta) * 1.001
    assert made.beta == share * epsilon or worst >= float(delta) * 0.99


def exact_delta(epsilon, shift, dilation):
    growth = mpmath.expm1(dilation)
    return -mpmath.expm1(-dilation) * mpmath.exp(-(epsilon + dilation) / growth) * mpmath.cosh(shift / growth)


def test_delta_is_rounded_up_and_hardly():
    with mpmath.workdps(120):
        for epsilon in EPSILONS:
            for dilation in (Fraction(1, 10**6), Fraction(1, 30), Fraction(2)):
                bound = delta_up(epsilon, epsilon / 2, dilation)
                upper = mpmath.mpf(bound.numerator) / bound.denominator
                e, t = (mpmath.mpf(x.numerator) / x.denominator for x in (epsilon, dilation))
                true = exact_delta(e, e / 2, t)
                assert true <= upper
                assert upper <= true * (1 + mpmath.mpf(10) ** -40) or bound < Fraction(1, 10**4000)


def textbook(epsilon, delta):
    return epsilon / (2 * mpmath.log(2 / mpmath.mpf(float(delta))))


@pytest.mark.parametrize("delta", DELTAS, ids=float)
def test_the_textbooks_beta_is_smaller_up_to_epsilon_11_and_breaks_its_promise_at_16(delta):
    for epsilon in (Fraction(1, 100), *EPSILONS):
        assert float(largest_beta(epsilon, delta, epsilon / 2)) > textbook(float(epsilon), delta)
    gain = float(largest_beta(Fraction(1), delta, Fraction(1, 2))) / textbook(1, delta)
    assert 1.25 < gain < 2.2
    assert exact_delta(16, 8, textbook(16, delta)) > 1.1 * float(delta)
    assert hockey_stick(16, 8, float(textbook(16, delta))) > 1.1 * float(delta)


def test_the_search_stops_at_the_last_multiple_that_is_good():
    epsilon, delta, shift = Fraction(1), Fraction(1, 10**6), Fraction(1, 2)
    beta = largest_beta(epsilon, delta, shift)
    assert delta_up(epsilon, shift, beta) <= delta < delta_up(epsilon, shift, beta + Fraction(1, 2**41))
    assert float(beta) == pytest.approx(0.0530, abs=1e-4)
    assert largest_beta(Fraction(1), Fraction(9, 10), shift) == Fraction(1, 2)
    assert largest_beta(Fraction(10**300), delta, Fraction(10**300, 2)) == 64
