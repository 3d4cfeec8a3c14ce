"""From what is declared of a column to its slots: bins of numbers and dates, declared values of the others.

What the query declares comes first: edges, keys or bounds. A number has the bins that the catalog declares, else 32 of
equal width between its bounds; a whole number with fewer values between its bounds has one bin for each. A date or time
has keys, bounds in the query, or lies in the period of a slice. The data is never looked at.
"""

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from discreet.catalog.catalog import Column, ColumnType
from discreet.catalog.columns import NUMERIC, UNSTRUCTURED, FeatureBins, is_of_type, python_value
from discreet.catalog.time_slice import Slice
from discreet.errors import ParameterError, UnboundedError
from discreet.plan.logical import Scalar
from discreet.plan.slots import SlotColumn
from discreet.planner.resolve.terms import constant

BINS = 32
"""Bins of a number or date that declares none."""
_LARGEST = 2**63 - 2
_TIMES = (ColumnType.DATE, ColumnType.TIMESTAMP)
_TICK, _DAY = dt.timedelta(microseconds=1), dt.timedelta(days=1)
_BOUNDS = {
    ColumnType.DATE: "(dt.date(2024, 1, 1), dt.date(2024, 12, 31))",
    ColumnType.TIMESTAMP: "(dt.datetime(2024, 1, 1), dt.datetime(2025, 1, 1))",
    ColumnType.INTEGER: "(0, 100)",
    ColumnType.REAL: "(0, 1)",
}
_EXAMPLES = {
    ColumnType.DATE: "[dt.date(2024, 1, 1), dt.date(2024, 7, 1), dt.date(2025, 1, 1)]",
    ColumnType.TIMESTAMP: "[dt.datetime(2024, 1, 1), dt.datetime(2024, 7, 1), dt.datetime(2025, 1, 1)]",
    ColumnType.INTEGER: "[0, 18, 65, 100]",
    ColumnType.REAL: "[0, 0.5, 1]",
}


@dataclass(frozen=True)
class ColumnFacts:
    """What is public about the cells of a column: its declaration, and edges, keys or bounds that the query gives.

    `not_found` says that a search for slots found nothing in the column.
    """

    name: str
    column: Column
    edges: tuple[Scalar, ...] | None = None
    period: tuple[dt.datetime, dt.datetime] | None = None
    keys: tuple[Scalar | None, ...] | None = None
    bounds: tuple[Scalar, ...] | None = None
    not_found: bool = False


def period_of(name: str, part: Slice | None) -> tuple[dt.datetime, dt.datetime] | None:
    """The period that all cells of a column lie in, where a table is a slice by it."""
    return None if part is None or part.column != name else (part.start, part.end)


def slot_columns(columns: Sequence[ColumnFacts]) -> tuple[SlotColumn, ...]:
    """The slots of columns.

    Raises:
        UnboundedError: If nothing public says the slots of a column.
        ParameterError: If edges do not fit their column.
    """
    found = {facts.name: slots_of(facts) for facts in columns}
    fitting = [name for name, slots in found.items() if slots is not None]
    for facts in columns:
        if found[facts.name] is None:
            raise _no_slots_error(facts, fitting)
    return tuple(slots for slots in found.values() if slots is not None)


def slots_of(facts: ColumnFacts) -> SlotColumn | None:
    """The slots of a column, or None where nothing public says them."""
    name, column, kind = str.__str__(facts.name), facts.column, facts.column.type
    if facts.edges is not None:
        return SlotColumn(name, kind, edges=_query_edges(facts))
    if facts.bounds is not None:
        return SlotColumn(name, kind, edges=_query_bins(facts))
    if kind is ColumnType.BOOLEAN:
        return SlotColumn(name, kind, values=(False, True))
    if values := _values(facts):
        return SlotColumn(name, kind, values=values)
    edges: tuple[Scalar, ...] = ()
    if kind in NUMERIC:
        edges = _numbers(kind, column.bounds, column.bins)
    elif kind in _TIMES and facts.period is not None:
        edges = _moments(kind, *facts.period)
    return SlotColumn(name, kind, edges=edges) if edges else None


