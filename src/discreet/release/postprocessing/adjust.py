"""Named steps that make answers easier to read, and what still holds of their margins. The raw answers are kept.

rounded    to multiples of a step: a margin grows by half of it.
clamped    to what is known to be possible: no margin grows, and small groups are moved up on average.
consistent to totals that were released apart: margins are those of the very combination that is shown.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from discreet.errors import ParameterError, UnsupportedError
from discreet.exact.rounding import double_up
from discreet.mechanisms.additive import AdditiveNoise
from discreet.release.postprocessing.derived import DerivedValues
from discreet.release.postprocessing.quantities import Linear, Quantity, margin_of, sum_linear
from discreet.release.values.columns import Figure, Key, OutputColumn

Crowd = tuple[Fraction, AdditiveNoise]

MOST_SHARING = 400
_SURELY = 1 - Fraction(1, 10**6)


@dataclass(frozen=True)
class Reconciliation:
    """Rows that add up to a total: their places, their quantities, and the total."""

    rows: Sequence[int]
    parts: Sequence[Linear]
    total: Linear


def round_output(output: OutputColumn, to: Fraction) -> OutputColumn:
    """Round each value to a multiple of `to`, halves to even; widen each margin by half of `to`."""
    values = tuple(None if value is None else _nearest(value, to) for value in output.values)
    margins = tuple(None if margin is None else _widen_margin(margin, to) for margin in output.margins)
    return replace(output, values=values, margins=margins)


def clip_output(output: OutputColumn, low: Fraction | None, high: Fraction | None) -> OutputColumn:
    """Clip each value to its possible range. The exact value lies there, so no error grows."""
    values = tuple(None if value is None else _clip_value(value, low, high) for value in output.values)
    return replace(output, values=values)


def consistent(output: OutputColumn, groups: Sequence[Reconciliation], confidence: Fraction) -> OutputColumn:
    """The values nearest to the noisy ones, by their variances, that add up to each total.

    Whole answers stay whole: they are rounded down, and the largest remainders up, which moves each by less than one.
    """
    values, margins = list(output.values), list(output.margins)
    is_whole = all(isinstance(value, int) for value in output.values)
    for group in groups:
        adjusted, reaches = _reconcile(group, confidence)
        shown_values = _whole(adjusted, group.total) if is_whole and group.total.value.denominator == 1 else None
        for place, row in enumerate(group.rows):
            margin = reaches[place]
            values[row] = float(adjusted[place]) if shown_values is None else shown_values[place]
            margins[row] = double_up(margin) if shown_values is None else math.floor(margin + 1)
    return replace(output, values=tuple(values), margins=tuple(margins), parts=(), over=(), bounds=None)


def _reconcile(group: Reconciliation, confidence: Fraction) -> tuple[list[Fraction], list[Fraction]]:
    """x_i + v_i / (v_1 + ... + v_n) (T - x_1 - ... - x_n): least squares, each weighed by its variance; and margins."""
    weights = _weights([part.variance for part in group.parts])
    gap = sum_linear([(Fraction(1), group.total), *((Fraction(-1), part) for part in group.parts)])
    _refuse_other_totals(gap)
    if _share_noise(group):
        _refuse_many(len(group.parts))
        adjusted = [part.plus(gap, weight) for part, weight in zip(group.parts, weights, strict=True)]
        return [one.value for one in adjusted], [one.margin(confidence) for one in adjusted]
    missing = gap.value
    values = [part.value + weight * missing for part, weight in zip(group.parts, weights, strict=True)]
    return values, _margins_apart(group.parts, weights, gap.crowds, confidence)


def _share_noise(group: Reconciliation) -> bool:
    """Whether a noise is in two parts, or in a part and in the total."""
    every = [atom for linear in (group.total, *group.parts) for atom in linear.factors]
    return len(set(every)) < len(every)


def _margins_apart(
    parts: Sequence[Linear], weights: Sequence[Fraction], gap: Counter[Crowd], confidence: Fraction
) -> list[Fraction]:
    """The margin of each part that was moved, where no noise is shared: its own noise counts 1 - w times, others w.

    Parts with the same weight and the same noise have the same margin, which is computed once.
    """
    known: dict[tuple[Fraction, frozenset[tuple[Crowd, int]]], Fraction] = {}
    found = []
    for part, weight in zip(parts, weights, strict=True):
        own = part.crowds
        alike = weight, frozenset(own.items())
        if alike not in known:
            known[alike] = margin_of(_mix_noise(own, gap, weight), confidence)
        found.append(known[alike])
    return found


def _mix_noise(own: Counter[Crowd], gap: Counter[Crowd], weight: Fraction) -> Counter[Crowd]:
    """How often each noise counts in a part that takes this share of the gap; the gap has the part's own noise too."""
    mixed: Counter[Crowd] = Counter()
    for (times, noise), size in own.items():
        mixed[abs(1 - weight) * times, noise] += size
    for (times, noise), size in (gap - own).items():
        mixed[abs(weight) * times, noise] += size
    return mixed


