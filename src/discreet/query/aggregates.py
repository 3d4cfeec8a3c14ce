"""What is asked of the rows of a table: dp.count(), dp.sum("cost", bounds=(0, 100)) and the others."""

import builtins
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from discreet.catalog.catalog import Value
from discreet.errors import ParameterError, TypeMismatchError, UnsupportedError, short_traceback
from discreet.exact import Number, positive, rational, shown
from discreet.mechanisms.quantile import share_below
from discreet.plan import logical
from discreet.query import keys
from discreet.query.expression import Expr, expression_text

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
    """How many rows."""
    return Aggregation(logical.Count(), positive(weight, "weight"))


@short_traceback
def count_units(*, weight: Number = 1) -> Aggregation:
    """How many different privacy units."""
    return Aggregation(logical.CountDistinctUnits(), positive(weight, "weight"))


@short_traceback
def count_distinct(column: str | Expr, *, domain: Sequence[Value] | None = None, weight: Number = 1) -> Aggregation:
    """How many values of a public domain occur (given here, or the keys of the column in the catalog)."""
    values = None if domain is None else keys.list_values(domain, "domain", 'domain=["A", "B"]')
    return Aggregation(logical.CountDistinct(_operand(column), values), positive(weight, "weight"))


@short_traceback
def sum(  # noqa: A001 - dp.sum is the name that people type
    column: str | Expr,
    *,
    bounds: tuple[Number, Number] | Literal["auto"] | logical.Search | None = None,
    grid: Number | None = None,
    weight: Number = 1,
) -> Aggregation:
    """The sum of a value clamped to bounds (given here, declared in the catalog, or found first with "auto")."""
    if (search := _search_or_numbers(bounds)) is not None:
        return Aggregation(
            logical.AutoBoundsAggregate(logical.Sum(_operand(column), None, _grid(grid)), search), _weight(weight)
        )
    measure = logical.Sum(_operand(column), checked_bounds(bounds), _grid(grid))
    return Aggregation(measure, _weight(weight))


@short_traceback
def mean(
    column: str | Expr,
    *,
    bounds: tuple[Number, Number] | Literal["auto"] | logical.Search | None = None,
    grid: Number | None = None,
    weight: Number = 1,
) -> Aggregation:
    """The mean of a value clamped to bounds (given here, declared in the catalog, or found first with "auto")."""
    if (search := _search_or_numbers(bounds)) is not None:
        return Aggregation(
            logical.AutoBoundsAggregate(logical.Mean(_operand(column), None, _grid(grid)), search), _weight(weight)
        )
    measure = logical.Mean(_operand(column), checked_bounds(bounds), _grid(grid))
    return Aggregation(measure, _weight(weight))


