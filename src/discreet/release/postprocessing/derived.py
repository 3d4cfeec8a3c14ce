"""Values derived from releases alone: totals, differences, ratios, shares and combined means, with their intervals.

They have no privacy cost: they are computed from the release alone.
"""

# ruff: noqa: PD011 - the values here are tuples, and none of them is a pandas frame

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import pyarrow as pa

from discreet import plots
from discreet.errors import ParameterError
from discreet.exact.numbers import Number, probability, rational, shown
from discreet.exact.rounding import double_down, double_up
from discreet.release.postprocessing.quantities import Linear, Quantity, Quotient, add, at_once
from discreet.release.values import rendering
from discreet.release.values.columns import Key, key_arrays

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

_TOGETHER = "hold together"
_SHOWN_ROWS = 20
_HUNDRED = Fraction(100)


@dataclass(frozen=True)
class DerivedValues:
    """Values derived from a release, by row, each with a confidence interval.

    They add, subtract and divide row by row, also with derived values of other releases. Noise that both sides share
    is known to be shared. One value without rows of its own is combined with every row of the other.

    Attributes:
        name: Name of the value.
        keys: Key columns of the rows.
        quantities: The values, with the noise that is in them.
        confidence: Probability with which each interval holds.
        private: Whether the release is private. Default True.
        notes: Remarks to print. Default: none.

    Example:
        >>> import discreet as dp
        >>> facts = {"name": "visits", "privacy_unit": "patient_id", "max_rows": 10, "budget": dp.Budget(epsilon=2)}
        >>> session = dp.testing.protect(dp.datasets.visits(100), **facts)
        >>> grouped = dp.table("visits").group_by("urgent", keys={"urgent": [False, True]})
        >>> release = session.release(grouped.agg(n=dp.count()), epsilon=1)
        >>> total = release.total("n")
        >>> total.low < total.value < total.high
        True
    """

    name: str
    keys: tuple[Key, ...]
    quantities: tuple[Quantity, ...]
    confidence: Fraction
    private: bool = True
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.quantities)

    def __iter__(self) -> Iterator[dict[str, object]]:
        """Rows as dictionaries: keys, the value, and the ends of its interval."""
        yield from self.to_arrow().to_pylist()

    @property
    def values(self) -> tuple[float, ...]:
        """The values; NaN where the interval of a denominator contains zero."""
        return tuple(math.nan if q.value is None else float(q.value) for q in self.quantities)

    @property
    def lows(self) -> tuple[float, ...]:
        """The lower ends of the intervals, rounded down."""
        ends = (quantity.interval(self.confidence).low for quantity in self.quantities)
        return tuple(-math.inf if low is None else double_down(low) + 0.0 for low in ends)

    @property
    def highs(self) -> tuple[float, ...]:
        """The upper ends of the intervals, rounded up."""
        ends = (quantity.interval(self.confidence).high for quantity in self.quantities)
        return tuple(math.inf if high is None else double_up(high) for high in ends)

    @property
    def margins(self) -> tuple[float, ...]:
        """How far from each value its interval reaches."""
        sides = zip(self.values, self.lows, self.highs, strict=True)
        return tuple(math.inf if math.isnan(v) else max(high - v, v - low) for v, low, high in sides)

    @property
    def value(self) -> float:
        """The one value."""
        return self._only(self.values)

    @property
    def margin(self) -> float:
        """The margin of the one value."""
        return self._only(self.margins)

    @property
    def low(self) -> float:
        """The lower end of the one interval."""
        return self._only(self.lows)

    @property
    def high(self) -> float:
        """The upper end of the one interval."""
        return self._only(self.highs)

    def at(self, confidence: Number) -> "DerivedValues":
        """The same values with intervals of another confidence.

        Args:
            confidence: Probability with which each interval holds.

        Returns:
            Derived values.

        Raises:
            ParameterError: If the confidence is not between 0 and 1.
        """
        level = probability(confidence, "confidence", example="0.95")
        return replace(self, confidence=level, notes=_each_alone(self.notes))

    def simultaneous(self) -> "DerivedValues":
        """The same values with wider intervals that hold for all rows at once.

        Returns:
            Derived values.
        """
        if not self.quantities:
            return self
        each = 1 - (1 - self.confidence) / len(self)
        if _independent(self.quantities):
            each = at_once(len(self), self.confidence)
        together = f"all {len(self):,} {_TOGETHER} {shown(100 * self.confidence)}% of the time"
        return replace(self, confidence=each, notes=(*_each_alone(self.notes), together))

    def __add__(self, other: "DerivedValues | Number") -> "DerivedValues":
        return self._with(other, "+", lambda a, b: add(a, b, Fraction(1)))

    def __sub__(self, other: "DerivedValues | Number") -> "DerivedValues":
        return self._with(other, "-", lambda a, b: add(a, b, Fraction(-1)))

    def __radd__(self, other: Number) -> "DerivedValues":
        return self if other == 0 else _constant(other, self) + self

    def __rsub__(self, other: Number) -> "DerivedValues":
        return _constant(other, self) - self

    def __neg__(self) -> "DerivedValues":
        return replace(self * -1, name=f"-{self.name}")

    def __float__(self) -> float:
        return self.value

    def __lt__(self, other: object) -> bool:
        raise ParameterError(
            f"{self.name!r} compared by <, <=, > or >=",
            because="noise alone may put either first, and an interval says how sure an order is",
            instead="(a - b).low > 0, which tells that a is larger as often as the confidence says",
        )

    __le__ = __gt__ = __ge__ = __lt__

    def __mul__(self, times: Number) -> "DerivedValues":
        factor = rational(times, "a factor")
        return replace(
            self, name=f"{shown(factor)} x {self.name}", quantities=tuple(q.scale(factor) for q in self.quantities)
        )

    __rmul__ = __mul__

    def __truediv__(self, other: "DerivedValues | Number") -> "DerivedValues":
        if not isinstance(other, DerivedValues) and rational(other, "a divisor"):
            return replace(self * (1 / rational(other, "a divisor")), name=f"{self.name} / {other}")
        return self._with(other, "/", _over)

    def __rtruediv__(self, other: Number) -> "DerivedValues":
        return _constant(other, self) / self

    def percent(self) -> "DerivedValues":
        """The same values times one hundred.

        Returns:
            Derived values.
        """
        return replace(self * _HUNDRED, name=f"{self.name}, %")

    def to_arrow(self) -> pa.Table:
        """Key columns, the value, the ends of its interval, and its margin.

        Returns:
            An Arrow table.
        """
        sides = {"value": self.values, "low": self.lows, "high": self.highs, "margin": self.margins}
        return pa.table(key_arrays(self.keys) | {name: pa.array(side, pa.float64()) for name, side in sides.items()})

    def to_pandas(self) -> "pd.DataFrame":
        """The same as a pandas DataFrame.

        Returns:
            A pandas DataFrame.

        Raises:
            Refusal: If pandas is not installed.
        """
        frame: pd.DataFrame = self.to_arrow().to_pandas(integer_object_nulls=True)
        return frame

    def plot(self) -> "Picture":
        """The values with error bars (needs pip install "discreet[plots]").

        Returns:
            A figure.

        Raises:
            Refusal: If matplotlib is not installed.
        """
        named = " / ".join(key.name for key in self.keys) or None
        labels = [" / ".join(map(rendering.cell, row)) for row in zip(*(k.values for k in self.keys), strict=True)]
        finite = [margin if math.isfinite(margin) else None for margin in self.margins]
        columns = {"value": pa.array(self.values, pa.float64()), "margin": pa.array(finite, pa.float64())}
        return plots.error_bars(
            pa.table({named: labels, **columns} if named else columns),
            key=named,
            value="value",
            margin="margin",
            title=self.name if self.private else f"{self.name} - NOT PRIVATE",
            label=self.name,
            confidence=float(self.confidence),
        )

    def __str__(self) -> str:
        head, rows = self._cells()
        return "\n".join([*self._stamp(), *rendering.text_table(head, rows, len(self.keys)), *self._notes()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head, rows = self._cells()
        return rendering.card(self._stamp(), rendering.html_table(head, rows, len(self.keys)), self._notes())

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        head = [*(rendering.cell(key.name) for key in self.keys), rendering.cell(self.name), "from", "to"]
        sides = list(zip(self.values, self.margins, self.lows, self.highs, strict=True))[:_SHOWN_ROWS]
        rows = [
            [*(rendering.cell(key.values[row]) for key in self.keys), *_format_cells(*numbers)]
            for row, numbers in enumerate(sides)
        ]
        return head, rows

    def _stamp(self) -> list[str]:
        return rendering.stamp("from exact answers", private=self.private)

    def _notes(self) -> list[str]:
        more = len(self) - _SHOWN_ROWS
        return [
            *([f"... {more:,} more rows: .to_pandas() has all"] if more > 0 else []),
            f"each interval holds {shown(100 * self.confidence)}% of the time, for the noise; this cost nothing",
            *self.notes,
        ]

    def _only(self, values: Sequence[float]) -> float:
        if len(values) == 1:
            return values[0]
        raise ParameterError(
            f"the one value of {len(values):,} rows", because="each row has its own", instead=".values, or .to_pandas()"
        )

    def _with(
        self, other: "DerivedValues | Number", sign: str, make: Callable[[Quantity, Quantity], Quantity]
    ) -> "DerivedValues":
        second = other if isinstance(other, DerivedValues) else _constant(other, self)
        keys, pairs = _align_rows(self, second)
        return DerivedValues(
            name=f"{self.name} {sign} {second.name}",
            keys=keys,
            quantities=tuple(make(a, b) for a, b in pairs),
            confidence=max(self.confidence, second.confidence),
            private=self.private and second.private,
            notes=tuple(dict.fromkeys(_each_alone((*self.notes, *second.notes)))),
        )


def _each_alone(notes: Sequence[str]) -> tuple[str, ...]:
    """Notes without those about all rows together, which hold no longer."""
    return tuple(note for note in notes if _TOGETHER not in note)


def _constant(value: object, beside: DerivedValues) -> DerivedValues:
    number = rational(value, "a number")
    return DerivedValues(str(value), (), (Linear({}, number),), beside.confidence)


def _align_rows(first: DerivedValues, second: DerivedValues) -> tuple[tuple[Key, ...], list[tuple[Quantity, Quantity]]]:
    """The rows of both side by side; one value without keys stands beside every row."""
    if first.keys == second.keys and len(first) == len(second):
        return first.keys, list(zip(first.quantities, second.quantities, strict=True))
    if not second.keys and len(second) == 1:
        return first.keys, [(quantity, second.quantities[0]) for quantity in first.quantities]
    if not first.keys and len(first) == 1:
        return second.keys, [(first.quantities[0], quantity) for quantity in second.quantities]
    raise ParameterError(
        "derived values with different rows",
        because="their keys are not the same in the same order",
        instead='release.total("n", by="ward") on both sides, or release.total("n") on one',
    )


def _over(first: Quantity, second: Quantity) -> Quantity:
    if isinstance(first, Linear) and isinstance(second, Linear):
        return Quotient(first, second)
    raise ParameterError(
        "a ratio of ratios",
        because="intervals are proved for a total over a total",
        instead='release.total("cost") / release.total("n"), and differences of such ratios',
    )


def _independent(quantities: Sequence[Quantity]) -> bool:
    """Whether no noise is in two of them."""
    seen: set[object] = set()
    for quantity in quantities:
        atoms = set(_atoms(quantity))
        if atoms & seen:
            return False
        seen |= atoms
    return True


def _atoms(quantity: Quantity) -> Iterator[object]:
    match quantity:
        case Linear():
            yield from quantity.factors
        case Quotient():
            yield from (*quantity.top.factors, *quantity.bottom.factors)
        case _:
            for _, part in quantity.parts:
                yield from _atoms(part)


def _format_cells(value: float, margin: float, low: float, high: float) -> tuple[str, str, str]:
    if math.isnan(value):
        return "denominator may be zero", "", ""
    ends = (rendering.figure(end, margin) if math.isfinite(end) else "no end" for end in (low, high))
    first, second = ends
    return rendering.figure(value, margin), first, second
