"""What is asked of the rows of a table: dp.count(), dp.sum("cost", bounds=(0, 100)) and the others."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from discreet.catalog.catalog import Value
from discreet.errors import ParameterError, TypeMismatchError, UnsupportedError, short_traceback
from discreet.exact.numbers import Number, positive, rational, shown
from discreet.plan import logical
from discreet.query import keys
from discreet.query.expression import Expr
from discreet.query.expression_text import expression_text

SHARE_OF_A_SEARCH = Fraction(1, 4)
_BOUNDS_FIRST = (
    'release = session.release(table.bounds("cost"), epsilon=0.1) first, '
    'then bounds=(release.value("low"), release.value("high"))'
)


@dataclass(frozen=True)
class Aggregation:
    """An aggregate that `agg` will name."""

    measure: logical.Measure
    weight: Fraction = Fraction(1)


@dataclass(frozen=True)
class Several:
    """Aggregates that `agg` will name together, each by an end of its own."""

    parts: tuple[tuple[str, Aggregation], ...]


@short_traceback
def count(*, weight: Number = 1) -> Aggregation:
    """Number of rows.

    Args:
        weight: Share of the query's privacy cost, relative to its other outputs. Default 1.

    Returns:
        An aggregate for `agg`.

    Raises:
        ParameterError: If the weight is not a positive number.

    Example:
        >>> import discreet as dp
        >>> dp.table("visits").agg(n=dp.count())
        query of table 'visits': n=count()
    """
    return Aggregation(logical.Count(), positive(weight, "weight"))


@short_traceback
def count_units(*, weight: Number = 1) -> Aggregation:
    """Number of distinct privacy units.

    Args:
        weight: Share of the query's privacy cost, relative to its other outputs. Default 1.

    Returns:
        An aggregate for `agg`.

    Raises:
        ParameterError: If the weight is not a positive number.

    Example:
        >>> import discreet as dp
        >>> dp.table("visits").agg(patients=dp.count_units())
        query of table 'visits': patients=count_units()
    """
    return Aggregation(logical.CountDistinctUnits(), positive(weight, "weight"))


@short_traceback
def count_distinct(column: str | Expr, *, domain: Sequence[Value] | None = None, weight: Number = 1) -> Aggregation:
    """Number of values of a public domain that occur in a column.

    Args:
        column: Name of a column, or an expression.
        domain: Public values to look for. Default: the keys of the column in the catalog.
        weight: Share of the query's privacy cost, relative to its other outputs. Default 1.

    Returns:
        An aggregate for `agg`.

    Raises:
        ParameterError: If the domain is not a list, or the weight is not a positive number.
        TypeMismatchError: If `column` is neither a name nor an expression.

    Example:
        >>> import discreet as dp
        >>> query = dp.table("visits").agg(wards=dp.count_distinct("ward", domain=["cardiology", "emergency"]))
    """
    name = column if isinstance(column, str) else "cost"
    values = None if domain is None else keys.list_values(domain, "domain", 'domain=["A", "B"]', name)
    return Aggregation(logical.CountDistinct(operand_of(column), values), positive(weight, "weight"))


@short_traceback
def sum(  # noqa: A001 - dp.sum is the name that people type
    column: str | Expr,
    *,
    bounds: tuple[Number, Number] | Literal["auto"] | logical.Search | None = None,
    grid: Number | None = None,
    weight: Number = 1,
) -> Aggregation:
    """Sum of the values of a column, clipped to bounds.

    Args:
        column: Name of a numeric column, or an expression.
        bounds: Lowest and highest value; values outside are clipped. "auto" or `dp.auto_bounds()` finds them for a part
            of epsilon. Default: the bounds in the catalog.
        grid: Values are rounded to multiples of it, in the unit of the column. Default: chosen from the bounds.
        weight: Share of the query's privacy cost, relative to its other outputs. Default 1.

    Returns:
        An aggregate for `agg`.

    Raises:
        ParameterError: If bounds, grid or weight are not numbers in their range.
        TypeMismatchError: If `column` is neither a name nor an expression.

    Example:
        >>> import discreet as dp
        >>> dp.table("visits").agg(cost=dp.sum("cost", bounds=(0, 5_000)))
        query of table 'visits': cost=sum('cost', bounds=(0, 5000))
    """
    if (search := _search_or_numbers(bounds)) is not None:
        return Aggregation(
            logical.AutoBoundsAggregate(logical.Sum(operand_of(column), None, checked_grid(grid)), search),
            _weight(weight),
        )
    measure = logical.Sum(operand_of(column), checked_bounds(bounds), checked_grid(grid))
    return Aggregation(measure, _weight(weight))


@short_traceback
def mean(
    column: str | Expr,
    *,
    bounds: tuple[Number, Number] | Literal["auto"] | logical.Search | None = None,
    grid: Number | None = None,
    weight: Number = 1,
) -> Aggregation:
    """Mean of the values of a column, clipped to bounds.

    It is the quotient of a noisy sum and a noisy count, so its margin of error depends on the size of the group.

    Args:
        column: Name of a numeric column, or an expression.
        bounds: Lowest and highest value; values outside are clipped. "auto" or `dp.auto_bounds()` finds them for a part
            of epsilon. Default: the bounds in the catalog.
        grid: Values are rounded to multiples of it, in the unit of the column. Default: chosen from the bounds.
        weight: Share of the query's privacy cost, relative to its other outputs. Default 1.

    Returns:
        An aggregate for `agg`.

    Raises:
        ParameterError: If bounds, grid or weight are not numbers in their range.
        TypeMismatchError: If `column` is neither a name nor an expression.

    Example:
        >>> import discreet as dp
        >>> dp.table("visits").agg(cost=dp.mean("cost", bounds=(0, 5_000)))
        query of table 'visits': cost=mean('cost', bounds=(0, 5000))
    """
    if (search := _search_or_numbers(bounds)) is not None:
        return Aggregation(
            logical.AutoBoundsAggregate(logical.Mean(operand_of(column), None, checked_grid(grid)), search),
            _weight(weight),
        )
    measure = logical.Mean(operand_of(column), checked_bounds(bounds), checked_grid(grid))
    return Aggregation(measure, _weight(weight))


@short_traceback
def auto_bounds(
    *, share: Number = SHARE_OF_A_SEARCH, method: Literal["histogram", "growth"] = "histogram"
) -> logical.Search:
    """Automatic clipping bounds for a sum or a mean, found privately in the same query.

    Args:
        share: Part of the query's privacy cost that the search takes, between 0 and 1. Default 0.25.
        method: "histogram" counts rows by size, in bins that grow by about half. "growth" widens the bounds until the
            sum hardly grows. Default "histogram".

    Returns:
        A search for `bounds=` of `dp.sum` and `dp.mean`.

    Raises:
        ParameterError: If the share is not between 0 and 1, or the method has another name.

    Example:
        >>> import discreet as dp
        >>> query = dp.table("visits").agg(cost=dp.sum("cost", bounds=dp.auto_bounds(share=0.1)))
    """
    part = positive(share, "share")
    if part >= 1:
        raise ParameterError(
            f"share={share!r}", because="it is above 0 and below 1; the answer takes the rest", instead="share=0.25"
        )
    if method not in ("histogram", "growth"):
        raise ParameterError(
            f"method={method!r}", because="there are two ways", instead='method="histogram", or method="growth"'
        )
    return logical.Search(part, method)


def limits(column: str | Expr, grid: Number | None, method: Literal["histogram", "growth"]) -> Aggregation:
    """The bounds themselves, for the whole privacy cost."""
    if not isinstance(column, str | Expr):
        named = column[0] if isinstance(column, list | tuple) and column and isinstance(column[0], str) else "cost"
        raise TypeMismatchError(
            f"bounds of type {type(column).__name__}",
            because="bounds are found for one column, by name or as an expression",
            instead=f'bounds("{named}"), and a query for each other column',
        )
    return Aggregation(logical.ClippingBounds(operand_of(column), checked_grid(grid), auto_bounds(method=method)))


@short_traceback
def variance(
    column: str | Expr,
    *,
    bounds: tuple[Number, Number] | None = None,
    grid: Number | None = None,
    weight: Number = 1,
) -> Aggregation:
    """Variance of the values of a column, clipped to bounds.

    Args:
        column: Name of a numeric column, or an expression.
        bounds: Lowest and highest value; values outside are clipped. Default: the bounds in the catalog.
        grid: Values are rounded to multiples of it, in the unit of the column. Default: chosen from the bounds.
        weight: Share of the query's privacy cost, relative to its other outputs. Default 1.

    Returns:
        An aggregate for `agg`.

    Raises:
        ParameterError: If bounds, grid or weight are not numbers in their range.
        TypeMismatchError: If `column` is neither a name nor an expression.

    Example:
        >>> import discreet as dp
        >>> query = dp.table("visits").agg(spread=dp.variance("cost", bounds=(0, 5_000)))
    """
    measure = logical.Variance(operand_of(column), checked_bounds(bounds), checked_grid(grid))
    return Aggregation(measure, positive(weight, "weight"))


@short_traceback
def std(
    column: str | Expr,
    *,
    bounds: tuple[Number, Number] | None = None,
    grid: Number | None = None,
    weight: Number = 1,
) -> Aggregation:
    """Standard deviation of the values of a column, clipped to bounds.

    Args:
        column: Name of a numeric column, or an expression.
        bounds: Lowest and highest value; values outside are clipped. Default: the bounds in the catalog.
        grid: Values are rounded to multiples of it, in the unit of the column. Default: chosen from the bounds.
        weight: Share of the query's privacy cost, relative to its other outputs. Default 1.

    Returns:
        An aggregate for `agg`.

    Raises:
        ParameterError: If bounds, grid or weight are not numbers in their range.
        TypeMismatchError: If `column` is neither a name nor an expression.

    Example:
        >>> import discreet as dp
        >>> query = dp.table("visits").agg(spread=dp.std("cost", bounds=(0, 5_000)))
    """
    measure = logical.Deviation(operand_of(column), checked_bounds(bounds), checked_grid(grid))
    return Aggregation(measure, positive(weight, "weight"))


def each(aggregations: Mapping[str, object]) -> dict[str, Aggregation]:
    """Aggregates by their names; several that share one are named by it and an end of their own."""
    named = [
        (f"{name}_{end}" if end else name, part)
        for name, value in aggregations.items()
        for end, part in (value.parts if isinstance(value, Several) else (("", value),))
    ]
    found = dict(named)
    if len(found) < len(named):
        twice = next(name for name, times in Counter(name for name, _ in named).items() if times > 1)
        raise ParameterError(
            f"the name {twice!r} twice", because="every answer has a name of its own", instead=f"agg({twice}_too=...)"
        )
    return found  # type: ignore[return-value]


def checked_bounds(bounds: object) -> tuple[Fraction, Fraction] | None:
    """Two finite numbers in order, or nothing."""
    if bounds is None:
        return None
    if _search(bounds) is not None:
        raise UnsupportedError(
            "bounds that are found first, of anything but a sum or a mean",
            because="only these are read off the counts that find the bounds",
            instead=_BOUNDS_FIRST,
        )
    if isinstance(bounds, str):
        raise ParameterError(
            f"bounds={bounds!r}"[:80],
            because="automatic bounds exist only for a sum or a mean",
            instead=_BOUNDS_FIRST,
        )
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


def _search(bounds: object) -> logical.Search | None:
    if isinstance(bounds, logical.Search):
        return bounds
    return logical.Search(SHARE_OF_A_SEARCH) if isinstance(bounds, str) and bounds == "auto" else None


def _search_or_numbers(bounds: object) -> logical.Search | None:
    """The search of a sum or a mean; of all words, "auto" is one."""
    if isinstance(bounds, str) and bounds != "auto":
        raise ParameterError(
            f"bounds={bounds!r}"[:80],
            because="bounds are two numbers, or the word for finding them first",
            instead='bounds="auto", or bounds=(0, 100)',
        )
    return _search(bounds)


def _weight(weight: Number) -> Fraction:
    return positive(weight, "weight")


def checked_grid(grid: Number | None) -> Fraction | None:
    """A grid above zero, or nothing."""
    return None if grid is None else positive(grid, "grid")


def name_suggestion(unnamed: object) -> str:
    """The same aggregate with a name."""
    if isinstance(unnamed, Aggregation):
        return f"{_short(unnamed.measure)}={call_text(unnamed.measure)}"
    if isinstance(unnamed, Mapping) and unnamed:
        column, verb = next(iter(unnamed.items()))
        if verb in ("mean", "sum"):
            name = str(column).lower() if str(column).isidentifier() else verb
            return f'{name}=dp.{verb}("{column}", bounds=(0, 100))'
    return "n=dp.count()"


def _short(measure: logical.Measure) -> str:  # noqa: C901 - one case per measure
    match measure:
        case logical.Count() | logical.CountDistinctUnits() | logical.CountDistinct():
            return "n"
        case logical.Sum():
            return "total"
        case logical.Mean():
            return "average"
        case logical.Variance() | logical.Deviation():
            return "spread"
        case logical.MedianMeasure() | logical.QuantileMeasure():
            return "middle"
        case logical.InterquartileRangeMeasure():
            return "width"
        case logical.AutoBoundsAggregate(known):
            return _short(known)
        case logical.ClippingBounds():
            return "bounds"
        case logical.Ranges() | logical.HierarchyCounts():
            return "n"
        case logical.MomentsMeasure():
            return "total"


def call_text(measure: logical.Measure) -> str:
    """The call that makes a measure, with the bounds that it has."""
    match measure:
        case logical.Count():
            return "dp.count()"
        case logical.CountDistinctUnits():
            return "dp.count_units()"
        case logical.CountDistinct(operand):
            return f"dp.count_distinct({column_text(operand)})"
        case logical.AutoBoundsAggregate(known):
            return call_text(known).removesuffix(")") + ', bounds="auto")'
        case logical.ClippingBounds(operand):
            return f"bounds({column_text(operand)})"
        case logical.Ranges(operand, _, pairs):
            return f"{len(pairs):,} ranges of {column_text(operand)}"
        case logical.MomentsMeasure(columns):
            return f"moments({', '.join(map(repr, columns))})"
        case logical.HierarchyCounts(levels):
            return f"hierarchy({', '.join(map(repr, levels))})"
        case _:
            share = f", {shown(measure.probability)}" if isinstance(measure, logical.QuantileMeasure) else ""
            limits = f", bounds=({measure.bounds[0]}, {measure.bounds[1]})" if measure.bounds else ""
            return f"dp.{_VERBS[type(measure)]}({column_text(measure.operand)}{share}{limits})"


_VERBS: Mapping[type[logical.Measure], str] = {
    logical.Sum: "sum",
    logical.Mean: "mean",
    logical.Variance: "variance",
    logical.Deviation: "std",
    logical.MedianMeasure: "median",
    logical.QuantileMeasure: "quantile",
    logical.InterquartileRangeMeasure: "interquartile_range",
}


def short_call_text(measure: logical.Measure) -> str:
    """A measure as it is typed, without the name of the package."""
    return call_text(measure).removeprefix("dp.")


def column_text(operand: logical.Expression) -> str:
    """A column or an expression as it is typed."""
    return repr(operand.name) if isinstance(operand, logical.ColumnRef) else expression_text(operand)


def operand_of(column: str | Expr) -> logical.Expression:
    """The expression of a column that is named, or of an expression."""
    if isinstance(column, str):
        return logical.ColumnRef(column)
    if isinstance(column, Expr):
        return column.node
    raise TypeMismatchError(
        f"a column of type {type(column).__name__}",
        because="an aggregate takes a column name or an expression",
        instead='dp.sum("cost", bounds=(0, 100))',
    )
