"""What follows the aggregates of a statement: arithmetic, conditions and order of noisy columns.

All of it is post-processing: it reads releases alone, and costs nothing. Arithmetic of counts, sums and means has the
interval of the result, with noise that both sides share taken as shared. Other arithmetic has values without intervals.
"""

import datetime as dt
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal
from fractions import Fraction
from typing import Any

from discreet.errors import Refusal
from discreet.release.postprocessing.derived import DerivedValues
from discreet.release.postprocessing.verbs import answer_text
from discreet.release.release import Release

LOW, HIGH = "_low", "_high"
"""What the names of columns end with that hold the ends of intervals."""


@dataclass(frozen=True)
class KeyOf:
    """A grouping column, by its place; `shown` are other values for its keys, in the order of the keys."""

    column: str
    keys: tuple[Any, ...] | None = None
    shown: tuple[Any, ...] | None = None


@dataclass(frozen=True)
class OutputOf:
    """An output of one of the queries; its name stands once in all of them."""

    name: str


@dataclass(frozen=True)
class ConstantColumn:
    """A constant beside noisy numbers."""

    value: Any


@dataclass(frozen=True)
class Arithmetic:
    """Two noisy numbers put together."""

    sign: str
    left: "Column"
    right: "Column"


@dataclass(frozen=True)
class IntervalEnd:
    """An end of the interval of a noisy number."""

    operand: "Column"
    is_high: bool


@dataclass(frozen=True)
class Condition:
    """A condition on the columns of a row."""

    sign: str
    operands: tuple["Column", ...]


Column = KeyOf | OutputOf | ConstantColumn | Arithmetic | IntervalEnd | Condition


@dataclass(frozen=True)
class Order:
    """An element of ORDER BY."""

    column: Column
    descending: bool
    nulls_first: bool


@dataclass(frozen=True)
class TableRecipe:
    """How a table is computed from releases: its columns by name, the condition on rows, their order and number."""

    columns: Mapping[str, Column]
    having: Column | None = None
    order: tuple[Order, ...] = ()
    limit: int | None = None
    offset: int = 0

    @property
    def selects(self) -> bool:
        """Whether rows are left out by their noisy numbers; intervals then do not hold after the selection."""
        is_cut = self.limit is not None or self.offset > 0
        by = [] if self.having is None else [self.having]
        return any(map(_reads_output, by + [each.column for each in self.order if is_cut]))

    def to_json(self) -> dict[str, Any]:
        """The recipe as plain data."""
        return {
            "columns": {name: _plain(column) for name, column in self.columns.items()},
            "having": _plain(self.having),
            "order": _plain(self.order),
            "limit": self.limit,
            "offset": self.offset,
        }

    @classmethod
    def from_json(cls, data: Any) -> "TableRecipe":
        """The recipe that `to_json` wrote; an error of Python where the data is damaged."""
        columns = {str(name): _column(each) for name, each in data["columns"].items()}
        having = None if data["having"] is None else _column(data["having"])
        order = tuple(_node(each) for each in _node(data["order"]))
        if not all(isinstance(each, Order) for each in order) or not columns:
            raise TypeError
        limit, offset = data["limit"], data["offset"]
        if not (limit is None or type(limit) is int) or type(offset) is not int:
            raise TypeError
        return cls(columns, having, order, limit, offset)


@dataclass(frozen=True)
class Values:
    """A column of the answer: values, and the ends of their intervals where these are known.

    `texts` are the values in words where a margin is of another kind, such as ranks.
    """

    values: tuple[Any, ...]
    lows: tuple[float | None, ...] | None = None
    highs: tuple[float | None, ...] | None = None
    texts: tuple[str, ...] | None = None


_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def evaluate(column: Column, releases: Sequence[Release]) -> Values:
    """A column, row by row."""
    match column:
        case KeyOf():
            return Values(_keys(column, releases[0]))
        case OutputOf(name):
            return _output(_holder(releases, name), name)
        case ConstantColumn(value):
            return Values((value,) * len(releases[0]))
        case Arithmetic():
            return _arithmetic(column, releases)
        case IntervalEnd(operand, is_high):
            found = evaluate(operand, releases)
            ends = found.highs if is_high else found.lows
            return Values((None,) * len(found.values) if ends is None else ends)
        case Condition(sign, operands):
            columns = [evaluate(each, releases).values for each in operands]
            return Values(tuple(_test(sign, row) for row in zip(*columns, strict=True)))


def formula(column: Column) -> str:
    """How a column is computed, in words."""
    match column:
        case KeyOf(name):
            return f"key {name}"
        case OutputOf(name):
            return f"output {name}"
        case ConstantColumn(value):
            return f"constant {value!r}"
        case Arithmetic(sign, left, right):
            return f"({formula(left)} {sign} {formula(right)})"
        case IntervalEnd(operand, is_high):
            return f"{'upper' if is_high else 'lower'} end of {formula(operand)}"
        case Condition(sign, operands):
            return f"{sign} ({', '.join(map(formula, operands))})"


def _reads_output(column: Column) -> bool:
    match column:
        case OutputOf():
            return True
        case Arithmetic(_, left, right):
            return _reads_output(left) or _reads_output(right)
        case IntervalEnd(operand, _):
            return _reads_output(operand)
        case Condition(_, operands):
            return any(map(_reads_output, operands))
    return False


