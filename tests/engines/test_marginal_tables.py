"""Marginals of ugly cells are the same integers on every engine, and those of a brute-force count in Python."""

import datetime as dt
import math
from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from discreet.catalog.catalog import ColumnType
from discreet.catalog.privacy_unit import Caps
from discreet.engines import RegisteredSource, Workspace, engine_of, source_of
from discreet.errors import ParameterError, UnsupportedError
from discreet.plan.physical import Apply, Constant, CountRows, Keys, MissingUnits, Pushdown, Read, Scan
from discreet.plan.slots import MarginalBatch, SlotColumn, SlotTerm, UnitColumns, UnitRule
from opened import ENGINES, KEY, opener

DAY, TIME = dt.date, dt.datetime.fromisoformat
LONG = tuple(f"town {i}" for i in range(200))
COLUMNS = (
    SlotColumn("whole", ColumnType.INTEGER, edges=(-3, 0, 10, 20)),
    SlotColumn("real", ColumnType.REAL, edges=(-1.5, 0.0, 0.1, 2.5)),
    SlotColumn("text", ColumnType.TEXT, values=("a", "", "it's", "é", " a")),
    SlotColumn("truth", ColumnType.BOOLEAN, values=(False, True)),
    SlotColumn("day", ColumnType.DATE, edges=(DAY(2024, 1, 1), DAY(2024, 2, 1), DAY(2024, 3, 1))),
    SlotColumn("time", ColumnType.TIMESTAMP, edges=tuple(TIME(f"2024-01-01 {hour}:00") for hour in ("00", "08", "16"))),
    SlotColumn("code", ColumnType.INTEGER, values=(7, -1, 3)),
    SlotColumn("town", ColumnType.TEXT, values=LONG),
    SlotColumn("one", ColumnType.REAL, edges=(0.0, 1.0)),
)  # fmt: skip
SLOTS = {column.name: column for column in COLUMNS}
CELLS = {
    "whole": (None, -(2**63), -4, -3, -1, 0, 9, 10, 19, 20, 2**63 - 1),
    "real": (None, math.nan, math.inf, -math.inf, -0.0, 0.0, 0.1, 0.1 + 0.2, 2.5, -1e300, 1e-320, 1e140),
    "text": (None, "", "a", "A", " a", "a ", "it's", "é", "e\u0301", "NULL", "nan"),
    "truth": (None, True, False),
    "day": (None, DAY(2023, 12, 31), DAY(2024, 1, 31), DAY(2024, 2, 1), DAY(9999, 12, 31), DAY(1, 1, 1)),
    "time": (None, TIME("2024-01-01 07:59:59.999999"), TIME("2024-01-01 08:00:00"), TIME("1969-12-31 23:59:59")),
    "code": (None, 7, 3, 4, -1),
    "town": (None, "town 0", "town 199", "town 200", "Town 1", "town 64"),
    "one": (None, -5.0, 0.5, 1.0, math.inf),
}
TYPES = {
    "whole": pa.int64(), "real": pa.float64(), "text": pa.string(), "truth": pa.bool_(), "day": pa.date32(),
    "time": pa.timestamp("us"), "code": pa.int64(), "town": pa.string(), "one": pa.float64(),
}  # fmt: skip
MARGINALS = (
    *((name,) for name in SLOTS),
    ("whole", "real"), ("text", "truth"), ("day", "time", "code"), ("whole", "town", "one"),
)  # fmt: skip
ROWS = [
    tuple(cells[(turn * 7 + place) % len(cells)] for place, cells in enumerate(CELLS.values())) for turn in range(150)
]


def slot(column, cell):
    """The rules of slots, once more."""
    if cell is None or (isinstance(cell, float) and not abs(cell) < 1e150):
        return column.missing
    if column.edges:
        return min(max(sum(edge <= cell for edge in column.edges) - 1, 0), column.missing - 1)
    return column.values.index(cell) if cell in column.values else column.missing


def brute_force(rows, marginal):
    places = [list(SLOTS).index(name) for name in marginal]
    found = Counter(tuple(slot(COLUMNS[place], row[place]) for place in places) for row in rows)
    counts = np.zeros([SLOTS[name].size for name in marginal], dtype=np.int64)
    for cell, number in found.items():
        counts[cell] = number
    return counts


