"""What engines must agree on, in plain Python: the limits of reals, and which rows portable sampling keeps."""

import datetime as dt
import hashlib
import math
from collections.abc import Iterable
from typing import Any

from discreet.plan import logical

LARGEST = 1e150
FLUSHING = 1e-134


def value(node: object, cell: float | None) -> float | None:
    """The value of an expression where the column holds the cell; None is missing."""
    return _limited(_raw(node, cell))


def _limited(number: float | None) -> float | None:
    if number is None or math.isnan(number):
        return None
    flushed = number + FLUSHING - FLUSHING
    return flushed if abs(flushed) < LARGEST else None


def _raw(node: object, cell: float | None) -> float | None:
    match node:
        case logical.ColumnRef():
            return _limited(cell)
        case logical.Literal(constant):
            return _limited(float(constant))
        case logical.Combine(("+" | "-") as sign, left, right):
            a, b = _raw(left, cell), _raw(right, cell)
            return None if a is None or b is None else a + b if sign == "+" else a - b
        case logical.Combine(("*" | "/") as sign, left, right):
            a, b = value(left, cell), value(right, cell)
            if a is None or b is None or (sign == "/" and b == 0):
                return None
            return a * b if sign == "*" else a / b
        case logical.Cast(operand, _):
            whole = value(operand, cell)
            return None if whole is None or abs(whole) >= 2.0**63 else float(math.floor(whole + 0.5))
    raise TypeError(type(node).__name__)


def kept(rows: list[dict[str, Any]], key: int, unit: str, most: int) -> list[dict[str, Any]]:
    """The rows of a unit that come first by the hash of their own columns, in the order of the columns' names."""
    own = [row for row in rows if row["id"] == unit]
    return sorted(own, key=lambda row: _hash([key, *(row[name] for name in sorted(row))]))[:most]


def kept_groups(key: int, unit: int, ordinals: Iterable[int], most: int) -> list[int]:
    """The groups of a unit that come first."""
    return sorted(ordinals, key=lambda ordinal: _hash([key, unit, ordinal]))[:most]


def _hash(parts: list[Any]) -> str:
    return _md5("|".join(map(_spelled, parts)))


def _md5(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def _spelled(value: Any) -> str:
    match value:
        case None:
            return "~"
        case bool():
            return "t" if value else "f"
        case str():
            return _md5(value)
        case float():
            return str(math.floor(value * 2**20))
        case dt.datetime():
            return str((value - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1))  # noqa: DTZ001
    return str(value)
