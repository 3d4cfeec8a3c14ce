"""Continuous noise is rounded exactly: intervals hold the number, the rounded law is the ideal one."""

import ast
import inspect
import math
import multiprocessing
import os
import subprocess
import sys
import warnings
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import mpmath
import numpy as np
import pytest
from scipy import stats

from discreet.errors import ParameterError
from discreet.exact.rounding import DecimalInterval, IntervalArithmetic
from discreet.samplers import continuous
from discreet.samplers.continuous import (
    LaplaceLogNormal,
    Pareto,
    StandardLaplace,
    StudentT,
    round_with_noise,
)
from entropy_taken_away import refused
from fits import fit

FALSE_ALARM = 1e-6
LAWS = [StandardLaplace(), Pareto(), Pareto(Fraction(3, 2)), StudentT(1), StudentT(2), StudentT(3), LaplaceLogNormal()]
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(120)


def cdf(law, z):
    """P[Z <= z] in floats: closed form, or an average over the log-normal factor."""
    if isinstance(law, StudentT):
        return stats.t(law.degrees).cdf(z)
    if isinstance(law, StandardLaplace):
        return stats.laplace.cdf(z)
    if isinstance(law, Pareto):
        return (1 + np.sign(z) * (1 - (1 + np.abs(z)) ** -float(law.tail))) / 2
    factors = np.exp(-float(law.sigma) * NODES)
    return np.dot(WEIGHTS, stats.laplace.cdf(np.multiply.outer(z, factors)).T) / math.sqrt(2 * math.pi)


def uniforms(draw):
    """The uniform numbers inside a draw, at the middle of what is known of them."""
    inside = [draw] if hasattr(draw, "uniform") else []
    inside += [draw.laplace] if hasattr(draw, "laplace") else []
    found = [part.uniform for part in inside]
    found += [draw.disc.first, draw.disc.second] if hasattr(draw, "disc") else []
    return [mpmath.mpf(2 * u.known + 1) / mpmath.mpf(2) ** (u.count + 1) for u in found]


def oracle(law, draw):
    """Z by mpmath from the definition in the module, at 700 digits."""
    values = uniforms(draw)
    if isinstance(law, StandardLaplace):
        return -mpmath.log(values[0]) * (-1) ** draw.is_negative
    if isinstance(law, Pareto):
        power = values[0] ** (-mpmath.mpf(law.tail.denominator) / law.tail.numerator)
        return (power - 1) * (-1) ** draw.is_negative
    v, other = values[-2:]
    w = v**2 + other**2
    assert w < 1
    if isinstance(law, StudentT):
        size = v * mpmath.sqrt(law.degrees * (w ** (-mpmath.mpf(2) / law.degrees) - 1) / w)
        return size * (-1) ** draw.is_negative
    normal = v * mpmath.sqrt(-2 * mpmath.log(w) / w) * (-1) ** draw.shrinks
    sigma = mpmath.mpf(law.sigma.numerator) / law.sigma.denominator
    return -mpmath.log(values[0]) * mpmath.exp(sigma * normal) * (-1) ** draw.laplace.is_negative


@pytest.mark.guarantee("samplers.continuous")
@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_every_interval_holds_the_number_and_they_shrink_into_each_other(law):
    with mpmath.workdps(700):
        for _ in range(15):
            draw = law.draw()
            intervals = [draw.enclosure(IntervalArithmetic(bits)) for bits in (64, 128, 256, 2048)]
            number = oracle(law, draw)
            assert all(mpmath.mpf(str(low)) <= number <= mpmath.mpf(str(high)) for low, high in intervals)
            widths = [Fraction(high) - Fraction(low) for low, high in intervals]
            assert widths[0] >= widths[1] >= widths[2] >= widths[3]
            assert widths[3] <= Fraction(1, 10**250) * (1 + abs(Fraction(intervals[0].high)))


@pytest.mark.guarantee("samplers.continuous")
@pytest.mark.statistical(false_alarm=1e-6)
@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_the_rounded_draws_fit_the_ideal_law_on_a_coarse_grid(law, samples):
    """False-alarm rate 1e-6 for each law."""
    value, scale, grid = Fraction(1, 3), Fraction(7, 5), Fraction(1, 2)
    seen = [round_with_noise(value, scale, law, grid) for _ in range(samples(2_000))]
    edges = (np.arange(-60, 62) - 0.5) * float(grid)
    shares = np.diff(cdf(law, (edges - float(value)) / float(scale)))
    assert fit(seen, dict(zip(range(-60, 61), shares, strict=True))) > FALSE_ALARM


@pytest.mark.statistical(false_alarm=1e-6)
@pytest.mark.parametrize("law", [StandardLaplace(), StudentT(3), LaplaceLogNormal()], ids=repr)
def test_draws_on_a_grid_far_finer_than_the_noise_fall_evenly_between_quantiles(law, samples):
    """False-alarm rate 1e-6 for each law; 2^70 steps to a unit of noise, so that 64 bits are not enough."""
    draws = [round_with_noise(Fraction(0), Fraction(2**70), law, Fraction(1)) / 2**70 for _ in range(samples(1_000))]
    cells = (min(19, int(20 * p)) for p in np.atleast_1d(cdf(law, np.array(draws))))
    assert fit(cells, dict.fromkeys(range(20), 1 / 20)) > FALSE_ALARM


