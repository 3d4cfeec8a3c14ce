"""The SQL emitter: golden texts, quoting, and what must never be emitted.

The golden files are what a reviewer reads. After a deliberate change, write them anew and look at the difference:

    DISCREET_WRITE_GOLDEN=1 .venv/bin/python -m pytest tests/engines/test_lower.py
"""

import datetime as dt
import os
from dataclasses import replace
from pathlib import Path

import duckdb as driver
import pytest

from discreet import frame
from discreet.accounting.filters import Budget
from discreet.analysis import analyze
from discreet.catalog import Catalog, ColumnType
from discreet.engines import duckdb, lower, postgres, spark, sqlite
from discreet.engines.dialect import Dialect, Stored, finite
from discreet.errors import UnsupportedError
from discreet.pushdown import Apply, Constant, MissingUnits, Pushdown, Read, Scan
from discreet.unit import Caps

GOLDEN = Path(__file__).parent.parent / "golden" / "sql"
DIALECTS = {"duckdb": duckdb.DIALECT, "postgres": postgres.DIALECT, "spark": spark.DIALECT, "sqlite": sqlite.DIALECT}
DIALECT = duckdb.DIALECT
HELD = {"note": Stored.TEXT, "age": Stored.TEXT, "hospital": Stored.WIDE, "seen": Stored.ZONED}
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


def _held(read: Read, dialect: Dialect) -> Stored:
    """In another type than the declared one, where the engine has it."""
    other = HELD.get(read.column, Stored(read.type))
    return other if (other, read.type) in dialect.reads else Stored(read.type)


def _sql(question: Pushdown, dialect: Dialect = DIALECT) -> tuple[str, str]:
    stored = lower.storable(question)
    held = {read.column: _held(read, dialect) for read in question.scan.columns}
    rows = lower.capped(question.scan, lower.Place("source", held, 7), dialect, stored)
    return rows, lower.aggregated(question, "kept", "public", 7, dialect, stored)


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
    assert {column for column in COLUMNS if DIALECT.quoted(column) in text} == set(question.columns_read)


@pytest.mark.parametrize("engine", DIALECTS)
def test_every_type_can_be_read_from_itself_and_from_text(engine):
    reads = DIALECTS[engine].reads
    for kind in set(ColumnType) - {ColumnType.DOCUMENT, ColumnType.BINARY}:
        assert {(Stored(kind), kind), (Stored.TEXT, kind)} <= reads.keys()
    assert all((stored, ColumnType.DOCUMENT) in reads for stored in Stored)


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
    source = f"(SELECT {DIALECT.text(text)} AS {DIALECT.quoted(text)})"
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
        finite(value)


def test_something_that_is_no_constant_or_term_is_a_mistake_of_ours():
    with pytest.raises(TypeError):
        lower.literal(b"bytes", DIALECT)  # type: ignore[arg-type]
    with pytest.raises(AttributeError):
        lower.term("text", DIALECT)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        lower.measure("text", _question("count").scan, DIALECT, {})  # type: ignore[arg-type]


# size


def _chain(operator: str, length: int) -> Apply:
    term = Read("x", ColumnType.REAL)
    for _ in range(length):
        term = Apply(operator, (Constant(1.0, ColumnType.REAL), term), ColumnType.REAL)  # type: ignore[arg-type,assignment]
    return term  # type: ignore[return-value]


@pytest.mark.parametrize("operator", ["add", "subtract", "multiply", "divide"])
def test_the_text_of_arithmetic_grows_with_its_length_and_not_faster(operator):
    short, long = (len(lower.term(_chain(operator, length), DIALECT)) for length in (10, 100))
    assert long < 12 * short


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


def _owner(unit: tuple[str, ...], missing: MissingUnits) -> tuple[str, ...]:
    return lower.owner(_scan(unit, missing), DIALECT)