def _refuse_many(rows: int) -> None:
    if rows > MOST_SHARING:
        raise UnsupportedError(
            f"{rows:,} groups made to add up to a total that shares their noise",
            because=f"margins of a shared total are computed for up to {MOST_SHARING:,} groups",
            instead="a total that was released apart: session.release(table.agg(n=dp.count()), epsilon=0.1)",
        )


def refuse_ranks(outputs: Sequence[OutputColumn], step: str) -> None:
    """Refuse to change values whose margins are not in their own numbers: the result would have no margin."""
    for output in outputs:
        if output.margin_of:
            others = [other.name for other in outputs if not other.margin_of]
            raise UnsupportedError(
                f"{step} {output.kind} {output.name!r}",
                because=f"its margin is in {output.margin_of}, which says nothing of a {step} value",
                instead=f"the value as it is, release[{output.name!r}]"
                + (f"; and release.{step}(..., output={others[0]!r})" if others else ""),
            )


def _refuse_other_totals(gap: Linear) -> None:
    """Groups that cannot add up to the total leave a gap that no noise explains, and no margin would hold."""
    farthest = gap.margin(_SURELY)
    if abs(gap.value) > farthest:
        raise ParameterError(
            f"groups that are {float(abs(gap.value)):,.6g} away from their total",
            because=f"noise explains at most {float(farthest):,.6g}: keys or rows are missing in one",
            instead="the total of the same rows: the same where(...) and keys for every row",
        )


def _weights(variances: Sequence[float]) -> list[Fraction]:
    """Shares of the variances, on a grid of millionths so that sums of them stay short; exact where all are alike."""
    if len(set(variances)) == 1:
        return [Fraction(1, len(variances))] * len(variances)
    shares = [Fraction(round(10**6 * v / math.fsum(variances)), 10**6) for v in variances]
    return [shares[0] + 1 - sum(shares, Fraction(0)), *shares[1:]]


def _whole(values: Sequence[Fraction], total: Linear) -> list[int]:
    floors = [math.floor(value) for value in values]
    left = int(total.value) - sum(floors)
    largest = sorted(range(len(values)), key=lambda place: (floors[place] - values[place], place))
    for place in largest[:left]:
        floors[place] += 1
    return floors


def _nearest(value: Figure, to: Fraction) -> Figure:
    if not math.isfinite(value):
        return value
    multiple = to * round(Fraction(value) / to)
    return int(multiple) if isinstance(value, int) and to.denominator == 1 else float(multiple)


def _widen_margin(margin: Figure, to: Fraction) -> Figure:
    if isinstance(margin, int) and to.denominator == 1:
        return margin + to.numerator // 2
    if not math.isfinite(margin):
        return margin
    return double_up(Fraction(margin) + to / 2)


def _clip_value(value: Figure, low: Fraction | None, high: Fraction | None) -> Figure:
    for bound, is_beyond in ((low, low is not None and value < low), (high, high is not None and value > high)):
        if bound is not None and is_beyond:
            return int(bound) if isinstance(value, int) and bound.denominator == 1 else float(bound)
    return value


def linear_total(quantity: Quantity) -> Linear:
    """A total that groups can add up to; ratios are refused."""
    if isinstance(quantity, Linear):
        return quantity
    raise UnsupportedError(
        "groups that add up to a ratio", because="only totals are added up to", instead='total=other.total("n")'
    )


def match_groups(coarse: tuple[Key, ...], sought: DerivedValues) -> list[int]:
    """The row of the total of each coarser group; both must have the same groups."""
    mine = list(zip(*(key.values for key in coarse), strict=True)) or [()]
    theirs = {group: i for i, group in enumerate(zip(*(k.values for k in sought.keys), strict=True))} or {(): 0}
    if sorted(map(repr, mine)) != sorted(map(repr, theirs)):
        raise ParameterError(
            "totals of other groups",
            because="each group must have its total, and each total its groups",
            instead='a release of the same table by one of the same keys: group_by("region").agg(n=dp.count())',
        )
    return [theirs[group] for group in mine]
