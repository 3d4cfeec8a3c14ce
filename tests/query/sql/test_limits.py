"""Statements that are too long or too deep are refused at once, and so are numbers without end."""

import time
from fractions import Fraction

import pytest

import discreet as dp
from discreet.errors import SqlError
from discreet.query.sql.limits import number
from discreet.query.sql.parsing import parse_statement
from query.sql.statements import queries_of

WHERE = "SELECT COUNT(*) AS n FROM visits WHERE "
TOO_MUCH = {
    "characters": "SELECT COUNT(*) AS n FROM visits" + " " * 20_000,
    "words": f"{WHERE}age IN ({', '.join(map(str, range(1_200)))})",
    "brackets": WHERE + "(" * 30 + "age > 3" + ")" * 30,
    "open brackets": WHERE + "(" * 1_500,
    "negations": f"{WHERE}{'NOT ' * 30}urgent",
    "signs": f"{WHERE}age > {'- ' * 30}3",
    "cases": WHERE + "CASE WHEN urgent THEN " * 30 + "1" + " END" * 30 + " = 1",
    "subqueries": "SELECT COUNT(*) AS n FROM " + "(SELECT * FROM " * 30 + "visits" + ") v" * 30,
    "conditions": WHERE + " AND ".join(["age > 3"] * 400),
    "alternatives": WHERE + " OR ".join(["age > 3"] * 250),
    "sums": f"{WHERE}age > {' + '.join(['1'] * 300)}",
    "an exponent": f"{WHERE}age > 1e999999999",
    "an exponent of bounds": "SELECT SUM(LEAST(GREATEST(fee, 0), 1e999999999)) AS s FROM visits",
    "an exponent of an option": "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (delta = 1e-999999999) COUNT(*) FROM visits",
    "an exponent of a width": "SELECT FLOOR(age / 1e-999999999) AS g, COUNT(*) AS n FROM visits GROUP BY 1",
}


@pytest.mark.parametrize("name", TOO_MUCH)
def test_too_much_is_refused_at_once(name):
    started = time.process_time()
    with pytest.raises(dp.Refusal):
        queries_of(TOO_MUCH[name], "duckdb")
    assert time.process_time() - started < 1


def test_long_chains_within_the_limits_are_answered():
    assert queries_of(WHERE + " AND ".join(["age > 3"] * 80), "duckdb")
    assert queries_of(f"{WHERE}age IN ({', '.join(map(str, range(900)))})", "duckdb")


def test_a_number_is_exact_and_of_ordinary_size():
    assert number("0.1") == Fraction(1, 10)
    assert number("1e300") == 10**300
    assert number("1e301") is number("1e999999999") is number("nan") is number("x") is None


@pytest.mark.parametrize(
    ("text", "because"),
    [
        ("SELECT COUNT(*) AS n FROM visits WHERE EXTRACT(YEAR FROM seen = 2026", "it is not closed"),
        ("SELECT COUNT(*) AS n FROM visits)", "no bracket was opened for it"),
        ("SELECT COUNT(*] AS n FROM visits", "no bracket was opened for it"),
        ("SELECT ward, , COUNT(*) AS n FROM visits GROUP BY ward", "between it and the next comma"),
        ("SELECT COUNT(*) AS n FROM visits WHERE COALESCE(age, , 0) > 3", "between it and the next comma"),
        ("SELECT COUNT(*) AS, 5 AS five FROM visits", "no name follows it"),
        ("SELECT COUNT(*) AS :: FROM visits", "no name follows it"),
    ],
)
def test_signs_that_a_parser_is_generous_with_are_refused(text, because):
    with pytest.raises(dp.Refusal, match=because):
        queries_of(text, "duckdb")


@pytest.mark.parametrize("word", ["DATE(", "TIMESTAMP(", "STRUCT(", "ARRAY["])
@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "spark", "bigquery", "snowflake"])
def test_types_with_brackets_within_each_other_are_refused_at_once(word, dialect):
    """The parser reads each level twice: 14 levels took 1.6 s."""
    close = "]" if word.endswith("[") else ")"
    text = f"SELECT COUNT(*) AS n FROM visits WHERE {word * 20}1{close * 20} = 1"
    started = time.process_time()
    with pytest.raises(SqlError):
        parse_statement(text, dialect)
    assert time.process_time() - started < 0.1
