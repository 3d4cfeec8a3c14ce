"""A quantile of the answers of blocks, chosen from a public grid by how far each point is from it in ranks.

Definition
    The answers of k blocks become steps s_1, ..., s_k within [low, high] (steps.py). For a point r of the grid let
    a(r) be how many steps are below it and b(r) how many are above. Its distance from the fraction p/m is
    d(r) = max(0, a(r) - k p/m, b(r) - k (m-p)/m) ranks. Released is r with probability proportional to
    exp(-epsilon d(r)/(2 c)), with c = 1 under add/remove and c = 2 under replace-one.

Guarantee
    If one unit changes at most c steps, each d(r) moves by at most c, so a release is epsilon-DP; more: the losses of
    all outcomes lie within an interval of length epsilon (bounded range, so epsilon^2/8 in rho). With probability
    1 - beta, d(r) is at most (2 c/epsilon) ln(N/beta) for a grid of N points. Proof:
    docs/proofs/mechanisms/sampled/private_quantile.md.

Exactness
    The gaps m d(r) are whole numbers and the choice is exact (choice.py); `pmf` is in floats, for display.

Not covered
    What steps.py does not cover. The margin is in ranks among the answers; what that means in their own measure depends
    on the answers and is private. A grid of more than 2^20 points is refused.

References
    McSherry and Talwar, Mechanism Design via Differential Privacy, FOCS 2007; Smith, Privacy-preserving Statistical
    Estimation with Optimal Convergence Rates, STOC 2011, Section 3 (quantiles); Durfee and Rogers, Practical
    Differentially Private Top-k Selection with Pay-what-you-get Composition, NeurIPS 2019 (bounded range).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError, public_class, short_traceback
from discreet.events import BoundedRangeEvent
from discreet.exact.numbers import Number, positive, rational
from discreet.exact.rounding import log_up
from discreet.mechanisms import lattice
from discreet.mechanisms.lattice import Scalar
from discreet.mechanisms.sampled.steps import Answer, Relation, Steps
from discreet.samplers import categorical

MOST_POINTS = 2**20
_PARTS = 1_000
_LARGEST_DENOMINATOR = 10**6
_MEDIAN = Fraction(1, 2)


@public_class
@dataclass(frozen=True, init=False)
class PrivateQuantile:
    """Quantile of the results of blocks, by the exponential mechanism.

    Args:
        fraction: Part of the results that are below it, above 0 and below 1.
        bounds: Lowest and highest result; results outside are clipped.
        blocks: Number of blocks.
        epsilon: Epsilon of one release.
        grid: Results are rounded to multiples of it. Default: fine enough for the bounds.
        neighbours: "add_remove" one unit, or "replace_one". Default "add_remove".

    Raises:
        ParameterError: If an argument is outside its range.

    Example:
        >>> import discreet as dp
        >>> quartile = dp.mechanisms.sampled.PrivateQuantile(fraction=0.25, bounds=(0, 125), blocks=1_000, epsilon=1)
        >>> quartile.event()
        BoundedRangeEvent(epsilon=Fraction(1, 1))
    """

    steps: Steps
    fraction: Fraction
    epsilon: Fraction

    @short_traceback
    def __init__(
        self,
        *,
        fraction: Number,
        bounds: tuple[Number, Number],
        blocks: int,
        epsilon: Number,
        grid: Number | None = None,
        neighbours: Relation = "add_remove",
    ) -> None:
        steps = Steps(bounds, blocks, grid, neighbours, _PARTS)
        if steps.width >= MOST_POINTS:
            raise ParameterError(
                "a grid of more than 2**20 points",
                because="each of them is weighed",
                instead="a coarser grid=..., or tighter bounds",
            )
        object.__setattr__(self, "steps", steps)
        object.__setattr__(self, "fraction", _fraction(fraction))
        object.__setattr__(self, "epsilon", positive(epsilon, "epsilon"))

    @property
    def rate(self) -> Fraction:
        """What a gap of one costs in the exponent; a unit moves a gap by `changed_answers * denominator`."""
        return self.epsilon / (2 * self.steps.changed_answers * self.fraction.denominator)

    def event(self) -> BoundedRangeEvent:
        """Event of a release, for accountants.

        Returns:
            The event.
        """
        return BoundedRangeEvent(self.epsilon)

    def gaps(self, answers: Sequence[Answer]) -> NDArray[np.int64]:
        """Distance of each grid point from the quantile, in ranks times the denominator of the fraction. It is private.

        Args:
            answers: One result per block, as an int, a Fraction or a finite float.

        Returns:
            The distances, lowest point first.

        Raises:
            ParameterError: If there is not one finite number per block.
        """
        blocks, part, whole = self.steps.blocks, self.fraction.numerator, self.fraction.denominator
        ranked = np.sort(np.array(self.steps.read(answers), dtype=np.int64))
        points = np.arange(self.steps.low, self.steps.high + 1, dtype=np.int64)
        below = np.searchsorted(ranked, points, side="left").astype(np.int64)
        above = blocks - np.searchsorted(ranked, points, side="right").astype(np.int64)
        return np.maximum(0, np.maximum(whole * below - part * blocks, whole * above - (whole - part) * blocks))

    def pmf(self, answers: Sequence[Answer]) -> list[float]:
        """Probability of each grid point, in floats. It is private.

        Args:
            answers: One result per block, as an int, a Fraction or a finite float.

        Returns:
            The probabilities, lowest point first.

        Raises:
            ParameterError: If there is not one finite number per block.
        """
        weights = np.exp(-float(self.rate) * self.gaps(answers))
        return [float(weight) for weight in weights / weights.sum()]

    def margin(self, confidence: Number = 0.95) -> int:
        """Margin of error in ranks among the results.

        Args:
            confidence: Probability with which the margin holds. Default 0.95.

        Returns:
            The number of ranks.
        """
        outside = 1 - lattice.confidence_of(confidence)
        return math.ceil(log_up((self.steps.width + 1) / outside) / (self.rate * self.fraction.denominator))

    @short_traceback
    def release(self, answers: Sequence[Answer]) -> Scalar:
        """Choose a grid point, with fresh randomness.

        Args:
            answers: One result per block, as an int, a Fraction or a finite float.

        Returns:
            The point.

        Raises:
            ParameterError: If there is not one finite number per block.
        """
        return lattice.value_of(self.steps.low + categorical.choose(self.gaps(answers), self.rate), self.steps.grid)


@dataclass(frozen=True, init=False)
class PrivateMedian(PrivateQuantile):
    """Median of the results of blocks, by the exponential mechanism.

    Args:
        bounds: Lowest and highest result; results outside are clipped.
        blocks: Number of blocks.
        epsilon: Epsilon of one release.
        grid: Results are rounded to multiples of it. Default: fine enough for the bounds.
        neighbours: "add_remove" one unit, or "replace_one". Default "add_remove".

    Raises:
        ParameterError: If an argument is outside its range.

    Example:
        >>> import discreet as dp
        >>> median = dp.mechanisms.sampled.PrivateMedian(bounds=(0, 125), blocks=1_000, epsilon=1)
        >>> median.margin()
        21
    """

    @short_traceback
    def __init__(
        self,
        *,
        bounds: tuple[Number, Number],
        blocks: int,
        epsilon: Number,
        grid: Number | None = None,
        neighbours: Relation = "add_remove",
    ) -> None:
        super().__init__(
            fraction=_MEDIAN, bounds=bounds, blocks=blocks, epsilon=epsilon, grid=grid, neighbours=neighbours
        )


def _fraction(value: Number) -> Fraction:
    fraction = rational(value, "fraction")
    if not 0 < fraction < 1 or fraction.denominator > _LARGEST_DENOMINATOR:
        raise ParameterError(
            "a fraction that is not between 0 and 1, or finer than a millionth",
            because="it says how many of the answers are below",
            instead="fraction=0.5",
        )
    return fraction
