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
from discreet.exact import Number, log_up, positive, rational
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
    """A point of the grid that splits the answers of chunks about as a fraction says."""

    steps: Steps
    fraction: Fraction
    epsilon: Fraction

    @short_traceback
    def __init__(
        self,
        *,
        fraction: Number,
        bounds: tuple[Number, Number],
        chunks: int,
        epsilon: Number,
        grid: Number | None = None,
        neighbours: Relation = "add_remove",
    ) -> None:
        steps = Steps(bounds, chunks, grid, neighbours, _PARTS)
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
        """What a release does: a choice by exponential weights."""
        return BoundedRangeEvent(self.epsilon)

    def gaps(self, answers: Sequence[Answer]) -> NDArray[np.int64]:
        """For each point of the grid, its distance from the quantile in ranks, times the fraction's denominator."""
        chunks, part, whole = self.steps.chunks, self.fraction.numerator, self.fraction.denominator
        ranked = np.sort(np.array(self.steps.read(answers), dtype=np.int64))
        points = np.arange(self.steps.low, self.steps.high + 1, dtype=np.int64)
        below = np.searchsorted(ranked, points, side="left").astype(np.int64)
        above = chunks - np.searchsorted(ranked, points, side="right").astype(np.int64)
        return np.maximum(0, np.maximum(whole * below - part * chunks, whole * above - (whole - part) * chunks))

    def pmf(self, answers: Sequence[Answer]) -> list[float]:
        """The probability of each point of the grid, lowest first; it is private."""
        weights = np.exp(-float(self.rate) * self.gaps(answers))
        return [float(weight) for weight in weights / weights.sum()]

    def margin(self, confidence: Number = 0.95) -> int:
        """How many ranks among the answers the release is off, at most, with at least this probability."""
        outside = 1 - lattice.confidence_of(confidence)
        return math.ceil(log_up((self.steps.width + 1) / outside) / (self.rate * self.fraction.denominator))

    @short_traceback
    def release(self, answers: Sequence[Answer]) -> Scalar:
        """A point of the grid for one answer of each chunk."""
        return lattice.value_of(self.steps.low + categorical.choose(self.gaps(answers), self.rate), self.steps.grid)


@dataclass(frozen=True, init=False)
class PrivateMedian(PrivateQuantile):
    """The quantile with half of the answers on each side."""

    @short_traceback
    def __init__(
        self,
        *,
        bounds: tuple[Number, Number],
        chunks: int,
        epsilon: Number,
        grid: Number | None = None,
        neighbours: Relation = "add_remove",
    ) -> None:
        super().__init__(
            fraction=_MEDIAN, bounds=bounds, chunks=chunks, epsilon=epsilon, grid=grid, neighbours=neighbours
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
