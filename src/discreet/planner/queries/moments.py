"""Sums of products of numeric columns, from which linear models are fitted: one scan, integers alone.

Definition
    Every column is read on a lattice of 2^11 steps between its public bounds, less their middle. A row has a vector
    a = (S, u_1, ..., u_d) with S = 2^10 and |u_i| <= S. A missing value counts as the middle, unless the catalog
    declares another number for it. The plan measures sums over rows of the products a_i a_j: all with i <= j, or only
    those that means and variances need (S^2, S u_i and u_i^2).

Guarantee
    With at most R rows of a unit and m = d + 1, the vector of all m (m + 1)/2 products moves in L2 by at most
    R S^2 sqrt(m (m + 1)/2) when a unit is added or removed, and by at most R S^2 m when it is replaced. The vector of
    the 2 d + 1 others moves by at most R S^2 sqrt(2 d + 1) and R S^2 sqrt(4 d). One discrete noise covers the whole
    vector. Proof: docs/proofs/planner/queries/moments.md.

Exactness
    Steps, products and sums are integers in every engine. The factors S and S^2 are applied to exact integers.

Not covered
    What the lattice costs in accuracy: a value moves by at most half a step, which is 1/4096 of the width of the
    bounds, and the ends of the lattice are at most half a step from the bounds.

References
    Wang, Revisiting Differentially Private Linear Regression, UAI 2018. Dwork, Talwar, Thakurta and Zhang, Analyze
    Gauss, STOC 2014.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple

from discreet.accounting.filters import Budget
from discreet.catalog.catalog import NUMERIC, Catalog, ColumnType
from discreet.catalog.privacy_unit import Neighbours
from discreet.errors import ParameterError, TypeMismatchError, UnboundedError
from discreet.events import Event
from discreet.exact.numbers import Number
from discreet.mechanisms import AdditiveNoise
from discreet.plan import logical
from discreet.plan.canonical_values import plain, text
from discreet.plan.physical import CountRows, Integers, Keys, SumProducts, SumSteps
from discreet.planner.budget import allocation
from discreet.planner.budget.allocation import MechanismName
from discreet.planner.queries.private_plan import TablePlan
from discreet.planner.queries.tables import refuse_ambiguous_names
from discreet.planner.resolve.binding import Bound, bind
from discreet.planner.resolve.grids import missing_step
from discreet.planner.resolve.lowering import lower_query
from discreet.planner.resolve.measures import LARGEST_STEP
from discreet.planner.sensitivity import contribution_bounds
from discreet.planner.sensitivity.sensitivity import Sensitivity
from discreet.release.explanation import ExplainedOutput
from discreet.release.release import Key, MeasuredColumn, OutputColumn
from discreet.release.values.columns import measured_column

LATTICE = 2**10
"""Steps from the middle of the bounds to either of them."""

MOST_COLUMNS = 60
CONSTANT = "(constant)"
"""The name of the entry S among the keys."""

SIDES = ("left", "right")
PLACES = "products of pairs, in order"
UNIT = Fraction(1, LATTICE**2)
"""What one step of a sum stands for, of values in [-1, 1]."""

Bounds = tuple[Fraction, Fraction]


class LatticeAxis(NamedTuple):
    """A column on its lattice: u steps stand for (centre + u) * grid, and a missing value for `missing` - centre."""

    name: str
    grid: Fraction
    centre: int
    missing: int


@dataclass(frozen=True, kw_only=True)
class MomentsPlan(TablePlan):
    """Everything about such sums that is public: what is read, what is added, and what it costs."""

    name: str
    axes: tuple[LatticeAxis, ...]
    products: logical.Products
    sensitivity: Sensitivity
    mechanism: AdditiveNoise

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """Which two entries of (S, u_1, ..., u_d) each integer is the product of, in order."""
        return pairs_of(len(self.axes), self.products)

    @property
    def axes_names(self) -> tuple[str, ...]:
        """The columns, in order."""
        return tuple(axis.name for axis in self.axes)

    @property
    def groups(self) -> int:
        """How many sums there are."""
        return len(self.pairs)

    @property
    def event(self) -> Event:
        """What a release does, for the accountants."""
        return self.mechanism.event()

    @property
    def noise(self) -> str:
        """The kind of noise, in words."""
        return self.mechanism.name

    @property
    def post_processing(self) -> tuple[str, ...]:
        """Nothing is done to noisy integers but scaling."""
        return ()

    @property
    def missing_cells(self) -> str:
        """Every row has all products, so a missing value counts as a number."""
        middle, declared = "count as the middle of the bounds", "count as the number that the catalog declares for them"
        found = dict.fromkeys(middle if axis.missing == axis.centre else declared for axis in self.axes)
        return " or ".join(found)

    def combine(self, exact: Sequence[Sequence[int]]) -> list[list[int]]:
        """The integers that get noise: each sum of an engine times S for every entry that is constant."""
        return [
            [
                LATTICE ** ((one == 0) + (other == 0)) * column[0]
                for (one, other), column in zip(self.pairs, exact, strict=True)
            ]
        ]

    def randomize(self, exact: Sequence[Sequence[int]]) -> list[list[int]]:
        """The same with fresh noise on every integer."""
        return [list(map(int, self.mechanism.release(self.combine(exact)[0])))]

    def keys(self, noisy: Any) -> tuple[Key, ...]:  # noqa: ARG002 - the pairs do not depend on it
        """Both factors of each product, by name."""
        names = (CONSTANT, *self.axes_names)
        sides = zip(*self.pairs, strict=True)
        return tuple(
            Key(side, ColumnType.TEXT, tuple(names[place] for place in places))
            for side, places in zip(SIDES, sides, strict=True)
        )

    def measurements(self, noisy: Sequence[Sequence[int]]) -> tuple[MeasuredColumn, ...]:
        """The noisy integers, with the lattice of each column."""
        measure = text(plain([tuple(axis) for axis in self.axes]))
        return (measured_column(measure, self.mechanism, self.sensitivity, noisy[0], UNIT, PLACES),)

    def outputs(self, noisy: Sequence[Sequence[int]], confidence: Fraction) -> tuple[OutputColumn, ...]:
        """Sums of products of values in [-1, 1], with one margin for each."""
        values = tuple(steps / LATTICE**2 for steps in noisy[0])
        margin = float(self.mechanism.margin(confidence) * UNIT)
        return (OutputColumn(self.name, "sum of products", values, (margin,) * len(values)),)

    def explain_outputs(self, confidence: Fraction) -> tuple[ExplainedOutput, ...]:
        """All sums as one output; its margin is that of each of them."""
        noise = self.mechanism.description(float(UNIT))
        note = f"for each of {len(self.pairs):,} sums of values scaled to [-1, 1]"
        margin = self.mechanism.margin(confidence) * UNIT
        return (ExplainedOutput(self.name, "sum of products", noise, margin, note),)


def pairs_of(columns: int, products: logical.Products) -> tuple[tuple[int, int], ...]:
    """The places of both factors of each product; 0 is the constant."""
    if products == "all":
        return tuple((one, other) for one in range(columns + 1) for other in range(one, columns + 1))
    return ((0, 0), *((0, each) for each in range(1, columns + 1)), *((each, each) for each in range(1, columns + 1)))


def moments_sensitivity(columns: int, products: logical.Products, rows: int, neighbours: Neighbours) -> Sensitivity:
    """How far one unit of so many rows moves the sums, in steps of 1 / S^2 (proof: moments.md)."""
    count, replaces = len(pairs_of(columns, products)), neighbours is Neighbours.REPLACE_ONE
    entries = columns + 1
    if not replaces:
        l1, l2_squared = count, count
    elif products == "all":
        l2_squared = entries**2
        l1 = 1 + math.isqrt(count * l2_squared - 1)
    else:
        l2_squared = 4 * columns
        l1 = max(count, -(-9 * columns // 4))
    step = rows * LATTICE**2
    return Sensitivity(count, step * l1, step**2 * l2_squared, step * (2 if replaces else 1))


def analyze_moments(
    query: logical.Aggregate,
    catalog: Catalog,
    budget: Budget,
    *,
    epsilon: Number | None = None,
    rho: Number | None = None,
    mechanism: MechanismName | None = None,
    share: Fraction = Fraction(1),
) -> MomentsPlan:
    """Plan sums of products of columns, or refuse them; nothing here depends on the data."""
    (output,) = query.outputs
    measure: logical.MomentsMeasure = output.measure  # type: ignore[assignment]
    refuse_ambiguous_names(replace(query, grouping=logical.Grouping(SIDES)))
    scope = bind(query.source, catalog)
    steps = lattice_measures(measure, scope)
    unit, grouping = scope.table.unit, query.grouping
    caps = contribution_bounds.effective(unit, scope.table.caps, None, grouping.max_rows_per_group)
    contribution_bounds.require_row_bound(f"moments {output.name!r}", unit, caps, by_group=False)
    rows = contribution_bounds.spread(caps, 1).l1
    moved = moments_sensitivity(len(steps), measure.products, rows, unit.neighbours)
    asked = allocation.spendings(budget, epsilon=epsilon, rho=rho, mechanism=mechanism, share=share)
    spent, (noise,) = min(
        ((each, allocation.mechanisms(each, [Fraction(1)], [moved])) for each in asked),
        key=lambda pair: pair[1][0].variance,
    )
    measures = tuple(_measure(one, other, steps) for one, other in pairs_of(len(steps), measure.products))
    named = zip(measure.columns, steps, strict=True)
    return MomentsPlan(
        dataset=scope.name,
        unit=unit,
        caps=caps,
        pushdown=lower_query(scope, Keys(), contribution_bounds.caps_to_enforce(unit, caps, 1), measures),
        name=output.name,
        axes=tuple(LatticeAxis(name, each.grid, each.centre, each.missing or 0) for name, each in named),
        products=measure.products,
        sensitivity=moved,
        mechanism=noise,
        spending=spent,
        slice=scope.table.part,
    )


def lattice_measures(measure: logical.MomentsMeasure, scope: Bound) -> tuple[SumSteps, ...]:
    """Each column less the middle of its bounds, in steps of its lattice."""
    if not 0 < len(measure.columns) <= MOST_COLUMNS or CONSTANT in measure.columns:
        raise ParameterError(
            f"moments of {len(measure.columns):,} columns, or of one that is called {CONSTANT!r}",
            because=f"they are of 1 to {MOST_COLUMNS} columns, and the constant has that name",
            instead='moments("age", "income")',
        )
    return tuple(_lattice_steps(*each, scope) for each in zip(measure.columns, measure.bounds, strict=True))


def _measure(one: int, other: int, steps: Sequence[SumSteps]) -> Integers:
    if other == 0:
        return CountRows()
    return steps[other - 1] if one == 0 else SumProducts(steps[one - 1], steps[other - 1])


def lattice_axis(name: str, bounds: Bounds, missing: int | None = None) -> LatticeAxis:
    """The lattice of public bounds: its steps are multiples of the grid, and the middle is the nearest of them."""
    low, high = bounds
    grid = (high - low) / (2 * LATTICE)
    centre = math.floor((low + high) / 2 / grid + Fraction(1, 2)) if grid > 0 else 0
    if grid <= 0 or abs(centre) + LATTICE > LARGEST_STEP:
        raise ParameterError(
            f"bounds of {name!r} that are equal, or too near to each other",
            because="a lattice needs a low and a high end",
            instead="bounds=(0, 100)",
        )
    return LatticeAxis(name, grid, centre, centre if missing is None else missing)


def _lattice_steps(name: str, bounds: Bounds | None, scope: Bound) -> SumSteps:
    """A column less the middle of its bounds, in steps of the lattice."""
    operand: logical.Expression = logical.ColumnRef(name)
    column, kind = scope.declared_column(operand), scope.term(operand).type
    if kind is ColumnType.BOOLEAN:
        operand, bounds = logical.Cast(operand, ColumnType.INTEGER), (Fraction(0), Fraction(1))
    elif kind not in NUMERIC:
        raise TypeMismatchError(
            f"moments of {name!r}",
            because=f"it is of type {kind}, and only numbers and booleans are multiplied",
            instead="a column of type integer, real or boolean",
        )
    found = bounds or (column.bounds if column else None)
    if found is None:
        raise UnboundedError(
            f"moments of {name!r}",
            because="no bounds are declared for it, so one row could move them without limit",
            instead=f"bounds of {name!r} in the catalog",
        )
    axis = lattice_axis(name, found)
    low, high = axis.centre - LATTICE, axis.centre + LATTICE
    declared = missing_step(column, axis.grid, low, high)
    missing = axis.missing if declared is None else declared
    return SumSteps(scope.term(operand), axis.grid, low, high, centre=axis.centre, missing=missing)
