"""A verification goes on from where an earlier one found nothing, and finds all that is wrong from there on."""

import json
import logging
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import LedgerError
from discreet.ledger import Ledger, Signer, SQLiteLedger
from discreet.ledger.integrity.checkpoints import FORMAT, CheckpointFile, directory_beside
from discreet.ledger.records import faults
from discreet.ledger.records.canonical_text import canonical
from tampering import anchor_file, tampering

SMALL_TABLES = {
    "UPDATE datasets SET spent_rho = spent_rho - 1": "the total spent is not the sum",
    "UPDATE datasets SET cap_epsilon = 9000000000000": "its caps are not those",
    "UPDATE datasets SET epsilon = '9/1'": "its budget is not the one",
    "UPDATE datasets SET floor_rho = 1": "what was spent when the cap was set",
    "UPDATE datasets SET unit = 'one row'": "its unit, neighbours or hash key",
    "UPDATE datasets SET head = 'x'": "its end was cut or replaced",
    "DELETE FROM datasets": "the dataset's own row is missing",
    "UPDATE versions SET source = 'other.csv'": "version 1 is not as it was registered",
    "UPDATE versions SET registered = 7": "was not registered by the event it names",
    "DELETE FROM versions": "version 1 is not as it was registered",
    "UPDATE analysts SET spent_rho = 0 WHERE analyst = 'ann'": "what 'ann' spent is not the sum of their charges",
    "UPDATE analysts SET failures = 5 WHERE analyst = 'ann'": "the failures of 'ann' are not those",
    "UPDATE analysts SET most_failures = 999 WHERE analyst = 'bob'": "the quota of 'bob' is not the one",
    "DELETE FROM analysts WHERE analyst = 'ann'": "the analysts are not those",
    "DELETE FROM aliases": "its other names are not those",
    "UPDATE ledger SET id = id || 'x'": "is not the one that it was registered under",
}
"""Damage of what is compared whole by every verification."""

LATER = {
    "UPDATE events SET cost_rho = 1 WHERE sequence = (SELECT max(sequence) FROM events WHERE kind = 'RESERVED')": (
        "it was changed after it was written"
    ),
    "UPDATE events SET hash = 'x' WHERE sequence = (SELECT max(sequence) FROM events)": "it was changed after",
    "DELETE FROM events WHERE sequence = (SELECT max(sequence) FROM events)": "its end was cut or replaced",
    "DELETE FROM events WHERE sequence = (SELECT max(sequence) - 1 FROM events)": "is missing or out of order",
    "DELETE FROM reservations WHERE question = 'cc'": "its reservation is not as it was charged",
    "UPDATE reservations SET analyst = 'eve' WHERE question = 'cc'": "its reservation is not as it was charged",
    "UPDATE reservations SET description = '{}' WHERE question = 'cc'": "its reservation is not as it was charged",
    "UPDATE reservations SET state = 'FORFEITED' WHERE question = 'cc'": "its state is not the one",
    "UPDATE reservations SET attempt = 7 WHERE question = 'cc'": "its attempts are not those",
    "UPDATE answers SET payload = :payload WHERE reservation > 9": "its stored answer is not the one that was given",
    "DELETE FROM answers WHERE reservation > 9": "its stored answer is not the one that was given",
    "UPDATE reservations SET state = 'RESERVED' WHERE question = 'bb'": "its state is not the one",
    "UPDATE reservations SET attempt = 7 WHERE question = 'bb'": "its attempts are not those",
    "UPDATE reservations SET state = 'ANSWERED' WHERE question = 'ab'": "its state is not the one",
    "DELETE FROM reservations WHERE question = 'ab'": "its reservation is not as it was charged",
}
"""Damage of rows that came after the checkpoint, or of charges that were open there ('ab', 'bb')."""

BEFORE = {
    "UPDATE events SET time = 'x' WHERE sequence = 2": "it was changed after it was written",
    "UPDATE events SET kind = 'REJECTED' WHERE kind = 'LIMITED'": "it was changed after it was written",
    "DELETE FROM events WHERE sequence = 4": "is missing or out of order",
    "DELETE FROM answers WHERE reservation < 5": "its stored answer is not the one that was given",
    "UPDATE answers SET payload = :payload WHERE reservation < 5": "its stored answer is not the one that was given",
    "DELETE FROM reservations WHERE question = 'aa'": "its reservation is not as it was charged",
    "UPDATE reservations SET state = 'FORFEITED' WHERE question = 'aa'": "its state is not the one",
    "UPDATE reservations SET attempt = 7 WHERE question = 'aa'": "its attempts are not those",
}
"""Damage of rows before the checkpoint, which a full verification alone finds."""


