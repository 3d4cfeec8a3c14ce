"""A ledger in a file that is looked at: it is never made, migrated, locked or changed."""

import shutil
import sqlite3

import pytest

from discreet.errors import LedgerError
from discreet.ledger import SQLiteLedger
from discreet.ledger.records import faults
from discreet.ledger.stores import sqlite_schema
from discreet.ledger.stores.sqlite import SQLiteStore
from discreet.ledger.transactions.store import Transaction


@pytest.fixture
def file(path):
    SQLiteLedger(path).close()
    return path


def refuses(path, sentence):
    with pytest.raises(LedgerError) as caught:
        SQLiteStore(path, read_only=True)
    assert str(caught.value) == sentence


def version(path, number):
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA user_version = {number}")
    connection.close()


def test_it_reads_and_leaves_no_file_behind(file):
    before = file.read_bytes()
    reader = SQLiteStore(file, read_only=True)
    assert len(reader.ask(("SELECT id FROM ledger", {}))) == 1
    assert reader.findings(full=True) == []
    reader.close()
    assert file.read_bytes() == before
    assert list(file.parent.iterdir()) == [file]


def test_it_writes_nothing_even_if_it_is_asked_to(file):
    reader = SQLiteStore(file, read_only=True)
    with pytest.raises(LedgerError) as caught:
        reader.run(lambda _: None)
    assert str(caught.value) == faults.READ_ONLY

    def change(transaction: Transaction) -> None:
        transaction.read(("DELETE FROM ledger", {}))

    with pytest.raises(LedgerError):
        reader.look(change)
    assert len(reader.ask(("SELECT id FROM ledger", {}))) == 1
    reader.close()


def test_a_file_that_is_absent_empty_or_not_a_ledger_is_refused_and_stays_as_it_is(tmp_path):
    refuses(tmp_path / "ledger.sqlite", faults.NO_FILE)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "empty").touch()
    refuses(tmp_path / "empty", faults.EMPTY)
    (tmp_path / "text").write_text("some text" * 1000)
    refuses(tmp_path / "text", faults.FOREIGN)
    sqlite3.connect(tmp_path / "other").execute("CREATE TABLE t (x)").connection.close()
    refuses(tmp_path / "other", faults.FOREIGN)


def test_another_version_is_refused_and_not_migrated(file):
    version(file, sqlite_schema.VERSION - 1)
    before = file.read_bytes()
    refuses(file, faults.OLDER_FILE)
    assert file.read_bytes() == before
    version(file, sqlite_schema.VERSION + 1)
    refuses(file, faults.NEWER)


def test_a_closed_reader_says_so(file):
    reader = SQLiteStore(file, read_only=True)
    reader.close()
    with pytest.raises(LedgerError) as caught:
        reader.ask(("SELECT id FROM ledger", {}))
    assert str(caught.value) == faults.CLOSED


def test_a_file_that_was_replaced_while_it_is_looked_at_is_noticed(file, tmp_path):
    with SQLiteLedger(file, read_only=True) as reader:
        shutil.copy(file, tmp_path / "copy")
        (tmp_path / "copy").replace(file)
        assert reader.health().error == faults.MOVED
        file.unlink()
        assert reader.health().error == faults.MOVED


def test_a_file_with_a_second_name_is_refused(file, tmp_path):
    (tmp_path / "second").hardlink_to(file)
    refuses(file, faults.LINKED)


def test_what_others_commit_meanwhile_is_seen(file, dataset):
    with SQLiteLedger(file, read_only=True) as reader, SQLiteLedger(file) as ledger:
        ledger.register(dataset())
        assert [each.name for each in reader.datasets()] == ["visits"]


def test_a_backup_of_a_ledger_that_is_only_read_is_refused(file, tmp_path):
    with SQLiteLedger(file, read_only=True) as reader, pytest.raises(LedgerError) as caught:
        reader.backup(tmp_path / "copy")
    assert str(caught.value) == faults.READ_ONLY
    assert not (tmp_path / "copy").exists()
