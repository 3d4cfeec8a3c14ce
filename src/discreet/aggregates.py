"""What is asked of the rows of a table: dp.count(), dp.sum("cost", bounds=(0, 100)) and the others."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet import keylists, plan
from discreet.catalog import Value
from discreet.errors import ParameterError, TypeMismatchError, short_traceback
from discreet.exact import Number, positive, rational
from discreet.expression import Expr, written


@dataclass(frozen=True)
class Aggregation:
    """An aggregate that `agg` will name."""

    measure: plan.Measure
    weight: Fraction = Fraction(1)


@short_traceback
def count(*, weight: Number = 1) -> Aggregation:
    """How many rows."""
    return Aggregation(plan.Count(), positive(weight, "weight"))


@short_traceback
def count_units(*, weight: Number = 1) -> Aggregation:
    """How many different privacy units."""
    return Aggregation(plan.CountUnits(), positive(weight, "weight"))


@short_traceback
def count_distinct(column: str | Expr, *, domain: Sequence[Value] | None = None, weight: Number = 1) -> Aggregation:
    """How many values of a public domain occur (given here, or the keys of the column in the catalog)."""
    values = None if domain is None else keylists.listed(domain, "domain", 'domain=["A", "B"]')
    return Aggregation(plan.CountDistinct(_operand(column), values), positive(weight, "weight"))


@short_traceback
def sum(  # noqa: A001 - dp.sum is the name that people type
    column: str | Expr,
    *,
    bounds: tuple[Number, Number] | None = None,
    grid: Number | None = None,
    weight: Number = 1,
) -> Aggregation:
    """The sum of a value clamped to bounds (given here, or declared in the catalog)."""
    measure = plan.Sum(_operand(column), checked_bounds(bounds), _grid(grid))
    return Aggregation(measure, positive(weight, "weight"))


@short_traceback
def mean(
    column: str | Expr,
    *,
    bounds: tuple[Number, Number] | None = None,
    grid: Number | None = None,
    weight: Number = 1,
) -> Aggregation:
    """The mean of a value clamped to bounds (given here, or declared in the catalog)."""
    measure = plan.Mean(_operand(column), checked_bounds(bounds), _grid(grid))
    return Aggregation(measure, positive(weight, "weight"))


@short_traceback
def median(
    column: str | Expr, *, bounds: tuple[Number, Number] | None = None, grid: Number | None = None
) -> Aggregation:
    """The median of a value clamped to bounds (given here, or declared in the catalog), for `session.smooth`."""
    return Aggregation(plan.Median(_operand(column), checked_bounds(bounds), _grid(grid)))


@short_traceback
def interquartile_range(
    column: str | Expr, *, bounds: tuple[Number, Number] | None = None, grid: Number | None = None
) -> Aggregation:
    """The distance between the quartiles of a value clamped to bounds, for `session.smooth`."""
    return Aggregation(plan.InterquartileRange(_operand(column), checked_bounds(bounds), _grid(grid)))


def checked_bounds(bounds: object) -> tuple[Fraction, Fraction] | None:
    """Two finite numbers in order, or nothing."""
    if bounds is None:
        return None
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        raise ParameterError(
            "bounds that are not a pair", because="bounds are a lower and an upper number", instead="bounds=(0, 100)"
        )
    low, high = _bounds(bounds[0], bounds[1])
    if low > high:
        raise ParameterError(
            f"bounds=({bounds[0]!r}, {bounds[1]!r})",
            because="the lower bound is above the upper one",
            instead=f"bounds=({bounds[1]!r}, {bounds[0]!r})",
        )
    return low, high


def _bounds(low: object, high: object) -> tuple[Fraction, Fraction]:
    try:
        return rational(low, "bounds"), rational(high, "bounds")
    except ParameterError:
        shown = ", ".join(repr(bound) for bound in (low, high))
        raise ParameterError(
            f"bounds=({shown})" if len(shown) <= 80 else "bounds that are no numbers",
            because="bounds are two finite numbers of ordinary size",
            instead="bounds=(0, 100)",
        ) from None


def _grid(grid: Number | None) -> Fraction | None:
    return None if grid is None else positive(grid, "grid")


def suggested(unnamed: object) -> str:
    """The same aggregate with a name."""
    if isinstance(unnamed, Aggregation):
        return f"{_short(unnamed.measure)}={typed(unnamed.measure)}"
    if isinstance(unnamed, Mapping) and unnamed:
        column, verb = next(iter(unnamed.items()))
        if verb in ("mean", "sum"):
            name = str(column).lower() if str(column).isidentifier() else verb
            return f'{name}=dp.{verb}("{column}", bounds=(0, 100))'
    return "n=dp.count()"


def _short(measure: plan.Measure) -> str:
    match measure:
        case plan.Count() | plan.CountUnits() | plan.CountDistinct():
            return "n"
        case plan.Sum():
            return "total"
        case plan.Mean():
            return "average"
        case plan.Median():
            return "middle"
        case plan.InterquartileRange():
            return "width"


def typed(measure: plan.Measure) -> str:
    """The call that makes a measure, with the bounds that it has."""
    match measure:
        case plan.Count():
            return "dp.count()"
        case plan.CountUnits():
            return "dp.count_units()"
        case plan.CountDistinct(operand):
            return f"dp.count_distinct({_column(operand)})"
        case _:
            limits = f", bounds=({measure.bounds[0]}, {measure.bounds[1]})" if measure.bounds else ""
            return f"dp.{_VERBS[type(measure)]}({_column(measure.operand)}{limits})"


_VERBS: Mapping[type[plan.Measure], str] = {
    plan.Sum: "sum",
    plan.Mean: "mean",
    plan.Median: "median",
    plan.InterquartileRange: "interquartile_range",
}


def measured(measure: plan.Measure) -> str:
    """A measure as it is typed, without the name of the package."""
    return typed(measure).removeprefix("dp.")


def _column(operand: plan.Expression) -> str:
    return repr(operand.name) if isinstance(operand, plan.Column) else written(operand)


def _operand(column: str | Expr) -> plan.Expression:
    if isinstance(column, str):
        return plan.Column(column)
    if isinstance(column, Expr):
        return column.node
    raise TypeMismatchError(
        f"a column of type {type(column).__name__}",
        because="an aggregate takes a column name or an expression",
        instead='dp.sum("cost", bounds=(0, 100))',
    )
