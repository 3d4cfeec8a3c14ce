"""The vocabulary of events, and what they are made of."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from discreet.errors import AccountingError, ParameterError, public_class, short_traceback
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
    read_field,
)
from discreet.exact.numbers import rational, whole


@public_class
@dataclass(frozen=True)
class ComposedEvent:
    """Several events on the same data.

    Args:
        events: The events.

    Example:
        >>> import discreet as dp
        >>> event = dp.events.ComposedEvent((dp.events.PureEvent(1), dp.events.PureEvent(2)))
    """

    events: tuple["Event", ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "events", tuple(self.events))


@public_class
@dataclass(frozen=True)
class RepeatedEvent:
    """The same event, repeated with fresh randomness.

    Args:
        event: The event.
        count: Number of repetitions.

    Example:
        >>> import discreet as dp
        >>> event = dp.events.RepeatedEvent(dp.events.PureEvent(0.5), 4)
    """

    event: "Event"
    count: int

    def __post_init__(self) -> None:
        read_field(self, "count", whole)


@public_class
@dataclass(frozen=True)
class RepeatedSelectionEvent:
    """The best of a random number of runs of one event, such as of a model that is fitted and scored.

    The number of runs has the truncated negative binomial law and is not published.

    Args:
        event: Event of one run, its score included, without a delta of its own.
        eta: Shape of the number of runs, above -1; 1 is the geometric law, 0 the logarithmic one.
        gamma: Parameter of the mean, above 0 and below 1; the mean of the geometric law is 1/gamma.

    Raises:
        AccountingError: If a run has a delta of its own, or is not an event.
        ParameterError: If eta or gamma is outside its range.

    Example:
        >>> import discreet as dp
        >>> event = dp.events.RepeatedSelectionEvent(dp.events.ConcentratedEvent(0.01), eta=1, gamma=0.05)
    """

    event: "Event"
    eta: Fraction
    gamma: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "event", event_of(self.event))
        read_field(self, "eta", rational)
        read_field(self, "gamma", rational)
        if self.eta <= -1 or not 0 < self.gamma < 1:
            raise ParameterError(
                "a number of runs outside its law",
                because="eta must be above -1, and gamma above 0 and below 1",
                instead="eta=1, gamma=0.05",
            )
        if total_delta(self.event):
            raise AccountingError(
                "selection among runs with a delta of their own",
                because="its privacy cost is proved for runs without one",
                instead="a run with discrete Gaussian or Laplace noise alone",
            )


Event = (
    PureEvent
    | BoundedRangeEvent
    | ApproximateEvent
    | ApproximateConcentratedEvent
    | ConcentratedEvent
    | DiscreteLaplaceEvent
    | DiscreteGaussianEvent
    | LaplaceEvent
    | GaussianEvent
    | SampledGaussianEvent
    | ComposedEvent
    | RepeatedEvent
    | RepeatedSelectionEvent
)

KINDS: dict[str, type] = {
    "PureEvent": PureEvent,
    "BoundedRangeEvent": BoundedRangeEvent,
    "ApproximateEvent": ApproximateEvent,
    "ApproximateConcentratedEvent": ApproximateConcentratedEvent,
    "ConcentratedEvent": ConcentratedEvent,
    "DiscreteLaplaceEvent": DiscreteLaplaceEvent,
    "DiscreteGaussianEvent": DiscreteGaussianEvent,
    "LaplaceEvent": LaplaceEvent,
    "GaussianEvent": GaussianEvent,
    "SampledGaussianEvent": SampledGaussianEvent,
    "ComposedEvent": ComposedEvent,
    "RepeatedEvent": RepeatedEvent,
    "RepeatedSelectionEvent": RepeatedSelectionEvent,
}
"""The names that ledgers and receipts know events by; they stay when a class is renamed."""

NAMES = {kind: name for name, kind in KINDS.items()}


@short_traceback
def leaves(event: Event) -> Iterator[tuple[Event, int]]:
    """Simple events inside an event, each with its number of repetitions.

    Args:
        event: The event.

    Yields:
        Pairs of an event and a number.

    Example:
        >>> import discreet as dp
        >>> list(dp.events.leaves(dp.events.RepeatedEvent(dp.events.PureEvent(1), 3)))
        [(PureEvent(epsilon=Fraction(1, 1)), 3)]
    """
    if isinstance(event, ComposedEvent):
        for part in event.events:
            yield from leaves(part)
    elif isinstance(event, RepeatedEvent):
        for part, count in leaves(event.event):
            yield part, count * event.count
    else:
        yield event, 1


@short_traceback
def total_delta(event: "Event") -> Fraction:
    """Sum of the deltas of the parts of an event.

    Args:
        event: The event.

    Returns:
        The sum.

    Example:
        >>> import discreet as dp
        >>> dp.events.total_delta(dp.events.RepeatedEvent(dp.events.ApproximateEvent(1, 0.125), 2))
        Fraction(1, 4)
    """
    return sum((count * getattr(leaf, "delta", Fraction(0)) for leaf, count in leaves(event)), Fraction(0))


class HasEvent(Protocol):
    """Anything with `event()`, such as a mechanism."""

    def event(self) -> Event:
        """Event of a release.

        Returns:
            The event.
        """


@short_traceback
def event_of(what: Event | HasEvent) -> Event:
    """The event itself, or the event of a mechanism.

    Args:
        what: An event or a mechanism.

    Returns:
        The event.

    Raises:
        AccountingError: If it is neither.

    Example:
        >>> import discreet as dp
        >>> dp.events.event_of(dp.mechanisms.Laplace(sensitivity=1, epsilon=0.1)).scale
        Fraction(10, 1)
    """
    if type(what) in NAMES:
        return what  # type: ignore[return-value]
    method = getattr(what, "event", None)
    if not callable(method) or isinstance(what, type):
        raise no_event(what)
    return event_of(method())


@short_traceback
def compose(what: Event | HasEvent | Iterable[Event | HasEvent]) -> Event:
    """One event for several, with equal parts counted.

    Args:
        what: An event, a mechanism, or several.

    Returns:
        The event.

    Raises:
        AccountingError: If a part is neither.

    Example:
        >>> import discreet as dp
        >>> dp.events.compose([dp.events.PureEvent(1)] * 3).count
        3
    """
    counted: Counter[Event] = Counter()
    for part in what if isinstance(what, Iterable) else (what,):
        for leaf, count in leaves(event_of(part)):
            counted[event_of(leaf)] += count
    parts = tuple(leaf if count == 1 else RepeatedEvent(leaf, count) for leaf, count in counted.items())
    return parts[0] if len(parts) == 1 else ComposedEvent(parts)


@short_traceback
def unknown(kind: object) -> AccountingError:
    """Error for an event that is not in the vocabulary.

    Args:
        kind: Name of its kind.

    Returns:
        The error, to raise.

    Example:
        >>> import discreet as dp
        >>> isinstance(dp.events.unknown("OtherEvent"), dp.errors.AccountingError)
        True
    """
    return AccountingError(
        f"event {kind!r}",
        because="this version does not know it, so its privacy cost is not known",
        instead="a newer version of discreet, or events.PureEvent with a proven epsilon",
    )


@short_traceback
def no_event(value: object) -> AccountingError:
    """Error for an object in the place of an event.

    Args:
        value: The object.

    Returns:
        The error, to raise; it names the call that gives the event.

    Example:
        >>> import discreet as dp
        >>> dp.events.no_event(dp.mechanisms.Laplace(sensitivity=1, epsilon=0.1)).instead
        'laplace.event()'
    """
    is_method = callable(value) and getattr(value, "__name__", "") == "event"
    if not is_method and not (callable(getattr(value, "event", None)) or isinstance(value, type)):
        return unknown(type(value).__name__)
    what = "the method `event`, not called" if is_method else f"{_kind(value)} in place of an event"
    owner = getattr(value, "__self__", value) if is_method else value
    name = "mechanism" if isinstance(owner, type) else type(owner).__name__.lower()
    return AccountingError(what, because="accountants compose events, not mechanisms", instead=f"{name}.event()")


def _kind(value: object) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else f"a {type(value).__name__}"
