"""The adversarial neighbours of the lemma test, and engines that see hundreds of them at once.

The neighbours come from discreet.auditing, as anybody's do; what stands here is the table, and how worlds are stacked.

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
import pytest

from discreet.auditing.sensitivity import neighbours
from discreet.auditing.sensitivity.neighbours import LARGE, LARGEST, Row, World
from discreet.catalog.catalog import ColumnType, Table
from discreet.engines.sql import aggregates, contribution_bounding
from discreet.engines.sql.dialect import Dialect
from discreet.plan.physical import Keys, Pushdown, Read
from opened import Opener

KEY = 20_260_131

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
LIKELY = {
    "g": (*PUBLIC, None),
    "h": (0, 1, 2),
    "y": (0, 1, 7, 10),
    "t": ("1", "-3", "2.5", "%a_\\", "é%", "9999-12-31T23:59:59.999999-14:00", "0001-01-01 00:00"),
    "b": (True, False),
    "d": (dt.date(2020, 2, 29),),
}

Pair = tuple[World, World]


@dataclass(frozen=True)
class Whose:
    """Whose rows move between neighbours: the columns of the unit (none means the row), and rows without an id."""

    columns: tuple[str, ...]
    missing: str = "drop"

    def table(self, how: str) -> Table:
        """What a catalog says of the table of the corpus."""
        unit = list(self.columns) or "dp.ROW"
        facts = {"columns": DECLARED, "privacy_unit": unit, "neighbours": how, "missing_units": self.missing}
        return Table.model_validate(facts)


def neighbours_of(whose: Whose, how: str, number: int, seed: int) -> list[Pair]:
    """So many neighbours: one unit added, or one replaced by another; the rest stays as it is."""
    author = neighbours.Author(whose.table(how), np.random.default_rng(seed), LIKELY)
    return [author.pair() for _ in range(number)]


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


def once_per_bound(each: Sequence[Any]) -> list[Any]:
    """The first case of each contribution bounds and relation for the full tier; the others are nightly."""
    met, marked = set(), []
    for param in each:
        case, how = param.values
        grouping = case.query.plan.grouping
        bounds = (case.whose, repr(case.facts), how, type(grouping), bool(getattr(grouping, "columns", ())))
        marked.append(pytest.param(case, how, id=param.id, marks=pytest.mark.nightly if bounds in met else ()))
        met.add(bounds)
    return marked


def frame_of(rows: World) -> pa.Table:
    """One dataset as a table."""
    return neighbours.arrow_table(Whose(()).table("add_remove"), rows)


def stack(made: Sequence[Pair], first: int = 0) -> pa.Table:
    """All worlds in one table; pair i is worlds 2i and 2i + 1, counted from the first."""
    worlds = [world for pair in made for world in pair]
    numbers = np.repeat(np.arange(len(worlds)), [len(world) for world in worlds]) + first
    return frame_of([row for world in worlds for row in world]).append_column("world", pa.array(numbers, pa.int64()))


@functools.cache
def corpus(whose: Whose, how: str, number: int, seed: int) -> pa.Table:
    """A stack of so many pairs of neighbours, written once."""
    return stack(neighbours_of(whose, how, number, seed))


def stacked(question: Pushdown, worlds: int) -> Pushdown:
    """The same question of every world: the world stands before the unit and before the key."""
    world = Read("world", ColumnType.INTEGER)
    rows = tuple((number, *row) for number in range(worlds) for row in question.keys.rows)
    columns = tuple(sorted((*question.scan.columns, world), key=lambda read: read.column))
    unit = ("world", *question.scan.unit) if question.scan.unit else ()
    return replace(
        question,
        scan=replace(question.scan, columns=columns, unit=unit),
        keys=Keys((world, *question.keys.columns), rows, question.keys.inner),
    )


@contextmanager
def one_world_at_a_time(keys: int, groups: int = 1) -> Iterator[None]:
    """Keep the world out of the keyed hash, and rows without an id in their own world."""
    owner, keyed = contribution_bounding.owner, contribution_bounding.keyed_hash

    def owner_in_a_world(scan: Any, dialect: Dialect) -> tuple[str, ...]:
        return (dialect.identifier("world"), *owner(replace(scan, unit=scan.unit[1:]), dialect))

    def keyed_without_world(columns: Mapping[str, ColumnType], key: int, scan: Any, dialect: Dialect) -> str:
        own = {
            aggregates.ORDINAL: f"({aggregates.ORDINAL} % {keys})",
            aggregates.WHOLE: f"({aggregates.WHOLE} % {groups})",
        }
        kept = {own.get(name, name): kind for name, kind in columns.items() if name != dialect.identifier("world")}
        return keyed(kept, key, scan, dialect)

    with mock.patch.multiple(contribution_bounding, owner=owner_in_a_world, keyed_hash=keyed_without_world):
        yield


def answers(question: Pushdown, table: pa.Table, worlds: int, place: Path, opened: Opener) -> list[np.ndarray]:
    """For each measure, the exact table of every world of a stack: an array of Python integers, worlds by keys."""
    engine = opened({question.scan.table: table}, place, key=KEY)
    try:
        with one_world_at_a_time(len(question.keys.rows), max(question.keys.groups) + 1):
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
