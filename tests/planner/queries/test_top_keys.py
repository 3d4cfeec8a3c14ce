"""The top of keys that are not known: what one unit moves, what it costs, what comes back, what is refused."""

import datetime as dt
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import BudgetError, ParameterError, UnboundedError, UnsupportedError
from discreet.mechanisms.keys.top import LIMIT
from discreet.planner.queries.top_keys import TopKeysPlan
from discreet.planner.registry import plan_selection
from discreet.query.frame import relation_of

V = dp.table("visits")
FOUND = dp.discover(delta=1e-9)
BY_UNITS = dp.score(by="drug", of=dp.count_units())


def visits():
    """Twelve drugs of 1,200, 1,100, ... 100 patients, each on its own day, and 2,000 of one patient, on one day."""
    drugs = [f"drug {i:02}" for i in range(12) for _ in range(1_200 - 100 * i)] + [f"rare {i}" for i in range(2_000)]
    days = [dt.date(2020, 1, 1) + dt.timedelta(days=int(drug[-2:]) if drug < "rare" else 40) for drug in drugs]
    return pa.table({"id": np.arange(len(drugs)), "drug": drugs, "day": days, "cost": np.ones(len(drugs))})


def protected(session=dp.Session, **words):
    budget = dp.Budget(epsilon=8, delta=1e-7, reserved_delta=1e-7)
    facts = {"privacy_unit": "id", "name": "visits", "ledger": ":memory:", "budget": budget, "fixed_schema": True}
    return session.protect(visits(), **(facts | words))


def planned(session, score=BY_UNITS, found=FOUND, **words):
    budget = session.ledger.budget("visits")
    return plan_selection(score.selection(relation_of(V), found), session.catalog, budget, **({"epsilon": 1} | words))


def test_the_most_used_of_keys_that_are_not_known_are_named_best_first():
    """Scores are 100 apart, noise is of the order of 1: another order has a chance below 1e-30."""
    with protected() as session:
        chosen = session.release(V.choose(FOUND, score=BY_UNITS, top=5), epsilon=8)
    assert chosen.values == tuple(f"drug {i:02}" for i in range(5))
    assert chosen.candidates is None
    assert "keys that were not known" in str(chosen)
    assert "delta 1e-09" in chosen.guarantee


def test_fewer_are_named_where_fewer_stand_out():
    with protected() as session:
        chosen = session.release(V.where(V.cost > 2).choose(FOUND, score=BY_UNITS, top=5), epsilon=1)
        assert chosen.values == ()
        with pytest.raises(ParameterError, match="empty"):
            _ = chosen.value


def test_the_same_question_is_answered_from_the_ledger_with_keys_of_their_type():
    with protected() as session:
        first, again = (
            session.release(V.choose(FOUND, score=dp.score(by="day", max_rows_per_group=1), top=2), epsilon=4)
            for _ in "ab"
        )
    assert first.values == again.values == (dt.date(2020, 2, 10), dt.date(2020, 1, 1))
    assert again.repeated
    assert first.to_json()["values"] == ["2020-02-10", "2020-01-01"]


def test_the_price_is_epsilon_and_delta_and_the_margin_is_free():
    with protected() as session:
        asked = planned(session, top=3)
        assert isinstance(asked, TopKeysPlan)
        assert asked.mechanism.epsilon == 1
        assert asked.delta == Fraction(1, 10**9)
        question = V.choose(FOUND, score=BY_UNITS, top=3)
        assert session.explain(question, epsilon=1).outputs[0].margin == asked.within(Fraction(19, 20))
        session.release(question, epsilon=1)
        assert session.remaining().epsilon == 7


def test_under_a_delta_each_choice_is_of_bounded_range():
    with protected(budget=dp.Budget(epsilon=8, delta=1e-7, reserved_delta=1e-8)) as session:
        asked = planned(session, top=4)
        charged = session.ledger.budget("visits").cost(asked.event)
        assert 0.999 * asked.spending.amount * 10**15 < charged.renyi <= asked.spending.amount * 10**15
        assert asked.delta == Fraction(9, 10**8) + Fraction(1, 10**9)


@pytest.mark.guarantee("mechanisms.keys.top")
@pytest.mark.parametrize(("how", "sides"), [("add_remove", 1), ("replace_one", 2)])
def test_rows_of_one_unit_count_as_many_times_as_caps_allow(how, sides):
    with protected(neighbours=how, max_rows=7, max_groups=3) as session:
        rows = planned(session, dp.score(by="drug", max_rows_per_group=2)).mechanism
        units = planned(session).mechanism
        assert (rows.sensitivity, rows.score_sensitivity, rows.groups) == (2, 2 * sides, 3)
        assert (units.sensitivity, units.score_sensitivity, units.groups) == (1, sides, 3)


def test_units_may_have_any_number_of_keys():
    with protected() as session:
        assert planned(session).mechanism.groups == LIMIT


def test_keys_of_too_few_units_are_not_considered():
    found = dp.discover(delta=1e-9, at_least=750)
    with protected(dp.testing.Session) as session:
        few = session.release(V.choose(found, score=BY_UNITS, top=10), epsilon=8).values
    assert few == tuple(f"drug {i:02}" for i in range(5))


@pytest.mark.parametrize(
    ("score", "found"),
    [
        (dp.score(by="drug", of=dp.sum("cost", bounds=(0, 1))), FOUND),
        (dp.score(by="drug", near=3), FOUND),
        (dp.score(by="drug", times=lambda _: 2), FOUND),
        (dp.score(by="day", side="below"), FOUND),
        (dp.score(by="drug"), dp.discover(delta=1e-9, at_least=2)),
    ],
)
def test_scores_that_are_no_counts_are_refused(score, found):
    with protected(max_rows=1) as session, pytest.raises(UnsupportedError, match="count_units"):
        session.release(V.choose(found, score=score), epsilon=1)


def test_rows_without_a_cap_and_a_promise_without_a_reserve_are_refused():
    with protected() as session, pytest.raises(UnboundedError):
        session.release(V.choose(FOUND, score=dp.score(by="drug")), epsilon=1)
    with protected(budget=dp.Budget(epsilon=8)) as session, pytest.raises(BudgetError, match="reserved_delta"):
        session.release(V.choose(FOUND, score=BY_UNITS), epsilon=1)
