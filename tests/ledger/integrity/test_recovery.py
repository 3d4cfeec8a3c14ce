"""A recovery goes on from the most that any evidence shows.

Charges are counted in tenths of epsilon: `tenths(ledger)` is what was spent.
"""

import re
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet import events
from discreet.accounting.filters import Budget
from discreet.errors import BudgetError, Failure, LedgerError, ParameterError
from discreet.ledger import Dataset, DatasetCharge, Kind, Receipt, Signer, SQLiteLedger, State
from discreet.ledger.records import faults
from discreet.ledger.records.receipt import receipt_of
from tampering import TENTH, anchor_file, clean, tenths

QUESTION = "ab12"
TENTH_OF_A_MILLIONTH = Fraction(1, 10**7)
REASON = "a disk was replaced"


@pytest.mark.guarantee("ledger")
def test_the_store_says_three_the_anchor_five_and_receipts_beyond_it_two_more(visits, charge, put_back, another):
    for _ in range(3):
        charge(visits)
    covered = [charge(visits) for _ in range(2)]
    visits.anchor()
    anchors = anchor_file(visits).read_bytes()
    beyond = [charge(visits) for _ in range(2)]
    visits.close()
    anchor_file(visits).write_bytes(anchors)
    put_back(4)
    ledger = another()
    found = ledger.recover(reason=REASON, receipts=[*beyond, *beyond])
    assert found, str(found)
    assert tenths(ledger) == 7
    told = ledger.history("visits")[-1]
    assert (told.kind, told.sequence) == (Kind.RECOVERED, 9)  # 8 was the last that a receipt saw
    assert told.cost.epsilon == 4 * TENTH
    events_before = ledger.verify().events
    assert clean(ledger, receipts=[*covered, *beyond])
    for receipts in ([], beyond, covered, [*covered, *beyond]):
        assert ledger.recover(reason=REASON, receipts=receipts)
    assert ledger.verify().events == events_before
    assert tenths(ledger) == 7
    for _ in range(3):
        charge(ledger)
    with pytest.raises(BudgetError):
        charge(ledger, epsilon=Fraction(1, 100))
    assert clean(ledger)


@pytest.mark.parametrize(("given", "expected"), [(0, 5), (1, 6), (2, 7)])
def test_without_receipts_the_anchor_decides(visits, charge, put_back, another, given, expected):
    for _ in range(5):
        charge(visits)
    visits.anchor()
    anchors = anchor_file(visits).read_bytes()
    beyond = [charge(visits) for _ in range(2)]
    visits.close()
    anchor_file(visits).write_bytes(anchors)
    put_back(4)
    ledger = another()
    assert ledger.recover(reason=REASON, receipts=beyond[:given])
    assert tenths(ledger) == expected
    assert ledger.recover(reason=REASON, receipts=beyond)
    assert tenths(ledger) == 7  # what comes to light later is added once
    assert clean(ledger, receipts=beyond)


@pytest.mark.parametrize(("given", "expected"), [([0], 4), ([1], 4), ([0, 1], 5), ([0, 0, 1, 1], 5)])
def test_without_anchors_the_receipts_decide(lost, visits, another, given, expected):
    receipts = lost()
    anchor_file(visits).unlink()
    ledger = another()
    assert ledger.recover(reason=REASON, receipts=[receipts[place] for place in given])
    assert tenths(ledger) == expected
    assert ledger.recover(reason=REASON, receipts=receipts)
    assert tenths(ledger) == 5
    assert clean(ledger, receipts=receipts)


def test_a_lost_charge_without_a_finite_epsilon_leaves_none(visits, charge, put_back, another, dataset):
    """Of what was spent in Gaussian answers only rho is told, and stays told."""
    visits.set_cap("visits", Budget(epsilon=1, delta=1e-9), reason="test")
    charge(visits)
    gaussian = events.ConcentratedEvent(Fraction(1, 1000))
    rho = charge(visits, event=gaussian).cost.rho
    before = visits.spent("visits")
    visits.close()
    put_back(3)
    ledger = another()
    assert ledger.spent("visits").epsilon == TENTH
    assert ledger.recover(reason=REASON)
    assert ledger.spent("visits") == before.at_any_order
    assert (before.epsilon, rho > 0) == (None, True)
    charge(ledger, event=gaussian)
    assert ledger.spent("visits").epsilon is None
    assert clean(ledger)