@short_traceback
def auto_bounds(
    *, share: Number = SHARE_OF_A_SEARCH, method: Literal["histogram", "growth"] = "histogram"
) -> logical.Search:
    """How bounds are found where nobody knows them: dp.sum("gain", bounds=dp.auto_bounds(share=0.1)).

    share   how much of the query's price the search takes
    method  "histogram" counts rows by their size, on a scale that grows by about half; "growth" widens the bounds
            until the sum hardly grows
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
    """The bounds themselves, for the whole of a price."""
    if not isinstance(column, str | Expr):
        named = column[0] if isinstance(column, list | tuple) and column and isinstance(column[0], str) else "cost"
        raise TypeMismatchError(
            f"bounds of type {type(column).__name__}",
            because="bounds are found for one column, by name or as an expression",
            instead=f'bounds("{named}"), and a query for each other column',
        )
    return Aggregation(logical.ClippingBounds(_operand(column), _grid(grid), auto_bounds(method=method)))


@short_traceback
def variance(
    column: str | Expr,
    *,
    bounds: tuple[Number, Number] | None = None,
    grid: Number | None = None,
    weight: Number = 1,
) -> Aggregation:
    """The variance of a value clamped to bounds: its mean squared distance from its mean."""
    measure = logical.Variance(_operand(column), checked_bounds(bounds), _grid(grid))
    return Aggregation(measure, positive(weight, "weight"))


@short_traceback
def std(
    column: str | Expr,
    *,
    bounds: tuple[Number, Number] | None = None,
    grid: Number | None = None,
    weight: Number = 1,
) -> Aggregation:
    """The standard deviation of a value clamped to bounds: the root of its variance."""
    measure = logical.Deviation(_operand(column), checked_bounds(bounds), _grid(grid))
    return Aggregation(measure, positive(weight, "weight"))


@short_traceback
def median(
    column: str | Expr, *, bounds: tuple[Number, Number] | None = None, grid: Number | None = None
) -> Aggregation:
    """The median of a value clamped to bounds (given here, or declared in the catalog), as a step of a public grid.

    `session.release` answers it with a margin in ranks, `method=dp.SmoothSensitivity()` with noise that fits the data.
    """
    return Aggregation(logical.MedianMeasure(_operand(column), checked_bounds(bounds), _grid(grid)))


@short_traceback
def quantile(
    column: str | Expr,
    probability: Number | None = None,
    *,
    bounds: tuple[Number, Number] | None = None,
    grid: Number | None = None,
    sizes: int | Sequence[int] | None = None,
    weight: Number = 1,
) -> Aggregation:
    """The value that such a part of the rows are below, as a step of a public grid, with a margin in ranks.

    bounds, grid  values are moved to the nearest step between the bounds; from the catalog, or chosen, otherwise
    sizes         how many rows each group has, roughly, as an earlier release or public knowledge says; it only helps
                  to choose how the quantile is found
    """
    if probability is None:
        raise ParameterError(
            "a quantile without its place",
            because="it is the value that such a part of the rows are below, above 0 and below 1",
            instead=f"dp.quantile({_column(_operand(column))}, 0.5, bounds=(0, 100))",
        )
    share = share_below(probability)
    measure = logical.QuantileMeasure(_operand(column), share, checked_bounds(bounds), _grid(grid), _typical(sizes))
    return Aggregation(measure, positive(weight, "weight"))


@short_traceback
def quantiles(
    column: str | Expr,
    probabilities: Sequence[Number] | None = None,
    *,
    bounds: tuple[Number, Number] | None = None,
    grid: Number | None = None,
    sizes: int | Sequence[int] | None = None,
) -> Several:
    """Several quantiles at once: agg(age=dp.quantiles("age", [0.25, 0.5])) asks for age_25 and age_50."""
    if not isinstance(probabilities, list | tuple) or not probabilities:
        raise ParameterError(
            "quantiles that are not a list",
            because="each of them is a part of the rows, above 0 and below 1",
            instead='dp.quantiles("age", [0.25, 0.5, 0.75]), or dp.quantile("age", 0.5)',
        )
    made = [quantile(column, share, bounds=bounds, grid=grid, sizes=sizes) for share in probabilities]
    named = {
        _percent(each.measure.probability): each for each in made if isinstance(each.measure, logical.QuantileMeasure)
    }
    if len(named) < len(made):
        raise ParameterError(
            "the same quantile twice", because="each is answered once", instead="a list of different quantiles"
        )
    return Several(tuple(named.items()))


@short_traceback
def interquartile_range(
    column: str | Expr, *, bounds: tuple[Number, Number] | None = None, grid: Number | None = None
) -> Aggregation:
    """The distance between the quartiles of a value clamped to bounds, for `method=dp.SmoothSensitivity()`."""
    return Aggregation(logical.InterquartileRangeMeasure(_operand(column), checked_bounds(bounds), _grid(grid)))


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


def _percent(share: Fraction) -> str:
    """A part of the rows as the end of a name: 25 of a quarter, 99_9 of 0.999, 1_of_3 of a third."""
    percent = 100 * share
    decimals = next((d for d in range(5) if (percent * 10**d).denominator == 1), None)
    if decimals is None:
        return f"{share.numerator}_of_{share.denominator}"
    return f"{float(percent):.{decimals}f}".replace(".", "_")


def _typical(sizes: int | Sequence[int] | None) -> int | None:
    """One size that stands for all: the mean."""
    if sizes is None:
        return None
    listed = [sizes] if isinstance(sizes, int) else list(sizes)
    return max(1, math.floor(builtins.sum(rational(size, "sizes") for size in listed) / max(1, len(listed))))


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


def _grid(grid: Number | None) -> Fraction | None:
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


def _short(measure: logical.Measure) -> str:
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


def call_text(measure: logical.Measure) -> str:
    """The call that makes a measure, with the bounds that it has."""
    match measure:
        case logical.Count():
            return "dp.count()"
        case logical.CountDistinctUnits():
            return "dp.count_units()"
        case logical.CountDistinct(operand):
            return f"dp.count_distinct({_column(operand)})"
        case logical.AutoBoundsAggregate(known):
            return call_text(known).removesuffix(")") + ', bounds="auto")'
        case logical.ClippingBounds(operand):
            return f"bounds({_column(operand)})"
        case logical.Ranges(operand, _, pairs):
            return f"{len(pairs):,} ranges of {_column(operand)}"
        case logical.HierarchyCounts(levels):
            return f"hierarchy({', '.join(map(repr, levels))})"
        case _:
            share = f", {shown(measure.probability)}" if isinstance(measure, logical.QuantileMeasure) else ""
            limits = f", bounds=({measure.bounds[0]}, {measure.bounds[1]})" if measure.bounds else ""
            return f"dp.{_VERBS[type(measure)]}({_column(measure.operand)}{share}{limits})"


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


def _column(operand: logical.Expression) -> str:
    return repr(operand.name) if isinstance(operand, logical.ColumnRef) else expression_text(operand)


def _operand(column: str | Expr) -> logical.Expression:
    if isinstance(column, str):
        return logical.ColumnRef(column)
    if isinstance(column, Expr):
        return column.node
    raise TypeMismatchError(
        f"a column of type {type(column).__name__}",
        because="an aggregate takes a column name or an expression",
        instead='dp.sum("cost", bounds=(0, 100))',
    )
