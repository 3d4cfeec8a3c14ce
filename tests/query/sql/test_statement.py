"""A statement as a value: text and dialect, without data."""

import subprocess
import sys
from decimal import Decimal
from fractions import Fraction

import pytest

import discreet as dp
from discreet.errors import ParameterError, SqlError
from discreet.query.sql.statement import option
from discreet.query.sql.translation import Translation
from discreet.release.noisy_columns import ConstantColumn, TableRecipe


def test_a_statement_is_printed_on_one_line():
    assert repr(dp.sql("SELECT COUNT(*)\n  FROM visits")) == "SQL (duckdb): SELECT COUNT(*) FROM visits"


def test_statements_of_the_same_text_are_equal():
    assert dp.sql("SELECT COUNT(*) FROM visits") == dp.sql("SELECT COUNT(*) FROM visits")
    assert dp.sql("SELECT COUNT(*) FROM visits") != dp.sql("SELECT COUNT(*) FROM visits", dialect="spark")


@pytest.mark.parametrize("text", [None, 5, b"SELECT 1", ["SELECT 1"]])
def test_what_is_not_text_is_refused(text):
    with pytest.raises(ParameterError, match="a statement is text"):
        dp.sql(text)


def test_an_option_of_the_statement_is_used_and_must_not_contradict_the_call():
    translation = Translation((), TableRecipe({"n": ConstantColumn(1)}), {"epsilon": Fraction(1, 2)})
    assert option(translation, "epsilon", None) == Fraction(1, 2)
    assert option(translation, "epsilon", 0.5) == 0.5
    assert option(translation, "epsilon", Decimal("0.50")) == Decimal("0.5")
    assert option(translation, "delta", 1e-9) == 1e-9
    with pytest.raises(SqlError, match="different ones"):
        option(translation, "epsilon", 1)


def test_the_parser_is_loaded_with_the_first_statement_and_not_with_a_session():
    script = "import sys, discreet as dp; dp.Session; print('sqlglot' in sys.modules); dp.sql('SELECT COUNT(*) FROM t')"
    done = subprocess.run(
        [sys.executable, "-c", f"{script}; print('sqlglot' in sys.modules)"], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "True"]
