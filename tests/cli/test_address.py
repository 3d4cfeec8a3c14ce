"""An address is told from a path, and no part of one is shown."""

import pytest
import typer

from discreet.cli.address import NOT_SHOWN, in_lower_case, is_address, name, without_addresses


@pytest.mark.parametrize("text", ["postgresql://db/records", "postgres://ann:x@db", "PostgreSQL://db"])
def test_an_address_is_known_by_its_scheme(text):
    assert is_address(text)


def test_the_scheme_is_given_as_the_library_of_postgresql_reads_it():
    assert in_lower_case("Postgres://Ann:X@db/postgres://") == "postgresql://Ann:X@db/postgres://"


@pytest.mark.parametrize("text", ["ledger.sqlite", "./postgresql:/", "postgresql", "host=db dbname=records"])
def test_anything_else_is_a_path(text):
    assert not is_address(text)


@pytest.mark.parametrize(
    "secret",
    ["postgresql://ann:hunter2@db", "postgres:/ann:hunter2@db", "host=db password=hunter2", "PASSWORD = hunter2"],
)
def test_a_text_is_cut_off_before_a_password_can_come(secret):
    shown = without_addresses(f"no such command '{secret}', or another")
    assert shown.startswith("no such command '")
    assert shown.endswith(NOT_SHOWN)
    assert "hunter2" not in shown


def test_a_text_without_an_address_stays_as_it_is():
    assert without_addresses("no such command 'docter'") == "no such command 'docter'"


def test_an_address_is_no_name():
    assert name("visits") == "visits"
    with pytest.raises(typer.BadParameter) as refused:
        name("postgresql://ann:hunter2@db")
    assert "hunter2" not in str(refused.value)
