"""The SQL emitter: golden texts, quoting, and what must never be emitted.

The golden files are what a reviewer reads. After a deliberate change, write them anew and look at the difference:

    DISCREET_WRITE_GOLDEN=1 .venv/bin/python -m pytest tests/engines/test_lower.py
"""

import datetime as dt
import os
from pathlib import Path

import duckdb as driver
import pytest

from discreet import frame
from discreet.accounting.filters import Budget
from discreet.analysis import analyze
from discreet.catalog import Catalog, ColumnType
from discreet.engines import duckdb, lower
from discreet.errors import UnsupportedError
from discreet.pushdown import Apply, Constant, MissingUnits, Pushdown, Read, Scan
from discreet.unit import Caps

GOLDEN = Path(__file__).parent.parent / "golden" / "sql" / "duckdb"
DIALECT = duckdb.DIALECT
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


def _sql(question: Pushdown) -> tuple[str, str]:
    stored = lower.storable(question)
    rows = lower.capped(question.scan, "source", 7, DIALECT, stored)
    return rows, lower.aggregated(question, "kept", "public", 7, DIALECT, stored)


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_sql_of_a_question_is_the_golden_one(name):
    rows, answer = _sql(_question(name))
    text = f"-- the rows that are kept\n{rows};\n-- the answer\n{answer};\n"
    path = GOLDEN / f"{name}.sql"
    if os.environ.get("DISCREET_WRITE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text


def test_there_is_no_golden_file_without_a_question():
    assert {path.stem for path in GOLDEN.glob("*.sql")} == set(QUESTIONS)


@pytest.mark.pitfall("A5")
@pytest.mark.parametrize("name", QUESTIONS)
def test_nothing_is_emitted_that_ignores_null_or_depends_on_position(name):
    text = " ".join(_sql(_question(name))).lower()
    for word in ("least(", "greatest(", "rowid", "random(", "now(", "limit ", "sample", "try("):
        assert word not in text


@pytest.mark.parametrize("name", QUESTIONS)
def test_only_the_columns_that_are_read_are_named(name):
    question = _question(name)
    text = " ".join(_sql(question))
    assert {column for column in COLUMNS if lower.quoted(column) in text} == set(question.columns_read)


def test_all_operators_and_types_have_a_template():
    assert set(DIALECT.operators) == set(Apply.__annotations__["operator"].__args__) - {"in"}
    assert set(DIALECT.reads) == set(ColumnType)


# quoting


REALS = [0.1, -0.1, 1e-300, 5e-324, 1.7976931348623157e308, 2.0**53 + 2]
HOSTILE = [
    "x'; DROP TABLE t; --",
    "it''s",
    '"',
    '"; ATTACH',
    "\\",
    "{0}",
    "{x}",
    "%s",
    "$1",
    "?",
    "\n",
    "é",
    "\U0001f600",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_text_constant_is_read_back_as_it_was(text):
    connection = driver.connect(":memory:")
    assert connection.execute(f"SELECT {lower.literal(text, DIALECT)}").fetchall() == [(text,)]
    node = Apply("eq", (Read(text, ColumnType.TEXT), Constant(text, ColumnType.TEXT)), ColumnType.BOOLEAN)
    source = f"(SELECT {lower.text(text)} AS {lower.quoted(text)})"
    assert connection.execute(f"SELECT {lower.term(node, DIALECT)} FROM {source} AS t").fetchall() == [(True,)]


@pytest.mark.parametrize(
    "value",
    [None, True, False, 0, -1, 2**63 - 1, -(2**63), dt.date(1, 1, 1), dt.date(9999, 12, 31), *REALS],
)
def test_a_constant_is_read_back_as_it_was(value):
    assert driver.connect(":memory:").execute(f"SELECT {lower.literal(value, DIALECT)}").fetchall() == [(value,)]


def test_a_timestamp_is_read_back_to_the_microsecond():
    noon = dt.datetime.fromisoformat("2026-01-31 12:00:00.000001")
    assert driver.connect(":memory:").execute(f"SELECT {lower.literal(noon, DIALECT)}").fetchall() == [(noon,)]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_what_is_not_finite_is_never_emitted(value):
    with pytest.raises(ValueError, match="not finite"):
        lower.finite(value)


def test_something_that_is_no_constant_or_term_is_a_mistake_of_ours():
    with pytest.raises(TypeError):
        lower.literal(b"bytes", DIALECT)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        lower.term("text", DIALECT)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        lower.measure("text", _question("count").scan, DIALECT, {})  # type: ignore[arg-type]


# size


def _chain(operator: str, length: int) -> Apply:
    term = Read("x", ColumnType.REAL)
    for _ in range(length):
        term = Apply(operator, (Constant(1.0, ColumnType.REAL), term), ColumnType.REAL)  # type: ignore[arg-type,assignment]
    return term  # type: ignore[return-value]


@pytest.mark.parametrize("operator", ["add", "subtract", "multiply"])
def test_the_text_of_arithmetic_grows_with_its_length_and_not_faster(operator):
    short, long = (len(lower.term(_chain(operator, length), DIALECT)) for length in (10, 100))
    assert long < 12 * short


def test_divisions_within_divisions_are_refused_before_they_fill_the_memory():
    assert len(lower.term(_chain("divide", 6), DIALECT)) < lower.LONGEST_TERM
    with pytest.raises(UnsupportedError, match="too long for SQL"):
        lower.term(_chain("divide", 90), DIALECT)


def test_casts_within_casts_are_refused_before_they_fill_the_memory():
    term = Read("d", ColumnType.DATE)
    for _ in range(45):
        term = Apply("to_date", (Apply("to_timestamp", (term,), ColumnType.TIMESTAMP),), ColumnType.DATE)
    with pytest.raises(UnsupportedError, match="too long for SQL"):
        lower.term(term, DIALECT)


def test_long_lists_of_constants_are_not_too_long():
    values = tuple(Constant(f"{'x' * 60}{i}", ColumnType.TEXT) for i in range(1_900))
    listed = Apply("in", (Read("g", ColumnType.TEXT), *values), ColumnType.BOOLEAN)
    both = Apply("and", (listed, Apply("not", (listed,), ColumnType.BOOLEAN)), ColumnType.BOOLEAN)
    assert len(lower.term(both, DIALECT)) > 2 * lower.LONGEST_TERM


# whose rows


def _scan(unit: tuple[str, ...], missing: MissingUnits, columns: str = "abx") -> Scan:
    reads = tuple(Read(name, ColumnType.TEXT) for name in columns)
    return Scan("t", 1, reads, unit, missing, 3)


def test_a_unit_is_named_by_its_columns_and_rows_without_one_are_nobodys_or_one_units():
    assert lower.owner(_scan(("a",), MissingUnits.DROP)) == ('"a"',)
    assert lower.owner(_scan(("a",), MissingUnits.ONE_UNIT)) == ('"a"',)
    assert lower.owner(_scan(("a", "b"), MissingUnits.DROP)) == ('"a"', '"b"')
    whole = 'CASE WHEN "a" IS NOT NULL AND "b" IS NOT NULL THEN'
    assert lower.owner(_scan(("a", "b"), MissingUnits.ONE_UNIT)) == (f'{whole} "a" END', f'{whole} "b" END')


@pytest.mark.pitfall("A15")
@pytest.mark.parametrize(
    ("unit", "missing", "tie_break"),
    [
        (("a",), MissingUnits.DROP, '"b", "x"'),
        (("a", "b"), MissingUnits.DROP, '"x"'),
        (("a", "b"), MissingUnits.ONE_UNIT, '"a", "b", "x"'),
    ],
)
def test_the_tie_break_holds_every_column_in_which_rows_of_one_unit_can_differ(unit, missing, tie_break):
    assert lower.capped(_scan(unit, missing), "source", 7, DIALECT).count(f", 7::UBIGINT), {tie_break})") == 1


def test_without_caps_the_rows_are_left_as_they_are():
    scan = _scan(("a",), MissingUnits.DROP)
    assert lower.within_groups(scan, Caps(), "SELECT 1", 7, DIALECT) == "SELECT 1"
    assert lower.within_groups(scan, Caps(max_groups=2), "SELECT 1", 7, DIALECT) == "SELECT 1"
