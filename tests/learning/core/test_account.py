"""An account is charged before data, is shared by copies, and never refunds."""

import copy
import os
import pickle

import pytest

import discreet as dp
from discreet.learning.core.account import account_of


def account():
    return dp.learning.BudgetAccount(dp.Budget(epsilon=1, delta=1e-5))


def is_refused(spend, event):
    try:
        spend(event)
    except BaseException as error:  # noqa: BLE001 - a forked process must not go on with the tests
        return isinstance(error, dp.errors.UnsupportedError) and "session.release" in str(error)
    return False


def test_charges_add_up_until_the_budget_is_spent():
    live = account()
    live.charge(dp.events.PureEvent(0.6))
    with pytest.raises(dp.errors.BudgetError) as refusal:
        live.charge(dp.events.PureEvent(0.6))
    assert refusal.value.instead == "epsilon=0.4"
    live.charge(dp.events.PureEvent(0.4))
    assert live.charges == 2


@pytest.mark.parametrize("first", [0.3, 0.8, 0.999])
def test_the_epsilon_that_a_refused_fit_is_advised_fits(first):
    live = account()
    bayes = dp.learning.NaiveBayes(features=dp.learning.linear_bins(0, 9), classes=[0, 1], size=9, budget=live)
    bayes.set_params(epsilon=first).fit([[1]], [1])
    for wanted in (1, 1.5):
        with pytest.raises(dp.errors.BudgetError) as refusal:
            bayes.set_params(epsilon=wanted).fit([[1]], [1])
    name, _, value = refusal.value.instead.partition("=")
    bayes.set_params(**{name: float(value)}).fit([[1]], [1])
    assert live.charges == 2


def test_an_account_that_is_spent_advises_another_whose_budget_adds_up():
    live = account()
    bayes = dp.learning.NaiveBayes(features=dp.learning.linear_bins(0, 9), classes=[0, 1], size=9, budget=live)
    bayes.fit([[1]], [1])
    with pytest.raises(dp.errors.BudgetError, match="leave practically nothing") as refusal:
        bayes.fit([[1]], [1])
    advice, _, reason = refusal.value.instead.partition("; ")
    assert reason == "budgets for the same people add up"
    bayes.set_params(**eval(f"dict({advice})", {"dp": dp})).fit([[1]], [1])  # noqa: S307 - our own words


def test_copies_and_clones_are_the_same_account():
    live = account()
    assert copy.copy(live) is live
    assert copy.deepcopy(live) is live
    assert live.__sklearn_clone__() is live


def test_an_account_does_not_leave_its_process():
    with pytest.raises(dp.errors.UnsupportedError):
        pickle.dumps(account())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_account_is_not_spent_a_second_time():
    live, event = account(), dp.events.PureEvent(1)
    child = os.fork()
    if not child:
        os._exit(sum(is_refused(spend, event) for spend in (live.charge, live.check)))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2
    live.charge(event)
    assert live.charges == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_that_has_the_number_of_the_first_cannot_spend_its_account(monkeypatch):
    live, event, number = account(), dp.events.PureEvent(1), os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: number)
    child = os.fork()
    if not child:
        os._exit(sum(is_refused(spend, event) for spend in (live.charge, live.check)))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2
    live.charge(event)


def test_an_account_in_another_process_refuses_before_its_lock_which_a_fork_may_leave_locked(monkeypatch):
    live = account()
    live._lock.acquire()
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(dp.errors.UnsupportedError, match=r"session\.release"):
        live.charge(dp.events.PureEvent(0.1))
    assert live.charges == 0


def test_a_fit_that_costs_more_than_the_whole_budget_is_told_so():
    live = account()
    for _ in range(2):
        with pytest.raises(dp.errors.BudgetError, match="more than the whole budget") as refusal:
            live.charge(dp.events.PureEvent(1.5))
        assert "charges before it" not in str(refusal.value)
        live.charge(dp.events.PureEvent(0.5))


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
    assert spent.charges == 0
    spent.charge(dp.events.PureEvent(0.6))
    with pytest.raises(dp.errors.BudgetError):
        spent.check(dp.events.PureEvent(0.6))
    assert "charges: 1" in repr(spent)


def test_what_remains_can_be_spent_and_no_more():
    live = dp.learning.BudgetAccount(dp.Budget(epsilon=2, delta=1e-6))
    model = dp.learning.NaiveBayes(features=dp.learning.linear_bins(0, 9), classes=[0, 1], size=9, budget=live)
    assert live.remaining() == 2
    model.set_params(epsilon=1).fit([[1]], [1])
    assert 1 < live.remaining() < 2
    model.set_params(epsilon=live.remaining()).fit([[1]], [1])
    assert live.remaining() < 0.01