def batch_of(marginals=MARGINALS, *, columns=COLUMNS, unit=(), max_rows=None, predicate=None):
    terms = tuple(SlotTerm(column, Read(column.name, column.type)) for column in columns)
    owners = tuple(Read(name, ColumnType.TEXT) for name in unit)
    reads = tuple(sorted((*owners, *(each.term for each in terms)), key=lambda read: read.column))
    scan = Scan("t", 1, reads, unit, MissingUnits.DROP, max_rows, portable=True)
    return MarginalBatch(Pushdown(scan, predicate, Keys(), Caps(), (CountRows(),)), terms, tuple(marginals))


def table_of(rows, **more):
    columns = zip(*rows, strict=True)
    found = {name: pa.array(cells, kind) for (name, kind), cells in zip(TYPES.items(), columns, strict=True)}
    return pa.table(found | more)


@pytest.mark.parametrize("kind", ENGINES)
def test_marginals_of_ugly_cells_are_those_of_a_brute_force_count(kind, request, tmp_path):
    engine = opener(kind, request)({"t": table_of(ROWS)}, tmp_path)
    try:
        found = engine.marginals(engine.prepare_marginals(batch_of()))
        assert list(found) == list(MARGINALS)
        for marginal, counts in found.items():
            assert counts.dtype == np.int64
            assert counts.tolist() == brute_force(ROWS, marginal).tolist(), marginal
    finally:
        engine.close()


@pytest.mark.parametrize("kind", ENGINES)
def test_a_unit_has_at_most_so_many_rows_and_conditions_come_after_that(kind, request, tmp_path):
    people = [None if i % 11 == 0 else f"p{i % 13}" for i in range(len(ROWS))]
    rows = table_of(ROWS, person=pa.array(people, pa.string()))
    condition = Apply("ge", (Read("whole", ColumnType.INTEGER), Constant(0, ColumnType.INTEGER)), ColumnType.BOOLEAN)
    engine = opener(kind, request)({"t": rows}, tmp_path)
    try:
        batch = batch_of([("truth",), ("text", "truth")], unit=("person",), max_rows=3)
        found = engine.marginals(engine.prepare_marginals(batch))
        assert {int(counts.sum()) for counts in found.values()} == {13 * 3}
        again = engine.marginals(engine.prepare_marginals(batch))
        assert all(np.array_equal(found[marginal], again[marginal]) for marginal in found)
        bounded = batch_of([("whole",)], unit=("person",), max_rows=3, predicate=condition)
        counts = engine.marginals(engine.prepare_marginals(bounded))[("whole",)]
        assert 0 < counts.sum() < 13 * 3
        assert counts[0] == counts[-1] == 0
    finally:
        engine.close()


def test_rows_of_a_unit_are_the_same_on_every_engine(request, tmp_path):
    people = [f"p{i % 13}" for i in range(len(ROWS))]
    rows = table_of(ROWS, person=pa.array(people, pa.string()))
    batch = batch_of(unit=("person",), max_rows=3)
    found = {}
    for kind in ENGINES:
        engine = opener(kind, request)({"t": rows}, tmp_path)
        try:
            found[kind] = engine.marginals(engine.prepare_marginals(batch))
        finally:
            engine.close()
    for kind in ENGINES[1:]:
        for marginal in MARGINALS:
            assert np.array_equal(found[kind][marginal], found["duckdb"][marginal]), (kind, marginal)


def test_texts_of_an_inferred_table_are_in_the_slots_of_their_declared_values(tmp_path):
    frame = pa.table({"text": pa.array(["01", "1.0", "Yes", "b", None, "NA", ""], pa.string())})
    source = source_of(frame).with_declared_types({"text": ColumnType.TEXT})
    engine = engine_of(source)({"t": RegisteredSource(source, KEY)}, Workspace(tmp_path))

    def count(*values):
        batch = batch_of([("text",)], columns=(SlotColumn("text", ColumnType.TEXT, values=values),))
        return engine.marginals(engine.prepare_marginals(batch))[("text",)].tolist()

    try:
        assert count("001", "b") == [3, 1, 3]
        with pytest.raises(ParameterError, match="missing"):
            count("1", "NA")
        with pytest.raises(ParameterError, match="one form"):
            count("1", "yes")
    finally:
        engine.close()


