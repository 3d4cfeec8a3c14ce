"""Events are read back as they were written, and none has a negative price."""

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings

from discreet import events
from discreet.errors import AccountingError, ParameterError
from event_strategies import nested


@settings(deadline=None)
@given(nested)
def test_leaves_are_simple_and_counted(event):
    for leaf, count in events.leaves(event):
        assert not isinstance(leaf, events.ComposedEvent | events.RepeatedEvent)
        assert count >= 1


def test_counts_multiply_through_nested_repeats():
    inner = events.RepeatedEvent(events.PureEvent(Fraction(1)), 3)
    outer = events.RepeatedEvent(events.ComposedEvent((inner, events.PureEvent(Fraction(2)))), 5)
    assert list(events.leaves(outer)) == [(events.PureEvent(Fraction(1)), 15), (events.PureEvent(Fraction(2)), 5)]


def test_numbers_are_rationals_however_they_were_given():
    assert events.PureEvent(0.1) == events.PureEvent(Fraction(1, 10))
    assert events.canonical(events.GaussianEvent(4, 1)) == events.canonical(events.GaussianEvent(Fraction(4), 1.0))


@pytest.mark.parametrize(
    "make",
    [
        lambda: events.PureEvent(-1),
        lambda: events.PureEvent(math.nan),
        lambda: events.BoundedRangeEvent(-1),
        lambda: events.BoundedRangeEvent(math.inf),
        lambda: events.ApproximateEvent(1, -0.5),
        lambda: events.ApproximateEvent(1, 1.5),
        lambda: events.ConcentratedEvent(-1),
        lambda: events.DiscreteLaplaceEvent(0, 1),
        lambda: events.DiscreteLaplaceEvent(1, -1),
        lambda: events.LaplaceEvent(-1, 1),
        lambda: events.GaussianEvent(0, 1),
        lambda: events.DiscreteGaussianEvent(1, -1),
        lambda: events.DiscreteGaussianEvent(1, 1, 0),
        lambda: events.RepeatedEvent(events.PureEvent(1), 0),
        lambda: events.RepeatedEvent(events.PureEvent(1), -3),
        lambda: events.RepeatedEvent(events.PureEvent(1), True),
        lambda: events.RepeatedEvent(events.PureEvent(1), 2.5),
    ],
)
def test_no_event_gives_privacy_back(make):
    with pytest.raises(ParameterError):
        make()


@settings(deadline=None, max_examples=30)
@given(nested)
def test_events_can_be_counted_in_a_dictionary(event):
    assert {event: 1}[event] == 1


class Coin:
    """A mechanism, as far as accountants care."""

    def event(self):
        return events.PureEvent(1)


def test_a_mechanism_stands_for_its_event_and_equal_events_are_counted():
    assert events.event_of(Coin()) == events.PureEvent(1)
    assert events.compose(Coin()) == events.compose([events.PureEvent(1)]) == events.PureEvent(1)
    assert events.compose([Coin()] * 3) == events.RepeatedEvent(events.PureEvent(1), 3)
    mixed = events.compose([Coin(), events.PureEvent(2), events.ComposedEvent((events.PureEvent(1),))])
    assert mixed == events.ComposedEvent((events.RepeatedEvent(events.PureEvent(1), 2), events.PureEvent(2)))
    assert events.compose([]) == events.ComposedEvent(())


@pytest.mark.parametrize(("strange", "instead"), [(Coin().event, "coin.event()"), (Coin, "mechanism.event()")])
def test_what_is_almost_an_event_is_refused_with_the_call_that_makes_it_one(strange, instead):
    for read in (events.event_of, events.compose, lambda value: events.compose([value])):
        with pytest.raises(AccountingError, match="accountants compose events") as refusal:
            read(strange)
        assert refusal.value.instead == instead
