"""Every simple event has one price, and prices add up exactly."""

from fractions import Fraction

import pytest

from discreet import events
from discreet.accounting.prices import Price, price, total
from discreet.errors import AccountingError

TENTH = Fraction(1, 10)


@pytest.mark.guarantee("accounting.prices")
@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (events.PureEvent(TENTH), Price(TENTH, Fraction(1, 200), Fraction(0))),
        (events.PureEvent(5), Price(Fraction(5), Fraction(5), Fraction(0))),
        (events.ApproximateEvent(TENTH, 1e-9), Price(TENTH, Fraction(1, 200), Fraction(1, 10**9))),
        (events.ConcentratedEvent(TENTH, 1e-9), Price(None, TENTH, Fraction(1, 10**9))),
        (events.DiscreteLaplaceEvent(30, 3), Price(TENTH, Fraction(1, 200), Fraction(0))),
        (events.LaplaceEvent(10, 1), Price(TENTH, Fraction(1, 200), Fraction(0))),
        (events.GaussianEvent(100, 1), Price(None, Fraction(1, 200), Fraction(0))),
        (events.DiscreteGaussianEvent(100, 2, 2), Price(None, Fraction(1, 100), Fraction(0))),
    ],
)
def test_the_price_of_a_simple_event(event, expected):
    assert price(event) == expected
    assert total(events.RepeatedEvent(event, 7)) == Price(
        None if expected.epsilon is None else 7 * expected.epsilon, 7 * expected.rho, 7 * expected.delta
    )


def test_one_gaussian_answer_leaves_no_finite_epsilon():
    both = events.ComposedEvent((events.PureEvent(1), events.GaussianEvent(100, 1), events.PureEvent(1)))
    assert total(both) == Price(None, 1 + Fraction(1, 200), Fraction(0))


def test_nothing_costs_nothing():
    assert total(events.ComposedEvent(())) == Price(Fraction(0), Fraction(0), Fraction(0))


@pytest.mark.parametrize("thing", ["PureEvent", None, 0.1, object()])
def test_what_is_no_event_has_no_price(thing):
    with pytest.raises(AccountingError, match="unknown event has no price"):
        total(thing)
