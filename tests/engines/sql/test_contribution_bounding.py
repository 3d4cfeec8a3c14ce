"""Of each unit no more rows than its caps allow, chosen by its own rows alone."""

from dataclasses import replace
from pathlib import Path

import duckdb as driver
import pyarrow as pa
import pytest

from discreet.accounting.filters import Budget
from discreet.catalog.catalog import Catalog, ColumnType
from discreet.catalog.privacy_unit import Caps
from discreet.engines import RegisteredSource, Workspace, source_of
from discreet.engines.backends import duckdb, sqlite
from discreet.engines.backends.postgres import engine
from discreet.engines.backends.spark import engine as spark
from discreet.engines.sql import contribution_bounding, expressions
from discreet.engines.sql.dialect import Dialect, StorageType
from discreet.plan.physical import Apply, Constant, MissingUnits, Pushdown, Read, Scan
from discreet.planner.queries.tables import analyze
from discreet.query import frame

GOLDEN = Path(__file__).parents[2] / "golden" / "sql"
DIALECTS = {"duckdb": duckdb.DIALECT, "postgres": engine.DIALECT, "spark": spark.DIALECT, "sqlite": sqlite.DIALECT}
DIALECT = duckdb.DIALECT
T = frame.table("t")


def _scan(unit: tuple[str, ...], missing: MissingUnits, columns: str = "abx") -> Scan:
    reads = tuple(Read(name, ColumnType.TEXT) for name in columns)
    return Scan("t", 1, reads, unit, missing, 3)


def _owner(unit: tuple[str, ...], missing: MissingUnits) -> tuple[str, ...]:
    return contribution_bounding.owner(_scan(unit, missing), DIALECT)


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
    place = contribution_bounding.TableRelation("source", dict.fromkeys("abx", StorageType.TEXT), 7, DIALECT.reads)
    assert (
        contribution_bounding.bounded_rows_sql(_scan(unit, missing), place, DIALECT).count(
            f", 7::UBIGINT), {tie_break})"
        )
        == 1
    )


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
    place = contribution_bounding.TableRelation("source", dict.fromkeys("abx", StorageType.TEXT), 7, DIALECT.reads)
    scan = replace(_scan(unit, missing), within=is_new, max_rows=3 if unit else None)
    scanned = f'(SELECT "a" AS "a", "b" AS "b", "x" AS "x" FROM source) AS scanned WHERE {condition}'
    assert contribution_bounding.scan_sql(scan, place, DIALECT) == f"SELECT * FROM {scanned}"
    assert scanned in contribution_bounding.bounded_rows_sql(scan, place, DIALECT)


def test_without_caps_the_rows_are_left_as_they_are():
    scan = _scan(("a",), MissingUnits.DROP)
    assert contribution_bounding.within_groups(scan, Caps(), "SELECT 1", 7, DIALECT) == "SELECT 1"
    assert contribution_bounding.within_groups(scan, Caps(max_groups=2), "SELECT 1", 7, DIALECT) == "SELECT 1"


ODD_KEYS = ("it's", "", "é\u0301", 'say "a"', "x" * 40, "a")


def _pushdown(query: frame.Query) -> Pushdown:
    columns = {"id": {"type": "integer"}, "g": {"type": "text"}, "x": {"type": "real"}}
    catalog = Catalog.model_validate({"tables": {"t": {"columns": columns, "privacy_unit": "id", "max_rows": 2}}})
    return analyze(query.plan, catalog, Budget(epsilon=1), epsilon=1).pushdown


STORED = {"id": StorageType.INTEGER, "g": StorageType.TEXT, "x": StorageType.REAL}


def _narrow(query: frame.Query, dialect: Dialect = DIALECT) -> str:
    pushdown = _pushdown(query)
    place = contribution_bounding.TableRelation("source", STORED, 7, dialect.reads)
    return contribution_bounding.rows_of_one_answer_sql(pushdown, place, dialect, expressions.storable(pushdown))


