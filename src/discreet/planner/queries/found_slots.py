"""Slots of columns that are found privately: what is asked for each column, and the one event that is charged.

Definition
    A text has the values that partition selection keeps. A number with bounds has edges at quantiles; one without has
    bounds and edges from noisy counts of sizes. A date or time has the years that partition selection keeps. Each is an
    existing query with its own contribution bounds, of the rows that have a value. They divide the cost evenly.

Guarantee
    All slots together have the privacy loss of the composed event of the searches: costs add, and the deltas of
    partition selection add to `own_delta`. Rows are left out one by one, by their own cell. Edges and the order of
    values are post-processing of noisy answers. Proof: docs/proofs/planner/queries/found_slots.md.

Exactness
    Costs and deltas are rationals; edges are whole steps of a public grid until they are numbers.

Not covered
    Values of few units, which are left out, and whether bins hold about as many rows each.

References
    Those of the queries: discreet.mechanisms.keys, quantiles and auto_bounds.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet import events
from discreet.accounting.filters import Budget, readable
from discreet.catalog.catalog import NUMERIC, UNSTRUCTURED, Catalog, ColumnType
from discreet.catalog.privacy_unit import Caps
from discreet.errors import BudgetError, ParameterError
from discreet.exact.numbers import Number, shown
from discreet.plan import logical
from discreet.plan.physical import Pushdown
from discreet.plan.slots import SlotColumn
from discreet.planner.budget import allocation
from discreet.planner.queries.auto_bounds import AutoBoundsPlan, analyze_auto_bounds
from discreet.planner.queries.partition_selection import DiscoveryPlan, analyze_discovery
from discreet.planner.queries.private_plan import AnswerPlan, HiddenMargin, TablePlan
from discreet.planner.queries.quantiles import QuantilePlan, analyze_quantiles
from discreet.planner.queries.slot_edges import histogram_edges, numbers, quantile_edges, year_edges
from discreet.planner.queries.synthesis import Declarations, column_facts
from discreet.planner.resolve.binding import Bound, bind
from discreet.planner.resolve.catalog_slots import slots_of
from discreet.release.explanation import ExplainedOutput

MOST_VALUES = 1_000
"""Values of a column; of more, those with the largest noisy numbers of units."""
SHARE_OF_RESERVE = Fraction(1, 10)
"""The part of the reserved delta that the search spends where the query states none."""
_YEAR = "year of "
_FOR_NAMES = Fraction(99)
"""Weight of partition selection against the numbers of units: these only rank values beyond the limit."""
_HIDDEN = HiddenMargin(
    "which slots are found depends on the rows, which are private",
    "session.explain(query, epsilon=1), which says how they are found",
)


@dataclass(frozen=True)
class ColumnSearch:
    """The search for the slots of one column.

    Attributes:
        name: Name of the column.
        type: Its type.
        bins: Most bins of a number or date.
        plan: The query that finds them.
    """

    name: str
    type: ColumnType
    bins: int
    plan: TablePlan

    def slots(self, noisy: Any) -> SlotColumn | None:
        """The slots, from what is noisy alone; None where nothing was found."""
        if isinstance(self.plan, DiscoveryPlan) and self.type is ColumnType.TEXT:
            pairs = zip((row[0] for row in noisy.keys), noisy.columns[0], strict=True)
            largest = sorted(pairs, key=lambda pair: (-pair[1], str(pair[0])))[:MOST_VALUES]
            values = tuple(sorted(str(value) for value, _ in largest if value is not None))
            return SlotColumn(self.name, self.type, values=values) if values else None
        edges = self._edges(noisy)
        return SlotColumn(self.name, self.type, edges=edges) if edges else None

    def _edges(self, noisy: Any) -> tuple[logical.Scalar, ...]:
        plan = self.plan
        if isinstance(plan, DiscoveryPlan):
            return year_edges(self.type, [row[0] for row in noisy.keys if isinstance(row[0], int)], self.bins)
        if isinstance(plan, QuantilePlan):
            points = [plan.low + steps[0] for steps in plan.method.places(noisy)]
            last = plan.low + plan.method.layout.steps - 1
            return numbers(self.type, quantile_edges(points, plan.low, last), plan.grid)
        assert isinstance(plan, AutoBoundsPlan)  # noqa: S101 - there is no other search
        bounds = noisy.found.bounds
        if bounds is None:
            return ()
        return numbers(self.type, histogram_edges(plan.scale, noisy.found.counts, bounds, self.bins), plan.grid)

    @property
    def words(self) -> str:
        """How the slots are found, in words."""
        plan = self.plan
        if isinstance(plan, DiscoveryPlan):
            what = "values" if self.type is ColumnType.TEXT else "years"
            often = plan.rule.least_units(Fraction(19, 20))
            return f"{what} by partition selection at delta {shown(plan.rule.delta)}: of {often:,} units in 95%"
        if isinstance(plan, QuantilePlan):
            return f"at most {self.bins:,} bins between quantiles"
        assert isinstance(plan, AutoBoundsPlan)  # noqa: S101 - there is no other search
        return f"about {self.bins:,} bins between bounds: {plan.search.description}"


@dataclass(frozen=True, kw_only=True)
class SlotsPlan(AnswerPlan):
    """Everything that is public about slots that are to be found."""

    searches: tuple[ColumnSearch, ...]
    own_delta: Fraction
    bins: int

    @property
    def event(self) -> events.Event:
        """The searches of all columns."""
        return events.ComposedEvent(tuple(search.plan.event for search in self.searches))

    @property
    def pushdowns(self) -> tuple[Pushdown, ...]:
        """What the engine is asked, for each column."""
        return tuple(search.plan.pushdown for search in self.searches)

    @property
    def contribution_bounds(self) -> Caps:
        """What one unit may contribute."""
        return self.searches[0].plan.caps

    @property
    def groups(self) -> int:
        """There is one answer."""
        return 1

    @property
    def noise(self) -> str:
        """The mechanisms, in words."""
        return "; ".join(dict.fromkeys(search.plan.noise for search in self.searches))

    @property
    def clamps_values(self) -> bool:
        """Values outside the bins count as the nearest bin."""
        return True

    @property
    def key_selection(self) -> str:
        """Which columns have keys that are found, in words."""
        names = [repr(search.name) for search in self.searches if isinstance(search.plan, DiscoveryPlan)]
        return f"values or years of {', '.join(names)}, not known before" if names else ""

    def randomize(self, exact: Sequence[Any]) -> list[SlotColumn | None]:
        """The slots of each column, from noisy answers."""
        pairs = zip(self.searches, exact, strict=True)
        return [search.slots(search.plan.randomize(answer)) for search, answer in pairs]

    def combine(self, exact: Sequence[Any]) -> list[SlotColumn | None]:
        """The slots of each column, from exact answers."""
        pairs = zip(self.searches, exact, strict=True)
        return [search.slots(search.plan.combine(answer)) for search, answer in pairs]

    def explain_outputs(self, confidence: Fraction) -> tuple[ExplainedOutput, ...]:  # noqa: ARG002 - without margins
        """The search of each column; which slots are found is not public in advance."""
        note = "which are found depends on the rows"
        return tuple(ExplainedOutput(search.name, "slots", search.words, None, note) for search in self.searches)

    def hidden_margin(self, output: ExplainedOutput) -> HiddenMargin:  # noqa: ARG002 - it is the same for all
        """Which slots are found depends on the rows."""
        return _HIDDEN


def analyze_slots(
    source: logical.Relation,
    catalog: Catalog,
    budget: Budget,
    *,
    columns: Sequence[str] | None,
    delta: Fraction | None,
    bins: int,
    epsilon: Number | None = None,
    rho: Number | None = None,
    share: Fraction = Fraction(1),
) -> SlotsPlan:
    """Plan a search for slots from public facts alone, or refuse it."""
    scope = bind(source, catalog)
    spent = allocation.spending(budget, epsilon=epsilon, rho=rho, mechanism=None, share=share)
    names = _names(scope, columns)
    types = {name: scope.term(logical.ColumnRef(name)).type for name in names}
    selected = sum(types[name] not in NUMERIC for name in names)
    own = _delta(delta, budget) if selected else Fraction(0)
    price: dict[str, Any] = {"epsilon": epsilon, "rho": rho, "mechanism": None, "share": share / len(names)}
    searches = []
    for name in names:
        query, analyze = _query(source, scope, name, own / max(selected, 1), bins)
        searches.append(ColumnSearch(name, types[name], bins, analyze(query, catalog, budget, **price)))
    return SlotsPlan(
        dataset=scope.name,
        unit=scope.table.unit,
        spending=spent,
        slice=scope.table.part,
        pushdown=searches[0].plan.pushdown,
        searches=tuple(searches),
        own_delta=own,
        bins=bins,
    )


def _names(scope: Bound, columns: Sequence[str] | None) -> list[str]:
    """The columns whose slots are to be found: those that the query names, or all that have none declared."""
    facts = column_facts(scope, columns, Declarations())
    if columns is None:
        found = [each.name for each in facts if each.column.type not in UNSTRUCTURED and slots_of(each) is None]
        if not found:
            raise ParameterError(
                "a search for slots without columns",
                because="all columns have bounds or keys in the catalog",
                instead="table.synthesize(synthesizer), or find_slots([...]) with the names of columns",
            )
        return found
    for each in facts:
        if each.column.type in (ColumnType.BOOLEAN, *UNSTRUCTURED):
            raise ParameterError(
                f"slots of {each.name!r} that are to be found",
                because=f"a column of type {each.column.type} has "
                + ("two known values" if each.column.type is ColumnType.BOOLEAN else "no values to count"),
                instead=f"find_slots({[one.name for one in facts if one is not each] or ['occupation']})",
            )
    return [each.name for each in facts]


def _delta(given: Fraction | None, budget: Budget) -> Fraction:
    """The delta of all searches together; by default a tenth of what the budget reserves."""
    delta = budget.reserve * SHARE_OF_RESERVE if given is None else given
    if not 0 < delta <= budget.reserve:
        reserve = shown(readable(budget.reserve))
        raise BudgetError(
            f"slots that are found at delta {shown(delta)}",
            because=f"partition selection spends that delta, and the privacy budget reserves {reserve}",
            instead=f"find_slots(delta={reserve})"
            if budget.reserve
            else f"budget=dp.Budget(epsilon={shown(budget.epsilon)}, delta=1e-9), whose tenth is reserved",
        )
    return delta


def _query(
    source: logical.Relation, scope: Bound, name: str, delta: Fraction, bins: int
) -> tuple[logical.Aggregate, Any]:
    """The query that finds the slots of a column, and its analysis; rows without a value are left out."""
    column, kind = logical.ColumnRef(name), scope.term(logical.ColumnRef(name)).type
    present: logical.Relation = logical.Where(source, logical.Not(logical.IsMissing(column)))
    if kind not in NUMERIC:
        key = name
        if kind is not ColumnType.TEXT:
            key = f"{_YEAR}{name}"
            present = logical.Derive(present, key, logical.DatePart(column, "year"))
        units = logical.Output("units", logical.CountDistinctUnits())
        discovery = logical.Discovery((key,), delta, weight=_FOR_NAMES)
        grouping = logical.Grouping((key,), (None,), discovery=discovery)
        return logical.Aggregate(present, (units,), grouping), analyze_discovery
    declared = scope.declared_column(column)
    if declared is None or declared.bounds is None:
        measure = logical.ClippingBounds(column, None, logical.Search(Fraction(1)))
        return logical.Aggregate(present, (logical.Output("bounds", measure),)), analyze_auto_bounds
    quantiles = [logical.QuantileMeasure(column, Fraction(place, bins)) for place in range(1, bins)]
    outputs = tuple(logical.Output(f"{name} {place}", measure) for place, measure in enumerate(quantiles))
    return logical.Aggregate(present, outputs), analyze_quantiles
