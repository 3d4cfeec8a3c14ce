"""The text of an event reads back as the event, never changes, and nothing else is read."""

import json
from fractions import Fraction

import pytest
from hypothesis import given, settings

from discreet import events
from discreet.errors import AccountingError, Refusal
from event_strategies import nested


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
