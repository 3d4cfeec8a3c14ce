"""Sums over Poisson samples of people: the event is that of the draws, and a person moves a sum by at most the clip."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import discreet as dp
from discreet.accounting.sampled_gaussian import divergence
from discreet.errors import ParameterError
from discreet.learning.core.rows import EncodedRows
from discreet.learning.sgd.sampled_sums import ExactSampledSums
from discreet.learning.sgd.vectors import CLIP, LARGEST_LENGTH
from discreet.mechanisms.poisson import poisson_sample
from learning.sgd.plain import BUDGET, CodeRule, rows_of, schedule, sums


@pytest.mark.guarantee("learning.sgd.sampled_sums")
def test_the_event_is_that_of_the_rate_and_noise_which_are_drawn():
    plan = schedule()
    event = plan.event
    assert event.count == plan.steps
    assert (event.event.rate, event.event.variance) == (plan.rate, Fraction(plan.noise.sigma) ** 2)
    assert event.event.squared_sensitivity == CLIP**2 == plan.noise.squared_sensitivity


def test_all_steps_cost_at_most_the_whole_budget_and_nearly_all_of_it():
    plan = schedule()
    spent = plan.steps * divergence(plan.event.event, BUDGET.order) / BUDGET.order
    assert Fraction(999, 1000) * BUDGET.rho(1) < spent <= BUDGET.rho(1)
    account = dp.learning.BudgetAccount(BUDGET)
    account.charge(plan.event)
    with pytest.raises(dp.errors.BudgetError):
        account.charge(plan.event)


def test_sampling_needs_less_noise_than_all_people():
    assert schedule().noise.sigma < schedule(rate=Fraction(1)).noise.sigma / 3


def test_noise_serves_every_order():
    low, high, both = (schedule(orders=orders) for orders in [(BUDGET.order,), (Fraction(90),), (BUDGET.order, 90)])
    assert both.noise.sigma == max(low.noise.sigma, high.noise.sigma)


def test_the_rho_of_a_schedule_holds_without_sampling():
    plan = schedule(rate=Fraction(1))
    assert plan.rho <= BUDGET.rho(1) < plan.rho * Fraction(1001, 1000)


@pytest.mark.parametrize(
    "changes",
    [
        {"rate": Fraction(0)},
        {"rate": Fraction(11, 10)},
        {"rate": Fraction(1, (1 << 62) + 1)},
        {"steps": 0},
        {"steps": 1_000_001},
        {"length": LARGEST_LENGTH + 1},
        {"replace_one": True},
    ],
)
def test_public_facts_outside_their_range_are_refused(changes):
    with pytest.raises(ParameterError):
        schedule(**changes)


def test_a_sample_has_everyone_at_rate_one_and_nobody_of_nobody():
    assert poisson_sample(5, Fraction(1)).tolist() == [0, 1, 2, 3, 4]
    assert poisson_sample(0, Fraction(1, 2)).tolist() == []


def test_samples_have_the_rate():
    """Six deviations: a false alarm in 5 * 10^8 runs."""
    people, rate = 200_000, Fraction(3, 10)
    found = len(poisson_sample(people, rate))
    assert abs(found - people * 0.3) < 6 * (people * 0.3 * 0.7) ** 0.5


@pytest.mark.guarantee("learning.sgd.sampled_sums")
@pytest.mark.parametrize("rows_each", [2, 7, 300])
@pytest.mark.parametrize("factor", [1e-3, 1.0, 1e30, np.inf])
def test_a_person_with_many_rows_moves_a_sum_by_at_most_the_clip(rows_each, factor):
    total = sums([rows_of(1, rows_each=rows_each)], kind=ExactSampledSums)._sum(CodeRule(factor=factor))
    assert sum(int(value) ** 2 for value in total) <= CLIP**2


def test_rows_of_a_person_are_added_before_clipping():
    block = EncodedRows(
        np.ones((3, 1), dtype=np.uint16), np.array([0, 1, 0], dtype=np.int64), np.array([0, 2], dtype=np.int64)
    )
    total = sums([block], kind=ExactSampledSums, rows_at_once=2)._sum(CodeRule(factor=0.5))
    assert total.tolist() == [CLIP, CLIP // 2, 0, 0]


@pytest.mark.parametrize("rows_at_once", [1, 2, 5, 1000])
def test_the_number_of_rows_at_once_changes_no_sum(rows_at_once):
    blocks = [rows_of(30, rows_each=3), rows_of(11, target=2)]
    one = sums(blocks, kind=ExactSampledSums, rows_at_once=rows_at_once)._sum(CodeRule(factor=0.01))
    assert (one == sums(blocks, kind=ExactSampledSums)._sum(CodeRule(factor=0.01))).all()


def test_a_training_has_no_more_steps_than_were_charged():
    training = sums([rows_of(10)], schedule(steps=2))
    for _ in range(2):
        training.mean_gradient(CodeRule())
    assert training.left == 0
    with pytest.raises(RuntimeError, match="charged"):
        training.mean_gradient(CodeRule())


def test_a_mean_gradient_without_noise_is_the_sum_over_the_expected_people():
    plan = replace(schedule(), rate=Fraction(1, 2), size=100)
    found = sums([rows_of(80)], plan, ExactSampledSums, norm=2.0).mean_gradient(CodeRule())
    assert found.tolist() == pytest.approx([80 / 50, 0, 0, 0])
