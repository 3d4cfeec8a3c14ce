"""What a recovery takes for evidence that receipts and anchors are of one history, end to end.

Charges are counted in tenths of epsilon: `tenths(ledger)` is what was spent.
"""

import os
import re
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from discreet.errors import LedgerError
from discreet.ledger import Receipt, Signer, State
from discreet.ledger.integrity import rollback
from discreet.ledger.records import account, faults
from homes import SQLiteMachines
from tampering import clean, tenths

REASON = "a disk was replaced"

pytestmark = [pytest.mark.guarantee("ledger"), pytest.mark.pitfall("D")]


@pytest.fixture
def world(tmp_path: Path, dataset: Callable[..., object]) -> Iterator[SQLiteMachines]:
    with ExitStack() as closing:
        machines = SQLiteMachines(tmp_path, closing)
        with machines.open() as ledger:
            ledger.register(dataset())
        yield machines


@pytest.mark.parametrize("machines", [1, 3])
def test_a_charge_that_was_answered_after_the_copy_is_not_answered_again(world, turn, machines):
    """All that shows the answer is lost, but for the receipt of the release."""
    if machines > 1:
        world.share(machines)

    def answered() -> list[str]:
        ledger = world.open(machines - 1)
        held = turn(ledger)
        world.back_up()
        ledger.answer(held, b"one")
        return [held.receipt.to_json()]

    receipt = Receipt.from_json(world.in_a_process_that_dies(answered)[0])
    world.restore()
    with world.open() as owner:
        if machines > 1:
            shutil.rmtree(world.first)
            owner.share_anchors(world.second, reason=REASON, lost=True)
        assert owner.recover(reason=REASON, receipts=[receipt])
        assert owner.state(receipt) is State.FORFEITED
        again = turn(owner)
        assert (again.payload, again.receipt.hash != receipt.hash) == (None, True)
        owner.answer(again, b"two")
        assert tenths(owner) == 2


def lose_two_histories(world: SQLiteMachines, charge: Callable[..., Receipt]) -> tuple[list[Receipt], list[Receipt]]:
    """One of which nothing is anchored, and one that is; the copy is of before both. Their receipts."""

    def unanchored() -> list[str]:
        ledger = world.open()
        charge(ledger)
        world.back_up()
        return [charge(ledger).to_json() for _ in range(3)]

    first = [Receipt.from_json(text) for text in world.in_a_process_that_dies(unanchored)]
    world.restore()
    with world.open() as ledger:
        second = [charge(ledger) for _ in range(5)]
    world.restore()
    return first, second


@pytest.mark.parametrize("is_late", [True, False])
@pytest.mark.parametrize("more", [0, 1, 5])
def test_receipts_of_another_history_than_the_anchored_one_count_beside_it(world, charge, is_late, more):
    first, second = lose_two_histories(world, charge)
    with world.open() as ledger:
        if is_late:
            assert ledger.recover(reason=REASON)
            assert tenths(ledger) == 1 + 5
        assert ledger.recover(reason=REASON, receipts=[*first, *second[:more]])
        assert tenths(ledger) == 1 + 5 + 3
        assert ledger.recover(reason=REASON, receipts=[*first, *second])
        assert tenths(ledger) == 1 + 5 + 3


def lose_answered_charges(world: SQLiteMachines, turn: Callable, times: int) -> list[Receipt]:
    """Answers lie between charges, so no receipt names the event of another; the first and the last are anchored."""
    world.back_up()
    with world.open() as ledger:
        asked = []
        for _ in range(times):
            asked.append(turn(ledger, fresh=True))
            ledger.answer(asked[-1], b"12")
    world.restore()
    return [each.receipt for each in asked]


@pytest.mark.parametrize("is_late", [True, False])
def test_all_receipts_of_one_anchored_history_count_once(world, turn, is_late):
    receipts = lose_answered_charges(world, turn, 4)
    with world.open() as ledger:
        if is_late:
            assert ledger.recover(reason=REASON)
        assert ledger.recover(reason=REASON, receipts=receipts)
        assert tenths(ledger) == 4


def test_some_receipts_that_nothing_links_to_the_anchored_history_are_added(world, turn):
    """They may be of another history with events of the same numbers."""
    receipts = lose_answered_charges(world, turn, 4)
    with world.open() as ledger:
        assert ledger.recover(reason=REASON, receipts=receipts[1:3])
        assert tenths(ledger) == 4 + 2


