"""Which candidate has the highest score: what is pushed down, how far one unit moves a score, and what it costs.

The engine counts or sums the rows of every candidate in one query. A candidate's score is its own integer, or, for
"or above" and "below", the sum of those of all candidates on that side; times its public factor; and with `near` minus
the distance to a public number, which moves no farther than what it is the distance of. One unit moves every score by
at most `moved`; under add/remove, where no row counts below zero and no factor is, all scores move one way.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet import events
from discreet.accounting.filters import Budget
from discreet.catalog.catalog import Catalog
from discreet.catalog.privacy_unit import Caps, Neighbours, Unit
from discreet.errors import KeysError, ParameterError, UnsupportedError
from discreet.exact.numbers import Number, whole
from discreet.mechanisms.keys import TopKeys
from discreet.mechanisms.selection import Exponential, PermuteAndFlip, TopK
from discreet.plan import logical, physical
from discreet.planner.budget import allocation
from discreet.planner.budget.allocation import Spending
from discreet.planner.queries.private_plan import AnswerPlan
from discreet.planner.resolve import keys
from discreet.planner.resolve.binding import bind
from discreet.planner.resolve.lowering import lower_query
from discreet.planner.resolve.measures import Recipe, recipe
from discreet.planner.sensitivity import contribution_bounds
from discreet.planner.sensitivity.sensitivity import sensitivity
from discreet.release.explanation import ExplainedOutput

BIN = "side of the candidates"
SCORE = "score"
CHOICE = "choice"
MECHANISM_NAMES: Mapping[type, str] = {
    Exponential: "exponential",
    PermuteAndFlip: "permute and flip",
    TopK: "top k",
    TopKeys: "top keys",
}
"""The names of mechanisms in stored selections; they stay when a class is renamed."""

Mechanism = Exponential | PermuteAndFlip | TopK


@dataclass(frozen=True, kw_only=True)
class SelectionPlan(AnswerPlan):
    """Everything about a selection that is public: what is read, how it is scored, what it costs."""

    query: logical.SelectionQuery
    factors: tuple[int, ...] | int
    target: int | None
    denominator: int
    mechanism: Mechanism

    @property
    def event(self) -> events.Event:
        """What a selection does, for the accountants."""
        return self.mechanism.event()

    def scores(self, exact: Sequence[Sequence[int]]) -> list[int]:
        """The exact scores, in the order of the candidates, in steps that make them whole."""
        (steps,) = exact
        sums = steps if self.query.side == "equal" else self._sides(steps)
        factors = itertools.repeat(self.factors, len(sums)) if isinstance(self.factors, int) else self.factors
        scores = [factor * value for factor, value in zip(factors, sums, strict=True)]
        target = self.target
        return scores if target is None else [-abs(score - target) for score in scores]

    def randomize(self, exact: Sequence[Sequence[int]]) -> list[int]:
        """The places of the chosen candidates, best first as far as noise tells."""
        chosen = self.mechanism.release(self.scores(exact))
        return [chosen] if isinstance(chosen, int) else list(chosen)

    def combine(self, exact: Sequence[Sequence[int]]) -> list[int]:
        """The places of the candidates with the highest scores, without noise; the first of equals."""
        scores = self.scores(exact)
        count = self.mechanism.k if isinstance(self.mechanism, TopK) else 1
        return sorted(range(len(scores)), key=lambda place: -scores[place])[:count]

    def within(self, confidence: Fraction) -> Fraction:
        """How far below the best score the first of the chosen is, at most, with this probability: public."""
        return self.mechanism.utility(len(self.query.candidates), 1 - confidence) / self.denominator

    @property
    def noise(self) -> str:
        """The mechanism, in words."""
        return MECHANISM_NAMES[type(self.mechanism)]

    def explain_outputs(self, confidence: Fraction) -> tuple[ExplainedOutput, ...]:
        """How far below the best score the first of the chosen is, at most."""
        return (ExplainedOutput(CHOICE, "choice", self.noise, self.within(confidence), "below the best score"),)

    def _sides(self, steps: Sequence[int]) -> list[int]:
        """Sums over all rows on one side of each candidate; bin number j holds rows at or above j of the candidates."""
        order = sorted(range(len(self.query.candidates)), key=self.query.candidates.__getitem__)  # type: ignore[arg-type]
        below = list(itertools.accumulate(steps))
        sums = [0] * len(order)
        for rank, place in enumerate(order):
            sums[place] = below[rank] if self.query.side == "below" else below[-1] - below[rank]
        return sums


def analyze_selection(
    query: logical.SelectionQuery,
    catalog: Catalog,
    budget: Budget,
    *,
    epsilon: Number | None = None,
    rho: Number | None = None,
    share: Fraction = Fraction(1),
    top: int = 1,
) -> SelectionPlan:
    """Plan a selection, or refuse it; nothing here depends on the data."""
    _refuse_none_or_too_many(query, whole(top, "top"))
    scope = bind(_with_bins(query), catalog)
    made = recipe(logical.Output(SCORE, query.measure), scope)
    public = keys.resolve(_grouping(query), scope)
    unit, groups = scope.table.unit, len(public.rows)
    caps = contribution_bounds.effective(unit, scope.table.caps, None, query.max_rows_per_group)
    measure = _measure(made, query, unit, caps)
    factors, target, denominator = _whole(query, made.grid)
    largest = abs(factors) if isinstance(factors, int) else max(map(abs, factors))
    moved = largest * _score_sensitivity(measure, query.side, caps, groups, unit.neighbours)
    one_way = unit.neighbours is Neighbours.ADD_REMOVE and query.near is None and _is_one_way(measure, factors)
    spendings = allocation.spendings(budget, epsilon=epsilon, rho=rho, mechanism=None, share=share)
    spent, mechanism = _best_mechanism(spendings, moved, one_way, top)
    return SelectionPlan(
        dataset=scope.name,
        unit=unit,
        pushdown=lower_query(scope, public, contribution_bounds.caps_to_enforce(unit, caps, groups), (measure,)),
        query=query,
        factors=factors,
        target=target,
        denominator=denominator,
        mechanism=mechanism,
        spending=spent,
        slice=scope.table.part,
    )


def _with_bins(query: logical.SelectionQuery) -> logical.Relation:
    """The rows with the number of candidates that each is at or above, where a score is of one side."""
    if query.side == "equal":
        return query.source
    edges: tuple[logical.Scalar, ...] = tuple(sorted(query.candidates))  # type: ignore[arg-type]
    return logical.Derive(query.source, BIN, logical.Bin(logical.ColumnRef(query.by), edges))


def _grouping(query: logical.SelectionQuery) -> logical.Grouping:
    if query.side == "equal":
        values: tuple[object, ...] = query.candidates
        return logical.Grouping((query.by,), (values,), None, None, query.max_rows_per_group)  # type: ignore[arg-type]
    return logical.Grouping((BIN,), (tuple(range(len(query.candidates) + 1)),), None, None, query.max_rows_per_group)


def _measure(made: Recipe, query: logical.SelectionQuery, unit: Unit, caps: Caps) -> physical.Integers:
    """The one measure of a score; how many rows a unit has must be bounded where rows count."""
    if len(made.parts) != 1:
        raise UnsupportedError(
            f"a {made.kind} as a score",
            because="its sensitivity depends on the number of rows",
            instead="of=dp.sum(...) to compare totals, "
            f'or release every group, then compare: table.group_by("{query.by}").agg(...)',
        )
    measure = made.parts[0].measure
    if isinstance(measure, physical.CountRows | physical.SumSteps):
        contribution_bounds.require_row_bound("a score", unit, caps)
    elif query.side != "equal":
        raise UnsupportedError(
            f"a {made.kind} on one side of each candidate",
            because="what is counted once for each candidate does not add up over several",
            instead="of=dp.count(), or side='equal'",
        )
    return measure


def _score_sensitivity(
    measure: physical.Integers, side: logical.Side, caps: Caps, groups: int, neighbours: Neighbours
) -> int:
    """How far one unit moves the integer of any candidate: by its rows of one group, or by all on one side."""
    if side == "equal":
        return sensitivity(measure, caps, groups, neighbours).linf
    rows = contribution_bounds.spread(caps, groups).l1
    return sensitivity(measure, Caps(rows, None, None), 1, neighbours).linf


def _is_one_way(measure: physical.Integers, factors: Sequence[int] | int) -> bool:
    if not isinstance(factors, int) and min(factors) < 0 < max(factors):
        return False
    return not (isinstance(measure, physical.SumSteps) and measure.low < 0 < measure.high)


def _whole(query: logical.SelectionQuery, grid: Fraction) -> tuple[tuple[int, ...] | int, int | None, int]:
    """Factors and target in steps small enough that all are whole, and how many such steps one is."""
    factors = [factor * grid for factor in query.factors or (Fraction(1),)]
    near = query.near
    steps = math.lcm(*{number.denominator for number in (*factors, near or Fraction(0))})
    whole_factors = tuple(int(factor * steps) for factor in factors)
    target = None if near is None else int(near * steps)
    return whole_factors if query.factors else whole_factors[0], target, steps


def _best_mechanism(spendings: Sequence[Spending], moved: int, one_way: bool, top: int) -> tuple[Spending, Mechanism]:
    """The mechanism of the largest epsilon: under a delta, the exponential one, because it has bounded range."""
    made = [(spent, _mechanism(spent, moved, one_way, top)) for spent in spendings]
    return max(made, key=lambda pair: pair[1].epsilon)


def _mechanism(spent: Spending, moved: int, one_way: bool, top: int) -> Mechanism:
    if top > 1:
        return TopK(k=top, sensitivity=moved, epsilon=spent.selection_epsilon(top), monotone=one_way)
    kind = PermuteAndFlip if spent.is_pure else Exponential
    return kind(sensitivity=moved, epsilon=spent.selection_epsilon(), monotone=one_way)


def _refuse_none_or_too_many(query: logical.SelectionQuery, top: int) -> None:
    count, most = len(query.candidates), logical.MOST_KEYS if query.side == "equal" else logical.MOST_EDGES
    if not top < max(2, count) or not count <= most or not count:
        raise KeysError(
            f"{top:,} of {count:,} candidates" if count else "no candidates",
            because=f"there are 1 to {most:,} candidates, and fewer are chosen than there are",
            instead="another list of candidates, or a smaller top",
        )
    if query.side != "equal":
        _require_order(query.candidates)


def _require_order(candidates: Sequence[object]) -> None:
    try:
        ordered = sorted(candidates)  # type: ignore[type-var]
    except TypeError:
        ordered = []
    if len(set(ordered)) != len(candidates):
        raise ParameterError(
            "candidates that are not in order, each once",
            because="rows are above or below each of them",
            instead="candidates of one type, numbers or dates, without repeats",
        )
