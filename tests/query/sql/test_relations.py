"""FROM, JOIN and WITH: no condition is lost, and no name reads other rows than it says."""

import pytest

from discreet.errors import SqlError, UnitError
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


def test_a_table_after_a_comma_is_joined_where_where_equates_columns():
    text = "SELECT COUNT(*) AS n FROM visits v, wards w WHERE {} AND age > 3"
    joined = "SELECT COUNT(*) AS n FROM visits v JOIN wards w ON v.ward = w.ward WHERE age > 3"
    for condition in ("v.ward = w.ward", "w.ward = v.ward"):
        listed = queries_of(text.format(condition), "duckdb")
        assert fingerprint_of(listed) == fingerprint_of(queries_of(joined, "duckdb"))


def test_a_second_condition_on_a_column_after_a_comma_stays_in_where():
    text = "SELECT COUNT(*) AS n FROM visits v, wards w WHERE v.ward = w.ward AND v.ward = w.region"
    frame = "visits.join(wards, on='ward', names={'cost': 'wards_cost'})"
    frame += ".where(visits.ward == visits.region).agg(n=dp.count())"
    assert fingerprint_of(queries_of(text, "duckdb")) == fingerprint_of(frame_queries(frame))


@pytest.mark.parametrize(
    "condition", ["age > 3", "v.ward = 'A'", "v.ward < w.ward", "v.ward = w.ward OR age > 3", "beds = beds"]
)
def test_a_table_after_a_comma_without_an_equality_is_refused(condition):
    refused(f"SELECT COUNT(*) AS n FROM visits v, wards w WHERE {condition}", "joins are INNER or LEFT")


def test_a_table_after_a_comma_is_of_the_same_unit():
    text = "SELECT COUNT(*) AS n FROM visits v, prescriptions p WHERE v.visit_id = p.visit_id"
    with pytest.raises(UnitError, match="a joined row would belong to two units"):
        fingerprint_of(queries_of(text, "duckdb"))


def test_the_unit_that_a_link_leads_to_is_one_column_after_the_join():
    text = "SELECT COUNT(*) AS n FROM letters l JOIN visits v USING (visit_id) WHERE {} = 'x'"
    frame = "letters.join(visits, on='visit_id').where(visits.patient_id == 'x').agg(n=dp.count())"
    for name in ("patient_id", "l.patient_id", "v.patient_id"):
        assert fingerprint_of(queries_of(text.format(name), "duckdb")) == fingerprint_of(frame_queries(frame))
