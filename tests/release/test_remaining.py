"""What is left is never said without the promise, the unit, and what it spans."""

import copy
import html
import pickle
from fractions import Fraction

import pytest

import discreet as dp
from discreet.accounting.costs import NOTHING, Cost
from discreet.accounting.filters import Budget
from discreet.catalog.privacy_unit import unit_of
from discreet.catalog.time_slice import Slice
from discreet.exact.numbers import rational
from discreet.release.remaining import Remaining, remaining_of_analyst

HALF = Cost(5 * 10**11, 125 * 10**12, 0, 125 * 10**12)
LEFT = ("visits", Fraction(3, 2), Budget(epsilon=2), unit_of("patient_id"))


def test_what_is_left_is_said_with_its_promise_its_unit_and_its_span():
    assert (
        str(Remaining(*LEFT))
        == repr(Remaining(*LEFT))
        == (
            "epsilon 1.5 left of epsilon 2, for one patient_id, added or removed, "
            "over every query ever asked of 'visits'"
        )
    )
    assert float(Remaining(*LEFT)) == pytest.approx(1.5)


def test_an_epsilon_that_is_left_is_exact_and_prints_as_a_decimal_that_is_not_larger():
    left = Remaining("visits", Fraction(2, 3), *LEFT[2:], pure_epsilon=Fraction(7654, 3211)).epsilon
    assert left == Fraction(2, 3)
    assert str(left) == repr(left) == f"{left}" == "0.666666"
    assert f"{left:.2f}" == "0.67"
    assert type(left + 0) is type(rational(left, "epsilon")) is Fraction
    assert pickle.loads(pickle.dumps(left)) == copy.deepcopy(left) == left  # noqa: S301 - our own bytes
    assert "epsilon 0.666666 left (pure epsilon 2.38368)" in str(
        Remaining("visits", Fraction(2, 3), *LEFT[2:], pure_epsilon=Fraction(7654, 3211))
    )


def test_what_is_left_of_a_slice_says_which_rows_and_that_promises_add_up():
    part = Slice("visited", "2026-10-01", "2026-11-01", of="visits")
    assert str(Remaining(*LEFT, part)) == (
        f"{Remaining(*LEFT)}, the rows of 'visits' from 2026-10-01 until before 2026-11-01 by 'visited'; "
        "one patient_id in several slices is protected by each budget, and over all of them by their sum"
    )


def test_what_is_left_of_a_quota_stands_beside_what_is_left_of_the_budget():
    left = remaining_of_analyst(Remaining(*LEFT), HALF, "ann", Budget(epsilon=Fraction(3, 4)), HALF)
    assert str(left) == f"{Remaining(*LEFT)}; epsilon 0.25 left of the quota of 'ann', epsilon 0.75"
    assert left._repr_html_() == f"<pre>{html.escape(str(left))}</pre>"
    assert (left.epsilon, left.quota_epsilon, float(left)) == (Fraction(3, 2), Fraction(1, 4), 0.25)
    assert remaining_of_analyst(Remaining(*LEFT), HALF, "ann", None, HALF) == Remaining(*LEFT)


def test_as_a_number_it_is_an_epsilon_that_both_have_room_for_with_one_kind_of_noise():
    budget = quota = Budget(epsilon=2, delta=1e-9)
    known = Remaining("visits", budget.epsilon_left(NOTHING), budget, LEFT[3])
    used = Cost(None, quota.caps().rho // 2, 0, quota.caps().rho // 2)
    left = remaining_of_analyst(known, NOTHING, "ann", quota, used)
    assert left.available == max(
        min(budget.laplace_left(NOTHING), quota.laplace_left(used)),
        min(budget.gaussian_left(NOTHING), quota.gaussian_left(used)),
    )


def test_a_pure_epsilon_that_is_smaller_and_the_guarantee_over_earlier_budgets_are_said():
    budget = Budget(epsilon=2, delta=1e-9)
    left = Remaining(
        "visits", Fraction(3, 2), budget, LEFT[3], pure_epsilon=Fraction(1, 2), earlier=(Budget(epsilon=3),)
    )
    assert str(left) == (
        "epsilon 1.5 left (pure epsilon 0.5) of epsilon 2, delta 1e-09, for one patient_id, added or removed, over "
        "every query ever asked of 'visits'; over the earlier budget and this one, all answers have epsilon 3, "
        "delta 1e-09"
    )


def test_what_is_left_of_a_quota_is_counted_at_the_order_of_the_dataset(protect_visits):
    """A smaller epsilon has a higher order, at which pure results cost less: advice at it would be refused."""
    session = protect_visits(Budget(epsilon=2, delta=1e-9))
    session.ledger.set_quota("visits", session.analyst, Budget(epsilon=Fraction(1, 2)), reason="a test")
    query = dp.table("visits").agg(n=dp.count())
    session.release(query, epsilon=0.1)
    share = session.ledger.share("visits", session.analyst)
    largest = share.quota.laplace_left(share.spent)
    assert 0 < largest < Fraction(1, 2)
    session.release(query, epsilon=largest, mechanism="laplace")
    assert session.ledger.verify()


@pytest.fixture
def protect_visits():
    facts = {"name": "visits", "privacy_unit": "patient_id", "max_rows": 3}
    return lambda budget: dp.testing.protect(dp.datasets.visits(100), **facts, budget=budget)
