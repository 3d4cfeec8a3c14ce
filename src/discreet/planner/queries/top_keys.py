"""The keys with the highest scores, of keys that are not known: what is pushed down, and what it costs.

The engine counts the rows or the units of every key that is there. What one unit moves is one key's score by its
contribution bound, in as many keys as it has; how many those are hardly matters, so no contribution bound on them is
asked for.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet import events
from discreet.accounting.filters import Budget
from discreet.catalog.catalog import Catalog, Value
from discreet.catalog.privacy_unit import Caps
from discreet.errors import UnsupportedError
from discreet.exact.numbers import Number, whole
from discreet.mechanisms.keys import TopKeys
from discreet.mechanisms.keys.top import LIMIT
from discreet.plan import logical, physical
from discreet.plan.physical import CountRows, CountUnits, KeyedTable
from discreet.planner.budget import allocation
from discreet.planner.queries.partition_selection import MANY, require_reserved_delta
from discreet.planner.queries.private_plan import AnswerPlan
from discreet.planner.queries.selection import CHOICE, MECHANISM_NAMES
from discreet.planner.resolve import keys
from discreet.planner.resolve.binding import bind
from discreet.planner.resolve.lowering import lower_query
from discreet.planner.sensitivity import contribution_bounds
from discreet.planner.sensitivity.sensitivity import sensitivity
from discreet.release.explanation import ExplainedOutput


@dataclass(frozen=True, kw_only=True)
class TopKeysPlan(AnswerPlan):
    """Everything about the choice of such keys that is public."""

    by: str
    at_least: int
    mechanism: TopKeys

    @property
    def event(self) -> events.Event:
        """What a selection does, for the accountants."""
        return self.mechanism.event()

    def randomize(self, exact: KeyedTable) -> list[Value]:
        """The chosen keys, best first as far as noise tells."""
        return [exact.keys[place][0] for place in self.mechanism.release(self.scores(exact))]

    def combine(self, exact: KeyedTable) -> list[Value]:
        """The keys that are above the bar, and the highest of them, without noise; the first of equals."""
        places, candidates = self.mechanism.candidates(self.scores(exact))
        above = [place for place, score in zip(places, candidates, strict=False) if score > candidates[-1]]
        return [exact.keys[place][0] for place in above[: self.mechanism.k]]

    def scores(self, exact: KeyedTable) -> list[int]:
        """The exact scores, in the order of the keys; of units, those beyond what a key must have."""
        return [max(0, score - self.at_least + 1) for score in exact.columns[0]]

    @property
    def noise(self) -> str:
        """The mechanism, in words."""
        return MECHANISM_NAMES[type(self.mechanism)]

    def explain_outputs(self, confidence: Fraction) -> tuple[ExplainedOutput, ...]:
        """How far below the best score the first of the chosen is, at most."""
        return (ExplainedOutput(CHOICE, "choice", self.noise, self.within(confidence), "below the best score"),)

    def within(self, confidence: Fraction) -> Fraction:
        """How far below the best score the first of the chosen is, at most, with this probability: public."""
        return self.mechanism.utility(1 - confidence)


def analyze_top_keys(
    query: logical.SelectionQuery,
    catalog: Catalog,
    budget: Budget,
    *,
    epsilon: Number | None = None,
    rho: Number | None = None,
    share: Fraction = Fraction(1),
    top: int = 1,
) -> TopKeysPlan:
    """Plan a private selection among unknown keys, or refuse it."""
    discovery = query.discovery
    assert discovery is not None  # noqa: S101 - the caller sees to it
    measure = _measure(query, discovery)
    require_reserved_delta(discovery.delta, budget)
    scope = bind(query.source, catalog)
    unit = scope.table.unit
    caps = contribution_bounds.effective(unit, scope.table.caps, None, query.max_rows_per_group)
    if isinstance(measure, CountRows):
        contribution_bounds.require_row_bound("a score", unit, caps)
    grouping = logical.Grouping((query.by,), (None,), None, None, query.max_rows_per_group, discovery=discovery)
    scope, found = keys.resolve_unknown(grouping, scope)
    spendings = allocation.spendings(budget, epsilon=epsilon, rho=rho, mechanism=None, share=share)
    spent = max(spendings, key=lambda each: each.selection_epsilon(whole(top, "top")))
    measures = tuple(dict.fromkeys((measure, CountUnits())))
    return TopKeysPlan(
        dataset=scope.name,
        unit=unit,
        pushdown=lower_query(scope, found, contribution_bounds.caps_to_enforce(unit, caps, MANY), measures),
        by=query.by,
        at_least=discovery.at_least,
        mechanism=TopKeys(
            k=top,
            epsilon=spent.selection_epsilon(top),
            delta=discovery.delta,
            sensitivity=sensitivity(measure, caps, MANY, unit.neighbours).linf,
            groups=_groups(caps),
            neighbours=str(unit.neighbours),  # type: ignore[arg-type]
        ),
        spending=spent,
        slice=scope.table.part,
    )


def _groups(caps: Caps) -> int:
    """How many keys one unit can be in, as far as that matters."""
    limits: Sequence[int | None] = (caps.max_groups, caps.max_rows, LIMIT)
    return min(limit for limit in limits if limit is not None)


def _measure(query: logical.SelectionQuery, discovery: logical.Discovery) -> physical.Integers:
    is_plain = query.side == "equal" and query.factors is None and query.near is None
    if is_plain and isinstance(query.measure, logical.CountDistinctUnits):
        return CountUnits()
    if is_plain and isinstance(query.measure, logical.Count) and discovery.at_least == 1:
        return CountRows()
    raise UnsupportedError(
        "candidates that are discovered, for this score",
        because="unknown keys are scored by counts of rows or units only",
        instead="dp.score(by=..., of=dp.count_units()), or of=dp.count() without at_least, "
        "or a list of public candidates",
    )