@pytest.mark.parametrize(
    "column",
    [
        SlotColumn("whole", ColumnType.INTEGER, edges=(0, 1.5, 3)),
        SlotColumn("whole", ColumnType.INTEGER, edges=(0, 3, 3)),
        SlotColumn("whole", ColumnType.INTEGER, edges=(0,)),
        SlotColumn("whole", ColumnType.INTEGER, values=(1, 1)),
        SlotColumn("whole", ColumnType.INTEGER, values=("1",)),
        SlotColumn("whole", ColumnType.INTEGER),
        SlotColumn("truth", ColumnType.BOOLEAN, edges=(False, True)),
    ],
    ids=str,
)
def test_slots_of_another_type_than_their_column_are_refused_before_a_row_is_read(column, request, tmp_path):
    engine = opener("duckdb", request)({"t": table_of(ROWS)}, tmp_path)
    try:
        with pytest.raises(ParameterError, match="edges increase"):
            engine.prepare_marginals(batch_of([(column.name,)], columns=(column,)))
    finally:
        engine.close()


def test_too_many_cells_are_refused_before_a_row_is_read(request, tmp_path):
    wide = tuple(
        SlotColumn(name, ColumnType.INTEGER, edges=tuple(range(size)))
        for name, size in [("whole", 3_000), ("code", 2_000)]
    )
    engine = opener("duckdb", request)({"t": table_of(ROWS)}, tmp_path)
    try:
        with pytest.raises(UnsupportedError, match="6,000,000 cells"):
            engine.prepare_marginals(batch_of([("whole", "code")], columns=wide))
        fine = SlotColumn("whole", ColumnType.INTEGER, edges=tuple(range(2_000)))
        with pytest.raises(UnsupportedError, match="in all"):
            engine.prepare_marginals(batch_of([("whole", "code")] * 17, columns=(fine, wide[1])))
    finally:
        engine.close()


def test_the_table_of_codes_is_dropped_when_the_counts_are_there(request, tmp_path):
    engine = opener("duckdb", request)({"t": table_of(ROWS)}, tmp_path)
    try:
        engine.marginals(engine.prepare_marginals(batch_of()))
        with engine._use_connection() as cursor:
            names = [name for (name,) in cursor.execute("SELECT table_name FROM duckdb_tables()").fetchall()]
        assert not [name for name in names if "codes" in name]
    finally:
        engine.close()


NUMBERED = SlotColumn("turn", ColumnType.INTEGER, values=tuple(range(len(ROWS))))
RULES = {
    "whole": "min",
    "real": "max",
    "text": "max",
    "town": "min",
    "day": "max",
    "one": "max",
}
OF_UNITS = (("rows",), ("text",), ("whole", "real"), ("rows", "town"), ("day",), ("one", "text"))
OF_ROWS = (
    ("turn",),
    ("code",),
    ("rows", "truth"),
    ("text", "code"),
    ("whole", "truth"),
    ("town", "time"),
    ("one", "code"),
)
OWNERS = {
    "person": [
        None if i % 17 == 0 else ["p", "P", "p ", "", "é", "e\u0301"][i % 6] + str(i % 5) for i in range(len(ROWS))
    ],
    "house": [None if i % 19 == 0 else f"h{i % 3}" for i in range(len(ROWS))],
}


def unit_batch(unit, missing, max_rows):
    """Marginals of units and of rows, where the turn of a row tells which rows count."""
    numbers = SlotColumn("rows", ColumnType.INTEGER, values=tuple(range(1, max_rows + 1)))
    batch = batch_of((*OF_UNITS, *OF_ROWS), columns=(*COLUMNS, NUMBERED), unit=unit, max_rows=max_rows)
    rules = tuple((name, UnitRule(rule)) for name, rule in RULES.items())
    scan = replace(batch.pushdown.scan, missing_units=missing)
    return replace(batch, pushdown=replace(batch.pushdown, scan=scan), units=UnitColumns(numbers, rules))


def units_of(unit, missing, turns):
    """The rows of each unit among some; rows without a whole unit are nobody's, or those of one."""
    found = defaultdict(list)
    for turn in turns:
        owner = tuple(OWNERS[name][turn] for name in unit)
        if None not in owner:
            found[owner].append(turn)
        elif missing is MissingUnits.ONE_UNIT:
            found[None].append(turn)
    return found


