"""Exact probabilities of what a stream tells, in rationals, for noise whose decay e^(-1/scale) is rational.

A question is its exact answer, in steps above the threshold. What is told of it is False (below), True (above), Gap(g)
(above, by so much), or Shown(v): the noisy answer itself, as in Roth's notes. The sum over the noise of the threshold
is finite in the middle; beyond, every factor is A + B x^s with x the decay, s the distance, so the rest is a geometric
series for each power of x^s.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product


@dataclass(frozen=True)
class Gap:
    """How far a noisy answer is above the noisy threshold."""

    value: int


@dataclass(frozen=True)
class Shown:
    """A noisy answer, shown because it is above."""

    value: int


Told = bool | Gap | Shown
Factor = Callable[[int], Fraction]


@cache
def mass(decay: Fraction, y: int) -> Fraction:
    """P[Y = y]; a decay of zero means no noise."""
    return (1 - decay) / (1 + decay) * decay ** abs(y)


@cache
def at_least(decay: Fraction, y: int) -> Fraction:
    """P[Y >= y]."""
    return decay**y / (1 + decay) if y > 0 else 1 - decay ** (1 - y) / (1 + decay)


def factor(decay: Fraction, question: int, told: Told) -> Factor:
    """The probability of what is told of one question, for every noisy threshold."""
    if isinstance(told, Shown):
        return lambda limit: mass(decay, told.value - question) * (told.value >= limit)
    if told is False:
        return lambda limit: 1 - at_least(decay, limit - question)
    if told is True:
        return lambda limit: at_least(decay, limit - question)
    return lambda limit: mass(decay, limit + told.value - question)


def probability(threshold: Fraction, comparison: Fraction, questions: Sequence[int], told: Sequence[Told]) -> Fraction:
    """The probability of all that is told of these questions, in this order."""
    factors = [factor(comparison, question, what) for question, what in zip(questions, told, strict=True)]
    reach = 2 + max((abs(q) for q in questions), default=0) + max(map(_size, told), default=0)
    middle = sum(mass(threshold, y) * math.prod(f(y) for f in factors) for y in range(-reach, reach + 1))
    return middle + _rest(threshold, comparison, factors, reach + 1) + _rest(threshold, comparison, factors, -reach - 1)


def _size(told: Told) -> int:
    return 0 if isinstance(told, bool) else abs(told.value)


def _rest(threshold: Fraction, comparison: Fraction, factors: Sequence[Factor], start: int) -> Fraction:
    """The sum from `start` on, away from zero."""
    step = 1 if start > 0 else -1
    coefficients = [mass(threshold, start)]
    for f in factors:
        slope = (f(start) - f(start + step)) / (1 - comparison)
        level = f(start) - slope
        raised = zip([*coefficients, 0], [0, *coefficients], strict=True)
        coefficients = [level * same + slope * lower for same, lower in raised]
    return sum(c / (1 - threshold * comparison**power) for power, c in enumerate(coefficients))


def transcripts(length: int, answers: int, above: Sequence[Told] = (True,)) -> Iterator[tuple[Told, ...]]:
    """All that may be told of so many questions; a stream that is closed tells nothing more."""
    for told in product((False, *above), repeat=length):
        if sum(what is not False for what in told[:-1]) < answers:
            yield told
    for shorter in range(1, length):
        for told in product((False, *above), repeat=shorter):
            if told[-1] is not False and sum(what is not False for what in told) == answers:
                yield told


def neighbours(questions: Sequence[int], sensitivity: int, *, one_way: bool = False) -> Iterator[tuple[int, ...]]:
    """All exact answers that a neighbour may have: each moves by at most the sensitivity, or all up or all down."""
    ways = [range(sensitivity + 1), range(-sensitivity, 1)] if one_way else [range(-sensitivity, sensitivity + 1)]
    for way in ways:
        for moves in product(way, repeat=len(questions)):
            yield tuple(q + move for q, move in zip(questions, moves, strict=True))