def test_one_answer_ranks_rows_by_what_it_reads_of_them():
    total = frame.sum("x", bounds=(0, 9), grid=1)
    by_key = T.group_by("g", keys={"g": ["a", "b"]})
    order = "ORDER BY discreet_row_hash, {}discreet_steps0 NULLS LAST"
    assert order.format("") in _narrow(T.agg(s=total, n=frame.count()))
    assert order.format('"g" NULLS LAST, ') in _narrow(by_key.agg(m=frame.mean("x", bounds=(0, 9), grid=1)))
    assert order.format('"x" NULLS LAST, "g" NULLS LAST, ') in _narrow(T.where((T.x > 1) | (T.g == "a")).agg(s=total))
    assert "ORDER BY" not in _narrow(T.agg(n=frame.count(), u=frame.count_units()))


def test_an_engine_that_does_not_narrow_rows_ranks_them_as_they_would_be_kept():
    query = T.group_by("g", keys={"g": ["a", "b"]}).agg(s=frame.sum("x", bounds=(0, 9), grid=1))
    whole = replace(DIALECT, narrows_rows=False)
    pushdown = _pushdown(query)
    place = contribution_bounding.TableRelation("source", STORED, 7, whole.reads)
    kept = contribution_bounding.bounded_rows_sql(pushdown.scan, place, whole, expressions.storable(pushdown))
    assert _narrow(query, whole) == kept != _narrow(query)
    assert [name for name, dialect in DIALECTS.items() if not dialect.narrows_rows] == ["postgres"]


def test_text_that_is_only_compared_with_public_keys_is_one_of_them_or_missing():
    count = {"n": frame.count()}
    one_of = """TRY_CAST("g" AS ENUM ('a', 'b'))"""
    assert one_of in _narrow(T.group_by("g", keys={"g": ["a", "b"]}).agg(**count))
    for keys in (["a", "b", None], ["a" * contribution_bounding.LONGEST_LIST]):
        assert "ENUM" not in _narrow(T.group_by("g", keys={"g": keys}).agg(**count))
    assert "ENUM" not in _narrow(T.where(T.g != "c").group_by("g", keys={"g": ["a"]}).agg(**count))
    assert "ENUM" not in _narrow(T.group_by("g", keys={"g": ["a", "b"]}, max_groups=1).agg(**count))
    assert "ENUM" not in _narrow(T.group_by("id", keys={"id": [1]}).agg(**count))


def test_odd_public_keys_are_found_and_nothing_else_is(tmp_path):
    cells = [*ODD_KEYS, None, "A", "a ", "e\u0301", "it''s"]
    table = pa.table({"id": range(len(cells)), "g": cells})
    engine = duckdb.DuckDB({"t": RegisteredSource(source_of(table), 7)}, Workspace(tmp_path))
    prepared = engine.prepare(_pushdown(T.group_by("g", keys={"g": [*reversed(ODD_KEYS), "z"]}).agg(n=frame.count())))
    assert engine.run(prepared) == engine.run(prepared) == [[1] * len(ODD_KEYS) + [0]]
    engine.close()


@pytest.mark.parametrize("hashed", ["hash(0)", "{1} % 3", "hash({0})"])
def test_rows_ranked_by_hash_first_are_those_ranked_by_hash_and_columns(hashed):
    """Whatever ties: all rows of a unit, rows of one remainder, or only rows that are the same."""
    rows = (
        "(SELECT (i * i) % 17 AS id, ('w' || (i % 5)) AS ward, CASE WHEN i % 7 > 0 THEN (i % 11) / 2.0 END AS cost "
        "FROM range(600) AS r(i))"
    )
    reads = (Read("id", ColumnType.INTEGER), Read("ward", ColumnType.TEXT), Read("cost", ColumnType.REAL))
    stored = {"id": StorageType.INTEGER, "ward": StorageType.TEXT, "cost": StorageType.REAL}
    scan = Scan("visits", 1, reads, ("id",), MissingUnits.DROP, 4)
    own = replace(DIALECT, keyed_hash=lambda columns, _: hashed.format(", ".join(columns), 'ascii(right("ward", 1))'))
    by_both, by_hash = (
        contribution_bounding.bounded_rows_sql(
            scan, contribution_bounding.TableRelation(rows, stored, 7, DIALECT.reads), replace(own, ranks_by_hash=first)
        )
        for first in (False, True)
    )
    kept, same = (sorted(driver.execute(sql).fetchall(), key=repr) for sql in (by_both, by_hash))
    assert ("rank()" in by_hash, "rank()" in by_both) == (True, False)
    assert kept == same
    assert len(kept) > 4
