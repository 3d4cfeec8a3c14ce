"""Features of a unit: numbers about its own rows, computed exactly, from which statistics over units are made.

A count is a whole number. A sum is one of steps on a public grid, so that the order of rows does not matter; the
smallest and the largest value are allowed here, because a feature is clamped again before it leaves.
"""

import math
from collections.abc import Callable

from discreet.catalog.catalog import NUMERIC, UNSTRUCTURED, Column, ColumnType
from discreet.errors import ParameterError, TypeMismatchError, UnboundedError, UnsupportedError
from discreet.exact.numbers import shown
from discreet.plan import logical
from discreet.plan.physical import Average, CountKinds, CountRows, Extreme, Feature, SumSteps, Term
from discreet.planner.resolve.grids import default_grid, missing_step

MOST_STEPS = 2**22
_ORDERED = (*NUMERIC, ColumnType.DATE, ColumnType.TIMESTAMP)

Terms = Callable[[logical.Expression], Term]
Facts = Callable[[logical.Expression], Column | None]


def features(step: logical.GroupByUnit, term: Terms, declared: Facts) -> tuple[Feature, ...]:
    """The features of a step, with the types of the columns that they become."""
    return tuple(_feature(each, term, declared) for each in step.features)


def _feature(asked: logical.UnitFeature, term: Terms, declared: Facts) -> Feature:
    match asked.measure:
        case logical.Count():
            return Feature(asked.name, CountRows(), ColumnType.INTEGER)
        case logical.CountDistinct(operand):
            return Feature(asked.name, CountKinds(_require_listable(asked.name, term(operand))), ColumnType.INTEGER)
        case logical.Sum():
            steps = _steps("sum", asked.measure, term, declared)
            is_whole = steps.operand.type is ColumnType.INTEGER and steps.grid == 1
            return Feature(asked.name, steps, ColumnType.INTEGER if is_whole else ColumnType.REAL)
        case logical.Mean():
            return Feature(asked.name, Average(_steps("mean", asked.measure, term, declared)), ColumnType.REAL)
        case logical.UnitExtreme(operand, is_largest):
            found = _require_order(asked.name, term(operand))
            return Feature(asked.name, Extreme(found, is_largest), found.type)
    raise UnsupportedError(
        f"per_unit({asked.name}=...) of this kind",
        because="features are counts, sums, means, smallest and largest values of a unit's rows",
        instead=f'per_unit({asked.name}=dp.count()), dp.sum(...), dp.mean(...), dp.smallest("x"), dp.largest("x")',
    )


def _require_listable(name: str, term: Term) -> Term:
    if term.type in (ColumnType.REAL, *UNSTRUCTURED):
        raise TypeMismatchError(
            f"per_unit({name}=...), a count of different values of type {term.type}",
            because="such values are seldom equal",
            instead='dp.count_distinct(table["x"].cast("integer"))',
        )
    return term


def _require_order(name: str, term: Term) -> Term:
    if term.type not in _ORDERED:
        raise TypeMismatchError(
            f"per_unit({name}=...), the smallest or largest value of type {term.type}",
            because="the order of such values differs from engine to engine",
            instead="dp.count_distinct(...), or a column of type integer, real, date or timestamp",
        )
    return term


def _steps(verb: str, measure: logical.Sum | logical.Mean, term: Terms, declared: Facts) -> SumSteps:
    operand, column = term(measure.operand), declared(measure.operand)
    if operand.type not in NUMERIC:
        raise TypeMismatchError(
            f"{verb} of a unit's values of type {operand.type}",
            because=f"only numbers have a {verb}",
            instead="dp.count(), or a column of type integer or real",
        )
    bounds = measure.bounds or (column.bounds if column else None)
    if bounds is None:
        raise UnboundedError(
            f"{verb} of a unit's values without bounds",
            because="values are added up exactly, in steps that bounds make small enough",
            instead=f'dp.{verb}("cost", bounds=(0, 1000)), or declare bounds in the catalog',
        )
    grid = measure.grid or (column.grid if column and column.grid else default_grid(operand.type, bounds))
    low, high = math.ceil(bounds[0] / grid), math.floor(bounds[1] / grid)
    if low > high or max(abs(low), abs(high)) > MOST_STEPS:
        raise ParameterError(
            f"{verb} of a unit's values on a grid of {shown(grid)}",
            because=f"the bounds hold no step of it, or lie more than {MOST_STEPS:,} steps from zero",
            instead="tighter bounds, or another grid: bounds=(0, 1000), grid=0.01",
        )
    return SumSteps(operand, grid, low, high, missing=missing_step(column, grid, low, high))
