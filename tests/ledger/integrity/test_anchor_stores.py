"""Stores of anchors: reached or not, open to a group and to nobody else, and without a password in the ledger."""

import os

import pytest

from discreet.errors import LedgerError, ParameterError
from discreet.ledger.integrity.anchor_stores import (
    AnchorDatabase,
    AnchorDirectory,
    anchor_store_at,
    refuse_missing_mount,
    without_password,
)
from discreet.ledger.integrity.shared_anchors import store_document
from discreet.ledger.records import faults

LEDGER, STORE = "ab" * 16, "cd" * 16


def test_an_address_is_a_database_and_anything_else_a_directory():
    assert isinstance(anchor_store_at("postgresql://db.example.org/anchors", LEDGER), AnchorDatabase)
    assert isinstance(anchor_store_at("Postgres://db.example.org/anchors", LEDGER), AnchorDatabase)
    assert isinstance(anchor_store_at("/mnt/anchors", LEDGER), AnchorDirectory)


def test_a_directory_that_is_not_there_cannot_be_reached(tmp_path):
    gone = AnchorDirectory(tmp_path / "gone", LEDGER)
    assert gone.identity() is None
    for act in (gone.mark, gone.documents, lambda: gone.write("a-1", "")):
        with pytest.raises(LedgerError) as caught:
            act()
        assert str(caught.value) == faults.NO_SHARED_ANCHORS


def test_a_server_that_is_not_there_cannot_be_reached():
    gone = AnchorDatabase("postgresql://ann:s3cret@127.0.0.1:1/anchors", LEDGER)
    with pytest.raises(LedgerError) as caught:
        gone.identity()
    assert str(caught.value) == faults.NO_SHARED_ANCHORS
    assert caught.value.__context__ is None or "s3cret" not in str(caught.value.__context__)


def test_documents_in_a_directory_are_not_open_to_everyone(tmp_path):
    made = AnchorDirectory(tmp_path / "shared", LEDGER)
    made.create(store_document(LEDGER, STORE))
    made.write("a1-1", "{}")
    assert {path.stat().st_mode & 0o007 for path in (tmp_path / "shared" / LEDGER).iterdir()} == {0}


@pytest.mark.skipif(os.name == "nt", reason="no groups of files here")
def test_a_directory_that_a_group_owns_is_for_every_service_user_in_it(tmp_path):
    """As the runbook says: mode 2770, created with umask 007, written with umask 022 or 027."""
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o2770)
    opened = AnchorDirectory(tmp_path / "shared", LEDGER)
    usual = os.umask(0o007)
    try:
        opened.create(store_document(LEDGER, STORE))
        os.umask(0o027)
        opened.write("a1-1", "{}")
    finally:
        os.umask(usual)
    directory = tmp_path / "shared" / LEDGER
    assert directory.stat().st_mode & 0o7777 == 0o2770
    assert {path.stat().st_mode & 0o777 for path in directory.iterdir()} == {0o640}


def test_a_document_that_was_taken_is_still_one(tmp_path):
    made = AnchorDirectory(tmp_path, LEDGER)
    made.create(store_document(LEDGER, STORE))
    made.write("a1-1", "one")
    name, content = made.take("a1-1")
    made.write("a1-1", "two")
    assert content == "one"
    assert sorted(made.documents().values()) == ["one", "two"]
    assert made.take("b2-2") is None
    again, _ = made.take(name)
    made.drop(again)
    assert list(made.documents().values()) == ["two"]


@pytest.mark.parametrize(
    ("where", "kept"),
    [
        ("/mnt/anchors", "/mnt/anchors"),
        ("postgresql://ann:s3cret@db.example.org:5433/a", "postgresql://db.example.org:5433/a"),
        ("postgres://db.example.org/a?password=s3cret", "postgresql://db.example.org/a"),
        ("postgresql://ann:s3cret?4@db.example.org/a", "postgresql://db.example.org/a"),
        ("postgresql://ann:s3cret#4@db.example.org/a", "postgresql://db.example.org/a"),
        ("postgresql://db.example.org?password=s3cret", "postgresql://db.example.org/"),
    ],
)
def test_no_password_is_kept(where, kept):
    assert without_password(where) == kept


def test_a_directory_under_one_that_is_not_there_is_refused_and_not_made(tmp_path):
    refuse_missing_mount(str(tmp_path / "anchors"))
    mistyped = tmp_path / "mont" / "anchors"
    with pytest.raises(ParameterError, match="above it is not there"):
        refuse_missing_mount(str(mistyped))
    with pytest.raises(LedgerError):
        AnchorDirectory(mistyped, LEDGER).create(store_document(LEDGER, STORE))
    assert list(tmp_path.iterdir()) == []
