"""Quantiles from noisy counts at every level of a tree over the steps of a public grid, for one privacy cost.

Definition
    The leaves of a tree are the steps 0, ..., K-1 of a public grid, with how many rows are at each, in every group.
    Each level that is measured gets independent discrete Laplace or discrete Gaussian noise. From the noisy counts
    follow estimates E_i of how many rows are below step i, by least squares with the variances 2 scale^2, or sigma^2.
    The quantile q is found by bisection: of the steps that are left, in the middle, it goes up if E_i < q E_K.

Guarantee
    A release costs what its levels cost, each by its own sensitivity over all groups: privacy costs add up. Estimates
    and quantiles follow from it and cost nothing. Let D be how often K steps can be halved, and let t be a margin of
    E_i - q E_K for each i, at an outside probability of 2 beta/max(D, 2 D - 2). With a probability of at least 1 - beta
    the step is within t ranks of q n. Proof: docs/proofs/mechanisms/quantile/tree.md.

Exactness
    Noisy counts are exact draws on exact integers. Estimates are floats, which no guarantee of privacy rests on.

Not covered
    Whether the sensitivities are true of the counts. What a rank is worth in the values. Whether quantiles of one group
    are in order where E_K is negative; elsewhere a lower quantile is never at a higher step.

References
    Hay, Rastogi, Miklau and Suciu, Boosting the Accuracy of Differentially Private Histograms Through Consistency, VLDB
    2010, Theorem 3.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.errors import public_class, short_traceback
from discreet.events import ComposedEvent
from discreet.mechanisms.additive import AdditiveNoise


@public_class
@dataclass(frozen=True)
class NoisyTree:
    """Additive noise for each level of a tree of counts.

    Attributes:
        levels: Noise of each level, leaves first; None for a level that is not measured.

    Example:
        >>> import discreet as dp
        >>> noise = dp.mechanisms.Laplace(sensitivity=1, epsilon=0.5)
        >>> tree = dp.mechanisms.quantile.NoisyTree((noise, None, noise))
        >>> len(tree.event().events)
        2
    """

    levels: tuple[AdditiveNoise | None, ...]

    def event(self) -> ComposedEvent:
        """Event of a release of all levels, for accountants.

        Returns:
            The event.
        """
        return ComposedEvent(tuple(noise.event() for noise in self.levels if noise is not None))

    @short_traceback
    def release(self, counts: Sequence[Sequence[int]]) -> list[list[int]]:
        """Add fresh noise to the counts of the measured levels.

        Args:
            counts: Counts of each measured level, all groups of a level in one list.

        Returns:
            The noisy counts.
        """
        measured = [noise for noise in self.levels if noise is not None]
        return [list(map(int, noise.release(level))) for noise, level in zip(measured, counts, strict=True)]

    @property
    def variances(self) -> tuple[float, ...]:
        """What the noise of each level varies by, at most; infinite where a level is not measured."""
        return tuple(math.inf if noise is None else noise.variance_bound for noise in self.levels)


@short_traceback
def bisect_steps(below: Sequence[float] | NDArray[np.float64], share: Fraction) -> int:
    """Point of a quantile, from estimates of the number of rows below each point.

    Args:
        below: Estimated number of rows below each point, and at last of all rows.
        share: Part of the rows below the quantile.

    Returns:
        Index of the point.

    Example:
        >>> from fractions import Fraction
        >>> import discreet as dp
        >>> dp.mechanisms.quantile.bisect_steps([0, 5, 6, 11], Fraction(1, 2))
        1
    """
    target = float(share) * below[-1]
    slack = 1e-9 * (1 + abs(target))
    low, high = 0, len(below) - 2
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if below[middle] < target - slack else (low, middle - 1)
    return low


def wrong_decisions(steps: int) -> int:
    """At most so many one-sided errors of estimates can lead bisection more than a margin away from a quantile.

    Args:
        steps: Number of points of the grid.

    Returns:
        The number of errors.
    """
    depth = max(1, math.ceil(math.log2(steps)))
    return max(depth, 2 * depth - 2)
