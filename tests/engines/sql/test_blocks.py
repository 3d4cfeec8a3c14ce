"""Blocks of whole units: what is in one, and in which order, depends on the units in it and on nobody else."""

import contextlib
import datetime as dt
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.catalog.catalog import ColumnType
from discreet.catalog.privacy_unit import Caps
from discreet.engines import Engine
from discreet.engines.sources.workspace import Workspace
from discreet.engines.sql.blocks import DIGEST, LARGEST_BLOCK, LONG_NAME, Spool, sort_and_shuffle, split_of
from discreet.errors import ParameterError, SourceError, TypeMismatchError
from discreet.plan.physical import Apply, Constant, CountRows, Keys, MissingUnits, Pushdown, Read, Scan
from discreet.planner.queries.model import LONGEST_OWNER
from opened import ENGINES, opener

BLOCKS = 16
TYPES = {
    "unit": ColumnType.INTEGER,
    "age": ColumnType.INTEGER,
    "cost": ColumnType.REAL,
    "ward": ColumnType.TEXT,
    "seen": ColumnType.BOOLEAN,
    "born": ColumnType.DATE,
    "came": ColumnType.TIMESTAMP,
}
Opened = Callable[..., Engine]


def visits(units: int = 60, rows: int = 3) -> pa.Table:
    """A few rows of each unit with every kind of column, and a missing cell now and then."""
    number = list(range(units * rows))
    start = dt.datetime(2026, 1, 1, 8, 30, 0, 250_000)  # noqa: DTZ001 - times without a zone
    return pa.table(
        {
            "unit": pa.array([i % units for i in number], pa.int64()),
            "age": pa.array([None if i % 17 == 0 else i * 7 % 90 for i in number], pa.int64()),
            "cost": pa.array([i * 0.37 - 5 for i in number], pa.float64()),
            "ward": pa.array([None if i % 11 == 0 else f"ward é {i % 4}" for i in number], pa.string()),
            "seen": pa.array([None if i % 13 == 0 else i % 3 == 0 for i in number], pa.bool_()),
            "born": pa.array([dt.date(1960, 1, 1) + dt.timedelta(days=i * 100) for i in number], pa.date32()),
            "came": pa.array([start + dt.timedelta(seconds=i) for i in number], pa.timestamp("us")),
        }
    )


def scan_of(columns: tuple[str, ...], unit: tuple[str, ...] = ("unit",), **facts: Any) -> Scan:
    reads = tuple(Read(name, TYPES[name]) for name in sorted({*columns, *unit}))
    given = {"missing_units": MissingUnits.DROP, "max_rows": 10} | facts
    return Scan("t", 1, reads, unit, **given)


def asked(scan: Scan, predicate: Any = None) -> Pushdown:
    return Pushdown(scan, predicate, Keys(), Caps(), (CountRows(),))


def split(
    engine: Engine, columns: tuple[str, ...], number: int = BLOCKS, predicate: Any = None, **facts: Any
) -> list[pa.Table]:
    """The blocks of some columns, by number."""
    named = {name: Read(name, TYPES[name]) for name in columns}
    prepared = engine.prepare_blocks(asked(scan_of(columns, **facts), predicate), named, number)
    blocks = list(engine.blocks(prepared))
    assert [index for index, _ in blocks] == list(range(number))
    return [table for _, table in blocks]


def changed(one: list[pa.Table], other: list[pa.Table]) -> list[int]:
    """The blocks that differ, in their rows or in the order of them."""
    return [i for i, (a, b) in enumerate(zip(one, other, strict=True)) if not a.equals(b)]


def _opened(kind: str, request: pytest.FixtureRequest, place: Path) -> Iterator[Opened]:
    kept: list[Engine] = []

    def engine(data: Any) -> Engine:
        kept.append(opener(kind, request)({"t": data}, place))
        return kept[-1]

    yield engine
    for each in kept:
        each.close()


@pytest.fixture(params=[pytest.param(kind, marks=pytest.mark.full if kind == "spark" else ()) for kind in ENGINES])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opened]:
    """Engines of each kind over table `t`, closed at the end."""
    yield from _opened(request.param, request, tmp_path)


@pytest.fixture
def duckdb(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opened]:
    """The engine that is always there."""
    yield from _opened("duckdb", request, tmp_path)


# what is in a block


