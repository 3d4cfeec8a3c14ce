"""What was done, precisely enough to account for it.

Mechanisms emit events and accountants read them; neither knows the other. The vocabulary grows and never changes:
an event written today means the same to every later version, and an accountant refuses an event it does not know.
Every number is a rational. An event stands for the whole answer, vector answers included.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, fields
from fractions import Fraction

from discreet.errors import AccountingError


@dataclass(frozen=True)
class PureEvent:
    """Any mechanism known only to be epsilon-differentially private."""

    epsilon: Fraction


@dataclass(frozen=True)
class ApproximateEvent:
    """Any mechanism known only to be (epsilon, delta)-differentially private."""

    epsilon: Fraction
    delta: Fraction


@dataclass(frozen=True)
class ConcentratedEvent:
    """Any mechanism known only to be delta-approximately rho-zero-concentrated private."""

    rho: Fraction
    delta: Fraction = Fraction(0)


@dataclass(frozen=True)
class DiscreteLaplaceEvent:
    """Integers plus independent discrete Laplace noise: P[y] proportional to exp(-|y|/scale); L1 sensitivity."""

    scale: Fraction
    sensitivity: Fraction


@dataclass(frozen=True)
class DiscreteGaussianEvent:
    """Integers plus independent discrete Gaussian noise: P[y] proportional to exp(-y^2/(2 variance)).

    `squared_sensitivity` is the square of the L2 sensitivity, which is rational where the sensitivity itself is not;
    `dimension` is the number of coordinates that one unit may move (1 for a scalar).
    """

    variance: Fraction
    squared_sensitivity: Fraction
    dimension: int = 1


@dataclass(frozen=True)
class LaplaceEvent:
    """Continuous Laplace noise, for study: nothing in discreet draws it."""

    scale: Fraction
    sensitivity: Fraction


@dataclass(frozen=True)
class GaussianEvent:
    """Continuous Gaussian noise, for study: nothing in discreet draws it."""

    variance: Fraction
    squared_sensitivity: Fraction


@dataclass(frozen=True)
class ComposedEvent:
    """Several events on the same data, one after another."""

    events: tuple["Event", ...]


@dataclass(frozen=True)
class RepeatedEvent:
    """The same event, drawn afresh `count` times."""

    event: "Event"
    count: int


Event = (
    PureEvent
    | ApproximateEvent
    | ConcentratedEvent
    | DiscreteLaplaceEvent
    | DiscreteGaussianEvent
    | LaplaceEvent
    | GaussianEvent
    | ComposedEvent
    | RepeatedEvent
)

_KINDS: dict[str, type] = {
    kind.__name__: kind
    for kind in (
        PureEvent,
        ApproximateEvent,
        ConcentratedEvent,
        DiscreteLaplaceEvent,
        DiscreteGaussianEvent,
        LaplaceEvent,
        GaussianEvent,
        ComposedEvent,
        RepeatedEvent,
    )
}


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


def to_json(event: Event) -> dict[str, object]:
    """The event as plain data; rationals as 'numerator/denominator' text."""
    return {"kind": type(event).__name__} | {f.name: _plain(getattr(event, f.name)) for f in fields(event)}


def from_json(data: dict[str, object]) -> Event:
    """The event that `to_json` wrote; an unknown kind is refused."""
    kind = _KINDS.get(str(data.get("kind")))
    if kind is None:
        raise unknown(data.get("kind"))
    values = {name: _parsed(value) for name, value in data.items() if name != "kind"}
    if set(values) - {f.name for f in fields(kind)}:
        raise unknown(data.get("kind"))
    result: Event = kind(**values)
    return result


def canonical(event: Event) -> str:
    """One text for one event, for hashing."""
    return json.dumps(to_json(event), sort_keys=True, separators=(",", ":"))


def unknown(kind: object) -> AccountingError:
    """The refusal of an event that is not in the vocabulary."""
    return AccountingError(
        f"event {kind!r}",
        because="this version does not know it, and an unknown event has no price",
        instead="a newer version of discreet, or events.PureEvent with a proven epsilon",
    )


def _plain(value: object) -> object:
    if isinstance(value, Fraction):
        return f"{value.numerator}/{value.denominator}"
    if isinstance(value, tuple):
        return [to_json(part) for part in value]
    if isinstance(value, int):
        return value
    return to_json(value)  # type: ignore[arg-type]


def _parsed(value: object) -> object:
    if isinstance(value, str):
        return Fraction(value)
    if isinstance(value, list):
        return tuple(from_json(part) for part in value)
    if isinstance(value, dict):
        return from_json(value)
    return value
