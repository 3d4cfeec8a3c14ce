"""A directory or a database in which machines share anchors: reached or not, and without a password in the ledger."""

import pytest

from discreet.errors import LedgerError
from discreet.ledger.integrity.anchor_places import DirectoryPlace, PostgresPlace, place_at, without_password
from discreet.ledger.integrity.shared_anchors import store_document
from discreet.ledger.records import faults

LEDGER, STORE = "ab" * 16, "cd" * 16


def test_an_address_is_a_database_and_anything_else_a_directory():
    assert isinstance(place_at("postgresql://db.example.org/anchors", LEDGER), PostgresPlace)
    assert isinstance(place_at("Postgres://db.example.org/anchors", LEDGER), PostgresPlace)
    assert isinstance(place_at("/mnt/anchors", LEDGER), DirectoryPlace)


def test_a_directory_that_is_not_there_cannot_be_reached(tmp_path):
    gone = DirectoryPlace(tmp_path / "gone", LEDGER)
    assert gone.store() is None
    for act in (gone.mark, gone.documents, lambda: gone.write("a-1", "")):
        with pytest.raises(LedgerError) as caught:
            act()
        assert str(caught.value) == faults.NO_SHARED_ANCHORS


def test_a_server_that_is_not_there_cannot_be_reached():
    gone = PostgresPlace("postgresql://ann:s3cret@127.0.0.1:1/anchors", LEDGER)
    with pytest.raises(LedgerError) as caught:
        gone.store()
    assert str(caught.value) == faults.NO_SHARED_ANCHORS
    assert caught.value.__context__ is None or "s3cret" not in str(caught.value.__context__)


def test_documents_in_a_directory_are_not_open_to_everyone(tmp_path):
    made = DirectoryPlace(tmp_path / "shared", LEDGER)
    made.make_store(store_document(LEDGER, STORE))
    made.write("a1-1", "{}")
    assert {path.stat().st_mode & 0o007 for path in (tmp_path / "shared" / LEDGER).iterdir()} == {0}


def test_a_document_that_was_taken_is_still_one(tmp_path):
    made = DirectoryPlace(tmp_path, LEDGER)
    made.make_store(store_document(LEDGER, STORE))
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
    ],
)
def test_no_password_is_kept(where, kept):
    assert without_password(where) == kept
