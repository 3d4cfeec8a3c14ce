"""Duchi's mechanism: one bit, whose probability grows with the value.

Definition
    A client at step i of 0 to m reports the bit 1 with probability (m + (r - 1) i)/((r + 1) m), and 0 otherwise. The
    score of a bit y is m ((r + 1) y - 1)/(r - 1), and its mean is i. Draw: u below (a + b) m with r = a/b; the bit is 1
    if u < b m + (a - b) i.

Guarantee
    If r <= e^epsilon, one report is epsilon-locally differentially private. The largest likelihood ratio is r, for the
    two ends of the range. The mean of scores is unbiased, exactly. Proof: docs/proofs/local/oracles/duchi.md.

Exactness
    Probabilities and scores are rationals. A value is rounded to the nearest step before, which moves a mean by at most
    half a step. Sums of scores are floats.

Not covered
    Several reports of one client. Values outside of the range, which are clamped: the mean is that of clamped values.
    Distributions and quantiles: use a frequency oracle over the grid.

References
    Duchi, Jordan and Wainwright, Minimax Optimal Procedures for Locally Private Estimation, JASA 2018, Section 4.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from discreet.errors import public_class
from discreet.local.oracles.fields import Fields, check_ratio, check_size, ratio_field, whole_field
from discreet.local.oracles.mean import MeanOracle
from discreet.local.oracles.randomizer import Outcome, check_slot


@public_class
@dataclass(frozen=True)
class DuchiResponse(MeanOracle):
    """Duchi's one-bit mechanism for a mean.

    Args:
        steps: Number of steps of the grid, at least 1.
        ratio: Likelihood ratio of the ends of the range, above 1.

    Raises:
        ParameterError: If an argument is outside its range.

    Example:
        >>> import discreet as dp
        >>> oracle = dp.local.oracles.DuchiResponse.calibrate(256, epsilon=1)
        >>> round(oracle.variance(), 2)
        4.68
    """

    kind: ClassVar[str] = "duchi"
    title: ClassVar[str] = "Duchi's one bit"
    FIELDS: ClassVar[Fields] = {"steps": whole_field(1), "ratio": ratio_field}

    steps: int
    ratio: Fraction

    def __post_init__(self) -> None:
        check_size(self.steps, least=1)
        check_ratio(self.ratio)

    @property
    def symbols(self) -> int:
        """Two: a bit."""
        return 2

    def probability(self, outcome: Outcome, slot: int) -> Fraction:
        """Probability of a bit, given the step.

        Args:
            outcome: The bit.
            slot: The step.

        Returns:
            The probability, exactly.

        Raises:
            ParameterError: If there is no such slot.
        """
        step = check_slot(slot, self.size)
        one = (self.steps + (self.ratio - 1) * step) / ((self.ratio + 1) * self.steps)
        if outcome not in (0, 1):
            return Fraction(0)
        return one if outcome else 1 - one

    def score(self, symbol: int) -> Fraction:
        """The unbiased estimate of a client's step that a bit stands for.

        Args:
            symbol: The bit.

        Returns:
            A number of steps, exactly.
        """
        return self.steps * ((self.ratio + 1) * symbol - 1) / (self.ratio - 1)
