"""Synthetic tables: the slots of columns, the marginals that are counted, and the event that is charged before a row.

Marginals are counted over at most R rows of a unit, which the engine enforces by the hash of every other query. One
unit moves each marginal by at most R rows. All noisy marginals and choices together cost the rho of the event.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from discreet.accounting.filters import Budget
from discreet.catalog.catalog import Catalog, Column
from discreet.catalog.privacy_unit import Caps, Neighbours
from discreet.errors import NameNotFoundError, ParameterError, TypeMismatchError, suggestion
from discreet.events import ConcentratedEvent
from discreet.exact.numbers import Number
from discreet.mechanisms import Gaussian
from discreet.plan import logical
from discreet.plan.physical import CountRows, Keys
from discreet.plan.slots import Counts, Marginal, MarginalBatch, SlotColumn, SlotTerm
from discreet.plan.synthesis import (
    Contribution,
    Synthesis,
    SynthesisFacts,
    Synthesizer,
    UnitSynthesis,
    marginal_of,
    private_counts,
    synthesizer_tag,
)
from discreet.planner.budget import allocation
from discreet.planner.queries.private_plan import AnswerPlan
from discreet.planner.resolve.binding import Bound, bind
from discreet.planner.resolve.catalog_slots import ColumnFacts, period_of, slot_columns
from discreet.planner.resolve.lowering import lower_query
from discreet.planner.sensitivity import contribution_bounds
from discreet.release.explanation import ExplainedOutput

_REASON = "the rhos of noisy marginals and choices add"


@dataclass(frozen=True)
class Declarations:
    """What a query declares of the slots of columns: edges, keys or bounds, by column; or slots that were found.

    Slots that were found are read as edges or keys, with the same checks: its holder may change a release.
    """

    edges: Mapping[str, Sequence[logical.Scalar]] = field(default_factory=dict)
    keys: Mapping[str, Sequence[logical.Scalar]] = field(default_factory=dict)
    bounds: Mapping[str, Sequence[logical.Scalar]] = field(default_factory=dict)
    found: Mapping[str, SlotColumn] = field(default_factory=dict)
    not_found: tuple[str, ...] = ()

    def of(self, name: str) -> dict[str, Any]:
        """What is declared of a column."""
        if self.uses_found(name):
            slots = self.found[name]
            return {"edges": slots.edges} if slots.edges else {"keys": slots.values}
        stated = {"edges": self.edges, "keys": self.keys, "bounds": self.bounds}
        return {what: tuple(values[name]) for what, values in stated.items() if name in values}

    def uses_found(self, name: str) -> bool:
        """Whether a column has the slots that were found: nothing else is declared of it."""
        return name in self.found and not any(name in values for values in (self.edges, self.keys, self.bounds))

    def require_type(self, name: str, column: Column) -> None:
        """Refuse slots that were found in a column of another type."""
        if self.uses_found(name) and self.found[name].type is not column.type:
            raise TypeMismatchError(
                f"slots of {name!r}, found as {self.found[name].type}",
                because=f"the column is of type {column.type}",
                instead=f"slots=found, of a search for {name!r} in this table",
            )

    def require_columns(self, names: Sequence[str]) -> None:
        """Refuse a declaration of a column that the table does not have."""
        for what, found in (("edges", self.edges), ("keys", self.keys), ("bounds", self.bounds)):
            for name in found:
                if name not in names:
                    raise NameNotFoundError(
                        f"{what} of {name!r}",
                        because="the synthetic table has no column of that name",
                        instead=suggestion(name, names),
                    )


@dataclass(frozen=True, kw_only=True)
class SynthesisPlan(AnswerPlan):
    """Everything about a synthetic table that is public before it is made."""

    tag: str
    synthesis: Synthesis
    batch: MarginalBatch
    contribution: Contribution
    workload: tuple[Marginal, ...] | None
    found: tuple[str, ...] = ()

    @property
    def clamps_values(self) -> bool:
        """Values outside the bins count as the nearest bin."""
        return True

    @property
    def missing_cells(self) -> str:
        """Columns have a slot for missing values, and for those that are not declared."""
        return "have a slot of their own, together with values that are not declared"

    @property
    def event(self) -> ConcentratedEvent:
        """The cost that private counts allow in all, for the accountants."""
        return ConcentratedEvent(self.synthesis.rho)

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
        """Which slots an earlier release found, what is measured and modelled."""
        names = ", ".join(map(repr, self.found))
        return (*([("slots found", f"of {names}, by an earlier release")] if names else []), *self.synthesis.words)

    def explain_outputs(self, confidence: Fraction) -> tuple[ExplainedOutput, ...]:
        """The margin of a slot of each column, which is public; how well other marginals fit is not."""
        noises = {name: self._noise_of(name, cost) for name, cost in self.synthesis.column_costs.items()}
        margins = {name: Fraction(noise.margin(confidence)) for name, noise in noises.items()}
        note = "for a slot of one column, at most; how well other marginals fit depends on the rows, which are private"
        columns = (
            ExplainedOutput(name, "count of a slot", noise.description(1, brief=True), margins[name])
            for name, noise in noises.items()
        )
        table = ExplainedOutput("table", self.synthesis.name, self.noise, max(margins.values(), default=None), note)
        return (table, *columns)

    def _noise_of(self, name: str, cost: Fraction) -> Gaussian:
        """The noise of a slot of a column that is measured at a cost; a unit has one slot in a column of units."""
        units, contribution = self.batch.units, self.contribution
        if units is not None and units.covers((name,)):
            contribution = contribution.of_units
        return Gaussian(squared_sensitivity=contribution.l2_squared, rho=cost, dimension=2 * contribution.rows)


def analyze_synthesis(
    source: logical.Relation,
    catalog: Catalog,
    budget: Budget,
    *,
    synthesizer: Synthesizer,
    columns: Sequence[str] | None,
    declared: Declarations,
    workload: Sequence[Marginal] | None,
    epsilon: Number | None = None,
    rho: Number | None = None,
    share: Fraction = Fraction(1),
) -> SynthesisPlan:
    """Plan a synthetic table from public facts alone, or refuse it."""
    scope = bind(source, catalog)
    tag = synthesizer_tag(synthesizer)
    spent = allocation.gaussian_spending("a synthetic table", budget, epsilon=epsilon, rho=rho, share=share)
    slots = slot_columns(column_facts(scope, columns, declared))
    contribution = Contribution(_most_rows(scope), scope.table.unit.neighbours is Neighbours.REPLACE_ONE)
    listed = None if workload is None else tuple(_marginal(names, slots) for names in workload)
    facts = SynthesisFacts(slots, spent.amount, contribution, listed, scope.table.unit.columns)
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
        found=tuple(column.name for column in slots if declared.uses_found(column.name)),
    )


def _batch(scope: Bound, synthesis: Synthesis) -> MarginalBatch:
    """The marginals over the engine's rows, of which a unit has at most the bound."""
    unit = scope.table.unit
    terms = tuple(SlotTerm(column, scope.term(logical.ColumnRef(column.name))) for column in synthesis.columns)
    caps = contribution_bounds.effective(unit, scope.table.caps, None, None)
    enforced = contribution_bounds.caps_to_enforce(unit, Caps(caps.max_rows), 1)
    pushdown = lower_query(scope, Keys(), enforced, (CountRows(),), tuple(each.term for each in terms))
    units = synthesis.units if isinstance(synthesis, UnitSynthesis) else None
    return MarginalBatch(pushdown, terms, synthesis.candidates, units)


