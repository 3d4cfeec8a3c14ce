"""Caps that change, and quotas and failures inside them, on every store."""

import json
from fractions import Fraction

import pytest

from discreet import events
from discreet.accounting.costs import NOTHING, restate
from discreet.accounting.filters import Budget
from discreet.errors import BudgetError, ParameterError
from discreet.ledger import DatasetCharge, Kind


def _tenths(number: int) -> Budget:
    return Budget(epsilon=Fraction(number, 10))


# Caps that change


def test_a_raised_cap_is_recorded_with_both_promises_and_its_reason(visits, charge):
    charge(visits, epsilon=1)
    visits.set_cap("visits", Budget(epsilon=2), reason="a second study")
    entry = visits.history("visits")[-1]
    assert entry.kind is Kind.CAPPED
    for text in ("a second study", '"epsilon":"1/1"', '"epsilon":"2/1"', "1000000000000", "2000000000000"):
        assert text in entry.detail
    charge(visits, epsilon=1)
    assert visits.spent("visits").epsilon == 2 * 10**12
    assert visits.verify()


def test_a_cap_below_what_is_spent_leaves_nothing_and_gives_nothing_back(visits, charge):
    charge(visits, epsilon=Fraction(1, 2))
    visits.set_cap("visits", Budget(epsilon=Fraction(1, 4)), reason="too much")
    with pytest.raises(BudgetError):
        charge(visits, epsilon=Fraction(1, 10**12))
    assert visits.spent("visits").epsilon == 5 * 10**11
    assert visits.verify()


def test_a_new_cap_is_what_must_be_declared_from_then_on(visits, dataset, charge):
    charge(visits)
    visits.set_cap("visits", Budget(epsilon=2), reason="a second study")
    assert visits.register(dataset(budget=Budget(epsilon=2))).budget.epsilon == 2
    with pytest.raises(BudgetError, match="only set_cap changes a budget"):
        visits.register(dataset())


def test_neither_a_cap_nor_a_quota_changes_without_a_reason(visits):
    for reason in ("", " ", None, "a\nb"):
        with pytest.raises(ParameterError):
            visits.set_cap("visits", Budget(epsilon=2), reason=reason)
        with pytest.raises(ParameterError):
            visits.set_quota("visits", "ann", Budget(epsilon=1), reason=reason)
    assert len(visits.history("visits")) == 1


def test_the_cap_that_is_already_set_is_refused(visits):
    with pytest.raises(ParameterError, match="it is the cap already"):
        visits.set_cap("visits", Budget(epsilon=1), reason="again")


def test_another_ledger_over_the_store_keeps_the_new_cap_at_once(visits, another, charge):
    other = another()
    charge(other)
    visits.set_cap("visits", _tenths(1), reason="a test")
    with pytest.raises(BudgetError):
        charge(other)


# Quotas


@pytest.mark.guarantee("ledger")
def test_an_analyst_spends_no_more_than_their_quota(visits, another, charge):
    visits.set_quota("visits", "ann", _tenths(3), reason="a small study")
    for _ in range(3):
        charge(visits)
    with pytest.raises(BudgetError, match=r"quota of epsilon 0\.3"):
        charge(another(), epsilon=Fraction(1, 10**12))
    share = visits.share("visits", "ann")
    assert (share.spent.epsilon, share.quota, share.is_own) == (3 * 10**11, _tenths(3), True)
    charge(visits, analyst="bob", epsilon=Fraction(7, 10))
    assert visits.verify()


def test_a_refusal_by_a_quota_is_recorded_and_costs_nothing(visits, charge):
    visits.set_quota("visits", "ann", _tenths(1), reason="a test")
    with pytest.raises(BudgetError):
        charge(visits, epsilon=Fraction(1, 5))
    assert visits.history("visits")[-1].kind is Kind.REJECTED
    assert visits.spent("visits") == visits.share("visits", "ann").spent == NOTHING


@pytest.mark.pitfall("B1")
def test_a_quota_never_gives_more_than_the_cap(visits, charge):
    """Quotas that add up to more than the promise, and one beyond it, leave the promise as it is."""
    for analyst in ("ann", "bob"):
        visits.set_quota("visits", analyst, Budget(epsilon=5), reason="a test")
    charge(visits, epsilon=Fraction(6, 10))
    with pytest.raises(BudgetError, match="over all analysts"):
        charge(visits, analyst="bob", epsilon=Fraction(6, 10))
    charge(visits, analyst="bob", epsilon=Fraction(4, 10))
    assert visits.spent("visits").epsilon == 10**12


