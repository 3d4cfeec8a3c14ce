"""GROUP BY: columns and expressions, each with the public keys that its groups have."""

import datetime as dt
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from sqlglot import exp

from discreet.catalog.catalog import ColumnType, Value
from discreet.plan import logical
from discreet.plan.possible_values import possible_values
from discreet.query.expression import Expr
from discreet.query.frame import Frame
from discreet.query.sql.expressions import exact, expression, literal
from discreet.query.sql.nodes import arguments, refusal, sql_text
from discreet.query.sql.scope import Scope

_MOST_KEYS = 100_000


@dataclass(frozen=True)
class Group:
    """One expression of GROUP BY.

    `column` is its name in the frame. `keys` are its public keys, or None for those of the catalog. `shown` are the
    values that stand for them in the answer, where they are others. `is_unknown` says that keys have to be found.
    """

    node: exp.Expr
    column: str
    derived: Expr | None = None
    keys: tuple[Value, ...] | None = None
    shown: tuple[Value | float, ...] | None = None
    is_unknown: bool = False


def group(node: exp.Expr, name: str, scope: Scope, *, has_delta: bool) -> Group:
    """A grouping expression under a name; refused where its keys are not public and no delta was given."""
    binned = _floor(node, scope)
    if binned is not None:
        return _steps(node, name, scope, *binned)
    value = expression(node, scope)
    if isinstance(value.node, logical.ColumnRef):
        column, derived = value.node.name, None
    else:
        column, derived = _free_name(name, scope), value
    keys, is_known = _keys(node, value, scope)
    if not is_known and not has_delta:
        raise _unknown_keys(node, scope)
    return Group(node, column, derived, keys, is_unknown=not is_known)


def derive(frame: Frame, groups: Sequence[Group]) -> Frame:
    """The frame with the columns that are grouped by."""
    return frame.derive(**{each.column: each.derived for each in groups if each.derived is not None})


_BOOLEAN = (
    logical.Compare,
    logical.Both,
    logical.Either,
    logical.Not,
    logical.IsIn,
    logical.IsMissing,
    logical.TextMatch,
)


def _keys(node: exp.Expr, value: Expr, scope: Scope) -> tuple[tuple[Value, ...] | None, bool]:
    """Keys of an expression, or None for those of the catalog; and whether they are known."""
    listed = _listed_keys(value.node, scope)
    fact = scope.fact(value)
    if fact is not None and (fact.keys is not None or fact.type is ColumnType.BOOLEAN):
        return listed, True
    if listed is not None:
        return listed, True
    if isinstance(value.node, _BOOLEAN):
        return (False, True), True
    if isinstance(value.node, logical.Bin):
        return tuple(range(len(value.node.edges) + 1)), True
    if isinstance(value.node, logical.Truncate):
        keys = _periods(value.node, node, scope)
        return keys, keys is not None
    possible = possible_values(value.node)
    return possible, possible is not None  # type: ignore[return-value]


def _listed_keys(node: logical.Expression, scope: Scope) -> tuple[Value, ...] | None:
    """Keys that a condition of WHERE lists: ward IN ('A', 'B'), or ward = 'A'."""
    for condition in scope.conditions:
        match condition:
            case logical.IsIn(operand, values) if operand == node:
                return tuple(dict.fromkeys(values))  # type: ignore[arg-type]
            case logical.Compare("==", operand, logical.Literal(value)) if operand == node:
                return (value,)  # type: ignore[return-value]
    return None


def _periods(truncated: logical.Truncate, node: exp.Expr, scope: Scope) -> tuple[Value, ...] | None:
    """The starts of all periods between the limits that WHERE gives, or of the keys that the catalog declares."""
    fact = scope.fact(Expr(truncated.operand))
    if fact is None:
        return None
    if fact.keys is not None:
        present = [key for key in fact.keys if isinstance(key, dt.date)]
        return tuple(dict.fromkeys(_start(key, truncated.unit) for key in present))
    low, high = _limits(truncated.operand, scope)
    if low is None or high is None:
        return None
    if fact.type is ColumnType.DATE and truncated.unit in ("hour", "minute"):
        raise refusal(node, because="a date has no hours", instead="DATE_TRUNC('day', day)")
    return _starts(_of_type(low, fact.type), _of_type(high, fact.type), truncated.unit, node)