@pytest.fixture
def verified(visits: Ledger, turn: Callable[..., Any]) -> Ledger:
    """A ledger with a checkpoint: one charge before it is answered, two are open, and some came later."""
    visits.rename("visits", "stays", reason="a test")
    visits.set_quota("visits", "bob", failures=7, reason="a test")
    visits.answer(turn(visits, question="aa", epsilon=0.01), b"12")
    held = turn(visits, question="bb", epsilon=0.01)
    turn(visits, question="ab", epsilon=0.01)
    visits.forfeit(turn(visits, question="ee", epsilon=0.01, analyst="bob"), "timeout")
    assert visits.verify(full=True).since == {}
    visits.answer(held, b"1")
    visits.answer(turn(visits, question="cc", epsilon=0.01), b"2")
    turn(visits, question="dd", epsilon=0.01)
    return visits


def checkpoint_file(ledger: Ledger) -> Path:
    return ledger._checkpoints._path


def test_only_what_is_new_is_read(verified):
    found = verified.verify()
    assert (found.ok, found.events, found.since) == (True, 4, {"visits": 9})
    assert str(found) == "1 dataset, 4 events verified since event 9 (--full verifies all): everything agrees"
    assert verified.verify().events == 0
    assert str(verified.verify(full=True)) == "1 dataset, 13 events: everything agrees"


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("D")
@pytest.mark.parametrize("change", [*SMALL_TABLES, *LATER])
def test_damage_after_the_checkpoint_and_of_what_stands_now_is_found_in_both_modes(verified, tamper, change):
    tamper(change, payload=b"13")
    expected = (SMALL_TABLES | LATER)[change]
    found = verified.verify()
    if "UPDATE ledger" not in change:  # a checkpoint of another ledger counts as none
        assert found.since == {"visits": 9}
    assert expected in str(found)
    assert expected in str(verified.verify(full=True))


@pytest.mark.guarantee("ledger")
@pytest.mark.parametrize("change", BEFORE)
def test_damage_before_the_checkpoint_is_found_by_a_full_verification_alone(verified, tamper, change):
    tamper(change, payload=b"13")
    found = verified.verify()
    assert found
    assert "(--full verifies all)" in str(found)
    assert BEFORE[change] in str(verified.verify(full=True))


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("D")
@pytest.mark.parametrize("is_full", [False, True])
@pytest.mark.parametrize(
    "change", ["UPDATE events SET time = 'x' WHERE sequence = 9", "DELETE FROM events WHERE sequence = 9"]
)
def test_a_checkpoint_that_the_chain_does_not_hold_is_found_and_everything_is_read(
    verified, tamper, turn, another, change, is_full
):
    """Also where the anchors are lost, which say so first."""
    tamper(change, payload=b"13")
    verified.close()
    anchor_file(verified).unlink()
    again = another()
    found = again.verify(full=is_full)
    assert found.since == {}
    assert "verified up to this event and does not hold it any more" in str(found)
    with pytest.raises(LedgerError, match=re.escape(faults.HALTED)):
        turn(again, question="ff")
    assert again.recover(reason="a test")
    assert again.verify()


def test_a_finding_writes_no_checkpoint(verified, tamper):
    before = checkpoint_file(verified).read_text()
    tamper("UPDATE analysts SET failures = 5 WHERE analyst = 'ann'")
    for is_full in (False, True):
        assert not verified.verify(full=is_full)
        assert checkpoint_file(verified).read_text() == before


def edited(file: Path, **changes: object) -> None:
    data = json.loads(file.read_text()) | changes
    file.write_text(canonical(data) + "\n")


@pytest.mark.parametrize(
    "changes",
    [
        {"sequence": 5},
        {"head": "0" * 64},
        {"ledger": "another"},
        {"key": None},
        {"signature": None},
        {"format": "discreet.checkpoint/2"},
        {"state": {}},
        {"time": ""},
    ],
)
def test_a_checkpoint_that_was_edited_counts_as_none(verified, changes):
    edited(checkpoint_file(verified), **changes)
    found = verified.verify()
    assert (found.ok, found.since, found.events) == (True, {}, 13)
    assert verified.verify().since == {"visits": 13}


@pytest.mark.parametrize("text", ["", "x\n", "{}\n", "[]\n", '{"dataset":"visits"}\n', "\xff\n"])
def test_a_file_of_checkpoints_that_cannot_be_read_counts_as_none(verified, text):
    checkpoint_file(verified).write_text(text)
    assert verified.verify().events == 13
    checkpoint_file(verified).unlink()
    assert verified.verify().events == 13


