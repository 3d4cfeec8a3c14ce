from dataclasses import replace
from fractions import Fraction

import pytest

from discreet.accounting.costs import Cost
from discreet.accounting.filters import Budget
from discreet.errors import LedgerError
from discreet.exact.rounding import units_down
from discreet.exact.zcdp import cap_at_order
from discreet.ledger import RegisteredSlice
from discreet.ledger.records.account import account_of, new_account
from discreet.ledger.records.chain import GENESIS, Kind


@pytest.fixture
def account(dataset):
    return new_account(dataset(budget=Budget(epsilon=2, delta=1e-9, reserved_delta=1e-10)), "00" * 8)


def test_an_account_opens_with_nothing_spent_at_the_beginning_of_its_chain(account):
    assert (account.spent, account.sequence, account.head) == (Cost(0, 0, 0, 0), 0, GENESIS)
    assert account.caps == account.budget.caps()


@pytest.mark.parametrize("spent", [Cost(0, 0, 0, 0), Cost(None, 7, 8, 7), Cost(2**62, 2**62, 2**62, 2**62)])
def test_an_account_comes_back_from_its_row(account, spent):
    kept = replace(account, spent=spent, sequence=9, head="ab")
    assert account_of(kept.row() | {"halts": 0}) == kept


def test_the_next_link_follows_the_head(account):
    link = replace(account, sequence=4, head="ab").link(Kind.REJECTED, version=1)
    assert (link.sequence, link.previous, link.dataset) == (5, "ab", "visits")


def test_a_new_promise_changes_the_caps_and_not_what_was_spent(account):
    spent = Cost(10, 20, 0, 20)
    after = replace(account, spent=spent).with_budget(Budget(epsilon=Fraction(1, 4)))
    assert (after.spent, after.floor) == (spent, spent)
    assert after.caps == Budget(epsilon=Fraction(1, 4)).caps()


@pytest.mark.parametrize(
    "change", [{"epsilon": "x"}, {"epsilon": "-1/1"}, {"delta": "1/0"}, {"neighbours": "both"}, {"ceiling": "0/1"}]
)
def test_a_row_that_cannot_be_read_means_a_damaged_ledger(account, change):
    with pytest.raises(LedgerError, match="damaged"):
        account_of(account.row() | {"halts": 0} | change)


@pytest.mark.parametrize(("halts", "is_halted"), [(0, False), (1, True), (3, True)])
def test_an_account_knows_whether_it_was_halted(account, halts, is_halted):
    assert account_of(account.row() | {"halts": halts}).is_halted is is_halted


def test_an_account_keeps_the_slice_that_it_was_opened_for(dataset):
    part = RegisteredSlice("visits", "2026-10-01", "2026-11-01")
    kept = new_account(dataset(slice=part), "00" * 8)
    assert kept.slice == part
    assert account_of(kept.row() | {"halts": 0}) == kept


def test_a_recovered_chain_goes_on_after_every_number_that_was_ever_used(account):
    behind = replace(account, sequence=4, head="ab")
    assert behind.link(Kind.RECOVERED, version=1, after=9).sequence == 10
    assert behind.link(Kind.RECOVERED, version=1, after=2).sequence == 5


def test_an_account_is_charged_once_it_has_spent_a_unit(account):
    assert not account.is_charged
    for spent in (Cost(None, 0, 0, 0), Cost(1, 0, 0, 0), Cost(0, 1, 0, 1), Cost(0, 0, 1, 0)):
        assert replace(account, spent=spent).is_charged


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("D")
@pytest.mark.parametrize("part", ["epsilon", "rho", "delta"])
def test_an_account_keeps_its_budget_while_no_cap_is_above_that_of_the_budget(account, part):
    assert account.keeps_its_budget
    for change, is_kept in ((-1, True), (1, False)):
        caps = replace(account.caps, **{part: getattr(account.caps, part) + change})
        assert replace(account, caps=caps).keeps_its_budget is is_kept


def test_a_cap_is_compared_at_the_order_of_the_account_however_it_was_chosen(account):
    at_another = replace(account, order=Fraction(400))
    assert not at_another.keeps_its_budget
    lower = replace(account.caps, rho=units_down(cap_at_order(Fraction(2), Fraction(9, 10**10), Fraction(400)), 10**15))
    assert replace(at_another, caps=lower).keeps_its_budget
    assert not replace(at_another, order=1 + Fraction(1, 10**5_000)).keeps_its_budget


def test_a_cap_of_an_earlier_version_is_compared_once_an_order_is_fixed(account, dataset):
    """Another machine may have found another cap without an order by a unit or so."""
    earlier = replace(account, order=None, caps=replace(account.caps, rho=account.caps.rho + 1))
    assert earlier.keeps_its_budget
    assert earlier.with_order().caps == account.caps
    pure = new_account(dataset(budget=Budget(epsilon=2)), "00" * 8)
    assert pure.keeps_its_budget
    assert not replace(pure, caps=replace(pure.caps, rho=1)).keeps_its_budget