def _of_type(value: dt.date, kind: ColumnType) -> dt.date:
    if kind is ColumnType.TIMESTAMP:
        return _moment(value)
    return value.date() if isinstance(value, dt.datetime) else value


def _limits(column: logical.Expression, scope: Scope) -> tuple[dt.date | None, dt.date | None]:
    """The smallest and the largest moment of a column that the conditions leave."""
    low: list[dt.date] = []
    high: list[dt.date] = []
    for condition in _each(scope.conditions):
        match condition:
            case logical.Compare(">" | ">=", operand, logical.Literal(value)) if operand == column:
                low += _dates(value)
            case logical.Compare("<=", operand, logical.Literal(value)) if operand == column:
                high += _dates(value)
            case logical.Compare("<", operand, logical.Literal(value)) if operand == column:
                high += map(_before, _dates(value))
    return (max(low, key=_moment) if low else None), (min(high, key=_moment) if high else None)


def _each(conditions: Iterable[logical.Expression]) -> Iterator[logical.Expression]:
    for condition in conditions:
        yield from _each((condition.left, condition.right)) if isinstance(condition, logical.Both) else (condition,)


def _moment(value: dt.date) -> dt.datetime:
    return value if isinstance(value, dt.datetime) else dt.datetime.combine(value, dt.time())


def _dates(value: object) -> list[dt.date]:
    if isinstance(value, str):
        try:
            value = dt.datetime.fromisoformat(value) if len(value) > 10 else dt.date.fromisoformat(value)
        except ValueError:
            return []
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        value = value.astimezone(dt.UTC).replace(tzinfo=None)
    return [value] if isinstance(value, dt.date) else []


def _before(moment: dt.date) -> dt.date:
    step = dt.timedelta(microseconds=1) if isinstance(moment, dt.datetime) else dt.timedelta(days=1)
    try:
        return moment - step
    except OverflowError:  # before the first of all dates nothing lies; one group is empty then, not wrong
        return moment


def _starts(low: dt.date, high: dt.date, unit: str, node: exp.Expr) -> tuple[Value, ...]:
    if (_moment(high) - _moment(low)) / _LONGEST[unit] > _MOST_KEYS:
        raise refusal(node, because=f"there are more than {_MOST_KEYS:,} periods", instead="a larger unit")
    found: list[Value] = []
    try:
        at = _start(low, unit)
        while at <= high:
            found.append(at)
            at = _next(at, unit)
    except (OverflowError, ValueError):  # the calendar ends with the year 9999
        pass
    return tuple(found)


_LONGEST = {
    "year": dt.timedelta(days=366),
    "quarter": dt.timedelta(days=92),
    "month": dt.timedelta(days=31),
    "week": dt.timedelta(days=7),
    "day": dt.timedelta(days=1),
    "hour": dt.timedelta(hours=1),
    "minute": dt.timedelta(minutes=1),
}


def _start(moment: dt.date, unit: str) -> dt.date:
    """The start of the period that a moment is in."""
    if isinstance(moment, dt.datetime):
        if unit in ("hour", "minute"):
            return moment.replace(minute=0 if unit == "hour" else moment.minute, second=0, microsecond=0)
        return dt.datetime.combine(_start(moment.date(), unit), dt.time())
    if unit == "week":
        return moment - dt.timedelta(days=moment.weekday())
    month = {"year": 1, "quarter": moment.month - (moment.month - 1) % 3}.get(unit, moment.month)
    return moment if unit == "day" else moment.replace(month=month, day=1)


