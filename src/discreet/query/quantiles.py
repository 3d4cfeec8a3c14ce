"""Quantiles of the values of a table: dp.median("cost"), dp.quantile("cost", 0.9) and the others."""

import math
from collections.abc import Sequence
from fractions import Fraction

from discreet.errors import ParameterError, short_traceback
from discreet.exact.numbers import Number, positive, rational
from discreet.mechanisms.quantile import share_below
from discreet.plan import logical
from discreet.query.aggregates import Aggregation, Several, checked_bounds, checked_grid, column_text, operand_of
from discreet.query.expression import Expr


@short_traceback
def median(
    column: str | Expr, *, bounds: tuple[Number, Number] | None = None, grid: Number | None = None
) -> Aggregation:
    """Median of the values of a column, as a point of a public grid.

    The margin of error is in ranks, not in values. `method=dp.SmoothSensitivity()` of `release` scales noise to the
    data instead.

    Args:
        column: Name of a numeric column, or an expression.
        bounds: Lowest and highest value; values outside are clipped. Default: the bounds in the catalog.
        grid: Distance between two points of the grid, in the unit of the column. Default: chosen from the bounds.

    Returns:
        An aggregate for `agg`.

    Raises:
        ParameterError: If bounds or grid are not numbers in their range.
        TypeMismatchError: If `column` is neither a name nor an expression.

    Example:
        >>> import discreet as dp
        >>> dp.table("visits").agg(age=dp.median("age", bounds=(0, 120)))
        query of table 'visits': age=median('age', bounds=(0, 120))
    """
    return Aggregation(logical.MedianMeasure(operand_of(column), checked_bounds(bounds), checked_grid(grid)))


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
    """Quantile of the values of a column, as a point of a public grid; its margin of error is in ranks.

    Args:
        column: Name of a numeric column, or an expression.
        probability: Part of the rows that are below the quantile, above 0 and below 1.
        bounds: Lowest and highest value; values outside are clipped. Default: the bounds in the catalog.
        grid: Distance between two points of the grid, in the unit of the column. Default: chosen from the bounds.
        sizes: Approximate number of rows of each group, from public knowledge or an earlier release. It only helps to
            choose the mechanism. Default: none.
        weight: Share of the query's privacy cost, relative to its other outputs. Default 1.

    Returns:
        An aggregate for `agg`.

    Raises:
        ParameterError: If the probability is missing, or an argument is not a number in its range.
        TypeMismatchError: If `column` is neither a name nor an expression.

    Example:
        >>> import discreet as dp
        >>> dp.table("visits").agg(age=dp.quantile("age", 0.9, bounds=(0, 120)))
        query of table 'visits': age=quantile('age', 0.9, bounds=(0, 120))
    """
    if probability is None:
        raise ParameterError(
            "a quantile without its probability",
            because="the probability of the quantile is missing; it is between 0 and 1",
            instead=f"dp.quantile({column_text(operand_of(column))}, 0.5, bounds=(0, 100))",
        )
    share = share_below(probability)
    measure = logical.QuantileMeasure(
        operand_of(column), share, checked_bounds(bounds), checked_grid(grid), _typical(sizes)
    )
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
    """Several quantiles of the values of a column, each an output with its percentage in its name.

    Args:
        column: Name of a numeric column, or an expression.
        probabilities: Parts of the rows that are below each quantile, all different, above 0 and below 1.
        bounds: Lowest and highest value; values outside are clipped. Default: the bounds in the catalog.
        grid: Distance between two points of the grid, in the unit of the column. Default: chosen from the bounds.
        sizes: Approximate number of rows of each group, as for `dp.quantile`. Default: none.

    Returns:
        Aggregates for `agg`, which it names `age_25`, `age_50` and so on.

    Raises:
        ParameterError: If probabilities are not a list, are repeated, or are outside their range.
        TypeMismatchError: If `column` is neither a name nor an expression.

    Example:
        >>> import discreet as dp
        >>> query = dp.table("visits").agg(age=dp.quantiles("age", [0.25, 0.5, 0.75], bounds=(0, 120)))
        >>> [output.name for output in query.plan.outputs]
        ['age_25', 'age_50', 'age_75']
    """
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
    """Upper minus lower quartile of the values of a column, for `method=dp.SmoothSensitivity()` or `dp.ProposedBound`.

    Args:
        column: Name of a numeric column, or an expression.
        bounds: Lowest and highest value; values outside are clipped. Default: the bounds in the catalog.
        grid: Values are rounded to multiples of it, in the unit of the column. Default: chosen from the bounds.

    Returns:
        An aggregate for `agg`.

    Raises:
        ParameterError: If bounds or grid are not numbers in their range.
        TypeMismatchError: If `column` is neither a name nor an expression.

    Example:
        >>> import discreet as dp
        >>> query = dp.table("visits").agg(width=dp.interquartile_range("age", bounds=(0, 120)))
    """
    return Aggregation(
        logical.InterquartileRangeMeasure(operand_of(column), checked_bounds(bounds), checked_grid(grid))
    )


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
    return max(1, math.floor(sum(rational(size, "sizes") for size in listed) / max(1, len(listed))))
