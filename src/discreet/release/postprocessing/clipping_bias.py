"""What clamping values to bounds takes away, bounded and estimated from a released histogram.

A sum of values that are clamped to [lo, hi] misses, for each row above, how far it is above; and the other way below. A
histogram of the same rows says how many rows lie in bins beyond the bounds; how far a bin reaches is public. So the
bias of the sum is at most a public combination of noisy counts, and its noise has a margin.
"""

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import ParameterError
from discreet.exact.numbers import rational, shown
from discreet.exact.rounding import double_down, double_up
from discreet.release.postprocessing.quantities import Linear, Quotient
from discreet.release.values import rendering
from discreet.release.values.columns import Key

_NUMBER = r"(-?[0-9.]+(?:e[-+]?[0-9]+)?)"
_BETWEEN = re.compile(rf"\[{_NUMBER}, {_NUMBER}\)")
_BELOW = re.compile(rf"below {_NUMBER}")
_ABOVE = re.compile(rf"{_NUMBER} and above")

Range = tuple[Fraction | None, Fraction | None]


@dataclass(frozen=True)
class Clipping:
    """Clipping bias: the true total minus the total of clipped values, from a histogram.

    Attributes:
        bounds: The clipping bounds.
        low: Lower bound on the bias of the total.
        high: Upper bound on the bias of the total.
        estimate: Estimate of the bias of the total.
        mean_low: Lower bound on the bias of the mean.
        mean_high: Upper bound on the bias of the mean.
        confidence: Probability with which the bounds hold.
        private: Whether the release is private. Default True.

    Example:
        >>> import discreet as dp
        >>> facts = {"name": "visits", "privacy_unit": "patient_id", "max_rows": 10, "budget": dp.Budget(epsilon=2)}
        >>> session = dp.testing.protect(dp.datasets.visits(100), **facts)
        >>> histogram = session.release(dp.table("visits").histogram("age", bins=range(0, 101, 10)), epsilon=1)
        >>> bias = histogram.clipping(bounds=(0, 60), lowest=0, highest=120)
        >>> bias.low <= bias.estimate <= bias.high
        True
    """

    bounds: tuple[Fraction, Fraction]
    low: float
    high: float
    estimate: float
    mean_low: float
    mean_high: float
    confidence: Fraction
    private: bool = True

    def __str__(self) -> str:
        return "\n".join([*self._stamp(), *self._summary()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        lines = "".join(f"<div>{html.escape(line)}</div>" for line in self._summary())
        return rendering.card(self._stamp(), lines, ())

    def _stamp(self) -> list[str]:
        return rendering.stamp("from exact answers", private=self.private)

    def _summary(self) -> list[str]:
        low, high = (shown(bound) for bound in self.bounds)
        level = shown(100 * self.confidence)
        return [
            f"clamping to [{low}, {high}] moves",
            f"  the total by {_move(self.high)} to {_move(self.low)}, about {_move(self.estimate)}",
            f"  the mean by {_move(self.mean_high)} to {_move(self.mean_low)}",
            f"holds {level}% of the time, for the noise, if the histogram counts the same rows; this cost nothing",
        ]


@dataclass(frozen=True)
class Bins:
    """The bins of a histogram with their noisy counts, and how far values go in all."""

    ranges: Sequence[Range]
    counts: Sequence[Linear]
    lowest: Fraction | None
    highest: Fraction | None

    def clipped_amounts(self, low: Fraction, high: Fraction, *, typical: bool) -> tuple[Linear, Linear]:
        """Upper bounds on the amounts clipped above and below (or estimates, for values in the middle of bins)."""
        above = below = Linear({})
        for (start, end), count in zip(self.ranges, self.counts, strict=True):
            if start is None or start < low:
                farthest = _require_end(self.lowest if start is None else start, "lowest")
                nearest = low if end is None else min(low, end)
                reach = (farthest + nearest) / 2 if typical else farthest
                below = below.plus(count, max(Fraction(0), low - reach))
            if end is None or end > high:
                farthest = _require_end(self.highest if end is None else end, "highest")
                nearest = high if start is None else max(high, start)
                reach = (farthest + nearest) / 2 if typical else farthest
                above = above.plus(count, max(Fraction(0), reach - high))
        return above, below


def clipping(bins: Bins, bounds: tuple[Fraction, Fraction], confidence: Fraction, *, private: bool) -> Clipping:
    """What clamping to the bounds takes off the total and the mean of the rows that the histogram counts."""
    above, below = bins.clipped_amounts(*bounds, typical=False)
    rows = Linear({})
    for count in bins.counts:
        rows = rows.plus(count)
    sides = [side for side in (above, below) if side.factors]
    each = 1 - (1 - confidence) / max(1, len(sides))
    up, down = (max(Fraction(0), side.interval(each).high or Fraction(0)) for side in (above, below))
    per_row = [_most(side, rows, each) for side in (above, below)]
    middle = [side.value for side in bins.clipped_amounts(*bounds, typical=True)]
    return Clipping(
        bounds=bounds,
        low=double_down(-down) + 0.0,
        high=double_up(up),
        estimate=float(middle[0] - middle[1]),
        mean_low=-per_row[1] + 0.0,
        mean_high=per_row[0],
        confidence=confidence,
        private=private,
    )


def require_ordered_bounds(bounds: object) -> tuple[Fraction, Fraction]:
    """The two bounds that values are clipped to, the lower first; refuse anything else."""
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        raise ParameterError(
            f"bounds={bounds!r}", because="they are a lower and an upper end", instead="bounds=(0, 5_000)"
        )
    low, high = (rational(bound, "a bound") for bound in bounds)
    if low > high:
        raise ParameterError(
            f"bounds=({shown(low)}, {shown(high)})",
            because="the lower end comes first",
            instead=f"bounds=({shown(high)}, {shown(low)})",
        )
    return low, high


def ranges_of(key: Key) -> list[Range]:
    """From where to where each bin goes, as its label says; rows of missing values go nowhere."""
    return [(Fraction(0), Fraction(0)) if label is None else _range(key.name, str(label)) for label in key.values]


def _move(missing: float) -> str:
    """What is missing as what it did to the number: less than before is below zero."""
    if not missing:
        return "0"
    return f"{-missing:+,.0f}" if abs(missing) >= 1_000 else f"{-missing:+,.6g}"


def _range(name: str, label: str) -> Range:
    if found := _BETWEEN.fullmatch(label):
        return Fraction(found[1]), Fraction(found[2])
    if found := _BELOW.fullmatch(label):
        return None, Fraction(found[1])
    if found := _ABOVE.fullmatch(label):
        return Fraction(found[1]), None
    raise ParameterError(
        f"clipping by {name!r}, whose keys are not bins of numbers",
        because="it is read off a histogram",
        instead='session.release(table.histogram("cost", bins=range(0, 10_000, 500)), epsilon=0.1).clipping(...)',
    )


def _most(side: Linear, rows: Linear, confidence: Fraction) -> float:
    if not side.factors:
        return 0.0
    high = Quotient(side, rows).interval(confidence).high
    return float("inf") if high is None else max(0.0, double_up(high))


def _require_end(end: Fraction | None, word: str) -> Fraction:
    if end is None:
        raise ParameterError(
            f"clipping without {word}=...",
            because="the bin at that end is open, so it needs a public bound",
            instead=f"clipping(bounds=(0, 5_000), {word}={'100_000' if word == 'highest' else '-100_000'})",
        )
    return end
