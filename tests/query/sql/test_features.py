"""A subquery that groups by the unit: features have names of their own."""

import pytest

import discreet as dp
from query.sql.statements import queries_of


@pytest.mark.parametrize(
    "features", ["COUNT(*) AS k, SUM(age) AS k", "COUNT(*) AS k, MAX(age) AS K", "COUNT(*) AS patient_id"]
)
def test_two_columns_of_a_subquery_have_two_names(features):
    text = f"SELECT COUNT(*) AS n FROM (SELECT patient_id, {features} FROM visits GROUP BY patient_id) p"
    with pytest.raises(dp.Refusal):
        queries_of(text, "duckdb")


def test_a_feature_beside_a_column_of_a_joined_table_keeps_its_name():
    units = "(SELECT patient_id, COUNT(*) AS dose FROM visits GROUP BY patient_id) p"
    (query,) = queries_of(
        f"SELECT COUNT(*) AS n FROM {units} JOIN prescriptions r USING (patient_id) WHERE p.dose > r.dose", "duckdb"
    )
    assert query.plan.source.predicate.right.name == "prescriptions_dose"
