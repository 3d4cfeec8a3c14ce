"""What the register says of the key of this process."""

import pytest

from discreet.errors import LedgerError
from discreet.ledger.records import faults
from discreet.ledger.records.key_acts import ActKind, KeyRegister
from discreet.ledger.records.signatures import Signer
from discreet.ledger.signing_key import SigningKey

OWNER, POD = Signer.in_memory(), Signer.in_memory()
WHY = {"name": "a key", "reason": "a test"}


@pytest.fixture
def register():
    register = KeyRegister("one")
    return register.then(register.next_act(OWNER, ActKind.OWNED, OWNER.public, **WHY))


def key_with(signer, register):
    key = SigningKey(signer)
    key.register = register
    return key


def refusal(key):
    with pytest.raises(LedgerError) as caught:
        key.refuse_unusable_key()
    return str(caught.value)


def test_each_reason_not_to_charge_has_its_sentence(register):
    key_with(OWNER, register).refuse_unusable_key()
    assert refusal(key_with(POD, KeyRegister("one"))) == faults.UNOWNED
    assert refusal(key_with(POD, register)) == faults.UNLISTED_KEY
    listed = register.then(register.next_act(OWNER, ActKind.LISTED, POD.public, **WHY))
    assert refusal(key_with(POD, listed)) == faults.UNSHARED_ANCHORS
    shared = listed.then(listed.next_act(OWNER, ActKind.ANCHORED, "ab", **WHY))
    key_with(POD, shared).refuse_unusable_key()
    revoked = shared.then(shared.next_act(OWNER, ActKind.REVOKED, POD.key, **WHY))
    assert refusal(key_with(POD, revoked)) == faults.REVOKED_KEY
    unreachable = key_with(POD, shared)
    unreachable.anchors_fault = faults.NO_SHARED_ANCHORS
    assert refusal(unreachable) == faults.NO_SHARED_ANCHORS


def test_a_key_that_signed_the_anchors_of_a_migrated_ledger_becomes_its_owner_and_no_other():
    key = SigningKey(POD)
    assert key.first_act(is_new=False, anchored_by={}) is None
    assert key.first_act(is_new=False, anchored_by={OWNER.key: "visits"}) is None
    assert key.first_act(is_new=False, anchored_by={POD.key: "visits"}).kind is ActKind.OWNED
    assert key.first_act(is_new=True, anchored_by={}).value == POD.public


def test_a_key_without_a_handover_from_the_owner_does_not_become_one(register):
    assert key_with(POD, register).first_act(is_new=False, anchored_by={POD.key: "visits"}) is None
    assert key_with(OWNER, register).first_act(is_new=False, anchored_by={}) is None


def test_a_ledger_in_memory_has_no_key_and_refuses_nothing():
    nobody = SigningKey(None)
    nobody.refuse_unusable_key()
    assert nobody.publics() == {}
    assert nobody.first_act(is_new=True, anchored_by={}) is None
