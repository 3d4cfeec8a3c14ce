"""A value on the steps of a public grid between its bounds: where one step ends, and how many rows are at each.

Medians, distances between quartiles and quantiles are read off these counts. Rows without a value are at no step.
"""

from dataclasses import replace
from fractions import Fraction

from discreet.catalog.catalog import ColumnType
from discreet.errors import ParameterError, UnsupportedError
from discreet.plan import logical, physical
from discreet.planner.resolve.binding import Bound
from discreet.planner.resolve.measures import clamped_steps

STEP = "step of the grid"

Ranked = logical.MedianMeasure | logical.QuantileMeasure | logical.InterquartileRangeMeasure


def few_steps(measure: Ranked, name: str, scope: Bound, most: int = logical.MOST_EDGES) -> physical.SumSteps:
    """The steps between the bounds: few enough to count the rows at each; a default grid is made coarser."""
    verb = "quantile" if isinstance(measure, logical.QuantileMeasure) else "median"
    steps = clamped_steps(verb, measure, scope)
    if measure.grid is None:
        while steps.high - steps.low > most:
            steps = clamped_steps(verb, replace(measure, grid=steps.grid * 10), scope)
    if not 0 < steps.high - steps.low <= most:
        raise ParameterError(
            f"{name!r} over {steps.high - steps.low:,} steps of the grid",
            because=f"the rows at each step are counted, at most {most:,} of them",
            instead="tighter bounds=(lo, hi), or a coarser grid=...",
        )
    if steps.missing is not None:
        raise UnsupportedError(
            f"{name!r} of a column whose missing values count as a number",
            because="imputed values would bias the quantile",
            instead="missing values that are skipped: where(~table.age.is_missing()), and no `missing` in the catalog",
        )
    return steps


def edges(measure: Ranked, steps: physical.SumSteps, scope: Bound) -> tuple[logical.Scalar, ...]:
    """Where one step of the grid ends and the next begins: half-way, or at whole numbers where values are whole."""
    numbers = range(steps.low + 1, steps.high + 1)
    if scope.term(measure.operand).type is ColumnType.INTEGER and steps.grid == 1:
        return tuple(numbers)
    return tuple(float((number - Fraction(1, 2)) * steps.grid) for number in numbers)


def derive_step(source: logical.Relation, measure: Ranked, steps: physical.SumSteps, scope: Bound) -> logical.Derive:
    """The rows with the number of the step that each is at, counted from the lowest."""
    return logical.Derive(source, STEP, logical.Bin(measure.operand, edges(measure, steps, scope)))
