"""Adversarial datasets, neighbours made from them, and engines that see hundreds of neighbours at once.

A *world* is one dataset; a pair of neighbours is two worlds. Worlds are stacked in one table with a column `world`, so
that one question answers all of them. That is faithful only if a world stays a world: rows are capped for each world
and unit, and the world takes no part in the keyed hash, because two neighbours share one key. `stacked` and
`one_world_at_a_time` see to it, and a test holds stacked answers against answers from a table for each dataset.
"""

import datetime as dt
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa

from discreet.catalog import ColumnType
from discreet.engines import lower
from discreet.engines.dialect import Dialect
from discreet.pushdown import Keys, Pushdown, Read
from opened import Opener

KEY = 20_260_131
LARGE = 1e140
LARGEST = 2**63 - 1

COLUMNS = {
    "id": pa.string(),
    "part": pa.int64(),
    "g": pa.string(),
    "h": pa.int64(),
    "x": pa.float64(),
    "w": pa.float64(),
    "y": pa.int64(),
    "t": pa.string(),
    "b": pa.bool_(),
    "d": pa.date32(),
}
DECLARED = {
    "id": {"type": "text"},
    "part": {"type": "integer"},
    "g": {"type": "text"},
    "h": {"type": "integer", "keys": [0, 1, 2]},
    "x": {"type": "real", "bounds": [-1, 2], "grid": "1/8"},
    "w": {"type": "real", "bounds": [-2, 1], "grid": "1/4", "missing": "1/2"},
    "y": {"type": "integer"},
    "t": {"type": "text"},
    "b": {"type": "boolean"},
    "d": {"type": "date"},
}

PUBLIC = ("a", "b", "c", "d")
IDS = ("p", "P", "p ", " p", "é", "e\u0301", "", "\u200b", "ﬁ", "fi", "Σ", "ς", "İ", "17", "017")
PARTS = (0, 1, 2**53, 2**53 + 1, LARGEST, -LARGEST - 1)
UNKNOWN = ("A", "a ", " a", "", "!", "aa", "\u0430", "\U0001f600", None)
WHOLE = (0, 1, 2, -1, 7, 2**53 - 1, 2**53, 2**53 + 1, LARGEST, -LARGEST - 1, None)
REAL = (0.0, -0.0, 0.25, 0.0625, -0.0625, 1.0, 2.0, -1.0, 5e-324, 2.0**53 + 2, LARGE, -LARGE, None)
NO_NUMBER = (float("nan"), float("inf"), float("-inf"), None)
TEXT = ("1", "2.5", " 7 ", "-3", "nan", "inf", "-Infinity", "1e400", "HIV+", "", "0x10", "9007199254740993", None)
DATES = (dt.date(1, 1, 1), dt.date(2020, 2, 29), dt.date(9999, 12, 31), None)

Row = dict[str, Any]
World = list[Row]
Pair = tuple[World, World]


@dataclass(frozen=True)
class Whose:
    """Whose rows move between neighbours: the columns of the unit (none means the row), and rows without an id."""

    columns: tuple[str, ...]
    missing: str = "drop"

    def identity(self, row: Row) -> tuple[Any, ...] | None:
        """The unit of a row; None stands for the unit of all rows whose id is missing in any part."""
        found = tuple(row[name] for name in self.columns)
        return None if None in found else found


