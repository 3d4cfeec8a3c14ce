"""Controls of noise: too little of it, scaled to the data, in floats, replaced by the data now and then; and right."""

import math
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from discreet.auditing.claims import claim
from discreet.auditing.controls.control import (
    Booleans,
    Control,
    Floats,
    Integers,
    discrete_laplace,
    laplace,
    on_grid,
    random,
)
from discreet.mechanisms import AdditiveNoise, Gaussian, Laplace, Staircase

_LEAK = 0.01

# With power 0.9, fewer than half of 20 are caught with probability 7e-7.
_REPEATS, _NEEDED = 20, 10


def _float_laplace(answer: float, count: int) -> Floats:
    return answer + laplace(1, count)


def _float_gaussian(answer: float, count: int) -> Floats:
    return answer + random.normal(0, 1, count)


def _other_library(answer: float, count: int) -> list[float]:
    mechanism = import_module("diffprivlib.mechanisms").Laplace(epsilon=1, sensitivity=1)
    return [mechanism.randomise(answer) for _ in range(count)]


def _laplace_on_grid(epsilon: float) -> Callable[[float, int], Floats]:
    return lambda answer, count: on_grid(answer + laplace(1 / epsilon, count))


def _gaussian_on_grid(mu: float) -> Callable[[float, int], Floats]:
    return lambda answer, count: on_grid(answer + random.normal(0, 1 / mu, count))


def _released_by(mechanism: AdditiveNoise) -> Callable[[int, int], list[Any]]:
    return lambda answer, count: list(mechanism.release([answer] * count))


def _pairs_released_by(mechanism: AdditiveNoise) -> Callable[[tuple[int, int], int], list[Any]]:
    """Two numbers at once, each with noise of its own."""

    def release(answers: tuple[int, int], count: int) -> list[Any]:
        first, second = (mechanism.release([answer] * count) for answer in answers)
        return list(zip(first, second, strict=True))

    return release


def _local(values: Sequence[float], count: int) -> Floats:
    """The median, with noise for what replacing one of these very values could do to it."""
    ordered, middle = sorted(values), len(values) // 2
    local = max(ordered[middle + 1] - ordered[middle], ordered[middle] - ordered[middle - 1])
    return on_grid(ordered[middle] + laplace(local, count))


def _catastrophe(salary: int, count: int) -> Integers:
    """A count with noise; one time in a hundred, what somebody earns instead."""
    leaks = random.random(count) < _LEAK
    return np.where(leaks, salary, 1 + discrete_laplace(1, count))


def _catastrophe_of_rows(rows: tuple[str, ...], count: int) -> list[Any]:
    """A count with noise; one time in a hundred, every row instead."""
    leaks = random.random(count) < _LEAK
    noisy = (len(rows) + discrete_laplace(1, count)).tolist()
    return [rows if leak else answer for leak, answer in zip(leaks, noisy, strict=True)]


def _randomized_response(bit: int, count: int) -> Booleans:
    honest = random.random(count) < math.e / (1 + math.e)
    return honest if bit else ~honest


