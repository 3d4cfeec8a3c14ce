"""Acts on keys form one chain that the owner signs; certificates convince whoever knows the first owner."""

import json
from dataclasses import fields, replace

import pytest

from discreet.errors import LedgerError
from discreet.ledger.records import faults
from discreet.ledger.records.key_acts import ActKind, KeyAct, KeyRegister
from discreet.ledger.records.signatures import Signer

OWNER, POD, THIEF = Signer.in_memory(), Signer.in_memory(), Signer.in_memory()
WHY = {"name": "pod", "reason": "a test"}


@pytest.fixture
def created():
    register = KeyRegister("one")
    return register.then(register.next_act(OWNER, ActKind.OWNED, OWNER.public, name="owner", reason="created"))


@pytest.fixture
def listed(created):
    return created.then(created.next_act(OWNER, ActKind.LISTED, POD.public, **WHY))


def test_a_register_is_what_its_acts_say(listed):
    again = KeyRegister.of("one", [act.to_json() for act in listed.acts])
    assert again == listed
    assert list(again.may_charge) == [OWNER.key, POD.key]
    assert again.keys[OWNER.key].is_owner
    assert not again.keys[POD.key].is_owner


def test_a_revoked_key_may_not_charge_and_is_remembered(listed):
    after = listed.then(listed.next_act(OWNER, ActKind.REVOKED, POD.key, **WHY))
    assert list(after.may_charge) == [OWNER.key]
    assert after.publics[POD.key] == POD.public
    back = after.then(after.next_act(OWNER, ActKind.LISTED, POD.public, **WHY))
    assert POD.key in back.may_charge


def test_a_named_store_of_anchors_is_the_last_one(created):
    after = created.then(created.next_act(OWNER, ActKind.ANCHORED, "ab12", name="/mnt/anchors", reason="a test"))
    assert (after.store, after.place) == ("ab12", "/mnt/anchors")


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("B18")
@pytest.mark.parametrize(
    ("signer", "kind", "value"),
    [
        (POD, ActKind.LISTED, THIEF.public),
        (THIEF, ActKind.LISTED, THIEF.public),
        (POD, ActKind.REVOKED, OWNER.key),
        (OWNER, ActKind.REVOKED, OWNER.key),
        (OWNER, ActKind.REVOKED, THIEF.key),
        (OWNER, ActKind.LISTED, "ed25519:short"),
        (OWNER, ActKind.OWNED, POD.public),
    ],
    ids=range(7),
)
def test_an_act_that_the_owner_may_not_make_or_did_not_sign_is_damage(listed, signer, kind, value):
    with pytest.raises(LedgerError, match="damaged"):
        listed.then(listed.next_act(signer, kind, value, **WHY))


@pytest.mark.parametrize("name", [each.name for each in fields(KeyAct)])
def test_an_act_with_anything_changed_is_damage(listed, name):
    act = listed.acts[-1]
    changed = {"sequence": 3, "kind": ActKind.REVOKED, "handover": "x"}.get(name, "other")
    with pytest.raises(LedgerError, match="damaged"):
        KeyRegister.of("one", [listed.acts[0].to_json(), replace(act, **{name: changed}).to_json()])


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: text + " ",
        lambda text: text.replace('"LISTED"', '"GRANTED"'),
        lambda text: json.dumps(json.loads(text) | {"sequence": "2"}, sort_keys=True, separators=(",", ":")),
        lambda _: "[]",
        lambda _: "[" * 100_000,
    ],
    ids=range(5),
)
def test_an_act_is_read_to_the_letter(listed, spoil):
    with pytest.raises(LedgerError) as caught:
        KeyAct.from_json(spoil(listed.acts[-1].to_json()))
    assert str(caught.value) == faults.DAMAGED_KEYS


