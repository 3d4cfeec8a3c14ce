"""Expressions as they could be typed."""

import datetime as dt

from discreet.plan import logical

_MATCHES: dict[logical.TextPlace, str] = {"starts": "starts_with", "ends": "ends_with", "contains": "contains"}
_CALLS = (
    logical.ColumnRef,
    logical.Literal,
    logical.IsMissing,
    logical.IsIn,
    logical.Cast,
    logical.Bin,
    logical.Case,
    logical.TextMatch,
    logical.Truncate,
    logical.DatePart,
)
"""What needs no parentheses inside another expression."""


def expression_text(node: logical.Expression) -> str:  # noqa: C901, PLR0912 - one case per node
    """An expression as it could be typed, with `table` for its table."""
    match node:
        case logical.ColumnRef(name):
            return f"table.{name}" if name.isidentifier() else f"table[{name!r}]"
        case logical.Literal(value):
            return repr(value.isoformat(sep=" ") if isinstance(value, dt.datetime) else _iso(value))
        case logical.Compare(operator, left, right) | logical.Combine(operator, left, right):
            return f"{_inner(left)} {operator} {_inner(right)}"
        case logical.Both(left, right):
            return f"{_inner(left)} & {_inner(right)}"
        case logical.Either(left, right):
            return f"{_inner(left)} | {_inner(right)}"
        case logical.Not(operand):
            return f"~{_inner(operand)}"
        case logical.IsMissing(operand):
            return f"{_inner(operand)}.is_missing()"
        case logical.IsIn(operand, values):
            return f"{_inner(operand)}.is_in([{_list_text(values)}])"
        case logical.Bin(operand, edges):
            return f"{_inner(operand)}.bin([{_list_text(edges)}])"
        case logical.Cast(operand, kind):
            return f"{_inner(operand)}.cast({str(kind)!r})"
        case logical.Case(branches, otherwise):
            return _case_text(branches, otherwise)
        case logical.TextMatch(operand, how, text):
            return f"{_inner(operand)}.{_MATCHES[how]}({text!r})"
        case logical.Truncate(operand, unit):
            return f"{_inner(operand)}.truncate({unit!r})"
        case logical.DatePart(operand, part):
            return f"{_inner(operand)}.part({part!r})"


def _case_text(
    branches: tuple[tuple[logical.Expression, logical.Expression], ...], otherwise: logical.Expression | None
) -> str:
    for condition, value in branches[:1]:
        if len(branches) == 1 and otherwise is not None and condition == logical.Not(logical.IsMissing(value)):
            return f"{_inner(value)}.fill_missing({expression_text(otherwise)})"
    calls = [f"when({expression_text(condition)}, {expression_text(value)})" for condition, value in branches]
    last = [] if otherwise is None else [f"otherwise({expression_text(otherwise)})"]
    return ".".join(["dp", *calls, *last])


def _list_text(values: tuple[logical.Scalar, ...]) -> str:
    return ", ".join([repr(_iso(value)) for value in values[:8]] + ["..."] * (len(values) > 8))


def _inner(node: logical.Expression) -> str:
    is_simple = isinstance(node, _CALLS)
    return expression_text(node) if is_simple else f"({expression_text(node)})"


def _iso(value: logical.Scalar) -> object:
    return value.isoformat() if isinstance(value, dt.date) else value
