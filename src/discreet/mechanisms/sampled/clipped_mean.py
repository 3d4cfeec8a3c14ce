"""The mean of clamped answers of blocks, with discrete Laplace or Gaussian noise.

Definition
    The answers of k blocks become steps s_1, ..., s_k within [low, high] (steps.py). Released is
    grid (s_1 + ... + s_k + Y)/k, Y an integer with P[Y = y] proportional to e^(-|y|/scale), or to
    e^(-y^2/(2 sigma^2)).

Guarantee
    If one unit changes one step (add/remove), a release is epsilon-DP with epsilon = (high - low)/scale, or rho-zCDP
    with rho = (high - low)^2/(2 sigma^2); if it changes two (replace-one), with twice the width. Tight where some
    function moves its answer from one bound to the other. Proof: docs/proofs/mechanisms/sampled/clipped_mean.md.

Exactness
    As laplace.py and gaussian.py: the scale is the least double that suffices, and the privacy cost is that of the
    double.
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

from discreet.errors import ParameterError, public_class, short_traceback
from discreet.events import Event
from discreet.exact.numbers import Number
from discreet.mechanisms.additive import AdditiveNoise
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.sampled.steps import Answer, Relation, Steps

_PARTS = 100_000


@public_class
@dataclass(frozen=True, init=False)
class ClippedMean:
    """Mean of the clipped results of blocks, with Laplace noise for an epsilon, or Gaussian noise for a rho.

    Args:
        bounds: Lowest and highest result; results outside are clipped.
        blocks: Number of blocks.
        epsilon: Epsilon of one release; or give rho.
        rho: Rho of one release.
        grid: Results are rounded to multiples of it. Default: fine enough for the bounds.
        neighbours: "add_remove" one unit, or "replace_one". Default "add_remove".

    Raises:
        ParameterError: If an argument is outside its range.

    Example:
        >>> import discreet as dp
        >>> mean = dp.mechanisms.sampled.ClippedMean(bounds=(0, 125), blocks=1_000, epsilon=1)
        >>> float(mean.margin())
        0.374467
    """

    steps: Steps
    noise: AdditiveNoise

    @short_traceback
    def __init__(
        self,
        *,
        bounds: tuple[Number, Number],
        blocks: int,
        epsilon: Number | None = None,
        rho: Number | None = None,
        grid: Number | None = None,
        neighbours: Relation = "add_remove",
    ) -> None:
        steps = Steps(bounds, blocks, grid, neighbours, _PARTS)
        object.__setattr__(self, "steps", steps)
        object.__setattr__(self, "noise", _noise(steps, epsilon, rho))

    def event(self) -> Event:
        """Event of a release, for accountants.

        Returns:
            The event.
        """
        return self.noise.event()

    def pmf(self, y: int) -> float:
        """Probability of a value of the noise in the sum of the results.

        Args:
            y: The value, in grid steps.

        Returns:
            The probability.
        """
        return self.noise.pmf(y)

    def margin(self, confidence: Number = 0.95) -> Fraction:
        """Margin of error of the mean, for the noise.

        Args:
            confidence: Probability with which the margin holds. Default 0.95.

        Returns:
            The margin, in the unit of the results.
        """
        return Fraction(self.noise.margin(confidence)) / self.steps.blocks

    @short_traceback
    def release(self, answers: Sequence[Answer]) -> Fraction:
        """Noisy mean of the results.

        Args:
            answers: One result per block, as an int, a Fraction or a finite float.

        Returns:
            The mean.

        Raises:
            ParameterError: If there is not one finite number per block.
        """
        total = sum(self.steps.read(answers)) * self.steps.grid
        return Fraction(self.noise.release(total)) / self.steps.blocks


def _noise(steps: Steps, epsilon: Number | None, rho: Number | None) -> AdditiveNoise:
    """Noise on the sum of the steps, which one unit moves by the width for each answer that it changes."""
    if (epsilon is None) == (rho is None):
        raise ParameterError(
            "a mean of blocks without exactly one of epsilon and rho",
            because="Laplace noise has an epsilon, and Gaussian noise a rho",
            instead="ClippedMean(bounds=(0, 125), blocks=1_000, epsilon=1)",
        )
    sensitivity = steps.changed_answers * steps.width * steps.grid
    if epsilon is not None:
        return Laplace(sensitivity=sensitivity, epsilon=epsilon, grid=steps.grid)
    return Gaussian(sensitivity=sensitivity, rho=rho, grid=steps.grid)
