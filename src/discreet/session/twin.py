"""Generated twins of tables: rows from the public facts of a catalog alone, for `dp.preview`.

Types, bounds, keys, contribution bounds, declared rows and slices decide what is generated, and the joins of a query
decide which columns share their values. No source is opened, and nothing here depends on any data. A table may have
the rows of a released synthetic table in the place of generated ones; each of these is then a unit of its own.

A row of a unit is known by two numbers: which unit it is of, and which of the unit's rows it is. Columns that join
tables are functions of both, so that rows of different tables match.
"""

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.catalog.catalog import ROW_IN_TEXT, Catalog, Column, ColumnType, Table, Through
from discreet.engines.sources.arrow_types import ARROW_TYPES
from discreet.plan import logical

ROWS = 10_000
"""Rows of a table that declares none."""
MOST_ROWS = 1_000_000
"""Rows of a table that declares more."""
MOST_PER_UNIT = 10
PUBLIC_ROWS = 100
_TEXTS = 50
_FIRST_DAY = dt.datetime(2024, 1, 1)  # noqa: DTZ001 - times of a catalog have no zone
_YEARS = 3
_WHOLE = 2**62

Place = tuple[str, str]
"""A table and a column."""
Link = tuple[Place, Place]


@dataclass(frozen=True)
class Rows:
    """Which unit each row is of, and which of the unit's rows it is."""

    unit: Any
    turn: Any

    def __len__(self) -> int:
        return len(self.unit)

    @property
    def codes(self) -> Any:
        """A number of its own for each row, the same in every table for the same row of the same unit."""
        return self.unit * MOST_PER_UNIT + self.turn


def links_of(relation: logical.Relation, catalog: Catalog) -> list[Link]:
    """Pairs of columns that the joins of a query compare; columns that are computed have none."""
    return list(_links(relation, catalog)[1])


def _links(relation: logical.Relation, catalog: Catalog) -> tuple[dict[str, Place], list[Link]]:
    """The columns that can be named above a relation, by name, and the pairs below it."""
    if isinstance(relation, logical.TableRef):
        table = catalog.tables.get(relation.name)
        return ({} if table is None else {name: (relation.name, name) for name in table.columns}), []
    names, links = _links(relation.source, catalog)
    match relation:
        case logical.Derive(_, name, expression):
            kept = names.get(expression.name) if isinstance(expression, logical.ColumnRef) else None
            names = {**names, name: kept} if kept else {key: at for key, at in names.items() if key != name}
        case logical.Join(_, other, on, _, called) if other in catalog.tables:
            links += [(names[here], (other, there)) for here, there in on if here in names]
            given = dict(called)
            theirs = {given.get(name, name): (other, name) for name in catalog.tables[other].columns}
            names = {**theirs, **names}
        case _:
            pass
    return names, links


