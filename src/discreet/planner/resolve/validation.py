"""Plans that were built by hand: every node has the types that its class declares, and values within their ranges.

The calls of `dp.table(...)` build plans that fit. Nothing keeps anybody from building the same classes directly, and
some of what they can hold would fail only after the charge. A valid plan comes back with plain values in the place of
subclasses of text, numbers and dates.
"""

import datetime as dt
import itertools
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass, replace
from functools import cache
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from discreet.catalog.catalog import python_value
from discreet.errors import ParameterError
from discreet.plan import logical

Part = TypeVar("Part")
Rule = tuple[Callable[[Any], bool], str]

_STEPS = (logical.Where, logical.Derive, logical.Join, logical.GroupByUnit)
_EXPRESSIONS = get_args(logical.Expression)


def validate(part: Part) -> Part:
    """A plan, or a part of one, with plain values; refused where no call of a table builds it."""
    made: Part = _node(part)
    return made


class _Extent:
    """The depth and the number of parts of an expression; shared parts count as often as they stand in it."""

    def __init__(self) -> None:
        self.depth = self.parts = 0

    def enter(self, kind: type) -> None:
        """One part more, one level deeper."""
        self.depth, self.parts = self.depth + 1, self.parts + 1
        if self.depth > logical.DEEPEST or self.parts > logical.MOST_NODES:
            raise _unfit(kind, f"expressions stay within depth {logical.DEEPEST} and {logical.MOST_NODES:,} parts")


def _node(node: Any, extent: _Extent | None = None) -> Any:
    if type(node) in _STEPS:
        return _chain(node)
    if type(node) not in _EXPRESSIONS:
        return _with_valid_fields(node)
    extent = extent or _Extent()
    extent.enter(type(node))
    made = _with_valid_fields(node, extent)
    extent.depth -= 1
    return made


def _chain(relation: Any) -> Any:
    """Steps one after another, because there may be more of them than Python has stack for."""
    steps = []
    while type(relation) in _STEPS:
        steps.append(relation)
        if len(steps) > logical.MOST_STEPS:
            raise _unfit(type(relation), f"a query has at most {logical.MOST_STEPS:,} steps")
        relation = relation.source
    if type(relation) is not logical.TableRef:
        raise _unfit(type(steps[-1]), "steps begin with a table")
    made = _with_valid_fields(relation)
    for step in reversed(steps):
        made = _with_valid_fields(step, source=made)
    return made


def _with_valid_fields(node: Any, extent: _Extent | None = None, **known: Any) -> Any:
    kind = type(node)
    if not is_dataclass(kind) or kind.__module__ != logical.__name__:
        raise _unfit(kind, "it is not a part of a plan")
    others = {name: hint for name, hint in _hints(kind).items() if name not in known}
    read = {name: _value(getattr(node, name), hint, kind, extent) for name, hint in others.items()}
    made = replace(node, **known, **read)
    for holds, because in _RULES.get(kind, ()):
        if not holds(made):
            raise _unfit(kind, because)
    return made


def _value(value: Any, hint: Any, owner: type, extent: _Extent | None) -> Any:
    """A value of a field, if it is of one of the types that the field may have."""
    kind, options = type(value), _options(hint)
    if kind in options:
        return _node(value, extent) if is_dataclass(kind) else value
    for option in options:
        if get_origin(option) is tuple and kind is tuple:
            return _elements(value, get_args(option), owner, extent)
        if get_origin(option) is Literal and kind is str and value in get_args(option):
            return value
    if isinstance(value, str | int | float | dt.date) and type(plain := python_value(value)) in options:
        return plain
    raise _unfit(owner, f"it holds a {kind.__name__} where that has no meaning")


def _elements(values: tuple[Any, ...], hints: tuple[Any, ...], owner: type, extent: _Extent | None) -> tuple[Any, ...]:
    if len(hints) == 2 and hints[1] is ...:
        return values if _are_plain(values, hints[0]) else tuple(_value(v, hints[0], owner, extent) for v in values)
    if len(values) != len(hints):
        raise _unfit(owner, f"it holds {len(values):,} values in the place of {len(hints)}")
    return tuple(_value(value, hint, owner, extent) for value, hint in zip(values, hints, strict=True))


def _are_plain(values: tuple[Any, ...], hint: Any) -> bool:
    """Whether values, or rows of them, are plain as they are: millions of keys are not walked one by one."""
    kinds = set(map(type, values))
    if get_origin(hint) is tuple and kinds == {tuple} and get_args(hint)[1] is ...:
        hint, kinds = get_args(hint)[0], set(map(type, itertools.chain.from_iterable(values)))
    return kinds <= _options(hint) and not any(map(is_dataclass, kinds))


