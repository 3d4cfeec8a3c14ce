"""Conditions over slots: which slots of columns fulfil a condition, with missing values as SQL has them.

A condition is answered where each slot fulfils it as a whole or not at all. Values that are not declared count as
missing, and values outside the bins as the nearest bin, as in the synthetic table itself.
"""

import datetime as dt
import itertools
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.catalog.catalog import ColumnType
from discreet.catalog.columns import is_of_type
from discreet.errors import Refusal
from discreet.plan import logical
from discreet.plan.slots import SlotColumn
from discreet.planner.resolve.terms import constant

Truth = NDArray[np.int8]
"""2 where a condition is true, 1 where it is missing, 0 where it is false."""

FALSE, UNKNOWN, TRUE = 0, 1, 2
_FLIPPED: dict[str, logical.Comparison] = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - times have no zone


def columns_in(node: logical.Expression) -> set[str]:
    """The columns that an expression of the supported kinds reads."""
    match node:
        case logical.ColumnRef(name):
            return {name}
        case logical.Compare(_, left, right) | logical.Both(left, right) | logical.Either(left, right):
            return columns_in(left) | columns_in(right)
        case logical.Not(operand) | logical.IsIn(operand, _) | logical.IsMissing(operand) | logical.Bin(operand, _):
            return columns_in(operand)
    return set()


def substitute(node: logical.Expression, derived: Mapping[str, logical.Expression]) -> logical.Expression:
    """The expression in which names of derived columns stand for what they are derived from."""
    match node:
        case logical.ColumnRef(name):
            return derived.get(name, node)
        case logical.Compare(sign, left, right):
            return logical.Compare(sign, substitute(left, derived), substitute(right, derived))
        case logical.Both(left, right) | logical.Either(left, right):
            return type(node)(substitute(left, derived), substitute(right, derived))
        case logical.Not(operand) | logical.IsMissing(operand):
            return type(node)(substitute(operand, derived))
        case logical.IsIn(operand, values):
            return logical.IsIn(substitute(operand, derived), values)
        case logical.Bin(operand, edges):
            return logical.Bin(substitute(operand, derived), edges)
    return node if isinstance(node, logical.Literal) else logical.Case(())


def truth(node: logical.Expression, columns: Mapping[str, SlotColumn], axes: tuple[str, ...]) -> Truth | None:
    """Where a condition is true, over the cells of some columns.

    Args:
        node: The condition.
        columns: The columns with their slots, by name.
        axes: The columns of the cells, in the order of their axes.

    Returns:
        An array that broadcasts to the cells, or None where a slot fulfils the condition in part, or it is of another
        kind.
    """
    match node:
        case logical.Both(left, right) | logical.Either(left, right):
            sides = [truth(side, columns, axes) for side in (left, right)]
            both = [side for side in sides if side is not None]
            if len(both) < len(sides):
                return None
            combine = np.minimum if isinstance(node, logical.Both) else np.maximum
            return np.asarray(combine(*both), dtype=np.int8)
        case logical.Not(operand):
            found = truth(operand, columns, axes)
            return None if found is None else np.asarray(TRUE - found, dtype=np.int8)
    own = _column_of(node)
    if own is None or own not in columns or own not in axes:
        return None
    slots = _slots(node, columns[own])
    return None if slots is None else slots.reshape([-1 if name == own else 1 for name in axes])


def _column_of(node: logical.Expression) -> str | None:
    found = columns_in(node)
    return next(iter(found)) if len(found) == 1 else None


def _slots(node: logical.Expression, column: SlotColumn) -> Truth | None:
    """A condition on one column, slot by slot."""
    match node:
        case logical.ColumnRef() if column.type is ColumnType.BOOLEAN:
            return compare(column, "==", True)
        case logical.Compare(sign, logical.Literal(value), right):
            return _slots(logical.Compare(_FLIPPED[sign], right, logical.Literal(value)), column)
        case logical.Compare(sign, logical.ColumnRef(), logical.Literal(value)):
            return compare(column, sign, value)
        case logical.Compare(sign, logical.Bin(logical.ColumnRef(), edges), logical.Literal(value)):
            return _bin(column, edges, sign, value)
        case logical.IsIn(logical.ColumnRef(), values):
            found = [compare(column, "==", value) for value in values]
            known = [each for each in found if each is not None]
            return np.asarray(np.maximum.reduce(known), dtype=np.int8) if known and len(known) == len(found) else None
        case logical.IsMissing(logical.ColumnRef() | logical.Bin(logical.ColumnRef(), _)):
            slots = np.full(column.size, FALSE, dtype=np.int8)
            slots[column.missing] = TRUE
            return slots
    return None


