"""Means are unbiased, and their intervals hold as often as stated."""

import numpy as np
import pytest
from scipy.stats import binom

import discreet as dp
from discreet.errors import UnsupportedError
from discreet.local.collector.accumulator import Accumulator
from discreet.local.collector.counting import count_reports
from discreet.local.estimates.means import estimate_mean
from local_reports import drawn_reports, report, symbol_task

DUCHI = dp.local.oracles.DuchiResponse.calibrate(10, epsilon=1)
HYBRID = dp.local.oracles.HybridResponse.calibrate(10, epsilon=2)


def task_of(oracle, epsilon):
    return dp.local.Task(dp.local.SlotDomain(low=-50, high=50, steps=10), epsilon, oracle)


TASKS = {"duchi": task_of(DUCHI, "1"), "hybrid": task_of(HYBRID, "2")}


def misses(task, clients, number, *, moved=0, narrowed=0):
    """Intervals that do not hold for values that rounding moved up, where both ends are so much nearer."""
    generator, true = np.random.default_rng(), -50 + 10 * (clients @ np.arange(11)) / clients.sum() - moved
    masses = {step: [float(mass) for mass in task.oracle.pmf(int(step)).values()] for step in np.flatnonzero(clients)}
    missed = 0
    for _ in range(number):
        counts = sum(generator.multinomial(clients[step], mass) for step, mass in masses.items())[None, :]
        found = estimate_mean(task, Accumulator.partial(task, counts, counts.sum(axis=1)))
        missed += not found.low + narrowed <= true <= found.high - narrowed
    return missed


@pytest.mark.statistical(false_alarm=1e-6)
@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize("clients", [[0] * 5 + [3_000] + [0] * 5, [1_000] + [0] * 9 + [1_000], [0] * 9 + [20, 30]])
def test_the_interval_of_a_mean_holds_as_often_as_stated(name, clients, samples):
    number = samples(400)
    assert misses(TASKS[name], np.array(clients), number) <= binom.isf(1e-7, number, 0.05)


@pytest.mark.statistical(false_alarm=1e-6)
@pytest.mark.parametrize(("kind", "epsilon", "steps", "step"), [("Duchi", 8, 4096, 1), ("Hybrid", 8, 256, 3)])
def test_the_interval_of_a_mean_holds_where_nearly_all_reports_are_equal(kind, epsilon, steps, step, samples):
    """The variance of what was observed is then 0, or far too small: with it 45% of these intervals held."""
    oracle = getattr(dp.local.oracles, f"{kind}Response").calibrate(steps, epsilon=epsilon)
    task = dp.local.Task(dp.local.SlotDomain(low=0, high=steps, steps=steps), str(epsilon), oracle)
    mass, generator = [float(each) for each in oracle.pmf(step).values()], np.random.default_rng()
    missed, number = 0, samples(200)
    for _ in range(number):
        counts = generator.multinomial(1_000, mass)[None, :]
        found = estimate_mean(task, Accumulator.partial(task, counts, counts.sum(axis=1)))
        missed += not found.low <= step <= found.high
        assert found.standard_error > 0
    assert missed <= binom.isf(1e-7, number, 0.05)


@pytest.mark.statistical(false_alarm=1e-6)
@pytest.mark.parametrize("moved", [5, -5])
def test_the_interval_of_a_mean_holds_for_values_half_way_between_two_steps(moved, samples):
    """All clients round in one direction; without half a step the interval of 30,000 reports nearly always misses."""
    number, clients = samples(400), np.array([0] * 5 + [30_000] + [0] * 5)
    assert misses(TASKS["duchi"], clients, number, moved=moved) <= binom.isf(1e-7, number, 0.05)
    assert misses(TASKS["duchi"], clients, number, moved=moved, narrowed=5) > number // 2


@pytest.mark.statistical(false_alarm=1e-6)
def test_an_interval_of_half_its_noise_is_caught(samples):
    number = samples(400)
    clients = np.array([0] * 5 + [3_000] + [0] * 5)
    assert misses(TASKS["duchi"], clients, number, narrowed=5 + 2) > binom.isf(1e-7, number, 0.05)


@pytest.mark.statistical(false_alarm=1e-6)
@pytest.mark.parametrize("name", TASKS)
def test_the_mean_of_drawn_reports_is_in_the_units_of_the_domain(name, samples):
    task = TASKS[name]
    found = estimate_mean(task, count_reports(task, drawn_reports(task, [8] * samples(2_000))))
    assert abs(found.mean - 30) < 6 * found.standard_error
    assert found.rounding == 5
    assert found.method == "normal"
    assert -50 <= found.low <= found.high <= 50


def test_few_reports_have_a_wider_interval_that_always_holds():
    task = TASKS["duchi"]
    found = estimate_mean(task, count_reports(task, [report(task, i % 2) for i in range(20)]))
    assert found.method == "bernstein"
    assert (found.low, found.high) == (-50, 50)


def test_a_task_of_counts_is_refused_with_the_other_call():
    task = symbol_task(6)
    with pytest.raises(UnsupportedError, match="estimate"):
        estimate_mean(task, count_reports(task, []))
