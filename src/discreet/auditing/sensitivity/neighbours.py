"""Adversarial neighbours for any table of a catalog: two datasets that differ in what one unit brought, and in order.

Everything here comes from what a catalog declares and from values that a query names: columns, types, bounds, grids,
keys, the privacy unit, the neighbour relation, and what becomes of rows without a unit. Cells are chosen to hurt: NaN
and infinities, missing ids, -0.0, 2^53 and the ends of 64 bits, text that is empty, long or looks like a key, dates at
the ends of the calendar, values just inside and just outside bounds, keys that nobody declared. Units have no row, one,
many, more than their contribution bounds allow, the same row many times, or rows that are all worth as much as a row
can be.
"""

import datetime as dt
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from discreet.catalog.catalog import Column, ColumnType, Table, Value
from discreet.catalog.privacy_unit import Neighbours
from discreet.engines.sources.arrow_types import ARROW_TYPES

T = TypeVar("T")
Row = dict[str, Any]
World = list[Row]
Likely = Mapping[str, Sequence[Value | float]]

LARGE = 1e140
LARGEST = 2**63 - 1
MOST_ROWS = 200

IDS = ("p", "P", "p ", " p", "é", "e\u0301", "", "\u200b", "ﬁ", "fi", "Σ", "ς", "İ", "17", "017")
NUMBERS = (0, 1, 2**53, 2**53 + 1, LARGEST, -LARGEST - 1, 2, 3, 5, 8, -1)
DAYS = tuple(dt.date(2020, 2, day) for day in range(1, 12))
UNKNOWN = ("", "!", "\u0430", "\U0001f600", "\u00ff", "x" * 3_000, "a\nb", "'; --", '"')
WHOLE = (0, 1, 2, -1, 7, 2**31 - 1, 2**31, -(2**31) - 1, 2**53 - 1, 2**53, 2**53 + 1, LARGEST, -LARGEST - 1)
REAL = (0.0, -0.0, 0.25, 0.0625, -0.0625, 1.0, 2.0, -1.0, 5e-324, 2.0**53 + 2, LARGE, -LARGE, 1.7e308, 0.1 + 0.2)
NO_NUMBER = (math.nan, math.inf, -math.inf)
WRITTEN = ("1", "2.5", " 7 ", "-3", "nan", "inf", "-Infinity", "1e400", "HIV+", "0x10", "9007199254740993")
DATES = (dt.date(1, 1, 1), dt.date(2020, 2, 29), dt.date(1969, 12, 31), dt.date(9999, 12, 31))
TIMES = (
    dt.datetime(1, 1, 1),  # noqa: DTZ001 - times of a catalog have no zone
    dt.datetime(2020, 2, 29, 23, 59, 59, 999_999),  # noqa: DTZ001
    dt.datetime(9999, 12, 31, 23, 59, 59, 999_999),  # noqa: DTZ001
)

_IDENTITIES: Mapping[ColumnType, Sequence[Any]] = {
    ColumnType.INTEGER: NUMBERS,
    ColumnType.TEXT: IDS,
    ColumnType.BOOLEAN: (True, False),
    ColumnType.DATE: DAYS,
    ColumnType.TIMESTAMP: tuple(dt.datetime.combine(day, dt.time(12)) for day in DAYS),
}
_ODD: Mapping[ColumnType, Sequence[Any]] = {
    ColumnType.INTEGER: WHOLE,
    ColumnType.REAL: (*REAL, *NO_NUMBER),
    ColumnType.TEXT: (*UNKNOWN, *WRITTEN),
    ColumnType.BOOLEAN: (True, False),
    ColumnType.DATE: DATES,
    ColumnType.TIMESTAMP: TIMES,
    ColumnType.DOCUMENT: ("", "{}", '{"a": 1}', "[" * 50),
    ColumnType.BINARY: (b"", b"\x00\xff", b"a"),
}
_SIZES, _OFTEN = (0, 1, 2, 3, 4, 6, 9, 25), (0.05, 0.2, 0.2, 0.15, 0.15, 0.1, 0.1, 0.05)


def pairs(
    table: Table, count: int, generator: np.random.Generator, *, likely: Likely | None = None, typed: bool = False
) -> Iterator[tuple[pa.Table, pa.Table]]:
    """So many pairs of neighbours of a table, as Arrow; `likely` has values that matter, and what matters most first.

    Every fourth pair holds its cells as text, as a CSV file does, unless all are to be `typed`.
    """
    author = Author(table, generator, likely)
    for number in range(count):
        one, other = author.pair()
        as_text = number % 4 == 3 and not typed
        yield arrow_table(table, one, as_text=as_text), arrow_table(table, other, as_text=as_text)


