"""Acts of the owner are refused while they would be a second history, and nothing that a kill leaves stays for ever."""

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from discreet.errors import LedgerError, NameNotFoundError, ParameterError, PendingError
from discreet.ledger import Signer, SQLiteLedger
from discreet.ledger.integrity.shared_anchors import FORMAT
from discreet.ledger.records import faults, key_acts
from discreet.ledger.records.canonical_text import canonical
from discreet.ledger.records.chain import MOST_EVENTS
from discreet.ledger.records.key_acts import ActKind, KeyRegister
from discreet.ledger.records.receipt import receipt_fault
from discreet.ledger.records.signatures import succession
from tampering import clean, tenths

WHY = {"reason": "a test"}


class Machine:
    """A home with a key, over a ledger in a file that all machines of the test reach."""

    def __init__(self, path: Path, home: Path) -> None:
        self._path, self._home = path, home
        home.mkdir()
        self.public = Signer.at(home / "key").public

    def open(self, **options: object) -> SQLiteLedger:
        return SQLiteLedger(self._path, key=self._home / "key", anchors=self._home / "anchors", **options)

    def forget(self) -> None:
        shutil.rmtree(self._home / "anchors", ignore_errors=True)


@pytest.fixture
def machines(path, tmp_path, dataset):
    """An owner and a second machine, whose key is listed; their anchors are shared."""
    owner, pod = Machine(path, tmp_path / "owner"), Machine(path, tmp_path / "pod")
    with owner.open() as ledger:
        ledger.register(dataset())
        ledger.share_anchors(tmp_path / "shared", **WHY)
        ledger.list_key(pod.public, name="pod", **WHY)
    return owner, pod


@pytest.fixture
def restored(path, tmp_path, machines, charge):
    """The two machines after a charge each, over a copy from before: with empty homes."""
    shutil.copy(path, tmp_path / "older")
    for each in machines:
        with each.open() as ledger:
            charge(ledger)
    shutil.copy(tmp_path / "older", path)
    for each in machines:
        each.forget()
    return machines


def forge_takeover(ledger: SQLiteLedger, shared: Path, signer: Signer) -> None:
    """What somebody writes who has the shared anchors alone: a takeover, and the revocation of a key after it."""
    register = ledger._key.register
    act = register.next_act(signer, ActKind.OWNED, signer.public, name="owner", reason="forged")
    forged = register.then(act)
    pod = ledger.listed_keys()[1].key
    forged = forged.then(forged.next_act(signer, ActKind.REVOKED, pod, name="pod", reason="forged"))
    write_acts(shared, forged, signer)


def write_acts(shared: Path, register: KeyRegister, writer: Signer) -> None:
    """Put a chain of acts into the shared anchors."""
    texts = [each.to_json() for each in register.acts]
    document = {"format": FORMAT, "ledger": register.ledger, "certificate": [], "acts": texts, "anchors": []}
    (shared / register.ledger / f"{writer.key}-{'0' * 16}.json").write_text(canonical(document))


def refuses(act, *sentences):
    with pytest.raises(LedgerError) as caught:
        act()
    assert str(caught.value) in sentences


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("B18")
def test_the_owner_acts_on_nothing_that_stands_behind(restored, tmp_path, charge):
    owner, pod = restored
    with owner.open() as ledger:
        for act in (
            lambda: ledger.list_key(Signer.in_memory().public, name="third", **WHY),
            lambda: ledger.share_anchors(tmp_path / "another", **WHY),
        ):
            refuses(act, faults.BEHIND)
        assert ledger.recover(**WHY)
        assert tenths(ledger) == 2
        charge(ledger)
    with pod.open() as ledger:
        charge(ledger)
        assert clean(ledger)


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("B18")
def test_an_older_copy_that_names_no_store_is_behind_where_one_is_configured(path, tmp_path, dataset, charge):
    owner = Machine(path, tmp_path / "owner")
    with owner.open() as ledger:
        ledger.register(dataset())
    shutil.copy(path, tmp_path / "older")
    with owner.open() as ledger:
        ledger.share_anchors(tmp_path / "shared", **WHY)
        charge(ledger)
    shutil.copy(tmp_path / "older", path)
    owner.forget()
    with owner.open(shared_anchors=tmp_path / "shared") as ledger:
        refuses(lambda: charge(ledger), faults.BEHIND)
        assert ledger.recover(**WHY)
        assert tenths(ledger) == 1


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("B18")
def test_a_copy_from_before_the_anchors_moved_is_behind(path, tmp_path, machines, charge):
    owner, pod = machines
    shutil.copy(path, tmp_path / "older")
    with owner.open() as ledger:
        charge(ledger)
        ledger.share_anchors(tmp_path / "moved", **WHY)
        charge(ledger)
    shutil.copy(tmp_path / "older", path)
    pod.forget()
    with pod.open() as ledger:
        refuses(lambda: charge(ledger), faults.BEHIND)