@pytest.mark.guarantee("ledger")
@pytest.mark.parametrize("is_anchored", [True, False])
def test_a_lost_charge_with_a_delta_of_its_own_is_recovered_with_its_delta(
    ledger, dataset, charge, put_back, another, is_anchored
):
    ledger.register(dataset(budget=Budget(epsilon=1, delta=1e-9)))
    charge(ledger)
    threshold = events.ApproximateEvent(Fraction(1, 10), Fraction(1, 10**11))
    lost = charge(ledger, event=threshold)
    before = ledger.spent("visits")
    assert before.delta == lost.cost.delta > 0
    ledger.close()
    if not is_anchored:
        anchor_file(ledger).unlink()
    put_back(2)
    again = another()
    assert again.recover(reason=REASON, receipts=[] if is_anchored else [lost])
    assert again.spent("visits") == before.at_any_order
    assert again.history("visits")[-1].cost.units()[:3] == lost.cost.units()[:3]
    assert clean(again)


def test_a_total_without_a_finite_epsilon_stays_so_where_finite_charges_are_lost(visits, charge, put_back, another):
    visits.set_cap("visits", Budget(epsilon=1, delta=1e-9), reason="test")
    charge(visits, event=events.ConcentratedEvent(Fraction(1, 1000)))
    lost = charge(visits)
    before = visits.spent("visits")
    visits.close()
    put_back(3)
    ledger = another()
    assert ledger.recover(reason=REASON, receipts=[lost])
    assert ledger.spent("visits") == before.at_any_order
    assert clean(ledger)


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(2)])
def test_of_two_caps_the_smaller_holds_after_a_recovery(visits, charge, put_back, another, epsilon):
    """A raised cap that is lost is raised again by its owner: an anchor alone makes no promise larger."""
    charge(visits)
    visits.set_cap("visits", Budget(epsilon=epsilon), reason="the board's decision")
    visits.close()
    put_back(2)
    ledger = another()
    assert ledger.budget("visits") == Budget(epsilon=1)
    assert ledger.recover(reason=REASON)
    smaller = min(epsilon, Fraction(1))
    assert ledger.budget("visits") == Budget(epsilon=smaller)
    with pytest.raises(BudgetError):
        charge(ledger, epsilon=smaller - Fraction(9, 100))
    charge(ledger, epsilon=smaller - Fraction(1, 10))
    assert clean(ledger)


def test_what_was_in_flight_in_the_older_copy_is_forfeited_so_that_no_charge_pays_for_two_answers(
    visits, turn, put_back, another
):
    held = turn(visits, question=QUESTION)
    assert visits.answer(held, b"12") == b"12"
    visits.close()
    put_back(2)
    ledger = another(lease=0.05)
    assert ledger.state(held.receipt) is State.RESERVED
    assert ledger.recover(reason=REASON)
    assert ledger.state(held.receipt) is State.FORFEITED
    with pytest.raises(Failure):
        ledger.answer(held, b"13")
    again = turn(ledger, question=QUESTION)
    assert again.payload is None
    assert again.receipt.sequence != held.receipt.sequence
    assert tenths(ledger) == 2
    assert ledger.share("visits", "ann").failures == 1
    assert clean(ledger)


def test_a_recovery_of_nothing_writes_nothing(visits, another, turn):
    asked = [turn(visits, fresh=True) for _ in range(3)]
    assert visits.recover(reason=REASON)  # nobody has a receipt of a charge in flight
    receipts = [visits.answer(each, b"12") and each.receipt for each in asked]
    before = visits.verify(full=True).events
    for ledger in (visits, another()):
        assert ledger.recover(reason=REASON)
        assert ledger.recover(reason=REASON, receipts=receipts)
        assert (
            ledger.recover(reason=REASON, receipts=[replace(receipts[0], analyst="bob")]).findings[0].is_ours is False
        )
    assert visits.verify(full=True).events == before
    assert tenths(visits) == 3


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("D")
def test_a_charge_without_an_outcome_of_which_somebody_holds_a_receipt_is_forfeited(visits, turn):
    """Its answer may have been given after the last anchor, and lost with all that shows it."""
    held, other = turn(visits, question=QUESTION), turn(visits, question="cd")
    assert visits.recover(reason=REASON, receipts=[held.receipt])
    assert {visits.state(each.receipt) for each in (held, other)} == {State.FORFEITED}
    assert tenths(visits) == 2
    before = len(visits.history("visits"))
    assert visits.recover(reason=REASON, receipts=[held.receipt, other.receipt])
    assert len(visits.history("visits")) == before
    assert turn(visits, question=QUESTION).receipt.hash != held.receipt.hash


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("D")
def test_charges_in_flight_are_forfeited_where_the_shared_anchors_were_lost(visits, turn, tmp_path):
    held = turn(visits)
    visits.share_anchors(tmp_path / "one", reason=REASON)
    shutil.rmtree(tmp_path / "one")
    visits.share_anchors(tmp_path / "two", reason=REASON, lost=True)
    assert visits.recover(reason=REASON)
    assert visits.state(held.receipt) is State.FORFEITED