def test_no_unit_is_in_two_blocks_and_every_row_is_in_one_with_its_declared_type(opened):
    rows = visits()
    blocks = split(opened(rows), tuple(TYPES))
    units = [set(block["unit"].to_pylist()) for block in blocks]
    assert sum(len(each) for each in units) == len(set().union(*units)) == 60
    together = pa.concat_tables(blocks)
    assert [str(field.type) for field in together.schema] == [
        "int64", "int64", "double", "large_string", "bool", "date32[day]", "timestamp[us]",
    ]  # fmt: skip
    by = [("unit", "ascending"), ("came", "ascending")]
    assert together.sort_by(by).to_pylist() == rows.sort_by(by).to_pylist()
    assert len([block for block in blocks if block.num_rows]) > BLOCKS // 2


def test_a_block_without_units_is_there_and_empty(opened):
    blocks = split(opened(visits(units=2)), ("age", "ward"), number=40)
    assert sum(block.num_rows == 0 for block in blocks) >= 38
    assert {block.schema for block in blocks} == {blocks[0].schema}


def test_an_empty_table_gives_empty_blocks(opened):
    assert [block.num_rows for block in split(opened(visits().slice(0, 0)), ("age",), number=3)] == [0, 0, 0]


@pytest.mark.guarantee("mechanisms.sampled.steps")
def test_taking_one_unit_away_changes_its_own_block_and_no_other(opened):
    rows = visits()
    columns = ("age", "cost", "ward")
    before = split(opened(rows), columns)
    for gone in (0, 7):
        mask = pa.array([unit != gone for unit in rows["unit"].to_pylist()])
        after = split(opened(rows.filter(mask)), columns)
        (place,) = changed(before, after)
        assert before[place].num_rows == after[place].num_rows + 3


@pytest.mark.guarantee("mechanisms.sampled.steps")
def test_putting_another_unit_in_the_place_of_one_changes_at_most_two_blocks(duckdb):
    rows = visits()
    before = split(duckdb(rows), ("age", "cost"))
    touched = set()
    for other in range(100, 130):
        units = pa.array([other if unit == 7 else unit for unit in rows["unit"].to_pylist()], pa.int64())
        touched.add(len(changed(before, split(duckdb(rows.set_column(0, "unit", units)), ("age", "cost")))))
    assert max(touched) == 2


@pytest.mark.pitfall("A15")
def test_the_order_of_the_source_does_not_show_in_a_block(opened):
    rows = visits()
    shuffled = rows.take(np.random.default_rng(3).permutation(rows.num_rows))
    columns = ("age", "cost", "seen")
    assert changed(split(opened(rows), columns), split(opened(shuffled), columns)) == []


def test_rows_beyond_the_cap_of_a_unit_are_left_out_as_they_are_of_a_query(opened):
    engine = opened(visits(units=20, rows=6))
    blocks = split(engine, ("cost", "unit"), max_rows=2)
    for block in blocks:
        assert all(block["unit"].to_pylist().count(unit) == 2 for unit in block["unit"].to_pylist())
    assert (
        sum(block.num_rows for block in blocks)
        == engine.run(engine.prepare(asked(scan_of(("cost",), max_rows=2))))[0][0]
    )


def test_a_predicate_keeps_rows_out_and_moves_nobody(opened):
    engine = opened(visits())
    over = Apply("gt", (Read("cost", ColumnType.REAL), Constant(30.0, ColumnType.REAL)), ColumnType.BOOLEAN)
    everyone, some = split(engine, ("cost",)), split(engine, ("cost",), predicate=over)
    assert [sum(value > 30 for value in block["cost"].to_pylist()) for block in everyone] == [
        block.num_rows for block in some
    ]


def test_columns_may_be_computed(duckdb):
    engine = duckdb(visits())
    double = Apply("multiply", (Read("cost", ColumnType.REAL), Constant(2.0, ColumnType.REAL)), ColumnType.REAL)
    prepared = engine.prepare_blocks(asked(scan_of(("cost",))), {"twice": double}, 2)
    totals = [sum(table["twice"].to_pylist()) for _, table in engine.blocks(prepared)]
    assert sum(totals) == pytest.approx(2 * sum(visits()["cost"].to_pylist()))


@pytest.mark.pitfall("A16")
def test_rows_without_a_unit_are_dropped_or_are_one_unit(opened):
    units = pa.array([None if i % 5 == 0 else i % 60 for i in range(180)], pa.int64())
    engine = opened(visits().set_column(0, "unit", units))
    dropped = split(engine, ("cost", "unit"))
    assert sum(block.num_rows for block in dropped) == 144
    kept = split(engine, ("cost", "unit"), missing_units=MissingUnits.ONE_UNIT)
    holding = [block for block in kept if None in block["unit"].to_pylist()]
    assert len(holding) == 1
    assert holding[0]["unit"].to_pylist().count(None) == 10  # as many as any unit may have


