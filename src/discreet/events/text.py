"""Events as plain data and as text: what receipts and ledgers hold, and the reading of it."""

import json
import re
from dataclasses import fields
from fractions import Fraction

from discreet.errors import AccountingError, Refusal, short_traceback
from discreet.events.vocabulary import KINDS, NAMES, Event, unknown

_RATIO = re.compile(r"-?[0-9]{1,1000}/[1-9][0-9]{0,1000}")


@short_traceback
def to_json(event: Event) -> dict[str, object]:
    """The event as plain data; rationals are text of the form "numerator/denominator".

    Args:
        event: The event.

    Returns:
        A dict for JSON.

    Raises:
        AccountingError: If it is not an event of this vocabulary.

    Example:
        >>> import discreet as dp
        >>> dp.events.to_json(dp.events.PureEvent(0.5))
        {'kind': 'PureEvent', 'epsilon': '1/2'}
    """
    if type(event) not in NAMES:
        raise unknown(type(event).__name__)
    return {"kind": NAMES[type(event)]} | {f.name: _plain(getattr(event, f.name)) for f in fields(event)}


@short_traceback
def from_json(data: dict[str, object]) -> Event:
    """Read an event from the data of `to_json`.

    Args:
        data: The data.

    Returns:
        The event.

    Raises:
        Refusal: If its kind is unknown, or a number is outside its range.

    Example:
        >>> import discreet as dp
        >>> dp.events.from_json({"kind": "PureEvent", "epsilon": "1/2"})
        PureEvent(epsilon=Fraction(1, 2))
    """
    kind = KINDS.get(str(data.get("kind")))
    if kind is None:
        raise unknown(data.get("kind"))
    if set(data) - {"kind"} - {f.name for f in fields(kind)}:
        raise unknown(data.get("kind"))
    try:
        result: Event = kind(**{name: _parse_value(value) for name, value in data.items() if name != "kind"})
    except Refusal:
        raise
    except (ArithmeticError, AttributeError, TypeError, ValueError):
        raise unknown(data.get("kind")) from None
    return result


@short_traceback
def canonical(event: Event) -> str:
    """One text for one event, for hashing.

    Args:
        event: The event.

    Returns:
        The text.

    Raises:
        AccountingError: If it is not an event of this vocabulary.

    Example:
        >>> import discreet as dp
        >>> dp.events.canonical(dp.events.PureEvent(0.5))
        '{"epsilon":"1/2","kind":"PureEvent"}'
    """
    return json.dumps(to_json(event), sort_keys=True, separators=(",", ":"))


@short_traceback
def from_canonical(text: str) -> Event:
    """Read an event from the text of `canonical`.

    Args:
        text: The text.

    Returns:
        The event.

    Raises:
        Refusal: If a key is repeated, a number has a point, or the kind is unknown.

    Example:
        >>> import discreet as dp
        >>> dp.events.from_canonical('{"epsilon":"1/2","kind":"PureEvent"}')
        PureEvent(epsilon=Fraction(1, 2))
    """
    try:
        data = json.loads(
            text,
            object_pairs_hook=_each_once,
            parse_float=_refuse_float,
            parse_constant=_refuse_float,
        )
        return from_json(data)
    except Refusal:
        raise
    except (AttributeError, RecursionError, TypeError, ValueError):
        raise AccountingError(
            "text in place of an event",
            because="it is not the canonical text of an event",
            instead="the text of events.canonical(event)",
        ) from None


def _plain(value: object) -> object:
    if isinstance(value, Fraction):
        return f"{value.numerator}/{value.denominator}"
    if isinstance(value, tuple):
        return [to_json(part) for part in value]
    if isinstance(value, int):
        return value
    return to_json(value)  # type: ignore[arg-type]


def _parse_value(value: object) -> object:
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


def _refuse_float(number: str) -> object:
    raise ValueError(number)


def _ratio(text: str) -> Fraction:
    if not _RATIO.fullmatch(text):
        raise ValueError
    return Fraction(text)