def test_receipts_that_no_key_of_the_ledger_signed_recover_nothing(visits, charge, tmp_path):
    link = replace(charge(visits).link(), sequence=99)
    forged = receipt_of(link).sign(Signer.at(tmp_path / "theirs"))
    assert not visits.recover(reason=REASON, receipts=[forged])
    assert tenths(visits) == 1
    assert visits.history("visits")[-1].sequence == 2


def test_a_recovery_needs_a_reason_and_keeps_it(lost, another):
    lost()
    ledger = another()
    with pytest.raises(ParameterError):
        ledger.recover(reason=" ")
    assert ledger.recover(reason=REASON)
    assert f'"reason":"{REASON}"' in ledger.history("visits")[-1].detail


def test_whoever_was_stopped_serves_again_after_somebody_else_recovered(lost, another, charge):
    lost()
    stopped, owner = another(), another()
    with pytest.raises(LedgerError, match=re.escape(faults.BEHIND)):
        charge(stopped)
    assert owner.recover(reason=REASON)
    charge(stopped)
    assert tenths(stopped) == 6


@pytest.mark.parametrize("names", [("calls",), ("visits", "other"), ("other", "calls")], ids=", ".join)
def test_whoever_was_stopped_serves_again_by_any_name_and_with_other_datasets(visits, dataset, lost, another, names):
    visits.register(dataset(name="other"))
    visits.rename("visits", "calls", reason="a test")
    lost()
    stopped, owner = another(), another()
    parts = [DatasetCharge(name=name, version=1, event=events.PureEvent(Fraction(1, 10))) for name in names]
    asked = {"analyst": "ann", "question": QUESTION, "description": "{}", "fresh": True}
    with pytest.raises(LedgerError, match=re.escape(faults.BEHIND)):
        stopped.charge_together(parts, **asked)
    assert owner.recover(reason=REASON)
    before = tenths(stopped)
    stopped.charge_together(parts, **asked)
    assert tenths(stopped) == before + 1


ACTS = ("charge", "charge", "save", "restore", "forget anchors", "recover all", "recover some")


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(acts=st.lists(st.sampled_from(ACTS), min_size=6, max_size=14), data=st.data())
def test_over_random_histories_nothing_is_lowered_and_nothing_counted_twice(
    acts, data, tmp_path_factory, dataset, charge
):
    """Older copies, lost anchors and some of the receipts, in any order: with all receipts the total is exact.

    It may be more where the links are lost that show a receipt to be of an anchored history: receipts were held back
    after anchors were lost, or a recovery or its anchors are lost.
    """
    world = World(tmp_path_factory.mktemp("world"), dataset(budget=Budget(epsilon=900, ceiling=900)), charge)
    for act in acts:
        world.do(act, data)
    world.recover(world.receipts)
    assert len(world.receipts) <= world.total()
    assert world.total() == len(world.receipts) or world.lost_links


