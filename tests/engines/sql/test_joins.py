"""The SQL of joined relations: what it says, and that every engine answers it as plain Python does."""

import itertools
import math
from dataclasses import replace
from typing import Any

import duckdb as driver
import pyarrow as pa
import pytest

import discreet as dp
import opened
from discreet.accounting.filters import Budget
from discreet.catalog.catalog import Catalog, ColumnType
from discreet.engines.backends.duckdb import DIALECT
from discreet.engines.sql import joins
from discreet.engines.sql.dialect import StorageType
from discreet.errors import SourceError
from discreet.plan.physical import CountRows, Feature, JoinedRows, MissingUnits, NamedColumn, PerUnit, Read, Rows
from discreet.planner.queries.tables import analyze
from discreet.query.frame import Query

CATALOG = Catalog.parse("""
tables:
  visits:
    privacy_unit: [house, person]
    missing_units: one_unit
    max_rows: 100
    columns:
      house: {type: text}
      person: {type: integer}
      visit: {type: integer}
      ward: {type: text}
      day: {type: date}
      cost: {type: real, bounds: [-10, 100], grid: 0.25}
  notes:
    privacy_unit: {through: visits, on: visit}
    max_rows: 100
    columns: {visit: {type: integer}, pages: {type: integer, bounds: [0, 9]}}
  june:
    privacy_unit: [house, person]
    max_rows: 100
    slice: {of: all, column: day, start: 2026-06-01, end: 2026-07-01}
    columns: {house: {type: text}, person: {type: integer}, day: {type: timestamp}, dose: {type: integer}}
  wards:
    public: true
    columns: {ward: {type: text}, beds: {type: integer, bounds: [0, 50]}}
""")
V, N, J, W = map(dp.table, ("visits", "notes", "june", "wards"))
DAYS = ["2026-05-31", "2026-06-01", "2026-06-30", "2026-07-01", None]
VISITS = [
    {
        "house": ("a", "b", None)[i % 3],
        "person": (1, 2, None, 1)[i % 4],
        "visit": i // 2,
        "ward": ("é", "x", None, "y")[(i * i) % 4],
        "day": DAYS[i % 5],
        "cost": (1.125, -99.0, float("nan"), 7.0, None, 250.0, 0.3)[i % 7],
    }
    for i in range(60)
]
NOTES = [{"visit": (i * 7) % 40, "pages": (3, None, 12)[i % 3]} for i in range(50)]
JUNE = [{"house": ("a", "b")[i % 2], "person": 1 + i % 3, "day": DAYS[i % 5], "dose": i} for i in range(20)]
WARDS = [{"ward": "é", "beds": 3}, {"ward": "x", "beds": 60}, {"ward": "x", "beds": 5}, {"ward": None, "beds": 1}]
TABLES = {
    "visits": pa.Table.from_pylist(VISITS),
    "notes": pa.Table.from_pylist(NOTES),
    "june": pa.Table.from_pylist(JUNE),
    "wards": pa.Table.from_pylist(WARDS),
}


def _steps(cost: float | None) -> int | None:
    """A cost in quarters, within its bounds."""
    return None if cost is None or math.isnan(cost) else min(400, max(-40, math.floor(cost * 4 + 0.5)))


def _owner(row: dict[str, Any]) -> tuple[Any, Any]:
    return (row["house"], row["person"]) if None not in (row["house"], row["person"]) else (None, None)


def _total(values: Any) -> int:
    return sum(value for value in values if value is not None)


def _by_unit() -> dict[Any, list[dict[str, Any]]]:
    kept = sorted(
        (row for row in VISITS if row["ward"] != "y" and row["ward"] is not None), key=lambda r: repr(_owner(r))
    )
    return {unit: list(rows) for unit, rows in itertools.groupby(kept, _owner)}


BESIDE = [(v, w) for v in VISITS for w in WARDS if v["ward"] is not None and v["ward"] == w["ward"]]
ALONE = [v for v in VISITS if not any(v["ward"] is not None and v["ward"] == w["ward"] for w in WARDS)]
LED = [(n, v) for n in NOTES for v in VISITS if n["visit"] == v["visit"]]
MET = [
    (v, j)
    for v in VISITS
    for j in JUNE
    if v["house"] is not None
    and v["person"] is not None
    and (v["house"], v["person"]) == (j["house"], j["person"])
    and j["day"] in DAYS[1:3]
]
PEOPLE = V.where(V.ward != "y").per_unit(
    n=dp.count(),
    total=dp.sum("cost"),
    average=dp.mean("cost"),
    most=dp.largest("cost"),
    first=dp.smallest("day"),
    wards=dp.count_distinct("ward"),
)
UNITS = _by_unit()


def _averages() -> list[float]:
    present = [[s for s in map(_steps, (r["cost"] for r in rows)) if s is not None] for rows in UNITS.values()]
    return [sum(steps) / 4 / len(steps) for steps in present if steps]


