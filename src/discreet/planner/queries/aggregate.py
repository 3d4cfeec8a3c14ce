"""The plan of counts, sums, means and variances by public keys."""

import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

from discreet import events
from discreet.mechanisms import AdditiveNoise
from discreet.plan.fingerprint import canonical
from discreet.plan.physical import Integers, SumSteps
from discreet.planner.budget.allocation import Spending
from discreet.planner.budget.measurement_basis import terms
from discreet.planner.queries.private_plan import Labels, PublicKeys, TablePlan
from discreet.planner.resolve.measures import Recipe
from discreet.planner.resolve.variance import KINDS, Box, Width
from discreet.planner.sensitivity.sensitivity import DRAWN_FORMS, Drawn, Sensitivity
from discreet.release.explanation import ExplainedOutput
from discreet.release.release import Figure, MeasuredColumn, OutputColumn
from discreet.release.values import error_bounds
from discreet.release.values.columns import Factors, measured_column

Steps = Sequence[Sequence[int]]


@dataclass(frozen=True)
class NoisyMeasure:
    """Integers with their sensitivity, the noise that covers it, and its share of the privacy cost."""

    measure: Drawn
    sensitivity: Sensitivity
    mechanism: AdditiveNoise
    share: Fraction = Fraction(1)

    @property
    def grid(self) -> Fraction:
        """What one step of these integers stands for, before any factor."""
        return max(_grid(measure) for _, measure in terms(self.measure)) or Fraction(1)


