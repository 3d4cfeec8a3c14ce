"""Groups: steps that are one value are one group, and the calendar has an end."""

import pytest

import discreet as dp
from query.sql.statements import queries_of

PERIODS = "SELECT DATE_TRUNC('{}', {}) AS g, COUNT(*) AS n FROM visits WHERE {} GROUP BY g"


def test_steps_that_are_all_zero_are_not_several_groups():
    with pytest.raises(dp.Refusal):
        queries_of("SELECT FLOOR(age / 10.0) * 0 AS g, COUNT(*) AS n FROM visits GROUP BY g", "duckdb")


def test_periods_end_with_the_calendar():
    (query,) = queries_of(PERIODS.format("year", "day", "day >= '9990-01-01' AND day <= '9999-12-31'"), "duckdb")
    assert len(query.plan.grouping.values[0]) == 10
    assert queries_of(PERIODS.format("day", "day", "day < '0001-01-01' AND day >= '0001-01-01'"), "duckdb")


@pytest.mark.parametrize(
    ("unit", "column", "limits", "because"),
    [
        ("hour", "day", "day >= '2026-01-01' AND day < '2026-02-01'", "a date has no hours"),
        ("minute", "seen", "seen >= '0001-01-01' AND seen < '9999-01-01'", "more than 100,000 periods"),
    ],
)
def test_periods_that_are_none_or_too_many_are_refused(unit, column, limits, because):
    with pytest.raises(dp.Refusal, match=because):
        queries_of(PERIODS.format(unit, column, limits), "duckdb")


def test_a_period_of_a_constant_is_refused_with_advice():
    """BigQuery's DATE_TRUNC has the date first, so this is the day of a text."""
    with pytest.raises(dp.Refusal, match="its keys are not public"):
        queries_of("SELECT DATE_TRUNC('quarter', day) AS g, COUNT(*) AS n FROM visits GROUP BY 1", "bigquery")