@pytest.mark.pitfall("B18")
def test_anchors_that_move_to_another_place_are_all_there(path, tmp_path, machines, charge):
    owner, pod = machines
    with pod.open() as ledger:
        charge(ledger)
    with owner.open() as ledger:
        ledger.share_anchors(tmp_path / "moved", **WHY)
    shutil.rmtree(tmp_path / "shared")
    shutil.copy(path, tmp_path / "older")
    with pod.open() as ledger:
        charge(ledger)
    shutil.copy(tmp_path / "older", path)
    owner.forget()
    with owner.open() as ledger:
        refuses(lambda: charge(ledger), faults.BEHIND)


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("B18")
def test_what_is_anchored_is_read_in_the_transaction_that_asks_for_it(path, tmp_path, machines, turn):
    """SQLite has one connection for all threads: a second transaction inside would wait for the first for ever."""
    owner, _ = machines
    stranger = Machine(path, tmp_path / "stranger")
    with owner.open() as ledger, stranger.open() as other:
        asked = turn(ledger, question="aa")
        with pytest.raises(PendingError):
            turn(other, question="aa", patience=0.0)
        assert ledger.answer(asked, b"12") == b"12"
        assert ledger.stored_answer("visits", "aa") == b"12"
        assert other.stored_answer("visits", "aa") == b"12"
        assert turn(other, question="aa").payload == b"12"


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("B18")
def test_after_the_anchors_were_lost_nobody_charges_before_a_recovery(path, tmp_path, machines, charge):
    owner, pod = machines
    with pod.open() as ledger:
        receipt = charge(ledger)
    shutil.rmtree(tmp_path / "shared")
    with owner.open() as ledger:
        ledger.share_anchors(tmp_path / "another", **WHY, lost=True)
        refuses(lambda: charge(ledger), faults.HALTED)
        assert ledger.recover(**WHY, receipts=[receipt])
        charge(ledger)
    with pod.open() as ledger:
        charge(ledger)
        assert tenths(ledger) == 3


@pytest.mark.pitfall("B18")
def test_acts_that_went_another_way_are_given_up_by_a_recovery_and_their_revocations_kept(
    path, tmp_path, machines, charge
):
    """The store was put back, and the owner listed a key on the copy while the shared anchors were elsewhere."""
    owner, pod = machines
    third = Signer.in_memory()
    shutil.copy(path, tmp_path / "older")
    with owner.open() as ledger:
        ledger.revoke_key(ledger.listed_keys()[1].key, **WHY)
    (tmp_path / "shared").rename(tmp_path / "unmounted")
    shutil.copy(tmp_path / "older", path)
    owner.forget()
    with owner.open() as ledger:
        refuses(lambda: ledger.list_key(third.public, name="third", **WHY), faults.NO_ANCHOR_DIRECTORY)
        act = ledger._key.register.next_act(ledger._key.signer, "LISTED", third.public, name="third", **WHY)
        ledger._try_to_write_act(act)  # as a version without this check would
    (tmp_path / "unmounted").rename(tmp_path / "shared")
    with pod.open() as ledger:
        refuses(lambda: charge(ledger), faults.BEHIND)
    with owner.open() as ledger:
        refuses(lambda: charge(ledger), faults.BEHIND)
        assert ledger.recover(**WHY)
        charge(ledger)
        assert clean(ledger)
    with pod.open() as ledger:
        refuses(lambda: charge(ledger), faults.REVOKED_KEY)


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("B18")
def test_a_takeover_that_the_shared_anchors_alone_show_is_not_put_back(tmp_path, machines, charge):
    owner, pod = machines
    mallory = Signer.in_memory()
    with owner.open() as ledger:
        owns = ledger._key.register.owner
        forge_takeover(ledger, tmp_path / "shared", mallory)
    with pod.open() as ledger:
        refuses(lambda: charge(ledger), faults.BEHIND)
        refuses(lambda: ledger.recover(**WHY), faults.UNKNOWN_TAKEOVER)
    with owner.open() as ledger:
        assert ledger.recover(**WHY)
        register = ledger._key.register
        assert (register.owner, mallory.key in register.keys) == (owns, False)
        assert register.acts[-1].kind is ActKind.ABANDONED
        charge(ledger)
    with pod.open() as ledger:  # which the forged chain revoked
        charge(ledger)
        assert clean(ledger)


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("B18")
def test_acts_of_the_owner_before_a_forged_takeover_are_put_back(path, tmp_path, machines, charge):
    owner, pod = machines
    third = Machine(path, tmp_path / "third")
    shutil.copy(path, tmp_path / "older")
    with owner.open() as ledger:
        ledger.list_key(third.public, name="third", **WHY)
        forge_takeover(ledger, tmp_path / "shared", Signer.in_memory())
    shutil.copy(tmp_path / "older", path)
    for each in machines:
        each.forget()
    with pod.open() as ledger:
        refuses(lambda: ledger.recover(**WHY), faults.UNKNOWN_TAKEOVER)
    with owner.open() as ledger:
        assert ledger.recover(**WHY)
    with third.open() as ledger:
        charge(ledger)