@cache
def _hints(kind: type) -> Mapping[str, Any]:
    return get_type_hints(kind)


@cache
def _options(hint: Any) -> frozenset[Any]:
    """The types that a field may have."""
    if get_origin(hint) in (UnionType, Union):
        return frozenset(option for each in get_args(hint) for option in _options(each))
    return frozenset({hint})


def _is_cap(value: int | None) -> bool:
    return value is None or value >= 1


def _are_distinct(names: tuple[str, ...]) -> bool:
    return len(set(names)) == len(names) > 0


def _has_keys_for_labels(grouping: logical.Grouping) -> bool:
    """Whether a column with labels holds their numbers."""
    for labels, keys in zip(grouping.labels, grouping.values, strict=False):
        numbers = range(len(labels or ()))
        if labels is not None and (keys is None or any(k is not None and k not in numbers for k in keys)):
            return False
    return len(grouping.labels) in (0, len(grouping.columns))


def _fits_its_levels(query: logical.Aggregate) -> bool:
    """Whether the areas of a hierarchy are the rows of its grouping."""
    nested = [each.measure for each in query.outputs if isinstance(each.measure, logical.HierarchyCounts)]
    columns, rows = query.grouping.columns, query.grouping.rows
    return all((*each.levels, *each.crossing) == columns and rows is not None for each in nested)


_RULES: dict[type, tuple[Rule, ...]] = {
    logical.Aggregate: (
        (lambda query: len(query.outputs) > 0, "a query asks for something"),
        (_fits_its_levels, "the levels of a hierarchy are the columns of its keys, which are rows of a table"),
    ),
    logical.Output: ((lambda output: output.weight > 0, "a weight is above zero"),),
    logical.GroupByUnit: ((lambda step: len(step.features) > 0, "a unit has features"),),
    logical.Join: (
        (lambda step: len(step.on) > 0, "a join has columns that are equal"),
        (lambda step: _is_cap(step.max_rows), "a contribution bound is at least 1"),
    ),
    logical.Grouping: (
        (lambda by: _are_distinct(by.columns) or not by.columns, "each column is grouped by once"),
        (lambda by: len(by.values) == len(by.columns), "each column has a list of keys, or None"),
        (lambda by: set(map(len, by.rows or ())) <= {len(by.columns)}, "a row of keys has one for each column"),
        (lambda by: _is_cap(by.max_groups) and _is_cap(by.max_rows_per_group), "a contribution bound is at least 1"),
        (_has_keys_for_labels, "a column with labels has their numbers as keys"),
    ),
    logical.Discovery: (
        (lambda found: _are_distinct(found.columns), "keys are found in columns, each named once"),
        (lambda found: 0 < found.delta < 1, "delta is above 0 and below 1"),
        (lambda found: found.at_least >= 1, "at_least is at least 1"),
        (lambda found: found.weight > 0, "a weight is above zero"),
    ),
    logical.Case: ((lambda case: len(case.branches) > 0, "a case has at least one condition"),),
    logical.Search: ((lambda search: 0 < search.share < 1, "the share of a search is above 0 and below 1"),),
    logical.AutoBoundsAggregate: (
        (lambda found: found.measure.bounds is None, "bounds that are found are not given as well"),
    ),
    logical.Ranges: (
        (lambda asked: len(asked.pairs) > 0, "there is at least one range"),
        (lambda asked: all(0 <= lo < hi < len(asked.edges) for lo, hi in asked.pairs), "ranges go from edge to edge"),
    ),
    logical.MomentsMeasure: (
        (lambda asked: _are_distinct(asked.columns), "each column is named once"),
        (lambda asked: len(asked.bounds) == len(asked.columns), "each column has bounds, or None"),
    ),
    logical.HierarchyCounts: (
        (lambda asked: _are_distinct((*asked.levels, *asked.crossing)), "each level is named once"),
    ),
    logical.SelectionQuery: (
        (lambda asked: _is_cap(asked.max_rows_per_group), "a contribution bound is at least 1"),
        (
            lambda asked: asked.factors is None or len(asked.factors) == len(asked.candidates) or asked.discovery,
            "each candidate has a factor",
        ),
    ),
}


def _unfit(kind: type, because: str) -> ParameterError:
    return ParameterError(
        f"a plan with {kind.__name__}(...) as no call builds it",
        because=because,
        instead='dp.table("visits").group_by("ward", keys={"ward": ["A", "B"]}).agg(n=dp.count())',
    )