class World:
    """A ledger in a file, copies of it, and the receipts that analysts hold of all charges there ever were."""

    def __init__(self, directory: Path, declared: Dataset, charge: Callable[..., Receipt]) -> None:
        self._path, self._anchors = directory / "ledger", directory / "anchors"
        self._copies: list[bytes] = []
        self._charge = charge
        self.receipts: list[Receipt] = []
        self.lost_links = False
        self._lost_anchors = False
        self._has_counted = self._has_recovered = False
        with self._opened() as ledger:
            ledger.register(declared)
        self.do("save", None)

    def do(self, act: str, data: st.DataObject | None) -> None:
        if act == "charge":
            with self._opened() as ledger, suppress(LedgerError):
                self.receipts.append(self._charge(ledger))
        elif act == "save":
            self._copies.append(self._path.read_bytes())
        elif act == "restore":
            self._path.write_bytes(data.draw(st.sampled_from(self._copies)))
            self.lost_links = self.lost_links or self._has_counted
        elif act == "forget anchors":
            shutil.rmtree(self._anchors, ignore_errors=True)
            self._lost_anchors = True
            self.lost_links = self.lost_links or self._has_recovered
        else:
            some = st.lists(st.sampled_from(self.receipts)) if self.receipts else st.just([])
            self.recover(self.receipts if act == "recover all" else data.draw(some))

    def recover(self, receipts: list[Receipt]) -> None:
        before = self.total()
        with self._opened() as ledger:
            found = ledger.recover(reason=REASON, receipts=receipts)
            assert found, str(found)
            assert ledger.verify(receipts=receipts)
        self._has_recovered = True
        self._has_counted = self._has_counted or bool(receipts and self._lost_anchors)
        self.lost_links = self.lost_links or (self._lost_anchors and len(set(receipts)) < len(self.receipts))
        assert before <= self.total()
        assert self.total() <= len(self.receipts) or self.lost_links

    def total(self) -> Fraction:
        with self._opened() as ledger:
            return tenths(ledger)

    def _opened(self) -> SQLiteLedger:
        return SQLiteLedger(self._path, anchors=self._anchors)


def _history(path, anchors, charge, times: int) -> Fraction:
    """Charge a hundredth so many times, anchored in a directory of its own, and say what is spent in the end."""
    with SQLiteLedger(path, anchors=anchors) as ledger:
        for _ in range(times):
            charge(ledger, epsilon=Fraction(1, 100))
        return Fraction(ledger.spent("visits").epsilon, 10**12)


@pytest.mark.guarantee("ledger")
@pytest.mark.parametrize(("lost", "kept"), [(30, 20), (20, 30), (3, 25), (25, 3), (12, 12)])
@pytest.mark.parametrize("merged", [False, True])
def test_what_was_spent_in_two_histories_adds_up(tmp_path, dataset, charge, lost, kept, merged):
    """An older copy that was charged again elsewhere: answers of both histories were seen."""
    path, copy, one, other = (tmp_path / name for name in ("ledger.sqlite", "copy.sqlite", "one", "other"))
    with SQLiteLedger(path, anchors=one) as ledger:
        ledger.register(dataset())
    assert _history(path, one, charge, 10) == Fraction(10, 100)
    shutil.copy(path, copy)
    _history(path, one, charge, lost)
    shutil.copy(copy, path)
    _history(path, other, charge, kept)
    if merged:
        (first,) = one.glob("*.jsonl")
        with first.open("ab") as file:
            file.write((other / first.name).read_bytes())
    with SQLiteLedger(path, anchors=one) as ledger:
        assert not ledger.verify()
        with pytest.raises(LedgerError):
            charge(ledger)
        assert ledger.recover(reason=REASON)
        assert Fraction(ledger.spent("visits").epsilon, 10**12) == Fraction(10 + lost + kept, 100)
        assert ledger.recover(reason=REASON)
        assert Fraction(ledger.spent("visits").epsilon, 10**12) == Fraction(10 + lost + kept, 100)


def test_a_process_that_closes_anchors_no_history_that_took_the_place_of_another(tmp_path, dataset, charge):
    path, copy, anchors = (tmp_path / name for name in ("ledger.sqlite", "copy.sqlite", "anchors"))
    with SQLiteLedger(path, anchors=anchors) as ledger:
        ledger.register(dataset())
    shutil.copy(path, copy)
    _history(path, anchors, charge, 15)
    shutil.copy(copy, path)
    _history(path, tmp_path / "elsewhere", charge, 30)
    ledger = SQLiteLedger(path, anchors=anchors)
    with pytest.raises(LedgerError):
        charge(ledger)
    ledger.close()
    with SQLiteLedger(path, anchors=anchors) as again:
        assert not again.verify()


