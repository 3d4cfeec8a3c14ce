"""Student's t noise of a smooth width: the ratio of densities stays within e^epsilon and comes near it."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet.events import PureEvent
from discreet.mechanisms.smooth.student_t import calibrate
from grids import over

GRID = np.concatenate([-np.logspace(8, -3, 1_000), [0], np.logspace(-3, 8, 1_000)])


def worst_loss(degrees, shift, dilation):
    """The greatest ln(p/q) over z: p has width e^dilation about `shift`, q width 1 about 0."""
    law = stats.t(degrees)
    return np.max(law.logpdf((GRID - shift) * math.exp(-dilation)) - dilation - law.logpdf(GRID))


@pytest.mark.guarantee("mechanisms.smooth.student_t")
@over("degrees", [1, 2, 3, 10])
@over("epsilon", [Fraction(1, 10), Fraction(1), Fraction(6)])
@over("share", [Fraction(1, 100), Fraction(1, 2), Fraction(99, 100)])
def test_no_pair_within_shift_and_beta_loses_more_than_epsilon(degrees, epsilon, share):
    made = calibrate(epsilon, share, degrees)
    losses = []
    for dilation in np.linspace(-float(made.beta), float(made.beta), 9):
        # the move is bounded by the narrower width on either side
        room = float(made.shift) * min(1, math.exp(dilation))
        losses += [worst_loss(degrees, s, dilation) for s in (-room, 0, room / 2, room)]
    assert max(losses) <= float(epsilon) * (1 + 1e-9)
    assert max(losses) >= 0.5 * float(epsilon)
    if share == Fraction(99, 100):
        assert max(losses) >= 0.98 * float(epsilon)


@pytest.mark.guarantee("mechanisms.smooth.student_t")
@pytest.mark.parametrize("degrees", [1, 2, 3, 10])
def test_each_price_is_the_greatest_slope_and_reached_in_a_limit(degrees):
    slope = (degrees + 1) / (2 * math.sqrt(degrees))
    law, step = stats.t(degrees), 1e-5
    slopes = np.abs(law.logpdf(GRID + step) - law.logpdf(GRID)) / step
    assert slope * 0.999 < np.max(slopes) <= slope * (1 + 1e-6)
    assert worst_loss(degrees, 0, 0.1) == pytest.approx(0.1 * degrees, rel=1e-6)
    assert worst_loss(degrees, 0, -0.1) == pytest.approx(0.1, rel=1e-6)


def test_the_parts_of_the_price_are_within_it_exactly():
    for degrees in (1, 2, 3, 4, 50):
        for share in (Fraction(1, 3), Fraction(1, 2)):
            made = calibrate(Fraction(7, 5), share, degrees)
            left = Fraction(7, 5) - degrees * made.beta
            # left - shift (d+1)/(2 sqrt d) >= 0, squared
            assert left**2 * 4 * degrees >= (made.shift * (degrees + 1)) ** 2
            assert left**2 * 4 * degrees <= (made.shift * (degrees + 1)) ** 2 * (1 + Fraction(1, 10**15))
            assert made.event == PureEvent(Fraction(7, 5))


def test_the_default_split_is_the_best_where_the_bounds_grow_evenly():
    """A_k proportional to k + 1 has S close to 1/(e beta): the noise is narrowest at share = 1/2."""
    width = {
        share: 1
        / (float(calibrate(Fraction(1, 10), share, 3).beta) * float(calibrate(Fraction(1, 10), share, 3).shift))
        for share in (Fraction(1, 4), Fraction(9, 20), Fraction(1, 2), Fraction(11, 20), Fraction(3, 4))
    }
    assert min(width, key=width.get) == Fraction(1, 2)
