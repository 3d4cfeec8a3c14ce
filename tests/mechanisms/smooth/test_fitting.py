"""Smooth: the exact law of what leaves keeps its promise for true neighbours, and nothing else leaves."""

import inspect
import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from scipy import stats
from small_worlds import neighbours

from discreet.errors import FAILURE, Failure, ParameterError
from discreet.events import ApproximateEvent, ConcentratedEvent, PureEvent
from discreet.mechanisms.smooth import BoundedMean, InterquartileRange, Median, Smooth, SuppliedBounds
from discreet.mechanisms.smooth.smoothing import smooth_sensitivity
from discreet.samplers import continuous
from fits import fit

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(60)
STEPS = np.arange(-1_000, 1_001)
WORLD = range(7)
FIVE = [(0, 2, 3, 3, 6), (3, 3, 3, 3, 3), (0, 0, 3, 6, 6), (0, 0, 0, 6, 6), (1, 2, 3, 4, 5)]
EVERY = {
    "laplace": {"noise": "laplace", "epsilon": 1, "delta": 1e-3},
    "pareto": {"noise": "pareto", "epsilon": 1},
    "student_t": {"noise": "student_t", "epsilon": 1},
    "laplace_log_normal": {"noise": "laplace_log_normal", "rho": 0.5},
}


def cdf(mechanism, z):
    if isinstance(mechanism.law, continuous.StudentT):
        return stats.t(3).cdf(z)
    if isinstance(mechanism.law, continuous.Pareto):
        return (1 + np.sign(z) * (1 - (1 + np.abs(z)) ** -float(mechanism.law.tail))) / 2
    if isinstance(mechanism.event(), ApproximateEvent):
        return stats.laplace.cdf(z)
    factors = np.exp(-NODES / 2)
    return stats.laplace.cdf(np.multiply.outer(z, factors)) @ WEIGHTS / math.sqrt(2 * math.pi)


def law(mechanism, local):
    """The probabilities of the multiples of the grid that are released, with both tails as two more outcomes."""
    scale = float(smooth_sensitivity(local, mechanism.beta) / mechanism.shift)
    edges = (STEPS[:-1] + 0.5) * float(mechanism.grid) - float(local.value())
    below = cdf(mechanism, edges / scale)
    return np.diff(below, prepend=0, append=1)


def check_promise(mechanism, one, other):
    """The promise of the event, for the two laws of what is released."""
    event = mechanism.event()
    kept = (one > 1e-13) & (other > 1e-13)
    p, q = one[kept], other[kept]
    if isinstance(event, PureEvent):
        assert np.max(np.log(p / q)) <= float(event.epsilon) * (1 + 1e-6)
    elif isinstance(event, ApproximateEvent):
        assert np.maximum(0, one - math.exp(event.epsilon) * other).sum() <= float(event.delta)
    else:
        for order in (1.1, 2, 5):
            assert math.log((p**order * q ** (1 - order)).sum()) / (order - 1) <= order * float(event.rho)


@pytest.mark.guarantee("mechanisms.smooth.fitting")
@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_the_rounded_law_of_a_median_of_five_keeps_its_promise_for_all_neighbours(name, relation):
    mechanism = Smooth(**EVERY[name], grid=Fraction(1, 2))

    @cache
    def median(rows):
        return law(mechanism, Median(list(rows), bounds=(0, 6), neighbours=relation))

    for rows in FIVE:
        here = median(rows)
        assert here.sum() == pytest.approx(1)
        for other in neighbours(rows, WORLD, 1, relation):
            there = median(other)
            check_promise(mechanism, here, there)
            check_promise(mechanism, there, here)


@pytest.mark.guarantee("mechanisms.smooth.fitting")
@pytest.mark.parametrize("name", EVERY)
def test_the_rounded_law_of_a_mean_and_a_range_with_two_rows_of_each_unit_keeps_its_promise(name):
    mechanism = Smooth(**EVERY[name], grid=Fraction(1, 4), share=Fraction(1, 4))
    made = [
        lambda rows: BoundedMean(total=sum(rows), count=len(rows), bounds=(0, 6), max_rows=2),
        lambda rows: InterquartileRange(list(rows), bounds=(0, 6), max_rows=2),
    ]
    for local in made:
        for rows in FIVE[:3]:
            here = law(mechanism, local(rows))
            for other in list(neighbours(rows, WORLD, 2, "add_remove"))[::3]:
                there = law(mechanism, local(other))
                check_promise(mechanism, here, there)
                check_promise(mechanism, there, here)


