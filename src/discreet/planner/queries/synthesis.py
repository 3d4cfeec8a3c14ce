"""Synthetic tables: the slots of columns, the marginals that are counted, and the event that is charged before a row.

Marginals are counted over at most R rows of a unit, which the engine enforces by the hash of every other query. One
unit moves each marginal by at most R rows. All noisy marginals and choices together cost the rho of the event.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from discreet.accounting.filters import Budget
from discreet.catalog.catalog import Catalog, Column
from discreet.catalog.privacy_unit import Caps, Neighbours
from discreet.errors import BudgetError, NameNotFoundError, ParameterError, suggestion
from discreet.events import Event
from discreet.exact.numbers import Number
from discreet.plan import logical
from discreet.plan.physical import CountRows, Keys
from discreet.plan.slots import Counts, Marginal, MarginalBatch, SlotColumn, SlotTerm
from discreet.plan.synthesis import (
    Contribution,
    Synthesis,
    SynthesisFacts,
    Synthesizer,
    marginal_of,
    private_counts,
    synthesizer_tag,
)
from discreet.planner.budget import allocation
from discreet.planner.budget.allocation import Spending
from discreet.planner.queries.private_plan import AnswerPlan, HiddenMargin
from discreet.planner.resolve.binding import Bound, bind
from discreet.planner.resolve.catalog_slots import ColumnFacts, period_of, slot_columns
from discreet.planner.resolve.lowering import lower_query
from discreet.planner.sensitivity import contribution_bounds
from discreet.release.explanation import ExplainedOutput

_REASON = "the rhos of noisy marginals and choices add"
_PRIVATE = "how well a synthetic table fits depends on the rows, which are private"


@dataclass(frozen=True, kw_only=True)
class SynthesisPlan(AnswerPlan):
    """Everything about a synthetic table that is public before it is made."""

    tag: str
    synthesis: Synthesis
    batch: MarginalBatch
    contribution: Contribution
    workload: tuple[Marginal, ...] | None

    @property
    def clamps_values(self) -> bool:
        """Values outside the bins count as the nearest bin."""
        return True

    @property
    def missing_cells(self) -> str:
        """Columns have a slot for missing values, and for those that are not declared."""
        return "have a slot of their own, together with values that are not declared"

    @property
    def event(self) -> Event:
        """What a synthesis does, for the accountants."""
        return self.synthesis.event

    def randomize(self, counts: Counts) -> dict[str, Any]:
        """The state of the table, from noisy marginals and private choices."""
        return self.synthesis.train(private_counts(self.synthesis, counts, self.contribution, is_private=True))

    def combine(self, counts: Counts) -> dict[str, Any]:
        """The state of the table, from exact marginals."""
        return self.synthesis.train(private_counts(self.synthesis, counts, self.contribution, is_private=False))

    @property
    def noise(self) -> str:
        """The mechanism, in words."""
        return "discrete Gaussian noise on marginals"

    @property
    def details(self) -> tuple[tuple[str, str], ...]:
        """What is measured and modelled."""
        return self.synthesis.words

    def explain_outputs(self, confidence: Fraction) -> tuple[ExplainedOutput, ...]:  # noqa: ARG002 - it has no margin
        """The table; how well it fits is not public in advance."""
        note = "how well it fits depends on the rows, which are private"
        return (ExplainedOutput("table", self.synthesis.name, self.noise, None, note),)

    def hidden_margin(self, output: ExplainedOutput) -> HiddenMargin:  # noqa: ARG002 - there is one output
        """How well a synthetic table fits depends on the rows."""
        return HiddenMargin(_PRIVATE, "session.explain(query, epsilon=1), which says what is measured")


def analyze_synthesis(
    source: logical.Relation,
    catalog: Catalog,
    budget: Budget,
    *,
    synthesizer: Synthesizer,
    columns: Sequence[str] | None,
    edges: Mapping[str, Sequence[logical.Scalar]],
    workload: Sequence[Marginal] | None,
    epsilon: Number | None = None,
    rho: Number | None = None,
    share: Fraction = Fraction(1),
) -> SynthesisPlan:
    """Plan a synthetic table from public facts alone, or refuse it."""
    scope = bind(source, catalog)
    tag = synthesizer_tag(synthesizer)
    spent = _spending(budget, epsilon=epsilon, rho=rho, share=share)
    slots = slot_columns(_facts(scope, columns, edges))
    contribution = Contribution(_most_rows(scope), scope.table.unit.neighbours is Neighbours.REPLACE_ONE)
    listed = None if workload is None else tuple(_marginal(names, slots) for names in workload)
    facts = SynthesisFacts(slots, _size(scope), spent.amount, contribution, listed)
    synthesis = type(synthesizer).synthesis(synthesizer, facts)
    if synthesis.rho > spent.amount or synthesis.columns != slots:
        raise RuntimeError("a synthesis of a larger cost or of other columns than those that were asked for")
    batch = _batch(scope, synthesis)
    return SynthesisPlan(
        dataset=scope.name,
        unit=scope.table.unit,
        spending=replace(spent, reason=_REASON),
        slice=scope.table.part,
        pushdown=batch.pushdown,
        tag=tag,
        synthesis=synthesis,
        batch=batch,
        contribution=contribution,
        workload=listed,
    )


def _spending(budget: Budget, **price: Any) -> Spending:
    """What the synthesis costs; a pure budget has nothing for Gaussian noise."""
    if not budget.conversion_delta:
        raise BudgetError(
            "a synthetic table under a pure privacy budget",
            because="its Gaussian noise has no finite epsilon without a delta",
            instead="budget=dp.Budget(epsilon=2, delta=1e-9) in dp.protect",
        )
    return allocation.spending(budget, mechanism="gaussian", **price)


def _batch(scope: Bound, synthesis: Synthesis) -> MarginalBatch:
    """The marginals over the engine's rows, of which a unit has at most the bound."""
    unit = scope.table.unit
    terms = tuple(SlotTerm(column, scope.term(logical.ColumnRef(column.name))) for column in synthesis.columns)
    caps = contribution_bounds.effective(unit, scope.table.caps, None, None)
    enforced = contribution_bounds.caps_to_enforce(unit, Caps(caps.max_rows), 1)
    pushdown = lower_query(scope, Keys(), enforced, (CountRows(),), tuple(each.term for each in terms))
    return MarginalBatch(pushdown, terms, synthesis.candidates)


