"""The values that an expression can have, where the expression alone says so.

Nothing is read and nothing is inferred from a catalog: constants of a case and numbers of the calendar are public. A
query may use them as keys; the planner never does so by itself.
"""

from collections.abc import Iterable

from discreet.plan import logical

_PARTS: dict[logical.CalendarPart, range] = {
    "quarter": range(1, 5),
    "month": range(1, 13),
    "day": range(1, 32),
    "weekday": range(1, 8),
    "hour": range(24),
}

Values = tuple[logical.Scalar | None, ...]


def possible_values(expression: logical.Expression) -> Values | None:
    """The possible values of a case of constants or of a part of a date, in order and each once; None if unknown.

    A case without `otherwise` can be missing: its last value is None. A part of a missing date is missing too, and is
    not listed.
    """
    match expression:
        case logical.DatePart(_, part) if part in _PARTS:
            return tuple(_PARTS[part])
        case logical.Case(branches, otherwise):
            found = [_value(value) for _, value in branches]
            found.append((None,) if otherwise is None else _value(otherwise))
            return _each_once(known for known in found if known is not None) if None not in found else None
    return None


def _value(expression: logical.Expression) -> Values | None:
    return (expression.value,) if isinstance(expression, logical.Literal) else possible_values(expression)


def _each_once(lists: Iterable[Values]) -> Values:
    """Values by their types as well: 1 and True are two."""
    seen = {(type(value), value): value for values in lists for value in values}
    return tuple(seen.values())