class Author:
    """Writes datasets by a seed: odd cells, units of every shape, neighbours in any order of rows."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)

    def pairs(self, whose: Whose, how: str, number: int) -> list[Pair]:
        """So many neighbours: one unit added, or one replaced by another; the rest stays as it is."""
        return [self._pair(whose, how) for _ in range(number)]

    def shuffled(self, rows: World) -> World:
        """The same rows in another order."""
        return [rows[i] for i in self._rng.permutation(len(rows))]

    def _pair(self, whose: Whose, how: str) -> Pair:
        names = self.shuffled([*IDS, None, None] if whose.missing == "one_unit" or self._chance(0.2) else [*IDS])
        moved, other, *others = (self._identity(name) for name in names[: 2 + self._below(5)])
        rest = [row for identity in others for row in self._unit(identity, whose)]
        with_it = [self._row(moved)] if not whose.columns else self._unit(moved, whose)
        without: World = []
        if how == "replace_one":
            without = [self._row(other)] if not whose.columns else self._unit(other, whose)
        if whose.columns:
            taken = {whose.identity(row) for row in (*with_it, *without)}
            rest = [row for row in rest if whose.identity(row) not in taken]
        pair = self.shuffled([*rest, *with_it]), self.shuffled([*rest, *without])
        return pair if self._chance(0.5) else (pair[1], pair[0])

    def _identity(self, name: str | None) -> Row:
        return {"id": name, "part": None if self._chance(0.1) else self._any(PARTS)}

    def _unit(self, identity: Row, whose: Whose) -> World:
        """The rows of one unit: none, one, several, many; all alike, all at an extreme, or each by itself."""
        size = int(self._rng.choice([0, 1, 2, 3, 4, 6, 9, 25], p=[0.05, 0.2, 0.2, 0.15, 0.15, 0.1, 0.1, 0.05]))
        match self._below(3):
            case 0:
                rows = [self._row(identity) for _ in range(size)]
            case 1:
                rows = [self._row(identity)] * size
            case _:
                sign, keys = self._any((-1, 1)), self.shuffled(list(PUBLIC))[: 1 + self._below(4)]
                rows = [extreme(identity, i // len(keys), sign) | {"g": keys[i % len(keys)]} for i in range(size)]
        if whose.missing == "one_unit" and whose.identity(identity) is None:
            return [row | self._without_identity(whose) for row in rows]
        return rows

    def _without_identity(self, whose: Whose) -> Row:
        """One of the ways to have no id: all such rows are one unit together."""
        if whose.columns == ("id",) or self._chance(0.5):
            return {"id": None, "part": self._any((*PARTS, None))}
        return {"id": self._any(IDS), "part": None}

    def _row(self, identity: Row) -> Row:
        return {
            **identity,
            "g": self._any(PUBLIC) if self._chance(0.7) else self._any(UNKNOWN),
            "h": self._any((0, 1, 2)) if self._chance(0.6) else self._any(WHOLE),
            "x": self._any(REAL) if self._chance(0.8) else self._any(NO_NUMBER),
            "w": self._any((*REAL, *NO_NUMBER)),
            "y": self._any(WHOLE),
            "t": self._any(TEXT),
            "b": self._any((True, False, None)),
            "d": self._any(DATES),
        }

    def _any(self, pool: Sequence[Any]) -> Any:
        return pool[self._below(len(pool))]

    def _below(self, end: int) -> int:
        return int(self._rng.integers(end))

    def _chance(self, probability: float) -> bool:
        return bool(self._rng.random() < probability)


def extreme(identity: Row, number: int, sign: int) -> Row:
    """A row that is worth as much as a row can be: values beyond all bounds, and another public value each time."""
    return {
        **identity,
        "g": "a",
        "h": number % 3,
        "x": sign * LARGE,
        "w": sign * LARGE,
        "y": sign * LARGEST,
        "t": str(sign * 1e90),
        "b": True,
        "d": dt.date(2020, 2, 29),
    }


def arranged(place: Callable[[int, int], Row], sides: tuple[Sequence[int], Sequence[int]]) -> Pair:
    """Neighbours whose moved unit has as many rows of a sign in each group as a vector says, and nothing else."""
    worlds = []
    for name, vector in zip(("p", "q"), sides, strict=True):
        identity = {"id": name, "part": 1}
        worlds.append(
            [
                extreme(identity, number, 1 if rows > 0 else -1) | place(group, number)
                for group, rows in enumerate(vector)
                for number in range(abs(rows))
            ]
        )
    return worlds[0], worlds[1]


def frame_of(rows: World) -> pa.Table:
    """One dataset as a table."""
    return pa.table({name: pa.array([row[name] for row in rows], kind) for name, kind in COLUMNS.items()})


def stack(pairs: Sequence[Pair], first: int = 0) -> pa.Table:
    """All worlds in one table; pair i is worlds 2i and 2i + 1, counted from the first."""
    worlds = [world for pair in pairs for world in pair]
    numbers = np.repeat(np.arange(len(worlds)), [len(world) for world in worlds]) + first
    return frame_of([row for world in worlds for row in world]).append_column("world", pa.array(numbers, pa.int64()))


@functools.cache
def corpus(whose: Whose, how: str, number: int, seed: int) -> pa.Table:
    """A stack of so many pairs of neighbours, written once."""
    return stack(Author(seed).pairs(whose, how, number))


def stacked(question: Pushdown, worlds: int) -> Pushdown:
    """The same question of every world: the world stands before the unit and before the key."""
    world = Read("world", ColumnType.INTEGER)
    rows = tuple((number, *row) for number in range(worlds) for row in question.keys.rows)
    columns = tuple(sorted((*question.scan.columns, world), key=lambda read: read.column))
    unit = ("world", *question.scan.unit) if question.scan.unit else ()
    return replace(
        question,
        scan=replace(question.scan, columns=columns, unit=unit),
        keys=Keys((world, *question.keys.columns), rows),
    )


@contextmanager
def one_world_at_a_time(keys: int) -> Iterator[None]:
    """Keep the world out of the keyed hash, and rows without an id in their own world."""
    owner, keyed = lower.owner, lower.keyed

    def owner_in_a_world(scan: Any, dialect: Dialect) -> tuple[str, ...]:
        return (dialect.quoted("world"), *owner(replace(scan, unit=scan.unit[1:]), dialect))

    def keyed_without_world(columns: Mapping[str, ColumnType], key: int, scan: Any, dialect: Dialect) -> str:
        own = {lower.ORDINAL: f"({lower.ORDINAL} % {keys})"}
        kept = {own.get(name, name): kind for name, kind in columns.items() if name != dialect.quoted("world")}
        return keyed(kept, key, scan, dialect)

    with mock.patch.multiple(lower, owner=owner_in_a_world, keyed=keyed_without_world):
        yield


def answers(question: Pushdown, table: pa.Table, worlds: int, place: Path, opened: Opener) -> list[np.ndarray]:
    """For each measure, the exact table of every world of a stack: an array of Python integers, worlds by keys."""
    engine = opened({question.scan.table: table}, place, key=KEY)
    try:
        with one_world_at_a_time(len(question.keys.rows)):
            exact = engine.run(engine.prepare(stacked(question, worlds)))
    finally:
        engine.close()
    return [np.array(column, dtype=object).reshape(worlds, -1) for column in exact]


def separate_answers(question: Pushdown, worlds: Sequence[World], place: Path, opened: Opener) -> list[np.ndarray]:
    """The same, from a table of its own for each dataset and the question as it is."""
    names = [f"w{i}" for i in range(len(worlds))]
    engine = opened(dict(zip(names, map(frame_of, worlds), strict=True)), place, key=KEY)
    try:
        tables = [
            engine.run(engine.prepare(replace(question, scan=replace(question.scan, table=name)))) for name in names
        ]
    finally:
        engine.close()
    return [np.array([table[i] for table in tables], dtype=object) for i in range(len(question.measures))]
