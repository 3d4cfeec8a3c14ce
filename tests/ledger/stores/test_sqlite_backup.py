"""A backup of a ledger in a file: consistent while it is in use, whole or not at all, in nobody's place."""

import itertools
import os
import stat
import threading
from pathlib import Path

import pytest

from discreet.errors import LedgerError, ParameterError
from discreet.ledger import SQLiteLedger


@pytest.fixture
def filled(sqlite_ledger, dataset, charge):
    sqlite_ledger.register(dataset())
    sqlite_ledger.answer(charge(sqlite_ledger), b"42")
    return sqlite_ledger


def opened(copy: Path) -> SQLiteLedger:
    """A copy by itself, beside no anchor that was written since."""
    return SQLiteLedger(copy, anchors=copy.parent / "no anchors")


def test_a_backup_holds_everything_and_verifies(filled, tmp_path):
    filled.backup(tmp_path / "copy.sqlite")
    with opened(tmp_path / "copy.sqlite") as copy:
        assert copy.verify().ok
        assert copy.history("visits") == filled.history("visits")
        assert copy.stored_answer("visits", copy.history("visits")[1].question) == b"42"


def test_a_backup_is_one_file_that_nobody_else_may_open(filled, tmp_path):
    place = tmp_path / "backups"
    place.mkdir()
    filled.backup(place / "copy.sqlite")
    (found,) = place.iterdir()
    assert found.name == "copy.sqlite"
    assert os.name != "posix" or stat.S_IMODE(found.stat().st_mode) == 0o600


def test_every_backup_made_while_others_charge_is_a_sound_ledger(path, dataset, charge, tmp_path):
    """The writer has a connection of its own, as another process would."""
    with SQLiteLedger(path) as ledger, SQLiteLedger(path) as busy:
        ledger.register(dataset())
        done = threading.Event()

        def spend() -> None:
            for i in itertools.count():
                if done.is_set():
                    return
                busy.answer(charge(busy, epsilon=1e-9, question=f"{i:08x}"), b"1")

        writer = threading.Thread(target=spend)
        writer.start()
        for i in range(10):
            ledger.backup(tmp_path / f"copy{i}.sqlite")
        done.set()
        writer.join()
    lengths = []
    for i in range(10):
        with opened(tmp_path / f"copy{i}.sqlite") as copy:
            assert copy.verify().ok
            lengths.append(len(copy.history("visits")))
    assert lengths == sorted(lengths)


def test_a_backup_replaces_nothing(filled, tmp_path):
    there = tmp_path / "there"
    there.write_text("precious")
    with pytest.raises(ParameterError, match="replaces nothing"):
        filled.backup(there)
    assert there.read_text() == "precious"


def test_a_backup_that_cannot_be_written_leaves_nothing(filled, tmp_path):
    with pytest.raises(LedgerError, match="the backup cannot be written"):
        filled.backup(tmp_path / "no" / "such" / "directory")
    assert not (tmp_path / "no").exists()


def test_a_backup_of_a_closed_ledger_is_refused(filled, tmp_path):
    filled.close()
    with pytest.raises(LedgerError, match="closed"):
        filled.backup(tmp_path / "copy.sqlite")
    assert not (tmp_path / "copy.sqlite").exists()


def test_a_ledger_in_memory_can_be_kept(dataset, tmp_path):
    with SQLiteLedger(":memory:") as ledger:
        ledger.register(dataset())
        ledger.backup(tmp_path / "kept.sqlite")
    with opened(tmp_path / "kept.sqlite") as kept:
        assert [known.name for known in kept.datasets()] == ["visits"]
