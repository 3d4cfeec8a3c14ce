"""Laplace: the ratio of probabilities is within e^epsilon and reaches it, margins are the least, prices are safe."""

import math
import random
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opendp.domains import atom_domain, vector_domain
from opendp.measurements import make_laplace
from opendp.metrics import l1_distance
from opendp.mod import enable_features
from scipy.stats import binomtest

from discreet.errors import ParameterError
from discreet.exact.rounding import double_up, exp_down, exp_up
from discreet.mechanisms import Laplace
from grids import over

enable_features("contrib")

SCALES = [0.05, 0.3, 1.0, 2.0, 3.7, 40.0, 1e6, 2.0**50]
HOSTILE = [math.nan, math.inf, 1e999, 0, -0.0, -1, True, "0.1", None, [1]]

positives = st.fractions(min_value=Fraction(1, 10**4), max_value=10**4, max_denominator=10**6)


def log_weight(y, scale):
    """The logarithm of P[Y = y], up to the constant: exact."""
    return -abs(y) / Fraction(scale)


@pytest.mark.guarantee("mechanisms.laplace")
@settings(deadline=None, max_examples=30)
@given(sensitivity=st.integers(1, 20), epsilon=positives, answer=st.integers(-20, 20))
def test_probabilities_of_neighbours_stay_within_e_to_the_epsilon_and_reach_it(sensitivity, epsilon, answer):
    mechanism = Laplace(sensitivity=sensitivity, epsilon=epsilon)
    steps = [
        abs(y - answer - shift) - abs(y - answer)
        for shift in range(-sensitivity, sensitivity + 1)
        for y in range(-60, 61)
    ]
    assert max(steps) / Fraction(mechanism.scale) == mechanism.epsilon
    assert mechanism.epsilon <= epsilon


@pytest.mark.guarantee("mechanisms.laplace")
def test_the_guarantee_of_a_vector_follows_its_l1_sensitivity():
    mechanism = Laplace(sensitivity=3, epsilon=Fraction(1, 2))
    shifts = [s for s in product(range(-3, 4), repeat=2) if abs(s[0]) + abs(s[1]) <= 3]
    losses = [
        sum(
            log_weight(y, mechanism.scale) - log_weight(y - s, mechanism.scale)
            for y, s in zip(point, shift, strict=True)
        )
        for point in product(range(-6, 7), repeat=2)
        for shift in shifts
    ]
    assert max(losses) == mechanism.epsilon


@pytest.mark.parametrize("scale", SCALES[:6])
def test_the_pmf_has_those_ratios_sums_to_one_and_agrees_with_cdf_and_tail(scale):
    mechanism = Laplace.with_scale(scale=scale, sensitivity=1)
    reach = math.ceil(50 * scale) + 3
    assert math.fsum(mechanism.pmf(y) for y in range(-reach, reach + 1)) == pytest.approx(1, abs=1e-14)
    for y in range(-3, 4):
        assert mechanism.pmf(y) == pytest.approx(mechanism.pmf(0) * math.exp(log_weight(y, scale)), rel=1e-13)
        assert mechanism.cdf(y) - mechanism.cdf(y - 1) == pytest.approx(mechanism.pmf(y), rel=1e-9, abs=1e-15)
    for t in (0, 1, 5):
        inside = math.fsum(mechanism.pmf(y) for y in range(-t, t + 1))
        assert mechanism.coverage(t) == pytest.approx(inside, abs=1e-14)
        assert mechanism.tail(t) == pytest.approx(1 - inside, abs=1e-14)
    assert mechanism.tail(-1) == 1
    assert mechanism.coverage(-1) == 0
    spread = math.fsum(y * y * mechanism.pmf(y) for y in range(-2 * reach, 2 * reach + 1))
    assert mechanism.variance == pytest.approx(spread, rel=1e-10)
    assert mechanism.standard_deviation == pytest.approx(math.sqrt(spread), rel=1e-10)


