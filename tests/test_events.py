"""Events are read back as they were written, and none has a negative price."""

import json
import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import events
from discreet.errors import AccountingError, ParameterError, Refusal

rates = st.fractions(min_value=0, max_value=100, max_denominator=10**6)
scales = st.fractions(min_value=Fraction(1, 1000), max_value=10**6, max_denominator=10**6)
small = st.fractions(min_value=0, max_value=1, max_denominator=10**9)

simple = st.one_of(
    st.builds(events.PureEvent, rates),
    st.builds(events.BoundedRangeEvent, rates),
    st.builds(events.ApproximateEvent, rates, small),
    st.builds(events.ConcentratedEvent, rates, small),
    st.builds(events.DiscreteLaplaceEvent, scales, rates),
    st.builds(events.LaplaceEvent, scales, rates),
    st.builds(events.GaussianEvent, scales, rates),
    st.builds(events.DiscreteGaussianEvent, scales, rates, st.integers(1, 50)),
)
nested = st.recursive(
    simple,
    lambda inner: st.one_of(
        st.builds(events.ComposedEvent, st.lists(inner, max_size=3).map(tuple)),
        st.builds(events.RepeatedEvent, inner, st.integers(1, 1000)),
    ),
    max_leaves=6,
)


@pytest.mark.guarantee("events")
@settings(deadline=None)
@given(nested)
def test_an_event_reads_back_as_it_was_written(event):
    text = events.canonical(event)
    back = events.from_json(json.loads(text))
    assert back == event
    assert events.canonical(back) == text


def test_the_text_of_each_kind_never_changes():
    """What is written in a ledger is read by every later version: kinds are added here, and no line is edited."""
    third = Fraction(1, 3)
    written = {
        events.PureEvent(third): '{"epsilon":"1/3","kind":"PureEvent"}',
        events.BoundedRangeEvent(third): '{"epsilon":"1/3","kind":"BoundedRangeEvent"}',
        events.ApproximateEvent(third, third): '{"delta":"1/3","epsilon":"1/3","kind":"ApproximateEvent"}',
        events.ConcentratedEvent(third): '{"delta":"0/1","kind":"ConcentratedEvent","rho":"1/3"}',
        events.DiscreteLaplaceEvent(3, 1): '{"kind":"DiscreteLaplaceEvent","scale":"3/1","sensitivity":"1/1"}',
        events.DiscreteGaussianEvent(
            9, 1
        ): '{"dimension":1,"kind":"DiscreteGaussianEvent","squared_sensitivity":"1/1","variance":"9/1"}',
        events.LaplaceEvent(3, 1): '{"kind":"LaplaceEvent","scale":"3/1","sensitivity":"1/1"}',
        events.GaussianEvent(9, 1): '{"kind":"GaussianEvent","squared_sensitivity":"1/1","variance":"9/1"}',
        events.RepeatedEvent(
            events.BoundedRangeEvent(1), 2
        ): '{"count":2,"event":{"epsilon":"1/1","kind":"BoundedRangeEvent"},"kind":"RepeatedEvent"}',
        events.ComposedEvent((events.PureEvent(1),)): (
            '{"events":[{"epsilon":"1/1","kind":"PureEvent"}],"kind":"ComposedEvent"}'
        ),
    }
    for event, text in written.items():
        assert events.canonical(event) == text
        assert events.from_canonical(text) == event


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


@pytest.mark.parametrize(
    "data",
    [
        {"kind": "TeleportEvent"},
        {},
        {"kind": None},
        {"kind": "PureEvent"},
        {"kind": "PureEvent", "epsilon": "1/1", "extra": 1},
        {"kind": "PureEvent", "epsilon": "1/0"},
        {"kind": "PureEvent", "epsilon": "1e999999999"},
        {"kind": "PureEvent", "epsilon": "nan"},
        {"kind": "PureEvent", "epsilon": "-1/2"},
        {"kind": "PureEvent", "epsilon": None},
        {"kind": "PureEvent", "epsilon": True},
        {"kind": "PureEvent", "epsilon": {"kind": "PureEvent", "epsilon": "1/1"}},
        {"kind": "ComposedEvent", "events": ["PureEvent"]},
        {"kind": "ComposedEvent", "events": 3},
        {"kind": "RepeatedEvent", "event": {"kind": "PureEvent", "epsilon": "1/1"}, "count": "2/1"},
    ],
)
def test_an_event_that_was_not_written_here_is_refused(data):
    with pytest.raises(Refusal):
        events.from_json(data)


@settings(deadline=None)
@given(nested)
def test_the_text_of_an_event_is_read_back(event):
    assert events.from_canonical(events.canonical(event)) == event


@pytest.mark.pitfall("D")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        '"PureEvent"',
        "{",
        '{"kind":"PureEvent","epsilon":"1/1","epsilon":"1/2"}',
        '{"kind":"PureEvent","kind":"PureEvent","epsilon":"1/1"}',
        '{"kind":"PureEvent","epsilon":0.5}',
        '{"kind":"PureEvent","epsilon":NaN}',
        '{"kind":"PureEvent","epsilon":1e999}',
        '{"kind":"TeleportEvent","epsilon":"1/1"}',
        '{"kind":"PureEvent","epsilon":"1/1","extra":1}',
        '{"kind":"ComposedEvent","events":[{"kind":"TeleportEvent"}]}',
        '{"kind":"ComposedEvent","events":[{"kind":"PureEvent","epsilon":"1/1","epsilon":"1/2"}]}',
        '{"event":' * 100_000,
        '{"kind":"RepeatedEvent","count":2,"event":' * 400 + '{"kind":"PureEvent","epsilon":"1/1"}' + "}" * 400,
        '{"kind":"PureEvent","epsilon":' + "1" * 5_000 + "}",
        None,
        3,
    ],
)
def test_text_that_is_no_event_is_refused(text):
    with pytest.raises(Refusal):
        events.from_canonical(text)


def test_an_object_that_is_no_event_is_not_written():
    with pytest.raises(AccountingError, match="its privacy cost is not known"):
        events.canonical("PureEvent")


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