BROKEN = (
    Control(
        name="Laplace noise of numpy",
        mechanism=_float_laplace,
        claim=claim(epsilon=1),
        samples=2_000,
        why="the doubles that noise can reach from 0 and from 1 differ",
        one=0.0,
        other=1.0,
    ),
    Control(
        name="Gaussian noise of numpy",
        mechanism=_float_gaussian,
        claim=claim(mu=1),
        samples=4_000,
        why="the doubles that noise can reach from 0 and from 1 differ",
        one=0.0,
        other=1.0,
    ),
    Control(
        name="Laplace of diffprivlib",
        mechanism=_other_library,
        claim=claim(epsilon=1),
        samples=2_000,
        why="the doubles that noise can reach from 0 and from 1 differ",
        one=0.0,
        other=1.0,
        needs="diffprivlib",
    ),
    Control(
        name="noise scaled to the local sensitivity",
        mechanism=_local,
        one=(0.0, 1.0, 2.0, 10.0, 11.0),
        other=(0.0, 1.0, 2.0, 3.0, 11.0),
        claim=claim(epsilon=1),
        samples=2_000,
        why="the scale of the noise depends on the data: 8 on one side, 1 on the other",
    ),
    Control(
        name="staircase noise calibrated by L1",
        mechanism=_pairs_released_by(Staircase(sensitivity=2, epsilon=1, inner=1)),
        claim=claim(epsilon=1),
        samples=4_000,
        why="both numbers cross a stair though each moves by half of the step, so the loss is that of epsilon 2",
        one=(0, 0),
        other=(1, 1),
        repeats=_REPEATS,
        needed=_NEEDED,
    ),
    Control(
        name="1.5 times the claimed epsilon",
        mechanism=_laplace_on_grid(1.5),
        claim=claim(epsilon=1),
        samples=2_000,
        why="the noise is that of epsilon 1.5",
        one=0,
        other=1,
        repeats=_REPEATS,
        needed=_NEEDED,
    ),
    Control(
        name="1.1 times the claimed epsilon",
        mechanism=_laplace_on_grid(1.1),
        claim=claim(epsilon=1),
        samples=40_000,
        why="the noise is that of epsilon 1.1",
        one=0,
        other=1,
        repeats=_REPEATS,
        needed=_NEEDED,
    ),
    Control(
        name="Gaussian noise for half of the sensitivity, claimed in rho",
        mechanism=_gaussian_on_grid(2),
        claim=claim(rho=0.5),
        samples=10_000,
        why="rho is 2 where 0.5 is claimed",
        one=0,
        other=1,
    ),
    Control(
        name="Gaussian noise for half of the sensitivity, claimed as a curve",
        mechanism=_gaussian_on_grid(2),
        claim=claim(mu=1),
        samples=2_000,
        why="mu is 2 where 1 is claimed",
        one=0,
        other=1,
    ),
    Control(
        name="catastrophe of delta 0.01, claimed pure",
        claim=claim(epsilon=1),
        why="one answer in a hundred is the data themselves",
        mechanism=_catastrophe,
        one=71_000,
        other=34_000,
        samples=20_000,
    ),
)

RIGHT = (
    Control(
        name="catastrophe of delta 0.01, claimed as such",
        claim=claim(epsilon=1, delta=_LEAK),
        why="(epsilon, delta) by the definition",
        is_broken=False,
        mechanism=_catastrophe,
        one=71_000,
        other=34_000,
        samples=20_000,
    ),
    Control(
        name="catastrophe of delta 0.01, rows in full, claimed as such",
        mechanism=_catastrophe_of_rows,
        one=("ann", "bob"),
        other=("ann",),
        claim=claim(epsilon=1, delta=_LEAK),
        samples=4_000,
        why="the same with outcomes of two types",
        is_broken=False,
    ),
    Control(
        name="discrete Laplace noise",
        mechanism=_released_by(Laplace(sensitivity=1, epsilon=1)),
        claim=claim(epsilon=1),
        samples=10_000,
        why="exact, and tight",
        is_broken=False,
        one=0,
        other=1,
    ),
    Control(
        name="discrete staircase noise on two numbers, calibrated by L0 and Linf",
        mechanism=_pairs_released_by(Staircase(sensitivity=1, coordinates=2, epsilon=1)),
        claim=claim(epsilon=1),
        samples=10_000,
        why="exact, and tight where both numbers cross a stair",
        is_broken=False,
        one=(0, 0),
        other=(1, 1),
    ),
    Control(
        name="discrete Gaussian noise, claimed in rho",
        mechanism=_released_by(Gaussian(sensitivity=1, rho=0.5)),
        claim=claim(rho=0.5),
        samples=10_000,
        why="exact, and tight at every order",
        is_broken=False,
        one=0,
        other=1,
    ),
    Control(
        name="discrete Gaussian noise, claimed with a delta",
        mechanism=_released_by(Gaussian(sensitivity=1, epsilon=1, delta=0.01)),
        claim=claim(epsilon=1, delta=0.01),
        samples=10_000,
        why="calibrated by the exact sum",
        is_broken=False,
        one=0,
        other=1,
    ),
    Control(
        name="Laplace noise rounded to a grid",
        mechanism=_laplace_on_grid(1),
        claim=claim(epsilon=1),
        samples=10_000,
        why="rounding is post-processing, and leaves no bit that only one side reaches",
        is_broken=False,
        one=0,
        other=1,
    ),
    Control(
        name="Gaussian noise rounded to a grid",
        mechanism=_gaussian_on_grid(1),
        claim=claim(mu=1),
        samples=10_000,
        why="the curve itself",
        is_broken=False,
        one=0,
        other=1,
    ),
    Control(
        name="randomized response",
        mechanism=_randomized_response,
        claim=claim(epsilon=1),
        samples=10_000,
        why="tight in both directions",
        is_broken=False,
        one=0,
        other=1,
    ),
)
