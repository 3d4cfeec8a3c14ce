"""A text becomes one SELECT, and no word of it is lost on the way."""

import pytest

from discreet.errors import SqlError
from discreet.query.sql.parsing import parse_statement
from query.sql.statements import queries_of

LOST = {
    "SELECT PERCENTILE(age, 0.5, 2) AS x FROM visits": ("spark", "'2' in line 1, column 29"),
    "SELECT PERCENTILE(age, 0.5, nights) AS x FROM visits": ("spark", "'nights' in line 1, column 29"),
    "SELECT ward, COUNT(*) AS n FROM visits\nGROUP BY DISTINCT ward": ("postgres", "'DISTINCT' in line 2, column 10"),
    "SELECT COUNT(*) AS n FROM visits *": ("duckdb", "'*' in line 1, column 34"),
}


@pytest.mark.pitfall("A20")
@pytest.mark.parametrize("text", LOST)
def test_a_word_that_the_parser_ignores_is_refused_with_its_place(text):
    dialect, place = LOST[text]
    with pytest.raises(SqlError, match="the parser ignores it") as caught:
        queries_of(text, dialect)
    assert caught.value.what == place


def test_another_statement_is_never_given_to_the_parser(caplog):
    for text in ("EXPLAIN SELECT 1", "SHOW TABLES", "SELECT COUNT(*) AS n FROM visits; CALL f()"):
        with pytest.raises(SqlError):
            parse_statement(text, "duckdb")
    assert not caplog.records  # sqlglot logs the text of a command


def test_one_semicolon_at_the_end_is_part_of_the_statement():
    assert parse_statement("SELECT COUNT(*) AS n FROM visits;", "duckdb").dropped is None


def test_a_class_of_the_parser_is_in_no_message():
    with pytest.raises(SqlError, match="a part of the statement is missing here"):
        parse_statement("SELECT COUNT(*) AS n FROM visits WHERE", "duckdb")


@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "snowflake"])
def test_a_type_with_a_zone_is_refused_where_times_have_none(dialect):
    with pytest.raises(SqlError, match="settings of the engine"):
        parse_statement("SELECT COUNT(*) AS n FROM visits WHERE seen > TIMESTAMPTZ '2026-01-01'", dialect)


def test_a_path_in_one_pair_of_quotes_is_read_as_its_parts():
    text = "SELECT COUNT(*) AS n FROM `hospital.data.visits`"
    assert parse_statement(text, "bigquery").dropped is None
    lost = parse_statement(f"{text} WHERE ward = 'x' -- hospital", "bigquery")
    assert lost.dropped is None
    with pytest.raises(SqlError, match="line 1, column"):
        queries_of("SELECT COUNT(*) AS n FROM visits AT `a.b`", "bigquery")
