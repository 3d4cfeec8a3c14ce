"""Two-sided Pareto noise of a smooth width: the ratio of densities stays within e^epsilon and reaches it."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from discreet.events import PureEvent
from discreet.mechanisms.smooth import pareto, student_t

HALF = np.concatenate([[0], np.logspace(-6, 12, 3_000)])
GRID = np.concatenate([-HALF[::-1], HALF])


def worst_loss(tail, shift, dilation):
    """The greatest ln(p/q) over z: p has width e^dilation about `shift`, q width 1 about 0."""
    points = np.concatenate([GRID, GRID + shift])
    p = -dilation - (tail + 1) * np.log1p(np.abs(points - shift) * math.exp(-dilation))
    return np.max(p + (tail + 1) * np.log1p(np.abs(points)))


@pytest.mark.guarantee("mechanisms.smooth.pareto")
@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(1), Fraction(6)], ids=str)
@pytest.mark.parametrize("share", [Fraction(1, 50), Fraction(1, 4), Fraction(1, 2), Fraction(9, 10)], ids=str)
def test_no_pair_within_shift_and_beta_loses_more_than_epsilon_and_some_pair_loses_it(epsilon, share):
    made, losses = pareto.calibrate(epsilon, share), []
    for dilation in np.linspace(-float(made.beta), float(made.beta), 11):
        # the move is bounded by the narrower width on either side
        room = float(made.shift) * min(1, math.exp(dilation))
        losses += [worst_loss(float(1 / share), s, dilation) for s in (-room, 0, room / 2, room)]
    assert max(losses) <= float(epsilon) * (1 + 1e-9)
    assert max(losses) >= float(epsilon) * 0.999


@pytest.mark.guarantee("mechanisms.smooth.pareto")
def test_the_three_prices_of_the_proof_are_within_epsilon_exactly_and_one_reaches_it():
    with mpmath.workdps(60):
        for epsilon in (Fraction(1, 10**6), Fraction(1, 3), Fraction(2), Fraction(40)):
            for share in (Fraction(1, 1000), Fraction(1, 4), Fraction(9, 10)):
                made = pareto.calibrate(epsilon, share)
                e, b, s, a = (
                    mpmath.mpf(x.numerator) / x.denominator for x in (epsilon, made.beta, made.shift, 1 / share)
                )
                still = (a + 1) * mpmath.log1p(s)
                wider = b + (a + 1) * mpmath.log1p(s * mpmath.exp(-b))
                assert max(still, wider) <= e
                assert max(still, wider) >= e * (1 - mpmath.mpf(10) ** -14)
                assert a * b <= e * (1 + mpmath.mpf(10) ** -50)
                assert made.event == PureEvent(epsilon)


def test_it_has_less_noise_than_students_t_of_the_same_smoothness():
    """Medians of the size of the noise for S = 1 and epsilon = 1: 0.82 against 1.77."""
    smooth = student_t.calibrate(Fraction(1), Fraction(1, 2), 3)
    ours = pareto.calibrate(Fraction(1), smooth.beta)
    assert ours.beta == smooth.beta == Fraction(1, 6)
    assert (2 ** (1 / 6) - 1) / float(ours.shift) == pytest.approx(0.82, abs=0.01)
    assert 0.7649 / float(smooth.shift) == pytest.approx(1.77, abs=0.01)


def test_with_little_spent_on_smoothness_it_is_almost_laplace_noise_of_scale_s_over_epsilon():
    made = pareto.calibrate(Fraction(1), Fraction(1, 1000))
    assert (2 ** (1 / 1000) - 1) / float(made.shift) == pytest.approx(math.log(2), rel=0.005)


def test_prices_beyond_reason_still_have_noise():
    assert pareto.calibrate(Fraction(10**300), Fraction(1, 4)).shift == 2**100
    assert pareto.calibrate(Fraction(1, 10**60), Fraction(1, 4)).shift > 0