def test_a_unit_of_two_columns_is_one_unit_and_missing_ones_stay_together(opened):
    rows = visits().drop_columns(["seen"])
    wards = pa.array([None if i % 7 == 0 else f"w{i % 3}" for i in range(180)], pa.string())
    engine = opened(rows.set_column(3, "ward", wards))
    facts = {"unit": ("unit", "ward"), "missing_units": MissingUnits.ONE_UNIT, "max_rows": 100}
    blocks = split(engine, ("unit", "ward", "cost"), **facts)
    named = [
        {(row["unit"], row["ward"]) if row["ward"] is not None else None for row in block.to_pylist()}
        for block in blocks
    ]
    assert sum(len(each) for each in named) == len(set().union(*named))


# where each row is a unit


def test_equal_rows_that_are_units_of_their_own_spread_over_the_blocks(opened):
    rows = pa.table({"age": pa.array([40] * 400 + [None] * 100, pa.int64())})
    blocks = split(opened(rows), ("age",), unit=(), max_rows=None)
    sizes = [block.num_rows for block in blocks]
    assert sum(sizes) == 500
    assert max(sizes) < 80
    assert min(sizes) > 5


@pytest.mark.guarantee("mechanisms.sampled.steps")
def test_taking_one_of_equal_rows_away_changes_one_block(opened):
    ages = [40] * 200 + list(range(50)) + [None] * 50
    before = split(opened(pa.table({"age": pa.array(ages, pa.int64())})), ("age",), unit=(), max_rows=None)
    for gone in (0, 230, 299):
        left = ages[:gone] + ages[gone + 1 :]
        after = split(opened(pa.table({"age": pa.array(left, pa.int64())})), ("age",), unit=(), max_rows=None)
        (place,) = changed(before, after)
        assert before[place].num_rows == after[place].num_rows + 1


# the same blocks everywhere


def test_portable_blocks_are_the_same_on_every_engine(request, tmp_path):
    rows, found = visits(), {}
    for kind in ("duckdb", "postgres", "sqlite"):
        with contextlib.closing(opener(kind, request)({"t": rows}, tmp_path)) as engine:
            found[kind] = split(engine, tuple(TYPES), portable=True, max_rows=2)
    assert changed(found["duckdb"], found["postgres"]) == changed(found["duckdb"], found["sqlite"]) == []


@pytest.mark.full
def test_portable_blocks_are_the_same_on_spark(request, tmp_path):
    rows, found = visits(), {}
    for kind in ("duckdb", "spark"):
        with contextlib.closing(opener(kind, request)({"t": rows}, tmp_path)) as engine:
            found[kind] = split(engine, tuple(TYPES), portable=True, max_rows=2)
    assert changed(found["duckdb"], found["spark"]) == []


# what is read, and when; what is left behind


