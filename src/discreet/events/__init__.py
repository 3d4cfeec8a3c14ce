"""What was done, precisely enough to account for it.

Mechanisms emit events and accountants read them; neither knows the other. The vocabulary grows and never changes: an
event written today means the same to every later version, and an accountant refuses an event it does not know. Every
number is a rational, and no event can be written whose privacy cost would be negative. An event stands for the whole
answer, vector answers included.
"""

from discreet.events.simple import (
    ApproximateConcentratedEvent,
    ApproximateEvent,
    BoundedRangeEvent,
    ConcentratedEvent,
    DiscreteGaussianEvent,
    DiscreteLaplaceEvent,
    GaussianEvent,
    LaplaceEvent,
    PureEvent,
    SampledGaussianEvent,
)
from discreet.events.text import canonical, from_canonical, from_json, to_json
from discreet.events.vocabulary import (
    ComposedEvent,
    Event,
    HasEvent,
    RepeatedEvent,
    RepeatedSelectionEvent,
    compose,
    event_of,
    leaves,
    no_event,
    total_delta,
    unknown,
)

__all__ = [
    "ApproximateConcentratedEvent",
    "ApproximateEvent",
    "BoundedRangeEvent",
    "ComposedEvent",
    "ConcentratedEvent",
    "DiscreteGaussianEvent",
    "DiscreteLaplaceEvent",
    "Event",
    "GaussianEvent",
    "HasEvent",
    "LaplaceEvent",
    "PureEvent",
    "RepeatedEvent",
    "RepeatedSelectionEvent",
    "SampledGaussianEvent",
    "canonical",
    "compose",
    "event_of",
    "from_canonical",
    "from_json",
    "leaves",
    "no_event",
    "to_json",
    "total_delta",
    "unknown",
]
