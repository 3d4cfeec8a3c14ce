"""Aggregates become integer measures: which integers an output needs, and on which grid.

A sum is counted in steps of a public grid: values are clamped to the bounds, rounded to the nearest step, and clamped
again as integers. A mean is a centre plus a centred sum over a count, so that its noise follows the width of the
bounds and not their distance from zero. A variance needs the sum of squares around that centre as well.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from discreet.catalog.catalog import NUMERIC, UNSTRUCTURED, Column, ColumnType, Value
from discreet.errors import KeysError, ParameterError, TypeMismatchError, UnboundedError, UnsupportedError
from discreet.exact.numbers import shown
from discreet.plan import logical, physical
from discreet.planner.resolve.binding import KEY_EXAMPLES, Bound, key_constant
from discreet.planner.resolve.grids import default_grid, missing_step
from discreet.planner.resolve.variance import DEVIATION, VARIANCE

LARGEST_STEP = 2**53
LARGEST_SQUARED = math.isqrt(LARGEST_STEP)
EASILY_SQUARED = 2**20
FARTHEST_SOUGHT = 10**15
GRID_OF_A_SOUGHT_REAL = Fraction(1, 10_000)
SHARE_OF_A_MEANS_SUM = Fraction(3, 5)
SHARES_OF_A_VARIANCE = Fraction(3, 10), Fraction(1, 2), Fraction(1, 5)
_FINEST_GRID, _COARSEST_GRID = Fraction(1, 10**290), Fraction(10**290)


@dataclass(frozen=True)
class MeasureShare:
    """One measure that an output needs, with its share of the output's weight."""

    measure: physical.Integers
    share: Fraction


@dataclass(frozen=True)
class Recipe:
    """How an output is made from its measures: a total in steps of a grid, or a mean or variance around a centre."""

    name: str
    kind: str
    parts: tuple[MeasureShare, ...]
    grid: Fraction = Fraction(1)
    centre: Fraction = Fraction(0)
    bounds: tuple[Fraction, Fraction] | None = None

    @property
    def errors(self) -> tuple[Mapping[physical.Integers, int], ...]:
        """How much the variance of each measure weighs in that of the output, in each case that bounds the others.

        With a mean that lies m away from its centre, noise on the count is worth m^2 times the noise on the sum. With
        squares of q on average, a variance moves by dQ - 2m dS - (q - 2m^2) dn, over n, where m^2 <= q.
        """
        total, *others = (part.measure for part in self.parts)
        if not others or not isinstance(total, physical.SumSteps):
            return ({total: 1},)
        reach = max(total.high - total.centre, total.centre - total.low)
        if len(others) == 1:
            return {total: 1}, {total: 1, others[0]: reach**2}
        squares, count = others
        sides = {total: 4 * reach**2}, {count: reach**4}, {total: 4 * reach**2, count: reach**4}
        return {squares: 1}, *({squares: 1} | side for side in sides)


def recipe(output: logical.Output, scope: Bound) -> Recipe:  # noqa: C901 - one case per measure
    """The measures and the grid of an output."""
    match output.measure:
        case logical.Count():
            return Recipe(output.name, "count", (MeasureShare(physical.CountRows(), Fraction(1)),))
        case logical.CountDistinctUnits():
            return Recipe(output.name, "count of units", (MeasureShare(physical.CountUnits(), Fraction(1)),))
        case logical.CountDistinct():
            measure = _count_values(output.measure, scope)
            return Recipe(output.name, "count of values", (MeasureShare(measure, Fraction(1)),))
        case logical.Sum():
            return _sum(output.name, output.measure, scope)
        case logical.Mean():
            return _mean(output.name, output.measure, scope)
        case logical.Variance():
            return _dispersion(output.name, VARIANCE, output.measure, scope)
        case logical.Deviation():
            return _dispersion(output.name, DEVIATION, output.measure, scope)
        case logical.AutoBoundsAggregate() | logical.ClippingBounds():
            raise _bounds_first(output.name)
        case logical.Ranges() | logical.HierarchyCounts() | logical.MomentsMeasure():
            raise _only_alone(output.name)
        case logical.MedianMeasure() | logical.QuantileMeasure():
            raise _smooth_noise_error("median", output.name)
        case logical.InterquartileRangeMeasure():
            raise _smooth_noise_error("interquartile range", output.name)


def _only_alone(name: str) -> UnsupportedError:
    return UnsupportedError(
        f"ranges, a hierarchy or moments {name!r} beside other outputs, or outside of a release",
        because="they are a table of their own",
        instead='session.release(table.ranges("age", ranges=[(21, 33)]), epsilon=0.5)',
    )