@pytest.mark.parametrize("draws", [3_000, 12_000])
def test_the_test_of_fit_catches_noise_that_is_too_wide_by_half(draws):
    """A positive control, with about as many draws as above and with four times as many.

    The draws' number times the relative entropy has a mean of 270 and a deviation of 26, and 49 is an alarm:
    missed with probability below 1e-12.
    """
    seen = [round_with_noise(Fraction(0), Fraction(3, 2), StandardLaplace(), Fraction(1, 2)) for _ in range(draws)]
    shares = np.diff(stats.laplace.cdf((np.arange(-40, 42) - 0.5) / 2))
    assert fit(seen, dict(zip(range(-40, 41), shares, strict=True))) < FALSE_ALARM


class Known:
    """A law of one rational number, seen through intervals that shrink with the bits."""

    def __init__(self, number):
        self.number, self.asked = number, []

    def draw(self):
        return self

    def enclosure(self, arithmetic):
        self.asked.append(arithmetic.bits)
        width = Fraction(1, 2**arithmetic.bits)
        low, high = self.number - width / 3, self.number + width
        return DecimalInterval(
            Decimal(low.numerator) / Decimal(low.denominator), Decimal(high.numerator) / Decimal(high.denominator)
        )


@pytest.mark.guarantee("samplers.continuous")
@pytest.mark.parametrize(
    ("value", "scale", "grid", "number", "steps"),
    [
        (Fraction(0), Fraction(1), Fraction(1), Fraction(49, 100), 0),
        (Fraction(0), Fraction(1), Fraction(1), Fraction(51, 100), 1),
        (Fraction(0), Fraction(1), Fraction(1), Fraction(-51, 100), -1),
        (Fraction(7, 2), Fraction(1, 10**30), Fraction(1), Fraction(-1), 3),
        (Fraction(7, 2), Fraction(1, 10**30), Fraction(1), Fraction(1), 4),
        (Fraction(10, 3), Fraction(2), Fraction(1, 7), Fraction(5, 4), 41),
    ],
)
def test_the_nearest_multiple_of_the_grid_is_taken(value, scale, grid, number, steps):
    assert round_with_noise(value, scale, Known(number), grid) == steps
    assert steps == math.floor((value + scale * number) / grid + Fraction(1, 2))


def test_a_rounding_that_the_first_bits_do_not_decide_waits_for_more():
    law = Known(Fraction(1, 2) - Fraction(1, 2**75))
    assert round_with_noise(Fraction(0), Fraction(1), law, Fraction(1)) == 0
    assert law.asked == [64, 128]


def test_noise_of_no_width_leaves_the_value_rounded_with_ties_upward():
    for value, steps in ((Fraction(1, 2), 1), (Fraction(-1, 2), 0), (Fraction(5, 4), 1)):
        assert round_with_noise(value, Fraction(0), StudentT(3), Fraction(1)) == steps


@pytest.mark.parametrize("sigma", [0, -1, 5, math.nan, True, "1"], ids=repr)
def test_a_sigma_that_is_none_or_too_large_is_refused(sigma):
    with pytest.raises(ParameterError, match="sigma"):
        LaplaceLogNormal(sigma)


@pytest.mark.parametrize("tail", [0, -1, math.inf, True], ids=repr)
def test_a_tail_index_that_is_not_above_zero_is_refused(tail):
    with pytest.raises(ParameterError, match="tail"):
        Pareto(tail)


@pytest.mark.parametrize("degrees", [0, -1, 1.5, True, None], ids=repr)
def test_degrees_of_freedom_that_are_no_whole_number_are_refused(degrees):
    with pytest.raises(ParameterError, match="degrees"):
        StudentT(degrees)


def test_no_float_and_no_seed_is_anywhere_in_the_module():
    tree = ast.parse(Path(inspect.getfile(continuous)).read_text(encoding="utf-8"))
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert not names & {"float", "random", "np", "seed"}
    assert not [n for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, float)]
    attributes = {
        f"{n.value.id}.{n.attr}"
        for n in ast.walk(tree)
        if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name)
    }
    assert {name for name in attributes if name.startswith("math.")} == {"math.floor"}


def _draw_in_a_child(queue):
    queue.put([round_with_noise(Fraction(0), Fraction(2**80), StandardLaplace(), Fraction(1)) for _ in range(20)])


@pytest.mark.pitfall("D")
def test_forked_workers_share_no_noise():
    """False-alarm rate below 1e-15: 80 draws, each value of probability below 2^-79."""
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # later Pythons warn of fork beside threads
        workers = [context.Process(target=_draw_in_a_child, args=(queue,)) for _ in range(4)]
        for worker in workers:
            worker.start()
    drawn = [step for _ in workers for step in queue.get(timeout=60)]
    for worker in workers:
        worker.join(timeout=60)
    assert len(set(drawn)) == 80


DRAWS = """
from fractions import Fraction
from discreet.samplers.continuous import StandardLaplace, StudentT, round_with_noise
laws = (StandardLaplace(), StudentT(3))
draws = [lambda law=law: round_with_noise(Fraction(0), Fraction(1), law, Fraction(1)) for law in laws]
"""


@pytest.mark.pitfall("D")
def test_a_machine_without_entropy_draws_nothing():
    """The kernel itself refuses getrandom to a child process."""
    assert refused(DRAWS) == 2


def test_it_is_light_to_import():
    heavy = {"numpy", "scipy", "mpmath", "pandas", "pyarrow"}
    code = f"import sys, discreet.samplers.continuous; print(sorted({heavy!r} & set(sys.modules)))"
    environment = os.environ | {"PYTHONWARNINGS": "ignore"}
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True, env=environment
    )
    assert "scipy" not in run.stdout
    assert "mpmath" not in run.stdout
