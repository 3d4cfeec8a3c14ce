"""Arithmetic of constants, computed exactly before a plan is made: `0.06 + 0.01` is 0.07, as of decimal numbers.

Doubles would give 0.06999999999999999, and a comparison would miss the rows with 0.07. A date and an interval give a
date where all dialects agree on it: months are added to the days 1 to 28 alone, which every month has.
"""

import datetime as dt
from collections.abc import Callable
from decimal import Context, Decimal, DecimalException, Inexact
from typing import Any

from sqlglot import exp

_EXACT = Context(prec=100, traps=[Inexact])
_DAYS = {"DAY": 1, "WEEK": 7}
_MONTHS = {"MONTH": 1, "YEAR": 12}
_LAST_COMMON_DAY = 28
_MOST = 10**6
_SIGNS: dict[type[exp.Expr], Callable[[Any, Any], Any]] = {
    exp.Add: _EXACT.add,
    exp.Sub: _EXACT.subtract,
    exp.Mul: _EXACT.multiply,
}
ARITHMETIC = tuple(_SIGNS)
"""The nodes that are computed where both sides are constants. Quotients are not: dialects differ in them."""


def combine(node: exp.Expr, left: Any, right: Any) -> int | Decimal | dt.date | None:
    """The constant that `+`, `-` or `*` of two constants is.

    Args:
        node: The node of the operation.
        left: The constant on its left side; None where it is not one.
        right: The constant on its right side, or the node of an INTERVAL.

    Returns:
        The constant; None where it is not one, or where it is not the same in all dialects.
    """
    if isinstance(right, exp.Interval):
        return _add_interval(node, left, right) if isinstance(left, dt.date) else None
    if not (_is_number(left) and _is_number(right)):
        return None
    try:
        found = _SIGNS[type(node)](Decimal(left), Decimal(right))
    except DecimalException:
        return None
    return int(found) if isinstance(left, int) and isinstance(right, int) else found


def _is_number(value: Any) -> bool:
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def _add_interval(node: exp.Expr, day: dt.date, interval: exp.Interval) -> dt.date | None:
    """A day, or a time of a day, some days, weeks, months or years earlier or later."""
    steps, unit = _length(interval)
    if steps is None or isinstance(node, exp.Mul):
        return None
    if isinstance(node, exp.Sub):
        steps = -steps
    try:
        if unit in _DAYS:
            return day + dt.timedelta(days=steps * _DAYS[unit])
        if unit in _MONTHS and day.day <= _LAST_COMMON_DAY:
            months = day.year * 12 + day.month - 1 + steps * _MONTHS[unit]
            return day.replace(year=months // 12, month=months % 12 + 1)
    except (OverflowError, ValueError):  # before year 1 or after 9999
        pass
    return None


def _length(interval: exp.Interval) -> tuple[int | None, str]:
    """The number and the unit of INTERVAL '90' DAY; no number where it is written otherwise."""
    number, unit = interval.args.get("this"), interval.args.get("unit")
    text = str(number.this) if isinstance(number, exp.Literal) else ""
    if not (text.isascii() and text.isdigit() and int(text) <= _MOST) or not isinstance(unit, exp.Var):
        return None, ""
    return int(text), str(unit.this).upper().removesuffix("S")
