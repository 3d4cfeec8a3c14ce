"""Quantiles of the values of a table: dp.median("cost"), dp.quantile("cost", 0.9) and the others."""

import math
from collections.abc import Sequence
from fractions import Fraction

from discreet.errors import ParameterError, short_traceback
from discreet.exact import Number, positive, rational
from discreet.mechanisms.quantile import share_below
from discreet.plan import logical
from discreet.query.aggregates import Aggregation, Several, checked_bounds, checked_grid, column_text, operand_of
from discreet.query.expression import Expr


@short_traceback
def median(
    column: str | Expr, *, bounds: tuple[Number, Number] | None = None, grid: Number | None = None
) -> Aggregation:
    """The median of a value clamped to bounds (given here, or declared in the catalog), as a step of a public grid.

    `session.release` answers it with a margin in ranks, `method=dp.SmoothSensitivity()` with noise that fits the data.
    """
    return Aggregation(logical.Median(operand_of(column), checked_bounds(bounds), checked_grid(grid)))


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
            instead=f"dp.quantile({column_text(operand_of(column))}, 0.5, bounds=(0, 100))",
        )
    share = share_below(probability)
    measure = logical.Quantile(operand_of(column), share, checked_bounds(bounds), checked_grid(grid), _typical(sizes))
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
    named = {_percent(each.measure.probability): each for each in made if isinstance(each.measure, logical.Quantile)}
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
    return Aggregation(logical.InterquartileRange(operand_of(column), checked_bounds(bounds), checked_grid(grid)))


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
