"""Cases, text matches, starts and parts of dates over a column of a raw pair, whatever type an owner declared for it.

The texts that are sought are those that readers take for something else: digits of a number, words for what is missing,
signs of a pattern. Dates and times are reached by a cast as well, from text that may spell one.
"""

from collections.abc import Callable
from typing import Any

import discreet as dp
from discreet.query.expression import Expr
from discreet.query.frame import Frame
from raw_cells import Pick

SOUGHT = (
    "e",
    "a",
    "x",
    "T",
    "na",
    "nan",
    "u",
    "%",
    "_",
    "\\",
    " ",
    "\u00e9",
    "\u0301",
    "\U0001f600",
    "-",
    "0x",
    "1e",
    ":",
)
UNITS = ("year", "quarter", "month", "week", "day")
PARTS = ("year", "quarter", "month", "day", "weekday")
FILLED = {"integer": 1, "real": 0.5, "text": "none", "boolean": True, "date": "9999-12-31", "timestamp": "0001-01-01"}
TIMES = ("date", "timestamp")


def condition(pick: Pick, table: Frame, column: Any) -> Expr:
    """A condition that is true, false or missing by the cell of its row."""
    cell, kind = table[column.name], column.declared
    ways: list[Callable[[], Expr]] = [lambda: dp.when(cell.is_missing(), True).otherwise(_match(pick, cell, kind))]
    ways += [lambda: ~_match(pick, cell, kind), lambda: _match(pick, cell.fill_missing(FILLED[kind]), kind)]
    return pick.one(ways)()


def key(pick: Pick, table: Frame, column: Any) -> tuple[Expr, list[Any]]:
    """A computed key, and public values of it."""
    cell, kind = table[column.name], column.declared
    if kind in TIMES:
        return cell.truncate("year"), ["2020-01-01", None] if kind == "date" else ["2020-01-01 00:00:00", None]
    named = dp.when(_match(pick, cell, kind), "%").when(cell.is_present(), "\u00e9")
    return pick.one(((named, ["%", "\u00e9", None]), (named.otherwise(""), ["", "%"])))


def number(pick: Pick, table: Frame, column: Any) -> Expr:
    """A number with cases: the cell itself where it is a number, constants where it is not."""
    cell, kind = table[column.name], column.declared
    if kind in ("integer", "real"):
        value: Any = pick.one((cell, cell.fill_missing(pick.one((-1, 0.25))), cell * 2))
    else:
        value = _date(cell, kind).part(pick.one(PARTS)) if kind in TIMES else pick.one((2, -1.5))
    return dp.when(_match(pick, cell, kind), value).when(cell.is_present(), 1).otherwise(pick.one((0, 3, -1)))


def _match(pick: Pick, cell: Expr, kind: str) -> Expr:
    """What is asked of a cell by its declared type."""
    match kind:
        case "text":
            call = pick.one(("starts_with", "ends_with", "contains"))
            return getattr(cell, call)(pick.one(SOUGHT))
        case "boolean":
            return cell
        case "integer" | "real":
            return cell >= pick.one((-1, 0, 1, 5))
    date = _date(cell, kind)
    return pick.one((date.part(pick.one(PARTS)) >= 5, date.truncate(pick.one(UNITS)) < "2020-06-01"))


def _date(cell: Expr, kind: str) -> Expr:
    """The date or time of a cell; a time now and then has its hour cut off, so that both types are met."""
    return cell if kind == "date" else cell.truncate("hour")
