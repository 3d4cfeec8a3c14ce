"""The terms of keys: a key that its owner rotated does not look like one that was revoked or taken over."""

import pytest

from discreet.cli.key_terms import REPLACED, REVOKED, SUCCEEDED, key_terms, of_one_name, same_name_lines
from discreet.ledger import Signer, SQLiteLedger

WHY = {"reason": "a test"}


@pytest.fixture
def path(tmp_path):
    SQLiteLedger(tmp_path / "ledger.sqlite").close()
    return tmp_path / "ledger.sqlite"


def test_an_owners_key_that_was_rotated_is_succeeded_and_not_revoked(path, discreet_home):
    Signer.rotate(discreet_home / "signing.key")
    with SQLiteLedger(path) as ledger:
        former, owner = key_terms(ledger)
    assert (former.ended, former.successor, former.end_reason) == (SUCCEEDED, owner.listed.key, owner.reason)
    assert f"succeeded by {owner.listed.key}" in str(former)
    assert former.until == owner.listed.since
    assert former.story.splitlines()[-1].startswith(f"  succeeded  {former.until}  the owner's key was rotated")
    assert owner.listed.is_owner
    assert owner.ended is None


def test_an_owners_key_after_a_takeover_is_replaced(path, tmp_path):
    Signer.at(tmp_path / "new.key")
    with SQLiteLedger(path, key=tmp_path / "new.key", anchors=tmp_path / "none") as ledger:
        ledger.take_over(reason="the disk was lost")
        former, owner = key_terms(ledger)
    assert (former.ended, former.end_reason, former.successor) == (REPLACED, "the disk was lost", owner.listed.key)


def test_a_revoked_key_keeps_both_reasons(path, tmp_path):
    pod = Signer.at(tmp_path / "pod.key")
    with SQLiteLedger(path) as ledger:
        ledger.share_anchors(tmp_path / "shared", **WHY)
        ledger.list_key(pod.public, name="pod", reason="growth")
        ledger.revoke_key(pod.key, reason="stolen")
        _, term = key_terms(ledger)
    assert (term.reason, term.ended, term.end_reason, term.successor) == ("growth", REVOKED, "stolen", None)
    assert term.to_dict().keys() >= {"since", "until", "reason", "end_reason", "is_revoked"}
    assert str(term).startswith(f"{pod.key}  pod  revoked\n")


def test_only_keys_that_may_charge_share_a_name(path, tmp_path):
    with SQLiteLedger(path) as ledger:
        ledger.share_anchors(tmp_path / "shared", **WHY)
        keys = [Signer.at(tmp_path / f"{number}.key") for number in range(3)]
        for key in keys:
            ledger.list_key(key.public, name="pod", **WHY)
        ledger.revoke_key(keys[0].key, **WHY)
        same = of_one_name(key_terms(ledger))
    assert same == {"pod": [keys[1].key, keys[2].key]}
    lines = same_name_lines(same)
    assert lines[-1].strip() == "discreet ledger key revoke KEY --reason TEXT --ledger LEDGER"
    assert max(map(len, lines)) <= 80


def test_a_ledger_in_memory_lists_no_key():
    with SQLiteLedger(":memory:") as ledger:
        assert key_terms(ledger) == []