QUESTIONS: list[tuple[str, Query, list[int]]] = [
    (
        "public",
        V.join(W, on="ward").agg(n=dp.count(), b=dp.sum("beds"), c=dp.sum("cost"), u=dp.count_units()),
        [
            len(BESIDE),
            sum(min(50, w["beds"]) for _, w in BESIDE),
            _total(_steps(v["cost"]) for v, _ in BESIDE),
            len({_owner(v) for v, _ in BESIDE}),
        ],
    ),
    (
        "public, unmatched rows",
        V.join(W, on="ward", how="left").where(W.beds.is_missing()).agg(n=dp.count()),
        [len(ALONE)],
    ),
    ("a key that is computed", V.derive(k=V.visit.cast("text")).join(W, on={"k": "ward"}).agg(n=dp.count()), [0]),
    (
        "through another table",
        N.join(V, on="visit").agg(n=dp.count(), p=dp.sum("pages"), c=dp.sum("cost"), u=dp.count_units()),
        [
            len(LED),
            _total(n["pages"] and min(9, n["pages"]) for n, _ in LED),
            _total(_steps(v["cost"]) for _, v in LED),
            len({_owner(v) for _, v in LED}),
        ],
    ),
    (
        "one unit, with a slice",
        V.join(J, on=["house", "person"], names={"day": "when"}).agg(n=dp.count(), d=dp.sum("dose", bounds=(0, 9))),
        [len(MET), sum(min(9, j["dose"]) for _, j in MET)],
    ),
    (
        "units",
        PEOPLE.agg(
            n=dp.count(),
            rows=dp.sum("n", bounds=(0, 5)),
            total=dp.sum("total", bounds=(-100, 100), grid=0.25),
            average=dp.sum("average", bounds=(-10, 100), grid=0.001),
            most=dp.sum("most", bounds=(0, 300), grid=0.125),
            wards=dp.sum("wards", bounds=(0, 9)),
        ),
        [
            len(UNITS),
            sum(min(5, len(rows)) for rows in UNITS.values()),
            sum(max(-400, min(400, _total(_steps(r["cost"]) for r in rows))) for rows in UNITS.values()),
            sum(math.floor(average * 1000 + 0.5) for average in _averages()),
            sum(
                max(0, math.floor(max(costs) * 8 + 0.5))
                for costs in ([r["cost"] for r in rows if _steps(r["cost"]) is not None] for rows in UNITS.values())
                if costs
            ),
            sum(len({r["ward"] for r in rows}) for rows in UNITS.values()),
        ],
    ),
    (
        "units that came early",
        PEOPLE.where(V.first < "2026-06-01").agg(n=dp.count()),
        [sum(min([r["day"] for r in rows if r["day"]], default="9") < "2026-06-01" for rows in UNITS.values())],
    ),
]


@pytest.mark.parametrize("kind", opened.ENGINES)
def test_every_engine_joins_and_gathers_as_plain_python_does(kind, tmp_path, request):
    engine = opened.opener(kind, request)(TABLES, tmp_path)
    try:
        for name, query, expected in QUESTIONS:
            private = analyze(query.plan, CATALOG, Budget(epsilon=1), epsilon=1)
            measures = dict.fromkeys(part.measure for made in private.recipes for part in made.parts)
            question = replace(private.pushdown, measures=tuple(measures))
            found = engine.run(engine.prepare(question))
            assert [column[0] for column in found] == expected, (kind, name)
    finally:
        engine.close()


@pytest.mark.parametrize(
    ("missing_units", "expected"),
    [(MissingUnits.DROP, [("a", 1, 2)]), (MissingUnits.ONE_UNIT, [("a", 1, 2), (None, None, 3)])],
)
def test_rows_without_a_unit_are_dropped_or_gathered_into_one_row(missing_units, expected):
    """The relation alone: the scan around it would drop a row without a unit once more."""
    columns = (
        NamedColumn("house", Read("house", ColumnType.TEXT)),
        NamedColumn("person", Read("person", ColumnType.INTEGER)),
    )
    features = (Feature("n", CountRows(), ColumnType.INTEGER),)
    base = PerUnit(Rows("t", 1, columns), None, ("house", "person"), missing_units, features)
    places = {"t": ("t", {"house": StorageType.TEXT, "person": StorageType.INTEGER}, DIALECT.reads)}
    with driver.connect() as connection:
        connection.execute("CREATE TABLE t (house VARCHAR, person BIGINT)")
        connection.execute("INSERT INTO t VALUES ('a', 1), ('a', 1), ('a', NULL), (NULL, 1), (NULL, NULL)")
        found = connection.execute(joins.relation(base, places, DIALECT)).fetchall()
    assert sorted(found, key=repr) == expected


def test_tables_in_different_places_are_refused_before_anything_is_read(tmp_path, request):
    engine = opened.opener("duckdb", request)({"visits": TABLES["visits"]}, tmp_path)
    question = analyze(V.join(W, on="ward").agg(n=dp.count()).plan, CATALOG, Budget(epsilon=1), epsilon=1).pushdown
    with pytest.raises(SourceError, match="different places"):
        engine.prepare(question)
    engine.close()


def test_names_and_values_are_quoted():
    odd = 'a"; DROP TABLE x; --'
    base = JoinedRows(
        Rows("t", 1, (NamedColumn(odd, Read(odd, "integer")),)),
        Rows("u", 1, (NamedColumn("k", Read("k", "integer")),), is_public=True),
        ((Read(odd, "integer"), "k"),),
    )
    places = {name: (name, {column: StorageType.INTEGER}, DIALECT.reads) for name, column in (("t", odd), ("u", "k"))}
    sql = joins.relation(base, places, DIALECT)
    assert "JOIN" in sql
    assert '"a""; DROP TABLE x; --" = "k"' in sql


def test_a_base_tells_which_columns_of_which_tables_it_reads_slices_included():
    question = analyze(
        V.join(J, on=["house", "person"], names={"day": "when"}).agg(n=dp.count()).plan,
        CATALOG,
        Budget(epsilon=1),
        epsilon=1,
    ).pushdown
    assert set(joins.columns_of(question.scan.base)["june"]) == {"house", "person", "day"}