class Twin:
    """The generated tables of a catalog, by the names of the catalog."""

    def __init__(
        self, catalog: Catalog, links: Iterable[Link] = (), rows: Mapping[str, pa.Table] | None = None
    ) -> None:
        self._catalog = catalog
        self._rows = dict(rows or {})
        self._random = np.random.default_rng(0)
        self._joins = list(links)
        self._groups = _group([*_ways(catalog), *self._joins])
        self.tables: dict[str, pa.Table] = {}
        for name in sorted(catalog.tables, key=self._order):
            self.tables[name] = self._generate(name)

    def _order(self, name: str) -> tuple[bool, int]:
        """Protected tables first, and those that have the unit before those that lead to it."""
        table, steps = self._catalog.tables[name], 0
        public = table.public
        while isinstance(table.privacy_unit, Through):
            table, steps = self._catalog.tables[table.privacy_unit.through], steps + 1
        return public, steps

    def _generate(self, name: str) -> pa.Table:
        table = self._catalog.tables[name]
        given, count = self._given(name, table)
        if name in self._rows:
            given = {
                column: self._rows[name][column] for column in table.columns if column in self._rows[name].schema.names
            }
            count = len(self._rows[name])
            rows = Rows(np.arange(count), np.zeros(count, dtype=np.int64))
        elif table.public or isinstance(table.privacy_unit, Through):
            rows = Rows(np.arange(count), np.zeros(count, dtype=np.int64))
        else:
            rows = self._rows_of_units(name, table)
        columns = {column: self._column(name, column, rows, given) for column in table.columns}
        return pa.table(columns)

    def _given(self, name: str, table: Table) -> tuple[dict[str, pa.Array], int]:
        """Columns whose values are those of rows of another table, and the number of rows."""
        if isinstance(way := table.privacy_unit, Through):
            count, holder = _count(table, ROWS), self.tables[way.through]
            taken = holder.select([theirs for _, theirs in way.on]).take(np.arange(count) % max(1, len(holder)))
            return {own: taken[theirs] for own, theirs in way.on}, count
        if not table.public:
            return {}, 0
        pairs = {there[1]: here for here, there in self._joins if there[0] == name and here[0] in self.tables}
        if not pairs or len({here[0] for here in pairs.values()}) > 1:
            return {}, _count(table, PUBLIC_ROWS)
        joined = pa.table({own: self.tables[other][column] for own, (other, column) in pairs.items()})
        distinct = joined.group_by(list(pairs)).aggregate([])
        return {own: distinct[own] for own in pairs}, len(distinct)

    def _rows_of_units(self, name: str, table: Table) -> Rows:
        """Each unit has one row up to as many as count; a unit whose rows others lead to has one."""
        most = 1 if table.privacy_unit == ROW_IN_TEXT or self._has_one_row_each(name) else table.max_rows or 1
        most, count = min(most, MOST_PER_UNIT), _count(table, ROWS)
        units = max(1, 2 * count // (most + 1))
        times = self._random.integers(1, most + 1, min(units, table.population or units))
        unit = np.repeat(np.arange(len(times)), times)
        turn = np.arange(len(unit)) - np.repeat(np.cumsum(times) - times, times)
        return Rows(unit, turn)

    def _has_one_row_each(self, name: str) -> bool:
        """Whether another table leads to this one by the columns of its unit."""
        ways = (table.privacy_unit for table in self._catalog.tables.values())
        unit = self._catalog.tables[name].unit.columns
        return any(
            isinstance(way, Through) and way.through == name and all(theirs in unit for _, theirs in way.on)
            for way in ways
        )

    def _column(self, name: str, column: str, rows: Rows, given: dict[str, pa.Array]) -> pa.Array:
        table = self._catalog.tables[name]
        kind = ARROW_TYPES[table.columns[column].type]
        if column in given:
            return given[column].cast(kind)
        if not table.public and column in table.unit.columns:
            return _codes(rows.unit, kind)
        group = self._groups.get((name, column), ())
        facts = self._facts(column, table, group)
        domain = _domain(facts, table, column)
        if domain is None:
            return _codes(rows.codes, kind) if group else self._draw(facts, len(rows), kind)
        at = rows.codes * 7 % len(domain) if group else self._random.integers(0, len(domain), len(rows))
        return pa.array(domain, kind).take(pa.array(at))

    def _facts(self, column: str, table: Table, group: Sequence[Place]) -> Column:
        """The facts about a column, or about one that it is joined with where these have keys and its own do not."""
        own = table.columns[column]
        others = [self._catalog.tables[other].columns[name] for other, name in group]
        return next((each for each in (own, *others) if each.keys is not None), own)

    def _draw(self, facts: Column, count: int, kind: pa.DataType) -> pa.Array:
        """Numbers evenly between the bounds; texts of which some are common and most are rare."""
        if facts.type is ColumnType.TEXT:
            weights = 1 / np.arange(1, _TEXTS + 1)
            drawn = self._random.choice(_TEXTS, count, p=weights / weights.sum())
            return pa.array([f"value {i + 1}" for i in range(_TEXTS)], kind).take(pa.array(drawn))
        low, high = facts.bounds or (Fraction(0), Fraction(100))
        if facts.type is ColumnType.INTEGER:
            ends = [max(-_WHOLE, min(_WHOLE, int(end))) for end in (low, high)]
            return pa.array(self._random.integers(ends[0], ends[1], count, endpoint=True), kind)
        share = self._random.random(count)
        return pa.array(_on_grid(float(low) * (1 - share) + float(high) * share, facts), kind)


def _count(table: Table, usual: int) -> int:
    return min(table.rows or usual, MOST_ROWS)


def _ways(catalog: Catalog) -> Iterator[Link]:
    """The pairs of columns by which tables lead to the table that has their unit."""
    for name, table in catalog.tables.items():
        if isinstance(way := table.privacy_unit, Through):
            yield from (((name, own), (way.through, theirs)) for own, theirs in way.on)


def _group(links: Iterable[Link]) -> dict[Place, tuple[Place, ...]]:
    """The columns that share their values with each column."""
    groups: dict[Place, tuple[Place, ...]] = {}
    for one, other in links:
        together = tuple(dict.fromkeys((*groups.get(one, (one,)), *groups.get(other, (other,)))))
        groups |= dict.fromkeys(together, together)
    return groups


def _domain(facts: Column, table: Table, column: str) -> list[Any] | None:
    """The values of a column, where they can be listed."""
    if facts.keys is not None:
        return list(facts.keys) or [None]
    match facts.type:
        case ColumnType.BOOLEAN:
            return [False, True]
        case ColumnType.DATE:
            return [moment.date() for moment in _days(table, column)]
        case ColumnType.TIMESTAMP:
            return [moment + dt.timedelta(hours=(5 * i) % 24) for i, moment in enumerate(_days(table, column))]
        case ColumnType.DOCUMENT:
            return ["generated data"]
        case ColumnType.BINARY:
            return [b"generated data"]
    return None


def _days(table: Table, column: str) -> list[dt.datetime]:
    """The days of the slice that a table is, or those of three years, the same on every day that a preview is made."""
    part = table.part
    if part is not None and part.column == column:
        start, count = part.start, max(1, (part.end - part.start).days)
    else:
        start, count = _FIRST_DAY, 365 * _YEARS
    return [start + dt.timedelta(days=i) for i in range(min(count, 365 * 100))]


def _codes(codes: Any, kind: pa.DataType) -> pa.Array:
    """Numbers as identifiers of a type: texts, days, numbers, or truth values in turn."""
    numbers = pa.array(codes)
    if pa.types.is_string(kind):
        return pa.array([f"id {code}" for code in codes.tolist()], kind)
    if pa.types.is_date(kind):
        return numbers.cast(pa.int32()).cast(kind)
    if pa.types.is_boolean(kind):
        return pa.array(codes % 2 == 0, kind)
    return numbers.cast(kind)


def _on_grid(values: Any, facts: Column) -> Any:
    return values if facts.grid is None else np.round(values / float(facts.grid)) * float(facts.grid)