def _bounds_first(name: str) -> UnsupportedError:
    return UnsupportedError(
        f"{name!r} with bounds that are found first, in a query that is not only about them",
        because="bounds are found for one column, and its sum, mean and count",
        instead='release = session.release(table.bounds("cost"), epsilon=0.1) first, '
        'then bounds=(release.value("low"), release.value("high"))',
    )


def _smooth_noise_error(kind: str, name: str) -> UnsupportedError:
    """One row can move it as far as the bounds reach, on some data; on most data it moves it far less."""
    return UnsupportedError(
        f"{kind} {name!r} in a release",
        because="no noise of a size that is public covers it",
        instead="session.release(query, epsilon=1, method=dp.SmoothSensitivity())",
    )


def _count_values(measure: logical.CountDistinct, scope: Bound) -> physical.CountValues:
    term = scope.term(measure.operand)
    column = scope.declared_column(measure.operand)
    domain = measure.domain if measure.domain is not None else (column.keys if column else None)
    if term.type in (ColumnType.REAL, *UNSTRUCTURED):
        raise TypeMismatchError(
            f"count of distinct values of {_operand_text(measure.operand)}, of type {term.type}",
            because="values of this type cannot be listed in advance",
            instead=f'dp.count_distinct({_code(measure.operand)}.cast("integer"), domain=range(100))'
            if term.type is ColumnType.REAL
            else "a column that the owner extracted from it",
        )
    if domain is None and term.type is ColumnType.BOOLEAN:
        domain = (False, True)
    if domain is None:
        raise KeysError(
            f"count of distinct values of {_operand_text(measure.operand)}",
            because="its values are not public, so a rare one would reveal a unit",
            instead=f"dp.count_distinct({_operand_text(measure.operand)}, domain={KEY_EXAMPLES[term.type]}), "
            "or keys in the catalog",
        )
    values: tuple[Value, ...] = tuple(key_constant(v, term.type, "domain") for v in domain if v is not None)
    if not 0 < len(values) <= logical.MOST_KEYS or len(set(values)) != len(values):
        raise KeysError(
            f"a domain of {len(values):,} values",
            because=f"a domain has 1 to {logical.MOST_KEYS:,} values, each once",
            instead='domain=["A", "B"]',
        )
    return physical.CountValues(term, values)


def _sum(name: str, measure: logical.Sum, scope: Bound) -> Recipe:
    steps = clamped_steps("sum", measure, scope)
    if steps.low == steps.high == 0:
        raise _no_width("sum", "every value is clamped to zero")
    return Recipe(name, "sum", (MeasureShare(steps, Fraction(1)),), grid=steps.grid, bounds=_bounds(steps))


def _mean(name: str, measure: logical.Mean, scope: Bound) -> Recipe:
    centred, present = _centre("mean", clamped_steps("mean", measure, scope))
    parts = (MeasureShare(centred, SHARE_OF_A_MEANS_SUM), MeasureShare(present, 1 - SHARE_OF_A_MEANS_SUM))
    return _around_centre(name, "mean", centred, parts)


def _dispersion(name: str, kind: str, measure: logical.Variance | logical.Deviation, scope: Bound) -> Recipe:
    verb = "std" if kind == DEVIATION else kind
    centred, present = _centre(verb, _squarable(verb, measure, scope))
    total, squares, count = SHARES_OF_A_VARIANCE
    parts = (
        MeasureShare(centred, total),
        MeasureShare(replace(centred, power=2), squares),
        MeasureShare(present, count),
    )
    return _around_centre(name, kind, centred, parts)


def _around_centre(name: str, kind: str, centred: physical.SumSteps, parts: tuple[MeasureShare, ...]) -> Recipe:
    grid = centred.grid
    return Recipe(name, kind, parts, grid=grid, centre=centred.centre * grid, bounds=_bounds(centred))