def test_the_name_of_a_ledger_leads_out_of_no_directory(tmp_path, dataset):
    path, anchors = tmp_path / "ledger.sqlite", tmp_path / "anchors"
    with SQLiteLedger(path, anchors=anchors) as ledger:
        ledger.register(dataset())
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("DROP TRIGGER ledger_never_change")
        raw.execute("UPDATE ledger SET id = '../../escaped'")
        raw.commit()
    with suppress(LedgerError), SQLiteLedger(path, anchors=anchors) as ledger:
        ledger.anchor()
    assert not list(tmp_path.parent.glob("escaped*"))
    assert not list(tmp_path.glob("escaped*"))


# Several orders of the Renyi filter

MIXED = Budget(epsilon=1, delta=1e-7)


@pytest.fixture
def capped(ledger, dataset, charge):
    """A ledger whose cap was raised after charges of two analysts, and their receipts."""
    ledger.register(dataset(budget=MIXED))
    receipts = [charge(ledger, analyst=analyst) for analyst in ("ann", "bob")]
    ledger.set_cap("visits", Budget(epsilon=2, delta=1e-7), reason="a test")
    return ledger, [*receipts, charge(ledger)]


@pytest.mark.guarantee("ledger")
@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE events SET analyst = 'bab' WHERE analyst = 'bob'",
        "DELETE FROM events WHERE analyst = 'bob'",
        "UPDATE datasets SET spent_renyi = spent_rho + 5, floor_renyi = spent_rho + 5",
        "UPDATE events SET cost_renyi = cost_rho * 9 WHERE analyst = 'ann'",
        "UPDATE datasets SET renyi_order = '3/2'",
        "UPDATE datasets SET renyi_order = NULL",
        "UPDATE datasets SET spent_renyi = 0",
    ],
)
def test_damage_to_what_the_renyi_filter_counts_is_found_and_recovered_from_by_rho(capped, tamper, another, damage):
    ledger, receipts = capped
    before = ledger.spent("visits")
    ledger.close()
    tamper(damage)
    again = another()
    assert not again.verify()
    again.recover(reason=REASON, receipts=receipts)
    spent = again.spent("visits")
    assert spent.renyi >= spent.rho >= before.rho
    assert clean(again)


@pytest.mark.guarantee("ledger")
def test_a_cap_that_its_order_does_not_convert_is_found(capped, tamper):
    """The guarantee rests on the cap at the stored order, not on how that order was chosen."""
    ledger, _ = capped
    tamper("UPDATE datasets SET cap_rho = cap_rho + 1")
    found = [finding.what for finding in ledger.verify().findings]
    assert "its cap on rho does not convert to its budget at its order" in found


def test_an_older_copy_of_another_order_is_recovered_by_rho(capped, put_back, another):
    ledger, receipts = capped
    rho = ledger.spent("visits").rho
    ledger.close()
    put_back(3)
    again = another()
    assert again.recover(reason=REASON, receipts=receipts)
    spent = again.spent("visits")
    assert spent.rho == spent.renyi == rho
    assert again.share("visits", "bob").spent == again.share("visits", "bob").spent.at_any_order
    assert clean(again, receipts=receipts)


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("B18")
@pytest.mark.parametrize(
    ("registered", "decided"),
    [
        (Budget(epsilon=1, delta=TENTH_OF_A_MILLIONTH), Budget(epsilon=2, delta=TENTH_OF_A_MILLIONTH / 5)),
        (Budget(epsilon=2, delta=TENTH_OF_A_MILLIONTH / 5), Budget(epsilon=1, delta=TENTH_OF_A_MILLIONTH)),
    ],
    ids=["a larger epsilon and a smaller delta", "a smaller epsilon and a larger delta"],
)
def test_a_recovery_takes_the_smallest_epsilon_and_the_smallest_delta(path, dataset, charge, registered, decided):
    with SQLiteLedger(path) as ledger:
        ledger.register(dataset(budget=registered))
        charge(ledger)
    shutil.copy(path, path.with_name("older"))
    with SQLiteLedger(path) as ledger:
        ledger.set_cap("visits", decided, reason="the board decided so")
        charge(ledger)
    shutil.copy(path.with_name("older"), path)
    with SQLiteLedger(path) as ledger:
        assert ledger.recover(reason="a restore")
        found = ledger.budget("visits")
    assert (found.epsilon, found.delta) == (1, TENTH_OF_A_MILLIONTH / 5)
    assert found.reserve <= registered.reserve
