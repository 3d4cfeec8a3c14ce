"""The interface of oracles of a mean: each possible report has a score, which is an unbiased estimate of the value.

Values are steps 0 to m of a public grid. A score is a rational number of steps, and its expectation is the step of the
client, exactly. Variances are in units of the squared half range, so that values run from -1 to 1 as in the literature.
"""

from abc import abstractmethod
from collections.abc import Callable
from fractions import Fraction
from functools import cached_property
from typing import Self

import numpy as np

from discreet.errors import public_class
from discreet.exact.numbers import Number
from discreet.local.oracles.oracle import merge_cohorts
from discreet.local.oracles.randomizer import Counts, Floats, LocalRandomizer, Outcome, check_slot, ratio_within


@public_class
class MeanOracle(LocalRandomizer):
    """An oracle that estimates the mean of numbers on a public grid.

    Attributes:
        steps: Number m of steps; a value is a step from 0 to m.

    Example:
        >>> import discreet as dp
        >>> isinstance(dp.local.oracles.DuchiResponse.calibrate(256, epsilon=1), dp.local.oracles.MeanOracle)
        True
    """

    steps: int

    @classmethod
    def calibrate(cls, steps: int, epsilon: Number) -> Self:
        """The mechanism of this epsilon.

        Args:
            steps: Number of steps of the grid.
            epsilon: The most that one report may lose.

        Returns:
            The oracle.

        Raises:
            ParameterError: If an argument is outside its range.
        """
        make: Callable[..., Self] = cls
        return make(steps=steps, ratio=ratio_within(epsilon))

    @property
    @abstractmethod
    def symbols(self) -> int:
        """Number of possible symbols."""

    @abstractmethod
    def score(self, symbol: int) -> Fraction:
        """The unbiased estimate of a client's step that a symbol stands for.

        Args:
            symbol: The symbol.

        Returns:
            A number of steps, exactly; it may be outside of 0 to m.
        """

    @abstractmethod
    def probability(self, outcome: Outcome, slot: int) -> Fraction:
        """Probability of a symbol, given the step.

        Args:
            outcome: The symbol.
            slot: The step.

        Returns:
            The probability, exactly.
        """

    @cached_property
    def size(self) -> int:  # type: ignore[override]
        """Number of steps and one."""
        return self.steps + 1

    @cached_property
    def scores(self) -> Floats:
        """Scores of all symbols, as floats."""
        return np.array([float(self.score(symbol)) for symbol in range(self.symbols)])

    def pmf(self, slot: int) -> dict[Outcome, Fraction]:
        """Probability of each symbol, given the step.

        Args:
            slot: The step.

        Returns:
            Probabilities by symbol. They add up to one.

        Raises:
            ParameterError: If there is no such slot.
        """
        check_slot(slot, self.size)
        return {symbol: self.probability(symbol, slot) for symbol in range(self.symbols)}

    def variance_at(self, slot: int) -> Fraction:
        """Variance of the score of a client at a step, in squared steps, exactly.

        Args:
            slot: The step.

        Returns:
            The variance.
        """
        squares = (mass * self.score(int(symbol)) ** 2 for symbol, mass in self.pmf(slot).items())  # type: ignore[arg-type]
        return sum(squares, Fraction(0)) - slot**2

    def variance(self, slot: int | None = None) -> float:
        """Variance that one report adds to an estimated sum, in units of the squared half range.

        Args:
            slot: The step of the client. Default: the step where the variance is largest.

        Returns:
            The variance.
        """
        half = Fraction(self.steps, 2)
        return float((self.worst_variance if slot is None else self.variance_at(slot)) / half**2)

    def report_variance(self, reports: int) -> float:  # noqa: ARG002
        """Variance of an estimated sum, at its largest, divided by the number of reports.

        Args:
            reports: Number of reports. The result does not depend on it.

        Returns:
            `variance()`, in squared half ranges.
        """
        return self.variance()

    @cached_property
    def worst_variance(self) -> Fraction:
        """The largest variance of a score, in squared steps: that of an end or of the middle of the range."""
        return max(self._extreme_variances)

    @cached_property
    def least_variance(self) -> Fraction:
        """The smallest variance of a score, in squared steps: that of an end or of the middle of the range."""
        return min(self._extreme_variances)

    @cached_property
    def _extreme_variances(self) -> tuple[Fraction, ...]:
        return tuple(map(self.variance_at, {0, self.steps // 2, (self.steps + 1) // 2, self.steps}))

    def estimate(self, counts: Counts, reports: int) -> Floats:  # noqa: ARG002
        """Unbiased sum of the steps of all clients.

        Args:
            counts: Reports by symbol; a row for each cohort, or one row.
            reports: Number of reports.

        Returns:
            One number; divided by the number of reports and of steps it is the mean as a share of the range.
        """
        return np.array([merge_cohorts(np.asarray(counts)) @ self.scores])

    def standard_error(self, estimates: Floats, reports: int) -> Floats:
        """The largest standard deviation that an estimated sum of steps may have.

        Args:
            estimates: What `estimate` returned.
            reports: Number of reports.

        Returns:
            One number, in steps.
        """
        return np.full(np.shape(estimates), float(reports * self.worst_variance) ** 0.5)

    def influence(self) -> float:
        """The most that one report, sent by anyone, adds to the estimated sum, in units of the range.

        Returns:
            The number of clients at the end of the range that one false report is worth.
        """
        return float(np.max(np.abs(self.scores))) / self.steps
