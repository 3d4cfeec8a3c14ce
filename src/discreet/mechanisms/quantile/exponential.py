"""A quantile of each group, chosen from the steps of a public grid by how far each is from it in ranks.

Definition
    Of a group c_0, ..., c_(K-1) rows are at the steps 0, ..., K-1 of the grid, n in all. Step r has B rows below it and
    E rows up to it, itself included: it stands for the ranks [B, E]. For the quantile q = p/m its score is
    min(p n - m B, m E - p n): m times how deep q n is inside of these ranks, or minus m times how far outside. Each
    group gets one step: by permute and flip of the rate epsilon/(2 l1), or by the exponential mechanism of the rate
    sqrt(2 rho/l2_squared), on these scores.

Guarantee
    Between neighbours let s_g be how far the score of any step of group g moves. If the s_g sum to at most `l1`, all
    steps together are epsilon-DP; if their squares sum to at most `l2_squared`, they are rho-zCDP. l1 and l2_squared of
    a sum of values from -p to m-p will do. With a probability of at least 1 - beta the step of a group is within
    ln(K/beta)/(m rate) ranks of q n. Proof: docs/proofs/mechanisms/quantile/exponential.md.

Exactness
    Scores are integers and each step is drawn with exactly its probability (see choice.py). The rate of a rho is
    rounded down. `pmf` and `expected_error` are floats, for display and for choosing among strategies; `margin` is
    rounded up.

Not covered
    Whether `l1` and `l2_squared` are true of the counts. What a rank is worth in the values: that depends on the rows,
    and is private. Minimum and maximum: q is above 0 and below 1. The time a draw takes.

References
    McSherry and Talwar, Mechanism Design via Differential Privacy, FOCS 2007; Smith, Privacy-preserving Statistical
    Estimation with Optimal Convergence Rates, STOC 2011, Section 3; McKenna and Sheldon, Permute-and-Flip, NeurIPS
    2020; Cesar and Rogers, Bounding, Concentrating, and Truncating, ALT 2021, Lemma 3.4 (epsilon^2/8).
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError, public_class, short_traceback
from discreet.events import BoundedRangeEvent, ConcentratedEvent, PureEvent
from discreet.exact.numbers import Number, positive, probability, rational, whole
from discreet.exact.rounding import sqrt_down
from discreet.mechanisms import lattice
from discreet.mechanisms.selection import Exponential, PermuteAndFlip

MOST_PARTS = 10**6
_FITS = 2**62


@public_class
@dataclass(frozen=True, init=False)
class RankSelection:
    """Quantiles by private selection: a point of the grid for each group, more likely the nearer its rank.

    Args:
        probability: Part of the rows that are below the quantile.
        l1: L1 sensitivity of the scores of all groups.
        l2_squared: Square of the L2 sensitivity. Default: that of one group.
        epsilon: Epsilon of a release of all groups; or give rho.
        rho: Rho of a release of all groups.

    Raises:
        ParameterError: If an argument is outside its range, or not one of epsilon and rho is given.

    Example:
        >>> import discreet as dp
        >>> median = dp.mechanisms.quantile.RankSelection(probability=0.5, l1=1, epsilon=1)
        >>> median.nearest([5, 1, 5])
        1
    """

    probability: Fraction
    l1: int
    l2_squared: int
    selection: PermuteAndFlip | Exponential

    @short_traceback
    def __init__(
        self,
        *,
        probability: Number,
        l1: int,
        l2_squared: int | None = None,
        epsilon: Number | None = None,
        rho: Number | None = None,
    ) -> None:
        if (epsilon is None) == (rho is None):
            raise ParameterError(
                "a quantile without exactly one of epsilon and rho",
                because="it spends one of them",
                instead="epsilon=0.1",
            )
        object.__setattr__(self, "probability", share_below(probability))
        object.__setattr__(self, "l1", whole(l1, "l1"))
        object.__setattr__(self, "l2_squared", self.l1**2 if l2_squared is None else whole(l2_squared, "l2_squared"))
        object.__setattr__(self, "selection", self._selection(epsilon, rho))

    def _selection(self, epsilon: Number | None, rho: Number | None) -> PermuteAndFlip | Exponential:
        if epsilon is not None:
            return PermuteAndFlip(sensitivity=self.l1, epsilon=epsilon)
        return Exponential(sensitivity=1, epsilon=2 * sqrt_down(2 * positive(rho, "rho") / self.l2_squared))

    @property
    def rate(self) -> Fraction:
        """By how much a weight falls, in its logarithm, for each unit of score."""
        return self.selection.rate

    @property
    def rank_rate(self) -> Fraction:
        """The same for each rank."""
        return self.rate * self.probability.denominator

    def event(self) -> PureEvent | BoundedRangeEvent | ConcentratedEvent:
        """Event of a release of all groups, for accountants.

        Returns:
            The event.
        """
        if isinstance(self.selection, PermuteAndFlip):
            return PureEvent(self.selection.epsilon)
        if self.l1**2 == self.l2_squared:
            return BoundedRangeEvent(2 * self.rate * self.l1)
        return ConcentratedEvent(self.rate**2 * self.l2_squared / 2)

    @short_traceback
    def release(self, groups: Sequence[Sequence[int]]) -> list[int]:
        """Choose a point for each group, with fresh randomness.

        Args:
            groups: For each group, the number of rows at each point of the grid.

        Returns:
            Index of the point for each group.

        Raises:
            ParameterError: If a group has no points.
        """
        return [self.selection.release(self.scores(counts)) for counts in groups]

    def nearest(self, counts: Sequence[int]) -> int:
        """Lowest point with the quantile among its ranks. It is exact, and so private.

        Args:
            counts: Number of rows at each point of the grid, of one group.

        Returns:
            Index of the point.
        """
        return next(step for step, score in enumerate(self.scores(counts)) if score >= 0)

    def scores(self, counts: Sequence[int]) -> NDArray[np.integer[Any]] | list[int]:
        """Score of each point. It is exact, and so private.

        Args:
            counts: Number of rows at each point of the grid, of one group.

        Returns:
            The scores.
        """
        part, parts = self.probability.numerator, self.probability.denominator
        reached = [0, *itertools.accumulate(counts)]
        target = part * reached[-1]
        if parts * reached[-1] < _FITS:
            beyond = parts * np.array(reached, dtype=np.int64) - target
            scores: NDArray[np.int64] = np.minimum(-beyond[:-1], beyond[1:])
            return scores
        return [min(target - parts * below, parts * up_to - target) for below, up_to in itertools.pairwise(reached)]

    @short_traceback
    def pmf(self, counts: Sequence[int]) -> list[float]:
        """Probability of each point of one group, in floats. It is private.

        Args:
            counts: Number of rows at each point of the grid, of one group.

        Returns:
            The probabilities.

        Raises:
            ParameterError: If there are too many points.
        """
        return self.selection.pmf(self.scores(counts))

    @short_traceback
    def margin(self, steps: int, confidence: Number = 0.95) -> int:
        """Margin of error of a group in ranks.

        Args:
            steps: Number of points of the grid.
            confidence: Probability with which the margin holds. Default 0.95.

        Returns:
            The number of ranks.

        Raises:
            ParameterError: If the confidence is not between 0 and 1.
        """
        outside = 1 - lattice.confidence_of(confidence)
        return math.ceil(self.selection.utility(steps, outside) / self.probability.denominator)

    def expected_error(self, steps: int, rows: int | None = None) -> float:
        """Upper bound on the expected error of a group in ranks.

        Args:
            steps: Number of points of the grid.
            rows: Number of rows, spread evenly over the points. Default: any rows.

        Returns:
            The number of ranks.
        """
        rate = float(self.rank_rate)
        if rows is None:
            return (math.log(steps) + 1) / rate
        edges = np.linspace(0, rows, steps + 1) - float(self.probability) * rows
        outside = np.maximum(edges[:-1], -edges[1:])
        weights = np.exp(-rate * (outside - outside.min()))
        return float(weights @ np.maximum(0, outside) / weights.sum())


@short_traceback
def share_below(share: Number) -> Fraction:
    """Check the probability of a quantile.

    Args:
        share: Part of the rows below the quantile: above 0, below 1, with a denominator of at most a million.

    Returns:
        The exact part.

    Raises:
        ParameterError: If it is outside its range.

    Example:
        >>> import discreet as dp
        >>> dp.mechanisms.quantile.share_below(0.25)
        Fraction(1, 4)
    """
    read = rational(share, "probability")
    if not 0 < read < 1:
        raise ParameterError(
            f"the quantile {share!r}",
            because="it is a share above 0 and below 1; the ends are one person's",
            instead="0.01 or 0.99 for values near the ends, 0.5 for the median",
        )
    return _coarse(probability(share, "probability", example="0.5"))


def _coarse(share: Fraction) -> Fraction:
    if share.denominator > MOST_PARTS:
        raise ParameterError(
            "a quantile of more than six decimals",
            because="ranks are counted in parts of at most a millionth",
            instead="0.5, 0.999 or Fraction(1, 3)",
        )
    return share
