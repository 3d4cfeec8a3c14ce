"""Constants of expressions: what may be one, and which of two is larger."""

import datetime as dt
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction

from discreet.catalog.catalog import python_value
from discreet.errors import TypeMismatchError
from discreet.exact.numbers import rational
from discreet.plan import logical

_LARGEST_CONSTANT = 10**300


def is_above(low: object, high: object) -> bool:
    """Whether two constants of one kind are in the wrong order."""
    a, b = python_value(low), python_value(high)
    if isinstance(a, int | float | Decimal | Fraction) and isinstance(b, int | float | Decimal | Fraction):
        return a > b
    with suppress(TypeError, ValueError):
        first, second = (dt.datetime.fromisoformat(str(end)) for end in (a, b))
        return first > second
    return False


def scalar(value: object) -> logical.Scalar:
    """A value as a constant: reals of ordinary size, whole numbers, text, booleans, dates and timestamps."""
    plain = python_value(value)
    if isinstance(plain, float | Decimal | Fraction):
        exact = rational(plain, "a constant")
        if abs(exact) <= _LARGEST_CONSTANT:
            return float(exact)
    if isinstance(plain, str | int | dt.date):
        return plain
    raise TypeMismatchError(
        f"a constant of type {type(value).__name__}",
        because="constants are numbers of ordinary size, text, booleans, dates and timestamps",
        instead="table.age >= 40, or table.age.is_missing() for missing values",
    )
