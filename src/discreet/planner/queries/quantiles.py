"""Quantiles of a value, several at once and for each group: what is pushed down, how they are found, what it costs.

The engine counts the rows at each step of a public grid between the bounds, in every group. A step is a part of its
group, so contribution bounds are for whole groups. From these counts a step is chosen for each quantile by its ranks,
or all quantiles are read off a noisy tree (quantile_methods.py). The planner takes the method with the smaller expected
error in ranks for the sizes that are public; where none are, the one with the smaller margin. Margins are in ranks,
because what a rank is worth in values is private.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet import events
from discreet.accounting.filters import Budget
from discreet.catalog.catalog import Catalog
from discreet.errors import UnsupportedError
from discreet.exact.numbers import Number, shown
from discreet.plan import logical, physical
from discreet.planner.budget import allocation
from discreet.planner.budget.allocation import MechanismName, Spending
from discreet.planner.queries import quantile_methods
from discreet.planner.queries.private_plan import TablePlan
from discreet.planner.queries.tables import refuse_ambiguous_names
from discreet.planner.resolve import grid_steps, keys
from discreet.planner.resolve.binding import Bound, bind
from discreet.planner.resolve.lowering import lower_query
from discreet.planner.sensitivity import contribution_bounds
from discreet.release.explanation import ExplainedOutput
from discreet.release.release import Figure, Key, MeasuredColumn, OutputColumn, Release
from discreet.release.result import DEFAULT_CONFIDENCE

RANKS = "ranks"
MEDIAN = Fraction(1, 2)
_NEGLIGIBLE = 0.5
_ALIKE = 1.25


@dataclass(frozen=True)
class QuantileOutput:
    """A named quantile and its share of the privacy cost."""

    name: str
    probability: Fraction
    weight: Fraction

    @property
    def kind(self) -> str:
        """What is asked for, in words."""
        return "median" if self.probability == MEDIAN else f"quantile {shown(self.probability)}"


@dataclass(frozen=True, kw_only=True)
class QuantilePlan(TablePlan):
    """Everything about quantiles of groups that is public: what is read, how they are found, what it costs."""

    group_columns: tuple[str, ...]
    quantiles: tuple[QuantileOutput, ...]
    low: int
    grid: Fraction
    method: quantile_methods.Method
    why: str

    @property
    def event(self) -> events.Event:
        """What a release does, for the accountants."""
        return self.method.event

    @property
    def clamps_values(self) -> bool:
        """Values outside the bounds count as the nearest bound."""
        return True

    @property
    def groups(self) -> int:
        """How many answers there are to each quantile."""
        return self.method.layout.groups

    @property
    def noise(self) -> str:
        """How quantiles are found, in words, and why so."""
        return f"{self.method.name} ({self.why})"

    @property
    def post_processing(self) -> tuple[str, ...]:
        """What is done to noisy counts before quantiles are shown, in words."""
        if isinstance(self.method, quantile_methods.ByChoice):
            return ()
        return tuple(
            f"{one.name}: read off counts that were made consistent by least squares" for one in self.quantiles
        )

    def randomize(self, exact: Sequence[Sequence[int]]) -> list[list[int]]:
        """What the method makes of the counts, with fresh noise."""
        return self.method.randomize(exact[0])

    def combine(self, exact: Sequence[Sequence[int]]) -> list[list[int]]:
        """What the method makes of the counts, without noise."""
        return self.method.combine(exact[0])

    def keys(self, noisy: quantile_methods.Noisy) -> tuple[Key, ...]:  # noqa: ARG002 - the keys do not depend on it
        """The public keys of the groups; their steps are no keys of the release."""
        rows = self.pushdown.keys.rows[:: self.method.layout.steps]
        return tuple(
            Key(name, column.type, tuple(row[i] for row in rows))
            for i, (name, column) in enumerate(zip(self.group_columns, self.pushdown.keys.columns, strict=False))
        )

    def measurements(self, noisy: quantile_methods.Noisy) -> tuple[MeasuredColumn, ...]:
        """Steps as they were chosen, or noisy counts."""
        return self.method.measurements(noisy, self.low, self.grid)

    def outputs(self, noisy: quantile_methods.Noisy, confidence: Fraction) -> tuple[OutputColumn, ...]:
        """The quantiles of each group with their margins in ranks."""
        places = self.method.places(noisy)
        return tuple(
            OutputColumn(
                one.name,
                one.kind,
                tuple(_figure(self.low + step, self.grid) for step in steps),
                (self.method.margin(place, confidence),) * len(steps),
                margin_of=RANKS,
            )
            for place, (one, steps) in enumerate(zip(self.quantiles, places, strict=True))
        )

    def restore_noisy(self, release: Release) -> list[list[int]]:
        """What is noisy, as a stored release holds it."""
        return self.method.restore_noisy(release.measured, self.low)

    def explain_outputs(self, confidence: Fraction) -> tuple[ExplainedOutput, ...]:
        """Each quantile in words, with its margin in ranks."""
        whose = "ranks of its group" if self.group_columns else "ranks"
        margins = [Fraction(self.method.margin(place, confidence)) for place in range(len(self.quantiles))]
        steps = "" if self.grid == 1 else f", in steps of {_grid_text(self.grid)}"
        return tuple(
            ExplainedOutput(one.name, one.kind, f"{self.method.describe(place)}{steps}", margins[place], whose)
            for place, one in enumerate(self.quantiles)
        )


def analyze_quantiles(
    query: logical.Aggregate,
    catalog: Catalog,
    budget: Budget,
    *,
    epsilon: Number | None = None,
    rho: Number | None = None,
    mechanism: MechanismName | None = None,
    share: Fraction = Fraction(1),
) -> QuantilePlan:
    """Plan quantiles, or refuse them; nothing here depends on the data."""
    refuse_ambiguous_names(query)
    measure, quantiles = _one_value(query)
    bare = bind(query.source, catalog)
    outer = keys.resolve(query.grouping, bare)
    unit, groups = bare.table.unit, len(outer.rows)
    caps = contribution_bounds.effective(
        unit, bare.table.caps, query.grouping.max_groups, query.grouping.max_rows_per_group
    )
    contribution_bounds.require_row_bound(
        f"{quantiles[0].kind} {quantiles[0].name!r}", unit, caps, by_group=bool(query.grouping.columns)
    )
    steps = grid_steps.few_steps(
        measure, quantiles[0].name, bare, min(logical.MOST_EDGES, logical.MOST_KEYS // groups - 1)
    )
    scope = bind(grid_steps.derive_step(query.source, measure, steps, bare), catalog)
    layout = quantile_methods.Layout(caps, groups, unit.neighbours, steps.high - steps.low + 1)
    public = _with_steps(query.grouping, scope, layout.steps)
    spendings = allocation.of_one_kind("quantiles", budget, epsilon=epsilon, rho=rho, mechanism=mechanism, share=share)
    spent, method, why = _best_method(spendings, layout, quantiles, _rows(query, bare, groups))
    return QuantilePlan(
        dataset=scope.name,
        unit=unit,
        caps=caps,
        pushdown=lower_query(
            scope, public, contribution_bounds.caps_to_enforce(unit, caps, groups), (physical.CountRows(),)
        ),
        group_columns=query.grouping.columns,
        quantiles=quantiles,
        low=steps.low,
        grid=steps.grid,
        method=method,
        why=why,
        spending=spent,
        slice=scope.table.part,
    )


def _one_value(
    query: logical.Aggregate,
) -> tuple[logical.MedianMeasure | logical.QuantileMeasure, tuple[QuantileOutput, ...]]:
    """The value that all outputs are quantiles of, and which."""
    quantiles, values = [], set()
    for output in query.outputs:
        measure = output.measure
        if not isinstance(measure, logical.MedianMeasure | logical.QuantileMeasure):
            raise _several(f"{output.name!r} beside a quantile")
        share = measure.probability if isinstance(measure, logical.QuantileMeasure) else MEDIAN
        quantiles.append(QuantileOutput(output.name, share, output.weight))
        values.add((measure.operand, measure.bounds, measure.grid))
    if len(values) > 1:
        raise _several("quantiles of several values")
    return measure, tuple(quantiles)  # type: ignore[return-value]


def _several(what: str) -> UnsupportedError:
    return UnsupportedError(
        f"{what} in one query",
        because="quantiles are found by counting the rows at each step of one value",
        instead="a query for each, released together: session.release([query, other], epsilon=...)",
    )


def _with_steps(grouping: logical.Grouping, scope: Bound, steps: int) -> physical.Keys:
    """The public keys of the groups, each with all steps as its parts."""
    outer = keys.resolve(grouping, scope)
    term = scope.term(logical.ColumnRef(grid_steps.STEP))
    return physical.Keys(
        (*outer.columns, term), tuple((*row, step) for row in outer.rows for step in range(steps)), inner=1
    )


def _rows(query: logical.Aggregate, scope: Bound, groups: int) -> tuple[int | None, str]:
    """How many rows a group has, and who says so."""
    told = [o.measure.rows for o in query.outputs if isinstance(o.measure, logical.QuantileMeasure) and o.measure.rows]
    if told:
        return sum(told) // len(told), "as sizes= says"
    if scope.table.rows is None:
        return None, ""
    return max(1, scope.table.rows // groups), "as declared"


def _best_method(
    spendings: Sequence[Spending],
    layout: quantile_methods.Layout,
    quantiles: tuple[QuantileOutput, ...],
    known: tuple[int | None, str],
) -> tuple[Spending, quantile_methods.Method, str]:
    """The method with the smallest expected error for known sizes; where errors are alike, with the smallest margin."""
    rows, who = known
    shares = tuple((one.probability, one.weight) for one in quantiles)
    made: list[tuple[Spending, quantile_methods.Method]] = []
    for spent in spendings:
        made.append((spent, quantile_methods.by_choice(layout, spent, shares)))
        made.append((spent, quantile_methods.by_tree(layout, spent, tuple(share for share, _ in shares))))

    def margin(method: quantile_methods.Method) -> float:
        return sum(method.margin(place, DEFAULT_CONFIDENCE) for place in range(len(quantiles))) / len(quantiles)

    errors = [0.0 if rows is None else max(_NEGLIGIBLE, method.expected_error(rows)) for _, method in made]
    near = [pair for pair, error in zip(made, errors, strict=True) if error <= _ALIKE * min(errors)]
    spent, method = min(near, key=lambda pair: margin(pair[1]))
    other = min((rest for _, rest in made if type(rest) is not type(method)), key=margin)
    rival = "a noisy tree" if isinstance(other, quantile_methods.ByTree) else "choosing a step for each"
    if rows is None:
        return spent, method, f"within {margin(method):,.0f} ranks on average, {rival} within {margin(other):,.0f}"
    sizes = f"with {rows:,} rows in a group, {who}, spread evenly"
    return (
        spent,
        method,
        f"off by {method.expected_error(rows):,.1f} ranks {sizes}; {rival} by {other.expected_error(rows):,.1f}",
    )


def _grid_text(grid: Fraction) -> str:
    return f"{grid.numerator:,}" if grid.denominator == 1 else shown(grid)


def _figure(steps: int, grid: Fraction) -> Figure:
    """Steps of the grid as the number they stand for: whole, or the nearest double."""
    if grid.denominator == 1:
        return steps * grid.numerator
    return steps * grid.numerator / grid.denominator
