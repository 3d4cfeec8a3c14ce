"""Open keys in SQL: what is asked, what comes back, and in which order."""

import pyarrow as pa
import pytest

import discreet as dp
from discreet.accounting.filters import Budget
from discreet.catalog.catalog import Catalog
from discreet.engines.backends.duckdb import DIALECT
from discreet.engines.backends.spark.engine import DIALECT as SPARK
from discreet.engines.sql import unknown_keys
from discreet.plan.physical import CountUnits, KeyedTable
from discreet.planner.queries.partition_selection import analyze_discovery
from discreet.query import frame

T = frame.table("t")
TABLE = {"columns": {"id": {"type": "integer"}, "g": {"type": "text"}}, "privacy_unit": "id"}


def question(at_least=1, **caps):
    catalog = Catalog.model_validate({"tables": {"t": TABLE | caps}})
    query = T.group_by("g", keys=dp.discover(delta=1e-9, at_least=at_least)).agg(n=frame.count())
    budget = Budget(epsilon=1, delta=1e-6, reserved_delta=1e-8)
    return analyze_discovery(query.plan, catalog, budget, epsilon=1).pushdown


@pytest.mark.pitfall("A11")
def test_keys_of_too_few_units_are_left_out_by_the_engine():
    asked = question(at_least=20, max_rows=1)
    sql = unknown_keys.found_sql(asked, "rows", 7, DIALECT)
    assert sql.endswith(f"WHERE m{asked.measures.index(CountUnits())} >= 20")


def test_no_table_of_keys_is_joined_and_groups_are_capped_by_what_they_hold():
    sql = unknown_keys.found_sql(question(max_groups=2, max_rows_per_group=1), "rows", 7, DIALECT)
    assert "JOIN" not in sql
    assert 'hash("id", discreet_group0, 7::UBIGINT), discreet_group0 NULLS LAST' in sql


def test_engines_that_count_by_unit_do_so_for_open_keys_too():
    assert "AS units" in unknown_keys.found_sql(question(max_rows=1), "rows", 7, SPARK)
    assert "AS units" not in unknown_keys.found_sql(question(max_rows=1), "rows", 7, DIALECT)


def test_keys_come_in_the_order_of_their_own_values_with_the_missing_one_last():
    asked = question(max_rows=2)
    found = unknown_keys.parse_keys(asked, [("b", "2", "1"), (None, "9", "9"), ("a", str(2**70), "3")])
    assert found == KeyedTable((("a",), ("b",), (None,)), [[2**70, 2, 9], [3, 1, 9]])
    assert unknown_keys.parse_keys(asked, []) == KeyedTable((), [[], []])


def test_rows_are_read_from_batches_by_their_types():
    asked = question(max_rows=2)
    schema = unknown_keys.schema(asked)
    batch = pa.record_batch(
        [pa.array(cells, kind) for cells, kind in zip((["a"], ["1"], ["2"]), schema.types, strict=True)], schema=schema
    )
    assert list(unknown_keys.rows_of([batch])) == [("a", "1", "2")]
