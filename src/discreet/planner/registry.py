"""Which analysis a query belongs to: the one list of kinds of queries."""

from collections.abc import Callable
from fractions import Fraction
from typing import Protocol

from discreet.accounting.filters import Budget
from discreet.catalog.catalog import Catalog, ColumnType
from discreet.errors import TypeMismatchError
from discreet.errors.calls import keyword_text
from discreet.exact.numbers import Number
from discreet.plan import logical
from discreet.planner.budget.allocation import MechanismName
from discreet.planner.queries.auto_bounds import analyze_auto_bounds
from discreet.planner.queries.hierarchy import analyze_hierarchy
from discreet.planner.queries.moments import analyze_moments
from discreet.planner.queries.partition_selection import analyze_discovery
from discreet.planner.queries.private_plan import TablePlan
from discreet.planner.queries.quantiles import analyze_quantiles
from discreet.planner.queries.ranges import analyze_ranges
from discreet.planner.queries.selection import SelectionPlan, analyze_selection
from discreet.planner.queries.tables import analyze
from discreet.planner.queries.top_keys import TopKeysPlan, analyze_top_keys
from discreet.planner.resolve.binding import bind


class Analysis(Protocol):
    """From a query to its private plan."""

    def __call__(
        self,
        query: logical.Aggregate,
        catalog: Catalog,
        budget: Budget,
        *,
        epsilon: Number | None,
        rho: Number | None,
        mechanism: MechanismName | None,
        share: Fraction,
    ) -> TablePlan:
        """The private plan, or an error."""


def _with(*kinds: type[logical.Measure]) -> Callable[[logical.Aggregate], bool]:
    return lambda query: any(isinstance(output.measure, kinds) for output in query.outputs)


TABLES: tuple[tuple[Callable[[logical.Aggregate], bool], Analysis], ...] = (
    (lambda query: query.grouping.discovery is not None, analyze_discovery),
    (_with(logical.HierarchyCounts), analyze_hierarchy),
    (_with(logical.Ranges), analyze_ranges),
    (_with(logical.MomentsMeasure), analyze_moments),
    (_with(logical.MedianMeasure, logical.QuantileMeasure), analyze_quantiles),
    (_with(logical.AutoBoundsAggregate, logical.ClippingBounds), analyze_auto_bounds),
    (lambda _: True, analyze),
)
"""Every kind of query whose answer is a table, in the order in which they are tried."""


def plan_query(
    query: logical.Question,
    catalog: Catalog,
    budget: Budget,
    *,
    epsilon: Number | None = None,
    rho: Number | None = None,
    mechanism: MechanismName | None = None,
    share: Fraction = Fraction(1),
) -> TablePlan:
    """The private plan of a query, or an error; nothing here depends on the data."""
    if query.grouping.labels:
        _require_order(query, catalog)
    analysis = next(analysis for asks_for_it, analysis in TABLES if asks_for_it(query))
    return analysis(query, catalog, budget, epsilon=epsilon, rho=rho, mechanism=mechanism, share=share)


def _require_order(query: logical.Question, catalog: Catalog) -> None:
    """Refuse bins of text and the like; those of a histogram are the columns that were derived last."""
    source, cut = query.source, list[str]()
    while (
        isinstance(source, logical.Derive)
        and isinstance(source.expression, logical.Bin)
        and len(cut) < _number_of_bins(query)
    ):
        cut.append(source.name)
        source = source.source
    scope = bind(source, catalog)
    for name in cut:
        kind = scope.term(logical.ColumnRef(name)).type
        if kind in (ColumnType.TEXT, ColumnType.BOOLEAN):
            cast = f'table["{name}"].cast("real")'
            raise TypeMismatchError(
                f"a histogram of {name!r}, which is of type {kind}",
                because="its values have no order that all engines share",
                instead=f'group_by("{name}").agg(n=dp.count())'
                + (f", or derive({keyword_text(name, cast)}) first" if kind is ColumnType.TEXT else ""),
            )


def _number_of_bins(query: logical.Question) -> int:
    return sum(labels is not None for labels in query.grouping.labels)


def plan_selection(
    query: logical.SelectionQuery,
    catalog: Catalog,
    budget: Budget,
    *,
    epsilon: Number | None = None,
    rho: Number | None = None,
    share: Fraction = Fraction(1),
    top: int = 1,
) -> SelectionPlan | TopKeysPlan:
    """The private plan of a selection, among candidates that are public or to be found."""
    analysis = analyze_selection if query.discovery is None else analyze_top_keys
    return analysis(query, catalog, budget, epsilon=epsilon, rho=rho, share=share, top=top)
