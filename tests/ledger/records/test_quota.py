"""An analyst's share of a promise, without a store."""

from dataclasses import replace
from fractions import Fraction

import pytest

import discreet as dp
from discreet import events
from discreet.accounting.costs import NOTHING, Cost, cost
from discreet.accounting.filters import Budget
from discreet.errors import BudgetError, LedgerError, ParameterError
from discreet.ledger.records.quota import (
    LARGEST_FAILURES,
    MOST_FAILURES,
    Share,
    checked_failures,
    complete_quota,
    restate_quota,
    share_of,
)

TENTH = cost(events.PureEvent(Fraction(1, 10)))
SHARE = Share(dataset="visits", analyst="ann")


def test_a_share_without_a_quota_takes_whatever_the_cap_leaves():
    assert SHARE.caps is None
    assert SHARE.refusal(Cost(10**18, 10**18, 10**17, 10**18)) is None


def test_a_quota_admits_up_to_its_last_unit():
    share = replace(SHARE, quota=Budget(epsilon=Fraction(1, 10)))
    assert share.caps == Budget(epsilon=Fraction(1, 10)).caps()
    assert share.refusal(TENTH) is None
    assert replace(share, spent=Cost(1, 1, 0, 1)).refusal(TENTH) is not None


def test_a_quota_is_kept_by_either_filter_as_a_promise_is():
    """Without a finite epsilon the sum of rho decides, as it does for the cap."""
    budget = Budget(epsilon=1, delta=1e-9)
    share = replace(SHARE, quota=budget, spent=Cost(None, 1, 0, 1))
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
    assert "3 of their queries failed after data was read" in refusal.because
    assert "failures=6" in refusal.instead
    assert replace(share, failures=2).refusal(TENTH) is None


def test_another_limit_leaves_what_was_spent_and_failed():
    spent = Cost(5, 6, 7, 6)
    after = replace(SHARE, spent=spent, failures=2).with_quota(Budget(epsilon=1), 9, is_own=True)
    assert (after.spent, after.floor, after.failures, after.most_failures) == (spent, spent, 2, 9)
    assert after.is_own


@pytest.mark.parametrize(
    "share",
    [
        SHARE,
        replace(SHARE, spent=Cost(None, 7, 8, 7), floor=Cost(None, 3, 2, 3), failures=2, most_failures=0),
        replace(SHARE, quota=Budget(epsilon=2, delta=1e-9, reserved_delta=1e-10), is_own=True, spent=Cost(1, 2, 3, 2)),
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
    limits = replace(SHARE, quota=Budget(epsilon=1), spent=Cost(1, 2, 3, 2)).limits()
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


MIXED = Budget(epsilon=2, delta=1e-9, reserved_delta=1e-10)


def test_a_quota_is_counted_at_the_delta_of_the_budget():
    """A quota that states no delta admitted no Gaussian noise; now it is what the same epsilon of the budget is."""
    quota = complete_quota("visits", Budget(epsilon=1), MIXED)
    assert (quota.epsilon, quota.delta, quota.reserve) == (1, MIXED.delta, MIXED.reserve)
    asked = cost(events.ConcentratedEvent(MIXED.rho(1)))
    assert replace(SHARE, quota=quota).refusal(asked) is None
    assert replace(SHARE, quota=quota, spent=asked).refusal(asked) is not None


def test_a_quota_may_reserve_less_delta_than_the_budget_and_not_more():
    quota = complete_quota("visits", Budget(epsilon=1, delta=1e-9, reserved_delta=0), MIXED)
    assert (quota.conversion_delta, quota.reserve) == (MIXED.conversion_delta, 0)
    assert complete_quota("visits", quota, MIXED) == quota
    with pytest.raises(BudgetError, match="at the same delta"):
        complete_quota("visits", Budget(epsilon=1, delta=1e-9, reserved_delta=2e-10), MIXED)


@pytest.mark.parametrize("budget", [Budget(epsilon=2), MIXED])
def test_a_quota_at_another_delta_is_refused_with_one_that_is_taken(budget):
    with pytest.raises(BudgetError) as caught:
        complete_quota("visits", Budget(epsilon=Fraction(1, 2), delta=1e-8), budget)
    advised = eval(caught.value.instead.split(", which")[0], {"dp": dp})  # noqa: S307
    assert complete_quota("visits", advised, budget).epsilon == Fraction(1, 2)


def test_a_recorded_quota_follows_the_budget_that_replaces_the_old_one():
    pure, wider = Budget(epsilon=2), Budget(epsilon=4, delta=1e-8, reserved_delta=1e-10)
    assert restate_quota(Budget(epsilon=1), MIXED, pure) == complete_quota("visits", Budget(epsilon=1), MIXED)
    own = complete_quota("visits", Budget(epsilon=1, delta=1e-9, reserved_delta=5e-11), MIXED)
    assert restate_quota(own, wider, MIXED).reserve == own.reserve
    assert restate_quota(own, wider, MIXED).conversion_delta == wider.conversion_delta
    assert restate_quota(own, pure, MIXED).is_pure


def test_only_a_quota_that_older_code_recorded_is_read_in_other_terms():
    old = replace(SHARE, quota=Budget(epsilon=1))
    assert old.in_terms_of(MIXED).quota == complete_quota("visits", Budget(epsilon=1), MIXED)
    assert old.in_terms_of(Budget(epsilon=2)) == old
    assert SHARE.in_terms_of(MIXED) is SHARE
    assert old.in_terms_of(MIXED.at_order(Fraction(7))).quota.order == 7


def test_the_refusal_of_a_quota_says_what_is_left_of_it():
    share = replace(SHARE, quota=complete_quota("visits", Budget(epsilon=1), MIXED))
    refusal = share.refusal(cost(events.ConcentratedEvent(MIXED.rho(2))))
    assert "epsilon 1 (rho " in refusal.because
    assert refusal.instead.startswith("session.release(query, epsilon=1); or the owner's ledger.set_quota(")
    keys = share.refusal(cost(events.ApproximateEvent(Fraction(1, 10), Fraction(2, 10**10))))
    assert "is left of the delta of their quota" in keys.because
    assert keys.instead.startswith("the same call with delta=1e-10, or the owner's")


def test_a_quota_that_is_a_number_is_refused_with_the_budget_to_type(ledger, dataset):
    ledger.register(dataset())
    with pytest.raises(ParameterError) as caught:
        ledger.set_quota("visits", "ann", 0.1, reason="decided in May")
    assert "dp.Budget(epsilon=0.1)" in caught.value.instead