def test_a_quota_for_everyone_holds_for_those_who_came_and_those_who_will(visits, charge):
    charge(visits, analyst="old")
    visits.set_quota("visits", quota=_tenths(2), reason="fair shares")
    for analyst in ("old", "new"):
        if analyst == "new":
            charge(visits, analyst=analyst)
        charge(visits, analyst=analyst)
        with pytest.raises(BudgetError, match=r"quota of epsilon 0\.2"):
            charge(visits, analyst=analyst)
    assert not visits.share("visits", "old").is_own
    assert visits.verify(), str(visits.verify())


def test_a_quota_of_ones_own_beats_the_one_for_everyone(visits, charge):
    visits.set_quota("visits", "ann", _tenths(3), reason="a test")
    visits.set_quota("visits", quota=_tenths(1), reason="a test")
    visits.set_quota("visits", "zoe", _tenths(2), reason="a test")
    shares = {who: visits.share("visits", who).quota for who in ("ann", "bob", "zoe")}
    assert shares == {"ann": _tenths(3), "bob": _tenths(1), "zoe": _tenths(2)}
    for who, quota in shares.items():
        charge(visits, analyst=who, epsilon=quota.epsilon)
        with pytest.raises(BudgetError, match="quota"):
            charge(visits, analyst=who)
    assert visits.verify(), str(visits.verify())


def test_a_quota_that_is_lifted_leaves_the_cap(visits, charge):
    visits.set_quota("visits", "ann", _tenths(1), reason="a test")
    visits.set_quota("visits", quota=_tenths(1), reason="a test")
    charge(visits)
    visits.set_quota("visits", "ann", None, reason="the study was approved")
    assert visits.share("visits", "ann").quota is None
    charge(visits, epsilon=Fraction(8, 10))
    with pytest.raises(BudgetError, match="over all analysts"):
        charge(visits, epsilon=Fraction(2, 10))
    assert visits.share("visits", "bob").quota == _tenths(1)
    assert visits.verify()


def test_a_quota_below_what_was_spent_gives_nothing_back_and_can_be_raised(visits, charge):
    charge(visits, epsilon=Fraction(1, 2))
    visits.set_quota("visits", "ann", _tenths(2), reason="too much")
    with pytest.raises(BudgetError, match="quota"):
        charge(visits, epsilon=Fraction(1, 10**12))
    assert visits.share("visits", "ann").spent.epsilon == 5 * 10**11
    visits.set_quota("visits", "ann", _tenths(6), reason="a second study")
    charge(visits)
    with pytest.raises(BudgetError, match="quota"):
        charge(visits)
    assert visits.verify(), str(visits.verify())


def test_a_quota_holds_for_gaussian_noise_which_has_no_finite_epsilon(ledger, dataset, charge):
    budget = Budget(epsilon=2, delta=1e-9)
    quota = Budget(epsilon=1, delta=1e-9)
    ledger.register(dataset(budget=budget))
    ledger.set_quota("visits", "ann", quota, reason="a test")
    charge(ledger, event=events.ConcentratedEvent(quota.rho(Fraction(1, 2))))
    assert ledger.share("visits", "ann").spent.epsilon is None
    with pytest.raises(BudgetError, match="quota"):
        charge(ledger, event=events.ConcentratedEvent(quota.rho(1)))
    charge(ledger, epsilon=Fraction(1, 100))
    charge(ledger, analyst="bob", epsilon=Fraction(1, 10))
    assert ledger.share("visits", "bob").spent.epsilon == 10**11
    assert ledger.verify(), str(ledger.verify())


def test_a_quota_holds_over_all_versions_and_names(visits, dataset, charge):
    visits.set_quota("visits", "ann", _tenths(2), reason="a test")
    visits.register(dataset(version=2))
    visits.rename("visits", "stays", reason="a test")
    charge(visits, version=1)
    charge(visits, version=2, name="stays")
    with pytest.raises(BudgetError, match="quota"):
        charge(visits, version=2)


def test_a_stored_answer_is_free_also_for_whoever_has_no_quota_left(visits, charge, turn):
    visits.answer(turn(visits), b"answer")
    visits.set_quota("visits", "bob", Budget(epsilon=Fraction(1, 10**6)), reason="a test")
    assert turn(visits, analyst="bob").payload == b"answer"
    with pytest.raises(BudgetError, match="quota"):
        charge(visits, analyst="bob")


