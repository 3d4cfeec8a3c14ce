"""Rollback evidence: anchors and acts at home, and those that machines share."""

import pytest

from discreet.accounting.costs import Cost
from discreet.errors import LedgerError
from discreet.ledger.integrity.anchors import UNWRITABLE, Anchor
from discreet.ledger.integrity.rollback_evidence import RollbackEvidence
from discreet.ledger.records.key_acts import ActKind, KeyRegister
from discreet.ledger.records.signatures import Signer

SIGNER, OTHER = Signer.in_memory(), Signer.in_memory()


def anchor(sequence):
    usual = {"ledger": "one", "dataset": "visits", "budget": {}, "time": ""}
    return Anchor(sequence=sequence, head=f"{sequence:064x}", spent=Cost(sequence, 0, 0, 0), **usual)


@pytest.fixture
def opened(tmp_path):
    return lambda ledger="one": RollbackEvidence.at(tmp_path / "anchors", SIGNER, ledger=ledger, name=ledger)


@pytest.fixture
def acts():
    register = KeyRegister("one")
    for kind, value in ((ActKind.OWNED, SIGNER.public), (ActKind.LISTED, OTHER.public), (ActKind.REVOKED, OTHER.key)):
        register = register.then(register.next_act(SIGNER, kind, value, name="a key", reason="a test"))
    return tuple(act.to_json() for act in register.acts)


def test_a_ledger_in_memory_has_no_rollback_evidence(acts):
    evidence = RollbackEvidence.at(None, None, ledger="one", name="one")
    assert not evidence
    evidence.record([anchor(1)], at_home={"visits"})
    evidence.record_acts((), acts)
    assert evidence.latest() == {}
    assert evidence.chains_of_acts() == [()]


def test_anchors_at_home_are_those_of_one_ledger_and_of_the_datasets_that_are_due(opened):
    opened().record([anchor(1), anchor(3)], at_home={"visits"})
    opened().record([anchor(4)], at_home=set())
    assert opened().latest()["visits"].sequence == 3
    assert opened().largest_totals()["visits"].epsilon == 3
    assert [each.sequence for each in opened().every()] == [1, 3]
    assert [each.sequence for each in opened().unknown_anchors(lambda each: each.sequence == 3)] == [1]
    assert opened("two").latest() == {}


def test_acts_are_kept_at_home_where_there_are_more_than_the_creation(opened, acts):
    opened().record_acts((), acts[:1])
    assert opened().chains_of_acts() == [()]
    opened().record_acts((), acts[:2])
    opened().record_acts((), acts)
    assert opened().chains_of_acts() == [acts]


def test_acts_at_home_count_as_far_as_they_follow_from_each_other(opened, acts, tmp_path):
    opened().record_acts((), acts[:2])
    file = tmp_path / "anchors" / "one.acts"
    file.write_text(f"{acts[0]}\n{acts[1]}\n{acts[1]}\n")
    assert opened().chains_of_acts() == [acts[:2]]
    file.write_bytes(b"\xff\n")
    assert opened().chains_of_acts() == [()]


def test_a_directory_that_cannot_be_made_is_told_in_one_sentence(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(LedgerError) as caught:
        RollbackEvidence.at(tmp_path / "file" / "anchors", SIGNER, ledger="one", name="one")
    assert str(caught.value) == UNWRITABLE
