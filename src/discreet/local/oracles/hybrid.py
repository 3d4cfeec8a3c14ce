"""The hybrid mechanism for a mean: the piecewise mechanism on a public grid, mixed with Duchi's.

Definition
    A client at step i of 0 to m takes the piecewise part with probability c, and Duchi's otherwise. The piecewise part
    reports one of N = L + s m outputs 0 to N - 1, each with a weight of r inside of the window [s i, s i + L) and of 1
    outside, divided by T = r L + N - L. The other part reports the symbol N + y, where y is Duchi's bit for the same r.
    The score of an output o is (T o - (r - 1) L (L - 1)/2 - N (N - 1)/2)/((r - 1) L s), that of N + y is Duchi's.
    Draw: u below a L + b (N - L) with r = a/b; if u < a L the output s i + u // a, else the output outside of the
    window of number (u - a L) // b.

Guarantee
    If r <= e^epsilon, one report is epsilon-locally differentially private. The largest likelihood ratio is r. The mean
    of scores is unbiased, exactly, in each part. Proof: docs/proofs/local/oracles/hybrid.md.

Exactness
    Probabilities, scores and variances are rationals. A value is rounded to the nearest step before, which moves a mean
    by at most half a step. Sums of scores are floats.

Not covered
    Several reports of one client. Values outside of the range, which are clamped. Distributions and quantiles: use a
    frequency oracle over the grid. The window and the share c affect accuracy only.

References
    Wang, Xiao, Yang, Zhao, Hui, Shin, Shin and Yu, Collecting and Analyzing Multidimensional Data with Local
    Differential Privacy, ICDE 2019, Sections III-B and III-C.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Self

from discreet.errors import ParameterError, public_class
from discreet.exact.numbers import Number
from discreet.local.oracles.duchi import DuchiResponse
from discreet.local.oracles.fields import Fields, check_ratio, check_size, ratio_field, whole_field
from discreet.local.oracles.mean import MeanOracle
from discreet.local.oracles.randomizer import Outcome, check_slot, ratio_within

FINEST = 1024
_SHARE_STEPS = 2**20


@public_class
@dataclass(frozen=True)
class HybridResponse(MeanOracle):
    """The hybrid of the piecewise mechanism and Duchi's, for a mean.

    Args:
        steps: Number of steps of the grid, at least 1.
        step: Outputs by which the window moves with each step.
        window: Number of outputs in the window.
        ratio: Likelihood ratio of an output inside of the window to one outside, above 1.
        piecewise: Probability of the piecewise part.

    Raises:
        ParameterError: If an argument is outside its range.

    Example:
        >>> import discreet as dp
        >>> oracle = dp.local.oracles.HybridResponse.calibrate(256, epsilon=1)
        >>> round(oracle.variance(), 2)
        4.29
    """

    kind: ClassVar[str] = "hybrid"
    title: ClassVar[str] = "hybrid of the piecewise mechanism and Duchi's"
    FIELDS: ClassVar[Fields] = {
        "steps": whole_field(1),
        "step": whole_field(1),
        "window": whole_field(1),
        "ratio": ratio_field,
        "piecewise": ratio_field,
    }

    steps: int
    step: int
    window: int
    ratio: Fraction
    piecewise: Fraction

    def __post_init__(self) -> None:
        for number in (self.steps, self.step, self.window):
            check_size(number, least=1)
        check_ratio(self.ratio)
        if not 0 <= self.piecewise <= 1:
            raise ParameterError(
                f"piecewise={self.piecewise}",
                because="the probability of the piecewise part is between 0 and 1",
                instead="HybridResponse.calibrate(256, epsilon=1)",
            )

    @classmethod
    def calibrate(cls, steps: int, epsilon: Number) -> Self:
        """The mechanism of this epsilon of least variance: the share of the reference, or none below epsilon 0.61.

        Args:
            steps: Number of steps of the grid.
            epsilon: The most that one report may lose.

        Returns:
            The oracle.

        Raises:
            ParameterError: If an argument is outside its range.
        """
        ratio = ratio_within(epsilon)
        root = math.sqrt(ratio)
        step = -(-FINEST // check_size(steps, least=1))
        share = Fraction(math.floor((1 - 1 / root) * _SHARE_STEPS), _SHARE_STEPS)
        near = max(1, math.floor(step * steps / root))
        shares = [(share, near), (share, near + 1), (Fraction(0), near)]
        return min(
            (cls(steps, step, window, ratio, part) for part, window in shares), key=lambda oracle: oracle.worst_variance
        )

    @property
    def outputs(self) -> int:
        """Number N of outputs of the piecewise part."""
        return self.window + self.step * self.steps

    @property
    def symbols(self) -> int:
        """The outputs, and two bits."""
        return self.outputs + 2

    @cached_property
    def bit(self) -> DuchiResponse:
        """The other part."""
        return DuchiResponse(self.steps, self.ratio)

    @cached_property
    def total_weight(self) -> Fraction:
        """Sum T of the weights of all outputs."""
        return self.ratio * self.window + self.outputs - self.window

    @cached_property
    def origin(self) -> Fraction:
        """T times the mean output at step 0."""
        inside = Fraction(self.window * (self.window - 1), 2)
        return (self.ratio - 1) * inside + Fraction(self.outputs * (self.outputs - 1), 2)

    @cached_property
    def slope(self) -> Fraction:
        """T times what the mean output grows by with each step."""
        return (self.ratio - 1) * self.window * self.step

    def probability(self, outcome: Outcome, slot: int) -> Fraction:
        """Probability of a symbol, given the step.

        Args:
            outcome: The symbol.
            slot: The step.

        Returns:
            The probability, exactly.

        Raises:
            ParameterError: If there is no such slot.
        """
        low = self.step * check_slot(slot, self.size)
        if not isinstance(outcome, int) or not 0 <= outcome < self.symbols:
            return Fraction(0)
        if outcome >= self.outputs:
            return (1 - self.piecewise) * self.bit.probability(outcome - self.outputs, slot)
        weight = self.ratio if low <= outcome < low + self.window else Fraction(1)
        return self.piecewise * weight / self.total_weight

    def score(self, symbol: int) -> Fraction:
        """The unbiased estimate of a client's step that a symbol stands for.

        Args:
            symbol: The symbol.

        Returns:
            A number of steps, exactly.
        """
        if symbol >= self.outputs:
            return self.bit.score(symbol - self.outputs)
        return (self.total_weight * symbol - self.origin) / self.slope

    def variance_at(self, slot: int) -> Fraction:
        """Variance of the score of a client at a step, in squared steps, exactly.

        Args:
            slot: The step.

        Returns:
            The variance.

        Raises:
            ParameterError: If there is no such slot.
        """
        low = self.step * check_slot(slot, self.size)
        squares = (self.ratio - 1) * (_squares(low + self.window) - _squares(low)) + _squares(self.outputs)
        second = squares / self.total_weight
        mean = (self.origin + self.slope * slot) / self.total_weight
        spread = (second - mean**2) * (self.total_weight / self.slope) ** 2
        return self.piecewise * spread + (1 - self.piecewise) * self.bit.variance_at(slot)


def _squares(end: int) -> Fraction:
    """Sum of the squares of the whole numbers below an end."""
    return Fraction((end - 1) * end * (2 * end - 1), 6)