def test_a_checkpoint_that_another_key_signed_counts_as_none(verified, tmp_path):
    stranger = CheckpointFile(checkpoint_file(verified).parent, Signer.at(tmp_path / "a key of theirs"), verified._id)
    known = verified._checkpoints.get("visits").check()
    stranger.put([known])
    assert stranger.get("visits") is not None
    assert verified.verify().since == {}


def test_a_checkpoint_of_another_ledger_counts_as_none(verified, dataset, tmp_path):
    with SQLiteLedger(tmp_path / "staging.sqlite") as staging:
        staging.register(dataset())
        assert staging.verify()
        checkpoint_file(verified).write_bytes(checkpoint_file(staging).read_bytes())
    assert (verified.verify().ok, checkpoint_file(verified).exists()) == (True, True)
    assert verified.verify().since == {"visits": 13}


def test_checkpoints_of_keys_that_were_rotated_count(path, dataset, charge, tmp_path):
    key = tmp_path / "key"
    with SQLiteLedger(path, key=key) as ledger:
        ledger.register(dataset())
        assert ledger.verify()
    Signer.rotate(key)
    with SQLiteLedger(path, key=key) as ledger:
        charge(ledger)
        assert ledger.verify().since == {"visits": 1}


def test_each_dataset_has_a_checkpoint_of_its_own(visits, dataset, charge, tamper):
    visits.register(dataset(name="stays"))
    assert visits.verify("visits")
    charge(visits, name="stays")
    assert visits.verify().since == {"visits": 1}
    assert visits.verify("stays").since == {"stays": 2}
    tamper("UPDATE datasets SET spent_rho = 1 WHERE name = 'stays'")
    charge(visits)
    assert not visits.verify()
    assert visits.verify("visits").since == {"visits": 2}
    assert str(visits.verify("visits")).startswith("1 dataset, 0 events verified since event 2 ")
    assert str(visits.verify()).startswith("2 datasets, 0 events verified since earlier verifications ")


def test_what_is_wrong_with_the_database_leaves_all_checkpoints_as_they_were(sqlite_ledger, dataset, charge, path):
    sqlite_ledger.register(dataset())
    assert sqlite_ledger.verify()
    charge(sqlite_ledger)
    with tampering(str(path)) as hand:
        hand.execute("DROP INDEX asked_before")
    assert "index or trigger 'asked_before' is not as discreet wrote it" in str(sqlite_ledger.verify())
    assert sqlite_ledger.verify().since == {"visits": 1}


def test_a_ledger_in_memory_has_no_checkpoint(dataset, charge):
    with SQLiteLedger(":memory:") as ledger:
        ledger.register(dataset())
        charge(ledger)
        assert [str(ledger.verify()) for _ in range(2)] == ["1 dataset, 2 events: everything agrees"] * 2


def test_checkpoints_that_cannot_be_written_are_logged_and_cost_time_alone(visits, caplog):
    place = checkpoint_file(visits).parent
    place.write_text("a file in its place")
    with caplog.at_level(logging.WARNING, "discreet"):
        assert [visits.verify().since for _ in range(2)] == [{}, {}]
    assert "the checkpoints of verifications cannot be written" in caplog.text
    assert str(place) not in caplog.text


@pytest.mark.guarantee("ledger")
def test_a_recovery_counts_what_was_verified_where_the_anchors_are_lost(verified, put_back, another, tmp_path, path):
    spent = verified.spent("visits")
    assert verified.verify().events == 4
    verified.close()
    put_back(4)
    for anchors in (verified._detector._directory).iterdir():
        anchors.unlink()
    ledger = another()
    assert "an older copy or another history" in str(ledger.verify())
    assert ledger.recover(reason="a test")
    assert ledger.spent("visits").epsilon == spent.epsilon
    assert ledger.verify().events == 0
    assert ledger.verify(full=True)


def test_damage_that_was_recovered_from_stays_accepted_in_both_modes(visits, charge, tamper):
    receipts = [charge(visits) for _ in range(3)]
    tamper("DELETE FROM events WHERE sequence = 3")
    assert not visits.verify()
    assert visits.recover(reason="a test", receipts=receipts)
    charge(visits)
    for is_full in (False, True, False):
        assert visits.verify(full=is_full, receipts=receipts), str(visits.verify(receipts=receipts))
    assert visits.verify().since


def test_checkpoints_stand_beside_the_anchors(verified, tmp_path):
    assert checkpoint_file(verified).parent == directory_beside(verified._detector._directory)
    assert json.loads(checkpoint_file(verified).read_text())["format"] == FORMAT
    assert checkpoint_file(verified).stat().st_mode & 0o077 == 0
    assert directory_beside(tmp_path / "anchors") == tmp_path / "anchors.checkpoints"
    assert directory_beside(Path("/")) == Path("/anchors.checkpoints")
    assert directory_beside(None) is None
