"""Arithmetic of constants is exact, and dates move only where every dialect moves them alike."""

import datetime as dt
from collections import Counter
from decimal import Decimal

import duckdb
import pytest
import sqlglot

from discreet.errors import SqlError
from discreet.query.sql import expressions
from discreet.query.sql.expressions import constant
from query.sql.statements import fingerprint_of, frame_queries, queries_of


def value(text):
    return constant(sqlglot.parse_one(f"SELECT {text}", dialect="duckdb").expressions[0])


def asked(condition, dialect="duckdb"):
    return fingerprint_of(queries_of(f"SELECT COUNT(*) AS n FROM visits WHERE {condition}", dialect))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0.06 + 0.01", Decimal("0.07")),
        ("(2 + 3) * -4", -20),
        ("1.5 * 2", Decimal("3.0")),
        ("DATE '1998-12-01' - INTERVAL '90' DAY", dt.date(1998, 9, 2)),
        ("DATE '2026-12-28' + INTERVAL '2' MONTH", dt.date(2027, 2, 28)),
        ("DATE '2024-02-28' - INTERVAL 1 YEAR", dt.date(2023, 2, 28)),
        ("DATE '2026-01-31' + INTERVAL 2 WEEKS + INTERVAL 1 DAY", dt.date(2026, 2, 15)),
        ("TIMESTAMP '2026-01-31 12:30' + INTERVAL 1 DAY", dt.datetime.fromisoformat("2026-02-01 12:30")),
    ],
)
def test_arithmetic_of_constants_is_what_an_engine_computes(text, expected):
    assert value(text) == expected
    assert type(value(text)) is type(expected)
    (found,) = duckdb.connect().execute(f"SELECT ({text}) = ({_literal(expected)})").fetchone()
    assert found


def _literal(known):
    if isinstance(known, dt.date):
        return f"{'TIMESTAMP' if isinstance(known, dt.datetime) else 'DATE'} '{known}'"
    return str(known)


@pytest.mark.parametrize(
    "text",
    [
        "age + 1",
        "TRUE + 1",
        "'1' + 1",
        "DATE '2026-01-31' + INTERVAL '1' MONTH",
        "DATE '2024-02-29' + INTERVAL '1' YEAR",
        "DATE '9999-12-01' + INTERVAL '1' MONTH",
        "DATE '0001-01-01' - INTERVAL '1' DAY",
        "DATE '2026-01-01' + INTERVAL '1' HOUR",
        "DATE '2026-01-01' + INTERVAL '1.5' DAY",
        "DATE '2026-01-01' + INTERVAL '9999999999' DAY",
        "DATE '2026-01-01' + 3",
        "1" + "0" * 60 + ".5 * 1" + "0" * 60 + ".5",
    ],
)
def test_what_is_no_constant_or_differs_between_dialects_is_left(text):
    assert value(text) is None


def test_a_decimal_is_not_lost_at_the_end_of_a_range():
    """In doubles 0.06 + 0.01 is below 0.07, and rows with 0.07 would not count."""
    assert asked("cost <= 0.06 + 0.01") == asked("cost <= 0.07")
    assert 0.06 + 0.01 < 0.07


def test_a_number_of_a_column_that_is_computed_is_not_its_place():
    with pytest.raises(SqlError):
        queries_of("SELECT ward, COUNT(*) AS n FROM visits GROUP BY 2 - 1", "duckdb")


def test_constants_beside_columns_are_computed():
    made = "visits.where(visits.age * 6 > 7).agg(n=dp.count())"
    assert asked("age * (2 * 3) > 3 + 4") == fingerprint_of(frame_queries(made))


def test_a_long_sum_is_looked_through_once(monkeypatch):
    """Each term is looked at a few times; without the note in a sum the number of looks is quadratic."""
    looks = Counter()

    def look(node):
        looks["all"] += 1
        return constant(node)

    monkeypatch.setattr(expressions, "constant", look)
    asked("age" + " + 1" * 90 + " > 5")
    assert 90 <= looks["all"] <= 90 * 6
