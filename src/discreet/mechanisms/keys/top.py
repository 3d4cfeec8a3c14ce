"""The keys with the highest scores, of keys that are not known: a choice that ends at a bar no rare key is above.

Definition
    Scores are whole numbers above zero of the keys that are there, in an order of all possible keys that is public. The
    `limit` = D highest of them are candidates, the first of equals first; t is the next highest score, or 0. Where
    fewer than D keys are there, blanks of score 0 fill the rest. The bar is a candidate of score t + s + b. Candidates
    are chosen one after another, each with probability proportional to e^(rate score) among those that are left; what
    was chosen before the bar or a blank is released, and at most k of them. s is how far one unit moves a score, the
    `sensitivity` under add/remove and twice that under replace-one; rate = (epsilon/k)/s; C is `groups`, or twice that
    under replace-one; b >= 0 is the least integer with M/(M + e^(rate b)) <= delta, M = min(C, D).

Guarantee
    Where one unit moves the scores of at most `groups` keys, each by at most `sensitivity`, and moves all one way under
    add/remove, a release is (epsilon, delta)-DP, and epsilon^2/(8k)-zCDP but for delta, however many keys there are and
    one unit has. With a probability of at least 1 - beta the j-th of the candidates chosen, bar and blanks among them,
    has at least the j-th best score minus `utility(beta)`, for all j up to k together. Proof:
    docs/proofs/mechanisms/keys/top.md.

Exactness
    The rate is a rational and each order is drawn with exactly its probability (see choice.py); b is rounded up.

Not covered
    The scores themselves, which do not leave. Fewer than k keys may, and that they are fewer is an output like any
    other. Scores of sums with both signs. Whether `groups` and `sensitivity` are true of the data.

References
    Durfee and Rogers, Practical Differentially Private Top-k Selection with Pay-what-you-get Composition, NeurIPS 2019,
    (limited domain). The blanks are ours: with them the proof holds where fewer than D keys are there.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import ParameterError, short_traceback
from discreet.events import ApproximateEvent, BoundedRangeEvent, ComposedEvent, RepeatedEvent
from discreet.exact.numbers import Number, positive, probability, whole
from discreet.exact.rounding import log_up
from discreet.mechanisms.keys.rule import Relation, counts_of
from discreet.mechanisms.selection.scores import failing, loss
from discreet.samplers import categorical

LIMIT = 10_000
LARGEST_LIMIT = 1_000_000


@dataclass(frozen=True, init=False)
class TopKeys:
    """At most k keys, each with probability proportional to e^(rate score) among those left, until the bar."""

    k: int
    epsilon: Fraction
    delta: Fraction
    sensitivity: int
    groups: int
    neighbours: Relation
    limit: int

    @short_traceback
    def __init__(
        self,
        *,
        k: int,
        epsilon: Number,
        delta: Number,
        sensitivity: int = 1,
        groups: int = 1,
        neighbours: Relation = "add_remove",
        limit: int = LIMIT,
    ) -> None:
        positive(delta, "delta")
        object.__setattr__(self, "k", whole(k, "k"))
        object.__setattr__(self, "epsilon", positive(epsilon, "epsilon"))
        object.__setattr__(self, "delta", probability(delta, "delta"))
        object.__setattr__(self, "sensitivity", whole(sensitivity, "sensitivity"))
        object.__setattr__(self, "groups", whole(groups, "groups"))
        object.__setattr__(self, "neighbours", str(neighbours))
        object.__setattr__(self, "limit", whole(limit, "limit"))
        if not self.k <= self.limit <= LARGEST_LIMIT:
            raise ParameterError(
                f"the top {self.k:,} of at most {self.limit:,} candidates",
                because=f"candidates are at least as many as are chosen, and at most {LARGEST_LIMIT:,}",
                instead=f"TopKeys(k=10, limit={LIMIT}, ...)",
            )

    @property
    def score_sensitivity(self) -> int:
        """Sensitivity of the difference of two scores, or of a score and the bar."""
        return self.sensitivity * self._sides

    @property
    def rate(self) -> Fraction:
        """By how much a weight falls, in its logarithm, for each unit of score."""
        return self.epsilon / self.k / self.score_sensitivity

    @property
    def bar(self) -> int:
        """How far above the best score that is no candidate's the bar is."""
        rare = min(self.groups * self._sides, self.limit)
        odds = rare * (1 - self.delta) / self.delta
        return self.score_sensitivity + (math.ceil(log_up(odds) / self.rate) if odds > 1 else 0)

    def event(self) -> ComposedEvent:
        """What a release does: k choices of bounded range, and delta for keys that only one neighbour can name."""
        choices = RepeatedEvent(BoundedRangeEvent(self.epsilon / self.k), self.k)
        return ComposedEvent((choices, ApproximateEvent(Fraction(0), self.delta)))

    @short_traceback
    def release(self, scores: Sequence[int]) -> list[int]:
        """The places of the chosen keys, in the order in which they were chosen; scores in the order of the keys."""
        places, candidates = self.candidates(scores)
        best = max(candidates)
        chosen = categorical.choose_without_replacement([best - score for score in candidates], self.rate, self.k)
        return self._keys_before_bar(chosen, places)

    def candidates(self, scores: Sequence[int]) -> tuple[list[int], list[int]]:
        """The places of the keys among the candidates, and the scores of all: keys, then blanks, then the bar."""
        counts = counts_of(scores)
        ranked = sorted((place for place, score in enumerate(counts) if score), key=lambda place: -counts[place])
        places, beyond = ranked[: self.limit], ranked[self.limit : self.limit + 1]
        next_best = counts[beyond[0]] if beyond else 0
        blanks = [0] * (self.limit - len(places))
        return places, [*(counts[place] for place in places), *blanks, next_best + self.bar]

    @short_traceback
    def utility(self, beta: Number) -> Fraction:
        """How far below the j-th best candidate the j-th chosen may be, for all j, but for a probability of beta."""
        return loss(self.rate, self.limit + 1, failing(beta) / self.k)

    @property
    def _sides(self) -> int:
        return 2 if self.neighbours == "replace_one" else 1

    def _keys_before_bar(self, chosen: list[int], places: list[int]) -> list[int]:
        """The keys that were chosen before the bar or a blank was."""
        named: list[int] = []
        for candidate in chosen:
            if candidate >= len(places):
                break
            named.append(places[candidate])
        return named
