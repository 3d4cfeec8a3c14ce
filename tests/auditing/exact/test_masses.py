"""Layer 2 decides exactly: what is false is found by however little, and what is true is never called broken."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import events
from discreet.auditing.claims import claim
from discreet.auditing.exact.masses import check_masses, claim_of, compare_masses
from discreet.auditing.finding import Verdict
from discreet.errors import AccountingError, ParameterError
from discreet.exact.rounding import exp_down, exp_up
from discreet.mechanisms import Gaussian, Laplace
from discreet.mechanisms.gaussian import analytic_sigma

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
TELLING = {"yes": Fraction(3, 4), "no": Fraction(1, 4)}
TURNED = {"yes": Fraction(1, 4), "no": Fraction(3, 4)}


def verdict(one, other, **words):
    return compare_masses(one, other, claim=claim(**words)).verdict


@pytest.mark.guarantee("auditing.exact.masses")
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(7, 3), Fraction(20)])
def test_a_ratio_is_told_from_e_to_the_epsilon_in_the_fiftieth_digit(epsilon):
    """Randomised response whose ratio is e^epsilon up to one part in 10^50, just below and just above."""
    for near, expected in (
        (exp_down(epsilon) * (1 - Fraction(1, 10**50)), Verdict.NOTHING_FOUND),
        (exp_up(epsilon) * (1 + Fraction(1, 10**50)), Verdict.BROKEN),
    ):
        one = {"yes": near / (1 + near), "no": 1 / (1 + near)}
        other = {"yes": one["no"], "no": one["yes"]}
        assert verdict(one, other, epsilon=epsilon) is expected


@pytest.mark.guarantee("auditing.exact.masses")
@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(1, 99), st.integers(1, 99)), min_size=2, max_size=6))
def test_a_true_claim_is_never_called_broken_and_a_false_one_always_is(weights):
    sums = [sum(pair[side] for pair in weights) for side in (0, 1)]
    one, other = ({i: Fraction(pair[side], sums[side]) for i, pair in enumerate(weights)} for side in (0, 1))
    ratio = max(max(one[i] / other[i], other[i] / one[i]) for i in one)
    excess = max(
        sum(max(Fraction(0), here[i] - 2 * there[i]) for i in here) for here, there in ((one, other), (other, one))
    )
    two_up, two_down = Fraction(694, 1000), Fraction(693, 1000)  # ln 2 is between them
    if excess < 1:
        assert verdict(one, other, epsilon=two_up, delta=excess) is Verdict.NOTHING_FOUND
    if excess > 0:
        assert verdict(one, other, epsilon=two_down, delta=excess / 2) is Verdict.BROKEN
    found = compare_masses(one, other, claim=claim(epsilon=0)).found
    assert found == pytest.approx(math.log(ratio))


def test_both_directions_are_looked_at():
    one, other = {0: Fraction(1)}, {0: HALF, 1: HALF}
    assert verdict(one, other, epsilon=5) is Verdict.BROKEN
    assert verdict(other, one, epsilon=5) is Verdict.BROKEN
    assert verdict(one, other, epsilon=1, delta=HALF) is Verdict.NOTHING_FOUND
    assert verdict(one, other, epsilon=1, delta=Fraction(49, 100)) is Verdict.BROKEN


def test_equal_laws_keep_an_epsilon_of_zero():
    assert verdict(TELLING, dict(TELLING), epsilon=0) is Verdict.NOTHING_FOUND
    assert verdict(TELLING, TURNED, epsilon=0) is Verdict.BROKEN


def test_a_delta_is_decided_exactly():
    epsilon = math.log(2)
    needed = Fraction(3, 4) - 2 * Fraction(1, 4)
    assert (
        verdict(TELLING, TURNED, epsilon=Fraction(epsilon), delta=needed + Fraction(1, 10**12)) is Verdict.NOTHING_FOUND
    )
    assert verdict(TELLING, TURNED, epsilon=Fraction(epsilon), delta=needed - Fraction(1, 10**12)) is Verdict.BROKEN


def test_renyi_divergences_are_held_against_rho():
    divergence = math.log(Fraction(3, 4) ** 2 * 4 + Fraction(1, 4) ** 2 * Fraction(4, 3))
    assert verdict(TELLING, TURNED, rho=divergence / 2 * 0.999) is Verdict.BROKEN
    assert verdict(TELLING, TURNED, rho=math.log(3)) is Verdict.NOTHING_FOUND
    assert verdict({0: Fraction(1)}, {1: Fraction(1)}, rho=100) is Verdict.BROKEN


@pytest.mark.parametrize("wrong", [{0: HALF}, {0: Fraction(3, 2), 1: -HALF}, {0: HALF, 1: HALF, 2: HALF}])
def test_masses_that_are_no_law_are_broken(wrong):
    finding = compare_masses(wrong, {0: Fraction(1)}, claim=claim(epsilon=1))
    assert finding.is_broken
    assert "mass" in finding.evidence


@pytest.mark.parametrize("mass", [0.5, True, "1/2", None])
def test_inexact_masses_are_refused(mass):
    with pytest.raises(ParameterError, match="mass of type"):
        compare_masses({0: mass, 1: HALF}, {0: HALF, 1: HALF}, claim=claim(epsilon=1))


def test_a_trade_off_curve_is_skipped():
    assert verdict(TELLING, TURNED, mu=1) is Verdict.SKIPPED


LAPLACE = [
    Laplace(sensitivity=sensitivity, epsilon=epsilon, grid=grid)
    for sensitivity in (1, 3, Fraction(7, 2))
    for epsilon in (0.01, 0.3, 1, 8)
    for grid in (1, Fraction(1, 4))
]
GAUSSIAN = [Gaussian(sensitivity=size, rho=rho) for size in (1, 3) for rho in (0.003, 0.1, 1, 20)]
WIDE = [
    Laplace(sensitivity=1, epsilon=1e-12),
    Laplace(sensitivity=10**6, epsilon=1),
    Gaussian(sensitivity=1, rho=1e-12),
    Gaussian(squared_sensitivity=17, rho=1e-7, dimension=17),
]


@pytest.mark.guarantee("auditing.exact.masses")
@pytest.mark.parametrize("mechanism", [*LAPLACE, *GAUSSIAN, *WIDE], ids=repr)
def test_our_mechanisms_keep_the_claim_of_their_event_and_reach_it(mechanism):
    stated, shifted = check_masses(mechanism)
    assert stated.verdict is shifted.verdict is Verdict.NOTHING_FOUND
    steps = getattr(mechanism, "sensitivity", None) or 1
    if (Fraction(steps) / mechanism.grid).denominator == 1 and not hasattr(mechanism, "dimension"):
        assert shifted.found == pytest.approx(shifted.stated)


@pytest.mark.parametrize("mechanism", LAPLACE[::3], ids=repr)
def test_a_pure_claim_just_below_the_true_one_is_broken(mechanism):
    loss = math.floor(mechanism.sensitivity / mechanism.grid) / Fraction(mechanism.scale)
    below = claim(epsilon=loss * (1 - Fraction(1, 10**30)))
    assert not check_masses(mechanism, claim=claim(epsilon=loss))[1].is_broken
    assert check_masses(mechanism, claim=below)[1].is_broken


@pytest.mark.parametrize("mechanism", [GAUSSIAN[1], GAUSSIAN[2], WIDE[2]], ids=repr)
def test_a_rho_just_below_the_true_one_is_broken(mechanism):
    below = claim(rho=mechanism.rho * (1 - Fraction(1, 10**30)))
    assert check_masses(mechanism, claim=below)[1].is_broken


@pytest.mark.parametrize(("size", "epsilon", "delta"), [(1, 1, 1e-6), (4, 0.5, 1e-9), (1, 8, 1e-6)])
def test_an_epsilon_and_delta_that_gaussian_noise_was_made_for_is_kept_and_tight(size, epsilon, delta):
    mechanism = Gaussian(sensitivity=size, epsilon=epsilon, delta=delta)
    assert not check_masses(mechanism, claim=claim(epsilon=epsilon, delta=delta))[1].is_broken
    assert check_masses(mechanism, claim=claim(epsilon=epsilon, delta=delta * 0.98))[1].is_broken


@pytest.mark.pitfall("A12")
def test_the_sigma_for_continuous_noise_promises_too_much_for_discrete_noise():
    mechanism = Gaussian.with_sigma(sigma=analytic_sigma(1, 8, 1e-6), sensitivity=1)
    finding = check_masses(mechanism, claim=claim(epsilon=8, delta=1e-6))[1]
    assert finding.is_broken


def test_gaussian_noise_has_no_pure_epsilon():
    assert check_masses(Gaussian(sensitivity=1, rho=0.01), claim=claim(epsilon=50))[1].is_broken


def test_too_wide_noise_with_a_delta_is_skipped_with_the_reason():
    finding = check_masses(WIDE[2], claim=claim(epsilon=1, delta=1e-6))[1]
    assert finding.verdict is Verdict.SKIPPED
    assert "too wide" in finding.evidence


@dataclass(frozen=True)
class Stating:
    """A mechanism of somebody else: an event and a pmf."""

    made: Any
    masses: Any

    def event(self):
        return self.made

    def pmf(self, y):
        return self.masses(y)


def geometric(y, q=HALF):
    return (1 - q) / (1 + q) * q ** abs(y)


def test_somebody_elses_pmf_in_fractions_and_in_floats_keeps_its_claim_or_is_broken():
    exactly = claim(epsilon=Fraction("0.6931471805599453094172321214581765681"))  # just above ln 2
    below = claim(epsilon=Fraction("0.693147"))
    for masses in (geometric, lambda y: float(geometric(y))):
        mechanism = Stating(events.PureEvent(Fraction(1)), masses)
        assert [f.verdict for f in check_masses(mechanism, claim=exactly)] == [Verdict.NOTHING_FOUND] * 2
        assert check_masses(mechanism, claim=below)[1].is_broken


def test_a_larger_sensitivity_is_looked_at_where_it_is_given():
    mechanism = Stating(events.PureEvent(Fraction(1)), geometric)
    assert not check_masses(mechanism, sensitivity=1)[1].is_broken
    assert check_masses(mechanism, sensitivity=2)[1].is_broken


@pytest.mark.parametrize(
    "masses",
    [
        lambda y: 1.01 * Laplace(sensitivity=1, epsilon=1).pmf(y),
        lambda y: 0.9 * Laplace(sensitivity=1, epsilon=1).pmf(y),
        Laplace(sensitivity=1, epsilon=1.01).pmf,
        lambda y: Laplace(sensitivity=1, epsilon=1).pmf(y + (y > 0)),
        lambda y: 0.0 if y == 0 else 0.1,
    ],
    ids=["too much", "too little", "another scale", "another shape", "nothing at zero"],
)
def test_a_pmf_that_is_not_that_of_its_event_is_broken(masses):
    mechanism = Stating(Laplace(sensitivity=1, epsilon=1).event(), masses)
    assert check_masses(mechanism)[0].is_broken


@pytest.mark.parametrize("scale", [Fraction(9, 10), Fraction(11, 10)])
def test_a_pmf_without_a_known_law_must_sum_to_one(scale):
    mechanism = Stating(events.PureEvent(Fraction(1)), lambda y: float(scale * geometric(y)))
    assert check_masses(mechanism)[0].is_broken


def test_bounded_noise_that_is_called_pure_is_broken():
    mechanism = Stating(events.PureEvent(Fraction(30)), lambda y: THIRD if abs(y) <= 1 else Fraction(0))
    assert check_masses(mechanism)[1].is_broken
    assert not check_masses(mechanism, claim=claim(epsilon=0, delta=THIRD))[1].is_broken


def test_claims_follow_from_events():
    assert claim_of(Laplace(sensitivity=1, epsilon=2).event()) == claim(epsilon=2)
    assert claim_of(Gaussian(sensitivity=1, rho=2).event()).parameter == "rho"
    approximate = events.ApproximateEvent(Fraction(1), Fraction(1, 100))
    assert claim_of(approximate) == claim(epsilon=1, delta=Fraction(1, 100))
    with pytest.raises(ParameterError):
        claim_of(events.ConcentratedEvent(Fraction(1), Fraction(1, 100)))
    with pytest.raises(AccountingError):
        claim_of("an event")


def test_a_pmf_is_held_against_its_event_at_every_step_or_it_is_said_at_how_many():
    narrow = check_masses(Laplace(sensitivity=1, epsilon=1))[0]
    assert narrow.evidence == "the masses sum to one and are those of the event, at every step up to 82"
    wide = check_masses(Laplace(sensitivity=10**6, epsilon=1))[0]
    assert wide.evidence == "the masses are those of the event at 2,100 of 80,000,002 steps on either side"


@pytest.mark.parametrize("step", [-41, 4, 33, 79])
def test_a_pmf_that_is_wrong_at_one_step_is_found(step):
    right = Laplace(sensitivity=1, epsilon=1)
    wrong = Stating(right, lambda y: float(right.pmf(y)) * (1 + 1e-6 * (y == step)))
    assert check_masses(wrong)[0].is_broken
