"""The engine is asked for the columns that a question reads, and for no other."""

import pyarrow as pa

import discreet as dp
from discreet.planner.queries.tables import analyze


def test_only_columns_that_are_used_are_read():
    rows = pa.table({"id": ["a"], "ward": ["A"], "age": [1], "cost": [2.0], "note": ["x"]})
    words = {"name": "t", "privacy_unit": "id", "max_rows": 1, "keys": {"ward": ["A"]}, "budget": dp.Budget(epsilon=1)}
    table = dp.table("t")
    query = table.where(table.age > 3).group_by("ward").agg(s=dp.sum("cost", bounds=(0, 5)))
    with dp.testing.protect(rows, **words) as session:
        asked = analyze(query.plan, session.catalog, session.ledger.budget("t"), epsilon=1).pushdown
    assert asked.columns_read == ("age", "cost", "id", "ward")
    assert asked.scan.max_rows == 1
