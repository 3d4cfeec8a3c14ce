"""A store of anchors in a directory: there or not, open to a group and to nobody else."""

import errno
import os
from pathlib import Path

import pytest

from discreet.errors import LedgerError
from discreet.ledger.integrity.shared_anchors import store_document
from discreet.ledger.records import faults
from discreet.ledger.stores.anchor_directory import AnchorDirectory

LEDGER, STORE = "ab" * 16, "cd" * 16


def test_a_directory_that_is_not_there_cannot_be_reached(tmp_path):
    gone = AnchorDirectory(tmp_path / "gone", LEDGER)
    assert gone.identity() is None
    for act in (gone.mark, gone.documents, lambda: gone.write("a-1", "")):
        with pytest.raises(LedgerError) as caught:
            act()
        assert str(caught.value) == faults.NO_ANCHOR_DIRECTORY
    assert gone.absence() == faults.NO_ANCHOR_DIRECTORY
    assert AnchorDirectory(tmp_path, LEDGER).absence() == faults.OTHER_ANCHORS


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
    ("code", "fault"),
    [
        (errno.EACCES, faults.ANCHORS_NOT_PERMITTED),
        (errno.EROFS, faults.ANCHORS_NOT_PERMITTED),
        (errno.ENOENT, faults.NO_ANCHOR_DIRECTORY),
        (errno.ESTALE, faults.NO_SHARED_ANCHORS),
    ],
)
def test_errors_of_the_file_system_are_told_apart(tmp_path, monkeypatch, code, fault):
    made = AnchorDirectory(tmp_path, LEDGER)
    made.create(store_document(LEDGER, STORE))

    def fails(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(Path, "iterdir", fails)
    with pytest.raises(LedgerError) as caught:
        made.documents()
    assert str(caught.value) == fault