def arrow_table(table: Table, rows: World, *, as_text: bool = False) -> pa.Table:
    """Rows as Arrow: each column in its declared type, or all of it as text, as a CSV file holds it."""
    columns = {}
    for name, column in table.columns.items():
        cells = [row[name] for row in rows]
        if as_text and column.type is not ColumnType.BINARY:
            columns[name] = pa.array([_cell_text(cell) for cell in cells], pa.string())
        else:
            columns[name] = pa.array(cells, ARROW_TYPES[column.type])
    return pa.table(columns)


class Author:
    """Writes datasets by a generator: odd cells, units of every shape, neighbours in any order of rows."""

    def __init__(self, table: Table, generator: np.random.Generator, likely: Likely | None = None) -> None:
        self._random = generator
        self._unit = table.unit
        self._is_one_unit = table.missing_units == "one_unit"
        self._types = {name: column.type for name, column in table.columns.items()}
        named = dict(likely or {})
        self._usual = {name: usual(column, named.get(name, ())) for name, column in table.columns.items()}
        self._odd = {name: odd(column, self._usual[name]) for name, column in table.columns.items()}
        self._fullest = _beyond_the_caps(table)
        if table.part is not None:
            ends = (table.part.start, table.part.end)
            self._usual[table.part.column] += [_as_time(end, self._types[table.part.column]) for end in ends]
        keyed = [name for name, column in table.columns.items() if column.keys]
        self._important = [name for name in dict.fromkeys([*named, *keyed, *self._types]) if self._usual[name]]

    def pair(self) -> tuple[World, World]:
        """Two neighbours: one unit more or less, or another unit in its place; the rest stays, in another order."""
        is_replaced = self._unit.neighbours is Neighbours.REPLACE_ONE
        moved, other, *others = self._identities(2 + self._below(5))
        rest = [row for identity in (others if is_replaced else [other, *others]) for row in self._rows(identity)]
        if self._unit.is_row:
            with_it, without = [self._row(moved)], [self._row(other)]
        else:
            with_it, without = self._rows(moved), self._rows(moved if self._chance(0.3) else other)
        if not is_replaced:
            without = []
        if not self._unit.is_row:
            taken = {self._whose(row) for row in (*with_it, *without)}
            rest = [row for row in rest if self._whose(row) not in taken]
        worlds = self.permute([*rest, *with_it]), self.permute([*rest, *without])
        return worlds if self._chance(0.5) else (worlds[1], worlds[0])

    def permute(self, rows: Sequence[T]) -> list[T]:
        """The same rows in another order."""
        return [rows[i] for i in self._random.permutation(len(rows))]

    def _whose(self, row: Row) -> tuple[Any, ...] | None:
        """The unit of a row; None stands for the unit of all rows whose id is missing in any part."""
        found = tuple(row[name] for name in self._unit.columns)
        return None if None in found else found

    def _identities(self, count: int) -> list[Row]:
        """Ids of units, different as far as there are so many; many look alike, some share a part, some lack one."""
        found: list[Row] = []
        for number, first in enumerate(self._first_parts(count)):
            identity = {name: self._any(_IDENTITIES[self._types[name]]) for name in self._unit.columns} | first
            if number and len(identity) > 1 and self._chance(0.3):
                shared = self._any(self._unit.columns)
                identity[shared] = found[-1][shared]
            if identity and self._chance(0.15 if self._is_one_unit else 0.05):
                identity[self._any(self._unit.columns)] = None
            found.append(identity)
        return found

    def _first_parts(self, count: int) -> list[Row]:
        if self._unit.is_row:
            return [{}] * count
        name = self._unit.columns[0]
        pool = list(_IDENTITIES[self._types[name]])
        pool, start = (pool, self._below(len(pool))) if self._chance(0.7) else (self.permute(pool), 0)
        return [{name: pool[(start + number) % len(pool)]} for number in range(count)]

    def _rows(self, identity: Row) -> World:
        """The rows of one unit: each by itself, one many times, or all at an extreme."""
        size = self._size()
        match self._below(4):
            case 0:
                rows = [self._row(identity) for _ in range(size)]
            case 1:
                rows = [self._row(identity)] * size
            case _:
                rows = self._extremes(identity, size)
        if self._is_one_unit and None in identity.values():
            return [row | self._without_identity() for row in rows]
        return rows

    def _size(self) -> int:
        if self._fullest and self._chance(0.25):
            return self._fullest + self._below(3)
        return int(self._random.choice(_SIZES, p=_OFTEN))

    def _without_identity(self) -> Row:
        """One of the ways to have no id: all such rows are one unit together."""
        columns = self._unit.columns
        identity: Row = {name: self._any(_IDENTITIES[self._types[name]]) for name in columns}
        missing = [name for name in columns if self._chance(0.5)] or [self._any(columns)]
        return identity | dict.fromkeys(missing)

    def _row(self, identity: Row) -> Row:
        return {name: self._cell(name) for name in self._types} | identity

    def _cell(self, name: str) -> Any:
        if self._usual[name] and self._chance(0.7):
            return self._any(self._usual[name])
        return None if self._chance(0.1) else self._any(self._odd[name])

    def _extremes(self, identity: Row, size: int) -> World:
        """Rows that are worth as much as rows can be, spread over the values of two columns that matter."""
        sign, cycled = self._any((-1, 1)), self._important_values()
        fixed = {name: self._end(name, sign) for name in self._types}
        rows = []
        for number in range(size):
            row, left = dict(fixed), number
            for name, values in cycled.items():
                row[name], left = values[left % len(values)], left // len(values)
            rows.append(row | identity)
        return rows

    def _important_values(self) -> dict[str, list[Any]]:
        """Two columns with values that matter: mostly the most important ones, each with a few of its values."""
        names = self._important if self._chance(0.7) else self.permute(self._important)
        return {name: self.permute(self._usual[name])[: 1 + self._below(6)] for name in names[:2]}

    def _end(self, name: str, sign: int) -> Any:
        """The end of a column in one direction, or one of the values that matter."""
        numeric = self._types[name] in (ColumnType.INTEGER, ColumnType.REAL)
        if self._usual[name] and self._chance(0.4 if numeric else 0.9):
            return self._any(self._usual[name])
        return self._extreme(name, sign)

    def _extreme(self, name: str, sign: int) -> Any:
        match self._types[name]:
            case ColumnType.INTEGER:
                return sign * LARGEST
            case ColumnType.REAL:
                return sign * LARGE
            case ColumnType.TEXT:
                return str(sign * 1e90)
        return self._any(_ODD[self._types[name]])

    def _any(self, pool: Sequence[Any]) -> Any:
        return pool[self._below(len(pool))]

    def _below(self, end: int) -> int:
        return int(self._random.integers(end))

    def _chance(self, probability: float) -> bool:
        return bool(self._random.random() < probability)