def _query_edges(facts: ColumnFacts) -> tuple[Scalar, ...]:
    """The edges that the query gives; times are in UTC, without a zone."""
    kind = facts.column.type
    edges = [_utc(python_value(edge)) for edge in facts.edges or ()]
    is_fitting = kind in _EXAMPLES and len(edges) > 1 and all(is_of_type(edge, kind) for edge in edges)
    if not is_fitting or any(low >= high for low, high in pairwise(edges)):  # type: ignore[operator]
        example = _EXAMPLES.get(kind)
        raise ParameterError(
            f"the edges of {facts.name!r}",
            because=f"a column of type {kind} has at least two increasing edges of its type"
            if example
            else f"a column of type {kind} has values, not edges",
            instead=f"edges={{{facts.name!r}: {example}}}" if example else f'keys={{{facts.name!r}: ["A", "B"]}}',
        )
    return tuple(float(edge) for edge in edges) if kind is ColumnType.REAL else tuple(edges)  # type: ignore[arg-type]


def _query_bins(facts: ColumnFacts) -> tuple[Scalar, ...]:
    """Bins of equal width between the bounds that the query gives; the upper one belongs to the last bin."""
    kind = facts.column.type
    bounds: list[Any] = [_utc(python_value(bound)) for bound in facts.bounds or ()]
    is_fitting = kind in _EXAMPLES and len(bounds) == 2 and all(is_of_type(bound, kind) for bound in bounds)
    if not is_fitting or bounds[0] > bounds[1]:
        example = _BOUNDS.get(kind)
        raise ParameterError(
            f"the bounds of {facts.name!r}",
            because=f"a column of type {kind} has a lowest and a highest value of its type"
            if example
            else f"a column of type {kind} has values, not bounds",
            instead=f"bounds={{{facts.name!r}: {example}}}" if example else f'keys={{{facts.name!r}: ["A", "B"]}}',
        )
    low, high = bounds
    if isinstance(low, dt.datetime) and isinstance(high, dt.datetime):
        start, last = (min(each, dt.datetime.max - _TICK) for each in (low, high))  # noqa: DTZ901 - cells have no zone
        return _moments(kind, start, last + _TICK)
    if isinstance(low, dt.date) and isinstance(high, dt.date):
        start, last = (dt.datetime.combine(min(each, dt.date.max - _DAY), dt.time()) for each in (low, high))
        return _moments(kind, start, last + _DAY)
    return _numbers(kind, (Fraction(low), Fraction(high)), facts.column.bins)


def _values(facts: ColumnFacts) -> tuple[Any, ...]:
    """The keys of the query or the catalog, each once and without the missing one; none of a column without keys."""
    name, kind = facts.name, facts.column.type
    has_keys = kind not in (ColumnType.REAL, *UNSTRUCTURED)
    if facts.keys is not None and not (has_keys and any(key is not None for key in facts.keys)):
        raise ParameterError(
            f"the keys of {name!r}",
            because="there is none" if has_keys else f"a column of type {kind} has no list of keys",
            instead=f"bounds={{{name!r}: (0, 1)}}" if kind is ColumnType.REAL else f'keys={{{name!r}: ["A", "B"]}}',
        )
    given = facts.column.keys if facts.keys is None else facts.keys
    values = tuple(constant(key, kind, f"the keys of {name!r}") for key in given or () if key is not None)
    if len(set(values)) < len(values):
        raise _equal_keys(name)
    return values


def _utc(edge: object) -> object:
    """A time without a zone, as cells are read; anything else as it is."""
    has_zone = isinstance(edge, dt.datetime) and edge.tzinfo is not None
    return edge.astimezone(dt.UTC).replace(tzinfo=None) if has_zone else edge  # type: ignore[attr-defined]


def _equal_keys(name: str) -> ParameterError:
    return ParameterError(
        f"keys of {name!r} that are equal",
        because="two spellings of one time are one key, and a row has one slot",
        instead=f"keys={{{name!r}: [...]}}, each once; times in UTC",
    )