@pytest.mark.statistical(false_alarm=1e-6)
@pytest.mark.parametrize("name", EVERY)
def test_releases_fit_that_law(name, samples):
    """False-alarm rate 1e-6 for each noise."""
    mechanism, median = Smooth(**EVERY[name], grid=2), Median([0, 2, 3, 3, 6], bounds=(0, 6))
    shares = dict(zip(STEPS[1:-1].tolist(), law(mechanism, median)[1:-1], strict=True))
    assert fit((int(mechanism.release(median)) // 2 for _ in range(samples(1_500))), shares) > 1e-6


def test_events_are_what_was_asked_for():
    assert Smooth(epsilon=1, delta=1e-6).event() == ApproximateEvent(Fraction(1), Fraction(1, 10**6))
    assert Smooth(noise="student_t", epsilon=0.3).event() == PureEvent(Fraction(3, 10))
    assert Smooth(noise="pareto", epsilon=0.3).event() == PureEvent(Fraction(3, 10))
    assert Smooth(noise="laplace_log_normal", rho=0.1).event() == ConcentratedEvent(Fraction(1, 10))


def test_a_release_is_a_multiple_of_the_grid_and_whole_where_the_grid_is():
    mean = BoundedMean(total=10, count=3, bounds=(0, 9))
    for grid in (1, 5, Fraction(1, 7)):
        answer = Smooth(epsilon=1, delta=1e-3, grid=grid).release(mean)
        assert (answer / Fraction(grid)).denominator == 1
        assert isinstance(answer, int) == (grid != Fraction(1, 7))


def test_data_that_no_unit_moves_are_answered_almost_exactly():
    """False-alarm rate below 1e-100: the noise is narrower than 1e-200 of a step."""
    median = Median([37] * 10_001, bounds=(0, 120))
    assert {Smooth(**options).release(median) for options in EVERY.values()} == {37}


def test_no_margin_no_scale_and_no_sensitivity_can_be_had():
    mechanism = Smooth(epsilon=1, delta=1e-6)
    public = {name for name in dir(mechanism) if not name.startswith("_")}
    assert public == {"beta", "event", "grid", "law", "release", "shift"}
    before = repr(mechanism), vars(mechanism).copy()
    mechanism.release(Median([1, 2, 918_273], bounds=(0, 10**6)))
    assert (repr(mechanism), vars(mechanism)) == before
    assert list(inspect.signature(mechanism.release).parameters) == ["local"]


@pytest.mark.pitfall("A6")
def test_a_supplied_function_that_fails_says_one_constant_sentence():
    with pytest.raises(Failure) as failure:
        Smooth(epsilon=1, delta=1e-6).release(SuppliedBounds(value=918_273, at=lambda k: {}[918_273 + k], largest=5))
    assert str(failure.value) == FAILURE
    assert failure.value.__context__ is None


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"epsilon": 1},
        {"epsilon": 1, "delta": 0},
        {"epsilon": 1, "delta": 1.5},
        {"epsilon": 0, "delta": 1e-6},
        {"epsilon": math.nan, "delta": 1e-6},
        {"rho": 1},
        {"noise": "student_t", "epsilon": 1, "delta": 1e-6},
        {"noise": "student_t", "rho": 1},
        {"noise": "pareto", "rho": 1},
        {"noise": "pareto", "epsilon": 1, "delta": 1e-6},
        {"noise": "student_t", "epsilon": 1, "degrees": 0},
        {"noise": "laplace_log_normal", "epsilon": 1},
        {"noise": "laplace_log_normal", "rho": 1, "sigma": 9},
        {"noise": "gaussian", "rho": 1},
        {"epsilon": 1, "delta": 1e-6, "share": 0},
        {"epsilon": 1, "delta": 1e-6, "share": 1},
        {"epsilon": 1, "delta": 1e-6, "grid": 0},
        {"noise": "student_t", "epsilon": 1e-300},
        {"noise": "student_t", "epsilon": 1, "share": 1 - Fraction(1, 10**300)},
    ],
    ids=repr,
)
def test_parameters_without_a_proof_are_refused_with_code_that_works(options):
    with pytest.raises(ParameterError) as refusal:
        Smooth(**options)
    assert refusal.value.because
    for code in refusal.value.instead.split(", or "):
        if code.startswith("Smooth("):
            assert eval(code, {"Smooth": Smooth})  # noqa: S307 - the corrected code is code


def test_equal_mechanisms_are_equal_and_can_be_keys():
    assert Smooth(epsilon=1, delta=1e-6) == Smooth(epsilon=1.0, delta=Fraction(1, 10**6))
    assert len({Smooth(**options) for options in EVERY.values()} | {Smooth(**EVERY["laplace"])}) == 4
