"""Places of shared anchors: a directory or a database, recorded without a password; a missing mount is refused."""

import re

import pytest

from discreet.errors import LedgerError, ParameterError
from discreet.ledger import SQLiteLedger
from discreet.ledger.integrity.shared_anchors import store_document
from discreet.ledger.records import faults
from discreet.ledger.stores.anchor_database import AnchorDatabase
from discreet.ledger.stores.anchor_directory import AnchorDirectory
from discreet.ledger.stores.anchor_places import (
    anchor_store_at,
    public_place,
    refuse_missing_mount,
    shown_place,
)

LEDGER, STORE = "ab" * 16, "cd" * 16


def test_an_address_is_a_database_and_anything_else_a_directory():
    assert isinstance(anchor_store_at("postgresql://db.example.org/anchors", LEDGER), AnchorDatabase)
    assert isinstance(anchor_store_at("Postgres://db.example.org/anchors", LEDGER), AnchorDatabase)
    assert isinstance(anchor_store_at("/mnt/anchors", LEDGER), AnchorDirectory)


@pytest.mark.parametrize(
    ("where", "kept"),
    [
        ("/mnt/anchors", "/mnt/anchors"),
        ("postgresql://ann:s3cret@db.example.org:5433/a", "postgresql://db.example.org:5433/a"),
        ("postgres://db.example.org/a?password=s3cret", "postgresql://db.example.org/a"),
        ("postgresql://ann:s3cret?4@db.example.org/a", "postgresql://db.example.org/a"),
        ("postgresql://ann:s3cret#4@db.example.org/a", "postgresql://db.example.org/a"),
        ("postgresql://db.example.org?password=s3cret", "postgresql://db.example.org/"),
        ("postgresql://?host=/var/run/pg&dbname=a&user=ann&password=s3cret", "postgresql://%2Fvar%2Frun%2Fpg/a"),
        ("postgresql://ann@db.example.org?dbname=a&password=x/s3cret", "postgresql://db.example.org/a"),
        ("postgresql://ann:s3cret@one:1,two:2/a?target_session_attrs=any", "postgresql://one:1,two:2/a"),
        ("postgresql://ann:s3cret@[::1]:5433/a", "postgresql://[::1]:5433/a"),
        ("Postgres://ann:s3cret@/a?hostaddr=127.0.0.1&port=5", "postgresql://127.0.0.1:5/a"),
    ],
)
def test_no_password_is_kept(where, kept):
    assert public_place(where) == kept
    assert public_place(kept) == kept


def test_an_address_that_cannot_be_read_is_refused_and_not_repeated():
    with pytest.raises(LedgerError, match=re.escape(faults.BAD_ADDRESS)):
        public_place("postgresql://ann:s3/cret@db.example.org/a")


@pytest.mark.guarantee("ledger")
@pytest.mark.parametrize("place", ["mnt/postgresql://svc:s3cret@host/db", "svc:s3cret@host/db", "sslmode=require x"])
def test_anchors_at_an_address_of_another_kind_are_refused_and_change_nothing(place, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with SQLiteLedger(tmp_path / "ledger.sqlite") as ledger:
        with pytest.raises(ParameterError) as caught:
            ledger.share_anchors(place, reason="a test")
        assert "s3cret" not in str(caught.value)
        assert "db.example.org/anchors" in caught.value.instead
        assert ledger.shared_anchors_place is None
    assert [path for path in tmp_path.iterdir() if path.is_dir()] == []


def test_a_directory_under_one_that_is_not_there_is_refused_and_not_made(tmp_path):
    refuse_missing_mount(str(tmp_path / "anchors"))
    mistyped = tmp_path / "mont" / "anchors"
    with pytest.raises(ParameterError, match="above it is not there"):
        refuse_missing_mount(str(mistyped))
    with pytest.raises(LedgerError):
        AnchorDirectory(mistyped, LEDGER).create(store_document(LEDGER, STORE))
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_was_typed_is_shown_only_where_nothing_of_it_may_be_a_password():
    assert shown_place("/mnt/anchors") == "/mnt/anchors"
    assert shown_place("postgresql://ann:s3cret@db:5433/anchors?sslmode=require") == "postgresql://db:5433/anchors"
    for address in ("postgresql://ann:12/s3cret@db/a", "postgresql://ann:s3?cr/et@db/a", "postgresql://a:1/s?3@h/a"):
        assert shown_place(address) is None
