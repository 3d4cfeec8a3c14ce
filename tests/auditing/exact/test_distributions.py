"""Laws of noise as intervals: they sum to one, and are what mechanisms state."""

import math
from fractions import Fraction

import pytest

from discreet import events
from discreet.auditing.exact import distributions
from discreet.auditing.exact.distributions import MassFunction
from discreet.errors import AccountingError
from discreet.mechanisms import Gaussian, Laplace

NOISE = [
    Laplace(sensitivity=1, epsilon=1),
    Laplace(sensitivity=3, epsilon=0.2),
    Laplace(sensitivity=1, epsilon=25),
    Gaussian(sensitivity=1, rho=0.5),
    Gaussian(sensitivity=4, rho=0.3),
    Gaussian(sensitivity=1, rho=20),
]


@pytest.mark.parametrize("mechanism", NOISE, ids=repr)
def test_the_law_of_an_event_sums_to_one_and_is_the_pmf(mechanism):
    law = distributions.of_event(mechanism.event())
    held = law.masses(-law.reach, law.reach)
    assert sum(mass.low for mass in held) <= 1 <= sum(mass.high for mass in held) + law.beyond
    assert law.beyond < Fraction(1, 10**30)
    for y in (0, 1, -2, law.reach // 3):
        (mass,) = law.masses(y, y)
        assert mass.high <= mass.low * (1 + Fraction(1, 10**50))
        assert math.isclose(float(mass.low), mechanism.pmf(y), rel_tol=1e-9)


def test_losses_are_rationals():
    law = distributions.laplace(Fraction(3))
    assert law.loss(0, 1) == Fraction(1, 3)
    assert law.loss(5, 2) == Fraction(-2, 3)
    law = distributions.gaussian(Fraction(2))
    assert law.loss(0, 1) == Fraction(1, 4)
    assert law.rho(3) == Fraction(9, 4)


def test_noise_that_is_too_wide_has_no_reach():
    assert distributions.laplace(Fraction(10**6)).reach is None
    assert distributions.gaussian(Fraction(10**8)).reach is None


def test_an_event_without_noise_of_its_own_has_no_law():
    assert distributions.of_event(events.PureEvent(Fraction(1))) is None


def test_a_pmf_in_floats_is_as_wide_as_floats_and_one_in_fractions_is_exact():
    assert MassFunction(lambda y: Fraction(1, 3) if abs(y) <= 1 else 0).mass(1) == (Fraction(1, 3), Fraction(1, 3))
    held = MassFunction(Laplace(sensitivity=1, epsilon=1).pmf).mass(0)
    assert held.low < Fraction(math.tanh(0.5)) < held.high


def test_a_pmf_is_summed_until_nearly_nothing_is_left():
    stated = MassFunction(Laplace(sensitivity=1, epsilon=1).pmf)
    assert 20 < stated.reach < 60
    assert stated.beyond < Fraction(1, 10**7)
    finite = MassFunction(lambda y: Fraction(1, 4) if -1 <= y <= 2 else 0)
    assert finite.reach == 3
    assert finite.beyond == 0
    assert MassFunction(Laplace(sensitivity=1, epsilon=1e-6).pmf).reach is None


def test_both_sides_of_a_shift_stand_beside_each_other():
    law = MassFunction(lambda y: {0: Fraction(1, 2), 1: Fraction(1, 2)}.get(y, Fraction(0)))
    here = [(one.low, other.low) for one, other in distributions.beside(law, 1) if one.low or other.low]
    assert here == [(Fraction(1, 2), 0), (Fraction(1, 2), Fraction(1, 2)), (0, Fraction(1, 2))]
    assert [(b, a) for a, b in here] == [
        (one.low, other.low) for one, other in distributions.beside(law, -1) if one.low or other.low
    ]


def test_shifts_are_the_steps_that_neighbours_can_move():
    assert distributions.shifts(Laplace(sensitivity=1, epsilon=1).event()) == [1]
    assert distributions.shifts(Laplace(sensitivity=100, epsilon=1).event()) == [1, 2, 3, 50, 99, 100]
    assert distributions.shifts(Laplace(sensitivity=Fraction(1, 2), epsilon=1).event()) == []
    assert distributions.shifts(Laplace(sensitivity=Fraction(1, 2), epsilon=1, grid=Fraction(1, 8)).event()) == [
        1,
        2,
        3,
        4,
    ]
    assert distributions.shifts(Gaussian(squared_sensitivity=10, rho=1).event()) == [1, 2, 3]
    assert distributions.shifts(events.PureEvent(Fraction(1)), Fraction(2)) == [1, 2]


def test_a_mechanism_that_does_several_things_is_refused():
    class Twice:
        def event(self):
            return events.RepeatedEvent(Laplace(sensitivity=1, epsilon=1).event(), 2)

    with pytest.raises(AccountingError, match="several things"):
        distributions.simple(Twice())
