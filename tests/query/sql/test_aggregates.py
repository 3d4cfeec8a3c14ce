"""Calls of aggregates: all of their arguments count."""

import pytest

from discreet.errors import SqlError
from query.sql.statements import queries_of

REFUSED = {
    "COUNT()": "an aggregate of nothing",
    "SUM()": "missing here",
    "COUNTIF(DISTINCT urgent)": "DISTINCT has no translation",
    "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY age, cost)": "a quantile has one column",
    "APPROX_QUANTILES(age, 4)[OFFSET(1), OFFSET(2)]": "one quantile is taken",
    "APPROX_QUANTILES(DISTINCT age, 4)[OFFSET(1)]": "one quantile is taken",
    "APPROX_QUANTILES(age, 4)[OFFSET('x')]": "one person's values",
    "SUM(LEAST(GREATEST(fee, FALSE), TRUE))": "bounds",
}


@pytest.mark.parametrize("call", REFUSED)
def test_a_call_with_other_arguments_is_refused(call):
    with pytest.raises(SqlError, match=REFUSED[call]):
        queries_of(f"SELECT {call} AS x FROM visits", "bigquery")
