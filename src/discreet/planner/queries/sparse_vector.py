"""The sparse vector technique: what opening it costs, and whether a query keeps what was declared.

A sparse vector is charged as a whole when it opens, for any number of queries, each of which one unit moves by at
most the declared sensitivity. A query by groups is one query for each key, in the order of the keys: each counts
by how far one unit moves that one integer, however many groups the unit is in.

Under a pure epsilon one threshold serves all answers above. Under a privacy budget with a delta there are two forms at
the same cost: one threshold, or one for each answer above; and shown answers have the noise of the smallest margin. The
planner takes the form of the smallest error, which is public: `accuracy` over `REFERENCE_QUERIES` queries, and the
margin of a shown answer. Comparisons and shown answers get half of the cost each, so neither has more than about
sqrt(2) times the noise that the whole cost would buy.
"""

import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction

from discreet import events
from discreet.accounting.filters import Budget
from discreet.catalog.catalog import Catalog
from discreet.catalog.privacy_unit import Neighbours
from discreet.errors import BudgetError, ParameterError, UnboundedError, UnsupportedError
from discreet.exact.numbers import Number, shown
from discreet.mechanisms.lattice import Scalar
from discreet.mechanisms.threshold import AboveThreshold, RepeatedAboveThreshold
from discreet.plan import logical, physical
from discreet.plan.fingerprint import canonical
from discreet.plan.physical import Pushdown, leaves
from discreet.plan.wording import Lines, counted
from discreet.planner.budget import allocation
from discreet.planner.budget.allocation import Spending
from discreet.planner.queries.private_plan import PrivatePlan
from discreet.planner.resolve import keys
from discreet.planner.resolve.binding import bind
from discreet.planner.resolve.lowering import lower_query
from discreet.planner.resolve.measures import recipe
from discreet.planner.resolve.relations import origin
from discreet.planner.sensitivity import contribution_bounds
from discreet.planner.sensitivity.sensitivity import Sensitivity, sensitivity

REFERENCE_QUERIES = 1_000
"""The number of queries for which the accuracies of two forms are compared."""

Mechanism = AboveThreshold | RepeatedAboveThreshold


@dataclass(frozen=True)
class Threshold:
    """The options of the sparse vector technique, as they were given."""

    threshold: Number
    answers: int = 1
    sensitivity: Number = 1
    monotone: bool = False
    with_answers: bool = False
    gap: bool = False
    grid: Number = 1


@dataclass(frozen=True, kw_only=True)
class SparseVectorPlan(PrivatePlan):
    """Everything about a sparse vector that is public before it opens."""

    version: int
    mechanism: Mechanism

    @property
    def event(self) -> events.Event:
        """What the whole sparse vector does, for the accountants."""
        return self.mechanism.event()

    @property
    def words(self) -> Lines:
        """What was asked, for people."""
        above = self.mechanism.each if isinstance(self.mechanism, RepeatedAboveThreshold) else self.mechanism
        size = f"of sensitivity {shown(above.sensitivity)}" + (", monotone" if above.monotone else "")
        ends = f"until {counted(self.mechanism.answers, 'answer')} above"
        return ("table", self.dataset), (
            "above threshold",
            f"queries {size} compared with {shown(Fraction(above.threshold))}, {ends}",
        )

    @property
    def description(self) -> str:
        """The mechanism, as the ledger keeps it."""
        return canonical(("watch", self.dataset, self.version, self.unit, self.mechanism))


@dataclass(frozen=True)
class SparseVectorQueryPlan:
    """A query to an open sparse vector: what the engine is asked, and what one of its integers stands for."""

    dataset: str
    pushdown: Pushdown
    grid: Fraction

    @property
    def event(self) -> events.Event:
        """Nothing that is charged: the sparse vector was."""
        raise TypeError("a query to a sparse vector has no privacy cost of its own")


def analyze_sparse_vector(
    name: str,
    catalog: Catalog,
    budget: Budget,
    options: Threshold,
    *,
    epsilon: Number | None = None,
    rho: Number | None = None,
) -> SparseVectorPlan:
    """Plan a sparse vector, or refuse it: of the forms that the cost buys, the one with the smallest error."""
    table = catalog.table(name)
    if options.monotone and table.unit.neighbours is not Neighbours.ADD_REMOVE:
        raise BudgetError(
            f"monotone=True for {name!r}",
            because="a unit that is replaced may raise one answer and lower another",
            instead="monotone=False",
        )
    if len({leaf.table for leaf in leaves(origin(name, catalog).base) if not leaf.is_public}) > 1:
        raise UnsupportedError(
            f"a sparse vector of {name!r}, whose unit is in another table",
            because="a sparse vector is charged to one dataset, and the join reads two",
            instead="session.release(query, epsilon=...), which charges both",
        )
    spendings = allocation.spendings(budget, epsilon=epsilon, rho=rho, mechanism=None)
    found = [(spent, mechanism) for spent in spendings for mechanism in _forms(options, spent)]
    spent, mechanism = min(found, key=lambda pair: _error(pair[1])) if len(found) > 1 else found[0]
    return SparseVectorPlan(
        dataset=name,
        version=table.version,
        unit=table.unit,
        mechanism=mechanism,
        spending=spent,
        slice=table.part,
    )


