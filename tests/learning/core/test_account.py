"""An account is charged before data, is shared by copies, and never refunds."""

import copy
import pickle

import pytest

import discreet as dp
from discreet.learning.core.account import account_of


def account():
    return dp.learning.BudgetAccount(dp.Budget(epsilon=1, delta=1e-5))


def test_charges_add_up_until_the_budget_is_spent():
    live = account()
    live.charge(dp.events.PureEvent(0.6))
    with pytest.raises(dp.errors.BudgetError) as refusal:
        live.charge(dp.events.PureEvent(0.6))
    assert "dp.learning.search" in str(refusal.value)
    live.charge(dp.events.PureEvent(0.4))
    assert live.fits == 2


def test_copies_and_clones_are_the_same_account():
    live = account()
    assert copy.copy(live) is live
    assert copy.deepcopy(live) is live
    assert live.__sklearn_clone__() is live


def test_an_account_does_not_leave_its_process():
    with pytest.raises(dp.errors.UnsupportedError):
        pickle.dumps(account())


def test_an_account_of_something_else_is_refused():
    with pytest.raises(dp.errors.ParameterError):
        dp.learning.BudgetAccount(1)


def test_a_budget_that_clones_would_copy_is_refused_in_place_of_an_account():
    given = account()
    assert account_of(given, "Ridge") is given
    for wrong in (None, dp.Budget(epsilon=1, delta=1e-5), 1):
        with pytest.raises(dp.errors.ParameterError, match="Ridge with"):
            account_of(wrong, "Ridge")


def test_a_check_refuses_and_charges_nothing():
    spent = account()
    spent.check(dp.events.PureEvent(0.6))
    assert spent.fits == 0
    spent.charge(dp.events.PureEvent(0.6))
    with pytest.raises(dp.errors.BudgetError):
        spent.check(dp.events.PureEvent(0.6))
    assert "1 fits charged" in repr(spent)
