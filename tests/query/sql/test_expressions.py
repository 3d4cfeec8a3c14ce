"""Expressions of a row mean here what they mean in their dialect, or are refused."""

import pytest

import discreet as dp
from discreet.errors import SqlError
from query.sql.statements import DIALECTS, fingerprint_of, frame_queries, queries_of


def asked(condition, dialect="duckdb"):
    return fingerprint_of(queries_of(f"SELECT COUNT(*) AS n FROM visits WHERE {condition}", dialect))


def frame(condition):
    return fingerprint_of(frame_queries(f"visits.where({condition}).agg(n=dp.count())"))


WHOLE = ["age", "(age + 1)", "-age", "(age * nights)", "COALESCE(age, 0)", "CASE WHEN urgent THEN age ELSE 0 END"]


@pytest.mark.parametrize("whole", WHOLE)
def test_whole_numbers_are_not_divided_where_their_dialect_cuts_off_the_fraction(whole):
    with pytest.raises(SqlError, match="lose their fraction"):
        asked(f"{whole} / 2 > 3", "postgres")
    assert asked(f"{whole} / 2.0 > 3", "postgres")
    assert asked(f"{whole} / 2 > 3", "duckdb")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_real_number_is_never_cast_to_a_whole_one(dialect):
    """Halves are rounded up here, to even or away from zero elsewhere, and Spark cuts off."""
    with pytest.raises(SqlError, match="engines round a real number in different ways"):
        asked("CAST(cost AS BIGINT) > 3", dialect)
    assert asked("CAST(code AS BIGINT) > 3", dialect) == frame("visits.code.cast('integer') > 3")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_negation_inside_a_predicate_is_kept(dialect):
    assert asked("age IS NOT NULL", dialect) == frame("visits.age.is_present()") != asked("age IS NULL", dialect)
    assert asked("code NOT LIKE 'A%'", dialect) == frame("~visits.code.starts_with('A')")
    assert asked("age NOT IN (1)", dialect) == frame("~visits.age.is_in([1])")
    assert asked("age NOT BETWEEN 1 AND 2", dialect) == frame("~visits.age.between(1, 2)")


@pytest.mark.parametrize("text", ["2026-01-01 00:00+02:00", "2026-01-01 00:00Z", "2026-W01-1", "20260101", "2026-1-1"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_time_has_no_zone_and_one_form(text, dialect):
    with pytest.raises(SqlError, match="in ISO form without a zone"):
        asked(f"seen > TIMESTAMP '{text}'", dialect)


def test_weeks_begin_on_monday_or_are_refused():
    week = "day BETWEEN '2026-01-01' AND '2026-01-09' AND DATE_TRUNC(day, {}) = '2026-01-05'"
    assert asked(week.format("WEEK(MONDAY)"), "bigquery") == asked(week.format("ISOWEEK"), "bigquery")
    for unit in ("WEEK", "WEEK(SUNDAY)"):
        with pytest.raises(SqlError, match="Monday"):
            asked(week.format(unit), "bigquery")


def test_a_prefix_is_text():
    with pytest.raises(SqlError, match="a prefix is text"):
        asked("starts_with(code, 5)")


def test_buckets_have_exact_edges():
    text = "SELECT WIDTH_BUCKET(age, 0, 30, 3) AS g, COUNT(*) AS n FROM visits GROUP BY g"
    made = "visits.derive(g=visits.age.bin([0, 10, 20, 30])).group_by('g', keys={'g': range(5)}).agg(n=dp.count())"
    assert fingerprint_of(queries_of(text, "duckdb")) == fingerprint_of(frame_queries(made))


@pytest.mark.parametrize("limits", ["'a', 100, 10", "100, 0, 10", "0, 100, 0", "0, 100, 2.5", "0, 100", "TRUE, 5, 2"])
def test_buckets_of_another_kind_are_refused(limits):
    with pytest.raises(dp.Refusal):
        queries_of(f"SELECT WIDTH_BUCKET(age, {limits}) AS g, COUNT(*) AS n FROM visits GROUP BY g", "duckdb")
