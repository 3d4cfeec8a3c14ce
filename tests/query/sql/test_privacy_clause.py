"""OPTIONS and bounds by name are read once, at their place, and never guessed."""

import pytest

from discreet.errors import SqlError
from discreet.query.aggregates import sum as of_sum
from query.sql.statements import fingerprint_of, frame_queries, queries_of

ROW = "contribution_bounds_per_row =>"


def test_two_aggregates_that_differ_in_their_bounds_alone_are_two():
    (query,) = queries_of(f"SELECT SUM(cost, {ROW} (0, 1)) AS a, SUM(cost, {ROW} (0, 2)) AS b FROM visits", "bigquery")
    assert [output.measure.bounds[1] for output in query.plan.outputs] == [1, 2]
    assert query.plan.outputs[0].measure == of_sum("cost", bounds=(0, 1)).measure


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT COUNT(*) AS n FROM (SELECT patient_id, SUM(age, {ROW} (0, 1)) AS k FROM visits GROUP BY patient_id) p",
        f"SELECT SUM(COALESCE(cost, 0, {ROW} (0, 1))) AS s FROM visits",
        f"SELECT COUNT(*) AS n FROM visits WHERE STARTS_WITH(code, 'x', {ROW} (0, 1))",
        f"SELECT PERCENTILE_CONT(0.5, {ROW} (0, 1)) WITHIN GROUP (ORDER BY cost) AS q FROM visits",
    ],
)
def test_bounds_that_no_aggregate_of_the_statement_uses_are_refused(text):
    with pytest.raises(SqlError, match="of an aggregate of the outer SELECT"):
        queries_of(text, "bigquery")


def test_bounds_by_name_beside_a_clamp_are_refused():
    with pytest.raises(SqlError, match="it has bounds twice"):
        queries_of(f"SELECT SUM(LEAST(GREATEST(cost, 0), 5), {ROW} (-9, 9)) AS s FROM visits", "bigquery")


def test_a_clause_in_a_subquery_is_not_one_of_the_statement():
    with pytest.raises(SqlError, match="in its outer SELECT"):
        queries_of("SELECT COUNT(*) AS n FROM (SELECT WITH DIFFERENTIAL_PRIVACY * FROM visits) v", "bigquery")


def test_the_words_of_the_clause_in_a_text_mean_nothing():
    text = "SELECT COUNT(*) AS n FROM visits WHERE code = 'SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1)'"
    frame = "visits.where(visits.code == 'SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1)').agg(n=dp.count())"
    assert fingerprint_of(queries_of(text, "bigquery")) == fingerprint_of(frame_queries(frame))


@pytest.mark.parametrize("options", ["epsilon = 1 delta = 1e-9", "epsilon = 1,", "'epsilon' = 1", "delta = 1", ", "])
def test_options_are_names_and_numbers_with_commas_between_them(options):
    with pytest.raises(SqlError):
        queries_of(f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS ({options}) COUNT(*) AS n FROM visits", "bigquery")
