"""Noise is drawn on the scale of the smooth sensitivity or the proposed bound that is priced."""

import math
from fractions import Fraction

import pytest

import draws as record
from discreet.events import ApproximateEvent, ComposedEvent, ConcentratedEvent, DiscreteLaplaceEvent, PureEvent
from discreet.exact.rounding import exp_down, exp_up
from discreet.mechanisms.smooth import ProposeTestRelease, Smooth
from discreet.mechanisms.smooth.laplace import delta_up
from discreet.samplers import continuous

GRID = Fraction(1, 8)
DELTA = Fraction(1, 1000)


class Growing:
    """An answer that one unit moves by 1, and by 2 more with each unit that changes, up to 9."""

    largest, reach = Fraction(9), 4

    def value(self):
        return Fraction(5, 2)

    def at(self, distance):
        return min(Fraction(1) + 2 * distance, self.largest)


def smooth_sensitivity(beta):
    return max(math.exp(-beta * k) * float(Growing().at(k)) for k in range(6))


def beta_of_laplace(epsilon, delta, shift):
    """The largest that keeps delta, by bisection in floats."""
    low, high = 0.0, epsilon - shift
    for _ in range(60):
        middle = Fraction((low + high) / 2)
        if middle and delta_up(Fraction(epsilon), Fraction(shift), middle) <= delta:
            low = float(middle)
        else:
            high = float(middle)
    return low


LAWS = {
    "laplace": (
        {"epsilon": 1, "delta": DELTA},
        ApproximateEvent(Fraction(1), DELTA),
        continuous.StandardLaplace(),
        (beta_of_laplace(1, DELTA, 0.5), 0.5),
    ),
    "pareto": (
        {"epsilon": 1},
        PureEvent(Fraction(1)),
        continuous.Pareto(Fraction(4)),
        (0.25, min(math.expm1(1 / 5), math.exp(1 / 4) * math.expm1((1 - 1 / 4) / 5))),
    ),
    "student_t": (
        {"epsilon": 1},
        PureEvent(Fraction(1)),
        continuous.StudentT(3),
        (0.5 / 3, 0.5 * 2 * math.sqrt(3) / 4),
    ),
    "laplace_log_normal": (
        {"rho": Fraction(1, 2)},
        ConcentratedEvent(Fraction(1, 2)),
        continuous.LaplaceLogNormal(Fraction(1, 2)),
        (0.25, 0.5 * math.exp(-3 / 8)),
    ),
}


@pytest.mark.pitfall("B23")
@pytest.mark.draws("mechanisms.smooth.fitting.Smooth")
@pytest.mark.parametrize("noise", LAWS)
def test_smooth_noise_is_drawn_on_the_scale_that_its_price_asks_for(draws, noise):
    price, event, law, (beta, shift) = LAWS[noise]
    mechanism = Smooth(noise=noise, grid=GRID, **price)
    released = mechanism.release(Growing())
    (call,) = draws.calls
    assert mechanism.event() == event
    assert (call.value, call.law, call.grid) == (Fraction(5, 2), law, GRID)
    assert float(mechanism.beta) == pytest.approx(beta, rel=1e-9)
    assert float(mechanism.shift) == pytest.approx(shift, rel=1e-12)
    assert float(call.scale) == pytest.approx(smooth_sensitivity(beta) / shift, rel=1e-9)
    assert released == Fraction(5, 2) + draws.returned[0] * GRID


@pytest.mark.pitfall("B23")
@pytest.mark.draws("mechanisms.smooth.proposing.ProposeTestRelease")
@pytest.mark.parametrize("bound", [Fraction(4), Fraction(1, 2)])
@pytest.mark.parametrize("beyond", [0, 1])
def test_a_proposed_bound_draws_for_the_test_and_for_the_number_what_both_are_priced_from(draws, bound, beyond):
    """The noise of the test decides at the threshold exactly; the number has its noise whether or not it is shown."""
    mechanism = ProposeTestRelease(bound=bound, epsilon=Fraction(1, 2), delta=DELTA, grid=GRID)
    distance = 2 if bound == 4 else 0
    draws.give(mechanism.threshold - distance + beyond, 40)
    released = mechanism.release(Growing())
    test = DiscreteLaplaceEvent(scale=Fraction(2), sensitivity=Fraction(1))
    assert mechanism.event() == ComposedEvent((test, ApproximateEvent(Fraction(1, 2), DELTA)))
    number = record.Continuous(Fraction(5, 2), 2 * bound, continuous.StandardLaplace(), GRID)
    assert draws.calls == [record.Laplace(Fraction(2), 1), number]
    assert released == (Fraction(5, 2) + 40 * GRID if beyond else None)


@pytest.mark.pitfall("B23")
def test_a_bound_that_no_data_breaks_needs_no_test_and_its_number_has_all_of_its_noise(draws):
    mechanism = ProposeTestRelease(bound=9, epsilon=Fraction(1, 2), delta=DELTA, grid=GRID)
    draws.give(-40)
    assert mechanism.release(Growing()) == Fraction(5, 2) - 40 * GRID
    assert draws.calls == [record.Continuous(Fraction(5, 2), Fraction(18), continuous.StandardLaplace(), GRID)]


@pytest.mark.pitfall("B23")
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(3)])
@pytest.mark.parametrize("delta", [Fraction(1, 10**9), Fraction(1, 100)])
def test_the_threshold_of_the_test_keeps_delta_and_the_one_below_does_not(epsilon, delta):
    mechanism = ProposeTestRelease(bound=1, epsilon=epsilon, delta=delta)
    step = -1 / Fraction(mechanism.scale)
    assert exp_up(step * (mechanism.threshold + 1)) / (1 + exp_down(step)) <= delta
    assert exp_down(step * mechanism.threshold) / (1 + exp_up(step)) > delta