def _most_rows(scope: Bound) -> int:
    """The most rows of a unit that are counted.

    Raises:
        UnboundedError: If nothing bounds them.
    """
    unit = scope.table.unit
    rows = contribution_bounds.effective(unit, scope.table.caps, None, None).max_rows
    contribution_bounds.require_row_bound("a synthetic table", unit, Caps(rows), by_group=False)
    return rows or 1


def column_facts(scope: Bound, columns: Sequence[str] | None, declared: Declarations) -> list[ColumnFacts]:
    """What is public about the columns: those that the query names, or all but the privacy unit."""
    unit = scope.table.unit.columns
    names = list(dict.fromkeys([*scope.table.columns, *scope.derived])) if columns is None else list(columns)
    names = [name for name in names if columns is not None or name not in unit]
    for name in names:
        if name in unit:
            others = [other for other in names if other not in unit]
            others = others or [other for other in scope.table.columns if other not in unit][:3]
            raise ParameterError(
                f"the privacy unit {name!r} among the columns of a synthetic table",
                because="names of people are never synthesised",
                instead=f"columns={others}",
            )
    declared.require_columns(names)
    part, columns_by_name = scope.table.part, {name: _column(scope, name) for name in names}
    for name, column in columns_by_name.items():
        declared.require_type(name, column)
    return [
        ColumnFacts(
            name, column, period=period_of(name, part), not_found=name in declared.not_found, **declared.of(name)
        )
        for name, column in columns_by_name.items()
    ]


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
