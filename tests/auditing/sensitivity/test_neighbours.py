"""Neighbours for any table: they differ in what one unit brought, and every kind of hostile cell turns up."""

import datetime as dt
import math
from collections import Counter
from itertools import islice

import numpy as np
import pyarrow as pa
import pytest

from discreet.auditing.sensitivity.neighbours import LARGEST, Author, arrow_table, pairs
from discreet.catalog.catalog import Catalog, ColumnType, Table
from discreet.engines.sources.arrow_types import ARROW_TYPES
from discreet.testing import generator

COLUMNS = {
    "id": {"type": "text"},
    "part": {"type": "integer"},
    "ward": {"type": "text", "keys": ["a", "b", "c"]},
    "age": {"type": "integer", "bounds": [0, 120]},
    "cost": {"type": "real", "bounds": [0, 5000], "grid": "1/100"},
    "ill": {"type": "boolean"},
    "day": {"type": "date"},
    "seen": {"type": "timestamp"},
    "notes": {"type": "document"},
    "scan": {"type": "binary"},
}


def table(**facts: object) -> Table:
    said = {"columns": COLUMNS, "privacy_unit": "id", "max_rows": 3} | facts
    return Catalog.model_validate({"tables": {"t": said}}).table("t")


def rows_of(data: pa.Table) -> Counter:
    return Counter(map(repr, data.to_pylist()))


BY_ROW = {
    "privacy_unit": "dp.ROW",
    "columns": {name: fact for name, fact in COLUMNS.items() if name not in ("notes", "scan")},
}
UNITS = {
    "one column": {},
    "two columns": {"privacy_unit": ["id", "part"]},
    "one unit of the missing": {"privacy_unit": ["id", "part"], "missing_units": "one_unit"},
    "a number": {"privacy_unit": "part"},
    "a day": {"privacy_unit": "day"},
    "a truth": {"privacy_unit": "ill"},
    "a row": BY_ROW,
}


@pytest.mark.parametrize("how", ["add_remove", "replace_one"])
@pytest.mark.parametrize("unit", UNITS)
def test_two_neighbours_differ_in_the_rows_of_one_unit_on_each_side(unit, how):
    facts = table(neighbours=how, **UNITS[unit])
    columns = facts.unit.columns
    for one, other in pairs(facts, 80, generator(1), typed=True):
        only = [rows_of(here) - rows_of(there) for here, there in ((one, other), (other, one))]
        sides = [
            {
                None if any(row[name] is None for name in columns) else tuple(row[name] for name in columns)
                for row in data.to_pylist()
                if repr(row) in moved
            }
            for data, moved in zip((one, other), only, strict=True)
        ]
        if unit == "a row":
            assert all(sum(moved.values()) <= 1 for moved in only)
        else:
            assert all(len(side) <= 1 for side in sides)
        assert how == "replace_one" or not all(only)


def test_tables_have_the_declared_columns_in_their_types_or_as_text():
    facts = table()
    for number, (one, other) in enumerate(pairs(facts, 8, generator(2))):
        assert one.schema == other.schema
        assert one.column_names == list(COLUMNS)
        if number % 4 == 3:
            assert {str(field.type) for field in one.schema if field.name != "scan"} == {"string"}
        else:
            assert [field.type for field in one.schema] == [
                ARROW_TYPES[ColumnType(fact["type"])] for fact in COLUMNS.values()
            ]


def test_the_same_generator_makes_the_same_neighbours():
    made = [[[rows_of(side) for side in pair] for pair in pairs(table(), 20, generator(3))] for _ in range(2)]
    assert made[0] == made[1]


def _cells(facts: Table, count: int) -> dict[str, list[object]]:
    sides = [side for pair in pairs(facts, count, generator(4), typed=True) for side in pair]
    return {name: [cell for side in sides for cell in side[name].to_pylist()] for name in facts.columns}


def test_every_kind_of_hostile_cell_turns_up():
    cells = _cells(table(), 300)
    costs = [cell for cell in cells["cost"] if cell is not None]
    assert any(math.isnan(cell) for cell in costs)
    assert {math.inf, -math.inf, 5e-324, 1.7e308} <= set(costs)
    assert any(math.copysign(1, cell) < 0 for cell in costs if cell == 0)
    assert {0.0, 5000.0, math.nextafter(5000, math.inf), math.nextafter(0, -math.inf), 5000.005} <= set(costs)
    assert {2**53, 2**53 + 1, LARGEST, -LARGEST - 1, 121, -1, None} <= set(cells["age"])
    wards = [cell for cell in cells["ward"] if cell is not None]
    assert {"a", "b", "c", "", "!", "A", "a ", " a", "\u0430"} <= set(wards)
    assert max(map(len, wards)) >= 3_000
    assert {dt.date(1, 1, 1), dt.date(9999, 12, 31)} <= set(cells["day"])
    assert {True, False, None} <= set(cells["ill"])
    assert {None, "p", "P", "é", "e\u0301"} <= set(cells["id"])


def test_every_shape_of_dataset_turns_up():
    made = list(pairs(table(), 300, generator(5), typed=True))
    sizes = [side.num_rows for pair in made for side in pair]
    assert 0 in sizes
    counts = [Counter(side["id"].to_pylist()) for pair in made for side in pair]
    assert max(max(count.values(), default=0) for count in counts) > 3
    assert any(max(rows_of(side).values(), default=0) > 1 for pair in made for side in pair)
    smallest = [[min((w for w in side["ward"].to_pylist() if w is not None), default="") for side in p] for p in made]
    assert any(one != other for one, other in smallest)
    kept = [[row for row in pair[0].to_pylist() if row in pair[1].to_pylist()] for pair in made[:40]]
    again = [[row for row in pair[1].to_pylist() if row in pair[0].to_pylist()] for pair in made[:40]]
    assert any(one != other for one, other in zip(kept, again, strict=True))


def test_values_that_a_question_names_turn_up_often():
    facts = table()
    known = {"age": [37], "ward": ["z"]}
    made = [side for pair in pairs(facts, 50, generator(6), likely=known, typed=True) for side in pair]
    assert sum(side["age"].to_pylist().count(37) for side in made) > 20
    assert sum(side["ward"].to_pylist().count("z") for side in made) > 20


def test_the_ends_of_a_slice_turn_up():
    period = {"of": "all", "column": "day", "start": "2020-01-01", "end": "2021-01-01"}
    days = _cells(table(slice=period), 100)["day"]
    assert {dt.date(2020, 1, 1), dt.date(2021, 1, 1)} <= set(days)


def test_text_holds_what_a_csv_file_would():
    facts = table()
    author = Author(facts, generator(7))
    rows = [row for pair in islice(iter(author.pair, None), 20) for row in pair[0]]
    typed, text = arrow_table(facts, rows), arrow_table(facts, rows, as_text=True)
    for name in ("ward", "id"):
        assert typed[name].to_pylist() == text[name].to_pylist()
    assert [cell if cell is None else int(cell) for cell in text["age"].to_pylist()] == typed["age"].to_pylist()
    read = np.array([math.nan if cell is None else float(cell) for cell in text["cost"].to_pylist()])
    held = np.array([math.nan if cell is None else cell for cell in typed["cost"].to_pylist()])
    assert np.array_equal(read, held, equal_nan=True)
    assert set(text["ill"].to_pylist()) <= {"true", "false", None}