def _forms(options: Threshold, spent: Spending) -> Iterator[Mechanism]:
    """The forms that a cost buys: one threshold of a pure epsilon; with a delta also those whose costs add up."""
    one = AboveThreshold(epsilon=spent.pure_epsilon, **vars(options))
    yield one
    if spent.is_pure:
        return
    for stages in sorted({1, one.answers} if one.with_answers else {one.answers} - {1}):
        with suppress(ParameterError):  # noise that cannot be drawn
            yield _in_stages(options, spent, one, stages)


def _in_stages(options: Threshold, spent: Spending, one: AboveThreshold, stages: int) -> RepeatedAboveThreshold:
    """So many stages with the answers of one threshold between them, and noise of its own for each shown answer."""
    share, noise = Fraction(1, stages), None
    if one.with_answers:
        steps = math.ceil(one.sensitivity / one.grid)
        noise = spent.part(Fraction(1, 2 * one.answers)).noise(Sensitivity(1, steps, steps**2, steps))
        share /= 2
    words = vars(options) | {"answers": one.answers // stages, "with_answers": False}
    return RepeatedAboveThreshold(
        AboveThreshold(epsilon=spent.part(share).pure_epsilon, **words), stages, answer_noise=noise
    )


def _error(mechanism: Mechanism) -> Scalar:
    """How far from the threshold a reply may be wrong, and how far a shown answer is from the exact one, at 95%."""
    shown_margin = mechanism.margin() if mechanism.with_answers else 0
    return mechanism.accuracy(REFERENCE_QUERIES) + shown_margin


def analyze_sparse_vector_query(
    query: logical.Aggregate, catalog: Catalog, vector: SparseVectorPlan
) -> SparseVectorQueryPlan:
    """Resolve and bound a query to an open sparse vector, or refuse it; nothing here depends on the data."""
    scope = bind(query.source, catalog)
    if scope.name != vector.dataset:
        raise UnsupportedError(
            f"a query to {scope.name!r} in a sparse vector of {vector.dataset!r}",
            because="a sparse vector is charged to one dataset",
            instead=f'dp.table("{vector.dataset}"), or session.above_threshold(table="{scope.name}", ...)',
        )
    if len(query.outputs) != 1:
        raise UnsupportedError(
            f"a query with {len(query.outputs)} outputs",
            because="a sparse vector compares one number at a time with its threshold",
            instead="vector.ask(query) for each of them",
        )
    made = recipe(query.outputs[0], scope)
    if len(made.parts) != 1:
        raise UnsupportedError(
            f"a {made.kind} in a sparse vector",
            because="its sensitivity depends on the number of rows",
            instead="dp.sum(...), or a sum of values less the threshold, held against zero",
        )
    (part,), unit = made.parts, scope.table.unit
    public = keys.resolve(query.grouping, scope)
    caps = contribution_bounds.effective(
        unit, scope.table.caps, query.grouping.max_groups, query.grouping.max_rows_per_group
    )
    if isinstance(part.measure, physical.CountRows | physical.SumSteps):
        contribution_bounds.require_row_bound(f"{made.kind} {made.name!r}", unit, caps)
    moved = sensitivity(part.measure, caps, len(public.rows), unit.neighbours).linf * made.grid
    _require_declared_options(made.name, moved, made.grid, part.measure, vector)
    asked = lower_query(
        scope, public, contribution_bounds.caps_to_enforce(unit, caps, len(public.rows)), (part.measure,)
    )
    _refuse_others(asked.scan, vector)
    return SparseVectorQueryPlan(scope.name, asked, made.grid)


def _refuse_others(scan: physical.Scan, vector: SparseVectorPlan) -> None:
    """A query that rests on protected tables which the sparse vector was not charged to."""
    others = [name for name, _ in scan.datasets if name != vector.dataset]
    if others:
        raise UnsupportedError(
            f"a join with {others[0]!r} in a sparse vector of {vector.dataset!r}",
            because="a sparse vector is charged to one dataset",
            instead="session.release(query, epsilon=...), which charges all of them",
        )


def _require_declared_options(
    name: str, moved: Fraction, grid: Fraction, measure: physical.Integers, vector: SparseVectorPlan
) -> None:
    declared = vector.mechanism.sensitivity
    if moved > declared:
        raise UnboundedError(
            f"{name!r} in a sparse vector of sensitivity {shown(declared)}",
            because=f"one unit can move it by {shown(moved)}, and the sparse vector was charged for less",
            instead=f"session.above_threshold(sensitivity={shown(moved)}, ...), or tighter bounds",
        )
    if (grid / vector.mechanism.grid).denominator != 1:
        raise ParameterError(
            f"{name!r} on the grid {shown(grid)}, in a sparse vector on the grid {shown(vector.mechanism.grid)}",
            because="its answers are not whole multiples of the grid of the sparse vector",
            instead=f"session.above_threshold(grid={shown(grid)}, ...), or grid=... on the aggregate",
        )
    if vector.mechanism.monotone and isinstance(measure, physical.SumSteps) and measure.low < 0:
        raise UnboundedError(
            f"{name!r} in a sparse vector with monotone=True",
            because="a row may lower it, where others raise their answers",
            instead="bounds=(0, ...), or monotone=False",
        )
