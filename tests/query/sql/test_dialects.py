"""The dialects: five, by several names, and the one of each engine."""

import pytest

from discreet.errors import ParameterError
from discreet.query.sql.dialects import DIALECTS, checked_dialect, dialect_of_engine


def test_each_dialect_is_known_by_its_name_in_any_capitals():
    assert [checked_dialect(name.upper()) for name in DIALECTS] == list(DIALECTS)
    assert checked_dialect("postgresql") == "postgres"


@pytest.mark.parametrize("name", ["mysql", "", None, 5, "duckdbb"])
def test_another_dialect_is_refused_with_the_nearest_one(name):
    with pytest.raises(ParameterError, match="the dialects are duckdb"):
        checked_dialect(name)


def test_an_engine_has_the_dialect_that_it_speaks_and_duckdbs_where_it_is_not_known():
    engines = ("DuckDB", "PostgreSQL", "Spark", "SQLite", "Other", "NoneType")
    assert [dialect_of_engine(name) for name in engines] == [
        "duckdb",
        "postgres",
        "spark",
        "duckdb",
        "duckdb",
        "duckdb",
    ]
