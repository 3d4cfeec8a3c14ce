"""What other machines wrote to the shared anchors is read before anything is charged, also by a process that runs."""

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.accounting.filters import Budget
from discreet.errors import LedgerError, ParameterError
from discreet.ledger import Signer, SQLiteLedger
from discreet.ledger.integrity.shared_anchors import SharedAnchors
from discreet.ledger.records import faults
from homes import SQLiteMachines, shared_anchors
from tampering import TENTH, clean, dump_of, put_back_dump, tenths

WHY = {"reason": "a test"}
BEHIND = re.escape(faults.BEHIND)

pytestmark = [pytest.mark.guarantee("ledger"), pytest.mark.pitfall("B18")]


@pytest.fixture
def machines(tmp_path: Path, dataset: Callable[..., object]) -> Iterator[Callable[[int], SQLiteMachines]]:
    """So many machines, with a dataset."""
    with ExitStack() as closing:

        def made(number: int) -> SQLiteMachines:
            found = SQLiteMachines(tmp_path, closing)
            found.share(number)
            with found.open(0) as owner:
                owner.register(dataset())
            return found

        yield made


def test_a_machine_whose_key_was_rotated_writes_down_what_its_former_key_anchored(machines, charge):
    group = machines(3)
    with group.open(0) as owner:
        charge(owner)
    group.back_up()
    with group.open(1) as other:
        for _ in range(3):
            charge(other)
    former, new = Signer.at(group.key(1)), Signer.rotate(group.key(1))
    with group.open(0) as owner:
        owner.list_key(new.public, name="machine 1 again", **WHY)
        owner.revoke_key(former.key, **WHY)
    group.restore()
    group.lose_store()
    for number in range(3):
        with group.open(number) as each:
            each.verify()
    with group.open(0) as owner:
        assert owner.recover(**WHY)
        assert tenths(owner) == 4
    with group.open(2) as other:
        charge(other)
        assert clean(other)


def test_a_running_process_notices_a_lost_history_that_a_machine_writes_down_later(machines, charge):
    """Machine 1 was away during the recovery, and the chain has passed the numbers that it knows."""
    group = machines(3)
    group.back_up()
    with group.open(1) as away:
        for _ in range(3):
            charge(away)
    group.restore()
    group.lose_store()
    with group.open(0) as owner:
        owner.recover(**WHY)
    running = group.open(2)
    for _ in range(5):
        charge(running)
    with pytest.raises(LedgerError, match=BEHIND), group.open(1) as away:
        charge(away)
    with pytest.raises(LedgerError, match=BEHIND):
        charge(running)
    with group.open(1) as away:
        assert away.recover(**WHY)
        assert tenths(away) == 8
    charge(running)


def test_a_merge_keeps_the_act_that_names_another_store(machines, charge, monkeypatch):
    """It is written while the merge waits; an older copy that names the former store is behind by it."""
    group = machines(3)
    owner, first = group.open(0), group.first
    while len([*first.glob("*/*-*.json")]) < 17:
        with group.open(2) as other:
            charge(other, epsilon=Fraction(1, 100))
    merge, most_acts = SharedAnchors.merge, []
    monkeypatch.setattr(SharedAnchors, "merge", lambda *_: None)  # the owner would leave nothing to merge
    group.back_up()

    def merge_late(shared: SharedAnchors, settled: object) -> None:
        monkeypatch.setattr(SharedAnchors, "merge", merge)
        owner.share_anchors(group.second, **WHY)
        merge(shared, settled)  # a process that is killed here writes nothing more
        most_acts.append(max(len(json.loads(path.read_text())["acts"]) for path in first.glob("*/*-*.json")))

    monkeypatch.setattr(SharedAnchors, "merge", merge_late)
    with group.open(1):
        pass
    assert most_acts == [5]
    with group.open(2) as other:
        charge(other)
    group.restore()
    shutil.rmtree(group.key(2).parent / "anchors")
    with pytest.raises(LedgerError, match=BEHIND), group.open(2) as other:
        charge(other)


def test_datasets_that_an_older_copy_lacks_are_registered_again_one_by_one(machines, charge, dataset):
    group = machines(1)
    group.back_up()
    with group.open(0) as owner:
        for name in ("b", "c"):
            owner.register(dataset(name=name))
            charge(owner, name=name)
    group.restore()
    with group.open(0) as owner:
        owner.recover(**WHY)
        owner.set_cap("visits", Budget(epsilon=2), **WHY)  # a dataset that is not behind
        for name in ("b", "c"):
            owner.register(dataset(name=name))
            owner.recover(**WHY)
            assert Fraction(owner.spent(name).epsilon, TENTH) == 1
            charge(owner, name=name)
        assert clean(owner)


def test_another_store_is_named_only_where_the_present_one_is_lost_for_good(machines, charge):
    group = machines(1)
    (group.first).rename(group.directory / "away")
    with group.open(0) as owner, pytest.raises(ParameterError, match="is not there") as caught:
        owner.share_anchors(group.second, **WHY)
    assert "--lost" in caught.value.instead
    (group.directory / "away").rename(group.first)
    with group.open(0) as owner:
        charge(owner)
        assert clean(owner)


