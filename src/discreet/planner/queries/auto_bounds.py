"""Automatic clipping bounds: bounds are found for a share of the privacy cost, answers take the rest.

Definition
    A value is counted in whole steps of a public grid, on a public scale of bins whose edges are 1, 1.5, 2, 3, 5 and 7
    times powers of ten, on both sides of zero (`log_scale`). In one pass an engine counts the rows and sums
    the steps of each bin, in each group. First, from the bins of all groups together, two candidates low < high of the
    scale are found, by noisy counts or by above-threshold (`bound_search`). Then the query is asked as if these
    had been given as bounds: sums of clamped steps, which follow exactly from the bins, and counts get noise for that
    sensitivity. Where no bounds are found there are no sums and means, which is a result of its own; counts are
    answered as ever.

Guarantee
    Let a query spend epsilon (or rho), and a share s of it on the search. The bounds are s epsilon-DP (s rho-zCDP). For
    every pair of bounds, the second step is (1 - s) epsilon-DP (its rho-zCDP), so both together are epsilon-DP
    (rho-zCDP) by adaptive composition, for units and contribution bounds as they are declared and for both neighbour
    relations. Bounds that are asked for alone spend the whole. Proof: docs/proofs/planner/queries/auto_bounds.md.

Exactness
    Bins, counts, sums and clamped totals are integers. Both parts of a privacy cost are whole units of the ledger and
    add up to what was asked for; the second step is charged as its whole part before its bounds are known, and its
    noise is the least double at or above what that part asks for. Which candidates are taken is decided in floats from
    what is noisy already.

Not covered
    How far a value beyond the bounds was moved: clamping biases answers, and margins speak of noise alone. Values of
    2^63 steps or more, which are read as missing. Data whose rows in the outermost bins are too few to be seen.

References
    Wilson, Zhang, Lam, Desfontaines, Simmons-Marengo and Gipson, Differentially Private SQL with Bounded User
    Contribution, PETS 2020, Section 3.2 (bounds from a histogram on a logarithmic scale); Amin, Kulesza, Munoz Medina
    and Vassilvitskii, Bounding User Contributions: A Bias-Variance Trade-off in Differential Privacy, ICML 2019; Dwork
    and Roth, The Algorithmic Foundations of Differential Privacy, 2014, Theorem 3.16 and Section 3.6 (composition,
    above-threshold); Bun and Steinke, Concentrated Differential Privacy, TCC 2016, Lemma 1.7 (adaptive composition).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

from discreet import events
from discreet.accounting.filters import Budget
from discreet.catalog.catalog import Catalog, ColumnType
from discreet.catalog.privacy_unit import Caps, Unit
from discreet.errors import KeysError, ParameterError, UnsupportedError
from discreet.exact.numbers import Number, shown
from discreet.exact.rounding import units_down
from discreet.plan import logical, physical
from discreet.plan.physical import CountRows, Integers, Keys, Pushdown, SumSteps
from discreet.planner.budget import allocation
from discreet.planner.budget.allocation import MechanismName, Spending
from discreet.planner.budget.least_margin import calibrate
from discreet.planner.queries.aggregate import AggregatePlan
from discreet.planner.queries.bound_search import BOUNDS, BoundSearch, FoundBounds, by_counts, by_growth
from discreet.planner.queries.log_scale import Bounds, Scale
from discreet.planner.queries.private_plan import HiddenMargin, TablePlan
from discreet.planner.queries.tables import analyze
from discreet.planner.resolve import keys
from discreet.planner.resolve.binding import Bound, bind
from discreet.planner.resolve.lowering import lower_query
from discreet.planner.resolve.measures import SHARE_OF_A_MEANS_SUM, search_steps
from discreet.planner.sensitivity import contribution_bounds
from discreet.planner.sensitivity.sensitivity import Sensitivity, sensitivity
from discreet.release.explanation import ExplainedOutput
from discreet.release.release import Key, MeasuredColumn, OutputColumn, Release
from discreet.release.result import DEFAULT_CONFIDENCE
from discreet.release.values.columns import empty_output

Steps = Sequence[Sequence[int]]
LOW, HIGH = "low", "high"
_MANY = 10**6


class BoundsAndAnswers(NamedTuple):
    """What was found first, and the noisy integers of the query that was asked with it."""

    found: FoundBounds
    rest: Any


@dataclass(frozen=True, kw_only=True)
class AutoBoundsPlan(TablePlan):
    """Everything about a query whose bounds are found first that is public before it is answered."""

    query: logical.Aggregate
    catalog: Catalog
    budget: Budget
    search: BoundSearch
    grid: Fraction
    rest: Fraction

    @property
    def noise(self) -> str:
        """The kind of noise, in words: it is charged before the bounds are known, so it is of one kind for all."""
        return self.spending.kind.name

    @property
    def event(self) -> events.Event:
        """The search, and the rest of the privacy cost, for any bounds that it finds."""
        first = self.search.event()
        if not self.rest:
            return first
        is_pure = self.spending.is_pure
        return events.ComposedEvent((first, (events.PureEvent if is_pure else events.ConcentratedEvent)(self.rest)))

    @property
    def clamps_values(self) -> bool:
        """Values outside the bounds that are found count as the nearest bound, where something is computed within."""
        return bool(self.rest)

    @property
    def groups(self) -> int:
        """How many groups there are; each has all bins."""
        return len(self.pushdown.keys.rows) // (len(self.scale.bins) + 1)

    @property
    def scale(self) -> Scale:
        """The candidates for bounds."""
        return self.search.scale

    @property
    def post_processing(self) -> tuple[str, ...]:
        """What is done to noisy integers before they are shown, in words."""
        if not self.rest:
            return (f"bounds: found by {self.search.description}",)
        names = ", ".join(output.name for output in self._outputs_with_bounds)
        price = f"for {self._share} of the privacy cost, by {self.search.description}"
        found = f"{names}: clipped to bounds found first, {price}"
        means = [
            o.name
            for o in self._outputs_with_bounds
            if isinstance(o.measure, logical.AutoBoundsAggregate) and _is_mean(o.measure)
        ]
        return found, *(f"{name}: clamped to its bounds" for name in means)

    def within(self, bounds: Bounds | None) -> AggregatePlan:
        """The query as it is asked once the bounds are known; the counts alone, where nothing was found."""
        if bounds not in self._plans:
            price = _price(self.spending, self.rest)
            query = self.query if bounds else replace(self.query, outputs=self._count_outputs)
            self._plans[bounds] = _plan_within(query, self.catalog, self.budget, self.grid, bounds or (0, 0), price)
        return self._plans[bounds]

    @cached_property
    def _plans(self) -> dict[Bounds | None, AggregatePlan]:
        return {}

    @property
    def _count_outputs(self) -> tuple[logical.Output, ...]:
        return tuple(output for output in self.query.outputs if isinstance(output.measure, logical.Count))

    def _has_answers(self, found: FoundBounds) -> bool:
        """Whether there is a second step: not for bounds alone, and without bounds only where there are counts."""
        return bool(self.rest) and bool(found.bounds or self._count_outputs)

    def randomize(self, exact: Steps) -> BoundsAndAnswers:
        """Bounds from all groups together, then the noisy integers of the query within them."""
        found = self.search.find(*self._together(exact), self._error if self.rest else None)
        return BoundsAndAnswers(found, self._answer_integers(found, exact, noisy=True))

    def combine(self, exact: Steps) -> BoundsAndAnswers:
        """Bounds that leave every value as it is, then the exact integers of the query within them."""
        counts, _ = self._together(exact)
        found = FoundBounds(self.scale.nonempty_bounds(self.scale.filled_bounds(counts, (0,))), tuple(counts))
        return BoundsAndAnswers(found, self._answer_integers(found, exact, noisy=False))

    def keys(self, noisy: BoundsAndAnswers) -> tuple[Key, ...]:
        """The public keys."""
        return self.within(self.scale.narrowest).keys(noisy.rest) if self.rest else ()

    def measurements(self, noisy: BoundsAndAnswers) -> tuple[MeasuredColumn, ...]:
        """The noisy integers of the answers, and then those of the search."""
        answers = self.within(noisy.found.bounds).measurements(noisy.rest) if self._has_answers(noisy.found) else ()
        return *answers, *self.search.measurements(noisy.found, self.grid)

    def restore_noisy(self, release: Release) -> BoundsAndAnswers:
        """What is noisy, as a stored release holds it."""
        *answers, last = (measured for measured in release.measured if measured.places in ("", BOUNDS))
        counts = [measured.steps for measured in release.measured if measured.places not in ("", BOUNDS)]
        bounds = (last.steps[0], last.steps[1]) if last.steps else None
        return BoundsAndAnswers(FoundBounds(bounds, *counts[:1]), [measured.steps for measured in answers])

    def outputs(self, noisy: BoundsAndAnswers, confidence: Fraction) -> tuple[OutputColumn, ...]:
        """Answers with their margins, and the bounds that they are for."""
        bounds = noisy.found.bounds
        asked = self.within(bounds).outputs(noisy.rest, confidence) if self._has_answers(noisy.found) else ()
        known = {output.name: output for output in asked}
        every = self.query.outputs if self.rest else ()
        answers = (known.get(output.name) or self._nothing(output) for output in every)
        shown_bounds = zip(self._names, ("lower bound", "upper bound"), bounds or (None, None), strict=True)
        return *answers, *(self._bound(name, kind, bound) for name, kind, bound in shown_bounds)

    def explain_outputs(self, confidence: Fraction) -> tuple[ExplainedOutput, ...]:
        """Each output in words; margins are in terms of the bounds that are found."""
        names = ", ".join(self._names)
        search = ExplainedOutput(
            names, "bounds", self.search.description, None, f"0 once found, for {self._share} of the privacy cost"
        )
        if not self.rest:
            return (search,)
        wide = _far(self.scale)
        told = self.within(wide).explain_outputs(confidence)
        return search, *(_in_terms_of_bounds(each, wide, self.grid) for each in told)

    def hidden_margin(self, output: ExplainedOutput) -> HiddenMargin:  # noqa: ARG002 - all outputs rest on them
        """It follows the bounds; of a mean also the sizes of the groups."""
        return HiddenMargin(
            "its margin depends on bounds that the query itself finds",
            "bounds=(lo, hi), or explain(query, epsilon=...), which shows margins in terms of the bounds",
        )

    @property
    def _share(self) -> str:
        return shown(1 - self.rest / self.spending.amount)

    @property
    def _outputs_with_bounds(self) -> tuple[logical.Output, ...]:
        return tuple(output for output in self.query.outputs if isinstance(output.measure, logical.AutoBoundsAggregate))

    @property
    def _names(self) -> tuple[str, str]:
        return _names_of_bounds(self.query)

    def _nothing(self, output: logical.Output) -> OutputColumn:
        is_mean = isinstance(output.measure, logical.AutoBoundsAggregate) and _is_mean(output.measure)
        return empty_output(output.name, "mean" if is_mean else "sum", self.groups)

    def _bound(self, name: str, kind: str, bound: int | None) -> OutputColumn:
        if bound is None:
            return empty_output(name, kind, self.groups)
        value = bound * self.grid
        number = int(value) if self.grid.denominator == 1 else float(value)
        return OutputColumn(name, kind, (number,) * self.groups, (0,) * self.groups)

    def _parts(self, exact: Steps) -> list[tuple[Sequence[int], Sequence[int]]]:
        """The counts and the sums of each group: of its bins, and last of its rows without a value."""
        counts, sums = exact
        size = len(self.scale.bins) + 1
        return [(counts[i : i + size], sums[i : i + size]) for i in range(0, len(counts), size)]

    def _together(self, exact: Steps) -> tuple[list[int], list[int]]:
        """The counts and the sums of each bin, over all groups."""
        counts, sums = zip(*self._parts(exact), strict=True)
        return [sum(column) for column in zip(*counts, strict=True)][:-1], [sum(c) for c in zip(*sums, strict=True)][
            :-1
        ]

    def _answer_integers(self, found: FoundBounds, exact: Steps, *, noisy: bool) -> list[list[int]]:
        if not self._has_answers(found):
            return []
        private = self.within(found.bounds)
        table = [self._totals(measure, found.bounds, exact) for measure in private.pushdown.measures]
        return private.randomize(table) if noisy else private.combine(table)

    def _totals(self, measure: Integers, bounds: Bounds | None, exact: Steps) -> list[int]:
        """A measure of each group, from its bins."""
        match measure:
            case CountRows(None):
                return [sum(counts) for counts, _ in self._parts(exact)]
            case CountRows():
                return [sum(counts[:-1]) for counts, _ in self._parts(exact)]
            case SumSteps(low=low, high=high, centre=centre, power=1) if bounds and (low, high) == bounds:
                parts = ((counts[:-1], sums[:-1]) for counts, sums in self._parts(exact))
                return [self.scale.clamped_sum(counts, sums, bounds) - centre * sum(counts) for counts, sums in parts]
        raise TypeError(type(measure).__name__)

    def _error(self, bounds: Bounds) -> float:
        """How large the noise of the sums is over all groups, on average, were these the bounds."""
        weights = sum((output.weight for output in self.query.outputs), Fraction(0))
        return self.groups * math.fsum(self._noise_of(output, bounds, weights) for output in self._outputs_with_bounds)

    def _noise_of(self, output: logical.Output, bounds: Bounds, weights: Fraction) -> float:
        is_mean = isinstance(output.measure, logical.AutoBoundsAggregate) and _is_mean(output.measure)
        share = output.weight / weights * (SHARE_OF_A_MEANS_SUM if is_mean else 1)
        centre = sum(bounds) // 2 if is_mean else 0
        total = SumSteps(physical.Constant(0, ColumnType.INTEGER), Fraction(1), *bounds, centre)
        moved = sensitivity(total, self.caps, self.groups, self.unit.neighbours)
        noise, part = self.spending.kind, self.rest * share
        return noise.mean_over_deviation * math.sqrt(float(noise.unit_variance(moved) / part**noise.power))


def analyze_auto_bounds(
    query: logical.Aggregate,
    catalog: Catalog,
    budget: Budget,
    *,
    epsilon: Number | None = None,
    rho: Number | None = None,
    mechanism: MechanismName | None = None,
    share: Fraction = Fraction(1),
) -> AutoBoundsPlan:
    """Plan a query whose bounds are found first, or refuse it; nothing here depends on the data."""
    operand, grid, search = _only(query)
    scope = bind(query.source, catalog)
    steps, unit = search_steps(operand, grid, scope), scope.table.unit
    public = keys.resolve(query.grouping, scope)
    caps = contribution_bounds.effective(
        unit, scope.table.caps, query.grouping.max_groups, query.grouping.max_rows_per_group
    )
    alone = isinstance(query.outputs[0].measure, logical.ClippingBounds)
    what = "bounds that are found" if alone else f"bounds of {query.outputs[0].name!r}"
    contribution_bounds.require_row_bound(what, unit, caps, by_group=bool(query.grouping.columns))
    asked = allocation.spendings(budget, epsilon=epsilon, rho=rho, mechanism=mechanism, share=share)
    spent = _narrowest(asked, sensitivity(_far_sum(), caps, len(public.rows), unit.neighbours))
    first = spent.amount if alone else _part(spent, search.share)
    ends = steps.low, steps.high
    if not alone:
        _refuse_ambiguous_names(query)
        ends = _drawable(query, catalog, budget, steps, _price(spent, spent.amount - first))
    scale = Scale.between(*ends)
    return AutoBoundsPlan(
        dataset=scope.name,
        unit=unit,
        caps=caps,
        pushdown=_lower_query(scope, public, scale, replace(steps, low=ends[0], high=ends[1]), caps),
        query=query,
        catalog=catalog,
        budget=budget,
        search=_bound_search(search, scale, replace(spent, amount=first), caps, len(public.rows), unit),
        grid=steps.grid,
        spending=spent,
        rest=spent.amount - first,
        slice=scope.table.part,
    )


def _only(query: logical.Aggregate) -> tuple[logical.Expression, Fraction | None, logical.Search]:
    """The one value whose bounds are found; counts of rows may stand beside it."""
    first, *others = [o.measure for o in query.outputs if not isinstance(o.measure, logical.Count)]
    if isinstance(first, logical.ClippingBounds) and not others and len(query.outputs) == 1:
        return first.operand, first.grid, first.search
    if isinstance(first, logical.AutoBoundsAggregate) and all(_is_alike(first, other) for other in others):
        return first.measure.operand, first.measure.grid, first.search
    raise UnsupportedError(
        "bounds that are found first, beside other outputs",
        because="bounds are found for one column, and its sum, mean and count",
        instead='agg(n=dp.count(), total=dp.sum("cost", bounds="auto")), and other outputs in a query of their own',
    )


def _is_alike(one: logical.AutoBoundsAggregate, other: logical.Measure) -> bool:
    """Whether two are about the same value, in the same steps, and by the same search."""
    if not isinstance(other, logical.AutoBoundsAggregate) or one.search != other.search:
        return False
    return (one.measure.operand, one.measure.grid) == (other.measure.operand, other.measure.grid)


def _is_mean(measure: logical.AutoBoundsAggregate) -> bool:
    return isinstance(measure.measure, logical.Mean)


def _names_of_bounds(query: logical.Aggregate) -> tuple[str, str]:
    first = next(output for output in query.outputs if not isinstance(output.measure, logical.Count))
    prefix = "" if isinstance(first.measure, logical.ClippingBounds) else f"{first.name}_"
    return prefix + LOW, prefix + HIGH


def _refuse_ambiguous_names(query: logical.Aggregate) -> None:
    taken = {*query.grouping.columns, *(output.name for output in query.outputs)}
    for name in _names_of_bounds(query):
        if name in taken:
            raise ParameterError(
                f"the name {name!r} in a release with bounds",
                because="the bounds that are found stand beside the answers under that name",
                instead="agg(total=...), or another name of its own",
            )


def _narrowest(spendings: Sequence[Spending], moved: Sensitivity) -> Spending:
    """One kind of noise for all bounds that may be found: that of the smallest 95% margin of a sum."""
    found = [spent.only(spent.kind) for spent in spendings]
    found += [spent.as_pure for spent in spendings if len(spent.kinds) > 1 and not spent.is_pure]
    return min(found, key=lambda spent: calibrate(spent.kind, moved, spent.amount, ()).margin(DEFAULT_CONFIDENCE))


def _far_sum() -> SumSteps:
    """A sum with bounds of some size, to compare margins by: they grow with the bounds alike."""
    return SumSteps(physical.Constant(0, ColumnType.INTEGER), Fraction(1), 0, _MANY)


def _part(spent: Spending, share: Fraction) -> Fraction:
    """A share of a privacy cost in whole units of the ledger, so that both parts add up to it."""
    return Fraction(units_down(spent.amount * share, spent.units), spent.units)


def _price(spent: Spending, amount: Fraction) -> dict[str, Any]:
    return {spent.kind.cost: amount, "mechanism": spent.kind.tag}


def _plan_within(
    query: logical.Aggregate, catalog: Catalog, budget: Budget, grid: Fraction, bounds: Bounds, price: dict[str, Any]
) -> AggregatePlan:
    """The same query with bounds that are known, for a privacy cost."""
    low, high = (bound * grid for bound in bounds)
    outputs = tuple(
        replace(output, measure=replace(output.measure.measure, bounds=(low, high), grid=grid))
        if isinstance(output.measure, logical.AutoBoundsAggregate)
        else output
        for output in query.outputs
    )
    return analyze(replace(query, outputs=outputs), catalog, budget, **price)


def _drawable(
    query: logical.Aggregate, catalog: Catalog, budget: Budget, steps: SumSteps, price: dict[str, Any]
) -> Bounds:
    """How far a scale goes: as far as is declared, and as noise can be drawn for any result."""
    low, high = steps.low, steps.high
    nearest = Scale.between(low, high).narrowest
    _plan_within(query, catalog, budget, steps.grid, nearest, price)
    while True:
        try:
            _plan_within(query, catalog, budget, steps.grid, (low, high), price)
        except ParameterError:
            low, high = -(-low // 10), high // 10
            if low == high:
                raise
        else:
            return low, high


def _bound_search(
    search: logical.Search, scale: Scale, spent: Spending, caps: Caps, groups: int, unit: Unit
) -> BoundSearch:
    if search.method == "growth":
        return by_growth(scale, spent.pure_epsilon, caps, groups, unit.neighbours)
    return by_counts(scale, spent, caps, groups, unit.neighbours)


def _lower_query(scope: Bound, public: Keys, scale: Scale, steps: SumSteps, caps: Caps) -> Pushdown:
    """Rows and steps of each bin in each group; the last bin is of rows without a value."""
    edges = (physical.Constant(edge, ColumnType.INTEGER) for edge in scale.edges)
    sizes = physical.Apply("bin", (steps.operand, *edges), ColumnType.INTEGER)
    places = (*range(len(scale.bins)), None)
    if len(public.rows) * len(places) > logical.MOST_KEYS:
        raise KeysError(
            f"bounds that are found over {len(public.rows):,} groups",
            because=f"rows are counted in {len(places)} bins of each, at most {logical.MOST_KEYS:,} in all",
            instead='session.release(table.bounds("cost"), epsilon=0.1) first, and bounds=(low, high)',
        )
    rows = tuple((*row, place) for row in public.rows for place in places)
    parts = Keys((*public.columns, sizes), rows, inner=1)
    enforced = contribution_bounds.caps_to_enforce(scope.table.unit, caps, len(public.rows))
    return lower_query(scope, parts, enforced, (CountRows(), replace(steps, grid=Fraction(1))))


def _far(scale: Scale) -> Bounds:
    """Bounds of some size, to tell margins by."""
    if scale.above:
        return 0, max(end for end in scale.above if end <= max(_MANY, scale.above[0]))
    return -max(end for end in scale.below if end <= max(_MANY, scale.below[0])), 0


def _in_terms_of_bounds(told: ExplainedOutput, bounds: Bounds, grid: Fraction) -> ExplainedOutput:
    if told.kind == "count" or told.margin is None:
        return told
    times = float(told.margin / (max(-bounds[0], bounds[1]) * grid))
    note = f"{times:,.3g} times the larger bound {told.note}".rstrip()
    return replace(told, margin=None, note=note, noise="noise that follows the bounds")