def test_a_unit_is_named_by_its_columns_and_rows_without_one_are_nobodys_or_one_units():
    assert _owner(("a",), MissingUnits.DROP) == ('"a"',)
    assert _owner(("a",), MissingUnits.ONE_UNIT) == ('"a"',)
    assert _owner(("a", "b"), MissingUnits.DROP) == ('"a"', '"b"')
    whole = 'CASE WHEN "a" IS NOT NULL AND "b" IS NOT NULL THEN'
    assert _owner(("a", "b"), MissingUnits.ONE_UNIT) == (f'{whole} "a" END', f'{whole} "b" END')


@pytest.mark.pitfall("A15")
@pytest.mark.parametrize(
    ("unit", "missing", "tie_break"),
    [
        (("a",), MissingUnits.DROP, '"b" NULLS LAST, "x" NULLS LAST'),
        (("a", "b"), MissingUnits.DROP, '"x" NULLS LAST'),
        (("a", "b"), MissingUnits.ONE_UNIT, '"a" NULLS LAST, "b" NULLS LAST, "x" NULLS LAST'),
    ],
)
def test_the_tie_break_holds_every_column_in_which_rows_of_one_unit_can_differ(unit, missing, tie_break):
    place = lower.Place("source", dict.fromkeys("abx", Stored.TEXT), 7)
    assert lower.capped(_scan(unit, missing), place, DIALECT).count(f", 7::UBIGINT), {tie_break})") == 1


@pytest.mark.parametrize(
    ("unit", "missing", "condition"),
    [
        (("a",), MissingUnits.DROP, '"a" IS NOT NULL AND ("x" = \'new\')'),
        (("a",), MissingUnits.ONE_UNIT, "(\"x\" = 'new')"),
        ((), MissingUnits.DROP, "(\"x\" = 'new')"),
    ],
)
def test_rows_outside_the_slice_are_gone_directly_above_the_source(unit, missing, condition):
    is_new = Apply("eq", (Read("x", ColumnType.TEXT), Constant("new", ColumnType.TEXT)), ColumnType.BOOLEAN)
    place = lower.Place("source", dict.fromkeys("abx", Stored.TEXT), 7)
    scan = replace(_scan(unit, missing), within=is_new, max_rows=3 if unit else None)
    scanned = f'(SELECT "a" AS "a", "b" AS "b", "x" AS "x" FROM source) AS scanned WHERE {condition}'
    assert lower.scanned(scan, place, DIALECT) == f"SELECT * FROM {scanned}"
    assert scanned in lower.capped(scan, place, DIALECT)


def test_without_caps_the_rows_are_left_as_they_are():
    scan = _scan(("a",), MissingUnits.DROP)
    assert lower.within_groups(scan, Caps(), "SELECT 1", 7, DIALECT) == "SELECT 1"
    assert lower.within_groups(scan, Caps(max_groups=2), "SELECT 1", 7, DIALECT) == "SELECT 1"


@pytest.mark.parametrize("hashed", ["hash(0)", "{1} % 3", "hash({0})"])
def test_rows_ranked_by_hash_first_are_those_ranked_by_hash_and_columns(hashed):
    """Whatever ties: all rows of a unit, rows of one remainder, or only rows that are the same."""
    rows = (
        "(SELECT (i * i) % 17 AS id, ('w' || (i % 5)) AS ward, CASE WHEN i % 7 > 0 THEN (i % 11) / 2.0 END AS cost "
        "FROM range(600) AS r(i))"
    )
    reads = (Read("id", ColumnType.INTEGER), Read("ward", ColumnType.TEXT), Read("cost", ColumnType.REAL))
    stored = {"id": Stored.INTEGER, "ward": Stored.TEXT, "cost": Stored.REAL}
    scan = Scan("visits", 1, reads, ("id",), MissingUnits.DROP, 4)
    own = replace(DIALECT, keyed_hash=lambda columns, _: hashed.format(", ".join(columns), 'ascii(right("ward", 1))'))
    by_both, by_hash = (
        lower.capped(scan, lower.Place(rows, stored, 7), replace(own, ranks_by_hash=first)) for first in (False, True)
    )
    kept, same = (sorted(driver.execute(sql).fetchall(), key=repr) for sql in (by_both, by_hash))
    assert ("rank()" in by_hash, "rank()" in by_both) == (True, False)
    assert kept == same
    assert len(kept) > 4