def _centre(verb: str, steps: physical.SumSteps) -> tuple[physical.SumSteps, physical.CountRows]:
    """The sum around the middle of its bounds, and the number of its rows."""
    if steps.low == steps.high:
        raise _no_width(verb, f"both bounds are the same step of the grid, so the {verb} is known")
    present = physical.CountRows(steps.operand if steps.missing is None else None)
    return replace(steps, centre=(steps.low + steps.high) // 2), present


def _squarable(verb: str, measure: logical.Variance | logical.Deviation, scope: Bound) -> physical.SumSteps:
    """Steps whose squares are exact on every engine; a default grid is made coarser until noise on them is too."""
    steps = clamped_steps(verb, measure, scope)
    while measure.grid is None and steps.high - steps.low > 2 * EASILY_SQUARED:
        steps = clamped_steps(verb, replace(measure, grid=10 * steps.grid), scope)
    if steps.high - steps.low > 2 * LARGEST_SQUARED:
        raise ParameterError(
            f"{verb} with bounds that are {steps.high - steps.low:,} steps of the grid apart",
            because="squares beyond 2**53 cannot be distinguished on every engine",
            instead="tighter bounds, or a coarser grid",
        )
    return steps


def clamped_steps(verb: str, measure: logical.Bounded, scope: Bound) -> physical.SumSteps:
    """The value of a measure in steps of its grid, within its bounds; refused where it has none."""
    term = _number(verb, f"a {verb}", measure.operand, scope)
    column = scope.declared_column(measure.operand)
    bounds = measure.bounds or (column.bounds if column else None)
    if bounds is None:
        raise UnboundedError(
            f"{verb} of {_operand_text(measure.operand)}",
            because=f"no bounds are declared for it, so one {_who(scope)} could move the {verb} without limit",
            instead=f"dp.{verb}({_operand_text(measure.operand)}, bounds=(lo, hi)), or declare bounds in the catalog",
        )
    grid = measure.grid or (column.grid if column and column.grid else default_grid(term.type, bounds))
    return _clamp_to_grid(verb, term, bounds, grid, column)


def _number(verb: str, what: str, operand: logical.Expression, scope: Bound) -> physical.Term:
    """A numeric value, or an error for any other."""
    term = scope.term(operand)
    if term.type not in NUMERIC:
        text = f'; text that holds numbers: {_code(operand)}.cast("real")' if term.type is ColumnType.TEXT else ""
        raise TypeMismatchError(
            f"{verb} of {_operand_text(operand)}",
            because=f"it is of type {term.type}, and only numbers have {what}",
            instead=f"dp.count(), or a column of type integer or real{text}",
        )
    return term


def search_steps(operand: logical.Expression, grid: Fraction | None, scope: Bound) -> physical.SumSteps:
    """A value whose bounds are to be found: its steps as a whole number, zero among them, as far as is declared."""
    kind, column = _number("bounds", "bounds", operand, scope).type, scope.declared_column(operand)
    usual = Fraction(1) if kind is ColumnType.INTEGER else GRID_OF_A_SOUGHT_REAL
    spacing = grid or (column.grid if column and column.grid else usual)
    farthest = FARTHEST_SOUGHT * spacing
    low, high = (column.bounds if column else None) or (-farthest, farthest)
    known = logical.Sum(operand, (max(-farthest, min(high, low)), min(farthest, high)), spacing)
    steps = clamped_steps("sum", known, scope)
    if steps.missing is not None:
        raise UnsupportedError(
            f"bounds of {_operand_text(operand)}, whose missing values count as a number",
            because="they would be taken for rows of that size",
            instead="missing values that are skipped: where(table.cost.is_present()), and no `missing` in the catalog",
        )
    if min(0, steps.low) == max(0, steps.high):
        raise _no_width("sum", "every value is clamped to zero")
    steps = replace(steps, low=min(0, steps.low), high=max(0, steps.high))
    if kind is ColumnType.INTEGER and spacing == 1:
        return steps
    in_steps = logical.Cast(logical.Combine("*", operand, logical.Literal(float(1 / spacing))), ColumnType.INTEGER)
    return replace(steps, operand=scope.term(in_steps))


def _clamp_to_grid(
    verb: str, term: physical.Term, bounds: tuple[Fraction, Fraction], grid: Fraction, column: Column | None
) -> physical.SumSteps:
    if not _FINEST_GRID <= grid <= _COARSEST_GRID:
        raise ParameterError(
            f"{verb} on a grid outside 10^-290 to 10^290",
            because="its steps cannot be counted in doubles",
            instead="grid=0.01, or bounds in another measure of the same thing",
        )
    low, high = math.ceil(bounds[0] / grid), math.floor(bounds[1] / grid)
    if low > high:
        raise _no_width(verb, f"no multiple of the grid {shown(grid)} lies within the bounds")
    if max(abs(low), abs(high)) > LARGEST_STEP:
        raise ParameterError(
            f"{verb} with bounds of more than 2**53 steps of the grid {shown(grid)}",
            because="steps beyond 2**53 cannot be distinguished on every engine",
            instead="tighter bounds, or a coarser grid",
        )
    return physical.SumSteps(term, grid, low, high, missing=missing_step(column, grid, low, high))


def _bounds(steps: physical.SumSteps) -> tuple[Fraction, Fraction]:
    return steps.low * steps.grid, steps.high * steps.grid


def _who(scope: Bound) -> str:
    return " and ".join(scope.table.unit.columns) or "row"


def _operand_text(operand: logical.Expression) -> str:
    return repr(operand.name) if isinstance(operand, logical.ColumnRef) else "(...)"


def _code(operand: logical.Expression) -> str:
    return f"table[{operand.name!r}]" if isinstance(operand, logical.ColumnRef) else "(...)"


def _no_width(verb: str, because: str) -> ParameterError:
    return ParameterError(
        f"{verb} with bounds that leave nothing to measure", because=because, instead="bounds=(0, 100)"
    )