def _numbers(
    kind: ColumnType, bounds: tuple[Fraction, Fraction] | None, bins: FeatureBins | None
) -> tuple[Scalar, ...]:
    """Edges of the declared bins, or of bins of equal width between bounds; none without either."""
    inner = None if bins is None else bins.edges
    if inner is not None:
        edges = _with_outer_edges(inner, bounds)
    elif bounds is None:
        return ()
    elif kind is ColumnType.INTEGER and (bins is None or bins.log is None):
        return _whole_bins(bounds, BINS if bins is None else bins.linear or BINS)
    else:
        edges = _real_bins(bounds, bins)
    if kind is ColumnType.INTEGER:
        whole = sorted({max(-_LARGEST, min(math.ceil(edge), _LARGEST + 1)) for edge in edges})
        return tuple(whole) if len(whole) > 1 else (whole[0], whole[0] + 1)
    reals = sorted({float(edge) for edge in edges})
    return tuple(reals) if len(reals) > 1 else (reals[0], math.nextafter(reals[0], math.inf))


def _whole_bins(bounds: tuple[Fraction, Fraction], number: int) -> tuple[int, ...]:
    """Bins of whole numbers, as equal as they can be, each of at least one value."""
    low = max(-_LARGEST, min(math.ceil(bounds[0]), _LARGEST))
    high = max(low, min(math.floor(bounds[1]), _LARGEST))
    values = high + 1 - low
    count = min(number, values)
    return tuple(low + values * place // count for place in range(count + 1))


def _real_bins(bounds: tuple[Fraction, Fraction], bins: FeatureBins | None) -> list[Fraction]:
    low, high = bounds
    if bins is None or bins.log is None:
        number = BINS if bins is None else bins.linear or BINS
        return [low + (high - low) * place / number for place in range(number + 1)]
    steps = math.log1p(float(high - low)) / bins.log
    inner = [low + Fraction(math.expm1(steps * place)) for place in range(1, bins.log)]
    return [low, *(edge for edge in inner if low < edge < high), high]


def _with_outer_edges(inner: tuple[Fraction, ...], bounds: tuple[Fraction, Fraction] | None) -> list[Fraction]:
    """Declared inner edges between the bounds; without bounds the outer bins are as wide as the ones beside them."""
    first = inner[1] - inner[0] if len(inner) > 1 else Fraction(1)
    last = inner[-1] - inner[-2] if len(inner) > 1 else Fraction(1)
    low, high = bounds or (inner[0] - first, inner[-1] + last)
    return [low, *(edge for edge in inner if low < edge < high), high]


def _moments(kind: ColumnType, start: dt.datetime, end: dt.datetime) -> tuple[Scalar, ...]:
    if kind is ColumnType.DATE:
        first, days = (
            start.date(),
            max(1, (end - dt.timedelta(microseconds=1)).date().toordinal() + 1 - start.toordinal()),
        )
        count = min(BINS, days)
        return tuple(first + dt.timedelta(days=days * place // count) for place in range(count + 1))
    width = (end - start) // dt.timedelta(microseconds=1)
    count = min(BINS, width)
    return tuple(start + dt.timedelta(microseconds=width * place // count) for place in range(count + 1))


def _no_slots_error(facts: ColumnFacts, fitting: Sequence[str]) -> UnboundedError:
    name, kind = facts.name, facts.column.type
    if kind in NUMERIC:
        missing, advice = "neither bounds nor keys", f"bounds={{{name!r}: (0, 100)}}"
    elif kind in _TIMES:
        missing, advice = "neither bounds nor keys", f"bounds={{{name!r}: {_BOUNDS[kind]}}}"
    elif kind in UNSTRUCTURED:
        missing, advice = f"cells of type {kind}", ""
    else:
        missing, advice = "no keys", f'keys={{{name!r}: ["A", "B"]}}'
    others = f"columns={list(fitting)}" if fitting else ""
    if facts.not_found:
        search = f"a search with a larger epsilon: session.release(table.find_slots([{name!r}]), epsilon=1)"
        steps = ", or ".join(part for part in (others, search, advice) if part)
        return UnboundedError(
            f"synthesis of {name!r}",
            because="the search for slots found nothing in the column, which its result says",
            instead=steps,
        )
    if kind not in UNSTRUCTURED:
        advice += f", or slots=session.release(table.find_slots([{name!r}]), epsilon=0.2)"
    return UnboundedError(
        f"synthesis of {name!r}",
        because=f"it has {missing}, so its possible values are not public",
        instead=", or ".join(part for part in (advice, others) if part) or 'columns=["age"], of a column with bounds',
    )
