"""A private plan: the pushed-down question, the noise on each measure, its price, and how outputs are made from it."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet import events
from discreet.accounting.filters import Cost, cost
from discreet.analysis.allocation import Spending
from discreet.analysis.measures import Recipe
from discreet.analysis.sensitivity import Sensitivity
from discreet.mechanisms import Gaussian, Laplace
from discreet.pushdown import Integers, Pushdown, canonical, digest
from discreet.release import Figure, Measured, Output
from discreet.unit import Caps, Unit

Steps = Sequence[Sequence[int]]


@dataclass(frozen=True)
class Noised:
    """A measure with its sensitivity and the noise that covers it."""

    measure: Integers
    sensitivity: Sensitivity
    mechanism: Laplace | Gaussian


@dataclass(frozen=True)
class PrivatePlan:
    """Everything about a query that is public: what is read, what is added, what it costs, how wrong it will be."""

    dataset: str
    unit: Unit
    caps: Caps
    pushdown: Pushdown
    group_columns: tuple[str, ...]
    recipes: tuple[Recipe, ...]
    noised: tuple[Noised, ...]
    spending: Spending
    delta: Fraction
    declared_rows: int | None

    @property
    def event(self) -> events.Event:
        """What a release of this plan does, for the accountants."""
        return events.ComposedEvent(tuple(noised.mechanism.event() for noised in self.noised))

    @property
    def cost(self) -> Cost:
        """The price under both filters."""
        return cost(self.event)

    @property
    def rows_per_group(self) -> int | None:
        """How many rows a group has, if the declared rows are spread evenly; None where none are declared."""
        return None if self.declared_rows is None else self.declared_rows // len(self.pushdown.keys.rows)

    def noised_for(self, made: Recipe) -> list[Noised]:
        """The measures that an output is made from, in the order of its recipe."""
        return [next(n for n in self.noised if n.measure == part.measure) for part in made.parts]

    def question(self, circumstances: str) -> str:
        """The name of this question: two calls that ask the same thing of the same version share it."""
        asked = (self.dataset, self.unit, self.pushdown, self.group_columns, self.recipes)
        return digest((circumstances, *asked, events.canonical(self.event)))

    def randomize(self, exact: Steps) -> list[list[int]]:
        """The exact table with fresh noise on every integer."""
        return [list(map(int, n.mechanism.release(list(column)))) for n, column in zip(self.noised, exact, strict=True)]

    def measured(self, noisy: Steps) -> tuple[Measured, ...]:
        """The raw noisy integers, with what a reader needs to reuse them."""
        return tuple(
            Measured(
                measure=canonical(n.measure),
                mechanism="discrete Laplace" if isinstance(n.mechanism, Laplace) else "discrete Gaussian",
                scale=n.mechanism.scale if isinstance(n.mechanism, Laplace) else n.mechanism.sigma,
                l1=n.sensitivity.l1,
                l2_squared=n.sensitivity.l2_squared,
                grid=getattr(n.measure, "grid", Fraction(1)),
                steps=tuple(column),
            )
            for n, column in zip(self.noised, noisy, strict=True)
        )

    def outputs(self, noisy: Steps, confidence: Fraction) -> tuple[Output, ...]:
        """Values and margins, from the noisy integers alone."""
        columns = {n.measure: (n, column) for n, column in zip(self.noised, noisy, strict=True)}
        return tuple(_output(made, [columns[part.measure] for part in made.parts], confidence) for made in self.recipes)

    def margin(self, made: Recipe, confidence: Fraction, rows: int | None = None) -> Fraction | None:
        """The margin of an output as far as it is public in advance; of a mean, the most for groups of so many rows."""
        parts = self.noised_for(made)
        if made.kind != "mean":
            return parts[0].mechanism.margin(confidence) * made.grid
        if rows is None:
            return None
        return _widest(made, max(1, rows), _joint_margins(parts, confidence))


def _output(made: Recipe, columns: list[tuple[Noised, Sequence[int]]], confidence: Fraction) -> Output:
    if made.kind != "mean":
        ((noised, steps),) = columns
        margin = int(noised.mechanism.margin(confidence))
        values = tuple(_figure(step, made.grid) for step in steps)
        return Output(made.name, made.kind, values, (_figure(margin, made.grid),) * len(steps))
    (total, sums), (present, counts) = columns
    margins = _joint_margins([total, present], confidence)
    pairs = _around(made, sums, counts, margins)
    return Output(made.name, made.kind, tuple(value for value, _ in pairs), tuple(margin for _, margin in pairs))


def _figure(steps: int, grid: Fraction) -> Figure:
    """Steps of the grid as the number they stand for: whole, or the nearest double."""
    if grid.denominator == 1:
        return steps * grid.numerator
    return steps * grid.numerator / grid.denominator


def _joint_margins(parts: Sequence[Noised], confidence: Fraction) -> tuple[int, int]:
    """Margins of sum and count that hold together: each misses with half of what may be missed."""
    each = 1 - (1 - confidence) / 2
    total, present = (int(noised.mechanism.margin(each)) for noised in parts)
    return total, present


def _widest(made: Recipe, count: int, margins: tuple[int, int]) -> Fraction:
    """The most that the margin of a mean over so many rows can be, wherever between its bounds the mean lies.

    With N rows that sum to T, a mean c = t/n in the box is |c (N - n) + (t - T)| / N away, and c lies in the bounds.
    """
    low, high = made.bounds or (Fraction(0), Fraction(0))
    reach = max(high - made.centre, made.centre - low)
    return min(high - low, (reach * margins[1] + made.grid * margins[0]) / count)


def _around(
    made: Recipe, totals: Sequence[int], counts: Sequence[int], margins: tuple[int, int]
) -> list[tuple[float, float]]:
    """Means and their margins: a mean is farthest at a corner of the box of sums and counts."""
    low, high = map(float, made.bounds or (0, 0))
    centre, grid = float(made.centre), float(made.grid)

    def mean(top: int, bottom: int) -> float:
        return min(high, max(low, centre + grid * (top / bottom)))

    def with_margin(total: int, count: int) -> tuple[float, float]:
        value = mean(total, max(1, count))
        fewest = max(1, count - margins[1])
        most = max(fewest, count + margins[1])
        corners = [mean(t, n) for t in (total - margins[0], total + margins[0]) for n in (fewest, most)]
        return value, max(max(corners) - value, value - min(corners))

    return [with_margin(total, count) for total, count in zip(totals, counts, strict=True)]
