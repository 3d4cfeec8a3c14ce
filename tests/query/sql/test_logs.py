"""sqlglot logs parts of statements by itself, and nothing of those that are read here."""

import logging

import pytest
import sqlglot

import discreet as dp
from discreet.query.sql.logs import no_parser_logs
from query.sql.statements import CATALOG

LOGGED = "ALTER TABLE visits UNKNOWN 'secret word'"
HALF = "SELECT COUNT(*) AS n FROM visits WHERE 'secret word' <>"


def _texts(caplog):
    return "".join(record.getMessage() for record in caplog.records if record.name == "sqlglot")


def test_a_program_that_uses_sqlglot_sees_its_logs_as_before(caplog):
    with caplog.at_level(logging.DEBUG):
        sqlglot.parse(LOGGED)
    assert "secret word" in _texts(caplog)


def test_nothing_is_logged_while_a_statement_is_read(caplog):
    with caplog.at_level(logging.DEBUG):
        with no_parser_logs():
            sqlglot.parse(LOGGED)
        for text in (LOGGED, HALF, "SELECT 'secret word' |"):
            with pytest.raises(dp.Refusal):
                dp.sql(text).translate(CATALOG)
    assert "secret word" not in caplog.text
    assert not _texts(caplog)


@pytest.mark.parametrize("dialect", ["bigquery", "duckdb"])
def test_a_warning_of_the_fuzzer_stays_out_of_the_log(dialect, caplog):
    """The parser annotates types and warns of an operator that lacks one of its sides."""
    with caplog.at_level(logging.DEBUG), pytest.raises(dp.Refusal):
        dp.sql("SELECT COUNT(*) AS n FROM visits WHERE age IN (ORDINAL(2) |) AND <> age", dialect=dialect).translate(
            CATALOG
        )
    assert not _texts(caplog)