@pytest.fixture
def robbed(path, tmp_path, machines, charge):
    """Machines over a copy from before the owner's key was stolen and rotated; the thief writes the shared anchors.

    The thief's key has a succession that the stolen key signed, and a chain that is longer than the true one.
    """
    owner, _ = machines
    shutil.copy(tmp_path / "owner" / "key", tmp_path / "stolen")
    (tmp_path / "stolen").chmod(0o600)
    stolen, thief = Signer.at(tmp_path / "stolen"), Signer.in_memory()
    with owner.open() as ledger:
        charge(ledger)
        register, name = ledger._key.register, ledger._id
    shutil.copy(path, tmp_path / "older")
    Signer.rotate(tmp_path / "owner" / "key")
    with owner.open() as ledger:
        charge(ledger)
    handover = f"{stolen.key} {stolen.sign(succession(stolen.key, thief.public))}"
    words = {"name": "owner", "reason": "forged"}
    forged = register.then(register.next_act(thief, ActKind.OWNED, thief.public, handover=handover, **words))
    for _ in range(2):
        forged = forged.then(forged.next_act(thief, ActKind.LISTED, Signer.in_memory().public, **words))
    write_acts(tmp_path / "shared", forged, thief)
    shutil.copy(tmp_path / "older", path)
    assert name == forged.ledger
    return machines, thief


def is_of_the_owner_again(owner: Machine, pod: Machine, thief: Signer, charge) -> bool:
    with owner.open() as ledger:
        register = ledger._key.register
        assert register.owner == ledger._key.signer.key
        assert thief.key not in register.keys
        charge(ledger)
    with pod.open() as ledger:
        return clean(ledger)


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("B18")
def test_of_two_chains_of_acts_a_recovery_puts_back_the_one_that_its_home_knows(robbed, charge):
    (owner, pod), thief = robbed
    with pod.open() as ledger:  # which opened the ledger before the rotation
        refuses(lambda: ledger.recover(**WHY), faults.PARTED_ACTS)
    with owner.open() as ledger:
        assert ledger.recover(**WHY)
    assert is_of_the_owner_again(owner, pod, thief, charge)


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("B18")
def test_where_no_home_knows_which_chain_of_acts_is_right_neither_is_put_back(robbed, charge):
    (owner, pod), thief = robbed
    for each in (owner, pod):
        each.forget()
        with each.open() as ledger:
            refuses(lambda ledger=ledger: ledger.recover(**WHY), faults.PARTED_ACTS)
    with owner.open() as ledger:
        ledger.take_over(**WHY)
        assert ledger.recover(**WHY)
    with owner.open() as ledger:
        pod_key = Signer.at(pod._home / "key").key
        assert pod_key in ledger._key.register.may_charge
    assert is_of_the_owner_again(owner, pod, thief, charge)


