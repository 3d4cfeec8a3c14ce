"""Epsilons add, and nothing without a finite epsilon is added."""

from fractions import Fraction

import pytest

from discreet import events
from discreet.accounting import approximate, pure
from discreet.errors import AccountingError


@pytest.mark.guarantee("accounting.pure")
def test_epsilons_add_and_coins_reach_the_sum():
    parts = events.ComposedEvent((events.PureEvent(0.1), events.RepeatedEvent(events.DiscreteLaplaceEvent(10, 1), 3)))
    assert pure.epsilon(parts) == Fraction(4, 10)
    assert approximate.optimal(epsilon=0.1, count=4, delta=0) == Fraction(4, 10)


@pytest.mark.parametrize(
    "event",
    [
        events.GaussianEvent(100, 1),
        events.DiscreteGaussianEvent(100, 1),
        events.ConcentratedEvent(1),
        events.ApproximateEvent(1, 1e-9),
        events.ComposedEvent((events.PureEvent(1), events.ApproximateEvent(0, 1e-9))),
    ],
)
def test_events_without_a_pure_epsilon_are_refused(event):
    with pytest.raises(AccountingError) as refusal:
        pure.epsilon(event)
    assert "concentrated.epsilon" in refusal.value.instead


def test_an_unknown_event_is_refused():
    with pytest.raises(AccountingError, match="privacy cost is not known"):
        pure.epsilon(object())
