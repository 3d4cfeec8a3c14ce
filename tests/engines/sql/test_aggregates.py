"""A question becomes the SQL that it always was, on every engine.

The golden files are what a reviewer reads. After a deliberate change, write them anew and look at the difference:

    DISCREET_WRITE_GOLDEN=1 .venv/bin/python -m pytest tests/engines/sql/test_aggregates.py
"""

import os
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.accounting.filters import Budget
from discreet.catalog.catalog import Catalog, ColumnType
from discreet.engines.backends import duckdb, sqlite
from discreet.engines.backends.postgres import engine as postgres
from discreet.engines.backends.spark import engine as spark
from discreet.engines.sql import aggregates, contribution_bounding, expressions
from discreet.engines.sql.dialect import Dialect, StorageType
from discreet.plan.physical import CountRows, MissingUnits, Pushdown, Read, Scan, SumSteps
from discreet.planner.queries.tables import analyze
from discreet.query import frame

GOLDEN = Path(__file__).parents[2] / "golden" / "sql"
DIALECTS = {"duckdb": duckdb.DIALECT, "postgres": postgres.DIALECT, "spark": spark.DIALECT, "sqlite": sqlite.DIALECT}
DIALECT = duckdb.DIALECT
HELD = {"note": StorageType.TEXT, "age": StorageType.TEXT, "hospital": StorageType.WIDE, "seen": StorageType.ZONED}
T = frame.table("visits")
N = frame.count()
COLUMNS = {
    "patient_id": {"type": "text"},
    "hospital": {"type": "integer"},
    "ward": {"type": "text", "keys": ["A", "B", "it's"]},
    "age": {"type": "integer", "bounds": [0, 120]},
    "cost": {"type": "real", "bounds": [0, 5000], "grid": "1/100"},
    "note": {"type": "text"},
    "admitted": {"type": "date"},
    "seen": {"type": "timestamp"},
    "urgent": {"type": "boolean"},
}
CAPPED = {"privacy_unit": "patient_id", "max_rows": 10}

QUESTIONS = {
    "count": (T.agg(n=N), CAPPED),
    "count_of_rows": (T.agg(n=N), {"privacy_unit": "dp.ROW"}),
    "count_of_units": (T.agg(u=frame.count_units()), {"privacy_unit": "patient_id"}),
    "count_of_missing_units": (T.agg(u=frame.count_units()), CAPPED | {"missing_units": "one_unit"}),
    "count_of_two_part_units": (
        T.agg(u=frame.count_units(), n=N),
        {"privacy_unit": ["hospital", "patient_id"], "max_rows": 2, "missing_units": "one_unit"},
    ),
    "count_of_values": (T.agg(v=frame.count_distinct("ward")), CAPPED),
    "sum": (T.where(T.age >= 40).agg(s=frame.sum("age")), CAPPED),
    "mean": (T.agg(m=frame.mean("cost")), CAPPED),
    "by_ward": (T.group_by("ward").agg(n=N, cost=frame.mean("cost")), CAPPED),
    "by_ward_with_all_caps": (
        T.where(T.urgent).group_by("note", "urgent", keys={"note": ["A", None]}, max_groups=2).agg(n=N),
        CAPPED | {"max_rows_per_group": 3},
    ),
    "bins": (
        T.derive(band=T.age.bin([18, 30, 45]), hour=T.seen.bin(["2026-01-31 12:00", "2026-01-31 13:00"]))
        .where(T.admitted.bin(["2026-01-01", "2026-02-01"]) == 1, (T.cost / T.age).bin([-0.5, 1, 1e300]) > 0)
        .group_by("band", "hour", keys={"band": range(4), "hour": [0, 1, None]})
        .agg(n=N),
        CAPPED,
    ),
    "operators": (
        T.derive(rate=(T.cost - 10) / (T.age + 1) * 2, years=T.note.cast("integer"))
        .where(T.admitted >= "2026-01-31", T.seen < "2026-02-01 12:30", ~(T.ward == "it's"), T.rate.is_present())
        .where((T.age != 30) | T.note.is_missing(), T.cost <= 1.5, T.age.is_in([1, -2]))
        .where(T.seen.cast("date") > "2026-01-01")
        .agg(s=frame.sum("rate", bounds=(-1, 1)), y=frame.sum("years", bounds=(0, 9))),
        CAPPED,
    ),
}


def _question(name: str) -> Pushdown:
    query, facts = QUESTIONS[name]
    catalog = Catalog.model_validate({"tables": {"visits": {"columns": COLUMNS} | facts}})
    return analyze(query.plan, catalog, Budget(epsilon=1), epsilon=1).pushdown


def _held(read: Read, dialect: Dialect) -> StorageType:
    """In another type than the declared one, where the engine has it."""
    other = HELD.get(read.column, StorageType(read.type))
    return other if (other, read.type) in dialect.reads else StorageType(read.type)


def _sql(question: Pushdown, dialect: Dialect = DIALECT) -> tuple[str, str]:
    stored = expressions.storable(question)
    held = {read.column: _held(read, dialect) for read in question.scan.columns}
    rows = contribution_bounding.bounded_rows_sql(
        question.scan, contribution_bounding.TableRelation("source", held, 7, dialect.reads), dialect, stored
    )
    return rows, aggregates.aggregate_sql(question, "kept", "public", 7, dialect, stored)


@pytest.mark.parametrize("engine", DIALECTS)
@pytest.mark.parametrize("name", QUESTIONS)
def test_the_sql_of_a_question_is_the_golden_one(name, engine):
    rows, answer = _sql(_question(name), DIALECTS[engine])
    text = f"-- the rows that are kept\n{rows};\n-- the answer\n{answer};\n"
    path = GOLDEN / engine / f"{name}.sql"
    if os.environ.get("DISCREET_WRITE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text


def test_there_is_no_golden_file_without_a_question():
    found = {(path.parent.name, path.stem) for path in GOLDEN.glob("*/*.sql")}
    assert found == {(engine, name) for engine in DIALECTS for name in QUESTIONS}


@pytest.mark.pitfall("A5")
@pytest.mark.parametrize("name", QUESTIONS)
def test_nothing_is_emitted_that_ignores_null_or_depends_on_position(name):
    text = " ".join(_sql(_question(name))).lower()
    for word in ("rowid", "random(", "now(", "limit ", "sample", "try("):
        assert word not in text
    assert "least(" not in text
    assert "greatest(" not in text


@pytest.mark.parametrize("name", QUESTIONS)
def test_only_the_columns_that_are_read_are_named(name):
    question = _question(name)
    text = " ".join(_sql(question))
    assert {column for column in COLUMNS if DIALECT.identifier(column) in text} == set(question.columns_read)


def test_something_that_is_no_measure_is_a_mistake_of_ours():
    with pytest.raises(TypeError):
        aggregates.measure("text", _question("count").scan, DIALECT, {})  # type: ignore[arg-type]


def test_rows_that_have_a_value_are_counted_by_its_steps_only_where_those_are_missing_too():
    cost = Read("cost", ColumnType.REAL)
    steps, filled = (SumSteps(cost, Fraction(1), 0, 9, missing=missing) for missing in (None, 3))
    scan = Scan("visits", 1, (cost,), (), MissingUnits.DROP, 1)
    assert aggregates.measure(CountRows(cost), scan, DIALECT, {filled: "s0", steps: "s1"}) == "count(s1)"
    assert "s0" not in aggregates.measure(CountRows(cost), scan, DIALECT, {filled: "s0"})
