"""The mean of clamped answers of blocks, with discrete Laplace noise.

Definition
    The answers of k blocks become steps s_1, ..., s_k within [low, high] (steps.py). Released is
    grid (s_1 + ... + s_k + Y)/k, Y an integer with P[Y = y] proportional to e^(-|y|/scale).

Guarantee
    If one unit changes one step (add/remove), a release is epsilon-DP with epsilon = (high - low)/scale; if it changes
    two (replace-one), with epsilon = 2 (high - low)/scale. Tight where some function moves its answer from one bound to
    the other. Proof: docs/proofs/mechanisms/sampled/clipped_mean.md.

Exactness
    As laplace.py: the scale is the least double at or above width/epsilon, and the privacy cost is that of the double.
    The released number is a whole multiple of grid/k.

Not covered
    What steps.py does not cover. The margin is that of the noise: how far the mean of blocks' answers is from the
    function's value on all rows, by clamping and by the smallness of blocks, is not known and not in it.

References
    Nissim, Raskhodnikova and Smith, Smooth Sensitivity and Sampling in Private Data Analysis, STOC 2007, Section 4;
    Smith, Privacy-preserving Statistical Estimation with Optimal Convergence Rates, STOC 2011, Section 3.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import public_class, short_traceback
from discreet.events import DiscreteLaplaceEvent
from discreet.exact import Number
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.sampled.steps import Answer, Relation, Steps

_PARTS = 100_000


@public_class
@dataclass(frozen=True, init=False)
class ClippedMean:
    """The mean of k answers, each moved into the bounds, with noise for the one or two that a unit can change."""

    steps: Steps
    noise: Laplace

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
        steps = Steps(bounds, blocks, grid, neighbours, _PARTS)
        sensitivity = steps.changed_answers * steps.width * steps.grid
        object.__setattr__(self, "steps", steps)
        object.__setattr__(self, "noise", Laplace(sensitivity=sensitivity, epsilon=epsilon, grid=steps.grid))

    @property
    def epsilon(self) -> Fraction:
        """The epsilon of one release: exact, and at most the one asked for."""
        return self.noise.epsilon

    def event(self) -> DiscreteLaplaceEvent:
        """What a release does: discrete Laplace noise on the sum of the steps."""
        return self.noise.event()

    def pmf(self, y: int) -> float:
        """P[Y = y]: the probability of y steps of noise in the sum."""
        return self.noise.pmf(y)

    def margin(self, confidence: Number = 0.95) -> Fraction:
        """How far the noise moves the mean of the clamped answers, at most, with at least this probability."""
        return Fraction(self.noise.margin(confidence)) / self.steps.blocks

    @short_traceback
    def release(self, answers: Sequence[Answer]) -> Fraction:
        """The noisy mean of one answer for each block."""
        total = sum(self.steps.read(answers)) * self.steps.grid
        return Fraction(self.noise.release(total)) / self.steps.blocks
