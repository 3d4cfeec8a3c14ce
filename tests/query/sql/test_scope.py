"""Names stand for what they stand for in SQL: whatever their capitals and tables, and never for two things."""

import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import SqlError
from query.sql.statements import fingerprint_of, frame_queries, queries_of

BY_WARD = fingerprint_of(frame_queries('visits.group_by("ward").agg(n=dp.count())'))


@pytest.mark.parametrize("selected", ["ward", "WARD", "visits.ward", "Visits.Ward", "(ward)"])
@pytest.mark.parametrize("grouped", ["ward", "Ward", "visits.ward", "1"])
def test_a_column_of_select_is_the_one_of_group_by_under_any_of_its_names(selected, grouped):
    text = f"SELECT {selected} AS place, COUNT(*) AS n FROM visits GROUP BY {grouped}"
    assert fingerprint_of(queries_of(text, "duckdb")) == BY_WARD


def test_a_column_that_two_tables_have_is_ambiguous_unless_it_was_joined():
    joined = "FROM visits v JOIN wards w ON v.ward = w.ward"
    assert queries_of(f"SELECT ward, COUNT(*) AS n {joined} GROUP BY ward", "duckdb")
    with pytest.raises(SqlError, match="several tables have a column of that name"):
        queries_of(f"SELECT SUM(cost) AS s {joined}", "duckdb")


def test_a_name_in_quotes_is_that_name():
    with pytest.raises(SqlError, match="no table of FROM has a column"):
        queries_of("SELECT COUNT(*) AS n FROM visits WHERE \"room\" = '1'", "duckdb")
    assert queries_of("SELECT COUNT(*) AS n FROM visits WHERE \"Room\" = '1'", "duckdb")


def test_a_column_of_a_linked_table_with_the_name_of_the_unit_is_not_the_unit():
    """Found by an attack: COUNT(DISTINCT ck) of lines counted customers, where ck of a line is something else."""
    catalog = dp.Catalog.parse("""
tables:
  cust: {privacy_unit: ck, max_rows: 1, budget: {epsilon: 10}, columns: {ck: {type: integer}}}
  items:
    privacy_unit: {through: cust, on: {ick: ck}}
    max_rows: 12
    budget: {epsilon: 10}
    columns: {ick: {type: integer}, ck: {type: integer, keys: [0, 1, 2]}}
""")
    customers = pa.table({"ck": [1, 2, 3, 4, 5]})
    items = pa.table({"ick": [1, 2, 3, 4, 5], "ck": [0, 1, 2, 0, 1]})
    with dp.testing.Session(catalog, sources={"cust": customers, "items": items}) as session:
        assert session.sql("SELECT COUNT(DISTINCT ck) AS n FROM items", epsilon=1)["n"] == (3,)