@pytest.mark.pitfall("B18")
def test_a_chain_that_went_another_way_blocks_no_takeover_where_the_owners_key_is_lost(tmp_path, machines, charge):
    owner, pod = machines
    with owner.open() as ledger:
        register, signer = ledger._key.register, ledger._key.signer
        past = KeyRegister.of(ledger._id, [act.to_json() for act in register.acts[:-1]])
    fork = past.then(past.next_act(signer, ActKind.LISTED, Signer.in_memory().public, name="other", reason="a fork"))
    write_acts(tmp_path / "shared", fork, Signer.in_memory())
    (tmp_path / "owner" / "key").unlink()
    with pod.open() as ledger:
        refuses(lambda: ledger.recover(**WHY), faults.NOT_THE_OWNER)
        ledger.take_over(**WHY)
        assert ledger.recover(**WHY)
        charge(ledger)
        assert clean(ledger)


@pytest.mark.pitfall("B18")
@pytest.mark.parametrize("number", [MOST_EVENTS + 1, 2 * MOST_EVENTS, 2 * MOST_EVENTS + 1, 2**63])
def test_an_anchor_with_a_number_that_no_ledger_reaches_uses_up_no_numbers(tmp_path, machines, charge, number):
    """A revoked key signed it, and the document that has it is removed."""
    owner, pod = machines
    with pod.open() as ledger:
        charge(ledger)
        (real, *_) = ledger._detector.shared_anchors().values()
        signer = ledger._key.signer
    with owner.open() as ledger:
        ledger.revoke_key(signer.key, **WHY)
        name = ledger._id
    document = {"format": FORMAT, "ledger": name, "certificate": [], "acts": []}
    forged = replace(real, sequence=number).sign(signer).to_json()
    file = tmp_path / "shared" / name / f"{signer.key}-{'0' * 16}.json"
    file.write_text(canonical(document | {"anchors": [forged]}))
    with owner.open() as ledger:
        if number <= 2 * MOST_EVENTS:
            refuses(lambda: charge(ledger), faults.BEHIND)
            refuses(lambda: ledger.recover(**WHY), faults.FORGED_NUMBER)
        file.unlink()
    with owner.open() as ledger:
        assert ledger.recover(**WHY)
        assert charge(ledger).sequence < 20
        assert clean(ledger)


@pytest.mark.pitfall("B18")
def test_a_takeover_is_put_back_where_it_was_made_and_made_again_where_that_is_lost(path, tmp_path, machines, charge):
    _, pod = machines
    heir, fresh = (Machine(path, tmp_path / name) for name in ("heir", "fresh"))
    shutil.copy(path, tmp_path / "older")
    with heir.open() as ledger:
        ledger.take_over(**WHY)
    shutil.copy(tmp_path / "older", path)
    with pod.open() as ledger:
        refuses(lambda: ledger.recover(**WHY), faults.UNKNOWN_TAKEOVER)
    with heir.open() as ledger:
        assert ledger.recover(**WHY)
        assert ledger.listed_keys()[-1].is_owner
        charge(ledger)
    shutil.copy(tmp_path / "older", path)
    heir.forget()
    with heir.open() as ledger:
        refuses(lambda: ledger.recover(**WHY), faults.UNKNOWN_TAKEOVER)
    with fresh.open() as ledger:
        ledger.take_over(**WHY)
        refuses(lambda: charge(ledger), faults.BEHIND)
        found = ledger.recover(**WHY)
        assert "has anchors that no known key signed" in str(found)  # what the heir charged, which nobody vouches for
        charge(ledger)


@pytest.mark.pitfall("B18")
def test_a_machine_that_looks_for_the_anchors_at_the_new_place_already_halts_nothing(
    machines, tmp_path, charge, monkeypatch
):
    owner, pod = machines
    monkeypatch.setenv("DISCREET_ANCHORS", str(tmp_path / "new"))
    for options, because in (({}, "would count as lost"), ({"lost": True}, "looks for the former one")):
        with owner.open() as ledger, pytest.raises(ParameterError, match="shared anchors") as caught:
            ledger.share_anchors(tmp_path / "new", **WHY, **options)
        assert because in str(caught.value)
        assert "DISCREET_ANCHORS" in caught.value.instead
    assert not (tmp_path / "new").exists()
    monkeypatch.delenv("DISCREET_ANCHORS")
    with pod.open() as ledger:
        charge(ledger)