def test_prepare_reads_no_row_and_a_source_that_is_gone_raises_when_blocks_are_made(duckdb, tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(visits(), path)
    engine = duckdb(path)
    path.unlink()
    prepared = engine.prepare_blocks(asked(scan_of(("age",))), {"age": Read("age", ColumnType.INTEGER)}, 4)
    with pytest.raises(Exception):  # noqa: B017 - whatever the driver raises
        next(engine.blocks(prepared))


def test_a_column_that_the_source_does_not_have_is_refused(opened):
    engine = opened(pa.table({"unit": [1], "age": [40]}))
    with pytest.raises(SourceError, match="'cost' of 't'"):
        engine.prepare_blocks(asked(scan_of(("cost",))), {"cost": Read("cost", ColumnType.REAL)}, 4)


@pytest.mark.parametrize("number", [0, -1, 2.0, True, 100_001])
def test_a_number_of_blocks_that_is_none_is_refused(number):
    with pytest.raises(ParameterError, match="blocks"):
        split_of({"age": Read("age", ColumnType.INTEGER)}, number)


def test_blocks_without_columns_or_with_documents_are_refused():
    for columns in ({}, {"one": Constant(1, ColumnType.INTEGER)}):
        with pytest.raises(ParameterError, match="without columns"):
            split_of(columns, 4)
    with pytest.raises(TypeMismatchError, match="'notes' of type document"):
        split_of({"notes": Read("notes", ColumnType.DOCUMENT)}, 4)


def test_a_column_that_the_scan_does_not_read_is_an_error_before_anything_is_read(duckdb):
    double = Apply("not", (Read("seen", ColumnType.BOOLEAN),), ColumnType.BOOLEAN)
    with pytest.raises(RuntimeError, match="does not read"):
        duckdb(visits()).prepare_blocks(asked(scan_of(("age",))), {"unseen": double}, 4)


def test_rows_in_blocks_are_kept_in_the_private_workspace_and_deleted(duckdb, tmp_path):
    engine = duckdb(visits())
    prepared = engine.prepare_blocks(asked(scan_of(("age",))), {"age": Read("age", ColumnType.INTEGER)}, 4)
    blocks = engine.blocks(prepared)
    next(blocks)
    (kept,) = tmp_path.rglob("blocks-*")
    assert kept.parent.stat().st_mode & 0o777 == 0o700
    blocks.close()
    assert list(tmp_path.rglob("blocks-*")) == []
    assert len(list(engine.blocks(prepared))) == 4
    assert list(tmp_path.rglob("blocks-*")) == []


def test_a_block_stays_readable_when_the_file_is_gone(duckdb):
    blocks = split(duckdb(visits()), ("cost",), number=2)
    assert sum(sum(block["cost"].to_pylist()) for block in blocks) == pytest.approx(sum(visits()["cost"].to_pylist()))


def test_a_block_that_is_too_large_is_told_and_changes_no_other(duckdb):
    heavy = pa.table({"unit": pa.array([7] * 5_000, pa.int64()), "cost": pa.array([1.5] * 5_000)})
    rows = visits().select(["unit", "cost"])
    engine = duckdb(pa.concat_tables([rows, heavy]))
    named = {"cost": Read("cost", ColumnType.REAL)}
    prepared = engine.prepare_blocks(asked(scan_of(("cost",), max_rows=100_000)), named, BLOCKS)
    bounded = [table for _, table in engine.blocks(prepared, largest=20_000)]
    whole = [table for _, table in engine.blocks(prepared, largest=LARGEST_BLOCK)]
    (place,) = [i for i, table in enumerate(bounded) if table is None]
    assert whole[place].num_rows > 5_000
    assert all(a is None or a.equals(b) for a, b in zip(bounded, whole, strict=True))


def test_long_texts_are_missing_and_long_names_of_people_are_digests_that_are_no_other_name():
    texts = {name: Read(name, ColumnType.TEXT) for name in ("unit", "sex")}
    of = replace(split_of(texts, 1), longest=(("sex", 3),), owners=("unit",))
    names = ["a", "z" * LONG_NAME, "z" * (LONG_NAME + 1), "z" * 5_000, "z" * 5_000, None]
    cells = [pa.array([0] * 6, pa.int32()), pa.array(names, pa.large_string())]
    sexes = pa.array(["F", None, "abc", "abcd", "\u00e9\u00e9", ""], pa.large_string())
    short = of.shorten(pa.record_batch([*cells, sexes], schema=of.stream_schema))
    assert short.column(2).to_pylist() == ["F", None, "abc", None, None, ""]
    found = short.column(1).to_pylist()
    assert found[:2] == names[:2]
    assert [len(name) for name in found[2:5]] == [DIGEST] * 3 == [LONGEST_OWNER] * 3
    assert DIGEST > LONG_NAME
    assert found[2] != found[3] == found[4]
    assert found[5] is None


def test_rows_of_a_block_in_two_places_are_an_error(tmp_path):
    of = split_of({"age": Read("age", ColumnType.INTEGER)}, 4)
    batch = pa.record_batch([pa.array([0, 1, 0], pa.int32()), pa.array([1, 2, 3], pa.int64())], schema=of.stream_schema)
    workspace = Workspace(tmp_path)
    with Spool(of, workspace.path) as spool, pytest.raises(RuntimeError, match="two places"):
        spool.add(batch)
    workspace.close()


# the order within a block


def test_the_order_of_rows_depends_on_the_rows_alone_and_is_not_sorted():
    rows = visits().drop_columns(["unit"])
    orders = [np.random.default_rng(i).permutation(rows.num_rows) for i in range(5)]
    found = [sort_and_shuffle(rows.take(order)) for order in orders]
    assert all(each.equals(found[0]) for each in found)
    costs = found[0]["cost"].to_pylist()
    assert sorted(costs) == sorted(rows["cost"].to_pylist())
    assert costs != sorted(costs)
    assert abs(np.corrcoef(np.arange(len(costs)), costs)[0, 1]) < 0.5
