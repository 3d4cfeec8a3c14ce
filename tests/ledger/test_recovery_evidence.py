"""What a recovery takes for evidence that receipts and anchors are of one history, end to end.

Charges are counted in tenths of epsilon: `tenths(ledger)` is what was spent.
"""

import os
import shutil
import signal
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from discreet.ledger import Receipt, Signer, SQLiteLedger, State
from discreet.ledger.integrity import rollback
from discreet.ledger.records import account
from tampering import tenths

REASON = "a disk was replaced"

pytestmark = [pytest.mark.guarantee("ledger"), pytest.mark.pitfall("D")]


@dataclass
class World:
    """A ledger in a file, copies of it, and the homes of machines."""

    directory: Path

    @property
    def path(self) -> Path:
        return self.directory / "ledger.sqlite"

    def home(self, number: int) -> dict[str, Path]:
        home = self.directory / f"home-{number}"
        home.mkdir(exist_ok=True)
        return {"key": home / "key", "anchors": home / "anchors"}

    def open(self, number: int = 0, **options: float) -> SQLiteLedger:
        return SQLiteLedger(self.path, **self.home(number), **options)

    def copy(self) -> None:
        with self.open() as ledger:
            ledger.backup(self.directory / "copy")

    def put_back(self) -> None:
        for each in self.directory.glob("ledger.sqlite*"):
            each.unlink()
        shutil.copy(self.directory / "copy", self.path)

    def in_a_process_that_dies(self, work: Callable[[], list[str]]) -> list[str]:
        """What work gives, in a process that is killed then, so that it anchors nothing more."""
        told = self.directory / "told"
        if (child := os.fork()) == 0:
            told.write_text("\n".join(work()))
            os.kill(os.getpid(), signal.SIGKILL)
        assert os.waitpid(child, 0)[1] == signal.SIGKILL
        return told.read_text().splitlines()


@pytest.fixture
def world(tmp_path, dataset) -> World:
    made = World(tmp_path)
    with made.open() as ledger:
        ledger.register(dataset())
    return made


@pytest.fixture
def share(world) -> Callable[[int], None]:
    def shared(machines: int) -> None:
        with world.open() as owner:
            owner.share_anchors(world.directory / "shared", reason=REASON)
            for number in range(1, machines):
                owner.list_key(Signer.at(world.home(number)["key"]).public, name=f"m{number}", reason=REASON)

    return shared


@pytest.mark.parametrize("machines", [1, 3])
def test_a_charge_that_was_answered_after_the_copy_is_not_answered_again(world, share, turn, machines):
    """All that shows the answer is lost, but for the receipt of the release."""
    if machines > 1:
        share(machines)

    def answered() -> list[str]:
        ledger = world.open(machines - 1)
        held = turn(ledger)
        world.copy()
        ledger.answer(held, b"one")
        return [held.receipt.to_json()]

    receipt = Receipt.from_json(world.in_a_process_that_dies(answered)[0])
    world.put_back()
    with world.open() as owner:
        if machines > 1:
            shutil.rmtree(world.directory / "shared")
            owner.share_anchors(world.directory / "another", reason=REASON, lost=True)
        assert owner.recover(reason=REASON, receipts=[receipt])
        assert owner.state(receipt) is State.FORFEITED
        again = turn(owner)
        assert (again.payload, again.receipt.hash != receipt.hash) == (None, True)
        owner.answer(again, b"two")
        assert tenths(owner) == 2


def lose_two_histories(world: World, charge: Callable[..., Receipt]) -> tuple[list[Receipt], list[Receipt]]:
    """One of which nothing is anchored, and one that is; the copy is of before both. Their receipts."""

    def unanchored() -> list[str]:
        ledger = world.open()
        charge(ledger)
        world.copy()
        return [charge(ledger).to_json() for _ in range(3)]

    first = [Receipt.from_json(text) for text in world.in_a_process_that_dies(unanchored)]
    world.put_back()
    with world.open() as ledger:
        second = [charge(ledger) for _ in range(5)]
    world.put_back()
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


def lose_answered_charges(world: World, turn: Callable, times: int) -> list[Receipt]:
    """Answers lie between charges, so no receipt names the event of another; the first and the last are anchored."""
    world.copy()
    with world.open() as ledger:
        asked = [turn(ledger, fresh=True) for _ in range(1)]
        ledger.answer(asked[0], b"12")
        for _ in range(times - 1):
            asked.append(turn(ledger, fresh=True))
            ledger.answer(asked[-1], b"12")
    world.put_back()
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
def test_histories_of_machines_whose_clocks_differ_add_up(world, share, charge, monkeypatch, seconds, later):
    """Ledger and shared anchors are put back together; the clock of machine 1 is always wrong by as much."""
    share(3)

    def other_clock() -> str:
        return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat(timespec="microseconds")

    shared, older = world.directory / "shared", world.directory / "older"
    with world.open() as owner:
        charge(owner, epsilon=0.01)
    with monkeypatch.context() as patch:
        for module in (rollback, account):
            patch.setattr(module, "now", other_clock)
        with world.open(1) as ahead:
            charge(ahead, epsilon=0.01)
            world.copy()
            shutil.copytree(shared, older)
            for _ in range(8):
                charge(ahead, epsilon=0.01)
    world.put_back()
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