@pytest.mark.pitfall("B18")
def test_a_verification_says_that_the_shared_anchors_are_not_there_and_stops_nothing(machines, tmp_path, charge):
    owner, _ = machines
    (tmp_path / "shared").rename(tmp_path / "unmounted")
    with owner.open() as ledger:
        assert [str(finding) for finding in ledger.verify().findings] == [faults.NO_ANCHOR_DIRECTORY]
        (tmp_path / "unmounted").rename(tmp_path / "shared")
        charge(ledger)
        assert clean(ledger)


@pytest.mark.pitfall("B18")
def test_naming_a_store_twice_or_by_a_process_that_was_killed_changes_no_id(machines, tmp_path, charge):
    owner, _ = machines
    before = (next((tmp_path / "shared").iterdir()) / "store.json").read_text()
    with owner.open() as ledger:
        ledger.share_anchors(tmp_path / "shared", **WHY)
        charge(ledger)
    assert (next((tmp_path / "shared").iterdir()) / "store.json").read_text() == before


@pytest.mark.pitfall("B18")
@pytest.mark.parametrize("by", ["argument", "environment"])
def test_a_relative_path_of_the_shared_anchors_names_one_directory_also_after_a_change_of_directory(
    path, tmp_path, dataset, charge, monkeypatch, by
):
    """The ledger records it absolute, and a process that is told it keeps what it meant when the ledger was opened."""
    owner, elsewhere = Machine(path, tmp_path / "owner"), tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(tmp_path)
    with owner.open() as ledger:
        ledger.register(dataset())
        ledger.share_anchors("shared", **WHY)
    assert ledger._key.register.place == str(tmp_path / "shared")
    (tmp_path / "shared").rename(tmp_path / "mounted")
    if by == "environment":
        monkeypatch.setenv("DISCREET_ANCHORS", "mounted")
    with owner.open(**({"shared_anchors": "mounted"} if by == "argument" else {})) as ledger:
        monkeypatch.chdir(elsewhere)
        charge(ledger)
        assert clean(ledger)
    assert list(elsewhere.iterdir()) == []


@pytest.mark.pitfall("B18")
def test_files_of_others_in_the_shared_store_stop_nobody(machines, tmp_path, charge):
    owner, _ = machines
    store = next((tmp_path / "shared").iterdir())
    (store / "ab-cd.json").write_bytes(b"\xff\xfe")
    (store / "ab-ce.json").mkdir()
    (store / "ab-cf.json").write_text('{"format":"discreet.shared-anchors/2"}')
    with owner.open() as ledger:
        charge(ledger)
        assert len(ledger.verify().findings) == 3
        charge(ledger)


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("B18")
def test_a_forked_worker_has_a_document_of_its_own(path, tmp_path, machines, charge, dataset):
    owner, pod = machines
    shutil.copy(path, tmp_path / "older")
    with owner.open() as ledger:
        ledger.register(dataset(name="stays"))
        for name in ("visits", "stays"):
            child = os.fork()
            if not child:
                charge(ledger, name=name)
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
        true = {name: ledger.spent(name) for name in ("visits", "stays")}
        ledger._store.close()
    shutil.copy(tmp_path / "older", path)
    pod.forget()
    with pod.open() as ledger:
        refuses(lambda: charge(ledger), faults.BEHIND)
        assert ledger.anchors()["stays"].spent == true["stays"]
        assert ledger.anchors()["visits"].spent == true["visits"]


def test_a_key_that_was_never_listed_answers_and_forfeits_nothing(machines, tmp_path, path, charge, turn):
    owner, _ = machines
    stranger = Machine(path, tmp_path / "stranger")
    with owner.open() as ledger, stranger.open() as other:
        held = turn(ledger)
        refuses(lambda: other.answer(held, b"false"), faults.UNLISTED_KEY)
        refuses(lambda: other.forfeit(held, "timeout"), faults.UNLISTED_KEY)
        refuses(lambda: other.forfeit_expired(grace=0), faults.UNLISTED_KEY)
        assert other.signature("a release") is None
        assert ledger.answer(held, b"12") == b"12"
        assert clean(ledger)


@pytest.mark.pitfall("B18")
def test_a_machine_that_replaces_the_owners_which_is_lost_takes_over_a_copy_that_stands_behind_and_recovers_it(
    path, tmp_path, restored, charge
):
    """A recovery needs a listed key, so a takeover must not need a recovery; it charges nothing."""
    fresh = Machine(path, tmp_path / "fresh")
    with fresh.open() as ledger:
        refuses(lambda: ledger.recover(**WHY), faults.UNLISTED_KEY)
        ledger.take_over(**WHY)
        refuses(lambda: charge(ledger), faults.BEHIND)
        assert ledger.recover(**WHY)
        assert tenths(ledger) == 2
        charge(ledger)
        assert clean(ledger)


