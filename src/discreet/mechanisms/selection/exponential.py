"""The exponential mechanism: any candidate may be chosen, those with high scores more often.

Definition
    Candidate r is chosen with probability e^(rate u_r)/Z, where Z is the sum over all candidates and the rate is
    epsilon/(2 sensitivity), or epsilon/sensitivity where the scores are monotone. Equal scores are equally likely.

Guarantee
    If no score moves by more than `sensitivity` between neighbours, and all move one way where `monotone` is set, the
    losses ln P[r]/P'[r] of all candidates lie within one interval of length epsilon. So a release is epsilon-DP,
    epsilon^2/8-zCDP, and what BoundedRangeEvent(epsilon) says. The range is reached; the loss itself comes as near to
    epsilon as one likes. With a probability of at least 1 - beta the score chosen is at least the best one minus
    `utility(candidates, beta)`. Proof: docs/proofs/mechanisms/selection/exponential.md.

Exactness
    The rate is a rational and each candidate is drawn with exactly its probability (see choice.py); nothing is rounded.
    `pmf` is for display; `brackets` hold the probabilities between rationals.

Not covered
    Whether `sensitivity` and `monotone` are true of the scores: under replace-one neighbours counts are not monotone.
    The time a draw takes. How often `release` is called: every call is a new release, with its own privacy cost.

References
    McSherry and Talwar, Mechanism Design via Differential Privacy, FOCS 2007, Theorems 6 and 8.
    Durfee and Rogers, Practical Differentially Private Top-k Selection with Pay-what-you-get Composition, NeurIPS 2019
    (bounded range). Cesar and Rogers, Bounding, Concentrating, and Truncating, ALT 2021, Lemma 3.4 (epsilon^2/8).
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from discreet.errors import public_class, short_traceback
from discreet.events import BoundedRangeEvent
from discreet.exact.rounding import exp
from discreet.mechanisms.selection.scores import Bracket, Scores, SelectionMechanism, distances, standing
from discreet.samplers import categorical


@public_class
class Exponential(SelectionMechanism):
    """Exponential mechanism: a candidate with probability proportional to e^(rate score).

    Args:
        sensitivity: Sensitivity of a score.
        epsilon: Epsilon of one release.
        monotone: Whether one unit changes all scores in the same direction: half of the noise. Default False.
        grid: Scores are multiples of it. Default 1.

    Raises:
        ParameterError: If an argument is outside its range.

    Example:
        >>> import discreet as dp
        >>> mechanism = dp.mechanisms.Exponential(sensitivity=1, epsilon=0.1, monotone=True)
        >>> [round(chance, 3) for chance in mechanism.pmf([120, 95, 90, 20])]
        [0.883, 0.073, 0.044, 0.0]
    """

    def event(self) -> BoundedRangeEvent:
        """Event of a release, for accountants.

        Returns:
            The event.
        """
        return BoundedRangeEvent(self.epsilon)

    @short_traceback
    def release(self, scores: Scores) -> int:
        """Choose a candidate, with fresh randomness.

        Args:
            scores: One exact score per candidate, on the grid.

        Returns:
            Index of the candidate.

        Raises:
            ParameterError: If scores are not on the grid, or there are none.
        """
        where = standing(scores, self.grid)
        return categorical.choose(where.gaps, self.rate * where.step)

    @short_traceback
    def pmf(self, scores: Scores) -> list[float]:
        """Probability of each candidate, in floats.

        Args:
            scores: One exact score per candidate, on the grid.

        Returns:
            The probabilities.

        Raises:
            ParameterError: If scores are not on the grid, or there are none.
        """
        weights = np.exp(-distances(standing(scores, self.grid), self.rate))
        shares: list[float] = (weights / weights.sum()).tolist()
        return shares

    @short_traceback
    def brackets(self, scores: Scores) -> list[Bracket]:
        """Probability of each candidate between two rationals.

        Args:
            scores: One exact score per candidate, on the grid.

        Returns:
            A lower and an upper bound for each candidate.

        Raises:
            ParameterError: If scores are not on the grid, or there are none.
        """
        return shares(weights(scores, self.grid, self.rate))


def weights(scores: Scores, grid: Fraction, rate: Fraction) -> list[Bracket]:
    """e^(-rate gap) of each candidate between two rationals."""
    where = standing(scores, grid)
    exponents = [-rate * where.step * int(gap) for gap in where.gaps]
    return [exp(exponent) for exponent in exponents]


def shares(parts: Sequence[Bracket]) -> list[Bracket]:
    """Each part of the sum of all."""
    low, high = sum(part.low for part in parts), sum(part.high for part in parts)
    return [
        Bracket(part.low / (part.low + high - part.high), part.high / (part.high + low - part.low)) for part in parts
    ]