@pytest.mark.parametrize("seconds", [-20, 0, 20])
@pytest.mark.parametrize("later", [5, 9])
def test_histories_of_machines_whose_clocks_differ_add_up(world, charge, monkeypatch, seconds, later):
    """Ledger and shared anchors are put back together; the clock of machine 1 is always wrong by as much."""
    world.share(3)

    def other_clock() -> str:
        return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat(timespec="microseconds")

    shared, older = world.first, world.directory / "older"
    with world.open() as owner:
        charge(owner, epsilon=0.01)
    with monkeypatch.context() as patch:
        for module in (rollback, account):
            patch.setattr(module, "now", other_clock)
        with world.open(1) as ahead:
            charge(ahead, epsilon=0.01)
            world.back_up()
            shutil.copytree(shared, older)
            for _ in range(8):
                charge(ahead, epsilon=0.01)
    world.restore()
    shutil.rmtree(shared)
    older.rename(shared)
    with world.open(2) as other:
        for _ in range(later):
            charge(other, epsilon=0.01)
    world.open(1).close()
    with world.open() as owner:
        assert owner.recover(reason=REASON)
        assert tenths(owner) * 10 >= 2 + 8 + later
        assert seconds or tenths(owner) * 10 == 2 + 8 + later


@pytest.mark.parametrize("is_killed", [False, True], ids=["at once", "killed after the first dataset"])
def test_charges_in_flight_of_every_dataset_are_forfeited_where_the_anchors_of_one_show_an_older_copy(
    world, turn, charge, dataset, monkeypatch, is_killed
):
    """The answer was given after the copy, and nothing of its dataset was anchored since."""
    with world.open() as ledger:
        ledger.register(dataset(name="stays", source="stays.csv"))

    def answered() -> list[str]:
        ledger = world.open()
        held = turn(ledger)
        world.back_up()
        ledger.answer(held, b"one")
        for _ in range(12):
            charge(ledger, name="stays", epsilon=0.01)
        return [held.receipt.to_json()]

    receipt = Receipt.from_json(world.in_a_process_that_dies(answered)[0])
    world.restore()
    if is_killed:
        with monkeypatch.context() as patch:
            patch.setattr(rollback.RollbackDetector, "anchor_recovery", lambda *_: os.kill(os.getpid(), signal.SIGKILL))
            world.in_a_process_that_dies(lambda: [str(world.open().recover(reason=REASON))])
    with world.open() as owner:
        assert owner.state(receipt) is State.RESERVED
        with pytest.raises(LedgerError, match=re.escape(faults.HALTED if is_killed else faults.BEHIND)):
            charge(owner)
        assert owner.recover(reason=REASON)
        assert owner.state(receipt) is State.FORFEITED
        again = turn(owner)
        assert (again.payload, again.receipt.hash != receipt.hash) == (None, True)
        owner.answer(again, b"two")
        assert tenths(owner) == 2
        assert clean(owner)


def lose_key(home: dict[str, Path], other: Path | None = None) -> None:
    """Lose the key of a home and its list of keys; another one that was made elsewhere may come in their place."""
    for ending in ("", ".public"):
        place = home["key"].with_name(f"{home['key'].name}{ending}")
        place.unlink()
        if other is not None:
            shutil.copy(f"{other}{ending}", place)


@pytest.mark.parametrize("left", ["anchors", "checkpoint"])
def test_what_a_home_knows_counts_where_it_lost_its_keys_and_the_ledger_lists_them(world, charge, left):
    home = world.home(0)
    world.back_up()
    with world.open() as ledger:
        for _ in range(5):
            charge(ledger)
        assert ledger.verify()
    world.restore()
    lose_key(home)
    if left == "checkpoint":
        for each in home["anchors"].glob("*.jsonl"):
            each.unlink()
    with world.open() as ledger:
        ledger.take_over(reason=REASON)
        if left == "anchors":
            with pytest.raises(LedgerError, match=re.escape(faults.BEHIND)):
                charge(ledger)
        assert not ledger.verify()
        assert ledger.recover(reason=REASON)
        assert tenths(ledger) == 5
        charge(ledger)
        assert clean(ledger)


def test_what_a_containers_home_knows_counts_after_its_key_was_replaced_by_another_listed_one(world, charge):
    """The ledger and the shared anchors are lost together; both keys were listed before the backup."""
    world.share(2)
    second = world.directory / "container.key"
    with world.open() as owner:
        owner.list_key(Signer.at(second).public, name="second", reason=REASON)
    world.back_up()
    with world.open(1) as container:
        for _ in range(5):
            charge(container)
    lose_key(world.home(1), second)
    world.restore()
    world.lose_store()
    with world.open(1) as container:
        assert "an older copy" in str(container.verify())
    with world.open() as owner:
        assert owner.recover(reason=REASON)
        assert tenths(owner) == 5
    with world.open(1) as container:
        charge(container)
        assert clean(container)