@pytest.mark.pitfall("B18")
def test_processes_that_run_go_on_with_the_store_that_replaces_a_lost_one(path, tmp_path, machines, charge):
    owner, pod = machines
    with owner.open() as ledger, pod.open() as running:
        charge(running)
        shutil.rmtree(tmp_path / "shared")
        for each in (ledger, running):
            refuses(lambda own=each: charge(own), faults.NO_ANCHOR_DIRECTORY)
        ledger.share_anchors(tmp_path / "another", **WHY, lost=True)
        refuses(lambda: charge(running), faults.HALTED)
        assert ledger.recover(**WHY)
        charge(running)
        charge(ledger)
        assert clean(running)


@pytest.mark.pitfall("B18")
def test_a_copy_of_the_store_in_another_place_becomes_another_store(tmp_path, machines, charge):
    owner, pod = machines
    shutil.copytree(tmp_path / "shared", tmp_path / "copied")
    with pod.open() as running, owner.open() as ledger:
        charge(running)
        ledger.share_anchors(tmp_path / "copied", **WHY)
        charge(running)
    stores = {(next((tmp_path / name).iterdir()) / "store.json").read_text() for name in ("shared", "copied")}
    assert len(stores) == 2
    shutil.rmtree(tmp_path / "shared")
    with pod.open() as ledger:
        charge(ledger)
        assert clean(ledger)


def test_a_store_that_is_lost_before_there_is_a_dataset_halts_nothing(path, tmp_path, dataset, charge):
    owner = Machine(path, tmp_path / "owner")
    with owner.open() as ledger:
        ledger.share_anchors(tmp_path / "shared", **WHY)
    shutil.rmtree(tmp_path / "shared")
    with owner.open() as ledger:
        ledger.share_anchors(tmp_path / "another", **WHY, lost=True)
        ledger.register(dataset())
        charge(ledger)


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("B18")
def test_a_rotated_key_of_the_owner_lists_keys_and_the_old_one_nothing_though_its_receipts_verify(
    path, tmp_path, machines, charge
):
    """The new key becomes the owner's by the handover of the old one, which is revoked by that."""
    owner, pod = machines
    thief = Machine(path, tmp_path / "thief")
    shutil.copy(tmp_path / "owner" / "key", tmp_path / "thief" / "key")
    (tmp_path / "thief" / "key.public").unlink()
    receipts = []
    for each in machines:
        with each.open() as ledger:
            receipts.append(charge(ledger))
    new = Signer.rotate(tmp_path / "owner" / "key")
    with owner.open() as ledger:
        receipts.append(charge(ledger))
        ledger.list_key(Signer.in_memory().public, name="third", **WHY)
        old, listed, third, current = sorted(ledger.listed_keys(), key=lambda key: (not key.is_revoked, key.is_owner))
        assert (old.public, current.public) == (owner.public, new.public)
        assert {listed.name, third.name} == {"pod", "third"}
        assert [key.is_owner for key in (old, listed, third, current)] == [False, False, False, True]
        with pytest.raises(NameNotFoundError):
            ledger.revoke_key(old.key, **WHY)
        assert ledger.verify(receipts=receipts, full=True)
    with pod.open() as ledger:
        charge(ledger)
    assert [receipt_fault(receipt, [owner.public]) for receipt in receipts] == [None] * 3
    with thief.open() as ledger:
        refuses(lambda: charge(ledger), faults.REVOKED_KEY)
        refuses(lambda: ledger.list_key(Signer.in_memory().public, name="fourth", **WHY), faults.NOT_THE_OWNER)


def test_a_certificate_that_many_receipts_have_is_verified_once(machines, charge, monkeypatch):
    owner, pod = machines
    with pod.open() as ledger:
        receipts = [charge(ledger) for _ in range(5)]
    verified = []
    verify = key_acts.certified_keys
    with owner.open() as ledger:
        monkeypatch.setattr(key_acts, "certified_keys", lambda *given: verified.append(given[2]) or verify(*given))
        assert ledger.verify(receipts=receipts)
    assert [each for each in verified if each] == [receipts[0].certificate]
