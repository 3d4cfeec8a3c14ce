"""What follows the aggregates: conditions are conditions, and names are those that SQL means."""

import pytest

import discreet as dp
from discreet.errors import SqlError
from query.sql.statements import CATALOG, DIALECTS, queries_of

BY_WARD = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"


def translation(text, dialect="duckdb"):
    return dp.sql(text, dialect=dialect).translate(CATALOG)


@pytest.mark.pitfall("A20")
@pytest.mark.parametrize("dialect", DIALECTS)
def test_not_is_kept_in_a_condition_on_noisy_numbers(dialect):
    having = translation(f"{BY_WARD} HAVING SUM(age) IS NOT NULL", dialect).recipe.having
    assert (having.sign, having.operands[0].sign) == ("not", "is null")


@pytest.mark.parametrize("condition", ["5", "COUNT(*)", "ward", "NOT COUNT(*)", "COUNT(*) AND TRUE", "'x'"])
def test_a_condition_is_true_or_false(condition):
    with pytest.raises(SqlError, match="a condition is true or false"):
        translation(f"{BY_WARD} HAVING {condition}")


@pytest.mark.parametrize("condition", ["COUNT(*) > 'x'", "ward > 3", "ward IN ('A', 3)", "COUNT(*) BETWEEN 1 AND 'x'"])
def test_a_constant_of_another_type_is_refused_as_no_row_would_meet_it(condition):
    with pytest.raises(SqlError, match="a constant of another type"):
        translation(f"{BY_WARD} HAVING {condition}")


def test_a_date_is_compared_with_a_date():
    months = (
        "SELECT DATE_TRUNC('month', day) AS m, COUNT(*) AS n FROM visits "
        "WHERE day >= '2026-01-01' AND day < '2026-03-01' GROUP BY m HAVING m >= "
    )
    assert translation(f"{months} DATE '2026-02-01'").recipe.having
    with pytest.raises(SqlError, match="a constant of another type"):
        translation(f"{months} '2026-02-01'")


def test_order_by_means_the_column_of_select_and_having_never_guesses():
    text = "SELECT ward, SUM(cost) AS cost FROM visits GROUP BY ward"
    assert translation(f"{text} ORDER BY cost").recipe.order[0].column.name == "cost"
    with pytest.raises(SqlError, match="neither an aggregate nor in GROUP BY"):
        translation(f"{text} HAVING cost > 3")
    names = "ward AS code, code AS ward, COUNT(*) AS n"
    swapped = f"SELECT {names} FROM visits WHERE code IN ('x') GROUP BY visits.ward, visits.code"
    assert translation(f"{swapped} ORDER BY code").recipe.order[0].column.column == "ward"


@pytest.mark.parametrize("order", ["7", "0", "-1", "'n'", "1.5"])
def test_a_constant_orders_nothing(order):
    with pytest.raises(SqlError, match="no column of that number"):
        translation(f"{BY_WARD} ORDER BY {order}")


@pytest.mark.parametrize("limit", ["LIMIT -1", "LIMIT 1 OFFSET -1", "LIMIT 1.5"])
def test_a_limit_is_not_below_zero(limit):
    with pytest.raises(SqlError, match="it is a whole number"):
        translation(f"{BY_WARD} ORDER BY n {limit}")


QUOTIENTS = [
    "SUM(age) / COUNT(*)",
    "SUM(LEAST(GREATEST(age + 1, 0), 9)) / COUNT(*)",
    "SUM(CASE WHEN cost > 1.5 THEN 1 ELSE 0 END) / COUNT(*)",
    "COUNT(*) FILTER (WHERE cost > 0.5) / COUNT(*)",
    "PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY age) / 2",
]


@pytest.mark.parametrize("quotient", QUOTIENTS)
def test_a_fraction_in_a_condition_makes_no_fraction_of_a_quotient(quotient):
    with pytest.raises(SqlError, match="lose their fraction"):
        translation(f"SELECT {quotient} AS x FROM visits", "postgres")


@pytest.mark.parametrize(
    "quotient", ["SUM(cost) / COUNT(*)", "AVG(age) / 2", "SUM(age) / 2.0", "SUM(age * 0.5) / COUNT(*)"]
)
def test_a_quotient_of_a_real_number_keeps_its_fraction(quotient):
    text = quotient.replace("SUM(age * 0.5)", "SUM(LEAST(GREATEST(age * 0.5, 0), 60))")
    assert translation(f"SELECT {text} AS x FROM visits", "postgres").recipe.columns["x"].sign == "/"


def test_the_same_aggregate_in_other_words_is_asked_once():
    (query,) = queries_of(
        "SELECT SUM(cost) AS a, SUM(visits.COST) AS b, COUNT(*) AS c, COUNT(1) AS d FROM visits", "duckdb"
    )
    assert [output.name for output in query.plan.outputs] == ["a", "c"]


@pytest.mark.parametrize("value", ["ward + 1", "COUNT(*) + 'x'", "COUNT(*) + TRUE", "(COUNT(*) > 3) * 2"])
def test_arithmetic_is_of_numbers(value):
    with pytest.raises(SqlError):
        translation(f"SELECT ward, COUNT(*) AS n, {value} AS x FROM visits GROUP BY ward")
