"""Samplers that record what they are called with, and return numbers that are not random.

A price is proved from parameters. Whether `release` draws with those very parameters is what these recorders show: they
stand where random bits are first used (the samplers of discrete noise, the exact choices, continuous noise, and
the bits of the optimal rule for keys), so a draw that is halved, left out or made twice is another record.

Integer noise is 1, 2, 3, ... in the order of drawing, unless a test gives other numbers. So every released integer
shows by its distance from the exact one which draw it carries, and that it carries one.
"""

import itertools
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet import events
from discreet.mechanisms.keys import optimal
from discreet.samplers import categorical, continuous, discrete, repetitions

BITS = 256


@dataclass(frozen=True)
class Laplace:
    """So many integers with P[y] proportional to exp(-|y|/scale)."""

    scale: Fraction
    count: int


@dataclass(frozen=True)
class Gaussian:
    """So many integers with P[y] proportional to exp(-y^2/(2 variance))."""

    variance: Fraction
    count: int


@dataclass(frozen=True)
class Staircase:
    """So many integers with P[y] proportional to exp(-s/scale), s = floor((|y| + step - inner)/step)."""

    scale: Fraction
    step: int
    inner: int
    count: int


@dataclass(frozen=True)
class Peeled:
    """So many different places, each with weight e^(-rate gap) among those left."""

    rate: Fraction
    gaps: tuple[int, ...]
    count: int = 1


@dataclass(frozen=True)
class FirstKept:
    """The first place in a random order that a flip of probability e^(-rate gap) keeps."""

    rate: Fraction
    gaps: tuple[int, ...]


@dataclass(frozen=True)
class Flips:
    """A flip of probability e^(-rate gap) for each place."""

    rate: Fraction
    gaps: tuple[int, ...]


@dataclass(frozen=True)
class Uniform:
    """So many whole numbers below a bound."""

    below: int
    count: int


@dataclass(frozen=True)
class Continuous:
    """value + scale Z, Z of a law, rounded to a grid."""

    value: Fraction
    scale: Fraction
    law: object
    grid: Fraction


@dataclass(frozen=True)
class Bits:
    """So many random bits, held against the chances of keys."""

    count: int


@dataclass(frozen=True)
class Runs:
    """A number of runs of the truncated negative binomial law."""

    eta: Fraction
    gamma: Fraction


Call = Runs | Laplace | Gaussian | Staircase | Peeled | FirstKept | Flips | Uniform | Continuous | Bits


class Recorder:
    """What the samplers were called with, in order, and the integers that they returned."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.calls: list[Call] = []
        self.returned: list[int] = []
        self._numbers = itertools.count(1)
        self._given: deque[int] = deque()
        self._bits: deque[int] = deque()
        patch.setattr(discrete, "_laplace", self._integers(lambda scale: Laplace(Fraction(scale), 0)))
        patch.setattr(discrete, "_gaussian", self._integers(lambda sigma: Gaussian(Fraction(sigma) ** 2, 0)))
        patch.setattr(
            discrete, "_staircase", self._integers(lambda *shape: Staircase(Fraction(shape[0]), *shape[1:], 0))
        )
        patch.setattr(categorical, "choose_without_replacement", self._choose_without_replacement)
        patch.setattr(categorical, "permute_and_flip", self._permute_and_flip)
        patch.setattr(categorical, "flips", self._flips)
        patch.setattr(categorical, "uniform", self._uniform)
        patch.setattr(categorical, "permutation", self._permutation)
        patch.setattr(continuous, "round_with_noise", self._round_with_noise)
        patch.setattr(optimal, "random_bytes", self._random_bytes)
        patch.setattr(repetitions, "negative_binomial", self._negative_binomial)

    def give(self, *numbers: int) -> None:
        """Return these integers next, before any others."""
        self._given.extend(numbers)

    def give_bits(self, *numbers: int) -> None:
        """Return these numbers of 256 bits next, before zeros."""
        self._bits.extend(numbers)

    def forget(self) -> None:
        """Begin again with no records; the integers go on."""
        self.calls.clear()
        self.returned.clear()

    def _integers(self, record: Callable[..., Laplace | Gaussian | Staircase]) -> Callable[..., Any]:
        def drawn(*parameters: Any) -> discrete.Integers:
            *shape, count, _ = parameters
            self.calls.append(replace(record(*shape), count=count))
            return np.array([self._next() for _ in range(count)], dtype=np.int64)

        return drawn

    def _next(self) -> int:
        self.returned.append(self._given.popleft() if self._given else next(self._numbers))
        return self.returned[-1]

    def _choose_without_replacement(self, gaps: categorical.Gaps, rate: Fraction, count: int) -> list[int]:
        self.calls.append(Peeled(rate, _listed(gaps), count))
        return list(range(count))

    def _permute_and_flip(self, gaps: categorical.Gaps, rate: Fraction) -> int:
        self.calls.append(FirstKept(rate, _listed(gaps)))
        return 0

    def _flips(self, gaps: categorical.Gaps, rate: Fraction) -> Any:
        self.calls.append(Flips(rate, _listed(gaps)))
        return np.ones(len(gaps), dtype=np.bool_)

    def _uniform(self, below: int, count: int) -> Any:
        self.calls.append(Uniform(below, count))
        return np.zeros(count, dtype=np.int64)

    def _permutation(self, count: int) -> Any:  # noqa: ARG002
        raise AssertionError("nothing that is released draws an order by itself")

    def _round_with_noise(self, value: Fraction, scale: Fraction, law: object, grid: Fraction) -> int:
        self.calls.append(Continuous(value, scale, law, grid))
        return (value / grid).__floor__() + self._next()

    def _negative_binomial(self, eta: Fraction, gamma: Fraction) -> int:
        self.calls.append(Runs(eta, gamma))
        return 3

    def _random_bytes(self, size: int) -> bytes:
        self.calls.append(Bits(8 * size))
        numbers = [self._bits.popleft() if self._bits else 0 for _ in range(8 * size // BITS)]
        return b"".join(number.to_bytes(BITS // 8) for number in numbers)


def additive(event: events.Event, counts: Iterable[int]) -> list[Call]:
    """What is drawn for an event of plain noise: its parts in order, each for so many integers."""
    parts = [leaf for leaf, times in events.leaves(event) for _ in range(times)]
    return [_call(leaf, count) for leaf, count in zip(parts, counts, strict=True)]


def carried(noisy: Iterable[Iterable[int]], exact: Iterable[Iterable[int]]) -> list[int]:
    """The noise that released integers carry, column by column."""
    return [
        one - other
        for column, beside in zip(noisy, exact, strict=True)
        for one, other in zip(column, beside, strict=True)
    ]


def _call(leaf: events.Event, count: int) -> Call:
    if isinstance(leaf, events.DiscreteLaplaceEvent):
        return Laplace(leaf.scale, count)
    assert isinstance(leaf, events.DiscreteGaussianEvent), leaf
    return Gaussian(leaf.variance, count)


def _listed(gaps: categorical.Gaps) -> tuple[int, ...]:
    return tuple(int(gap) for gap in gaps)