def _keys(column: KeyOf, release: Release) -> tuple[Any, ...]:
    (values,) = [key.values for key in release.keys if key.name == column.column]
    if column.shown is None or column.keys is None:
        return values
    shown = dict(zip(column.keys, column.shown, strict=True))
    return tuple(shown[value] for value in values)


def _holder(releases: Sequence[Release], name: str) -> Release:
    for release in releases:
        if name in {output.name for output in release.outputs}:
            return release
    raise ValueError("an output of no release")  # not StopIteration, which is another error inside a generator


def _output(release: Release, name: str) -> Values:
    (output,) = [each for each in release.outputs if each.name == name]
    if output.margin_of or not output.is_found:
        return Values(output.values, texts=tuple(answer_text(output, row) for row in range(len(release))))
    pairs = list(zip(output.values, output.margins, strict=True))
    return Values(
        output.values,
        tuple(float(value - margin) for value, margin in pairs),  # type: ignore[operator]
        tuple(float(value + margin) for value, margin in pairs),  # type: ignore[operator]
    )


def _arithmetic(column: Arithmetic, releases: Sequence[Release]) -> Values:
    derived = _with_noise(column, releases)
    if isinstance(derived, DerivedValues) and len(derived) == len(releases[0]):
        values = tuple(None if math.isnan(value) else value for value in derived.values)
        return Values(values, _finite(derived.lows), _finite(derived.highs))
    left, right = (evaluate(side, releases).values for side in (column.left, column.right))
    return Values(tuple(_combine(column.sign, a, b) for a, b in zip(left, right, strict=True)))


def _finite(ends: Sequence[float]) -> tuple[float | None, ...]:
    return tuple(end if math.isfinite(end) else None for end in ends)


def _with_noise(column: Column, releases: Sequence[Release]) -> DerivedValues | Fraction | None:
    """A column as values with known noise, a constant, or None where the noise is not known."""
    match column:
        case ConstantColumn(value):
            return Fraction(value) if isinstance(value, int | Decimal) and not isinstance(value, bool) else None
        case OutputOf(name):
            return _noise_of(_holder(releases, name), name)
        case Arithmetic(sign, left, right):
            sides = [_with_noise(side, releases) for side in (left, right)]
            if None in sides:
                return None
            try:
                made: DerivedValues | Fraction = _ARITHMETIC[sign](*sides)
            except (Refusal, ZeroDivisionError, TypeError):
                return None
            return made
    return None


def _noise_of(release: Release, name: str) -> DerivedValues | None:
    """An output with the noise that is in it; None for quantiles, variances and the like."""
    by = [key.name for key in release.keys]
    (output,) = [each for each in release.outputs if each.name == name]
    try:
        return release.mean(name, by=by) if output.over else release.total(name, by=by)
    except Refusal:
        return None


def _combine(sign: str, a: Any, b: Any) -> Any:
    if a is None or b is None:
        return None
    try:
        return _ARITHMETIC[sign](float(a), float(b))
    except (ZeroDivisionError, OverflowError, TypeError, ValueError):
        return None


def _test(sign: str, row: tuple[Any, ...]) -> bool | None:
    """A condition with missing values as SQL has them."""
    if sign == "is null":
        return row[0] is None
    if sign == "not":
        return None if row[0] is None else not row[0]
    if sign in ("and", "or"):
        decisive = sign == "or"
        if decisive in row:
            return decisive
        return None if None in row else not decisive
    if None in row:
        return None
    if sign == "in":
        return row[0] in row[1:]
    try:
        return _COMPARISONS[sign](*row)
    except TypeError:
        return None


_NODES: dict[str, type] = {
    "key": KeyOf,
    "output": OutputOf,
    "constant": ConstantColumn,
    "arithmetic": Arithmetic,
    "interval end": IntervalEnd,
    "condition": Condition,
    "order": Order,
}
_TAGS = {kind: tag for tag, kind in _NODES.items()}
_SCALARS: dict[str, tuple[type, Callable[[str], Any]]] = {
    "decimal": (Decimal, Decimal),
    "timestamp": (dt.datetime, dt.datetime.fromisoformat),
    "date": (dt.date, dt.date.fromisoformat),
}


def _plain(part: Any) -> Any:
    """A node as a list that begins with its name; texts, numbers and truth values as they are."""
    if type(part) in _TAGS:
        return [_TAGS[type(part)], *(_plain(getattr(part, each.name)) for each in fields(part))]
    if isinstance(part, tuple):
        return ["tuple", *map(_plain, part)]
    for name, (kind, _) in _SCALARS.items():
        if isinstance(part, kind):
            return [name, part.isoformat() if isinstance(part, dt.date) else str(part)]
    return part


def _node(data: Any) -> Any:
    if not isinstance(data, list):
        return data
    name, *parts = data
    if name in _SCALARS:
        return _SCALARS[name][1](parts[0])
    known = tuple(map(_node, parts))
    return known if name == "tuple" else _NODES[name](*known)


def _column(data: Any) -> Column:
    found = _node(data)
    if not isinstance(found, Column):
        raise TypeError
    return found
