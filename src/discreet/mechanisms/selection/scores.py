"""Scores of candidates: how they are read, how far one unit moves them, and the rate that an epsilon buys.

Definition
    Candidate r has the score u_r, a whole multiple of a public grid. Its gap is how far it is below the best score.
    `sensitivity` bounds how far any one score moves between neighbours. Scores are `monotone` if for every pair of
    neighbours no score falls, or no score rises. The rate is epsilon/(2 sensitivity), or epsilon/sensitivity where the
    scores are monotone; candidates are weighed by e^(-rate gap).

Guarantee
    Between neighbours the differences of any two scores move by at most epsilon/rate: by twice the sensitivity, or by
    the sensitivity itself where the scores are monotone. Gaps are exact. Proof:
    docs/proofs/mechanisms/selection/scores.md.

Exactness
    Scores are integers and Fractions of any size; nothing is rounded. One that is of another type or off the grid is
    refused, and no message shows it. `utility` is rounded up.

Not covered
    Whether `sensitivity` and `monotone` are true of the scores. Counts of rows move one way where a unit is added or
    removed, not where one is replaced; distances to a target move both ways under either. That a score was refused is
    a fact about the data.

References
    McSherry and Talwar, Mechanism Design via Differential Privacy, FOCS 2007, Section 3.
    Dwork and Roth, The Algorithmic Foundations of Differential Privacy, 2014, Section 3.4 and Corollary 3.12.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError, short_traceback
from discreet.exact.numbers import Number, positive, probability, whole
from discreet.exact.rounding import Interval, brief_up, log_up
from discreet.samplers.categorical import Gaps

Scores = Sequence[int | Fraction] | NDArray[np.integer[Any]]

Bracket = Interval
"""Two rationals with a probability between them."""

_BEYOND_DOUBLES = 10**300


class ScoreGaps(NamedTuple):
    """How far each candidate is below the best, in steps, and what one step is in the scores' own terms."""

    gaps: Gaps
    step: Fraction

    def on(self, grid: Fraction) -> Gaps:
        """The same gaps in steps of the grid that the scores are on."""
        ratio = self.step / grid
        if ratio == 1:
            return self.gaps
        return [int(gap) * ratio.numerator // ratio.denominator for gap in self.gaps]


@dataclass(frozen=True, init=False)
class SelectionMechanism:
    """Parameters of every selection: the sensitivity of a score, and the privacy cost of a release."""

    sensitivity: Fraction
    epsilon: Fraction
    monotone: bool
    grid: Fraction

    @short_traceback
    def __init__(self, *, sensitivity: Number, epsilon: Number, monotone: bool = False, grid: Number = 1) -> None:
        object.__setattr__(self, "sensitivity", positive(sensitivity, "sensitivity"))
        object.__setattr__(self, "epsilon", positive(epsilon, "epsilon"))
        object.__setattr__(self, "monotone", _flag(monotone))
        object.__setattr__(self, "grid", positive(grid, "grid"))

    @property
    def rate(self) -> Fraction:
        """By how much a weight falls, in its logarithm, for each unit of score."""
        return self.epsilon / self.sensitivity / (1 if self.monotone else 2)

    @short_traceback
    def utility(self, candidates: int, beta: Number) -> Fraction:
        """Utility bound: distance below the best score that the chosen one keeps within, with probability 1 - beta.

        Args:
            candidates: Number of candidates.
            beta: Probability with which the bound may fail.

        Returns:
            The distance, (ln candidates + ln 1/beta)/rate.

        Raises:
            ParameterError: If an argument is outside its range.
        """
        return loss(self.rate, whole(candidates, "candidates"), failing(beta))


def standing(scores: Scores, grid: Fraction) -> ScoreGaps:
    """The gaps of scores: in whole units where all scores are integers, else in steps of the grid."""
    if isinstance(scores, np.ndarray):
        return ScoreGaps(_array_gaps(scores, grid), Fraction(1))
    if isinstance(scores, str | bytes | bytearray) or not isinstance(scores, Sequence):
        raise _not_scores(type(scores).__name__)
    _refuse_none(len(scores))
    if set(map(type, scores)) <= {int}:
        return ScoreGaps(_integer_gaps(list(scores), grid), Fraction(1))  # type: ignore[arg-type]
    numbers = [_number(score) for score in scores]
    steps = [number.numerator * grid.denominator for number in numbers]
    return ScoreGaps(_grid_gaps(steps, [number.denominator * grid.numerator for number in numbers], grid), grid)


def distances(where: ScoreGaps, rate: Fraction) -> NDArray[np.float64]:
    """The logarithms of the weights, with the sign turned, as floats for display."""
    slope = float(rate * where.step)
    return np.array([float(min(int(gap), _BEYOND_DOUBLES)) for gap in where.gaps]) * slope


def loss(rate: Fraction, candidates: int, beta: Fraction) -> Fraction:
    """(ln candidates + ln 1/beta)/rate, rounded up."""
    return brief_up(log_up(candidates / beta) / rate)


def failing(beta: Number) -> Fraction:
    """A probability above 0 and below 1 with which a bound may fail."""
    return positive(probability(beta, "beta", example="0.05"), "beta")


def _array_gaps(scores: NDArray[np.integer[Any]], grid: Fraction) -> Gaps:
    if scores.dtype.kind not in "iu" or scores.ndim != 1:
        raise _not_scores(f"{scores.ndim}-dimensional array of {scores.dtype}")
    _refuse_none(len(scores))
    if grid.numerator > 1:
        return _integer_gaps(scores.tolist(), grid)
    words = scores.astype(np.int64 if scores.dtype.kind == "i" else np.uint64)
    # differences of 64-bit integers fit into 64 bits without a sign, and subtraction there wraps around to them
    gaps: NDArray[np.uint64] = words.max().astype(np.uint64) - words.astype(np.uint64)
    return gaps


def _integer_gaps(scores: list[int], grid: Fraction) -> Gaps:
    if grid.numerator > 1 and any(score % grid.numerator for score in scores):
        raise _off_grid(grid)
    try:
        return _array_gaps(np.array(scores, dtype=np.int64), Fraction(1))
    except OverflowError:
        best = max(scores)
        return [best - score for score in scores]


def _grid_gaps(numerators: list[int], denominators: list[int], grid: Fraction) -> list[int]:
    divided = [divmod(top, bottom) for top, bottom in zip(numerators, denominators, strict=True)]
    if any(rest for _, rest in divided):
        raise _off_grid(grid)
    best = max(steps for steps, _ in divided)
    return [best - steps for steps, _ in divided]


def _number(score: object) -> int | Fraction:
    """An int or a Fraction; the message names the type and never the value."""
    if isinstance(score, Fraction):
        return score
    index = None if isinstance(score, bool | np.bool_ | np.ndarray) else getattr(score, "__index__", None)
    if index is None:
        raise _not_scores(type(score).__name__)
    return int(index())


def _flag(monotone: object) -> bool:
    if not isinstance(monotone, bool):
        raise ParameterError(
            f"monotone of type {type(monotone).__name__}",
            because="scores move one way or they do not",
            instead="monotone=True where adding a unit lowers no score, else monotone=False",
        )
    return monotone


def _refuse_none(candidates: int) -> None:
    if not candidates:
        raise ParameterError(
            "a selection among no candidates", because="there is nothing to choose", instead="release([score, ...])"
        )


def _off_grid(grid: Fraction) -> ParameterError:
    return ParameterError(
        f"a score that is not a whole multiple of the grid {grid}",
        because="gaps between scores are counted in steps of it",
        instead=f"scores rounded to multiples of Fraction('{grid}'), or a finer grid=...",
    )


def _not_scores(kind: str) -> ParameterError:
    return ParameterError(
        f"scores of type {kind}",
        because="scores are exact: the rounding of floats can favour one candidate over another",
        instead="release([score, ...]) with ints or Fractions, or a one-dimensional array of integers",
    )
