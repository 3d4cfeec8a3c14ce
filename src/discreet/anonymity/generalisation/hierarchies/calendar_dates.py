"""Hierarchy of dates and timestamps: day, month, quarter, year, decade, century."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from discreet.anonymity.generalisation.hierarchies.base import LevelGroups, ValueHierarchy, is_text
from discreet.errors import ParameterError, TypeMismatchError, public_class, short_traceback

_STEPS = ("day", "month", "quarter", "year", "decade", "century")
_USUAL = ("month", "quarter", "year", "decade")

_LABELS: Mapping[str, Callable[[int], str]] = {
    "day": lambda number: str(np.datetime64(number, "D")),
    "month": lambda number: f"{number // 12:04d}-{number % 12 + 1:02d}",
    "quarter": lambda number: f"{number // 4:04d}-Q{number % 4 + 1}",
    "year": lambda number: f"{number:04d}",
    "decade": lambda number: f"{number * 10:04d}-{number * 10 + 9:04d}",
    "century": lambda number: f"{number * 100:04d}-{number * 100 + 99:04d}",
}


@public_class
@dataclass(frozen=True)
class DateHierarchy(ValueHierarchy):
    """Hierarchy of a column of dates or timestamps.

    Attributes:
        steps: Calendar units of levels 1, 2 and so on; empty for the usual ones.

    Example:
        >>> import discreet as dp
        >>> dp.anonymity.hierarchies.dates("year", "decade").steps
        ('year', 'decade')
    """

    steps: tuple[str, ...] = ()

    def _steps(self, values: pa.Array) -> Sequence[LevelGroups]:
        has_time = pa.types.is_timestamp(values.type)
        units = self.steps or (("day", *_USUAL) if has_time else _USUAL)
        days = _days(values)
        return [_level(days, unit) for unit in units]


@short_traceback
def dates(*steps: str) -> DateHierarchy:
    """Hierarchy of dates: month, quarter, year and decade; of timestamps: day first.

    Timestamps with a time zone are read in that zone. Text is read as ISO dates, `1984-03-07`.

    Args:
        steps: Units of levels 1, 2 and so on, each coarser than the one before, out of "day", "month", "quarter",
            "year", "decade" and "century". Default: month, quarter, year, decade, and day before them for timestamps.

    Returns:
        A hierarchy; its highest level, above the units, is `*`.

    Raises:
        ParameterError: If a unit is unknown, or if it is not coarser than the one before.

    Example:
        >>> import datetime
        >>> import discreet as dp
        >>> import pyarrow as pa
        >>> born = pa.array([datetime.date(1984, 3, 7)])
        >>> dp.anonymity.hierarchies.dates().levels(born).labels
        (('1984-03-07',), ('1984-03',), ('1984-Q1',), ('1984',), ('1980-1989',), ('*',))
    """
    for step in steps:
        if step not in _STEPS:
            raise ParameterError(
                f"dates({step!r})", because=f"the units are {', '.join(_STEPS)}", instead='dates("month", "year")'
            )
    ranks = [_STEPS.index(step) for step in steps]
    if ranks != sorted(set(ranks)):
        ordered = ", ".join(f'"{_STEPS[rank]}"' for rank in sorted(set(ranks)))
        raise ParameterError(
            f"dates{steps!r}", because="each unit must be coarser than the one before", instead=f"dates({ordered})"
        )
    return DateHierarchy(steps)


def _days(values: pa.Array) -> NDArray[Any]:
    kind = values.type
    try:
        if is_text(kind):
            values = values.cast(pa.date32())
        elif pa.types.is_timestamp(kind):
            local = pc.local_timestamp(values) if kind.tz is not None else values
            values = pc.floor_temporal(local, unit="day").cast(pa.date32())
        elif pa.types.is_date(kind):
            values = values.cast(pa.date32())
        else:
            raise _not_dates(kind)
    except pa.ArrowInvalid:
        raise _not_dates(kind) from None
    return np.asarray(values.cast(pa.int32()).to_numpy(zero_copy_only=False)).astype("datetime64[D]")


def _not_dates(kind: pa.DataType) -> TypeMismatchError:
    return TypeMismatchError(
        f"dates of values of type {kind}",
        because="the values are not dates, timestamps or ISO dates as text",
        instead="a column of dates, or dp.anonymity.hierarchies.intervals(5, 10) for numbers",
    )


def _level(days: NDArray[Any], unit: str) -> LevelGroups:
    months = days.astype("datetime64[M]").astype(np.int64) + 1970 * 12
    numbers = {
        "day": lambda: days.astype(np.int64),
        "month": lambda: months,
        "quarter": lambda: months // 3,
        "year": lambda: months // 12,
        "decade": lambda: months // 120,
        "century": lambda: months // 1200,
    }[unit]()
    found, codes = np.unique(numbers, return_inverse=True)
    return LevelGroups(codes.astype(np.int64), [_LABELS[unit](int(number)) for number in found])
