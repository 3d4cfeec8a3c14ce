"""Time slices: the rows of a table from one moment until before another, under a privacy budget of their own.

A new budget is for new data only. So slices of one table never share a row: a row belongs to the slice that its time
lies in, and one whose time is missing or cannot be read belongs to none. Somebody with rows in several slices is
protected by each slice's privacy budget, and over all of them by the sum.
"""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from numbers import Number

from discreet.catalog.privacy_unit import Unit
from discreet.errors import CatalogError, ParameterError, public_class

EXAMPLE = 'dp.Slice("visited", "2026-10-01", "2026-11-01")'
TIMES = ("date", "timestamp")
_DAY = dt.timedelta(days=1)


@public_class
@dataclass(frozen=True, repr=False)
class Slice:
    """Rows of one period, with a budget of their own. Times have no time zone.

    Args:
        column: Column of type date or timestamp.
        start: First moment of the period.
        end: Moment before which the period ends.
        of: Table that the slice is a part of. Default: the usual name of the table.

    Raises:
        ParameterError: If the column is not named by text, an end is not a time, or the period is empty.

    Example:
        >>> import discreet as dp
        >>> dp.Slice("visited", "2026-10-01", "2026-11-01").period
        '2026-10'
    """

    column: str
    start: dt.datetime
    end: dt.datetime
    of: str | None = None

    def __init__(self, column: str, start: str | dt.date, end: str | dt.date, *, of: str | None = None) -> None:
        names: tuple[object, ...] = (column, "" if of is None else of)
        if not all(isinstance(name, str) for name in names):
            raise ParameterError(
                "a slice without the name of a column",
                because="its first argument is the name of a time column",
                instead=EXAMPLE,
            )
        object.__setattr__(self, "column", column)
        object.__setattr__(self, "start", moment(start, "start"))
        object.__setattr__(self, "end", moment(end, "end"))
        object.__setattr__(self, "of", of)
        if self.start >= self.end:
            raise ParameterError(
                f"a slice from {iso_text(self.start)} until before {iso_text(self.end)}",
                because="it holds no time at all",
                instead=EXAMPLE,
            )

    @property
    def period(self) -> str:
        """The period as it stands in the name of a table: a year, a month, a day, or else both ends."""
        if self._is_of_whole_days:
            months = 12 * (self.end.year - self.start.year) + self.end.month - self.start.month
            if self.end - self.start == _DAY:
                return iso_text(self.start)
            if (months, self.start.day, self.end.day) == (1, 1, 1):
                return iso_text(self.start)[:7]
            if (months, self.start.month, self.start.day, self.end.day) == (12, 1, 1, 1):
                return iso_text(self.start)[:4]
        return f"{iso_text(self.start)}-until-{iso_text(self.end)}"

    def statement(self, unit: Unit) -> str:
        """The rows that a budget is for, and the meaning for a unit in several slices, in words.

        Args:
            unit: The privacy unit.

        Returns:
            A sentence.
        """
        several = f"{unit.label} in several slices is protected by each budget, and over all of them by their sum"
        return f"{self}; {'a row is in one slice only' if unit.is_row else several}"

    def require_times(self, types: Mapping[str, str]) -> None:
        """Refuse a column whose declared type has no times, or none as fine as the ends of the slice.

        Args:
            types: Declared types by column.

        Raises:
            CatalogError: If the type of the column does not fit.
        """
        kind = types[self.column]
        if kind not in TIMES:
            others = [f'dp.Slice("{name}", ...)' for name, other in types.items() if other in TIMES]
            declared = f'types={{"{self.column}": "timestamp"}} ({self.column}: {{type: timestamp}} in a catalog)'
            raise CatalogError(
                f"a slice by {self.column!r} of type {kind}",
                because="a slice goes by time, and only columns of type date and timestamp hold one",
                instead=", or ".join([*others[:1], *([declared] if kind == "text" or not others else [])]),
            )
        if kind == "date" and not self._is_of_whole_days:
            raise CatalogError(
                f"a slice from {iso_text(self.start)} until before {iso_text(self.end)} "
                f"by {self.column!r} of type date",
                because="a date has no time of day",
                instead=f'dp.Slice("{self.column}", "2026-10-01", "2026-11-01")',
            )

    @property
    def _is_of_whole_days(self) -> bool:
        return self.start.time() == self.end.time() == dt.time()

    def __str__(self) -> str:
        period = f"from {iso_text(self.start)} until before {iso_text(self.end)} by {self.column!r}"
        return f"the rows of {self.of or 'a table'!r} {period}"

    def __repr__(self) -> str:
        of = "" if self.of is None else f", of={self.of!r}"
        return f'dp.Slice({self.column!r}, "{iso_text(self.start)}", "{iso_text(self.end)}"{of})'


def moment(value: object, name: str) -> dt.datetime:
    """A date or a time without a zone; a date is its first moment."""
    try:
        read = None if isinstance(value, Number) else dt.datetime.fromisoformat(str(value))
    except ValueError:
        read = None
    if read is None or read.tzinfo is not None:
        raise ParameterError(
            f"{name}={value!r} of a slice",
            because="it must be a date, or a time without a zone",
            instead=f'{name}="2026-10-01"',
        )
    return read


def iso_text(time: dt.datetime) -> str:
    """A moment in ISO form; the first of a day as the day alone."""
    return time.date().isoformat() if time.time() == dt.time() else time.isoformat()


def refuse_shared_rows(tables: Mapping[str, Slice | None]) -> None:
    """Refuse tables of which two hold the same rows: slices that overlap, or a slice beside the whole."""
    slices = {name: part for name, part in tables.items() if part is not None}
    for part in slices.values():
        if part.of in tables:
            raise CatalogError(
                f"table {part.of!r} and a slice of it",
                because="a table has one budget as a whole, or one for each slice",
                instead=f"{part.of}-{part.period} as the name of the slice, and no table {part.of!r} beside it",
            )
    by_time = sorted(slices, key=lambda name: (slices[name].of or "", slices[name].start))
    for earlier, later in pairwise(by_time):
        one, other = slices[earlier], slices[later]
        if one.of == other.of and other.start < one.end:
            raise CatalogError(
                f"slices {earlier!r} and {later!r} of {one.of!r}",
                because="they overlap, and a new budget is for new data only",
                instead=f"start: {iso_text(one.end)} in {later!r}, or an earlier end in {earlier!r}",
            )
