"""Dialects are data: names are quoted, and constants are read back as they were."""

import pytest

from discreet.engines.backends import duckdb
from discreet.engines.sql.dialect import StorageType, finite


@pytest.mark.parametrize(("name", "quoted"), [("a", '"a"'), ('q"q', '"q""q"'), ("", '""'), ("it's", '"it\'s"')])
def test_a_name_is_an_identifier_whatever_it_holds(name, quoted):
    assert duckdb.DIALECT.identifier(name) == quoted


@pytest.mark.parametrize(("value", "text"), [(0.5, "0.5e0"), (1e150, "1e+150"), (-2.0, "-2.0e0"), (5e-324, "5e-324")])
def test_a_double_has_an_exponent_so_that_no_engine_takes_it_for_a_decimal(value, text):
    assert finite(value) == text
    assert float(text) == value


def test_stored_types_begin_with_the_declared_ones():
    assert [str(kind) for kind in StorageType][:6] == ["integer", "real", "text", "boolean", "date", "timestamp"]
