"""Spark plans: which DataFrames may be protected, by an allow-list; identities by what they read, not by spelling."""

import logging

import pyarrow as pa
import pytest

import discreet as dp
from discreet.engines.backends.spark import engine as module
from discreet.engines.sources.source import Statements
from discreet.errors import SourceError
from discreet.testing import ForgottenLedger

FIXED = Statements(fixed_schema=True)
ROW_LOCAL = Statements(row_local=True)
EVERYTHING = Statements(fixed_schema=True, row_local=True)


@pytest.fixture(scope="module")
def people(spark):
    """A table of three people, and views of it: one row by row, one across people."""
    spark.sql("CREATE TABLE plan_people(id INT, code CHAR(3), age STRING, x DOUBLE, big BIGINT) USING parquet")
    spark.sql("INSERT INTO plan_people VALUES (1, 'a', '7', 1D, 1), (2, 'b', 'x', 2D, 2), (3, 'c', NULL, 3D, 3)")
    spark.sql("CREATE VIEW plan_adults AS SELECT id, code FROM plan_people WHERE id > 1")
    spark.sql("CREATE VIEW plan_shares AS SELECT id, try_divide(x, max(x) OVER ()) AS z FROM plan_people")
    yield spark.table("plan_people")
    for name in ("plan_adults", "plan_shares"):
        spark.sql(f"DROP VIEW {name}")
    spark.sql("DROP TABLE plan_people")


ADMITTED = {
    "columns": lambda rows: rows.select("id", "code"),
    "filter": lambda rows: rows.where("id > 1.5 AND code LIKE 'a%' AND age IS NOT NULL").alias("some"),
    "total casts": lambda rows: rows.selectExpr("id", "try_cast(age AS INT) AS age", "CAST(id AS DOUBLE) AS x"),
    "total arithmetic": lambda rows: rows.selectExpr(
        "id % 2 AS g", "id DIV 10 AS t", "x * 2 + 1 AS y", "try_add(id, 1)"
    ),
    "total quotients": lambda rows: rows.selectExpr("id", "x / 2 AS half", "try_divide(x, id) AS share", "nvl(x, 0)"),
    "union": lambda rows: rows.unionByName(rows.select("id"), allowMissingColumns=True),
    "distinct rows": lambda rows: rows.distinct().dropDuplicates(),
    "partitions and order": lambda rows: rows.repartition(3).repartition("id").coalesce(1).sort("x").hint("broadcast"),
    "exploded": lambda rows: rows.selectExpr("id", "explode(array(x, x)) AS x"),
    "cached": lambda rows: rows.where("id > 1").cache(),
    "common table expression": lambda rows: rows.sparkSession.sql(
        "WITH a AS (SELECT id FROM plan_people) SELECT * FROM a WHERE id > 1 UNION ALL SELECT id FROM a"
    ),
    "view": lambda rows: rows.sparkSession.table("plan_adults"),
}


@pytest.mark.parametrize("derived", ADMITTED.values(), ids=ADMITTED)
def test_row_local_deterministic_and_total_plans_are_admitted_and_have_the_identity_of_their_table(people, derived):
    source = module.source(derived(people), None)
    assert source.identity == module.source(people, None).identity


def window(text):
    return lambda rows: rows.selectExpr("id", f"{text} AS z")


ACROSS = {
    "global maximum": window("try_divide(x, max(x) OVER ())"),
    "maximum of a person": window("max(big) OVER (PARTITION BY id)"),
    "running sum without ties": window("sum(id) OVER (PARTITION BY code ORDER BY x)"),
    "aggregate": lambda rows: rows.groupBy("id").agg({"*": "count", "x": "max"}),
    "join": lambda rows: rows.join(rows.selectExpr("id", "big AS other"), "id"),
    "semi join": lambda rows: rows.join(rows.selectExpr("id"), "id", "leftsemi"),
    "intersection": lambda rows: rows.intersect(rows),
    "difference": lambda rows: rows.subtract(rows),
    "view": lambda rows: rows.sparkSession.table("plan_shares"),
}


@pytest.mark.pitfall("A28")
@pytest.mark.parametrize("derived", ACROSS.values(), ids=ACROSS)
def test_plans_that_look_across_rows_need_the_owners_statement(people, derived):
    with pytest.raises(SourceError, match="computed from several rows") as refusal:
        module.source(derived(people), None)
    assert "row_local=True" in refusal.value.instead
    assert module.source(derived(people), None, ROW_LOCAL).identity == module.source(people, None).identity


UNREPEATABLE = {
    "sample": lambda rows: rows.sample(0.5, seed=1),
    "limit": lambda rows: rows.limit(2),
    "one row of several": lambda rows: rows.dropDuplicates(["code"]),
    "random": window("rand()"),
    "clock": window("current_timestamp()"),
    "first": lambda rows: rows.groupBy("id").agg({"x": "first"}),
    "any value": lambda rows: rows.groupBy("id").agg({"x": "any_value"}),
    "list": lambda rows: rows.groupBy("id").agg({"x": "collect_list"}),
    "ties of row numbers": window("row_number() OVER (PARTITION BY id ORDER BY code)"),
    "ties of a frame of rows": window("max(x) OVER (PARTITION BY id ORDER BY code ROWS 1 PRECEDING)"),
    "order of a sum of reals": lambda rows: rows.groupBy("id").agg({"x": "sum"}),
    "lag": window("lag(x) OVER (PARTITION BY id ORDER BY code)"),
    "collated groups": lambda rows: rows.selectExpr("id", "collate(age, 'UTF8_LCASE') AS age").distinct(),
    "python function": lambda rows: rows.mapInArrow(lambda parts: parts, "id INT"),
    "java function": window("reflect('java.util.UUID', 'randomUUID')"),
    "checkpoint": lambda rows: rows.localCheckpoint(eager=False),
    "resilient distributed dataset": lambda rows: rows.sparkSession.createDataFrame(rows.rdd, rows.schema),
    "python list": lambda rows: rows.sparkSession.createDataFrame([(1, "a")], "id INT, code STRING"),
    "rows of a file": lambda rows: rows.select("id", "_metadata.row_index"),
    "subquery": lambda rows: rows.where("id IN (SELECT id FROM plan_adults)"),
}