def usual(column: Column, named: Sequence[Any] = ()) -> list[Any]:
    """The values of a column that matter: its keys, what a query names, and the ends of its bounds."""
    found = [*(column.keys or ()), *named]
    if column.bounds is not None:
        found += [_number(bound, column.type) for bound in column.bounds]
    return _distinct(found)


def odd(column: Column, known: Sequence[Any]) -> list[Any]:
    """The values of a column that hurt: those of its type, and those beside the ones that matter."""
    found = [*_ODD[column.type]]
    for value in known:
        match value:
            case bool() | None:
                continue
            case str():
                found += [value.swapcase(), value + " ", " " + value, value + value]
            case int():
                found += [clip_to_64_bits(value - 1), clip_to_64_bits(value + 1)]
            case float():
                found += [math.nextafter(value, math.inf), math.nextafter(value, -math.inf), value + 1, value - 1]
            case dt.date():
                found += [value + step for step in (_step(value), -_step(value)) if _fits(value, step)]
    if column.grid is not None:
        found += [_number(bound + column.grid / 2, column.type) for bound in column.bounds or ()]
    return _distinct(found)


def clip_to_64_bits(value: int) -> int:
    """The nearest number of 64 bits."""
    return min(max(value, -LARGEST - 1), LARGEST)


def _beyond_the_caps(table: Table) -> int:
    """One row more than a unit may bring, where that is a number of rows that one can write down."""
    caps = table.caps
    rows = [cap for cap in (caps.max_rows, (caps.max_groups or 1) * (caps.max_rows_per_group or 0)) if cap]
    largest = max(rows, default=0) + 1
    return largest if rows and largest <= MOST_ROWS else 0


def _number(value: Any, kind: ColumnType) -> int | float:
    return float(value) if kind is ColumnType.REAL else clip_to_64_bits(math.floor(value))


def _as_time(end: dt.datetime, kind: ColumnType) -> dt.date:
    return end.date() if kind is ColumnType.DATE else end


def _step(value: dt.date) -> dt.timedelta:
    return dt.timedelta(microseconds=1) if isinstance(value, dt.datetime) else dt.timedelta(days=1)


def _fits(value: dt.date, step: dt.timedelta) -> bool:
    try:
        value + step
    except OverflowError:
        return False
    return True


def _distinct(values: Sequence[Any]) -> list[Any]:
    """Each value once; 0.0 and -0.0, 1 and True are different ones."""
    return list({(type(value), repr(value)): value for value in values}.values())


def _cell_text(cell: Any) -> str | None:
    if cell is None or isinstance(cell, str):
        return cell
    if isinstance(cell, bool):
        return str(cell).lower()
    return (
        cell.isoformat(*((" ",) if isinstance(cell, dt.datetime) else ())) if isinstance(cell, dt.date) else repr(cell)
    )