@pytest.mark.pitfall("B18")
def test_an_act_that_the_owner_signed_for_another_history_is_damage(created, listed):
    """Two copies of a ledger listed a key each; the third act of one does not follow the second of the other."""
    other = created.then(created.next_act(OWNER, ActKind.LISTED, THIEF.public, **WHY))
    with pytest.raises(LedgerError, match="damaged"):
        listed.then(other.next_act(OWNER, ActKind.REVOKED, POD.key, **WHY))
    with pytest.raises(LedgerError, match="damaged"):
        listed.then(other.next_act(OWNER, ActKind.ANCHORED, "ab12", name="/mnt/anchors", reason="a test"))


def test_acts_that_are_left_out_or_change_places_are_damage(listed):
    after = listed.then(listed.next_act(OWNER, ActKind.REVOKED, POD.key, **WHY))
    texts = [act.to_json() for act in after.acts]
    for wrong in ([texts[0], texts[2]], [texts[0], texts[2], texts[1]], texts[1:]):
        with pytest.raises(LedgerError, match="damaged"):
            KeyRegister.of("one", wrong)
    with pytest.raises(LedgerError, match="damaged"):
        KeyRegister.of("another", texts)


# Certificates


def test_whoever_knows_the_first_owner_trusts_a_key_that_was_listed_later(created, listed):
    assert created.certified_keys(listed.certificate(POD.key)) == {POD.key: POD.public}
    assert listed.certificate(OWNER.key) == ()
    assert listed.certificate(THIEF.key) == ()


@pytest.mark.pitfall("B18")
def test_a_certificate_of_another_ledger_or_of_another_owner_convinces_nobody(created, listed):
    other = KeyRegister("two")
    other = other.then(other.next_act(OWNER, ActKind.OWNED, OWNER.public, name="owner", reason="created"))
    other = other.then(other.next_act(OWNER, ActKind.LISTED, THIEF.public, **WHY))
    forged = KeyRegister("one")
    forged = forged.then(forged.next_act(THIEF, ActKind.OWNED, THIEF.public, name="owner", reason="created"))
    forged = forged.then(forged.next_act(THIEF, ActKind.LISTED, POD.public, **WHY))
    by_a_listed_key = listed.next_act(POD, ActKind.LISTED, THIEF.public, **WHY).to_json()
    assert created.certified_keys(other.certificate(THIEF.key)) == {}
    assert created.certified_keys(act.to_json() for act in forged.acts) == {}
    assert created.certified_keys([*listed.certificate(POD.key), by_a_listed_key]) == {POD.key: POD.public}
    assert created.certified_keys(["nothing"]) == {}


# Other owners


@pytest.fixture
def rotated(tmp_path):
    """The first key of a file, and the one that is in it after two rotations."""
    path = tmp_path / "key"
    first = Signer.at(path)
    Signer.rotate(path)
    return first, Signer.rotate(path)


def test_a_key_that_was_rotated_is_succeeded_by_the_new_one_over_those_between(rotated):
    first, last = rotated
    register = KeyRegister("one")
    register = register.then(register.next_act(first, ActKind.OWNED, first.public, name="owner", reason="created"))
    act = register.next_act(
        last, ActKind.OWNED, last.public, name="owner", reason="rotated", handover=last.handover_from(first.key)
    )
    after = register.then(act)
    assert after.owner == last.key
    assert list(after.may_charge) == [last.key]
    assert register.certified_keys(after.certificate(last.key)) == {last.key: last.public}


def test_a_handover_of_another_key_is_damage(created, rotated):
    first, last = rotated
    handover = last.handover_from(first.key)
    assert last.handover_from(OWNER.key) is None
    for wrong in (handover, f"{OWNER.key} {handover.partition(' ')[2]}", "", "x", f"{OWNER.key} a b"):
        act = created.next_act(last, ActKind.OWNED, last.public, name="owner", reason="rotated", handover=wrong)
        with pytest.raises(LedgerError, match="damaged"):
            created.then(act)


def test_a_takeover_is_in_the_register_and_convinces_nobody_who_has_an_older_copy(created):
    after = created.then(created.next_act(POD, ActKind.OWNED, POD.public, name="owner", reason="the key was lost"))
    assert after.owner == POD.key
    assert list(after.may_charge) == [POD.key]
    assert created.certified_keys(after.certificate(POD.key)) == {}
