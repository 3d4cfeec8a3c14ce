"""Permute and flip: candidates in a random order, each kept with a probability that falls with its gap; the first wins.

Definition
    Candidates are visited in a uniformly random order. Candidate r is kept with probability p_r = e^(-rate gap_r), the
    rate being epsilon/(2 sensitivity), or epsilon/sensitivity where the scores are monotone; the first that is kept is
    chosen. The best has p = 1, so one always is. P[r] = p_r times the integral over t from 0 to 1 of the product of
    1 - p_i t over all other candidates i.

Guarantee
    If no score moves by more than `sensitivity` between neighbours, and all move one way where `monotone` is set, a
    release is epsilon-DP; some pair reaches it. The chosen score is never lower in distribution, and so never worse in
    the mean, than that of the exponential mechanism of the same epsilon; `utility` holds for both. Proof:
    docs/proofs/mechanisms/selection/permute_and_flip.md.

Exactness
    The rate is a rational and each candidate is drawn with exactly its probability (see choice.py); nothing is rounded.
    `pmf` is for display; `brackets` hold the probabilities between rationals. Both are for small sets.

Not covered
    Losses within an interval of length epsilon: they are not, so its rho is that of any epsilon-DP release,
    epsilon^2/2, where the exponential mechanism has epsilon^2/8. Whether `sensitivity` and `monotone` are true of the
    scores: under replace-one neighbours counts are not monotone. The time a draw takes.

References
    McKenna and Sheldon, Permute-and-Flip: A New Mechanism for Differentially Private Selection, NeurIPS 2020,
    Theorems 1 and 2. Ding, Kifer, Sayed, Steinke, Wang, Xiao and Zhang, The Permute-and-Flip Mechanism Is Identical to
    Report-Noisy-Max with Exponential Noise, 2021.
"""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from discreet.errors import ParameterError, public_class, short_traceback
from discreet.events import PureEvent
from discreet.mechanisms.selection.exponential import weights
from discreet.mechanisms.selection.scores import Bracket, Scores, SelectionMechanism, distances, standing
from discreet.samplers import categorical

MOST_SHOWN = 500
MOST_BRACKETED = 40

_FINE = 2**200


@public_class
class PermuteAndFlip(SelectionMechanism):
    """Permute-and-flip: the first candidate, in a random order, that is kept with probability e^(-rate gap).

    Args:
        sensitivity: Sensitivity of a score.
        epsilon: Epsilon of one release.
        monotone: Whether one unit changes all scores in the same direction: half of the noise. Default False.
        grid: Scores are multiples of it. Default 1.

    Raises:
        ParameterError: If an argument is outside its range.

    Example:
        >>> import discreet as dp
        >>> mechanism = dp.mechanisms.PermuteAndFlip(sensitivity=1, epsilon=0.1, monotone=True)
        >>> [round(chance, 3) for chance in mechanism.pmf([120, 95, 90, 20])]
        [0.935, 0.04, 0.024, 0.0]
    """

    def event(self) -> PureEvent:
        """Event of a release, for accountants.

        Returns:
            The event.
        """
        return PureEvent(self.epsilon)

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
        return categorical.permute_and_flip(where.gaps, self.rate * where.step)

    @short_traceback
    def pmf(self, scores: Scores) -> list[float]:
        """Probability of each candidate, in floats for at most 500 candidates.

        Args:
            scores: One exact score per candidate, on the grid.

        Returns:
            The probabilities.

        Raises:
            ParameterError: If scores are not on the grid, or there are none.
        """
        _refuse_many(len(scores), MOST_SHOWN)
        kept = np.exp(-distances(standing(scores, self.grid), self.rate))
        nodes, lengths = np.polynomial.legendre.leggauss(len(kept) // 2 + 1)
        factors = 1 - np.multiply.outer(kept, (nodes + 1) / 2)
        return [
            share * float(np.delete(factors, place, axis=0).prod(axis=0) @ lengths) / 2
            for place, share in enumerate(kept.tolist())
        ]

    @short_traceback
    def brackets(self, scores: Scores) -> list[Bracket]:
        """Probability of each candidate between two rationals for at most 40 candidates.

        Args:
            scores: One exact score per candidate, on the grid.

        Returns:
            A lower and an upper bound for each candidate.

        Raises:
            ParameterError: If scores are not on the grid, or there are none.
        """
        _refuse_many(len(scores), MOST_BRACKETED)
        kept = weights(scores, self.grid, self.rate)
        lows = [Fraction(math.floor(part.low * _FINE), _FINE) for part in kept]
        highs = [Fraction(math.ceil(part.high * _FINE), _FINE) for part in kept]
        return [
            Bracket(lows[place] * first_among(_others(highs, place)), highs[place] * first_among(_others(lows, place)))
            for place in range(len(kept))
        ]


def first_among(others: Sequence[Fraction]) -> Fraction:
    """The integral over t from 0 to 1 of the product of 1 - p t: the chance to come before all others that are kept."""
    common = math.lcm(*(kept.denominator for kept in others))
    product = [1]
    for kept in others:
        part = int(kept * common)
        product = [common * a - part * b for a, b in zip([*product, 0], [0, *product], strict=True)]
    whole = math.lcm(*range(1, len(product) + 1))
    total = sum(factor * (whole // (power + 1)) for power, factor in enumerate(product))
    return Fraction(total, whole * common ** len(others))


def _others(values: Sequence[Fraction], place: int) -> list[Fraction]:
    return [*values[:place], *values[place + 1 :]]


def _refuse_many(candidates: int, most: int) -> None:
    if candidates > most:
        raise ParameterError(
            f"the probabilities of {candidates:,} candidates",
            because=f"they are summed for at most {most}",
            instead="release(scores), which takes any number, or fewer candidates",
        )
