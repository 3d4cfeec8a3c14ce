"""Every outcome of a sampler whose words have few bits: what is decided with so many words, and what is still open."""

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

_UNKNOWN = -1
_ANY = 1


class GivenWords:
    """A source of short words that a test gives for each row; a row that asks for more is noted as open."""

    def __init__(self, bits: int, given: dict[int, NDArray[np.int64]]) -> None:
        self.bits, self.given = bits, given
        self.open: dict[int, int] = {}

    def words(self, rows: NDArray[np.int64], attempts: NDArray[np.int64], place: int) -> NDArray[np.uint64]:
        assert not attempts.any()
        words = self.given[place][rows] if place in self.given else np.full(len(rows), _UNKNOWN)
        for row in rows[words == _UNKNOWN].tolist():
            self.open.setdefault(row, place)
        return np.where(words == _UNKNOWN, _ANY, words).astype(np.uint64)


Outcomes = Callable[[GivenWords, NDArray[np.int64], NDArray[np.int64]], Sequence[Hashable]]


def masses(
    outcomes: Outcomes, places: Sequence[int], bits: int, more: int
) -> tuple[dict[Hashable, Fraction], Fraction]:
    """The decided mass of each outcome and the undecided mass, with a word at each place and so many further words."""
    size, found = 1 << bits, Counter[Hashable]()
    shape = np.indices((size,) * len(places)).reshape(len(places), -1)
    given, weight = dict(zip(places, shape, strict=True)), Fraction(1, size ** len(places))
    for depth in range(more + 1):
        many = len(next(iter(given.values())))
        source = GivenWords(bits, given)
        seen = outcomes(source, np.arange(many), np.zeros(many, dtype=np.int64))
        for row, outcome in enumerate(seen):
            if row not in source.open:
                found[outcome] += weight
        if depth < more:
            given, weight = _extended(given, source.open, size), weight / size
    return dict(found), weight * len(source.open)


def _extended(given: dict[int, NDArray[np.int64]], asked: dict[int, int], size: int) -> dict[int, NDArray[np.int64]]:
    """Each open row once with every value of the word that it asked for."""
    rows = np.repeat(np.array(list(asked), dtype=np.int64), size)
    places = np.repeat(np.array(list(asked.values()), dtype=np.int64), size)
    every = np.tile(np.arange(size), len(asked))
    wider = {place: column[rows] for place, column in given.items()}
    for place in set(asked.values()):
        here = places == place
        column = wider.setdefault(place, np.full(len(rows), _UNKNOWN))
        column[here] = every[here]
    return wider