@pytest.mark.pitfall("B5")
def test_a_crowd_of_one_analyst_never_gets_more_than_the_quota(visits, another, charge, at_once):
    visits.set_quota("visits", "ann", _tenths(3), reason="a test")
    ledgers = [visits, another()]
    outcomes = at_once(*(lambda on=ledgers[i % 2]: charge(on) for i in range(8)))
    assert sorted(type(each).__name__ for each in outcomes) == ["BudgetError"] * 5 + ["Receipt"] * 3
    assert visits.share("visits", "ann").spent.epsilon == 3 * 10**11
    assert visits.verify()


def test_a_quota_is_an_event_with_its_reason_and_its_caps(visits):
    visits.set_quota("visits", "ann", _tenths(3), failures=7, reason="a small study")
    entry = visits.history("visits")[-1]
    assert (entry.kind, entry.cost) == (Kind.LIMITED, NOTHING)
    told = json.loads(entry.detail)
    assert (told["analyst"], told["reason"], told["most_failures"]) == ("ann", "a small study", 7)
    assert told["cap_epsilon"] == 3 * 10**11


def test_a_quota_in_one_of_several_datasets_stops_them_all(ledger, dataset, charge):
    for name in ("a", "b"):
        ledger.register(dataset(name=name))
    ledger.set_quota("b", "ann", Budget(epsilon=Fraction(1, 100)), reason="a test")
    parts = [DatasetCharge(name=name, version=1, event=events.PureEvent(Fraction(1, 10))) for name in ("a", "b")]
    with pytest.raises(BudgetError, match="quota"):
        ledger.charge_together(parts, analyst="ann", question="ab", description="{}")
    assert ledger.spent("a") == ledger.spent("b") == NOTHING


def test_a_quota_that_cannot_be_recorded_is_refused(visits):
    for change in ({"analyst": ""}, {"analyst": "a\nb"}, {"failures": -1}, {"failures": 1.5}):
        with pytest.raises(ParameterError):
            visits.set_quota("visits", **({"analyst": "ann", "quota": _tenths(1), "reason": "a test"} | change))
    assert len(visits.history("visits")) == 1


# Failures after data was read


def test_an_analyst_with_too_many_failures_is_refused_before_data_is_read(visits, charge):
    visits.set_quota("visits", "ann", failures=2, reason="a test")
    for _ in range(2):
        visits.forfeit(charge(visits), "timeout")
    with pytest.raises(BudgetError, match="2 of their queries failed after data was read"):
        charge(visits)
    assert visits.spent("visits").epsilon == 2 * 10**11
    assert visits.history("visits")[-1].kind is Kind.REJECTED
    charge(visits, analyst="bob")
    visits.set_quota("visits", "ann", failures=3, reason="the disk was full")
    charge(visits)
    assert visits.share("visits", "ann").failures == 2
    assert visits.verify(), str(visits.verify())


def test_failures_are_capped_for_everyone_at_a_hundred_unless_the_owner_says_otherwise(visits):
    assert visits.share("visits", "ann").most_failures == 100
    visits.set_quota("visits", failures=0, reason="a test")
    assert visits.share("visits", "ann").most_failures == 0


def test_nobody_may_fail_where_the_owner_says_so(visits, charge):
    visits.set_quota("visits", failures=0, reason="a test")
    with pytest.raises(BudgetError, match="0 of their queries failed"):
        charge(visits)
    assert visits.spent("visits") == NOTHING


def test_failures_and_quotas_are_set_apart_from_each_other(visits, charge):
    """The way out of too many failures lifts no quota, and a new quota forgives no failure."""
    visits.set_quota("visits", quota=_tenths(2), failures=1, reason="a test")
    visits.set_quota("visits", "bob", _tenths(3), reason="a test")
    visits.forfeit(charge(visits), "timeout")
    visits.set_quota("visits", "ann", failures=5, reason="the disk was full")
    visits.set_quota("visits", "bob", failures=6, reason="a test")
    visits.set_quota("visits", failures=7, reason="a test")
    shares = {who: visits.share("visits", who) for who in ("ann", "bob", "zoe")}
    assert {who: (each.quota, each.most_failures) for who, each in shares.items()} == {
        "ann": (_tenths(2), 5),
        "bob": (_tenths(3), 6),
        "zoe": (_tenths(2), 7),
    }
    visits.set_quota("visits", "ann", _tenths(4), reason="a test")
    assert (visits.share("visits", "ann").failures, visits.share("visits", "ann").most_failures) == (1, 5)
    assert visits.verify(), str(visits.verify())


