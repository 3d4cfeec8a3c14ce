"""Acts on keys outside the store: compared with those in it, and copied where none is lost."""

import pytest

from discreet.ledger import Signer
from discreet.ledger.integrity.lost_acts import LostActs
from discreet.ledger.integrity.rollback_evidence import RollbackEvidence
from discreet.ledger.records.key_acts import ActKind, KeyRegister

LEDGER = "ab" * 16


@pytest.fixture
def owner():
    return Signer.in_memory()


@pytest.fixture
def register(owner):
    """A register in which the owner listed one other key."""
    empty = KeyRegister(LEDGER)
    first = empty.then(empty.next_act(owner, ActKind.OWNED, owner.public, name="owner", reason="a test"))
    other = Signer.in_memory().public
    return first.then(first.next_act(owner, ActKind.LISTED, other, name="other", reason="a test"))


@pytest.fixture
def lost(owner):
    return LostActs(RollbackEvidence(LEDGER), owner)


def test_a_store_with_all_acts_is_behind_nothing(lost, register):
    lost.compare(register, [register.texts, register.texts[:1]])
    assert not lost.are_behind
    assert lost.following(register) == ()


@pytest.mark.pitfall("B18")
def test_acts_outside_that_follow_those_in_the_store_are_to_be_put_back(lost, register):
    older = KeyRegister.of(LEDGER, register.texts[:1])
    lost.compare(older, [(), register.texts])
    assert lost.are_behind
    assert lost.following(older) == register.texts[1:]
    assert not lost.do_chains_part(older)


def test_two_chains_that_part_put_nothing_back_where_the_home_knows_neither(lost, owner, register):
    older = KeyRegister.of(LEDGER, register.texts[:1])
    act = older.next_act(owner, ActKind.LISTED, Signer.in_memory().public, name="third", reason="a test")
    lost.compare(older, [(), register.texts, older.then(act).texts])
    assert lost.do_chains_part(older)
    lost.compare(older, [register.texts, register.texts, older.then(act).texts])
    assert lost.following(older) == register.texts[1:]
