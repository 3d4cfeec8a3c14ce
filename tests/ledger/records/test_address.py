"""Addresses of databases are told from paths by their scheme, in any case; those of other kinds are not paths."""

from pathlib import Path

import pytest

from discreet.cli.opening import existing_file
from discreet.errors import ParameterError
from discreet.ledger import open_ledger
from discreet.ledger.records.address import in_lower_case, is_address, is_other_address
from discreet.ledger.stores.anchor_places import absolute_place

OTHER_ADDRESSES = [
    "svc:s3cret@host/db",
    "//svc:s3cret@host/db",
    "postgresql//svc:s3cret@host/db",
    "mysql:/svc:s3cret@host/db",
    "mysql://svc:s3cret@host/db",
    "postgresql:/svc:s3cret@host/db",
    "postgresql+psycopg://svc:s3cret@host/db",
    " postgresql://svc:s3cret@127.0.0.1:1/db",
    "mnt/postgresql://svc:s3cret@host/db",
    "/mnt/postgresql://svc:s3cret@host/db",
    "host=db dbname=records user=svc password=s3cret",
    "host=db.example.org user=svc",
    "connect_timeout=9 host=db",
    "sslmode=require x",
    "passfile=x",
    "password = s3cret",
    "/mnt/anchors?Password = s3cret",
    "C://svc:s3cret@host/db",
]
PATHS = [
    "ledger.sqlite",
    "postgresql.sqlite",
    "postgresql:ledger",
    "data@2024/ledger.sqlite",
    "/mnt/data@2024/ledger.sqlite",
    "ann@host",
    "year=2024/ledger.sqlite",
    "/mnt/host=1/ledger.sqlite",
    "data/user=ann/ledger.sqlite",
    "anchors:2",
    "10:30/ledger.sqlite",
    "/mnt/a:b@c",
    "/mnt//a:b@c",
    "./svc:2@host/ledger.sqlite",
    "C:/x",
    "C:/a@b/ledger.sqlite",
    "",
]


@pytest.mark.parametrize("text", ["postgresql://db/ledger", "Postgres://db/ledger", "POSTGRESQL://db"])
def test_an_address_begins_with_the_scheme_of_postgresql(text):
    assert is_address(text)
    assert in_lower_case(text).startswith("postgresql://db")


@pytest.mark.parametrize("text", ["ledger.sqlite", "postgresql:/db", "/mnt/postgresql://db", "mysql://db", ""])
def test_anything_else_is_none(text):
    assert not is_address(text)


def test_only_the_scheme_is_changed():
    assert in_lower_case("Postgres://Ann@DB/postgres://X") == "postgresql://Ann@DB/postgres://X"


@pytest.mark.guarantee("ledger")
@pytest.mark.parametrize("caller", [open_ledger, existing_file, absolute_place])
@pytest.mark.parametrize("text", OTHER_ADDRESSES)
def test_an_address_of_another_kind_is_refused_by_all_without_being_repeated(caller, text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert is_other_address(text)
    with pytest.raises(ParameterError, match="begins with postgresql://") as caught:
        caller(text)
    assert text.strip() not in str(caught.value)
    assert "s3cret" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", PATHS)
def test_a_path_with_the_signs_of_an_address_in_its_names_stays_a_path(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert not is_other_address(text)
    assert absolute_place(text) == str(Path(text).absolute())
    with pytest.raises(ParameterError, match="no file at that path"):
        existing_file(text)