class Reading(NamedTuple):
    """How a measure is read off the noisy integers: so many times each, over one denominator."""

    parts: tuple[tuple[int, NoisyMeasure], ...]
    denominator: int

    @property
    def deviation(self) -> float:
        """The standard deviation of what is read, in steps."""
        return math.sqrt(sum(times**2 * noised.mechanism.variance for times, noised in self.parts)) / self.denominator

    def margin(self, confidence: Fraction) -> int:
        """The steps that what is read stays within, with at least this probability."""
        whole = error_bounds.margin([(times, noised.mechanism) for times, noised in self.parts], confidence)
        return -(-whole // self.denominator)

    def steps(self, columns: Mapping[Drawn, Sequence[int]]) -> list[int]:
        """What is read of each group, to the nearest whole step."""
        factors = [times for times, _ in self.parts]
        if factors == [1] and self.denominator == 1:
            return list(columns[self.parts[0][1].measure])
        rows = zip(*(columns[noised.measure] for _, noised in self.parts), strict=True)
        return [_nearest(sum(map(operator.mul, factors, row)), self.denominator) for row in rows]


@dataclass(frozen=True, kw_only=True)
class AggregatePlan(PublicKeys, TablePlan):
    """Everything about a query that is public: what is read, what is added, what it costs, how wrong it will be."""

    group_columns: tuple[str, ...]
    recipes: tuple[Recipe, ...]
    noisy_measures: tuple[NoisyMeasure, ...]
    readings: Mapping[Integers, Factors]
    declared_rows: int | None
    labels: Labels = ()

    @property
    def noise(self) -> str:
        """The kinds of noise, in words."""
        return " and ".join(dict.fromkeys(noised.mechanism.name for noised in self.noisy_measures))

    @property
    def has_other_noise(self) -> bool:
        """Whether some integers have another kind of noise than the one that budgets are divided by."""
        return any(type(noised.mechanism) is not self.spending.kind for noised in self.noisy_measures)

    def with_spending(self, spent: Spending) -> "AggregatePlan":
        """The same integers in the same shares, with the noise of another spending."""
        noisy = tuple(
            replace(each, mechanism=spent.part(each.share).noise(each.sensitivity)) for each in self.noisy_measures
        )
        return replace(self, noisy_measures=noisy, spending=spent)

    @property
    def event(self) -> events.Event:
        """What a release of this plan does, for the accountants."""
        return events.ComposedEvent(tuple(noised.mechanism.event() for noised in self.noisy_measures))

    @property
    def post_processing(self) -> tuple[str, ...]:
        """What is done to noisy integers before they are shown, in words."""
        clamped = {"mean": "its bounds", **dict.fromkeys(KINDS, "what its bounds allow")}
        return tuple(f"{m.name}: clamped to {clamped[m.kind]}" for m in self.recipes if m.kind in clamped)

    @property
    def rows_per_group(self) -> int | None:
        """How many rows a group has, if the declared rows are spread evenly; None where none are declared."""
        return None if self.declared_rows is None else self.declared_rows // len(self.pushdown.keys.rows)

    def read(self, made: Recipe) -> list[Reading]:
        """How the measures of an output are read off the noisy integers, in the order of its recipe."""
        return [self._reading(self.readings[part.measure]) for part in made.parts]

    def combine(self, exact: Steps) -> list[list[int]]:
        """The integers that get noise, from those of an engine."""
        columns = dict(zip(self.pushdown.measures, exact, strict=True))
        return [_combine(noised.measure, columns) for noised in self.noisy_measures]

    def randomize(self, exact: Steps) -> list[list[int]]:
        """The exact table of an engine, combined, with fresh noise on every integer."""
        combined = zip(self.noisy_measures, self.combine(exact), strict=True)
        return [list(map(int, noised.mechanism.release(column))) for noised, column in combined]

    def measurements(self, noisy: Steps) -> tuple[MeasuredColumn, ...]:
        """The raw noisy integers, with what a reader needs to reuse them."""
        return tuple(
            measured_column(canonical(n.measure, DRAWN_FORMS), n.mechanism, n.sensitivity, column, n.grid)
            for n, column in zip(self.noisy_measures, noisy, strict=True)
        )

    def outputs(self, noisy: Steps, confidence: Fraction) -> tuple[OutputColumn, ...]:
        """Values and margins, from the noisy integers alone."""
        columns = {noised.measure: column for noised, column in zip(self.noisy_measures, noisy, strict=True)}
        made = (_output(recipe, self.read(recipe), columns, confidence) for recipe in self.recipes)
        return tuple(self._with_factors(output, recipe) for output, recipe in zip(made, self.recipes, strict=True))

    def margin(self, made: Recipe, confidence: Fraction, rows: int | None = None) -> Fraction | None:
        """The margin of an output as far as it is public in advance; of a mean, the most for groups of so many rows."""
        readings = self.read(made)
        if len(readings) == 1:
            return readings[0].margin(confidence) * made.grid
        if rows is None:
            return None
        return _widest(made, max(1, rows), _joint_margins(readings, confidence))

    def relative_error(self, made: Recipe, rows: Fraction, answer: float | None = None) -> float | None:
        """The root mean square of the noise over the answer, for a group of so many rows; None where it is not known.

        The answer of a sum or a mean is taken to be that of values in the middle of their bounds, unless it is known.
        """
        readings, count = self.read(made), max(1.0, float(rows))
        if made.kind == "mean":
            return _error_of_a_mean(made, readings, count) / (abs(answer) if answer else _typical(made))
        if len(readings) > 1:
            return None
        usual = count * (_typical(made) if made.bounds else 1.0)
        return readings[0].deviation * float(made.grid) / (abs(answer) if answer else usual)

    def explain_outputs(self, confidence: Fraction) -> tuple[ExplainedOutput, ...]:
        """Each output in words, with its margin where it is public in advance."""
        return tuple(_explain_output(made, self, confidence) for made in self.recipes)

    def _with_factors(self, output: OutputColumn, made: Recipe) -> OutputColumn:
        """The output with how it is read off the measured columns, where it is a sum or a mean of them."""
        factors = [self.readings[part.measure] for part in made.parts]
        if made.kind != "mean":
            parts = _factors((made.grid, factors[0])) if len(factors) == 1 else ()
            return replace(output, parts=parts, bounds=made.bounds if parts else None)
        total = _factors((made.grid, factors[0]), (made.centre, factors[1]))
        return replace(output, parts=total, over=_factors((Fraction(1), factors[1])), bounds=made.bounds)

    def _reading(self, factors: Factors) -> Reading:
        denominator = math.lcm(*(factor.denominator for _, factor in factors))
        return Reading(tuple((int(f * denominator), self.noisy_measures[place]) for place, f in factors), denominator)


def _nearest(numerator: int, denominator: int) -> int:
    """The nearest whole number, and of two that are equally near the even one: neither side is favoured."""
    above, rest = divmod(2 * numerator + denominator, 2 * denominator)
    return above - 1 if rest == 0 and above % 2 else above


def _factors(*sides: tuple[Fraction, Factors]) -> Factors:
    """So many times each reading, as factors of the measured columns."""
    added: dict[int, Fraction] = {}
    for times, factors in sides:
        for place, factor in factors:
            added[place] = added.get(place, Fraction(0)) + times * factor
    return tuple((place, factor) for place, factor in sorted(added.items()) if factor)


def _combine(drawn: Drawn, columns: Mapping[Integers, Sequence[int]]) -> list[int]:
    (factor, measure), *others = terms(drawn)
    column = list(columns[measure]) if factor == 1 else [factor * steps for steps in columns[measure]]
    for other_factor, other in others:
        column = [steps + other_factor * more for steps, more in zip(column, columns[other], strict=True)]
    return column


def _output(
    made: Recipe, readings: list[Reading], columns: Mapping[Drawn, Sequence[int]], confidence: Fraction
) -> OutputColumn:
    if len(readings) == 1:
        (reading,) = readings
        steps = reading.steps(columns)
        values = tuple(steps) if made.grid == 1 else tuple(_figure(step, made.grid) for step in steps)
        return OutputColumn(
            made.name, made.kind, values, (_figure(reading.margin(confidence), made.grid),) * len(values)
        )
    noisy, margins = [reading.steps(columns) for reading in readings], _joint_margins(readings, confidence)
    if made.kind in KINDS:
        boxes = (Box(total, squares, count, margins) for total, squares, count in zip(*noisy, strict=True))
        pairs = [_width(made).answer(made.kind, box) for box in boxes]
    else:
        pairs = _around(made, *noisy, margins=margins)
    return OutputColumn(made.name, made.kind, tuple(value for value, _ in pairs), tuple(margin for _, margin in pairs))


def _figure(steps: int, grid: Fraction) -> Figure:
    """Steps of the grid as the number they stand for: whole, or the nearest double."""
    if grid.denominator == 1:
        return steps * grid.numerator
    return steps * grid.numerator / grid.denominator


def _joint_margins(readings: Sequence[Reading], confidence: Fraction) -> tuple[int, ...]:
    """Margins that hold together: each misses with an equal part of what may be missed."""
    each = 1 - (1 - confidence) / len(readings)
    return tuple(reading.margin(each) for reading in readings)


def _grid(measure: Integers) -> Fraction:
    return measure.grid**measure.power if isinstance(measure, SumSteps) else Fraction(0)


def _width(made: Recipe) -> Width:
    low, high = made.bounds or (Fraction(0), Fraction(0))
    return Width(int((high - low) / made.grid), made.grid)


def _widest(made: Recipe, count: int, margins: tuple[int, ...]) -> Fraction:
    """The most that the margin of a mean over so many rows can be, wherever between its bounds the mean lies.

    With N rows that sum to T, a mean c = t/n in the box is |c (N - n) + (t - T)| / N away, and c lies in the bounds.
    """
    if made.kind in KINDS:
        return _width(made).widest(made.kind, count, margins)
    low, high = made.bounds or (Fraction(0), Fraction(0))
    reach = max(high - made.centre, made.centre - low)
    return min(high - low, (reach * margins[1] + made.grid * margins[0]) / count)


def _around(
    made: Recipe, totals: Sequence[int], counts: Sequence[int], *, margins: tuple[int, ...]
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


def _typical(made: Recipe) -> float:
    """A value in the middle of the bounds, or half as far away as they are from each other where that is more."""
    low, high = made.bounds or (Fraction(0), Fraction(0))
    return float(max(abs(low + high), high - low) / 2)


def _error_of_a_mean(made: Recipe, readings: Sequence[Reading], count: float) -> float:
    """To first order, for the mean whose error is the largest; never more than the bounds are apart."""
    low, high = made.bounds or (Fraction(0), Fraction(0))
    total, present = (
        {noised.measure: times / reading.denominator for times, noised in reading.parts} for reading in readings
    )
    variances = {n.measure: n.mechanism.variance for reading in readings for _, n in reading.parts}

    def error(mean: Fraction) -> float:
        grid, away = float(made.grid), float(mean - made.centre)
        moved = ((grid * total.get(m, 0.0) - away * present.get(m, 0.0)) ** 2 * v for m, v in variances.items())
        return math.sqrt(math.fsum(moved)) / count

    return min(float(high - low), max(error(low), error(high)))


def _explain_output(made: Recipe, private: AggregatePlan, confidence: Fraction) -> ExplainedOutput:
    readings, rows = private.read(made), private.rows_per_group
    note = ""
    if len(readings) > 1 and rows is not None:
        note = f"at most, for groups of {max(1, rows):,} rows (as declared)"
    if len(readings) > 1:
        sides = {"sum": made.grid, **({"squares": made.grid**2} if made.kind in KINDS else {}), "count": Fraction(1)}
        parts = zip(sides, readings, sides.values(), strict=True)
        noise = ", ".join(f"{of} {_noise_of(reading, grid, brief=True)}" for of, reading, grid in parts)
    else:
        noise = _noise_of(readings[0], made.grid)
    return ExplainedOutput(made.name, made.kind, noise, private.margin(made, confidence, rows), note)


def _noise_of(reading: Reading, grid: Fraction, *, brief: bool = False) -> str:
    """The noise in the numbers of the column; where several measures share it, as the deviation of all together."""
    if len(reading.parts) > 1:
        together = f"deviation {reading.deviation * float(grid):,.6g}"
        return together if brief else f"{together}, read off {len(reading.parts)} noisy measures that outputs share"
    ((times, noised),) = reading.parts
    return noised.mechanism.description(times * float(grid) / reading.denominator, brief=brief)
