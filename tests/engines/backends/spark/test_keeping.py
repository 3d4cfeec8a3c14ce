"""Spark: kept rows lie in few parts, and distinct units are counted where the rows of a unit already are."""

import re

import pytest

from discreet.accounting.filters import Budget
from discreet.catalog.catalog import Catalog
from discreet.engines.backends.spark import engine as module
from discreet.engines.backends.spark.engine import Spark
from discreet.engines.sources.workspace import Workspace
from discreet.engines.sql_engine import RegisteredSource
from discreet.planner.queries.tables import analyze
from discreet.query import frame

COLUMNS = {"id": {"type": "integer"}, "g": {"type": "text"}, "x": {"type": "real"}}
CATALOG = Catalog.model_validate({"tables": {"t": {"columns": COLUMNS, "privacy_unit": "id", "max_rows": 3}}})
QUERY = (
    frame.table("t")
    .group_by("g", keys={"g": ["0", "1", "none"]})
    .agg(n=frame.count(), u=frame.count_units(), s=frame.sum("x", bounds=(0, 5), grid=1))
)


@pytest.fixture
def engine(spark, tmp_path):
    """Ten rows of each of 1,000 units: five of one group, five of another."""
    theirs = spark.newSession()
    theirs.conf.set("spark.sql.shuffle.partitions", "64")
    rows = theirs.range(10_000).selectExpr("id % 1000 AS id", "CAST(id DIV 5000 AS STRING) AS g", "1D AS x")
    opened = Spark({"t": RegisteredSource(module.source(rows, None), 7)}, Workspace(tmp_path))
    yield opened
    opened.close()


def test_kept_rows_of_a_small_table_lie_in_few_parts_and_units_are_counted_without_moving_them(engine):
    prepared = engine.prepare(analyze(QUERY.plan, CATALOG, Budget(epsilon=1), epsilon=1).pushdown)
    assert engine.run(prepared) == engine.run(prepared)
    first, units, total = engine.run(prepared)[:3]
    assert sum(first) == 3_000
    assert engine._kept[prepared.rows_name].rdd.getNumPartitions() <= 2
    frame_of_answer = engine._session.sql(engine.answer_sql(prepared))
    again = [tuple(map(int, row[:3])) for row in frame_of_answer.collect()]
    assert again == list(zip(first, units, total, strict=True))
    plan = frame_of_answer._jdf.queryExecution().executedPlan().toString()
    answered, _, kept = plan.partition("Initial Plan")[0].partition("InMemoryTableScan")
    moved_by = r"Exchange hashpartitioning\([^)]*\b{}#"
    assert re.search(moved_by.format("discreet_group0"), answered)
    assert not re.search(moved_by.format("(id|discreet_unit0)"), answered)
    assert re.search(moved_by.format("id"), kept)