def test_a_failure_in_one_dataset_is_none_in_another(visits, dataset, charge):
    visits.register(dataset(name="other"))
    visits.forfeit(charge(visits), "timeout")
    assert (visits.share("visits", "ann").failures, visits.share("other", "ann").failures) == (1, 0)


# The order of the Renyi filter

MIXED = Budget(epsilon=1, delta=1e-7)
RAISED = Budget(epsilon=2, delta=1e-7)
PURE = events.PureEvent(Fraction(1, 5))
GAUSSIAN = events.ConcentratedEvent(Fraction(1, 1000))


def _order(entry) -> str:
    detail = json.loads(entry.detail)
    return detail.get("new", detail)["order"]


def test_a_registration_fixes_the_order_and_charges_cost_their_divergence_at_it(ledger, dataset, charge):
    ledger.register(dataset(budget=MIXED))
    assert Fraction(_order(ledger.history("visits")[0])) == MIXED.order
    for event in (PURE, GAUSSIAN):
        assert charge(ledger, event=event).cost == MIXED.cost(event)
    assert ledger.spent("visits") == MIXED.cost(PURE) + MIXED.cost(GAUSSIAN)
    assert ledger.spent("visits").renyi < ledger.spent("visits").rho
    assert ledger.verify()


@pytest.mark.guarantee("ledger")
def test_pure_answers_are_admitted_by_their_divergence_where_rho_would_refuse_them(ledger, dataset, charge):
    ledger.register(dataset(budget=MIXED))
    charge(ledger, event=GAUSSIAN)
    charge(ledger, event=events.PureEvent(Fraction(1, 2)))
    assert ledger.spent("visits").rho > MIXED.caps().rho > ledger.spent("visits").renyi
    with pytest.raises(BudgetError):
        charge(ledger, event=events.PureEvent(Fraction(1, 2)))
    assert ledger.verify()


@pytest.mark.guarantee("ledger")
@pytest.mark.parametrize("budget", [RAISED, Budget(epsilon=Fraction(1, 2), delta=1e-7)])
def test_a_new_cap_restates_what_all_and_what_each_spent_at_its_own_order(ledger, dataset, charge, budget):
    ledger.register(dataset(budget=MIXED))
    ledger.set_quota("visits", "ann", Budget(epsilon=Fraction(1, 2)), reason="a test")
    for analyst in ("ann", "bob", "bob"):
        charge(ledger, event=PURE, analyst=analyst)
    before = {who: ledger.share("visits", who).spent for who in ("ann", "bob")}
    ledger.set_cap("visits", budget, reason="a test")
    new = Budget(epsilon=budget.epsilon, delta=budget.delta, reserved_delta=MIXED.reserve)
    spent = restate(before["ann"] + before["bob"], MIXED.order, new.order)
    assert ledger.spent("visits") == spent
    for who, cost in before.items():
        assert ledger.share("visits", who).spent == restate(cost, MIXED.order, new.order)
    capped = [entry for entry in ledger.history("visits") if entry.kind is Kind.CAPPED]
    assert [Fraction(_order(entry)) for entry in capped] == [new.order]
    assert ledger.verify()
    if budget.epsilon > 1:
        assert charge(ledger, event=PURE, analyst="bob").cost == new.cost(PURE)
        assert ledger.spent("visits") == spent + new.cost(PURE)
        assert ledger.verify()


def test_budgets_that_were_replaced_after_a_charge_are_remembered(ledger, dataset, charge):
    ledger.register(dataset(budget=MIXED))
    ledger.set_cap("visits", RAISED, reason="before any charge")
    assert ledger.earlier_budgets("visits") == []
    charge(ledger)
    ledger.set_cap("visits", MIXED, reason="a test")
    assert [str(each) for each in ledger.earlier_budgets("visits")] == [str(RAISED)]


def test_a_charge_is_counted_at_the_order_in_force_whatever_a_process_last_saw(ledger, dataset, charge, another):
    ledger.register(dataset(budget=MIXED))
    charge(ledger, event=PURE)
    another().set_cap("visits", RAISED, reason="a test")
    new = Budget(epsilon=2, delta=1e-7, reserved_delta=MIXED.reserve)
    assert charge(ledger, event=PURE).cost == new.cost(PURE) != MIXED.cost(PURE)
    assert ledger.verify()
