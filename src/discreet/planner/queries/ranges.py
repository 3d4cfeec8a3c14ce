"""Ranges of one column: bins are counted once, measured by the strategy that serves the ranges best, and added up.

Bins that no range tells apart are one. A unit has rows in any of the bins, and contribution bounds hold for all bins
together. The strategy is chosen by its expected error, from public facts; what is noisy is its integers, and everything
after is least squares.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.filters import Budget
from discreet.catalog.catalog import Catalog, ColumnType
from discreet.catalog.privacy_unit import Caps, Unit
from discreet.exact.numbers import Number
from discreet.mechanisms import AdditiveNoise
from discreet.plan import logical, physical
from discreet.plan.physical import CountRows
from discreet.planner.budget import allocation
from discreet.planner.budget.allocation import MechanismName, Spending
from discreet.planner.budget.shares import last_no_worse
from discreet.planner.queries.private_plan import WorkloadPlan
from discreet.planner.queries.tables import refuse_ambiguous_names
from discreet.planner.resolve.binding import bind
from discreet.planner.resolve.lowering import lower_query
from discreet.planner.sensitivity import contribution_bounds
from discreet.planner.sensitivity.sensitivity import Sensitivity
from discreet.release.explanation import ExplainedOutput
from discreet.release.release import Key, OutputColumn
from discreet.release.values.weighted_sums import Sums
from discreet.workloads.ranges import Levels, RangeWorkload, Strategy, best

Noisy = Sequence[Sequence[int]]
_AT_ONCE = 4_000_000


@dataclass(frozen=True, kw_only=True)
class RangePlan(WorkloadPlan):
    """The plan of ranges: bins, strategy, noise, privacy cost, and expected errors."""

    column: str
    shown: tuple[str, ...]
    workload: RangeWorkload
    strategy: Strategy

    @property
    def noise(self) -> str:
        """The kind of noise, in words."""
        return f"{self.kind.name} on {describe_strategy(self.strategy)}"

    @property
    def post_processing(self) -> tuple[str, ...]:
        """What is done to noisy integers before they are shown, in words."""
        return (f"{self.name}: bins by least squares, added up and rounded to whole rows",)

    def combine(self, exact: Noisy) -> list[list[int]]:
        """The integers that get noise, from the counts of the bins."""
        return self.strategy.exact(exact[0])

    def keys(self, noisy: Any) -> tuple[Key, ...]:  # noqa: ARG002 - the ranges do not depend on it
        """The ranges, as text."""
        return (Key(self.column, ColumnType.TEXT, self.shown),)

    @property
    def places(self) -> tuple[str, ...]:
        """What the integers of each part of the strategy stand for."""
        return self.strategy.places

    def outputs(self, noisy: Noisy, confidence: Fraction) -> tuple[OutputColumn, ...]:
        """The ranges as whole numbers of rows, with their margins."""
        bins = self.strategy.estimates(noisy, self.squares)
        running = np.concatenate([[0.0], np.cumsum(bins)])
        lo, hi = self.workload.ends
        values = tuple(round(float(value)) for value in running[hi] - running[lo])
        return (OutputColumn(self.name, "count", values, self.margins(confidence)),)

    def margins(self, confidence: Fraction) -> tuple[int, ...]:
        """What each range is off by at most, with this probability; the count is whole, and so is what is shown."""
        found = np.concatenate([sums.margins(confidence) for sums in self._sums])
        return tuple(math.floor(margin + 0.5) for margin in found)

    def explain_outputs(self, confidence: Fraction) -> tuple[ExplainedOutput, ...]:
        """The widest margin of all ranges, and what is measured for them."""
        errors = _errors(self.noises, self.strategy, self.workload)
        noise = f"a root mean squared error of {math.sqrt(errors.mean()):,.4g} over {len(errors):,} ranges"
        widest = Fraction(max(self.margins(confidence)))
        return (ExplainedOutput(self.name, "count", noise, widest, "for the widest of the ranges"),)

    @cached_property
    def _sums(self) -> list[Sums]:
        """The error of each range as a weighted sum of noises, some ranges at a time."""
        rows = max(1, _AT_ONCE // sum(map(len, self.strategy.exact([0] * self.workload.bins))))
        pairs = self.workload.pairs
        some = [RangeWorkload(self.workload.bins, pairs[i : i + rows]) for i in range(0, len(pairs), rows)]
        weights = (self.strategy.weights(each.indicators(), self.squares) for each in some)
        return [Sums.of(self.noises, each) for each in weights]


def analyze_ranges(
    query: logical.Aggregate,
    catalog: Catalog,
    budget: Budget,
    *,
    epsilon: Number | None = None,
    rho: Number | None = None,
    mechanism: MechanismName | None = None,
    share: Fraction = Fraction(1),
) -> RangePlan:
    """Plan ranges, or refuse them; nothing here depends on the data."""
    (output,) = query.outputs
    measure: logical.Ranges = output.measure  # type: ignore[assignment]
    column = measure.operand.name
    refuse_ambiguous_names(replace(query, grouping=logical.Grouping((column,))))
    scope = bind(query.source, catalog)
    edges, workload = merge_bins(measure)
    binned = scope.term(logical.Bin(measure.operand, edges))
    public = physical.Keys((binned,), tuple((place,) for place in range(1, len(edges))), inner=1)
    unit = scope.table.unit
    caps = contribution_bounds.effective(unit, scope.table.caps, None, query.grouping.max_rows_per_group)
    contribution_bounds.require_row_bound(f"ranges {output.name!r}", unit, caps)
    spendings = allocation.of_one_kind("ranges", budget, epsilon=epsilon, rho=rho, mechanism=mechanism, share=share)
    spent, strategy = narrowest(spendings, workload, unit)
    moved = sensitivities(strategy, caps, unit)
    return RangePlan(
        dataset=scope.name,
        unit=unit,
        caps=caps,
        pushdown=lower_query(scope, public, contribution_bounds.caps_to_enforce(unit, caps, 1), (CountRows(),)),
        column=column,
        name=output.name,
        shown=tuple(f"[{measure.edges[lo]}, {measure.edges[hi]})" for lo, hi in measure.pairs),
        workload=workload,
        strategy=strategy,
        sensitivities=moved,
        noises=allocation.mechanisms(spent, strategy.shares, moved),
        spending=spent,
        slice=scope.table.part,
    )


def merge_bins(measure: logical.Ranges) -> tuple[tuple[logical.Scalar, ...], RangeWorkload]:
    """The edges where some range ends, and the ranges over the bins between those."""
    used = sorted({place for pair in measure.pairs for place in pair})
    number = {place: bin_ for bin_, place in enumerate(used)}
    pairs = tuple((number[lo], number[hi]) for lo, hi in measure.pairs)
    return tuple(measure.edges[place] for place in used), RangeWorkload(len(used) - 1, pairs)


def narrowest(spendings: Sequence[Spending], workload: RangeWorkload, unit: Unit) -> tuple[Spending, Strategy]:
    """The first spending, or a later one whose expected error is no larger for any range; with its strategy."""
    return last_no_worse(_strategy_errors(spent, workload, unit) for spent in spendings)


def _strategy_errors(
    spent: Spending, workload: RangeWorkload, unit: Unit
) -> tuple[tuple[Spending, Strategy], NDArray[np.float64]]:
    strategy = best(workload, spent.kind.power, unit.neighbours)
    moved = strategy.sensitivity(1, unit.neighbours)
    noises = allocation.mechanisms(spent, strategy.shares, [Sensitivity(*each) for each in moved])
    return (spent, strategy), _errors(noises, strategy, workload)


def _errors(noises: Sequence[AdditiveNoise], strategy: Strategy, workload: RangeWorkload) -> NDArray[np.float64]:
    """The variance of each range, or a little more than it."""
    errors: NDArray[np.float64] = strategy.error(workload, [noise.width**2 for noise in noises])
    return errors * noises[0].variance_bound / noises[0].width ** 2


def sensitivities(strategy: Strategy, caps: Caps, unit: Unit) -> tuple[Sensitivity, ...]:
    """How far one unit moves each part of a strategy over bins, under contribution bounds on all of its rows."""
    rows = contribution_bounds.spread(caps, 1).l1
    return tuple(Sensitivity(*each) for each in strategy.sensitivity(rows, unit.neighbours))


def describe_strategy(strategy: Strategy) -> str:
    """A strategy in words."""
    if not isinstance(strategy, Levels):
        return "weighted sums of bins that were chosen for these ranges"
    if strategy.kept == (0,):
        return "every bin"
    levels = len(strategy.kept)
    return f"{levels} levels of a tree over the bins with {strategy.tree.branching} branches"
