"""Text matches and parts of dates: one template for each operator and type of operand, the same on every engine.

Text is matched by its bytes in UTF-8, which gives the same answers as code points. Patterns such as LIKE are never
used: their escapes and their case folding differ. Dates and timestamps have been read already, so they lie in the
years 1 to 9999; the year 1 begins on a Monday, so no start of a week lies before it.
"""

from collections.abc import Mapping
from typing import get_args

from discreet.catalog.catalog import ColumnType
from discreet.engines.sql.dialect import Functions
from discreet.plan.logical import CalendarPart, TextPlace, TimeUnit

_UNITS: tuple[TimeUnit, ...] = get_args(TimeUnit)
_PARTS: tuple[CalendarPart, ...] = get_args(CalendarPart)
_MATCHES: Mapping[TextPlace, str] = {"starts": "starts_with", "ends": "ends_with", "contains": "contains"}


def functions(
    matches: Mapping[TextPlace, str],
    dates: Mapping[TimeUnit, str],
    timestamps: Mapping[TimeUnit, str],
    parts: Mapping[CalendarPart, str],
) -> Functions:
    """The templates of an engine, by operator and type of operand.

    In all of them `{0}` is the operand. In `matches`, `{1}` is the text, `{2}` its number of code points and `{3}` its
    number of bytes.
    """
    found = {(_MATCHES[how], ColumnType.TEXT): template for how, template in matches.items()}
    for kind, units in ((ColumnType.DATE, dates), (ColumnType.TIMESTAMP, timestamps)):
        named = {f"truncate_{unit}": each for unit, each in units.items()}
        named |= {f"part_{part}": each for part, each in parts.items()}
        found |= {(name, kind): each for name, each in named.items() if _has(kind, name)}
    return found


def every_unit(template: str) -> dict[TimeUnit, str]:
    """One template for every unit, whose name stands for `{1}`."""
    return {unit: template.replace("{1}", unit) for unit in _UNITS}


def every_part(template: str, weekday: str) -> dict[CalendarPart, str]:
    """One template for every part, whose name stands for `{1}`, and another for weekdays."""
    return {part: weekday if part == "weekday" else template.replace("{1}", part) for part in _PARTS}


def _has(kind: ColumnType, name: str) -> bool:
    """Whether values of a type have what an operator asks for: a date has no hours and minutes."""
    return kind is ColumnType.TIMESTAMP or not name.endswith(("_hour", "_minute"))
