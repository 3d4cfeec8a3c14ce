"""FROM, JOIN and WITH: no condition is lost, and no name reads other rows than it says."""

import pytest

from discreet.errors import SqlError
from query.sql.statements import fingerprint_of, frame_queries, queries_of


def refused(text, because):
    with pytest.raises(SqlError, match=because):
        queries_of(text, "duckdb")


def test_a_second_condition_on_a_joined_column_is_not_lost():
    refused(
        "SELECT COUNT(*) AS n FROM visits v JOIN wards w ON v.ward = w.ward AND v.ward = w.region",
        "ward meets two columns of the other table",
    )


def test_a_name_with_a_path_is_a_table_and_never_one_of_with():
    refused("WITH v AS (SELECT * FROM visits) SELECT COUNT(*) AS n FROM main.v", "no table of that name")
    refused("WITH visits AS (SELECT * FROM prescriptions) SELECT COUNT(*) AS n FROM main.visits", "nothing reads it")


def test_what_stands_in_with_is_read_or_refused():
    refused("WITH v AS (SELECT DISTINCT x FROM y) SELECT COUNT(*) AS n FROM visits", "nothing reads it")


def test_an_inner_with_hides_an_outer_one_of_that_name():
    text = (
        "WITH b AS (SELECT * FROM visits WHERE age > 1), "
        "a AS (WITH b AS (SELECT * FROM b WHERE age > 2) SELECT * FROM b) SELECT COUNT(*) AS n FROM a"
    )
    frame = "visits.where(visits.age > 1, visits.age > 2).agg(n=dp.count())"
    assert fingerprint_of(queries_of(text, "duckdb")) == fingerprint_of(frame_queries(frame))


@pytest.mark.parametrize("listed", ["cost, age AS cost", "*, age AS cost", "age AS a, cost AS A"])
def test_a_subquery_has_no_two_columns_of_one_name(listed):
    refused(f"SELECT COUNT(*) AS n FROM (SELECT {listed} FROM visits) v", "the subquery has two columns")


def test_a_star_leaves_out_names_that_mean_two_columns():
    text = "SELECT COUNT(*) AS n FROM (SELECT * FROM visits JOIN wards USING (ward)) v WHERE {} > 3"
    assert queries_of(text.format("beds"), "duckdb")
    refused(text.format("cost"), "no table of FROM has a column of that name")


@pytest.mark.parametrize("join", ["OUTER JOIN", "RIGHT JOIN", "FULL JOIN", "SEMI JOIN", "LEFT ANTI JOIN", "ASOF JOIN"])
def test_other_joins_are_refused(join):
    with pytest.raises(SqlError):
        queries_of(f"SELECT COUNT(*) AS n FROM visits {join} wards USING (ward)", "duckdb")


def test_two_tables_have_two_names():
    refused("SELECT COUNT(*) AS n FROM visits v JOIN wards V USING (ward)", "two tables of FROM have this name")
