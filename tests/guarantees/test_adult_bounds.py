"""Bounds that nobody knows, on the Adult census: capital gains, of which most are zero and a few are 99,999."""

import math
import statistics

import numpy as np
import pyarrow.compute as pc
import pytest
from pyarrow import csv

import discreet as dp
from discreet.planner.registry import plan_query

GAIN = "Capital Gain"
TOTAL = 35_089_324
BUDGET = dp.Budget(epsilon=1)
T = dp.table("adult")
RUNS = 300


@pytest.fixture(scope="module")
def session(adult):
    with dp.testing.protect(adult, name="adult", privacy_unit=dp.ROW, budget=dp.Budget(epsilon=9)) as opened:
        yield opened


@pytest.fixture(scope="module")
def gains(adult) -> np.ndarray:
    return csv.read_csv(adult)[GAIN].to_numpy()


def _released(session, query, runs) -> list[dict[str, float]]:
    """Many answers with fresh noise from one pass over the data."""
    private = plan_query(query.plan, session.catalog, BUDGET, epsilon=1)
    exact = session._pipeline.exact("adult", session._pipeline.prepare(private))
    found = []
    for _ in range(runs):
        outputs = private.outputs(private.randomize(exact), session.remaining().budget.epsilon / 10)
        found.append({output.name: output.values[0] for output in outputs})
    return found


def _median_error(bias: float, scale: float) -> float:
    """The median of |bias + Y| for Laplace noise Y of that scale, by halving."""
    low, high = 0.0, abs(bias) + 50 * scale
    for _ in range(80):
        middle = (low + high) / 2
        within = _below((middle - bias) / scale) - _below((-middle - bias) / scale)
        low, high = (middle, high) if within < 0.5 else (low, middle)
    return high


def _below(x: float) -> float:
    return math.exp(x) / 2 if x < 0 else 1 - math.exp(-x) / 2


def _best_fixed(values: np.ndarray) -> tuple[float, int]:
    """The least median error of any fixed upper bound at epsilon 1, and that bound, from the data itself."""
    bounds = [int(bound) for bound in np.unique(values) if bound]
    return min((_median_error(float(np.minimum(values, b).sum() - values.sum()), b), b) for b in bounds)


def test_the_best_fixed_bound_of_capital_gain_is_the_largest_value(gains):
    error, bound = _best_fixed(gains)
    assert bound == 99_999
    assert error == pytest.approx(99_999 * math.log(2), rel=1e-6)


@pytest.mark.statistical(false_alarm=1e-5)
def test_found_bounds_are_within_a_factor_of_two_of_the_best_fixed_ones(session, gains, samples):
    """False alarm: an answer is farther off than the bar with probability 0.376; half of 300 are with about 6e-6."""
    released = _released(session, T.agg(gain=dp.sum(GAIN, bounds="auto")), samples(RUNS))
    errors = [abs(answer["gain"] - TOTAL) for answer in released]
    assert statistics.median(errors) <= 2 * _best_fixed(gains)[0]


@pytest.mark.statistical(false_alarm=1e-6)
def test_growth_finds_bounds_within_a_factor_of_two_of_the_best_fixed_ones(session, gains, samples):
    """False alarm: an answer is farther off than the bar with probability 0.36; half of 300 are with about 4e-7."""
    released = _released(session, T.agg(gain=dp.sum(GAIN, bounds=dp.auto_bounds(method="growth"))), samples(RUNS))
    errors = [abs(answer["gain"] - TOTAL) for answer in released]
    assert statistics.median(errors) <= 2 * _best_fixed(gains)[0]


def test_the_exact_session_finds_bounds_that_move_nothing(session):
    release = session.release(T.agg(gain=dp.sum(GAIN, bounds="auto"), age=dp.count()), epsilon=1)
    assert release.value("gain") == TOTAL
    assert (release.value("gain_low"), release.value("gain_high")) == (0, 100_000)


def test_ages_in_a_bin_of_a_histogram_are_those_that_the_textbook_counts(session):
    release = session.release(T.histogram("Age", bins=[21, 33]), epsilon=0.1)
    assert release["n"] == (2_410, 9_878, 20_273)
    assert release.keys[0].values[1] == "[21, 33)"


def test_ages_vary_as_the_textbook_says(session, adult):
    ages = csv.read_csv(adult)["Age"]
    release = session.release(
        T.agg(v=dp.variance("Age", bounds=(0, 120)), d=dp.std("Age", bounds=(0, 120))), epsilon=0.1
    )
    assert release.value("v") == pytest.approx(pc.variance(ages).as_py(), rel=1e-12)
    assert release.value("d") == pytest.approx(pc.stddev(ages).as_py(), rel=1e-12)


@pytest.mark.pitfall("C1")
def test_bounds_learned_from_the_data_are_charged_before_it_is_read(session):
    """A missing bound is an error, and one that is to be found is a charged question like any other."""
    with pytest.raises(dp.Refusal) as caught:
        session.release(T.agg(gain=dp.sum(GAIN)), epsilon=0.1)
    assert "no bounds are declared" in caught.value.because
    before = session.remaining().epsilon
    session.release(T.bounds(GAIN), epsilon=0.5)
    session.release(T.agg(loss=dp.sum("Capital Loss", bounds="auto")), epsilon=0.25)
    assert before - session.remaining().epsilon == pytest.approx(0.75)
