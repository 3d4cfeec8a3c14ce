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

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

from discreet.errors import public_class
from discreet.exact.numbers import Number
from discreet.local.oracles.mean import MeanOracle
from discreet.local.oracles.randomizer import (
    Outcome,
    check_fields,
    check_ratio,
    check_size,
    check_slot,
    ratio_within,
    read_ratio,
    write_ratio,
)


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

    steps: int
    ratio: Fraction

    def __post_init__(self) -> None:
        check_size(self.steps, least=1)
        check_ratio(self.ratio)

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
        return cls(steps, ratio_within(epsilon))

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

    def to_json(self) -> dict[str, Any]:
        """The oracle as it stands in a task.

        Returns:
            Its kind and its integers.
        """
        return {"kind": self.kind, "steps": self.steps, "ratio": write_ratio(self.ratio)}

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Self:
        """Read the oracle from a task.

        Args:
            fields: Its kind and its integers.

        Returns:
            The oracle.

        Raises:
            ParameterError: If a field is missing or outside its range.
        """
        check_fields(fields, cls.kind, ("steps", "ratio"))
        return cls(check_size(fields["steps"], least=1), read_ratio(fields["ratio"], "ratio"))
