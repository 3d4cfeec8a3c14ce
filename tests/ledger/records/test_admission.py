from dataclasses import replace
from fractions import Fraction

import pytest

from discreet import events
from discreet.accounting.costs import NOTHING, Cost, cost
from discreet.accounting.filters import Budget
from discreet.errors import BudgetError, ParameterError
from discreet.ledger.records import admission


def test_an_event_costs_whole_units_rounded_up():
    assert admission.price(events.PureEvent(Fraction(1, 3))) == Cost(
        333_333_333_334, 55_555_555_555_556, 0, 55_555_555_555_556
    )


@pytest.mark.pitfall("B4")
@pytest.mark.parametrize("epsilon", [Fraction(1, 10**17), Fraction(1, 10**300)])
def test_a_charge_however_small_costs_at_least_one_unit(epsilon):
    assert admission.price(events.PureEvent(epsilon)) == Cost(1, 1, 0, 1)


@pytest.mark.parametrize("event", [events.PureEvent(0), events.ConcentratedEvent(0), events.ComposedEvent(())])
def test_an_event_that_costs_nothing_is_refused(event):
    with pytest.raises(ParameterError, match="costs nothing"):
        admission.price(event)


@pytest.mark.parametrize(
    "event",
    [
        events.PureEvent(10**9),
        events.ConcentratedEvent(10_000),
        events.ConcentratedEvent(Fraction(1, 10), 1),
        events.RepeatedEvent(events.PureEvent(1), 10**30),
    ],
)
def test_an_event_beyond_64_bits_is_refused(event):
    with pytest.raises(BudgetError, match="beyond what the ledger can count"):
        admission.price(event)


def test_an_event_too_deep_to_price_is_refused():
    event = events.PureEvent(Fraction(1, 10))
    for _ in range(10_000):
        event = events.ComposedEvent((event,))
    with pytest.raises(BudgetError, match="beyond what the ledger can count"):
        admission.price(event)


def test_a_refusal_says_exactly_what_was_asked_and_what_is_left():
    refused = admission.refusal(
        "visits", Budget(epsilon=1), Cost(750_000_000_001, 0, 0, 0), Cost(500_000_000_000, 1, 0, 1)
    )
    assert refused.what == "a charge of epsilon 0.5 on 'visits'"
    assert refused.because == "epsilon 0.249999999999 is left of the privacy budget of epsilon 1, over all analysts"
    assert refused.instead == "session.release(query, epsilon=0.249999)"


def _suggested(text: str) -> Fraction:
    return Fraction(text.removeprefix("session.release(query, epsilon=").split(")")[0].split(",")[0])


@pytest.mark.parametrize(
    "spent", [NOTHING, Cost(1, 1, 0, 1), Cost(1_234_567_890_123, 7_000_000_000_000, 0, 7_000_000_000_000)]
)
def test_what_a_refusal_suggests_for_laplace_noise_fits(spent):
    budget = Budget(epsilon=2, delta=1e-9)
    text = admission.refusal("visits", budget, spent, cost(events.PureEvent(3))).instead
    assert budget.admits(spent + budget.cost(events.PureEvent(_suggested(text))))


@pytest.mark.parametrize("spent", [NOTHING, Cost(None, 1, 0, 1), Cost(None, 50_000_000_000_000, 0, 50_000_000_000_000)])
def test_what_a_refusal_suggests_for_gaussian_noise_fits(spent):
    budget = Budget(epsilon=2, delta=1e-9)
    text = admission.refusal("visits", budget, spent, cost(events.ConcentratedEvent(3))).instead
    assert budget.admits(spent + cost(events.ConcentratedEvent(budget.rho(_suggested(text)))))


def test_gaussian_noise_that_no_longer_fits_is_pointed_to_laplace_noise_that_does():
    budget = Budget(epsilon=2, delta=1e-9)
    refused = admission.refusal(
        "visits", budget, cost(events.PureEvent(Fraction(1, 2))), cost(events.ConcentratedEvent(1))
    )
    assert refused.instead == 'session.release(query, epsilon=1.5, mechanism="laplace")'


def test_gaussian_noise_under_a_pure_promise_is_told_why_not():
    refused = admission.refusal("visits", Budget(epsilon=1), NOTHING, cost(events.ConcentratedEvent(Fraction(1, 100))))
    assert "has no delta for it" in refused.because
    assert 'mechanism="laplace"' in refused.instead


def test_a_delta_beyond_the_reserve_is_told_the_reserve():
    budget = Budget(epsilon=1, delta=1e-9, reserved_delta=1e-10)
    asked = cost(events.ApproximateEvent(Fraction(1, 10), Fraction(1, 10**9)))
    assert "1e-10 is left of 1e-10 reserved" in admission.refusal("visits", budget, NOTHING, asked).because


def test_an_exhausted_budget_points_to_stored_answers_and_the_owner():
    refused = admission.refusal("visits", Budget(epsilon=1), Cost(10**12, 5 * 10**14, 0, 5 * 10**14), Cost(1, 1, 0, 1))
    assert "epsilon 0 is left" in refused.because
    assert "stored answer is free" in refused.instead
    assert "ledger.set_cap('visits'" in refused.instead


def test_what_only_pure_noise_can_still_have_is_advised_with_its_mechanism():
    """Six charges of pure noise of one cost: a request of that epsilon costs its rho, of which nothing is left."""
    budget = Budget(epsilon=2, delta=1e-9)
    one = budget.cost(events.PureEvent(Fraction(3184, 10_000)))
    spent = sum([one] * 6, NOTHING)
    assert budget.admits(spent)
    text = admission.refusal("visits", budget, spent, one).instead
    assert text == 'session.release(query, epsilon=0.0896, mechanism="laplace")'
    assert budget.admits(spent + budget.cost(events.PureEvent(Fraction("0.0896"))))


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("D")
def test_a_charge_is_paid_where_each_part_that_depends_on_no_order_is_at_least_the_price():
    for event in (
        events.PureEvent(Fraction(1, 10)),
        events.DiscreteGaussianEvent(100, 1),
        events.ApproximateEvent(1, 1e-9),
    ):
        text, price = events.canonical(event), admission.price(event, Fraction(20))
        assert admission.is_paid(price, text)
        assert admission.is_paid(admission.price(event), text)
        assert admission.is_paid(replace(price, epsilon=None), text)
        for part in ("epsilon", "rho", "delta"):
            if getattr(price, part) or (part == "epsilon" and price.epsilon is None):
                below = replace(price, **{part: (getattr(price, part) or 10**15) - 1})
                assert not admission.is_paid(below, text)


@pytest.mark.parametrize(
    "text", [None, "", "{}", '{"kind":"NoEvent"}', '{"epsilon":"0/1","kind":"PureEvent"}', "[" * 10**5]
)
def test_an_event_that_cannot_be_read_is_never_paid(text):
    assert not admission.is_paid(Cost(None, 10**18, 10**18, 10**18), text)
