"""The interface of additive noise: what planners, accountants and readers of a release need of each such mechanism.

A class of additive noise says by which norms of the sensitivity it is calibrated, in which terms its privacy cost
composes (epsilon or rho), and how its variance follows from both. An instance is calibrated: it draws noise, knows the
distribution that it draws from, and the event that a release is. Callers take these from the object; nothing
outside the mechanisms tells Laplace from Gaussian noise. The classes are listed once, in `discreet.mechanisms.NOISES`.
"""

import math
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import ClassVar, Literal, Protocol, Self, overload

from discreet.errors import UnsupportedError, public_class, short_traceback
from discreet.events import Event
from discreet.exact import Number, rational
from discreet.mechanisms import lattice
from discreet.mechanisms.lattice import Scalar, Vector

Tag = Literal["laplace", "gaussian", "staircase"]
Norm = Literal["l0", "l1", "l2_squared", "linf"]
Cost = Literal["epsilon", "rho"]


class Norms(Protocol):
    """How far one unit moves a vector of integers: coordinates moved, and the L1, squared L2 and Linf norms."""

    @property
    def l0(self) -> int:
        """The number of coordinates that move."""

    @property
    def l1(self) -> int:
        """The sum of the absolute changes."""

    @property
    def l2_squared(self) -> int:
        """The sum of the squared changes."""

    @property
    def linf(self) -> int:
        """The largest absolute change."""


@public_class
class AdditiveNoise(ABC):
    """Symmetric integer noise, independent for each coordinate, added to answers on a public grid."""

    tag: ClassVar[Tag]
    """The value of `mechanism=` that asks for it."""
    name: ClassVar[str]
    """Its name in releases, explanations and stored answers; it stays when the class is renamed."""
    norms: ClassVar[tuple[Norm, ...]]
    """The norms of the sensitivity that its guarantee rests on."""
    cost: ClassVar[Cost]
    """What its privacy cost is counted in: a pure epsilon, or the rho of zero-concentrated differential privacy."""
    power: ClassVar[Literal[1, 2]]
    """The variance is in inverse proportion to this power of the cost."""
    mean_over_deviation: ClassVar[float]
    """About the mean absolute value over the standard deviation."""
    width_name: ClassVar[str]
    """What its width is called: scale or sigma."""
    bounds_sums: ClassVar[bool]
    """Whether `sum_margin` is proved for it: range workloads, hierarchies and trees need that."""

    grid: Fraction

    @classmethod
    @abstractmethod
    def calibrate(cls, sensitivity: Norms, amount: Fraction) -> Self:
        """Noise on integers with this sensitivity, whose cost is at most the amount."""

    @classmethod
    @abstractmethod
    def from_release(cls, width: float, shape: tuple[int, ...], l1: int, l2_squared: int) -> Self:
        """The noise that a release says it has: the inverse of `width` and `shape`."""

    @classmethod
    @abstractmethod
    def unit_variance(cls, sensitivity: Norms) -> Fraction:
        """About the variance at a cost of one; at a cost c it is this over c^power. It divides budgets, no more."""

    @classmethod
    def sum_margin(cls, squares: float, largest: float, outside: float) -> float:  # noqa: ARG003 - for those that have it
        """A bound on |weighted sum of independent noises| that fails with at most this probability.

        `squares` is the sum of (weight times width)^2, and `largest` the largest weight times width.
        """
        raise UnsupportedError(
            f"a weighted sum of {cls.name} noise",
            because="no bound on such sums is proved for it",
            instead="dp.mechanisms.Laplace(sensitivity=1, epsilon=0.1)",
        )

    @property
    @abstractmethod
    def width(self) -> float:
        """The scale or sigma, in grid steps: the double that is drawn from and that the event is made of."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Further public integers that the distribution depends on."""
        return ()

    @property
    @abstractmethod
    def amount(self) -> Fraction:
        """The cost of one release, an epsilon or a rho: exact, and at most the one asked for."""

    @abstractmethod
    def covers(self, sensitivity: Norms) -> bool:
        """Whether its guarantee holds where one unit moves the integers by these norms."""

    @property
    @abstractmethod
    def calibration(self) -> tuple[str, float]:
        """The norm that the width was calibrated by, and its value, for explanations."""

    @property
    @abstractmethod
    def variance(self) -> float:
        """The variance of the noise in the answer's own terms."""

    @property
    @abstractmethod
    def variance_bound(self) -> float:
        """A simple bound on the variance in squared grid steps: a constant times width^2."""

    @abstractmethod
    def event(self) -> Event:
        """What a release does, for accountants: priced from the very double that is drawn."""

    @abstractmethod
    def pmf(self, y: int) -> float:
        """P[Y = y], y in grid steps."""

    @abstractmethod
    def log_weight(self, y: int) -> float:
        """Ln P[Y = y] less ln P[Y = 0]: finite however far y is, so that likelihoods can be compared."""

    @abstractmethod
    def cdf(self, y: int) -> float:
        """P[Y <= y], y in grid steps."""

    @abstractmethod
    def tail(self, t: int) -> float:
        """P[|Y| > t], t in grid steps."""

    @abstractmethod
    def log_moment(self, s: float) -> float:
        """The logarithm of E[e^(sY)], or a bound on it; infinite where the expectation is."""

    @abstractmethod
    def simultaneous_margin(self, count: int, confidence: Number = 0.95) -> Scalar:
        """The least multiple of the grid that all of `count` independent draws stay within together."""

    @abstractmethod
    def draw(self, count: int) -> list[int]:
        """`count` independent draws of the noise alone, in grid steps."""

    def description(self, step: float, *, brief: bool = False) -> str:
        """The width and what it was calibrated by, in the terms of answers of which one grid step is `step`."""
        norm, size = self.calibration
        width = f"{self.width_name} {self.width * step:,.6g}"
        return (
            f"{width} ({norm} {size * step:,.6g})"
            if brief
            else f"{width} for an {norm} sensitivity of {size * step:,.6g}"
        )

    @property
    def standard_deviation(self) -> float:
        """The standard deviation of the noise in the answer's own terms."""
        return math.sqrt(self.variance)

    def coverage(self, margin: Number) -> float:
        """The probability that the noise stays within +/- margin, in the answer's own terms."""
        return 1 - self.tail(math.floor(rational(margin, "margin") / self.grid))

    def margin(self, confidence: Number = 0.95) -> Scalar:
        """The least multiple of the grid that the noise stays within, with at least this probability."""
        return self.simultaneous_margin(1, confidence)

    @overload
    def release(self, value: Scalar) -> Scalar: ...
    @overload
    def release(self, value: Vector) -> list[Scalar]: ...
    @short_traceback
    def release(self, value: Scalar | Vector) -> Scalar | list[Scalar]:
        """An int, a Fraction, or a vector of them, with fresh noise; the sensitivity is that of the whole vector."""
        return lattice.release(value, self.grid, self.draw)
