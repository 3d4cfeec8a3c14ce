"""Ranges of one column: bins are counted once, measured by the strategy that serves the ranges best, and added up.

Bins that no range tells apart are one. A unit has rows in any of the bins, and caps hold for all bins together. The
strategy is chosen by its expected error, from public facts; what is noisy is its integers, and everything after is
least squares.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import events
from discreet.accounting.filters import Budget, Cost, cost
from discreet.catalog.catalog import Catalog, ColumnType
from discreet.catalog.privacy_unit import Caps, Unit
from discreet.catalog.time_slice import Slice
from discreet.exact import Number
from discreet.mechanisms import Gaussian, Laplace
from discreet.plan import logical, physical
from discreet.plan.fingerprint import canonical
from discreet.plan.physical import CountRows, Pushdown
from discreet.planner.budget import allocation
from discreet.planner.budget.allocation import MechanismName, Spending
from discreet.planner.queries.tables import refuse_ambiguous_names
from discreet.planner.resolve.binding import bind
from discreet.planner.resolve.lowering import pushed
from discreet.planner.sensitivity import contribution_bounds
from discreet.planner.sensitivity.sensitivity import Sensitivity
from discreet.release.explanation import ExplainedOutput
from discreet.release.release import Key, Measured, Output, Release
from discreet.workloads.ranges import Levels, Power, Ranges, Strategy, best
from discreet.workloads.tails import gaussian_margin, laplace_margin

Noise = Laplace | Gaussian
Noisy = Sequence[Sequence[int]]
_AT_ONCE = 4_000_000


@dataclass(frozen=True)
class RangePlan:
    """Everything about ranges that is public: bins, strategy, noise, price, and how wrong each will be."""

    dataset: str
    unit: Unit
    caps: Caps
    pushdown: Pushdown
    column: str
    name: str
    shown: tuple[str, ...]
    workload: Ranges
    strategy: Strategy
    sensitivities: tuple[Sensitivity, ...]
    noises: tuple[Noise, ...]
    spending: Spending
    delta: Fraction
    slice: Slice | None = None

    @property
    def event(self) -> events.Event:
        """What a release does, for the accountants."""
        return events.ComposedEvent(tuple(noise.event() for noise in self.noises))

    @property
    def cost(self) -> Cost:
        """The price under both filters."""
        return cost(self.event)

    @property
    def noise(self) -> str:
        """The kind of noise, in words."""
        return f"discrete {self.spending.mechanism.capitalize()} on {told(self.strategy)}"

    @property
    def post_processing(self) -> tuple[str, ...]:
        """What is done to noisy integers before they are shown, in words."""
        return (f"{self.name}: bins by least squares, added up and rounded to whole rows",)

    def combined(self, exact: Noisy) -> list[list[int]]:
        """The integers that get noise, from the counts of the bins."""
        return self.strategy.exact(exact[0])

    def randomize(self, exact: Noisy) -> list[list[int]]:
        """The same with fresh noise on every integer."""
        return [
            list(map(int, noise.release(column)))
            for noise, column in zip(self.noises, self.combined(exact), strict=True)
        ]

    def keys(self, noisy: Any) -> tuple[Key, ...]:  # noqa: ARG002 - the ranges do not depend on it
        """The ranges, as text."""
        return (Key(self.column, ColumnType.TEXT, self.shown),)

    def measured(self, noisy: Noisy) -> tuple[Measured, ...]:
        """The raw noisy integers of each part of the strategy."""
        parts = zip(self.noises, self.sensitivities, self.strategy.places, noisy, strict=True)
        return tuple(noised(noise, moved, place, column) for noise, moved, place, column in parts)

    def stored(self, release: Release) -> list[Sequence[int]]:
        """The noisy integers, as a stored release holds them."""
        return [measured.steps for measured in release.measured]

    def outputs(self, noisy: Noisy, confidence: Fraction) -> tuple[Output, ...]:
        """The ranges as whole numbers of rows, with their margins."""
        bins = self.strategy.estimates(noisy, self._squares)
        running = np.concatenate([[0.0], np.cumsum(bins)])
        lo, hi = self.workload.ends
        values = tuple(round(float(value)) for value in running[hi] - running[lo])
        return (Output(self.name, "count", values, self.margins(confidence)),)

    def margins(self, confidence: Fraction) -> tuple[int, ...]:
        """What each range is off by at most, with this probability; the count is whole, and so is what is shown."""
        outside = float(1 - confidence)
        squares, largest = self._spread
        if self.spending.mechanism == "gaussian":
            found = [gaussian_margin(float(square), outside) for square in squares]
        else:
            found = [laplace_margin(float(s), float(m), outside) for s, m in zip(squares, largest, strict=True)]
        return tuple(math.floor(margin + 0.5) for margin in found)

    def explained(self, confidence: Fraction) -> tuple[ExplainedOutput, ...]:
        """The widest margin of all ranges, and what is measured for them."""
        errors = variance_of(self.spending) * self.strategy.error(self.workload, self._squares)
        noise = f"a root mean squared error of {math.sqrt(errors.mean()):,.4g} over {len(errors):,} ranges"
        widest = Fraction(max(self.margins(confidence)))
        return (ExplainedOutput(self.name, "count", noise, widest, "for the widest of the ranges"),)

    @property
    def _squares(self) -> list[float]:
        """Squared scales: in proportion to the variances, and never zero."""
        return [width(noise) ** 2 for noise in self.noises]

    @cached_property
    def _spread(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Of the weights that noise has in each range, times its scale: the sum of squares, and the largest."""
        rows = max(1, _AT_ONCE // sum(map(len, self.strategy.exact([0] * self.workload.bins))))
        pairs = self.workload.pairs
        parts = [self._spread_of(Ranges(self.workload.bins, pairs[i : i + rows])) for i in range(0, len(pairs), rows)]
        squares, largest = zip(*parts, strict=True)
        return np.concatenate(squares), np.concatenate(largest)

    def _spread_of(self, some: Ranges) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        weights = self.strategy.weights(some.indicators(), self._squares)
        sizes = [np.abs(part) * width(noise) for part, noise in zip(weights, self.noises, strict=True)]
        together = np.concatenate(sizes, axis=1)
        return np.square(together).sum(axis=1), together.max(axis=1)


def asks_for_ranges(query: logical.Aggregate) -> bool:
    """Whether a question is about ranges, and nothing else."""
    return len(query.outputs) == 1 and isinstance(query.outputs[0].measure, logical.Ranges)


def analyze_ranges(
    query: logical.Aggregate,
    catalog: Catalog,
    budget: Budget,
    *,
    epsilon: Number | None = None,
    rho: Number | None = None,
    mechanism: MechanismName | None = None,
) -> RangePlan:
    """Resolve, bound and price ranges, or refuse them; nothing here depends on the data."""
    (output,) = query.outputs
    measure: logical.Ranges = output.measure  # type: ignore[assignment]
    column = measure.operand.name
    refuse_ambiguous_names(replace(query, grouping=logical.Grouping((column,))))
    scope = bind(query.source, catalog)
    edges, workload = reduced(measure)
    binned = scope.term(logical.Bin(measure.operand, edges))
    public = physical.Keys((binned,), tuple((place,) for place in range(1, len(edges))), inner=1)
    unit = scope.table.unit
    caps = contribution_bounds.effective(unit, scope.table.caps, None, query.grouping.max_rows_per_group)
    contribution_bounds.require_bounded(f"ranges {output.name!r}", unit, caps)
    spendings = allocation.spendings(budget, epsilon=epsilon, rho=rho, mechanism=mechanism)
    spent, strategy = narrowest(spendings, workload, unit)
    moved = sensitivities(strategy, caps, unit)
    return RangePlan(
        dataset=scope.name,
        unit=unit,
        caps=caps,
        pushdown=pushed(scope, public, contribution_bounds.enforced(unit, caps, 1), (CountRows(),)),
        column=column,
        name=output.name,
        shown=tuple(f"[{measure.edges[lo]}, {measure.edges[hi]})" for lo, hi in measure.pairs),
        workload=workload,
        strategy=strategy,
        sensitivities=moved,
        noises=allocation.mechanisms(spent, strategy.shares, moved),
        spending=spent,
        delta=budget.conversion_delta if spent.mechanism == "gaussian" else Fraction(0),
        slice=scope.table.part,
    )


def reduced(measure: logical.Ranges) -> tuple[tuple[logical.Scalar, ...], Ranges]:
    """The edges where some range ends, and the ranges over the bins between those."""
    used = sorted({place for pair in measure.pairs for place in pair})
    number = {place: bin_ for bin_, place in enumerate(used)}
    pairs = tuple((number[lo], number[hi]) for lo, hi in measure.pairs)
    return tuple(measure.edges[place] for place in used), Ranges(len(used) - 1, pairs)


def narrowest(spendings: Sequence[Spending], workload: Ranges, unit: Unit) -> tuple[Spending, Strategy]:
    """The first spending, or a later one whose expected error is no larger for any range; with its strategy."""
    first, *others = (_priced(spent, workload, unit) for spent in spendings)
    for other in others:
        if (other[2] <= first[2]).all():
            return other[0], other[1]
    return first[0], first[1]


def _priced(spent: Spending, workload: Ranges, unit: Unit) -> tuple[Spending, Strategy, NDArray[np.float64]]:
    power: Power = 2 if spent.mechanism == "laplace" else 1
    strategy = best(workload, power, unit.neighbours)
    moved = strategy.moved(1, unit.neighbours)
    noises = allocation.mechanisms(spent, strategy.shares, [Sensitivity(*each) for each in moved])
    return spent, strategy, variance_of(spent) * strategy.error(workload, [width(noise) ** 2 for noise in noises])


def sensitivities(strategy: Strategy, caps: Caps, unit: Unit) -> tuple[Sensitivity, ...]:
    """How far one unit moves each part of a strategy over bins, under caps on all of its rows."""
    rows = contribution_bounds.spread(caps, 1).l1
    return tuple(Sensitivity(*each) for each in strategy.moved(rows, unit.neighbours))


def noised(noise: Noise, moved: Sensitivity, places: str, column: Sequence[int]) -> Measured:
    """Noisy integers that stand for what `places` says, with the noise that is on them."""
    return Measured(
        measure=canonical(CountRows()),
        mechanism="discrete Laplace" if isinstance(noise, Laplace) else "discrete Gaussian",
        scale=width(noise),
        l1=moved.l1,
        l2_squared=moved.l2_squared,
        grid=Fraction(1),
        steps=tuple(column),
        places=places,
    )


def width(noise: Noise) -> float:
    """The scale of Laplace noise, or the sigma of Gaussian noise."""
    return noise.scale if isinstance(noise, Laplace) else noise.sigma


def variance_of(spent: Spending) -> int:
    """The variance of noise over its squared scale, or a little more than it."""
    return 2 if spent.mechanism == "laplace" else 1


def told(strategy: Strategy) -> str:
    """A strategy in words."""
    if not isinstance(strategy, Levels):
        return "weighted sums of bins that were chosen for these ranges"
    if strategy.kept == (0,):
        return "every bin"
    levels = len(strategy.kept)
    return f"{levels} levels of a tree over the bins with {strategy.tree.branching} branches"
