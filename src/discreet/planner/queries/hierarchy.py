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

from discreet import events
from discreet.accounting.filters import Budget, Cost, cost
from discreet.catalog.catalog import Catalog, ColumnType, Value
from discreet.catalog.privacy_unit import Caps, Unit
from discreet.catalog.time_slice import Slice
from discreet.errors import KeysError
from discreet.exact import Number
from discreet.plan import logical, physical
from discreet.plan.physical import CountRows, Pushdown
from discreet.planner.budget import allocation
from discreet.planner.budget.allocation import MechanismName, Spending
from discreet.planner.queries.ranges import Noise, Noisy, noised, width
from discreet.planner.queries.tables import refuse_ambiguous_names
from discreet.planner.resolve import keys
from discreet.planner.resolve.binding import bind
from discreet.planner.resolve.lowering import pushed
from discreet.planner.sensitivity import contribution_bounds
from discreet.planner.sensitivity.sensitivity import Sensitivity, sensitivity
from discreet.release.explanation import ExplainedOutput
from discreet.release.release import Key, Measured, Output, Release
from discreet.workloads.hierarchy import Hierarchy, Partition
from discreet.workloads.ranges import Power
from discreet.workloads.sharing import divided
from discreet.workloads.tails import gaussian_margin, laplace_margin

LEVEL, AREA, ALL = "level", "area", "all"


@dataclass(frozen=True)
class NestedPlan:
    """Everything about a hierarchy that is public: its areas, the noise of each level, and how wrong each will be."""

    dataset: str
    unit: Unit
    caps: Caps
    pushdown: Pushdown
    name: str
    measure: logical.Nested
    hierarchy: Hierarchy
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
        return f"discrete {self.spending.mechanism.capitalize()} on the counts of {len(self.noises)} levels"

    @property
    def post_processing(self) -> tuple[str, ...]:
        """What is done to noisy integers before they are shown, in words."""
        return (
            f"{self.name}: made consistent by least squares",
            f"{self.name}: clamped at zero, and fitted again",
            f"{self.name}: rounded to whole rows from the top down, sums kept",
        )

    def combined(self, exact: Noisy) -> list[list[int]]:
        """The counts of every level, from those of the cells."""
        return self.hierarchy.exact(exact[0])

    def randomize(self, exact: Noisy) -> list[list[int]]:
        """The same with fresh noise on every integer."""
        pairs = zip(self.noises, self.combined(exact), strict=True)
        return [list(map(int, noise.release(column))) for noise, column in pairs]

    def keys(self, noisy: Any) -> tuple[Key, ...]:  # noqa: ARG002 - the areas do not depend on it
        """The levels, coarsest first, and their areas."""
        levels = tuple(part.name for part in self._shown for _ in part.areas)
        areas = tuple(area for part in self._shown for area in part.areas)
        return Key(LEVEL, ColumnType.TEXT, levels), Key(AREA, ColumnType.TEXT, areas)

    def measured(self, noisy: Noisy) -> tuple[Measured, ...]:
        """The raw noisy integers of each level."""
        parts = zip(self.noises, self.sensitivities, self.hierarchy.parts, noisy, strict=True)
        return tuple(noised(noise, moved, f"areas of {part.name!r}", column) for noise, moved, part, column in parts)

    def stored(self, release: Release) -> list[Sequence[int]]:
        """The noisy integers, as a stored release holds them."""
        return [measured.steps for measured in release.measured]

    def outputs(self, noisy: Noisy, confidence: Fraction) -> tuple[Output, ...]:
        """Whole numbers of rows with their margins: how far they are from the fit, and how far the fit may be off."""
        fitted = self.hierarchy.fitted(noisy, self._squares)
        cells = np.array(self.hierarchy.rounded(self.hierarchy.clamped(noisy, self._squares)), dtype=np.int64)
        margins = dict(zip((part.name for part in self.hierarchy.parts), self.margins(confidence), strict=True))
        values: list[int] = []
        wide: list[int] = []
        for part in self._shown:
            shown = part.sums(cells)
            values += map(int, shown)
            wide += (math.ceil(far) for far in np.abs(shown - part.sums(fitted)) + margins[part.name])
        return (Output(self.name, "count", tuple(values), tuple(wide)),)

    def margins(self, confidence: Fraction) -> tuple[np.ndarray, ...]:
        """What the fit of each area is off by at most, with this probability, level by level.

        With the squared scales for variances, the weight of a noise in an estimate is at most its precision times the
        root of the product of both variances, by Cauchy and Schwarz.
        """
        outside, variances = float(1 - confidence), self._variances
        if self.spending.mechanism == "gaussian":
            return tuple(np.array([gaussian_margin(float(v), outside) for v in level]) for level in variances)
        scales = [width(noise) for noise in self.noises]
        steepest = max(
            math.sqrt(float(v.max())) / (scale**2) * scale for v, scale in zip(variances, scales, strict=True)
        )
        return tuple(
            np.array([laplace_margin(v, min(1.0, steepest) * math.sqrt(v), outside) for v in map(float, level)])
            for level in variances
        )

    def explained(self, confidence: Fraction) -> tuple[ExplainedOutput, ...]:
        """The margin of each level as far as it is public: that of the fit, before clamping and rounding."""
        margins = dict(zip((part.name for part in self.hierarchy.parts), self.margins(confidence), strict=True))
        named = {part.name: noise for part, noise in zip(self.hierarchy.parts, self.noises, strict=True)}
        word = "scale" if self.spending.mechanism == "laplace" else "sigma"
        return tuple(
            ExplainedOutput(
                f"{self.name} by {part.name}",
                "count",
                f"{word} {width(named[part.name]):,.4g} on {len(part.areas):,} areas",
                Fraction(math.ceil(margins[part.name].max())),
                "before clamping and rounding",
            )
            for part in self._shown
        )

    @property
    def _shown(self) -> tuple[Partition, ...]:
        return (*self.hierarchy.chain[::-1], *self.hierarchy.crossing)

    @property
    def _squares(self) -> list[float]:
        """Squared scales: in proportion to the variances, and what margins are proved with."""
        return [width(noise) ** 2 for noise in self.noises]

    @cached_property
    def _variances(self) -> list[Any]:
        return self.hierarchy.variances(self._squares)