@pytest.mark.pitfall("A29")
@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
@pytest.mark.parametrize("derived", UNREPEATABLE.values(), ids=UNREPEATABLE)
def test_rows_that_may_be_others_when_they_are_read_again_are_refused_whatever_is_stated(people, derived):
    with pytest.raises(SourceError) as refusal:
        module.source(derived(people), None, EVERYTHING)
    assert "saveAsTable" in refusal.value.instead


def test_a_python_function_of_a_column_is_refused(people, spark):
    spark.udf.register("plan_own", lambda cell: cell, "int")
    with pytest.raises(SourceError, match="pythonudf"):
        module.source(people.selectExpr("plan_own(id) AS id"), None, EVERYTHING)


FAILING = [
    "CAST(age AS INT)",
    "age = 1",
    "id + 1",
    "-big",
    "abs(big)",
    "x / id",
    "id % big",
    "CAST(big AS INT)",
    "x / 0",
]


@pytest.mark.pitfall("A29")
@pytest.mark.parametrize("expression", FAILING)
def test_an_expression_that_fails_on_a_cell_is_refused(people, expression):
    with pytest.raises(SourceError, match="it can fail on a cell") as refusal:
        module.source(people.selectExpr("id", f"{expression} AS z"), None, EVERYTHING)
    assert "saveAsTable" in refusal.value.instead


def test_the_advice_of_a_refusal_is_admitted(people, spark):
    frame = people.selectExpr("id", "CAST(big AS INT) AS z")
    frame.write.mode("overwrite").saveAsTable("default.plan_visits")
    assert module.source(spark.table("default.plan_visits"), None).columns == ("id", "z")
    spark.sql("DROP TABLE default.plan_visits")


@pytest.mark.pitfall("A23")
def test_rows_in_memory_need_the_owners_statement_about_their_types(spark):
    table = pa.table({"id": [1, 2], "x": [1.0, None]})
    for frame in (spark.createDataFrame(table), spark.sql("SELECT * FROM VALUES (1, 'a') AS t(id, code)")):
        with pytest.raises(SourceError, match=r"rows in memory without fixed_schema=True"):
            module.source(frame, None)
        assert module.source(frame, None, FIXED).identity == "memory"
    large = spark.newSession()
    large.conf.set("spark.sql.execution.arrow.localRelationThreshold", "1")
    assert module.source(large.createDataFrame(table), None, FIXED).columns == ("id", "x")


def test_a_table_its_path_its_views_and_parts_of_it_are_one_source(people, spark):
    place = spark.sql("DESCRIBE TABLE EXTENDED plan_people").where("col_name = 'Location'").collect()[0]["data_type"]
    same = (
        spark.table("default.plan_people"),
        spark.table("spark_catalog.default.plan_people").alias("other"),
        spark.read.parquet(place),
        spark.read.parquet(f"{place.removeprefix('file:')}/"),
        spark.table("plan_adults"),
        people.select("id"),
    )
    assert {module.source(frame, None).identity for frame in same} == {f"spark:{place}"}
    assert module.source(spark, "plan_people").identity == f"spark:{place}"


def test_several_tables_are_named_in_one_order_and_many_by_a_digest(people, spark, tmp_path):
    paths = [f"{tmp_path}/{name}" for name in "ab"]
    for path in paths:
        spark.range(1).write.parquet(path)
    first, second = (spark.read.parquet(path) for path in paths)
    found = {module.source(frame, None).identity for frame in (first.union(second), second.union(first))}
    assert found == {f"spark:file:{paths[0]},file:{paths[1]}"}
    assert module.spark_plans.identity(["x" * 2_000]) == module.spark_plans.identity(["x" * 2_000])
    assert len(module.spark_plans.identity(["x" * 2_000])) < 100


def protected(frame, name, **facts):
    facts = {"privacy_unit": "id", "max_rows": 1, "budget": dp.Budget(epsilon=9), **facts}
    return dp.testing.protect(frame, name=name, **facts)


def test_two_budgets_over_one_table_are_logged_whatever_it_is_called(people, spark, caplog):
    ledger = ForgottenLedger()
    with protected(people, "one", ledger=ledger), caplog.at_level(logging.WARNING, "discreet"):
        protected(spark.table("plan_adults"), "two", ledger=ledger).close()
    assert "'two' and 'one' have the same source: their privacy budgets add up" in caplog.text


def test_an_analysts_session_warns_of_records_that_show_row_counts_and_an_owners_does_not(people, caplog, monkeypatch):
    with protected(people, "shown", analyst="ana") as session:
        # the tests' Spark has neither web pages nor an event log
        assert session._pipeline.engines["shown"].exposures() == ()
    monkeypatch.setattr(module, "_SHOWING_ROWS", {"spark.never.set": ("true", "Spark's web pages")})
    for analyst, expected in (("owner", 0), ("ana", 1)):
        caplog.clear()
        with caplog.at_level(logging.WARNING, "discreet"):
            protected(people, "shown", analyst=analyst).close()
        shown = [text for text in caplog.messages if "exact row counts" in text]
        assert len(shown) == expected
    assert shown[0].startswith("exact row counts of every query are in Spark's web pages (spark.never.set=true)")
