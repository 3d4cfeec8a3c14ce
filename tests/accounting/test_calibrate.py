"""The least noise that meets a target, checked at the very double that is returned."""

from fractions import Fraction

import dp_accounting
import pytest

from discreet import events
from discreet.accounting import approximate, calibrate, concentrated, pld, pure, renyi
from discreet.errors import AccountingError, ParameterError
from discreet.exact.zcdp import rho_of
from discreet.mechanisms import Laplace


def hundred(scale: Fraction) -> events.Event:
    return events.RepeatedEvent(events.GaussianEvent(scale**2, 1), 100)


@pytest.mark.guarantee("accounting.calibrate")
@pytest.mark.parametrize(
    ("accountant", "statement"),
    [
        ("concentrated", lambda event: concentrated.epsilon(event, 1e-6)),
        ("concentrated, loose", lambda event: concentrated.epsilon(event, 1e-6, "loose")),
        ("renyi", lambda event: renyi.conversion(event, 1e-6).epsilon),
        ("pld", lambda event: pld.epsilon(event, 1e-6)),
    ],
)
def test_the_noise_meets_the_target_and_a_little_less_does_not(accountant, statement):
    scale = calibrate.least_scale(hundred, epsilon=1, delta=1e-6, accountant=accountant)
    assert statement(hundred(Fraction(scale))) <= 1
    assert statement(hundred(Fraction(scale * (1 - 3e-6)))) > 1


def test_dp_accounting_finds_the_same_noise():
    scale = calibrate.least_scale(hundred, epsilon=1, delta=1e-6, accountant="pld")
    assert scale == pytest.approx(10 * dp_accounting.get_sigma_gaussian(1.0, 1e-6), rel=1e-4)


def test_a_pure_target_and_a_target_of_rho_are_met():
    scale = calibrate.least_scale(
        lambda b: events.RepeatedEvent(events.DiscreteLaplaceEvent(b, 1), 100), epsilon=1, accountant="pure"
    )
    assert pure.epsilon(events.RepeatedEvent(events.DiscreteLaplaceEvent(Fraction(scale), 1), 100)) <= 1
    assert scale == pytest.approx(100, rel=2e-6)
    rho = rho_of(Fraction(1), Fraction(1, 10**6))
    sigma = calibrate.least_scale(hundred, rho=rho)
    assert concentrated.rho(hundred(Fraction(sigma))).rho <= rho
    assert sigma == pytest.approx(calibrate.least_scale(hundred, epsilon=1, delta=1e-6), rel=3e-6)


def test_noise_far_below_one_is_found_too():
    scale = calibrate.least_scale(lambda b: events.LaplaceEvent(b, Fraction(1, 1000)), epsilon=1, accountant="pure")
    assert scale == pytest.approx(0.001, rel=2e-6)


def test_one_factor_for_the_noise_of_many_events():
    batch = [
        events.DiscreteGaussianEvent(1, 1),
        events.LaplaceEvent(1, 1),
        events.RepeatedEvent(events.DiscreteLaplaceEvent(2, 1), 3),
        events.GaussianEvent(4, 1),
        events.PureEvent(0.1),
        events.ComposedEvent((events.ConcentratedEvent(0.001),)),
    ]
    factor = calibrate.least_multiplier(batch, epsilon=2, delta=1e-6)
    louder = calibrate.with_more_noise(events.ComposedEvent(tuple(batch)), Fraction(factor))
    assert concentrated.epsilon(louder, 1e-6) <= 2
    assert concentrated.epsilon(louder, 1e-6) == pytest.approx(2, rel=1e-5)


def test_approximate_events_count_in_the_target():
    factor = calibrate.least_multiplier(
        [events.ApproximateEvent(0.5, 1e-7), events.LaplaceEvent(1, 1)], epsilon=1, delta=1e-6, accountant="basic"
    )
    assert factor == pytest.approx(2, rel=2e-6)
    fixed = events.ComposedEvent((events.ApproximateEvent(0.5, 1e-7), events.LaplaceEvent(Fraction(factor), 1)))
    assert approximate.basic(fixed).epsilon <= 1


@pytest.mark.parametrize(
    ("events_of", "options"),
    [
        (lambda _: events.PureEvent(2), {"epsilon": 1, "accountant": "pure"}),
        (lambda _: events.PureEvent(Fraction(1, 2)), {"epsilon": 1, "accountant": "pure"}),
        (hundred, {"epsilon": 1, "accountant": "pure"}),
        (lambda s: events.ComposedEvent((hundred(s), events.ApproximateEvent(0, 1e-5))), {"rho": 1}),
        (lambda s: events.ComposedEvent((hundred(s), events.ApproximateEvent(0, 1e-5))), {"epsilon": 1, "delta": 1e-6}),
    ],
)
def test_a_target_that_no_noise_meets_or_that_needs_none_is_refused(events_of, options):
    with pytest.raises(AccountingError, match="target for noise"):
        calibrate.least_scale(events_of, **options)


@pytest.mark.parametrize(
    "options", [{}, {"epsilon": 1, "rho": 1}, {"epsilon": 1, "accountant": "pdl"}, {"epsilon": 0}, {"rho": -1}]
)
def test_a_target_is_stated_once_and_by_a_known_accountant(options):
    with pytest.raises(ParameterError):
        calibrate.least_scale(hundred, **options)


def test_an_unknown_event_is_refused():
    with pytest.raises(AccountingError, match="privacy cost is not known"):
        calibrate.with_more_noise(object(), Fraction(2))


def test_a_mechanism_stands_for_its_event():
    found = calibrate.least_scale(
        lambda scale: Laplace.with_scale(scale=scale, sensitivity=1), epsilon=0.5, accountant="pure"
    )
    assert found == pytest.approx(2, rel=1e-5)
    assert calibrate.least_multiplier([Laplace(sensitivity=1, epsilon=1)], epsilon=0.5, accountant="pure") >= 2


def test_a_part_of_bounded_range_is_known_by_its_guarantee_and_stays():
    choice = events.BoundedRangeEvent(Fraction(1, 10))
    assert calibrate.with_more_noise(choice, Fraction(5)) == choice
    factor = calibrate.least_multiplier([choice, events.GaussianEvent(1, 1)], epsilon=1, delta=1e-6)
    assert (
        concentrated.epsilon(
            calibrate.with_more_noise(events.ComposedEvent((choice, events.GaussianEvent(1, 1))), Fraction(factor)),
            1e-6,
        )
        <= 1
    )


def test_noise_of_sampled_sums_and_of_selections_among_them_grows():
    step = events.SampledGaussianEvent(Fraction(1, 100), 4, 1)
    search = events.RepeatedSelectionEvent(step, 1, Fraction(1, 10))
    more = events.SampledGaussianEvent(Fraction(1, 100), 36, 1)
    assert calibrate.with_more_noise(step, Fraction(3)) == more
    assert calibrate.with_more_noise(search, Fraction(3)) == events.RepeatedSelectionEvent(more, 1, Fraction(1, 10))
