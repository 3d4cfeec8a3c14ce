"""Outcomes as they come, and their features: what an audit remembers of the runs so far.

The vocabulary of features is learned from the first block, and again each time that there are four times as many runs,
as long as they serve for choosing; then all earlier outcomes are read again. Afterwards outcomes are read and dropped.
"""

from dataclasses import dataclass, field

import numpy as np

from discreet.auditing.statistical.events import Sides
from discreet.auditing.statistical.features import Vocabulary, concatenate
from discreet.auditing.statistical.outcomes import Outcomes, Pair

_LEARN_AGAIN = 4


@dataclass
class Samples:
    """The features of all runs so far."""

    times: bool = False
    count: int = 0
    vocabulary: Vocabulary | None = None
    _learned_from: int = 0
    _outcomes: list[Pair] = field(default_factory=list)
    _read: list[Sides] = field(default_factory=list)

    def read(self, pair: Pair) -> Sides:
        """The features of a block, by the vocabulary that earlier blocks taught, or itself if it is the first."""
        if self.vocabulary is None:
            self.vocabulary = Vocabulary.learn(*pair)
        words = self.vocabulary
        return Sides(words.read(pair.one, times=self.times), words.read(pair.other, times=self.times))

    def add(self, pair: Pair, sides: Sides, *, may_learn: bool) -> None:
        """Remember a block; learn from it too where nothing will be tested on it."""
        self.count += len(pair.one)
        self._read.append(sides)
        if not may_learn:
            self._outcomes.clear()
            return
        self._outcomes.append(pair)
        if self.count >= _LEARN_AGAIN * self._learned_from:
            self._learn()

    def sides(self, start: int = 0) -> Sides:
        """The features of all runs from a number on."""
        self._read = [
            Sides(concatenate([side.one for side in self._read]), concatenate([side.other for side in self._read]))
        ]
        return self._read[0].part(slice(max(0, start), None))

    def _learn(self) -> None:
        one, other = ([pair[side] for pair in self._outcomes] for side in (0, 1))
        learned = Vocabulary.learn(_together(one), _together(other))
        self._learned_from = self.count
        if learned != self.vocabulary:
            self.vocabulary = learned
            self._read = [self.read(pair) for pair in self._outcomes]


def _together(parts: list[Outcomes]) -> Outcomes:
    if all(isinstance(part.values, np.ndarray) for part in parts):
        return Outcomes(np.concatenate([part.values for part in parts]))
    return Outcomes([value for part in parts for value in part.values])
