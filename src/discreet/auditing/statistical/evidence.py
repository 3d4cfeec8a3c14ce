"""What an audit saw, in a sentence for people and in numbers for a figure."""

import math
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np

from discreet.auditing.claims import Claim
from discreet.auditing.statistical import bounds
from discreet.auditing.statistical.events import Event, Sides
from discreet.auditing.statistical.features import Columns
from discreet.auditing.statistical.flatten import PARTLY, WHOLLY
from discreet.auditing.statistical.outcomes import Floats

_BINS = 40
_CATEGORIES = 20
_POINTS = 12
_LOOKED_AT = 1_000
_TOUCHED = np.array([0.0, *np.geomspace(1e-12, 0.5, 300)])
_OF_HALF = 25
_NEARER_TO_NONE = 3
_NAMED = 5


def sentence(event: Event, sides: Sides, said: str) -> str:
    """How often the event came on each dataset, and what follows."""
    one, other = int(event.holds(sides.one).sum()), int(event.holds(sides.other).sum())
    return f"{event} came {_times(one)} in {sides.one.count:,} with `one`, {_times(other)} with `other`: {said}"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def warning(sides: Sides) -> str:
    """What to think of where each dataset had one outcome alone, and not the same."""
    if any(_varies(side) for side in sides):
        return ""
    return "; each dataset always gave the same outcome: there is no noise, or a remembered answer came again"


def blindness(sides: Sides) -> str | None:
    """The note where some outcomes could not be inspected at all."""
    kinds = _unseen(sides, WHOLLY)
    if not kinds:
        return None
    return (
        f"some outcomes show nothing of themselves ({', '.join(kinds)}), so they could not be judged: "
        "return their numbers or texts instead"
    )


def omissions(sides: Sides) -> str:
    """What parts of outcomes were not looked into, if any."""
    parts = _unseen(sides, WHOLLY) + _unseen(sides, PARTLY)
    return f"; not looked into: {', '.join(parts)}" if parts else ""


def _unseen(sides: Sides, how_much: str) -> list[str]:
    said = {text for side in sides for text in side.categories.get("unseen", ()) if text is not None}
    return sorted(text.removeprefix(how_much) for text in said if text.startswith(how_much))[:_NAMED]


def _varies(columns: Columns) -> bool:
    numbers = [column for name, column in columns.numbers.items() if name != "seconds"]
    return any(len(set(map(str, column[:_LOOKED_AT]))) > 1 for column in (*numbers, *columns.categories.values()))


def figure(event: Event, sides: Sides) -> dict[str, Any]:
    """The event, and its feature on both datasets, in terms that JSON can say."""
    level = event.level if isinstance(event.level, str) or math.isfinite(event.level) else str(event.level)
    return {
        "event": {"feature": event.feature, "relation": event.relation, "level": level},
        "likelier_on": "other" if event.swapped else "one",
        "histogram": categories(event, sides) if isinstance(event.level, str) else histogram(event, sides),
    }


def categories(event: Event, sides: Sides) -> dict[str, Any]:
    """How often each category of the event's feature came on either dataset, the most frequent first."""
    one, other = (Counter(_column(event, side)) for side in sides)
    levels = [level for level, _ in (one + other).most_common(_CATEGORIES)]
    return {
        "levels": ["none" if level is None else str(level) for level in levels],
        "one": [one[level] for level in levels],
        "other": [other[level] for level in levels],
    }


def histogram(event: Event, sides: Sides) -> dict[str, Any]:
    """How often each bin of the event's feature came on either dataset; one in 500 lies outside at most."""
    one, other = (np.array(_column(event, side), dtype=float) for side in sides)
    every = np.concatenate([one, other])
    finite = every[np.isfinite(every)]
    if not len(finite):
        return {"edges": [], "one": [], "other": []}
    low, high = np.quantile(finite, [0.001, 0.999], method="nearest")
    edges = _edges(finite, low, high)
    return {"edges": edges.tolist(), "one": _counts(one, edges), "other": _counts(other, edges)}


def curve(event: Event, chosen_on: Sides, tested_on: Sides, alarm: float) -> list[dict[str, float]]:
    """Points of the trade-off curve at several levels of the event's feature: they hold together, but for the alarm."""
    if isinstance(event.level, str) or event.relation not in (">=", "<"):
        return []
    here = np.array(_column(event, chosen_on.other if event.swapped else chosen_on.one), dtype=float)
    here = here[np.isfinite(here)]
    if not len(here):
        return []
    levels = np.unique(np.quantile(here, np.linspace(0.02, 0.98, _POINTS), method="nearest"))
    held = [replace(event, level=float(level)).on(tested_on) for level in levels]
    likelier, other = (np.array([int(truths[side].sum()) for truths in held]) for side in (0, 1))
    return [point._asdict() for point in bounds.trade_off(levels, likelier, other, tested_on.one.count, alarm)]


def allowed_trade_off(claim: Claim) -> dict[str, list[float]]:
    """The least errors that the claim allows to any test, from one end to the other: a curve below which it is refuted.

    The event of a test of errors a and b has the probability 1 - b here and a there, and its complement has a bound of
    its own, so every line p <= slope q + intercept says 1 - b <= slope a + intercept and 1 - a <= slope b + intercept.
    What is allowed one way is allowed the other way round: the half up to where both errors are equal is enough.
    """
    lines = np.array([claim.line(float(place)) for place in _TOUCHED])
    slopes, intercepts = lines[:, :1], lines[:, 1:]
    equal = float(np.max((1 - intercepts) / (1 + slopes)))
    fewer = equal * np.linspace(0, 1, _OF_HALF) ** _NEARER_TO_NONE
    more = np.max(np.maximum(1 - intercepts - slopes * fewer, (1 - intercepts - fewer) / slopes), axis=0)
    back = slice(-2, None, -1)
    return {
        "false_positive": [*fewer.tolist(), *more[back].tolist(), 1.0],
        "false_negative": [*more.tolist(), *fewer[back].tolist(), 0.0],
    }


def _edges(finite: Floats, low: float, high: float) -> Floats:
    """Half a step around each value where they are few whole steps apart, else bins of one width."""
    inside = finite[(finite >= low) & (finite <= high)]
    if high - low < _BINS and (inside == np.floor(inside)).all():
        return np.arange(low - 0.5, high + 1)
    return np.linspace(low, high, _BINS + 1)


def _counts(column: Floats, edges: Floats) -> list[int]:
    kept = column[np.isfinite(column)]
    counts: list[int] = np.histogram(kept, edges)[0].tolist()
    return counts


def _column(event: Event, columns: Columns) -> list[Any]:
    found = event.column(columns)
    return [] if found is None else found.tolist()
