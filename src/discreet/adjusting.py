"""Named steps that make answers easier to read, and what still holds of their margins. The raw answers are kept.

rounded    to multiples of a step: a margin grows by half of it.
clamped    to what is known to be possible: no margin grows, and small groups are moved up on average.
consistent to totals that were released apart: margins are those of the very combination that is shown.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from discreet.answers import Figure, Output
from discreet.errors import ParameterError
from discreet.exact import double_up
from discreet.quantities import Linear

_SURELY = 1 - Fraction(1, 10**6)


@dataclass(frozen=True)
class Reconciled:
    """A group of rows that adds up: which rows, what each is, and the total that they are moved to."""

    rows: Sequence[int]
    parts: Sequence[Linear]
    total: Linear


def rounded(output: Output, to: Fraction) -> Output:
    """Each value as the nearest multiple of `to`, halves to the even one; each margin wider by half of it."""
    values = tuple(_same_kind(to * round(Fraction(value) / to), value, to) for value in output.values)
    if output.margin_of:
        return replace(output, values=values)
    return replace(output, values=values, margins=tuple(_widened(m, to) for m in output.margins))


def clamped(output: Output, low: Fraction | None, high: Fraction | None) -> Output:
    """Each value moved to what is possible. The truth lies there, so nothing comes to lie farther from it."""
    return replace(output, values=tuple(_moved(value, low, high) for value in output.values))


def consistent(output: Output, groups: Sequence[Reconciled], confidence: Fraction) -> Output:
    """The values nearest to the noisy ones, by their variances, that add up to each total.

    Whole answers stay whole: they are rounded down, and the largest remainders up, which moves each by less than one.
    """
    values, margins = list(output.values), list(output.margins)
    is_whole = all(isinstance(value, int) for value in output.values)
    for group in groups:
        moved = _reconciled(group)
        shown_values = _whole(moved, group.total) if is_whole and group.total.value.denominator == 1 else None
        for place, row in enumerate(group.rows):
            margin = moved[place].margin(confidence)
            values[row] = float(moved[place].value) if shown_values is None else shown_values[place]
            margins[row] = double_up(margin) if shown_values is None else math.floor(margin + 1)
    return replace(output, values=tuple(values), margins=tuple(margins), parts=(), over=(), bounds=None)


def _reconciled(group: Reconciled) -> list[Linear]:
    """x_i + v_i / (v_1 + ... + v_n) (T - x_1 - ... - x_n): least squares, each weighed by its variance."""
    weights = _weights([part.variance for part in group.parts])
    gap = group.total
    for part in group.parts:
        gap = gap.plus(part, Fraction(-1))
    _refuse_other_totals(gap)
    return [part.plus(gap, weight) for part, weight in zip(group.parts, weights, strict=True)]


def _refuse_other_totals(gap: Linear) -> None:
    """Groups that cannot add up to the total leave a gap that no noise explains, and no margin would hold."""
    farthest = gap.margin(_SURELY)
    if abs(gap.value) > farthest:
        raise ParameterError(
            f"groups that are {float(abs(gap.value)):,.6g} away from their total",
            because=f"noise explains at most {float(farthest):,.6g}, so they do not add up to it: keys are missing, "
            "caps left rows out of groups, or it is the total of other rows",
            instead="the total of the same rows: the same where(...) and keys for every row",
        )


def _weights(variances: Sequence[float]) -> list[Fraction]:
    """Shares of the variances, on a grid of millionths so that sums of them stay short; exact where all are alike."""
    if len(set(variances)) == 1:
        return [Fraction(1, len(variances))] * len(variances)
    shares = [Fraction(round(10**6 * v / math.fsum(variances)), 10**6) for v in variances]
    return [shares[0] + 1 - sum(shares, Fraction(0)), *shares[1:]]


def _whole(parts: Sequence[Linear], total: Linear) -> list[int]:
    values = [part.value for part in parts]
    floors = [math.floor(value) for value in values]
    left = int(total.value) - sum(floors)
    largest = sorted(range(len(values)), key=lambda place: (floors[place] - values[place], place))
    for place in largest[:left]:
        floors[place] += 1
    return floors


def _same_kind(value: Fraction, like: Figure, to: Fraction) -> Figure:
    return int(value) if isinstance(like, int) and to.denominator == 1 else float(value)


def _widened(margin: Figure, to: Fraction) -> Figure:
    if isinstance(margin, int) and to.denominator == 1:
        return margin + to.numerator // 2
    return double_up(Fraction(margin) + to / 2)


def _moved(value: Figure, low: Fraction | None, high: Fraction | None) -> Figure:
    for bound, is_beyond in ((low, low is not None and value < low), (high, high is not None and value > high)):
        if bound is not None and is_beyond:
            return int(bound) if isinstance(value, int) and bound.denominator == 1 else float(bound)
    return value
