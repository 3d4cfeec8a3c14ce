"""Acts of the owner are refused while they would be a second history, and nothing that a kill leaves stays for ever."""

import os
import shutil
from pathlib import Path

import pytest

from discreet.errors import LedgerError
from discreet.ledger import Signer, SQLiteLedger
from discreet.ledger.records import faults
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
def test_after_the_anchors_were_lost_nobody_charges_before_a_recovery(path, tmp_path, machines, charge):
    owner, pod = machines
    with pod.open() as ledger:
        receipt = charge(ledger)
    shutil.rmtree(tmp_path / "shared")
    with owner.open() as ledger:
        ledger.share_anchors(tmp_path / "another", **WHY)
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
        refuses(lambda: ledger.list_key(third.public, name="third", **WHY), faults.OTHER_ANCHORS)
        act = ledger._key.register.next_act(ledger._key.signer, "LISTED", third.public, name="third", **WHY)
        ledger._append_act(act)  # as a version without this check would
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


@pytest.mark.pitfall("B18")
def test_naming_a_store_twice_or_by_a_process_that_was_killed_changes_no_id(machines, tmp_path, charge):
    owner, _ = machines
    before = (next((tmp_path / "shared").iterdir()) / "store.json").read_text()
    with owner.open() as ledger:
        ledger.share_anchors(tmp_path / "shared", **WHY)
        charge(ledger)
    assert (next((tmp_path / "shared").iterdir()) / "store.json").read_text() == before


@pytest.mark.pitfall("B18")
def test_files_of_others_in_the_shared_place_stop_nobody(machines, tmp_path, charge):
    owner, _ = machines
    place = next((tmp_path / "shared").iterdir())
    (place / "ab-cd.json").write_bytes(b"\xff\xfe")
    (place / "ab-ce.json").mkdir()
    (place / "ab-cf.json").write_text('{"format":"discreet.shared-anchors/2"}')
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
            refuses(lambda own=each: charge(own), faults.NO_SHARED_ANCHORS)
        ledger.share_anchors(tmp_path / "another", **WHY)
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
        ledger.share_anchors(tmp_path / "another", **WHY)
        ledger.register(dataset())
        charge(ledger)
