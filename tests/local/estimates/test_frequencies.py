"""Estimates are unbiased, and all of their intervals hold at once as often as stated."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

import discreet as dp
from discreet.errors import ParameterError, SourceError, UnsupportedError
from discreet.local.collector.accumulator import Accumulator
from discreet.local.collector.counting import count_reports
from discreet.local.estimates import ConsistentCounts, FrequencyEstimates, HeavyHitters, JointEstimates
from discreet.local.estimates.frequencies import estimate
from local_reports import bitmap_task, drawn_reports, subset_task, symbol_reports, symbol_task


def task_of(oracle, epsilon="1", *, cohorts=1, name=""):
    domain = dp.local.SlotDomain(size=oracle.size)
    return dp.local.Task(domain, epsilon, oracle, cohorts=cohorts, max_bytes=10_000, name=name)


def simulated(task, clients, generator):
    counts = np.atleast_2d(dp.local.simulate(task.oracle, clients, generator))
    has_symbols = task.oracle.symbols is not None
    return Accumulator.partial(task, counts, counts.sum(axis=1) if has_symbols else np.array([clients.sum()]))


def misses(tasks, clients, generator, *, shrink=1.0):
    """In how many collections at least one interval misses the true count."""
    missed = 0
    for task in tasks:
        estimates = estimate(task, simulated(task, clients, generator))
        low = estimates.estimates + shrink * (estimates.low - estimates.estimates)
        high = estimates.estimates + shrink * (estimates.high - estimates.estimates)
        missed += bool(((clients < low - 1e-9) | (clients > high + 1e-9)).any())
    return missed


def most_misses(number):
    return binom.isf(1e-7, number, 0.05)


ORACLES = dp.local.oracles
CASES = {
    "k-ary response": (ORACLES.KaryResponse.calibrate(8, epsilon=1), "1", [4_000, 2_000, 500, 0, 0, 0, 20, 100]),
    "unary encoding": (ORACLES.UnaryEncoding.optimal(8, epsilon=3), "3", [4_000, 2_000, 500, 0, 0, 0, 20, 100]),
    "Hadamard": (ORACLES.HadamardResponse.calibrate(8, epsilon=1), "1", [4_000, 2_000, 500, 0, 0, 0, 20, 100]),
    "few reports": (ORACLES.KaryResponse.calibrate(8, epsilon=3), "3", [20, 10, 0, 0, 0, 0, 0, 1]),
    "one value": (ORACLES.UnaryEncoding.optimal(4, epsilon=2), "2", [3_000, 0, 0, 0]),
}


@pytest.mark.statistical(false_alarm=1e-6)
@pytest.mark.parametrize("name", CASES)
def test_all_intervals_hold_at_once_as_often_as_stated(name, samples):
    oracle, epsilon, clients = CASES[name]
    generator, number = np.random.default_rng(), samples(400)
    tasks = [task_of(oracle, epsilon)] * number
    assert misses(tasks, np.array(clients), generator) <= most_misses(number)


@pytest.mark.statistical(false_alarm=1e-6)
def test_all_intervals_hold_at_once_also_over_hash_functions(samples):
    """Hash functions follow from the task, so each collection is another task."""
    generator, number = np.random.default_rng(), samples(300)
    oracle = ORACLES.LocalHashing.calibrate(8, epsilon=1)
    tasks = [task_of(oracle, cohorts=64, name=str(i)) for i in range(number)]
    assert misses(tasks, np.array([4_000, 2_000, 500, 0, 0, 0, 20, 100]), generator) <= most_misses(number)


@pytest.mark.statistical(false_alarm=1e-6)
def test_intervals_of_two_thirds_of_their_width_are_caught(samples):
    oracle, epsilon, clients = CASES["k-ary response"]
    number = samples(400)
    assert misses([task_of(oracle, epsilon)] * number, np.array(clients), np.random.default_rng(), shrink=0.6) > (
        most_misses(number)
    )


@pytest.mark.statistical(false_alarm=1e-6)
@pytest.mark.parametrize("task", [symbol_task(6), bitmap_task(6), subset_task(6, 2)], ids=["krr", "unary", "subset"])
def test_counts_of_drawn_reports_are_estimated_within_five_standard_errors(task, samples):
    slots = [0] * samples(600) + [3] * samples(200)
    clients = np.bincount(slots, minlength=6)
    estimates = estimate(task, count_reports(task, drawn_reports(task, slots)))
    assert (np.abs(estimates.estimates - clients) < 6 * estimates.standard_errors).all()
    assert ((estimates.low <= clients) & (clients <= estimates.high)).all() or estimates.confidence < 1


def test_estimates_add_up_for_symbols_that_stand_for_values():
    task = symbol_task(6)
    estimates = estimate(task, count_reports(task, symbol_reports(task, 300)))
    assert estimates.estimates.sum() == pytest.approx(300)
    assert estimates.consistent().counts.sum() == pytest.approx(300)
    assert estimates.consistent().counts.min() >= 0


def test_few_reports_get_wider_intervals_that_always_hold():
    task = symbol_task(6)
    state = count_reports(task, symbol_reports(task, 30))
    careful, normal = estimate(task, state), estimate(task, state, method="normal")
    assert (careful.method, normal.method) == ("bernstein", "normal")
    assert (careful.high - careful.low >= normal.high - normal.low).all()


def test_more_confidence_is_wider():
    task = symbol_task(6)
    state = count_reports(task, symbol_reports(task, 3_000))
    narrow, wide = (estimate(task, state, confidence) for confidence in (0.5, 0.999))
    assert (wide.high - wide.low > narrow.high - narrow.low).all()


def test_a_table_has_the_values_of_the_domain():
    oracle = ORACLES.KaryResponse.calibrate(3, epsilon=1)
    task = dp.local.Task(dp.local.SlotDomain(values=("red", "green", "blue")), "1", oracle)
    estimates = estimate(task, count_reports(task, symbol_reports(task, 50)))
    assert estimates.to_arrow().column_names == ["value", "estimate", "standard_error", "low", "high"]
    assert estimates.to_pandas()["value"].tolist() == ["red", "green", "blue"]
    assert len(estimates) == 3
    assert estimates.top(1)[0][1] == estimates.estimates.max()
    assert "50 reports, 3 values; with probability 0.95 all intervals hold" in repr(estimates)


def test_estimates_of_numbered_slots_have_their_numbers():
    task = symbol_task(6)
    estimates = estimate(task, count_reports(task, symbol_reports(task, 50)))
    assert estimates.to_arrow()["value"].to_pylist() == [0, 1, 2, 3, 4, 5]
    assert list(estimates.values) == [0, 1, 2, 3, 4, 5]


def test_the_largest_are_in_order_and_a_negative_number_of_them_is_refused():
    task = symbol_task(6)
    estimates = estimate(task, count_reports(task, symbol_reports(task, 50)))
    order = np.argsort(-estimates.estimates, kind="stable").tolist()
    for number in (0, 1, 4, 6, 60):
        assert [value for value, *_ in estimates.top(number)] == order[:number]
    with pytest.raises(ParameterError, match="number=-1"):
        estimates.top(-1)


def test_a_listing_has_no_negative_zero_no_control_characters_and_the_right_number():
    values, none = ["\x1b[31mred", "green"], np.zeros(2)
    shown = repr(FrequencyEstimates(values, np.array([-0.3, 1.0]), none, none, none, 0.9999995, "normal", 1))
    assert shown.startswith("1 report, 2 values; with probability 0.9999995 all")
    assert "-0" not in shown
    assert r"\x1b[31mred" in shown
    assert "3 more" in repr(FrequencyEstimates(range(13), *[np.zeros(13)] * 4, 0.95, "normal", 1))


class _WithoutPandas:
    def to_pandas(self, **_: object) -> None:
        raise ModuleNotFoundError("No module named 'pandas'")


@pytest.mark.parametrize("kind", [FrequencyEstimates, ConsistentCounts, HeavyHitters, JointEstimates])
def test_a_frame_without_pandas_is_refused_with_another_call(monkeypatch, kind):
    monkeypatch.setattr(kind, "to_arrow", lambda _: _WithoutPandas())
    with pytest.raises(UnsupportedError, match="pandas is not installed"):
        kind.to_pandas(object.__new__(kind))


@pytest.mark.parametrize("confidence", [0, 1, 1.5, -1, math.nan, Fraction(10**20 - 1, 10**20)])
def test_a_confidence_is_above_0_and_below_1(confidence):
    task = symbol_task(6)
    with pytest.raises(ParameterError, match="confidence"):
        estimate(task, count_reports(task, symbol_reports(task, 50)), confidence)


@pytest.mark.parametrize("wrong", [None, [1, 2], np.ones(6)])
def test_estimates_of_something_else_than_an_accumulator_are_refused(wrong):
    with pytest.raises(ParameterError, match="accumulator of a collection"):
        estimate(symbol_task(6), wrong)


def test_two_stages_are_decoded_together():
    oracle = ORACLES.KaryResponse.calibrate(4, epsilon=2)
    stages = {"repeat": "two_stage", "second": {"ratio": [3, 1]}, "epsilon_second": "1.0987"}
    task = dp.local.Task(dp.local.SlotDomain(size=4), "2", oracle, **stages)
    state = count_reports(task, symbol_reports(task, 100))
    plain = task.decoder.estimate(state.counts, 100)
    assert estimate(task, state).estimates.tolist() == plain.tolist()
    assert task.decoder.ratio != oracle.ratio


def test_counts_of_another_task_and_no_counts_are_refused():
    task = symbol_task(6)
    with pytest.raises(ParameterError, match="the task is"):
        estimate(symbol_task(6, name="another"), count_reports(task, symbol_reports(task, 3)))
    with pytest.raises(ParameterError, match="the accumulator is empty"):
        estimate(task, Accumulator.empty(task))
    with pytest.raises(ParameterError, match="confidence"):
        estimate(task, count_reports(task, symbol_reports(task, 3)), confidence=1.5)


def test_counts_that_do_not_add_up_are_refused():
    task = symbol_task(2)
    with pytest.raises(SourceError, match="each report has one symbol"):
        estimate(task, Accumulator.partial(task, np.array([[3, 4]]), np.array([8])))


def test_a_task_of_a_mean_is_refused_with_the_other_call():
    oracle = ORACLES.DuchiResponse.calibrate(10, epsilon=1)
    task = dp.local.Task(dp.local.SlotDomain(low=0, high=1, steps=10), "1", oracle)
    with pytest.raises(UnsupportedError, match="estimate_mean"):
        estimate(task, Accumulator.empty(task))