def asks_for_a_hierarchy(query: logical.Aggregate) -> bool:
    """Whether a question is about a hierarchy, and nothing else."""
    return len(query.outputs) == 1 and isinstance(query.outputs[0].measure, logical.Nested)


def analyze_nested(
    query: logical.Aggregate,
    catalog: Catalog,
    budget: Budget,
    *,
    epsilon: Number | None = None,
    rho: Number | None = None,
    mechanism: MechanismName | None = None,
) -> NestedPlan:
    """Resolve, bound and price a hierarchy, or refuse it; nothing here depends on the data."""
    (output,) = query.outputs
    measure: logical.Nested = output.measure  # type: ignore[assignment]
    refuse_ambiguous_names(replace(query, grouping=logical.Grouping((LEVEL, AREA))))
    _refuse_taken(measure)
    scope = bind(query.source, catalog)
    resolved = keys.resolve(query.grouping, scope)
    public = physical.Keys(resolved.columns, resolved.rows, inner=len(resolved.columns))
    hierarchy = arranged(measure, resolved.rows)
    unit = scope.table.unit
    caps = contribution_bounds.effective(unit, scope.table.caps, None, query.grouping.max_rows_per_group)
    contribution_bounds.require_bounded(f"hierarchy {output.name!r}", unit, caps)
    moved = tuple(sensitivity(CountRows(), caps, 1, unit.neighbours, len(part.areas)) for part in hierarchy.parts)
    spent = allocation.spending(budget, epsilon=epsilon, rho=rho, mechanism=mechanism)
    return NestedPlan(
        dataset=scope.name,
        unit=unit,
        caps=caps,
        pushdown=pushed(scope, public, contribution_bounds.enforced(unit, caps, 1), (CountRows(),)),
        name=output.name,
        measure=measure,
        hierarchy=hierarchy,
        sensitivities=moved,
        noises=allocation.mechanisms(spent, _shares(hierarchy, moved, spent.mechanism), moved),
        spending=spent,
        delta=budget.conversion_delta if spent.mechanism == "gaussian" else Fraction(0),
        slice=scope.table.part,
    )


@lru_cache(maxsize=64)
def _shares(hierarchy: Hierarchy, moved: tuple[Sensitivity, ...], mechanism: MechanismName) -> tuple[Fraction, ...]:
    power: Power = 2 if mechanism == "laplace" else 1
    units = np.array([2.0 * each.l1**2 if power == 2 else each.l2_squared / 2 for each in moved])
    return divided(hierarchy, units / units.max(), power)


def arranged(measure: logical.Nested, rows: tuple[tuple[Value, ...], ...]) -> Hierarchy:
    """The chain of levels, from cells to all, and what crosses it; areas are named by all that they lie in."""
    # Python takes 1 and True for the same key of a cache, and the two have different names.
    return _arranged(measure, rows, tuple(tuple(map(type, row)) for row in rows))


@lru_cache(maxsize=16)
def _arranged(
    measure: logical.Nested, rows: tuple[tuple[Value, ...], ...], types: tuple[tuple[type, ...], ...]
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


def _refuse_taken(measure: logical.Nested) -> None:
    """Levels are told apart by their names."""
    if ALL in (*measure.levels, *measure.crossing):
        raise KeysError(
            f"a hierarchy with a column named {ALL!r}",
            because="its top level, which has everything, is called that",
            instead=f'derive(everything=table["{ALL}"]).hierarchy("everything", ..., keys=public_table)',
        )