def test_probabilities_far_out_are_zero_and_not_an_error():
    mechanism = Laplace(sensitivity=1, epsilon=1)
    assert (
        mechanism.pmf(10**400) == mechanism.pmf(-(10**400)) == mechanism.tail(10**400) == mechanism.cdf(-(10**400)) == 0
    )
    assert mechanism.cdf(10**400) == 1
    assert Laplace.with_scale(scale=2.0**-40, sensitivity=1).variance == 0


def test_at_scale_1_the_95_percent_margin_is_3_and_covers_97_32_percent():
    mechanism = Laplace(sensitivity=1, epsilon=1)
    assert mechanism.margin(0.95) == 3
    assert mechanism.coverage(3) == pytest.approx(0.9732, abs=5e-5)
    assert Laplace(sensitivity=1, epsilon=0.1).margin() == 30


def tail_bounds(scale, steps):
    """P[|Y| > steps] = 2 q^(steps+1)/(1+q) from below and from above."""
    step = -1 / Fraction(scale)
    low = 2 * exp_down(step * (steps + 1)) / (1 + exp_up(step))
    return low, 2 * exp_up(step * (steps + 1)) / (1 + exp_down(step))


@over("scale", SCALES)
@over("confidence", [0.01, 0.5, 0.9, 0.95, 1 - 1e-9, 1 - Fraction(1, 10**40)])
def test_a_margin_covers_and_one_step_less_does_not(scale, confidence):
    steps = int(Laplace.with_scale(scale=scale, sensitivity=1).margin(confidence))
    outside = 1 - (Fraction(repr(confidence)) if isinstance(confidence, float) else confidence)
    assert tail_bounds(scale, steps)[1] <= outside
    assert steps == 0 or tail_bounds(scale, steps - 1)[0] > outside


@over("count", [1, 2, 50, 10**6])
@over("scale", [0.3, 1.0, 40.0, 1e6])
def test_a_simultaneous_margin_covers_all_draws_and_one_step_less_does_not(scale, count):
    confidence = Fraction(9, 10)
    steps = int(Laplace.with_scale(scale=scale, sensitivity=1).simultaneous_margin(count, confidence))
    assert count * math.log1p(-float(tail_bounds(scale, steps)[1])) >= math.log(0.9) * (1 + 1e-12)
    assert steps == 0 or count * math.log1p(-float(tail_bounds(scale, steps - 1)[0])) <= math.log(0.9) * (1 - 1e-12)


def test_extreme_scales_and_counts_have_margins_at_once():
    assert Laplace.with_scale(scale=2.0**-40, sensitivity=1).margin(1 - Fraction(1, 10**290)) == 0
    assert Laplace(sensitivity=1, epsilon=1).simultaneous_margin(10**600) > 1000


def test_margins_speak_the_answers_own_terms():
    mechanism = Laplace(sensitivity=Fraction(1, 10), epsilon=1, grid=Fraction(1, 10))
    assert mechanism.scale == 1
    assert mechanism.margin() == Fraction(3, 10)
    assert mechanism.coverage(Fraction(3, 10)) == Laplace(sensitivity=1, epsilon=1).coverage(3)
    assert mechanism.coverage(Fraction(39, 100)) == mechanism.coverage(Fraction(3, 10))
    assert mechanism.variance == pytest.approx(Laplace(sensitivity=1, epsilon=1).variance / 100)


@pytest.mark.statistical(false_alarm=1e-6)
def test_released_answers_stay_within_the_margin_as_often_as_it_says(samples):
    """False-alarm rate 1e-6."""
    mechanism = Laplace(sensitivity=2, epsilon=1)
    margin, many = mechanism.margin(0.9), samples(5_000)
    within = sum(abs(y - 100) <= margin for y in mechanism.release([100] * many))
    assert binomtest(within, many, mechanism.coverage(margin)).pvalue > 1e-6