def test_the_owners_rotated_key_names_another_store_where_the_former_is_lost(machines, charge):
    group = machines(1)
    shutil.rmtree(group.first)
    Signer.rotate(group.key(0))
    with group.open(0) as owner:
        owner.share_anchors(group.second, **WHY, lost=True)
        assert owner.recover(**WHY)
        charge(owner)


def test_a_takeover_is_written_once_and_reports_no_refusal_where_the_store_is_lost(machines):
    group = machines(1)
    shutil.rmtree(group.first)
    shutil.rmtree(group.key(0).parent)
    group.key(0)
    with group.open(0) as owner:
        owner.take_over(**WHY)
        assert [each.is_owner for each in owner.listed_keys()].count(True) == 1


@pytest.mark.parametrize("is_killed", [False, True], ids=["at once", "killed once the acts are back"])
@pytest.mark.parametrize("place", ["second", "third"])
def test_an_older_copy_put_back_after_the_store_was_lost_serves_only_once_it_is_recovered(
    machines, charge, monkeypatch, place, is_killed
):
    """The halt was in the copy that was replaced; the acts at home name a store that is in reach."""
    group = machines(2)
    group.back_up()
    with group.open(1) as other:
        receipts = [charge(other) for _ in range(5)]
    shutil.rmtree(group.key(1).parent / "anchors")
    group.lose_store()
    group.restore()

    def name_again() -> None:
        with group.open(0) as owner:
            owner.share_anchors(group.directory / place, **WHY, lost=True)

    if is_killed:
        with monkeypatch.context() as patch:
            patch.setattr(SQLiteLedger, "_succeed_owner", lambda _: os._exit(9))
            if (child := os.fork()) == 0:
                try:
                    name_again()
                finally:
                    os._exit(8)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    name_again()
    with group.open(1) as other, pytest.raises(LedgerError, match=re.escape(faults.HALTED)):
        charge(other)
    with group.open(0) as owner:
        assert owner.recover(**WHY, receipts=receipts)
        assert tenths(owner) == 5
        charge(owner)


@pytest.mark.parametrize("is_configured", [False, True], ids=["place of the ledger", "place of the machine"])
def test_a_copy_that_names_a_former_store_is_recovered_with_the_one_that_acts_at_home_name(
    machines, charge, monkeypatch, is_configured
):
    """The former store is gone for good, and the present one knows every charge."""
    group = machines(2)
    group.back_up()
    with group.open(0) as owner:
        owner.share_anchors(group.directory / "second", **WHY)
    shutil.rmtree(group.directory / "first")
    with group.open(1) as other:
        for _ in range(5):
            charge(other)
    group.restore()
    if is_configured:
        monkeypatch.setenv("DISCREET_ANCHORS", str(group.directory / "second"))
    with group.open(1) as other:
        assert f"name another store of shared anchors, at '{group.directory / 'second'}'" in str(other.verify())
    shutil.rmtree(group.key(1).parent / "anchors")
    with group.open(0) as owner:
        assert owner.recover(**WHY)
        assert tenths(owner) == 5
        charge(owner)
    with group.open(1) as other:
        charge(other)
        assert clean(other)


@pytest.mark.full
class TestRunningProcesses:
    """On PostgreSQL a process keeps its connection while a dump is restored in place."""

    def test_a_key_that_was_revoked_after_the_dump_charges_nothing(self, cluster, dataset, charge):
        group = cluster(3)
        group.open(0).register(dataset())
        running = group.open_as_service(1)
        charge(running)
        dump = dump_of(group.place.tamperer)
        with group.open_as_owner() as owner:
            owner.revoke_key(Signer.at(group.home(1)["key"]).key, **WHY)
        put_back_dump(group.place.tamperer, dump)
        with pytest.raises(LedgerError, match=BEHIND):
            charge(running)
        group.recover()
        with pytest.raises(LedgerError, match=re.escape(faults.REVOKED_KEY)):
            charge(running)

    def test_a_process_of_the_former_store_does_not_serve_a_copy_that_names_it(
        self, cluster, dataset, charge, tmp_path
    ):
        group = cluster(3)
        group.open(0).register(dataset())
        running = group.open_as_service(1)
        charge(running)
        dump = dump_of(group.place.tamperer)
        with group.open_as_owner() as owner:
            owner.share_anchors(tmp_path / "second", **WHY)
        other = group.open_as_service(2)
        for _ in range(4):
            charge(other)
        put_back_dump(group.place.tamperer, dump)
        with pytest.raises(LedgerError, match=BEHIND):
            charge(running)

    def test_a_charge_under_way_is_anchored_in_the_first_store_that_is_named(
        self, cluster, dataset, charge, monkeypatch, tmp_path
    ):
        """The store is named between the check of the charge and its COMMIT."""
        group = cluster(1, shared=None)
        group.open(0).register(dataset())
        running = group.open_as_service(0)
        check = running._check_work

        def name_a_store(writer: object) -> None:
            check(writer)
            monkeypatch.setattr(running, "_check_work", check)
            with group.open_as_owner() as owner:
                owner.share_anchors(tmp_path / "first", **WHY)

        monkeypatch.setattr(running, "_check_work", name_a_store)
        receipt = charge(running)
        assert max(each.sequence for each in shared_anchors(running)) == receipt.sequence
