"""A price is divided over the questions of a batch, exactly, and never more of it than was asked for."""

from fractions import Fraction

import pytest

import discreet as dp
from discreet.accounting import pld
from discreet.accounting.costs import cost
from discreet.catalog.catalog import Catalog
from discreet.planner.batch import analyze_batch
from discreet.planner.budget.price import Price
from discreet.planner.registry import plan_query
from former import former

T = dp.table("visits")
COLUMNS = {"id": {"type": "text"}, "age": {"type": "integer", "bounds": [0, 120]}, "ward": {"type": "text"}}
CATALOG = Catalog.model_validate({"tables": {"visits": {"columns": COLUMNS, "privacy_unit": "id", "max_rows": 2}}})
COUNT, TOTAL = T.agg(n=dp.count()).plan, T.agg(total=dp.sum("age")).plan


def plan_of(query, budget, price):
    return plan_query(query, CATALOG, budget, **price.arguments)


def batch_of(questions, budget, *, weights=None, **price):
    return analyze_batch(questions, plan_of, budget, Price(**price), weights=weights)


@pytest.mark.guarantee("planner.batch")
@pytest.mark.parametrize("weights", [None, [1, 3], [2, 7], [Fraction(1, 3), 1]])
@pytest.mark.parametrize("budget", [dp.Budget(epsilon=3), dp.Budget(epsilon=3, delta=1e-8)])
def test_shares_follow_the_weights_and_together_cost_no_more_than_was_asked_for(weights, budget):
    batch = batch_of([COUNT, TOTAL], budget, epsilon=1, weights=weights)
    first, second = (part.spending.amount for part in batch.parts)
    ratio = Fraction(1) if weights is None else Fraction(weights[1]) / Fraction(weights[0])
    assert abs(second / first / ratio - 1) < Fraction(1, 10**6)
    assert first + second <= batch.spending.amount
    assert budget.admits(budget.cost(batch.event))


@pytest.mark.guarantee("planner.batch")
@pytest.mark.parametrize("epsilon", [0.1, 1, 5])
def test_the_noise_of_a_batch_with_a_delta_is_checked_by_the_distribution_of_its_losses(epsilon):
    budget = dp.Budget(epsilon=5, delta=1e-7, reserved_delta=1e-7)
    batch = batch_of([COUNT, TOTAL, COUNT], budget, epsilon=epsilon, delta=1e-7)
    assert pld.epsilon(dp.events.ComposedEvent(tuple(part.event for part in batch.parts)), 1e-7) <= epsilon
    rho = sum(cost(part.event).rho for part in batch.parts)
    assert (batch.event.epsilon, batch.event.delta) == (Fraction(str(epsilon)), Fraction(1, 10**7))
    assert rho - 3 <= batch.event.rho * 10**15 <= rho
    assert batch.delta == Fraction(1, 10**7)


def test_two_batches_share_a_name_only_where_questions_order_and_price_are_the_same():
    def name(queries, **price):
        return former(batch_of(queries, dp.Budget(epsilon=3), **price))

    assert name([COUNT, TOTAL], epsilon=1) == name([COUNT, TOTAL], epsilon=1)
    others = [name([TOTAL, COUNT], epsilon=1), name([COUNT, TOTAL], epsilon=2), name([COUNT], epsilon=1)]
    others.append(name([COUNT, TOTAL], epsilon=1, weights=[1, 2]))
    assert len({name([COUNT, TOTAL], epsilon=1), *others}) == 5


def test_the_ledger_keeps_what_every_question_of_a_batch_asks_the_engine():
    batch = batch_of([COUNT, TOTAL], dp.Budget(epsilon=3), epsilon=1)
    assert batch.description.count('"is":"Pushdown"') == 2


@pytest.mark.parametrize("price", [{}, {"delta": 1e-9}])
def test_a_part_of_a_batch_says_why_it_has_its_noise(price):
    budget = dp.Budget(epsilon=3, delta=1e-8, reserved_delta=1e-9)
    for part in batch_of([COUNT, TOTAL], budget, epsilon=1, **price).parts:
        assert "rho was asked for" not in part.spending.reason
        assert part.spending.reason.endswith("its share of the batch's privacy cost")


@pytest.mark.parametrize("budget", [dp.Budget(epsilon=3), dp.Budget(epsilon=3, delta=1e-8)], ids=["pure", "delta"])
def test_a_part_of_a_batch_states_its_own_epsilon_and_keeps_it(budget):
    for part in batch_of([COUNT, TOTAL], budget, epsilon=1, weights=[1, 3]).parts:
        spent = part.spending
        assert spent.epsilon < 1
        if spent.delta:  # the accountant tries a grid of orders, so it is a little above the best one
            assert dp.accounting.renyi.conversion(part.event, spent.delta).epsilon <= spent.epsilon * Fraction(
                1001, 1000
            )
        else:
            assert cost(part.event).epsilon <= spent.epsilon * 10**12