@settings(deadline=None)
@given(sensitivity=positives, epsilon=positives, grid=positives)
def test_the_price_is_at_most_the_epsilon_asked_for_and_belongs_to_the_double_that_is_drawn(sensitivity, epsilon, grid):
    mechanism = Laplace(sensitivity=sensitivity, epsilon=epsilon, grid=grid)
    event = mechanism.event()
    assert event.scale == Fraction(mechanism.scale)
    assert event.sensitivity == sensitivity / grid
    assert event.sensitivity / event.scale == mechanism.epsilon
    assert epsilon * (1 - Fraction(1, 10**15)) < mechanism.epsilon <= epsilon


def test_the_sampling_librarys_own_price_agrees_from_the_safe_side():
    integers = vector_domain(atom_domain(T="i64"))
    for _ in range(100):
        sensitivity, epsilon = random.randint(1, 1000), random.uniform(0.01, 10)  # noqa: S311 - chooses cases
        mechanism = Laplace(sensitivity=sensitivity, epsilon=epsilon)
        theirs = make_laplace(integers, l1_distance(T="i64"), mechanism.scale).map(sensitivity)
        assert mechanism.epsilon <= Fraction(theirs)
        assert Fraction(theirs) <= mechanism.epsilon * (1 + Fraction(1, 2**51))


@pytest.mark.parametrize("scale", [0.1, 3.3, 1e6, 7, Fraction(1, 3), Decimal("0.3")])
def test_a_given_scale_is_kept_where_it_is_a_double_and_rounded_up_elsewhere(scale):
    mechanism = Laplace.with_scale(scale=scale, sensitivity=2, grid=Fraction(1, 4))
    assert mechanism.scale == double_up(Fraction(scale))
    assert not isinstance(scale, float) or mechanism.scale == scale
    assert mechanism.epsilon == 8 / Fraction(mechanism.scale)
    assert Laplace(sensitivity=2, epsilon=mechanism.epsilon, grid=Fraction(1, 4)) == mechanism


@over("value", HOSTILE)
@over("name", ["sensitivity", "epsilon", "grid"])
def test_numbers_that_are_none_are_refused_by_name_with_code_that_works(name, value):
    with pytest.raises(ParameterError, match=name) as refusal:
        Laplace(**{"sensitivity": 1, "epsilon": 1, "grid": 1} | {name: value})
    assert f"{name}=" in refusal.value.instead


@pytest.mark.parametrize("value", [*HOSTILE, 1e-320, 1e300, 2.0**-41, 2.0**51], ids=repr)
def test_scales_that_are_none_or_cannot_be_drawn_are_refused(value):
    with pytest.raises(ParameterError, match="scale") as refusal:
        Laplace.with_scale(scale=value, sensitivity=1)
    assert "scale=" in refusal.value.instead


@pytest.mark.parametrize(
    ("sensitivity", "epsilon", "grid", "words"),
    [
        (1, 1e-320, 1, "larger epsilon"),
        (1e300, 1e-300, 1, "coarser grid"),
        (1, 1, 1e-20, "coarser grid"),
        (1e-320, 1, 1, "finer grid"),
        (1, 1e300, 1, "smaller epsilon"),
    ],
)
def test_scales_beyond_the_sampler_are_refused_with_a_way_out(sensitivity, epsilon, grid, words):
    with pytest.raises(ParameterError, match="steps of the grid") as refusal:
        Laplace(sensitivity=sensitivity, epsilon=epsilon, grid=grid)
    assert words in refusal.value.instead
    assert eval(refusal.value.instead.split(":")[0], {"Laplace": Laplace})  # noqa: S307 - the corrected code is code


def test_parameters_are_keyword_only():
    with pytest.raises(TypeError):
        Laplace(1, 1)


def test_mechanisms_are_light_to_import():
    heavy = {"scipy", "pandas", "polars", "pyarrow", "dp_accounting", "matplotlib", "duckdb"}
    code = f"import sys, discreet.mechanisms; print(sorted({heavy!r} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout.strip() == "[]"
