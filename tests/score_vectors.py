"""Vectors of scores and all of their neighbours: what tests of selections share."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product

Vector = tuple[int, ...]


def vectors(candidates: int, largest: int) -> list[Vector]:
    """Every vector of scores from 0 to the largest."""
    return list(product(range(largest + 1), repeat=candidates))


def neighbours(scores: Vector, sensitivity: int) -> Iterator[Vector]:
    """Every vector in which no score differs by more than the sensitivity."""
    for moves in product(range(-sensitivity, sensitivity + 1), repeat=len(scores)):
        yield tuple(score + move for score, move in zip(scores, moves, strict=True))


def monotone_neighbours(scores: Vector, sensitivity: int) -> Iterator[Vector]:
    """Every vector in which all scores rise, or all fall, by at most the sensitivity."""
    for moves in product(range(sensitivity + 1), repeat=len(scores)):
        for sign in (1, -1):
            yield tuple(score + sign * move for score, move in zip(scores, moves, strict=True))


def gaps(scores: Vector) -> Vector:
    """How far each score is below the best."""
    return tuple(max(scores) - score for score in scores)


def largest_ratio(one: Sequence[Fraction], other: Sequence[Fraction]) -> Fraction:
    """The largest ratio of the probabilities of one outcome."""
    return max(a / b for a, b in zip(one, other, strict=True))
