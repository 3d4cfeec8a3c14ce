"""Addresses of databases are told from paths by their scheme, in any case."""

import pytest

from discreet.ledger.records.address import in_lower_case, is_address


@pytest.mark.parametrize("text", ["postgresql://db/ledger", "Postgres://db/ledger", "POSTGRESQL://db"])
def test_an_address_begins_with_the_scheme_of_postgresql(text):
    assert is_address(text)
    assert in_lower_case(text).startswith("postgresql://db")


@pytest.mark.parametrize("text", ["ledger.sqlite", "postgresql:/db", "/mnt/postgresql://db", "mysql://db", ""])
def test_anything_else_is_none(text):
    assert not is_address(text)


def test_only_the_scheme_is_changed():
    assert in_lower_case("Postgres://Ann@DB/postgres://X") == "postgresql://Ann@DB/postgres://X"