def unit_slot(name, turns):
    slots = [slot(SLOTS[name], ROWS[turn][list(SLOTS).index(name)]) for turn in turns]
    declared = [each for each in slots if each != SLOTS[name].missing]
    if not declared:
        return SLOTS[name].missing
    return min(declared) if RULES[name] == "min" else max(declared)


def unit_brute_force(marginal, units, batch):
    """The counts of a marginal, unit by unit and row by row."""
    found = Counter()
    for turns in units.values():
        for turn in turns[:1] if batch.units.covers(marginal) else turns:
            own = {name: unit_slot(name, turns) for name in RULES} | {"rows": len(turns) - 1, "turn": turn}
            row = {name: slot(SLOTS[name], ROWS[turn][place]) for place, name in enumerate(SLOTS)}
            found[tuple((row | own)[name] for name in marginal)] += 1
    counts = np.zeros(batch.shape(marginal), dtype=np.int64)
    for cell, number in found.items():
        counts[cell] = number
    return counts


@pytest.mark.pitfall("A16")
@pytest.mark.parametrize("missing", MissingUnits)
@pytest.mark.parametrize(("unit", "max_rows"), [(("person",), 3), (("person", "house"), 2), (("house",), 90)])
@pytest.mark.parametrize("kind", ENGINES)
def test_marginals_of_units_and_of_their_rows_are_those_of_a_brute_force_count(
    kind, unit, max_rows, missing, request, tmp_path
):
    owners = {name: pa.array(OWNERS[name], pa.string()) for name in OWNERS}
    engine = opener(kind, request)({"t": table_of(ROWS, turn=pa.array(range(len(ROWS))), **owners)}, tmp_path)
    batch = unit_batch(unit, missing, max_rows)
    try:
        found = engine.marginals(engine.prepare_marginals(batch))
    finally:
        engine.close()
    turns = np.flatnonzero(found["turn",]).tolist()
    units, everybody = units_of(unit, missing, turns), units_of(unit, missing, range(len(ROWS)))
    assert {name: len(own) for name, own in units.items()} == {
        name: min(len(own), max_rows) for name, own in everybody.items()
    }
    for marginal, counts in found.items():
        assert counts.tolist() == unit_brute_force(marginal, units, batch).tolist(), marginal


@pytest.mark.parametrize("kind", ENGINES)
def test_a_unit_without_a_row_that_meets_a_condition_is_not_counted(kind, request, tmp_path):
    owners = {name: pa.array(OWNERS[name], pa.string()) for name in OWNERS}
    engine = opener(kind, request)({"t": table_of(ROWS, turn=pa.array(range(len(ROWS))), **owners)}, tmp_path)
    batch = unit_batch(("person",), MissingUnits.DROP, 3)
    condition = Apply("lt", (Read("turn", ColumnType.INTEGER), Constant(20, ColumnType.INTEGER)), ColumnType.BOOLEAN)
    batch = replace(batch, pushdown=replace(batch.pushdown, predicate=condition))
    try:
        found = engine.marginals(engine.prepare_marginals(batch))
    finally:
        engine.close()
    turns = np.flatnonzero(found["turn",]).tolist()
    assert turns
    assert max(turns) < 20
    for marginal, counts in found.items():
        expected = unit_brute_force(marginal, units_of(("person",), MissingUnits.DROP, turns), batch)
        assert counts.tolist() == expected.tolist(), marginal


def test_columns_of_units_that_nothing_names_are_refused_before_a_row_is_read(request, tmp_path):
    engine = opener("duckdb", request)({"t": table_of(ROWS, turn=pa.array(range(len(ROWS))))}, tmp_path)
    batch = unit_batch((), MissingUnits.DROP, 3)
    named = unit_batch(("person",), MissingUnits.DROP, 3)
    numbers = SlotColumn("rows", ColumnType.INTEGER, values=(2, 1))
    unknown = replace(named, units=replace(named.units, rules=(("nobody", UnitRule.MIN),)))
    try:
        for wrong in (batch, unknown, replace(named, units=replace(named.units, number=numbers))):
            with pytest.raises(ParameterError, match="columns of units"):
                engine.prepare_marginals(wrong)
    finally:
        engine.close()
