"""What was done, precisely enough to account for it.

Mechanisms emit events and accountants read them; neither knows the other. The vocabulary grows and never changes:
an event written today means the same to every later version, and an accountant refuses an event it does not know.
Every number is a rational, and no event can be written whose price would be negative. An event stands for the whole
answer, vector answers included.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Protocol

from discreet.errors import AccountingError, ParameterError, Refusal, public_class, short_traceback
from discreet.exact import positive, rational, whole


@public_class
@dataclass(frozen=True)
class PureEvent:
    """Any epsilon-differentially private mechanism.

    Args:
        epsilon: The epsilon, at least 0.

    Example:
        >>> import discreet as dp
        >>> dp.events.PureEvent(0.5)
        PureEvent(epsilon=Fraction(1, 2))
    """

    epsilon: Fraction

    def __post_init__(self) -> None:
        _read(self, "epsilon", _not_negative)


@public_class
@dataclass(frozen=True)
class BoundedRangeEvent:
    """Mechanism of epsilon-bounded range, such as the exponential mechanism.

    Args:
        epsilon: Length of the interval of its privacy losses.

    Example:
        >>> import discreet as dp
        >>> event = dp.events.BoundedRangeEvent(0.5)
    """

    epsilon: Fraction

    def __post_init__(self) -> None:
        _read(self, "epsilon", _not_negative)


@public_class
@dataclass(frozen=True)
class ApproximateEvent:
    """Any (epsilon, delta)-differentially private mechanism.

    Args:
        epsilon: The epsilon, at least 0.
        delta: The delta, from 0 to 1.

    Example:
        >>> import discreet as dp
        >>> event = dp.events.ApproximateEvent(0.5, 1e-9)
    """

    epsilon: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        _read(self, "epsilon", _not_negative)
        _read(self, "delta", _at_most_one)


@public_class
@dataclass(frozen=True)
class ConcentratedEvent:
    """Any delta-approximately rho-zCDP mechanism.

    Args:
        rho: The rho, at least 0.
        delta: The delta, from 0 to 1. Default 0.

    Example:
        >>> import discreet as dp
        >>> event = dp.events.ConcentratedEvent(0.01)
    """

    rho: Fraction
    delta: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        _read(self, "rho", _not_negative)
        _read(self, "delta", _at_most_one)


@public_class
@dataclass(frozen=True)
class DiscreteLaplaceEvent:
    """Integers with independent discrete Laplace noise: P[y] proportional to exp(-|y|/scale).

    Args:
        scale: The scale.
        sensitivity: The L1 sensitivity.

    Example:
        >>> import discreet as dp
        >>> event = dp.events.DiscreteLaplaceEvent(10, 1)
    """

    scale: Fraction
    sensitivity: Fraction

    def __post_init__(self) -> None:
        _read(self, "scale", positive)
        _read(self, "sensitivity", _not_negative)


@public_class
@dataclass(frozen=True)
class DiscreteGaussianEvent:
    """Integers with independent discrete Gaussian noise: P[y] proportional to exp(-y^2/(2 variance)).

    Args:
        variance: The square of sigma.
        squared_sensitivity: Square of the L2 sensitivity.
        dimension: Number of coordinates that one unit changes. Default 1.

    Example:
        >>> import discreet as dp
        >>> event = dp.events.DiscreteGaussianEvent(100, 1)
    """

    variance: Fraction
    squared_sensitivity: Fraction
    dimension: int = 1

    def __post_init__(self) -> None:
        _read(self, "variance", positive)
        _read(self, "squared_sensitivity", _not_negative)
        _read(self, "dimension", whole)


@public_class
@dataclass(frozen=True)
class LaplaceEvent:
    """Continuous Laplace noise, for study: discreet does not draw it.

    Args:
        scale: The scale.
        sensitivity: The L1 sensitivity.

    Example:
        >>> import discreet as dp
        >>> event = dp.events.LaplaceEvent(10, 1)
    """

    scale: Fraction
    sensitivity: Fraction

    def __post_init__(self) -> None:
        _read(self, "scale", positive)
        _read(self, "sensitivity", _not_negative)


@public_class
@dataclass(frozen=True)
class GaussianEvent:
    """Continuous Gaussian noise, for study: discreet does not draw it.

    Args:
        variance: The variance.
        squared_sensitivity: Square of the L2 sensitivity.

    Example:
        >>> import discreet as dp
        >>> event = dp.events.GaussianEvent(100, 1)
    """

    variance: Fraction
    squared_sensitivity: Fraction

    def __post_init__(self) -> None:
        _read(self, "variance", positive)
        _read(self, "squared_sensitivity", _not_negative)


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
        _read(self, "count", whole)


Event = (
    PureEvent
    | BoundedRangeEvent
    | ApproximateEvent
    | ConcentratedEvent
    | DiscreteLaplaceEvent
    | DiscreteGaussianEvent
    | LaplaceEvent
    | GaussianEvent
    | ComposedEvent
    | RepeatedEvent
)

_RATIO = re.compile(r"-?[0-9]{1,1000}/[1-9][0-9]{0,1000}")

_KINDS: dict[str, type] = {
    "PureEvent": PureEvent,
    "BoundedRangeEvent": BoundedRangeEvent,
    "ApproximateEvent": ApproximateEvent,
    "ConcentratedEvent": ConcentratedEvent,
    "DiscreteLaplaceEvent": DiscreteLaplaceEvent,
    "DiscreteGaussianEvent": DiscreteGaussianEvent,
    "LaplaceEvent": LaplaceEvent,
    "GaussianEvent": GaussianEvent,
    "ComposedEvent": ComposedEvent,
    "RepeatedEvent": RepeatedEvent,
}
"""The names that ledgers and receipts know events by; they stay, whatever the classes are called."""

_NAMES = {kind: name for name, kind in _KINDS.items()}


@short_traceback
def leaves(event: Event) -> Iterator[tuple[Event, int]]:
    """The simple events inside an event, each with how often it happened."""
    if isinstance(event, ComposedEvent):
        for part in event.events:
            yield from leaves(part)
    elif isinstance(event, RepeatedEvent):
        for part, count in leaves(event.event):
            yield part, count * event.count
    else:
        yield event, 1


@short_traceback
def own_delta(event: "Event") -> Fraction:
    """The sum of the deltas that parts of an event have of their own."""
    return sum((count * getattr(leaf, "delta", Fraction(0)) for leaf, count in leaves(event)), Fraction(0))


class HasEvent(Protocol):
    """A mechanism, as far as accountants care: it says what it does."""

    def event(self) -> Event:
        """Event of a release.

        Returns:
            The event.
        """


@short_traceback
def event_of(what: Event | HasEvent) -> Event:
    """The event itself, or that of a mechanism; anything else is refused."""
    if type(what) in _NAMES:
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
def to_json(event: Event) -> dict[str, object]:
    """The event as plain data; rationals as 'numerator/denominator' text."""
    if type(event) not in _NAMES:
        raise unknown(type(event).__name__)
    return {"kind": _NAMES[type(event)]} | {f.name: _plain(getattr(event, f.name)) for f in fields(event)}


@short_traceback
def from_json(data: dict[str, object]) -> Event:
    """The event that `to_json` wrote; an unknown kind is refused."""
    kind = _KINDS.get(str(data.get("kind")))
    if kind is None:
        raise unknown(data.get("kind"))
    if set(data) - {"kind"} - {f.name for f in fields(kind)}:
        raise unknown(data.get("kind"))
    try:
        result: Event = kind(**{name: _parse_rational(value) for name, value in data.items() if name != "kind"})
    except Refusal:
        raise
    except (ArithmeticError, AttributeError, TypeError, ValueError):
        raise unknown(data.get("kind")) from None
    return result


@short_traceback
def canonical(event: Event) -> str:
    """One text for one event, for hashing."""
    return json.dumps(to_json(event), sort_keys=True, separators=(",", ":"))


@short_traceback
def from_canonical(text: str) -> Event:
    """The event that `canonical` wrote; a repeated key, a number with a point or an unknown kind is refused."""
    try:
        data = json.loads(
            text,
            object_pairs_hook=_each_once,
            parse_float=_unwritten_number_error,
            parse_constant=_unwritten_number_error,
        )
        return from_json(data)
    except Refusal:
        raise
    except (AttributeError, RecursionError, TypeError, ValueError):
        raise AccountingError(
            "text in place of an event",
            because="it is not what discreet writes for one, and a guess at its meaning would have no price",
            instead="the text of events.canonical(event)",
        ) from None


@short_traceback
def unknown(kind: object) -> AccountingError:
    """The refusal of an event that is not in the vocabulary."""
    return AccountingError(
        f"event {kind!r}",
        because="this version does not know it, and an unknown event has no price",
        instead="a newer version of discreet, or events.PureEvent with a proven epsilon",
    )


@short_traceback
def no_event(value: object) -> AccountingError:
    """The refusal of an object where an event belongs."""
    is_method = callable(value) and getattr(value, "__name__", "") == "event"
    if not is_method and not (callable(getattr(value, "event", None)) or isinstance(value, type)):
        return unknown(type(value).__name__)
    what = "the method `event`, not called" if is_method else f"{_kind(value)} in place of an event"
    owner = getattr(value, "__self__", value) if is_method else value
    name = "mechanism" if isinstance(owner, type) else type(owner).__name__.lower()
    return AccountingError(
        what, because="accountants price events, which a mechanism makes when asked", instead=f"{name}.event()"
    )


def _kind(value: object) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else f"a {type(value).__name__}"


def _read(event: object, name: str, reader: Callable[[object, str], object]) -> None:
    object.__setattr__(event, name, reader(getattr(event, name), name))


def _not_negative(value: object, name: str) -> Fraction:
    number = rational(value, name)
    if number < 0:
        raise ParameterError(
            f"{name} below zero",
            because="nothing that was done gives privacy back",
            instead=f"{name}=0.1, or another number of at least zero",
        )
    return number


def _at_most_one(value: object, name: str) -> Fraction:
    number = _not_negative(value, name)
    if number > 1:
        raise ParameterError(
            f"{name} above one",
            because=f"{name} is a probability",
            instead=f"{name}=1e-9, or another small probability",
        )
    return number


def _plain(value: object) -> object:
    if isinstance(value, Fraction):
        return f"{value.numerator}/{value.denominator}"
    if isinstance(value, tuple):
        return [to_json(part) for part in value]
    if isinstance(value, int):
        return value
    return to_json(value)  # type: ignore[arg-type]


def _parse_rational(value: object) -> object:
    if isinstance(value, str):
        return _ratio(value)
    if isinstance(value, list):
        return tuple(from_json(part) for part in value)
    if isinstance(value, dict):
        return from_json(value)
    return value


def _each_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    data = dict(pairs)
    if len(data) != len(pairs):
        raise ValueError
    return data


def _unwritten_number_error(number: str) -> object:
    raise ValueError(number)


def _ratio(text: str) -> Fraction:
    if not _RATIO.fullmatch(text):
        raise ValueError
    return Fraction(text)
