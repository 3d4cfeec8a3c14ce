"""The top k at once: k exponential mechanisms, each among the candidates that are left.

Definition
    The first is chosen with probability proportional to e^(rate u_r), the next likewise among the others, and so on:
    k different candidates, in order. The rate is (epsilon/k)/(2 sensitivity), or (epsilon/k)/sensitivity where the
    scores are monotone. Equivalent: Gumbel noise of that rate on every score, once, and the k largest in order.

Guarantee
    If no score moves by more than `sensitivity` between neighbours, and all move one way where `monotone` is set, each
    choice has losses within an interval of length epsilon/k, for any earlier choices. So a release is epsilon-DP,
    and epsilon^2/(8k)-zCDP: under a privacy budget with a delta k choices cost far less than k times one. With a
    probability of at least 1 - beta the j-th chosen has at least the j-th best score minus `utility(candidates, beta)`,
    for all j together. Proof: docs/proofs/mechanisms/selection/top_k.md.

Exactness
    The rate is a rational and each order is drawn with exactly its probability (see choice.py); nothing is rounded.
    `pmf` is for display; `brackets` hold the probabilities between rationals; both are for few candidates.

Not covered
    How many candidates are worth choosing: k is public. Whether `sensitivity` and `monotone` are true of the scores:
    under replace-one neighbours counts are not monotone. The time a draw takes.

References
    Durfee and Rogers, Practical Differentially Private Top-k Selection with Pay-what-you-get Composition, NeurIPS 2019,
    Lemma 4.2 (peeling is one draw of Gumbel noise). Dong, Durfee and Rogers, Optimal Differential Privacy Composition
    for Exponential Mechanisms, ICML 2020.
"""

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import ParameterError, public_class, short_traceback
from discreet.events import BoundedRangeEvent, RepeatedEvent
from discreet.exact.numbers import Number, whole
from discreet.mechanisms.selection.exponential import weights
from discreet.mechanisms.selection.scores import Bracket, Scores, SelectionMechanism, failing, loss, standing
from discreet.samplers import categorical

MOST_ORDERS = 5_000

Places = tuple[int, ...]


@public_class
@dataclass(frozen=True, init=False)
class TopK(SelectionMechanism):
    """k different candidates, each by the exponential mechanism among those that are left.

    Args:
        k: Number of candidates to choose.
        sensitivity: Sensitivity of a score.
        epsilon: Epsilon of one release.
        monotone: Whether one unit changes all scores in the same direction: half of the noise. Default False.
        grid: Scores are multiples of it. Default 1.

    Raises:
        ParameterError: If an argument is outside its range.

    Example:
        >>> import discreet as dp
        >>> dp.mechanisms.TopK(k=2, sensitivity=1, epsilon=80).release([120, 20, 70])
        [0, 2]
    """

    k: int

    @short_traceback
    def __init__(
        self, *, k: int, sensitivity: Number, epsilon: Number, monotone: bool = False, grid: Number = 1
    ) -> None:
        super().__init__(sensitivity=sensitivity, epsilon=epsilon, monotone=monotone, grid=grid)
        object.__setattr__(self, "k", whole(k, "k"))

    @property
    def rate(self) -> Fraction:
        """By how much a weight falls, in its logarithm, for each unit of score: a k-th of that of one choice."""
        return super().rate / self.k

    def event(self) -> RepeatedEvent:
        """Event of a release: k choices of bounded range.

        Returns:
            The event.
        """
        return RepeatedEvent(BoundedRangeEvent(self.epsilon / self.k), self.k)

    @short_traceback
    def release(self, scores: Scores) -> list[int]:
        """Choose k candidates, with fresh randomness.

        Args:
            scores: One exact score per candidate, on the grid.

        Returns:
            Indices of the candidates, in the order in which they were chosen.

        Raises:
            ParameterError: If there are fewer than k scores, or they are not on the grid.
        """
        where = standing(scores, self.grid)
        self._refuse_few(len(where.gaps))
        return categorical.choose_without_replacement(where.gaps, self.rate * where.step, self.k)

    @short_traceback
    def pmf(self, scores: Scores) -> dict[Places, float]:
        """Probability of each ordered choice, in floats, for at most 5,000 orders.

        Args:
            scores: One exact score per candidate, on the grid.

        Returns:
            Probabilities by the tuple of indices.

        Raises:
            ParameterError: If there are too many orders, or fewer than k scores.
        """
        return {places: float(bracket.low) for places, bracket in self.brackets(scores).items()}

    @short_traceback
    def brackets(self, scores: Scores) -> dict[Places, Bracket]:
        """Probability of each ordered choice between two rationals, for at most 5,000 orders.

        Args:
            scores: One exact score per candidate, on the grid.

        Returns:
            Lower and upper bounds by the tuple of indices.

        Raises:
            ParameterError: If there are too many orders, or fewer than k scores.
        """
        candidates = weights(scores, self.grid, self.rate)
        self._refuse_few(len(candidates))
        if math.perm(len(candidates), self.k) > MOST_ORDERS:
            raise ParameterError(
                f"the probabilities of all orders of {self.k} of {len(candidates):,} candidates",
                because=f"there are more than {MOST_ORDERS:,}",
                instead="release(scores), which takes any number, or fewer candidates",
            )
        return {
            places: _in_turn([candidates[place] for place in places], candidates)
            for places in itertools.permutations(range(len(candidates)), self.k)
        }

    @short_traceback
    def utility(self, candidates: int, beta: Number) -> Fraction:
        """Utility bound: distance of the j-th chosen score below the j-th best, for all j, with probability 1 - beta.

        Args:
            candidates: Number of candidates.
            beta: Probability with which the bound may fail.

        Returns:
            The distance.

        Raises:
            ParameterError: If an argument is outside its range.
        """
        return loss(self.rate, whole(candidates, "candidates"), failing(beta) / self.k)

    def _refuse_few(self, candidates: int) -> None:
        if self.k > candidates:
            raise ParameterError(
                f"the top {self.k:,} of {candidates:,} candidates",
                because="each candidate is chosen at most once",
                instead=f"TopK(k={candidates}, ...)",
            )


def _in_turn(chosen: list[Bracket], candidates: list[Bracket]) -> Bracket:
    """The product of the shares, each of what is left: of its own weight and the others that are not chosen before."""
    low, high = Fraction(1), Fraction(1)
    least, most = sum(part.low for part in candidates), sum(part.high for part in candidates)
    for part in chosen:
        low *= part.low / (part.low + most - part.high)
        high *= part.high / (part.high + least - part.low)
        least, most = least - part.low, most - part.high
    return Bracket(low, high)