def _next(start: dt.date, unit: str) -> dt.date:
    fixed = {"week": dt.timedelta(days=7), "day": dt.timedelta(days=1), "hour": dt.timedelta(hours=1)}
    if unit in fixed:
        return start + fixed[unit]
    if unit == "minute":
        return start + dt.timedelta(minutes=1)
    months = start.month - 1 + {"year": 12, "quarter": 3, "month": 1}[unit]
    return start.replace(year=start.year + months // 12, month=months % 12 + 1)


def _floor(node: exp.Expr, scope: Scope) -> tuple[exp.Expr, Fraction, Fraction] | None:
    """The value, the width and the factor of FLOOR(x / width) * factor; the factor may be left out."""
    inner = node.unnest()
    factor: Any = 1
    if isinstance(inner, exp.Mul):
        left, right = arguments(inner, "this", "expression")
        inner, factor = left.unnest(), literal(right)
        if literal(left) is not None:
            inner, factor = right.unnest(), literal(left)
    if not isinstance(inner, exp.Floor) or not isinstance(factor, int | Decimal) or factor == 0:
        return None
    (quotient,) = arguments(inner, "this")
    quotient = quotient.unnest()
    if not isinstance(quotient, exp.Div):
        return quotient, Fraction(1), Fraction(factor)
    expression(quotient, scope)  # integer division is refused there
    value, width, _ = arguments(quotient, "this", "expression", "typed")
    known = literal(width)
    return (value, Fraction(known), Fraction(factor)) if isinstance(known, int | Decimal) and known > 0 else None


def _steps(node: exp.Expr, name: str, scope: Scope, inner: exp.Expr, width: Fraction, factor: Fraction) -> Group:
    """Steps of a width between the bounds that the catalog declares for the value; values beyond them are left out."""
    value = expression(inner, scope)
    fact = scope.fact(value)
    if fact is None or fact.bounds is None:
        text = sql_text(inner, scope.dialect)
        raise refusal(
            node,
            because="the steps between the bounds of a column are its groups, and the catalog declares no bounds",
            instead=f"WIDTH_BUCKET({text}, 0, 100, 10), or bounds in the catalog",
        )
    low, high = (Fraction(bound) for bound in fact.bounds)
    first, last = low // width, high // width
    if last - first >= logical.MOST_EDGES - 1:
        raise refusal(node, because="there are too many steps between the bounds", instead="a larger width")
    edges = [exact(width * step) for step in range(first, last + 2)]
    shown = tuple(exact(factor * step) for step in range(first, last + 1))
    keys = tuple(range(1, len(edges)))
    return Group(node, _free_name(name, scope), value.bin(edges), keys, shown)


def _free_name(name: str, scope: Scope) -> str:
    """A name for a derived column that no column of the frame has."""
    return next(each for each in name_numbers(name) if each.casefold() not in scope.names_in_use)


def name_numbers(name: str) -> Iterator[str]:
    """A name, then the same with 2, 3 and so on."""
    return itertools.chain([name], (f"{name}_{i}" for i in itertools.count(2)))


_KEY_CONDITIONS = {
    ColumnType.INTEGER: "{} IN (1, 2)",
    ColumnType.DATE: "{} IN (DATE '2026-01-01', DATE '2026-01-02')",
    ColumnType.TIMESTAMP: "{} IN (TIMESTAMP '2026-01-01 00:00', TIMESTAMP '2026-01-02 00:00')",
}


def _key_condition(node: exp.Expr, scope: Scope) -> str:
    """A condition that lists keys: constants of the type, or limits of a date that is cut down to periods."""
    value = expression(node, scope)
    found = node.find(exp.Column)
    if isinstance(value.node, logical.Truncate) and found is not None:
        column = sql_text(found, scope.dialect)
        return f"{column} >= DATE '2026-01-01' AND {column} < DATE '2027-01-01'"
    return _KEY_CONDITIONS.get(scope.kind(value), "{} IN ('A', 'B')").format(sql_text(node, scope.dialect))


def _unknown_keys(node: exp.Expr, scope: Scope) -> Exception:
    text = sql_text(node, scope.dialect)
    return refusal(
        node,
        what=f"GROUP BY {text}"[:80],
        because="its keys are not public, so a rare one would reveal a unit",
        instead=f"public keys: WHERE {_key_condition(node, scope)}, or keys in the catalog; or unknown keys "
        "without the rare ones: session.sql(text, delta=1e-10), or SELECT WITH DIFFERENTIAL_PRIVACY "
        "OPTIONS (delta = 1e-10) ..., under a budget with reserved_delta",
    )
