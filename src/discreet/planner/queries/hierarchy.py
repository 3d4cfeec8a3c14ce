"""Hierarchies: all levels are measured, fitted to each other, and shown as whole numbers whose sums are right.

Cells are the rows of a public table; a row of the data is in one cell or in none, and so in one area of every level.
The budget is divided over the levels by public facts. What is noisy is the counts of every level; everything after is
least squares, clamping and rounding, of which the raw integers in the release know nothing.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from discreet.accounting.filters import Budget
from discreet.catalog.catalog import Catalog, ColumnType, Value
from discreet.errors import KeysError
from discreet.exact.numbers import Number
from discreet.mechanisms import AdditiveNoise
from discreet.plan import logical, physical
from discreet.plan.physical import CountRows
from discreet.planner.budget import allocation
from discreet.planner.budget.allocation import MechanismName, Spending
from discreet.planner.budget.shares import last_no_worse
from discreet.planner.queries.private_plan import WorkloadPlan
from discreet.planner.queries.ranges import Noisy
from discreet.planner.queries.tables import refuse_ambiguous_names
from discreet.planner.resolve import keys
from discreet.planner.resolve.binding import bind
from discreet.planner.resolve.lowering import lower_query
from discreet.planner.sensitivity import contribution_bounds
from discreet.planner.sensitivity.sensitivity import Sensitivity, sensitivity
from discreet.release.explanation import ExplainedOutput
from discreet.release.release import Key, OutputColumn
from discreet.release.values.weighted_sums import Sums
from discreet.workloads.hierarchy import Hierarchy, Partition
from discreet.workloads.sharing import divide_budget

LEVEL, AREA, ALL = "level", "area", "all"
_DENSE_CHAIN = 40_000
_DENSE_CROSSING = 1_000_000


@dataclass(frozen=True, kw_only=True)
class HierarchyPlan(WorkloadPlan):
    """Everything about a hierarchy that is public: its areas, the noise of each level, and how wrong each will be."""

    measure: logical.HierarchyCounts
    hierarchy: Hierarchy

    @property
    def noise(self) -> str:
        """The kind of noise, in words."""
        return f"{self.kind.name} on the counts of {len(self.noises)} levels"

    @property
    def post_processing(self) -> tuple[str, ...]:
        """What is done to noisy integers before they are shown, in words."""
        return (
            f"{self.name}: made consistent by least squares",
            f"{self.name}: clamped at zero, and fitted again",
            f"{self.name}: rounded to whole rows from the top down, sums kept",
        )

    def combine(self, exact: Noisy) -> list[list[int]]:
        """The counts of every level, from those of the cells."""
        return self.hierarchy.exact(exact[0])

    def keys(self, noisy: Any) -> tuple[Key, ...]:  # noqa: ARG002 - the areas do not depend on it
        """The levels, coarsest first, and their areas."""
        levels = tuple(part.name for part in self._partitions for _ in part.areas)
        areas = tuple(area for part in self._partitions for area in part.areas)
        return Key(LEVEL, ColumnType.TEXT, levels), Key(AREA, ColumnType.TEXT, areas)

    @property
    def places(self) -> tuple[str, ...]:
        """What the integers of each level stand for."""
        return tuple(f"areas of {part.name!r}" for part in self.hierarchy.parts)

    def outputs(self, noisy: Noisy, confidence: Fraction) -> tuple[OutputColumn, ...]:
        """Whole numbers of rows with their margins: how far they are from the fit, and how far the fit may be off."""
        fitted = self.hierarchy.fit(noisy, self.squares)
        cells = np.array(
            self.hierarchy.round_cells(self.hierarchy.fit_nonnegative(noisy, self.squares)), dtype=np.int64
        )
        margins = dict(zip((part.name for part in self.hierarchy.parts), self.margins(confidence), strict=True))
        values: list[int] = []
        wide: list[int] = []
        for part in self._partitions:
            shown = part.sums(cells)
            values += map(int, shown)
            wide += (math.ceil(far) for far in np.abs(shown - part.sums(fitted)) + margins[part.name])
        return (OutputColumn(self.name, "count", tuple(values), tuple(wide)),)

    def margins(self, confidence: Fraction) -> tuple[np.ndarray, ...]:
        """What the fit of each area is off by at most, with this probability, level by level."""
        found = self._sums.margins(confidence)
        sizes = [len(part.areas) for part in self.hierarchy.parts]
        return tuple(np.split(found, np.cumsum(sizes)[:-1]))

    def explain_outputs(self, confidence: Fraction) -> tuple[ExplainedOutput, ...]:
        """The margin of each level as far as it is public: that of the fit, before clamping and rounding."""
        margins = dict(zip((part.name for part in self.hierarchy.parts), self.margins(confidence), strict=True))
        named = {part.name: noise for part, noise in zip(self.hierarchy.parts, self.noises, strict=True)}
        word = self.kind.width_name
        return tuple(
            ExplainedOutput(
                f"{self.name} by {part.name}",
                "count",
                f"{word} {named[part.name].width:,.4g} on {len(part.areas):,} areas",
                Fraction(math.ceil(margins[part.name].max())),
                "before clamping and rounding",
            )
            for part in self._partitions
        )

    @property
    def _partitions(self) -> tuple[Partition, ...]:
        return (*self.hierarchy.chain[::-1], *self.hierarchy.crossing)

    @cached_property
    def _sums(self) -> Sums:
        """The error of the fit of each area as a weighted sum of noises.

        Of very many areas, only the counts of an area and of those that it lies in have weights of their own. If others
        cross the chain too, only the moments are bounded: the weight of a noise is at most the root of the product of
        the variances of both areas over that of the noise, by Cauchy and Schwarz.
        """
        areas = sum(len(part.areas) for part in self.hierarchy.parts)
        most = _DENSE_CROSSING if self.hierarchy.crossing else _DENSE_CHAIN
        if areas * self.hierarchy.cells <= most:
            return Sums.of(self.noises, self.hierarchy.weights(self.squares))
        if not self.hierarchy.crossing:
            chain = self.hierarchy.chain_weights(self.squares)
            return Sums.with_rest(self.noises, chain.path, chain.second, chain.fourth, chain.largest)
        variances = self.hierarchy.variances(self.squares)
        steepest = max(float(level.max()) / square for level, square in zip(variances, self.squares, strict=True))
        every = np.concatenate(variances) * max(noise.variance_bound / noise.width**2 for noise in self.noises)
        return Sums.bounded(self.noises, every, every * min(1.0, steepest))


def analyze_hierarchy(
    query: logical.Aggregate,
    catalog: Catalog,
    budget: Budget,
    *,
    epsilon: Number | None = None,
    rho: Number | None = None,
    mechanism: MechanismName | None = None,
    share: Fraction = Fraction(1),
) -> HierarchyPlan:
    """Plan a hierarchy, or refuse it; nothing here depends on the data."""
    (output,) = query.outputs
    measure: logical.HierarchyCounts = output.measure  # type: ignore[assignment]
    refuse_ambiguous_names(replace(query, grouping=logical.Grouping((LEVEL, AREA))))
    _refuse_reserved_name(measure)
    scope = bind(query.source, catalog)
    resolved = keys.resolve(query.grouping, scope)
    public = physical.Keys(resolved.columns, resolved.rows, inner=len(resolved.columns))
    hierarchy = build_hierarchy(measure, resolved.rows)
    unit = scope.table.unit
    caps = contribution_bounds.effective(unit, scope.table.caps, None, query.grouping.max_rows_per_group)
    contribution_bounds.require_row_bound(f"hierarchy {output.name!r}", unit, caps)
    moved = tuple(sensitivity(CountRows(), caps, 1, unit.neighbours, len(part.areas)) for part in hierarchy.parts)
    spendings = allocation.of_one_kind(
        "a hierarchy", budget, epsilon=epsilon, rho=rho, mechanism=mechanism, share=share
    )
    spent, noises = _narrowest(spendings, hierarchy, moved)
    return HierarchyPlan(
        dataset=scope.name,
        unit=unit,
        caps=caps,
        pushdown=lower_query(scope, public, contribution_bounds.caps_to_enforce(unit, caps, 1), (CountRows(),)),
        name=output.name,
        measure=measure,
        hierarchy=hierarchy,
        sensitivities=moved,
        noises=noises,
        spending=spent,
        slice=scope.table.part,
    )


def _narrowest(
    spendings: Sequence[Spending], hierarchy: Hierarchy, moved: tuple[Sensitivity, ...]
) -> tuple[Spending, tuple[AdditiveNoise, ...]]:
    """The first spending, or a later one whose expected error is no larger on any level; with its noise."""
    return last_no_worse(_level_errors(spent, hierarchy, moved) for spent in spendings)


def _level_errors(
    spent: Spending, hierarchy: Hierarchy, moved: tuple[Sensitivity, ...]
) -> tuple[tuple[Spending, tuple[AdditiveNoise, ...]], list[float]]:
    """The noise of each level, and the largest variance of its areas, or a little more than it."""
    noises = allocation.mechanisms(spent, _shares(hierarchy, moved, spent.kind), moved)
    variances = hierarchy.variances([noise.variance_bound for noise in noises])
    return (spent, noises), [float(level.max()) for level in variances]


@lru_cache(maxsize=64)
def _shares(hierarchy: Hierarchy, moved: tuple[Sensitivity, ...], noise: type[AdditiveNoise]) -> tuple[Fraction, ...]:
    units = np.array([float(noise.unit_variance(each)) for each in moved])
    return divide_budget(hierarchy, units / units.max(), noise.power)


def build_hierarchy(measure: logical.HierarchyCounts, rows: tuple[tuple[Value, ...], ...]) -> Hierarchy:
    """The chain of levels, from cells to all, and what crosses it; areas are named by all that they lie in."""
    # Python takes 1 and True for the same key of a cache, and the two have different names.
    return _hierarchy(measure, rows, tuple(tuple(map(type, row)) for row in rows))


@lru_cache(maxsize=16)
def _hierarchy(
    measure: logical.HierarchyCounts, rows: tuple[tuple[Value, ...], ...], types: tuple[tuple[type, ...], ...]
) -> Hierarchy:
    del types  # it is part of the key of the cache
    depth = len(measure.levels)
    chain = [_partition(name, [row[: i + 1] for row in rows]) for i, name in enumerate(measure.levels)]
    if measure.crossing:
        chain.append(_partition(" x ".join((measure.levels[-1], *measure.crossing)), list(rows)))
    crossing = [
        _partition(name, [row[depth + i : depth + i + 1] for row in rows]) for i, name in enumerate(measure.crossing)
    ]
    everything = Partition(ALL, (ALL,), np.zeros(len(rows), dtype=np.int_))
    return Hierarchy((*chain[::-1], everything), tuple(crossing))


def _partition(name: str, areas: Sequence[tuple[Value, ...]]) -> Partition:
    numbers: dict[tuple[Value, ...], int] = {}
    area_of = np.array([numbers.setdefault(area, len(numbers)) for area in areas], dtype=np.int_)
    shown = tuple(" / ".join("(missing)" if value is None else str(value) for value in area) for area in numbers)
    return Partition(name, shown, area_of)


def _refuse_reserved_name(measure: logical.HierarchyCounts) -> None:
    """Check that the levels have different names."""
    if ALL in (*measure.levels, *measure.crossing):
        raise KeysError(
            f"a hierarchy with a column named {ALL!r}",
            because="its top level, which has everything, is called that",
            instead=f'derive(everything=table["{ALL}"]).hierarchy("everything", ..., keys=public_table)',
        )
