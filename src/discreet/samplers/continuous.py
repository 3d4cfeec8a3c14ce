"""Continuous noise, drawn bit by bit and rounded to a public grid exactly: what leaves is the ideal answer, rounded.

Definition
    `round_with_noise(value, scale, noise, grid)` is the integer floor((value + scale Z)/grid + 1/2): the nearest
    multiple of the grid, ties upward. Z is a real number, independent of the value, with one of these laws:
    StandardLaplace     density e^(-|z|)/2, drawn as +-ln U
    Pareto(a)           density a/2 (1 + |z|)^(-(a+1)), drawn as +-(U^(-1/a) - 1)
    StudentT(d)         density proportional to (1 + z^2/d)^(-(d+1)/2), drawn as +-V sqrt(d (W^(-2/d) - 1)/W)
    LaplaceLogNormal    the law of X e^(sigma Y), X of StandardLaplace, Y standard normal, drawn as +-V sqrt(-2 ln(W)/W)
    where U is uniform on (0, 1), and V, V' are uniform on (0, 1), drawn again until W = V^2 + V'^2 < 1.

Guarantee
    The integer returned has exactly the law of the rounded real number, so every privacy guarantee of value + scale Z
    holds for it by post-processing. It is returned with probability 1. Proof: docs/proofs/samplers/continuous.md.

Exactness
    U and V are infinite sequences of bits of which only a beginning is known. Everything is computed in decimals
    rounded outward, from an interval of 64 significant bits to one of twice as many and so on, until all numbers of the
    interval round to the same multiple of the grid; acceptance of W is decided in the same way. No float decides. An
    exponent beyond 10^(+-999999) would stop the draw: for tails of at least 1/100 it needs a uniform number that begins
    with more than 30,000 zeros.

Not covered
    How many bits a draw needs, and so its time, which depends on the value, the scale and the noise. Ties have
    probability 0 unless the scale is 0; then the value itself is rounded.

References
    Mironov, On Significance of the Least Significant Bits for Differential Privacy, CCS 2012 (why no floats).
    Marsaglia and Bray, A convenient method for generating normal variables, SIAM Review 1964; Bailey, Polar generation
    of random variates with the t-distribution, Mathematics of Computation 1994.
    Devroye and Gravel, Random variate generation using only finitely many unbiased independently and identically
    distributed random bits, 2015; Balcer and Vadhan, Differential Privacy on Finite Computers, ITCS 2018.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Protocol

from discreet.errors import ParameterError
from discreet.exact.numbers import Number, positive, whole
from discreet.exact.rounding import DecimalInterval, IntervalArithmetic
from discreet.samplers.entropy import random_bytes

FIRST_BITS = 64
LARGEST_SIGMA = 4


class Draw(Protocol):
    """A real number that was drawn once; asked with more digits, it answers with a narrower interval."""

    def enclosure(self, arithmetic: IntervalArithmetic) -> DecimalInterval:
        """An interval that holds the number."""


class Noise(Protocol):
    """The law of Z."""

    def draw(self) -> Draw:
        """A fresh, independent number of this law."""


def round_with_noise(value: Fraction, scale: Fraction, noise: Noise, grid: Fraction) -> int:
    """How many steps of the grid the nearest multiple to value + scale Z is, for a fresh Z; ties go up."""
    start, stretch = value / grid + Fraction(1, 2), scale / grid
    draw = noise.draw()
    for arithmetic in finer():
        low, high = draw.enclosure(arithmetic)
        steps = math.floor(start + stretch * Fraction(low))
        if steps == math.floor(start + stretch * Fraction(high)):
            return steps
    raise AssertionError("finer intervals never end")


@dataclass(frozen=True)
class StandardLaplace:
    """Density e^(-|z|)/2."""

    def draw(self) -> Draw:
        """A fresh Z = +-ln U."""
        return _LaplaceDraw()


@dataclass(frozen=True)
class Pareto:
    """Density a/2 (1 + |z|)^(-(a+1)): P[|Z| > z] = (1 + z)^-a, with tail index a."""

    tail: Fraction = Fraction(4)

    def __post_init__(self) -> None:
        object.__setattr__(self, "tail", positive(self.tail, "tail"))

    def draw(self) -> Draw:
        """A fresh Z = +-(U^(-1/a) - 1)."""
        return _ParetoDraw(self.tail)


@dataclass(frozen=True)
class StudentT:
    """Density proportional to (1 + z^2/d)^(-(d+1)/2), with d degrees of freedom."""

    degrees: int = 3

    def __post_init__(self) -> None:
        object.__setattr__(self, "degrees", whole(self.degrees, "degrees"))

    def draw(self) -> Draw:
        """A fresh Z = +-V sqrt(d (W^(-2/d) - 1)/W)."""
        return _StudentTDraw(self.degrees)


@dataclass(frozen=True, init=False)
class LaplaceLogNormal:
    """The law of X e^(sigma Y), X Laplace and Y standard normal."""

    sigma: Fraction

    def __init__(self, sigma: Number = Fraction(1, 2)) -> None:
        width = positive(sigma, "sigma")
        if width > LARGEST_SIGMA:
            raise ParameterError(
                "sigma above 4",
                because="e^(3 sigma^2/2), by which the noise is widened, would pass 10^10",
                instead="sigma=0.5, or another number up to 4",
            )
        object.__setattr__(self, "sigma", width)

    def draw(self) -> Draw:
        """A fresh Z = +-ln(U) e^(sigma Y)."""
        return _LaplaceLogNormalDraw(self.sigma)


def finer() -> Iterator[IntervalArithmetic]:
    """Arithmetic with 64 bits, then with twice as many, and so on without end."""
    bits = FIRST_BITS
    while True:
        yield _arithmetic(bits)
        bits *= 2


@lru_cache(maxsize=16)
def _arithmetic(bits: int) -> IntervalArithmetic:
    return IntervalArithmetic(bits)


class _Uniform:
    """A uniform number in (0, 1), of which as many bits are known as were ever needed."""

    def __init__(self) -> None:
        self.known = 0
        self.count = 0

    def enclosure(self, arithmetic: IntervalArithmetic) -> DecimalInterval:
        """The dyadic interval of the known bits: at least `arithmetic.bits` of them from the first 1 on."""
        while (missing := arithmetic.bits - self.known.bit_length()) > 0:
            self.known = self.known << missing | _random_bits(missing)
            self.count += missing
        return arithmetic.ratio(self.known, self.known + 1, 1 << self.count)


class _Disc:
    """V and V', uniform on (0, 1) with W = V^2 + V'^2 < 1: W is uniform, and independent of the direction."""

    def __init__(self) -> None:
        while True:
            self.first, self.second = _Uniform(), _Uniform()
            if self._is_inside():
                return

    def square(self, arithmetic: IntervalArithmetic) -> DecimalInterval:
        """W."""
        first, second = self.first.enclosure(arithmetic), self.second.enclosure(arithmetic)
        return arithmetic.plus(arithmetic.times(first, first), arithmetic.times(second, second))

    def _is_inside(self) -> bool:
        for arithmetic in finer():
            low, high = self.square(arithmetic)
            if high < 1:
                return True
            if low >= 1:
                return False
        raise AssertionError("finer intervals never end")


class _LaplaceDraw:
    def __init__(self) -> None:
        self.is_negative = bool(_random_bits(1))
        self.uniform = _Uniform()

    def enclosure(self, arithmetic: IntervalArithmetic) -> DecimalInterval:
        size = arithmetic.minus_log(self.uniform.enclosure(arithmetic))
        return _apply_sign(size, self.is_negative)


class _ParetoDraw:
    def __init__(self, tail: Fraction) -> None:
        self.tail = tail
        self.is_negative = bool(_random_bits(1))
        self.uniform = _Uniform()

    def enclosure(self, arithmetic: IntervalArithmetic) -> DecimalInterval:
        tail = arithmetic.ratio(self.tail.numerator, self.tail.numerator, self.tail.denominator)
        exponent = arithmetic.over(arithmetic.minus_log(self.uniform.enclosure(arithmetic)), tail)
        return _apply_sign(arithmetic.less_one(arithmetic.exp(exponent)), self.is_negative)


class _StudentTDraw:
    def __init__(self, degrees: int) -> None:
        self.degrees = degrees
        self.is_negative = bool(_random_bits(1))
        self.disc = _Disc()

    def enclosure(self, arithmetic: IntervalArithmetic) -> DecimalInterval:
        square = self.disc.square(arithmetic)
        exponent = arithmetic.times(arithmetic.minus_log(square), arithmetic.ratio(2, 2, self.degrees))
        spread = arithmetic.times(arithmetic.less_one(arithmetic.exp(exponent)), _whole(self.degrees))
        length = arithmetic.root(arithmetic.over(spread, square))
        return _apply_sign(arithmetic.times(self.disc.first.enclosure(arithmetic), length), self.is_negative)


class _LaplaceLogNormalDraw:
    def __init__(self, sigma: Fraction) -> None:
        self.sigma = sigma
        self.shrinks = bool(_random_bits(1))
        self.laplace = _LaplaceDraw()
        self.disc = _Disc()

    def enclosure(self, arithmetic: IntervalArithmetic) -> DecimalInterval:
        square = self.disc.square(arithmetic)
        twice = arithmetic.times(arithmetic.minus_log(square), _whole(2))
        length = arithmetic.root(arithmetic.over(twice, square))
        normal = arithmetic.times(self.disc.first.enclosure(arithmetic), length)
        sigma = arithmetic.ratio(self.sigma.numerator, self.sigma.numerator, self.sigma.denominator)
        factor = arithmetic.exp(_apply_sign(arithmetic.times(sigma, normal), self.shrinks))
        size = arithmetic.minus_log(self.laplace.uniform.enclosure(arithmetic))
        return _apply_sign(arithmetic.times(size, factor), self.laplace.is_negative)


def _apply_sign(size: DecimalInterval, is_negative: bool) -> DecimalInterval:
    return size.negative() if is_negative else size


def _whole(number: int) -> DecimalInterval:
    return DecimalInterval(Decimal(number), Decimal(number))


def _random_bits(count: int) -> int:
    """So many fresh bits from the operating system; where it fails, nothing is drawn."""
    size = (count + 7) // 8
    return int.from_bytes(random_bytes(size), "big") >> (8 * size - count)
