"""Vectors of scores and all of their neighbours, and how well draws fit a law: what tests of selections share."""

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product

from scipy.stats import chi2

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


def p_value(draws: Sequence[Hashable], law: Mapping[Hashable, float]) -> float:
    """Chi-square of draws against probabilities; outcomes expected fewer than 10 times are pooled."""
    seen, many = Counter(draws), len(draws)
    assert set(seen) <= {outcome for outcome, share in law.items() if share > 0}
    kept = [outcome for outcome, share in law.items() if many * share >= 10]
    statistic = sum((seen[outcome] - many * law[outcome]) ** 2 / (many * law[outcome]) for outcome in kept)
    expected = many - sum(many * law[outcome] for outcome in kept)
    pooled = many - sum(seen[outcome] for outcome in kept)
    if expected < 1:
        assert pooled < 25  # a Poisson count of mean below 1 reaches 25 with probability below 1e-25
        return float(chi2.sf(statistic, max(1, len(kept) - 1)))
    return float(chi2.sf(statistic + (pooled - expected) ** 2 / expected, len(kept)))
