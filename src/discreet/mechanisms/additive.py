"""The interface of additive noise: what planners, accountants and readers of a release need of each such mechanism.

A class of additive noise says by which norms of the sensitivity it is calibrated, in which terms its privacy cost
composes (epsilon or rho), and how its variance follows from both. An instance is calibrated: it draws noise, knows the
distribution that it draws from, and the event that a release is. Callers take these from the object; outside the
mechanisms only the choice of noise (planner/budget/least_margin.py) tells Laplace from Gaussian noise. The classes are
listed once, in `discreet.mechanisms.NOISES`.
"""

import math
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import ClassVar, Literal, Protocol, Self, overload

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UnsupportedError, public_class, short_traceback
from discreet.events import Event
from discreet.exact.numbers import Number, rational
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
    """Symmetric integer noise, independent for each coordinate, added to answers on a public grid.

    `Laplace`, `Gaussian` and `Staircase` have this interface.

    Example:
        >>> import discreet as dp
        >>> noise = dp.mechanisms.Laplace(sensitivity=1, epsilon=0.1)
        >>> isinstance(noise, dp.mechanisms.AdditiveNoise), noise.margin()
        (True, 30)
    """

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
    """Whether `characteristic` is known: margins of range workloads, hierarchies and trees need that."""
    is_subgaussian: ClassVar[bool]
    """Whether its moments are at most those of Gaussian noise of variance `variance_bound`, not of Laplace noise."""

    grid: Fraction

    @classmethod
    @abstractmethod
    def calibrate(cls, sensitivity: Norms, amount: Fraction) -> Self:
        """Noise for integers of a sensitivity, whose cost is at most an amount.

        Args:
            sensitivity: Norms of the change of the integers by one unit.
            amount: The cost: an epsilon or a rho, as `cost` says.

        Returns:
            Calibrated noise.
        """

    @classmethod
    @abstractmethod
    def from_release(cls, width: float, shape: tuple[int, ...], l1: int, l2_squared: int) -> Self:
        """The noise that a release states: the inverse of `width` and `shape`.

        Args:
            width: The scale or sigma, in grid steps.
            shape: Further public integers of the distribution.
            l1: The L1 sensitivity, in grid steps.
            l2_squared: The square of the L2 sensitivity, in squared grid steps.

        Returns:
            The same noise.
        """

    @classmethod
    @abstractmethod
    def unit_variance(cls, sensitivity: Norms) -> Fraction:
        """Approximate variance at a cost of one, for dividing budgets; at a cost c it is this over c^power.

        Args:
            sensitivity: Norms of the change of the integers by one unit.

        Returns:
            The variance, in squared grid steps.
        """

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
        """Whether the guarantee holds for a sensitivity.

        Args:
            sensitivity: Norms of the change of the integers by one unit.

        Returns:
            Whether they are at most those that it was calibrated by.
        """

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
        """Event of a release, for accountants, computed from the very double that is drawn.

        Returns:
            The event.
        """

    @abstractmethod
    def pmf(self, y: int) -> float:
        """Probability of a value of the noise, P[Y = y].

        Args:
            y: The value, in grid steps.

        Returns:
            The probability.
        """

    @abstractmethod
    def log_weight(self, y: int) -> float:
        """Logarithm of P[Y = y]/P[Y = 0]; it is finite for every y, so likelihoods can be compared.

        Args:
            y: The value, in grid steps.

        Returns:
            The logarithm.
        """

    @abstractmethod
    def cdf(self, y: int) -> float:
        """Distribution function of the noise, P[Y <= y].

        Args:
            y: The value, in grid steps.

        Returns:
            The probability.
        """

    @abstractmethod
    def tail(self, t: int) -> float:
        """Tail probability of the noise, P[|Y| > t].

        Args:
            t: The distance from zero, in grid steps.

        Returns:
            The probability.
        """

    @abstractmethod
    def log_moment(self, s: float) -> float:
        """Logarithm of the moment generating function E[e^(sY)], or an upper bound on it.

        Args:
            s: The argument, per grid step.

        Returns:
            The logarithm; infinite where the expectation is.
        """

    def characteristic(self, x: NDArray[np.float64]) -> NDArray[np.float64]:  # noqa: ARG002 - for those that have it
        """Characteristic function E[cos(xY)].

        Args:
            x: The arguments, per grid step.

        Returns:
            The expectations.

        Raises:
            UnsupportedError: If it is not known for this noise.
        """
        raise UnsupportedError(
            f"a weighted sum of {self.name} noise",
            because="its characteristic function is not known",
            instead="dp.mechanisms.Laplace(sensitivity=1, epsilon=0.1)",
        )

    @abstractmethod
    def simultaneous_margin(self, count: int, confidence: Number = 0.95) -> Scalar:
        """Margin of error that all of several independent draws stay within together.

        Args:
            count: Number of draws.
            confidence: Probability with which all stay within it. Default 0.95.

        Returns:
            The least such multiple of the grid.

        Raises:
            ParameterError: If the count or the confidence is outside its range.
        """

    @abstractmethod
    def draw(self, count: int) -> list[int]:
        """Independent draws of the noise alone.

        Args:
            count: Number of draws.

        Returns:
            The draws, in grid steps.
        """

    def description(self, step: float, *, brief: bool = False) -> str:
        """The width of the noise and the sensitivity it was calibrated by, in words.

        Args:
            step: Size of a grid step, in the unit of the answers.
            brief: Whether to use a shorter form. Default False.

        Returns:
            The words.
        """
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
        """Probability that the noise stays within a margin.

        Args:
            margin: The margin, in the unit of the answers.

        Returns:
            The probability.

        Raises:
            ParameterError: If the margin is not a number.
        """
        return 1 - self.tail(math.floor(rational(margin, "margin") / self.grid))

    def margin(self, confidence: Number = 0.95) -> Scalar:
        """Margin of error: half-width of the confidence interval of the noise.

        Args:
            confidence: Probability with which the noise stays within it. Default 0.95.

        Returns:
            The least such multiple of the grid.

        Raises:
            ParameterError: If the confidence is not between 0 and 1.
        """
        return self.simultaneous_margin(1, confidence)

    @overload
    def release(self, value: Scalar) -> Scalar: ...
    @overload
    def release(self, value: Vector) -> list[Scalar]: ...
    @short_traceback
    def release(self, value: Scalar | Vector) -> Scalar | list[Scalar]:
        """Add fresh noise to an exact answer.

        Args:
            value: An int, a Fraction, or a list of them, on the grid. The sensitivity is that of the whole list.

        Returns:
            The noisy answer, on the grid.

        Raises:
            ParameterError: If a value is a float or of another type, or is not on the grid.
        """
        return lattice.release(value, self.grid, self.draw)
