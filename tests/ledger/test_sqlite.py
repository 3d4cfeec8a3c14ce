"""The ledger in one file: where its key and its anchors are, and what one in memory goes without."""

import os
from pathlib import Path

import pytest

from discreet.errors import LedgerError
from discreet.ledger import Ledger, Signer, SQLiteLedger


def test_the_ledger_on_sqlite_meets_the_contract(sqlite_ledger, dataset):
    contract: Ledger = sqlite_ledger
    contract.register(dataset())
    assert contract.budget("visits") == dataset().budget


@pytest.mark.parametrize("kind", [str, Path])
def test_a_ledger_is_made_where_its_path_says(path, kind):
    SQLiteLedger(kind(path)).close()
    assert path.is_file()


def test_the_key_and_the_anchors_are_at_home_unless_they_are_named(path, discreet_home, dataset, charge):
    with SQLiteLedger(path) as ledger:
        ledger.register(dataset())
        receipt = charge(ledger)
    assert receipt.verify(Signer.at(discreet_home / "signing.key").public)
    (anchors,) = (discreet_home / "anchors").glob("*.jsonl")
    assert len(anchors.read_text().splitlines()) == 2


def test_the_key_and_the_anchors_can_be_elsewhere(path, tmp_path, discreet_home, dataset, charge):
    with SQLiteLedger(path, key=tmp_path / "a.key", anchors=tmp_path / "anchors") as ledger:
        ledger.register(dataset())
        receipt = charge(ledger)
    assert receipt.verify(Signer.at(tmp_path / "a.key").public)
    assert len(list((tmp_path / "anchors").glob("*.jsonl"))) == 1
    assert list(discreet_home.iterdir()) == []


def test_a_ledger_in_memory_signs_nothing_and_leaves_nothing_behind(
    tmp_path, monkeypatch, discreet_home, dataset, charge
):
    monkeypatch.chdir(tmp_path)
    with SQLiteLedger(":memory:") as ledger:
        ledger.register(dataset())
        receipt = charge(ledger)
        assert ledger.verify(receipts=[receipt])
    assert (receipt.key, receipt.signature) == (None, None)
    assert receipt.verify()
    assert list(discreet_home.iterdir()) == list(tmp_path.iterdir()) == []


def test_a_ledger_in_memory_signs_where_a_key_is_named(tmp_path, dataset, charge):
    with SQLiteLedger(":memory:", key=tmp_path / "a.key") as ledger:
        ledger.register(dataset())
        assert charge(ledger).verify(Signer.at(tmp_path / "a.key").public)


def test_two_ledgers_in_memory_are_two_ledgers(dataset, charge):
    with SQLiteLedger(":memory:") as one, SQLiteLedger(":memory:") as other:
        one.register(dataset())
        charge(one)
        assert other.registration("visits") is None


def test_every_ledger_has_a_name_of_its_own_for_its_anchors(tmp_path, discreet_home, dataset):
    for name in ("a.sqlite", "b.sqlite"):
        with SQLiteLedger(tmp_path / name) as ledger:
            ledger.register(dataset())
    assert len(list((discreet_home / "anchors").glob("*.jsonl"))) == 2


def test_an_older_copy_that_is_put_back_does_not_serve(path, dataset, charge):
    """What the anchors at home are for; more of it is in test_rollback.py and test_older_copies.py."""
    with SQLiteLedger(path) as ledger:
        ledger.register(dataset())
    older = path.read_bytes()
    with SQLiteLedger(path) as ledger:
        charge(ledger)
    path.write_bytes(older)
    with SQLiteLedger(path) as ledger:
        with pytest.raises(LedgerError, match="is behind its anchors"):
            charge(ledger)
        assert not ledger.verify()


def test_a_ledger_is_used_under_the_path_it_was_opened_by(tmp_path, monkeypatch, dataset):
    """A relative path means the directory at the time of opening, also after the process moved to another one."""
    monkeypatch.chdir(tmp_path)
    with SQLiteLedger("ledger.sqlite") as ledger:
        monkeypatch.chdir(os.sep)
        ledger.register(dataset())
    assert (tmp_path / "ledger.sqlite").is_file()
