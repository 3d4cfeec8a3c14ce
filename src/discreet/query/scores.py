"""Private selection: scores of candidates, and queries for a candidate with a high score.

people = dp.table("people")
session.release(people.choose(["A", "B", "C"], score=dp.score(by="ward")), epsilon=0.1)           # the fullest ward
highest = dp.score(by="bid", side="or above", times=prices)                                       # price times buyers
session.release(dp.table("bids").choose(prices, score=highest), epsilon=1)
"""

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, get_args

import numpy as np

from discreet.catalog.catalog import Value, python_value
from discreet.errors import ParameterError, short_traceback
from discreet.exact.numbers import Number, rational, whole
from discreet.plan import logical
from discreet.query import keys
from discreet.query.aggregates import Aggregation, count

Candidate = Value | float
Factors = Callable[[Any], Number] | Iterable[Number]

_EXAMPLE = 'dp.score(by="ward")'


@dataclass(frozen=True)
class Choice:
    """Query for the candidates with high scores; `Frame.choose` makes it.

    Attributes:
        plan: The logical plan.
        top: Number of candidates to choose.

    Example:
        >>> import discreet as dp
        >>> dp.table("visits").choose(["A", "B"], score=dp.score(by="ward")).top
        1
    """

    plan: logical.SelectionQuery
    top: int


@dataclass(frozen=True)
class Score:
    """How candidates are scored; `Frame.choose(candidates, score=...)` asks for one with a high score."""

    measure: logical.Measure
    by: str
    side: logical.Side
    times: Callable[[Any], Number] | tuple[Number, ...] | None
    near: Fraction | None
    max_rows_per_group: int | None

    def selection(self, source: logical.Relation, candidates: object) -> logical.SelectionQuery:
        """The query over these candidates, or over those that are to be found."""
        if isinstance(candidates, keys.Discover):
            return self._selection_of_unknown_keys(source, candidates)
        listed = _candidate_list(candidates)
        return logical.SelectionQuery(
            source=source,
            measure=self.measure,
            by=self.by,
            side=self.side,
            candidates=listed,
            factors=self._factors(listed),
            near=self.near,
            max_rows_per_group=self.max_rows_per_group,
        )

    def _selection_of_unknown_keys(self, source: logical.Relation, wanted: keys.Discover) -> logical.SelectionQuery:
        discovery = logical.Discovery((self.by,), wanted.delta, wanted.rule, wanted.at_least, wanted.weight)
        factors = None if self.times is None else (Fraction(1),)
        rest = (self.side, (), factors, self.near, self.max_rows_per_group, discovery)
        return logical.SelectionQuery(source, self.measure, self.by, *rest)

    def _factors(self, candidates: tuple[Candidate, ...]) -> tuple[Fraction, ...] | None:
        if self.times is None:
            return None
        numbers = tuple(map(self.times, candidates)) if callable(self.times) else self.times
        factors = tuple(rational(number, "times") for number in numbers)
        if len(factors) != len(candidates) or not any(factors):
            raise ParameterError(
                f"times with {len(factors):,} factors for {len(candidates):,} candidates",
                because="each candidate has a factor of its own, and not all of them are zero",
                instead="times=lambda candidate: candidate, or a list of the same length",
            )
        return factors


@short_traceback
def score(
    *,
    by: str,
    of: Aggregation | None = None,
    side: logical.Side = "equal",
    times: Factors | None = None,
    near: Number | None = None,
    max_rows_per_group: int | None = None,
) -> Score:
    """The score of each candidate: how many rows have it in a column, or another measure of them.

    Args:
        by: The column that is compared with each candidate.
        of: What is measured of the rows: `dp.count()`, `dp.count_units()` or `dp.sum("cost", bounds=(0, 100))`.
            Default: `dp.count()`.
        side: The rows that count for a candidate: "equal" to it, "or above" it, or "below" it.
        times: A public factor for each candidate, as a function of the candidate or as a list.
        near: The score is minus its distance to this public number.
        max_rows_per_group: How many rows of one unit count for each candidate.

    Returns:
        A score for `Frame.choose`.

    Raises:
        ParameterError: If an argument is of another kind.

    Example:
        >>> import discreet as dp
        >>> query = dp.table("visits").choose(["A", "B", "C"], score=dp.score(by="ward"))
    """
    if not isinstance(by, str):
        raise ParameterError(
            f"by= of type {type(by).__name__}",
            because="a column is named by text; one that is computed is named with derive first",
            instead=_EXAMPLE,
        )
    if side not in get_args(logical.Side):
        raise ParameterError(
            f"side={side!r}",
            because="rows are equal to a candidate, equal or above, or below it",
            instead=" or ".join(f"side={name!r}" for name in get_args(logical.Side)),
        )
    given: object = times
    if given is not None and not callable(given) and not isinstance(given, Sequence | np.ndarray):
        raise ParameterError(
            f"times of type {type(times).__name__}",
            because="each candidate has a public factor of its own",
            instead="times=lambda price: price, or a list as long as the candidates",
        )
    measured = count() if of is None else of
    if not isinstance(measured, Aggregation):
        raise ParameterError(
            f"of= of type {type(of).__name__}", because="a score is an aggregate of rows", instead="of=dp.count()"
        )
    return Score(
        measure=measured.measure,
        by=by,
        side=side,
        times=times if times is None or callable(times) else tuple(itertools.islice(times, logical.MOST_KEYS + 1)),
        near=None if near is None else rational(near, "near"),
        max_rows_per_group=None if max_rows_per_group is None else whole(max_rows_per_group, "max_rows_per_group"),
    )


def _candidate_list(candidates: object) -> tuple[Candidate, ...]:
    is_list = isinstance(candidates, Iterable) and not isinstance(candidates, str | bytes | set | frozenset | dict)
    if not is_list or hasattr(candidates, "columns"):
        raise ParameterError(
            f"candidates of type {type(candidates).__name__}",
            because="they are a list of public values, in the order wanted",
            instead='table.choose(["A", "B", "C"], score=dp.score(by="ward"))',
        )
    listed = tuple(itertools.islice(candidates, logical.MOST_KEYS + 1))  # type: ignore[call-overload]
    return listed if set(map(type, listed)) <= {int, str} else tuple(map(python_value, listed))  # type: ignore[arg-type]