def _most_rows(scope: Bound) -> int:
    """The most rows of a unit that are counted.

    Raises:
        UnboundedError: If nothing bounds them.
    """
    unit = scope.table.unit
    rows = contribution_bounds.effective(unit, scope.table.caps, None, None).max_rows
    contribution_bounds.require_row_bound("a synthetic table", unit, Caps(rows), by_group=False)
    return rows or 1


def _facts(
    scope: Bound, columns: Sequence[str] | None, edges: Mapping[str, Sequence[logical.Scalar]]
) -> list[ColumnFacts]:
    """What is public about the columns: those that the query names, or all but the privacy unit."""
    unit = scope.table.unit.columns
    names = list(dict.fromkeys([*scope.table.columns, *scope.derived])) if columns is None else list(columns)
    names = [name for name in names if columns is not None or name not in unit]
    for name in names:
        if name in unit:
            others = [other for other in names if other not in unit] or ["age"]
            raise ParameterError(
                f"the privacy unit {name!r} among the columns of a synthetic table",
                because="names of people are never synthesised",
                instead=f"columns={others}",
            )
    for name in edges:
        if name not in names:
            raise NameNotFoundError(
                f"edges of {name!r}",
                because="the synthetic table has no column of that name",
                instead=suggestion(name, names),
            )
    part = scope.table.part
    given = {name: tuple(each) for name, each in edges.items()}
    return [ColumnFacts(name, _column(scope, name), given.get(name), period_of(name, part)) for name in names]


def _column(scope: Bound, name: str) -> Column:
    """What is declared of a column; of one that the query derives, its type and the bounds that follow."""
    found = scope.declared_column(logical.ColumnRef(name))
    kind = scope.term(logical.ColumnRef(name)).type
    return Column(type=kind) if found is None else found


def _marginal(names: Sequence[str], slots: Sequence[SlotColumn]) -> Marginal:
    known = [column.name for column in slots]
    for name in names:
        if name not in known:
            raise NameNotFoundError(
                f"{name!r} in the workload",
                because="the synthetic table has no column of that name",
                instead=suggestion(name, known),
            )
    return marginal_of(names, slots)


def _size(scope: Bound) -> int | None:
    """The public number of rows; of people where it is not declared and each has few rows."""
    return scope.table.rows or scope.table.population
