"""An analyst's share of a promise, without a store."""

from dataclasses import replace
from fractions import Fraction

import pytest

from discreet import events
from discreet.accounting.filters import NOTHING, Budget, Cost, cost
from discreet.errors import LedgerError, ParameterError
from discreet.ledger.quota import LARGEST_FAILURES, MOST_FAILURES, Share, checked_failures, share_of

TENTH = cost(events.PureEvent(Fraction(1, 10)))
SHARE = Share(dataset="visits", analyst="ann")


def test_a_share_without_a_quota_takes_whatever_the_cap_leaves():
    assert SHARE.caps is None
    assert SHARE.refusal(Cost(10**18, 10**18, 10**17)) is None


def test_a_quota_admits_up_to_its_last_unit():
    share = replace(SHARE, quota=Budget(epsilon=Fraction(1, 10)))
    assert share.caps == Budget(epsilon=Fraction(1, 10)).caps()
    assert share.refusal(TENTH) is None
    assert replace(share, spent=Cost(1, 1, 0)).refusal(TENTH) is not None


def test_a_quota_is_kept_by_either_filter_as_a_promise_is():
    """Without a finite epsilon the sum of rho decides, as it does for the cap."""
    budget = Budget(epsilon=1, delta=1e-9)
    share = replace(SHARE, quota=budget, spent=Cost(None, 1, 0))
    gaussian = cost(events.ConcentratedEvent(budget.rho(Fraction(9, 10))))
    assert share.refusal(gaussian) is None
    assert replace(share, spent=share.spent + gaussian).refusal(gaussian) is not None


def test_the_refusal_of_a_quota_says_whose_it_is_and_what_the_owner_can_do():
    refusal = replace(SHARE, quota=Budget(epsilon=Fraction(1, 20))).refusal(TENTH)
    assert refusal.what == "a charge on 'visits' by 'ann'"
    assert "quota of epsilon 0.05" in refusal.because
    assert "ledger.set_quota('visits', 'ann', dp.Budget(...)" in refusal.instead


@pytest.mark.parametrize("quota", [None, Budget(epsilon=1)])
def test_too_many_failures_are_refused_whatever_is_left(quota):
    share = replace(SHARE, quota=quota, failures=3, most_failures=3)
    refusal = share.refusal(TENTH)
    assert "3 of their questions failed after data was read" in refusal.because
    assert "failures=6" in refusal.instead
    assert replace(share, failures=2).refusal(TENTH) is None


def test_another_limit_leaves_what_was_spent_and_failed():
    spent = Cost(5, 6, 7)
    after = replace(SHARE, spent=spent, failures=2).limited(Budget(epsilon=1), 9, is_own=True)
    assert (after.spent, after.floor, after.failures, after.most_failures) == (spent, spent, 2, 9)
    assert after.is_own


@pytest.mark.parametrize(
    "share",
    [
        SHARE,
        replace(SHARE, spent=Cost(None, 7, 8), floor=Cost(None, 3, 2), failures=2, most_failures=0),
        replace(SHARE, quota=Budget(epsilon=2, delta=1e-9, reserved_delta=1e-10), is_own=True, spent=Cost(1, 2, 3)),
    ],
)
def test_a_share_comes_back_from_its_row(share):
    assert share_of(share.row()) == share


@pytest.mark.parametrize("change", [{"quota": "{"}, {"quota": "[]"}, {"quota": "{}"}, {"quota": '{"epsilon":"x"}'}])
def test_a_row_that_cannot_be_read_means_a_damaged_ledger(change):
    with pytest.raises(LedgerError, match="damaged"):
        share_of(SHARE.row() | change)


def test_a_row_without_a_column_means_a_damaged_ledger():
    row = SHARE.row()
    del row["failures"]
    with pytest.raises(LedgerError, match="damaged"):
        share_of(row)


def test_the_chain_records_the_limits_and_not_what_was_spent():
    limits = replace(SHARE, quota=Budget(epsilon=1), spent=Cost(1, 2, 3)).limits()
    assert set(limits) == {"quota", "cap_epsilon", "cap_rho", "cap_delta", "most_failures"}
    assert limits["cap_epsilon"] == 10**12


@pytest.mark.parametrize("failures", [-1, 1.0, True, "3", LARGEST_FAILURES + 1])
def test_a_number_of_failures_is_one_that_can_be_counted(failures):
    with pytest.raises(ParameterError):
        checked_failures(failures)


def test_nobody_may_fail_or_everybody_may():
    assert (checked_failures(0), checked_failures(LARGEST_FAILURES)) == (0, LARGEST_FAILURES)
    assert SHARE.most_failures == MOST_FAILURES
    assert SHARE.spent == NOTHING