def compare(column: SlotColumn, sign: logical.Comparison, value: Any) -> Truth | None:
    """Which slots of a column compare so with a constant; None where a slot does in part.

    Args:
        column: The column.
        sign: The comparison, with the cell on its left.
        value: The constant.

    Returns:
        One entry for each slot, or None.
    """
    value = constant_of(column, value)
    is_number = column.type in (ColumnType.INTEGER, ColumnType.REAL) and is_of_type(value, ColumnType.REAL)
    if not is_number and not is_of_type(value, column.type):
        return None
    if column.edges:
        return _compare_bins(column, sign, value)
    if sign in ("==", "!=") and value not in column.values:
        return None  # it is with the missing values, if anywhere
    if sign not in ("==", "!=") and column.type is ColumnType.TEXT:
        return None  # engines order texts in their own ways
    true = [TRUE if _OPERATORS[sign](each, value) else FALSE for each in column.values]
    return np.array([*true, UNKNOWN], dtype=np.int8)


def constant_of(column: SlotColumn, value: Any) -> Any:
    """A constant beside a column of dates or times, as a session reads it: ISO text, a zone, a date as its midnight.

    Args:
        column: The column.
        value: The constant.

    Returns:
        A value of the type of the column; a constant of another kind as it is.
    """
    if column.type not in (ColumnType.DATE, ColumnType.TIMESTAMP) or value is None:
        return value
    if column.type is ColumnType.TIMESTAMP and is_of_type(value, ColumnType.DATE):
        return dt.datetime.combine(value, dt.time())
    try:
        return constant(value, column.type, "a comparison")
    except Refusal:
        return value  # it cuts slots, and the session over drawn rows refuses it


def _compare_bins(column: SlotColumn, sign: logical.Comparison, value: Any) -> Truth | None:
    edges = [number_of(edge) for edge in column.edges]
    place = number_of(value)
    if sign in ("==", "!="):
        low, high = _below(column, edges, place, strictly=True), _below(column, edges, place, strictly=False)
        if low is None or high is None:
            return None
        equal = np.where(np.array(high) & ~np.array(low), TRUE, FALSE)
        true = equal if sign == "==" else TRUE - equal
    else:
        below = _below(column, edges, place, strictly=sign in ("<", ">="))
        if below is None:
            return None
        true = np.where(np.array(below) == (sign in ("<", "<=")), TRUE, FALSE)
    return np.array([*true, UNKNOWN], dtype=np.int8)


def _below(column: SlotColumn, edges: list[Any], place: Any, *, strictly: bool) -> list[bool] | None:
    """Which bins lie below a number as a whole, the others lying above; None where a bin does neither."""
    found: list[bool] = []
    if column.type is ColumnType.REAL:
        last = len(edges) - 2
        for number, (low, high) in enumerate(itertools.pairwise(edges)):
            # Bins end below their upper edge; values from the last edge on count as the last edge.
            is_below = (high < place or (high == place and not strictly)) if number == last else high <= place
            is_above = low >= place if strictly else low > place
            if is_below == is_above:
                return None
            found.append(is_below)
        return found
    limit = math.ceil(place) if strictly else math.floor(place) + 1  # whole numbers below the limit
    for low, high in itertools.pairwise(edges):
        if low < limit < high:
            return None
        found.append(high <= limit)
    return found


def _bin(column: SlotColumn, edges: tuple[logical.Scalar, ...], sign: logical.Comparison, value: Any) -> Truth | None:
    """The number of a bin against a constant: how many of the edges are at most the cell."""
    if sign not in ("==", "!=") or type(value) is not int:
        return None
    if not 0 <= value <= len(edges):
        return None
    from_low = compare(column, ">=", edges[value - 1]) if value else _present(column)
    to_high = compare(column, "<", edges[value]) if value < len(edges) else _present(column)
    if from_low is None or to_high is None:
        return None
    inside = np.minimum(from_low, to_high)
    return np.asarray(inside if sign == "==" else TRUE - inside, dtype=np.int8)


def _present(column: SlotColumn) -> Truth:
    slots = np.full(column.size, TRUE, dtype=np.int8)
    slots[column.missing] = UNKNOWN
    return slots


def number_of(value: Any) -> Any:
    """A value as a number: days since 1970 of a date, microseconds of a time."""
    if isinstance(value, dt.datetime):
        return (value - _EPOCH) // dt.timedelta(microseconds=1)
    if isinstance(value, dt.date):
        return value.toordinal() - _EPOCH.toordinal()
    return value
