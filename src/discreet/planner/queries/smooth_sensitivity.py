"""One number about a whole table with noise that fits it: what is pushed down, the local object, and what it costs.

A mean is pushed down as a centred sum and a count; a median and a distance between quartiles as how many rows are at
each step of a public grid between the bounds. From these integers comes the answer and how far one unit can move it on
data like this, which stays private, and so does the size of the noise.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet import events
from discreet.accounting.filters import Budget
from discreet.catalog.catalog import Catalog
from discreet.errors import ParameterError, UnsupportedError
from discreet.exact.numbers import Number, positive, shown
from discreet.mechanisms.smooth import (
    BoundedMean,
    InterquartileRange,
    Local,
    Median,
    ProposeTestRelease,
    Smooth,
    StepCounts,
)
from discreet.plan import logical, physical
from discreet.planner.budget import allocation
from discreet.planner.budget.allocation import Spending
from discreet.planner.queries.private_plan import AnswerPlan, HiddenMargin
from discreet.planner.resolve import grid_steps, keys
from discreet.planner.resolve.binding import Bound, bind
from discreet.planner.resolve.grid_steps import STEP, few_steps
from discreet.planner.resolve.lowering import lower_query
from discreet.planner.resolve.measures import recipe
from discreet.planner.sensitivity import contribution_bounds
from discreet.release.explanation import ExplainedOutput

SmoothMeasure = logical.Mean | logical.MedianMeasure | logical.InterquartileRangeMeasure

SHARE_OF_A_MEAN = Fraction(1, 10)
_FINENESS = 10**6
_MADE_BY = {
    "laplace": "Laplace noise on the scale of the smooth sensitivity, which is private",
    "pareto": "Pareto noise on the scale of the smooth sensitivity, which is private",
    "student_t": "Student's t noise on the scale of the smooth sensitivity, which is private",
    "laplace_log_normal": "Laplace log-normal noise on the scale of the smooth sensitivity, which is private",
}


@dataclass(frozen=True)
class LocalReading:
    """How the local object is made from the integers of an engine: their grid, their bounds, rows of one unit."""

    measure: SmoothMeasure
    grid: Fraction
    low: int
    high: int
    centre: int
    max_rows: int
    neighbours: str

    @property
    def bounds(self) -> tuple[Fraction, Fraction]:
        """The bounds of values, on the grid."""
        return self.low * self.grid, self.high * self.grid

    @property
    def range(self) -> tuple[Fraction, Fraction]:
        """Where the answer itself lies."""
        low, high = self.bounds
        return (Fraction(0), high - low) if isinstance(self.measure, logical.InterquartileRangeMeasure) else (low, high)

    def local(self, exact: Sequence[Sequence[int]]) -> Local:
        """The answer and how far one unit can move it: private."""
        if isinstance(self.measure, logical.Mean):
            ((total,), (count,)) = exact
            return BoundedMean(
                total=(total + self.centre * count) * self.grid,
                count=count,
                bounds=self.bounds,
                max_rows=self.max_rows,
                neighbours=self.neighbours,
            )
        (counts,) = exact
        kind = Median if isinstance(self.measure, logical.MedianMeasure) else InterquartileRange
        steps = StepCounts.of_counts(counts, self.low)
        return kind(steps, step=self.grid, max_rows=self.max_rows, neighbours=self.neighbours)


@dataclass(frozen=True, kw_only=True)
class SmoothPlan(AnswerPlan):
    """Everything about such a number that is public before it is drawn; a proposed bound has no noise to choose."""

    name: str
    reading: LocalReading
    mechanism: Smooth | ProposeTestRelease
    noise_name: logical.SmoothNoise | None
    made: str

    @property
    def event(self) -> events.Event:
        """What a release does, for the accountants."""
        return self.mechanism.event()

    def randomize(self, exact: Sequence[Sequence[int]]) -> Fraction | None:
        """The noisy number within its range, or None where a test did not pass."""
        noisy = self.mechanism.release(self.reading.local(exact))
        return None if noisy is None else self._within(Fraction(noisy))

    def combine(self, exact: Sequence[Sequence[int]]) -> Fraction:
        """The number without noise."""
        return self.reading.local(exact).value()

    def margin(self, confidence: Fraction) -> Fraction | None:
        """Where it is public: of a proposed bound it is, of a smooth sensitivity it is not."""
        if isinstance(self.mechanism, Smooth):
            return None
        return Fraction(self.mechanism.margin(confidence))

    @property
    def noise(self) -> str:
        """The kind of noise, in words."""
        if self.noise_name is None:
            return "Laplace noise, after a test"
        return f"{self.noise_name.replace('_', ' ')} noise on the scale of the smooth sensitivity"

    @property
    def clamps_values(self) -> bool:
        """Values outside the bounds count as the nearest bound."""
        return True

    @property
    def groups(self) -> int:
        """One: the rows at each step are no groups."""
        return 1

    def explain_outputs(self, confidence: Fraction) -> tuple[ExplainedOutput, ...]:
        """The number with its margin, where that is public."""
        note = "" if isinstance(self.mechanism, ProposeTestRelease) else "not public: it follows the smooth sensitivity"
        return (ExplainedOutput(self.name, "estimate", self.made, self.margin(confidence), note),)

    def hidden_margin(self, output: ExplainedOutput) -> HiddenMargin:  # noqa: ARG002 - there is one output
        """It follows the smooth sensitivity."""
        return HiddenMargin(
            "its margin depends on the smooth sensitivity, which is private",
            "method=dp.ProposedBound(bound=..., delta=...), whose margin is public",
        )

    def _within(self, value: Fraction) -> Fraction:
        low, high = self.reading.range
        return min(high, max(low, value))


def analyze_smooth(
    query: logical.Aggregate,
    catalog: Catalog,
    budget: Budget,
    *,
    epsilon: Number | None = None,
    rho: Number | None = None,
    delta: Number | None = None,
    noise: logical.SmoothNoise | None = None,
    bound: Number | None = None,
) -> SmoothPlan:
    """Plan a number with smooth-sensitivity noise, or refuse it; with `bound`, propose-test-release."""
    output, measure = _only(query)
    bare = bind(query.source, catalog)
    reading, scope, public, measures = _read(measure, output.name, query, bare, catalog)
    spent, pure = allocation.largest_pure(budget, epsilon=epsilon, rho=rho)
    grid = _fine(reading.range)
    name: logical.SmoothNoise | None = None
    if bound is not None:
        own = positive(delta if delta is not None else 0, "delta")
        each = spent.part(Fraction(1, 2)).pure_epsilon  # the test and the answer
        mechanism: Smooth | ProposeTestRelease = ProposeTestRelease(bound=bound, epsilon=each, delta=own, grid=grid)
        made = f"Laplace noise on the scale of a proposed bound of {shown(positive(bound, 'bound'))}, after a test"
    else:
        name = noise or "pareto"
        if name == "laplace_log_normal":
            spent = allocation.spending(budget, epsilon=epsilon, rho=rho, mechanism=None)
        share = SHARE_OF_A_MEAN if isinstance(measure, logical.Mean) else None
        mechanism = _smooth(name, spent, pure, delta, share, grid)
        made = _MADE_BY[name]
    caps = contribution_bounds.effective(scope.table.unit, scope.table.caps, None, None)
    return SmoothPlan(
        dataset=scope.name,
        unit=scope.table.unit,
        pushdown=lower_query(
            scope, public, contribution_bounds.caps_to_enforce(scope.table.unit, caps, len(public.rows)), measures
        ),
        name=output.name,
        reading=reading,
        mechanism=mechanism,
        noise_name=name,
        made=made,
        spending=spent,
        slice=scope.table.part,
    )


def _smooth(
    name: str, spent: Spending, pure: Fraction, delta: Number | None, share: Fraction | None, grid: Fraction
) -> Smooth:
    """The noise of that name at the privacy cost of the spending."""
    if name == "laplace" and delta is None:
        raise ParameterError(
            'noise="laplace" without a delta of its own',
            because="the ratio of Laplace densities of different width has no bound",
            instead='method=dp.SmoothSensitivity(noise="laplace", delta=1e-10), or noise="pareto"',
        )
    if name == "laplace_log_normal":
        rho = spent.amount**2 / 2 if spent.is_pure else spent.amount
        return Smooth(noise=name, rho=rho, delta=delta, share=share, grid=grid)
    return Smooth(noise=name, epsilon=pure, delta=delta, share=share, grid=grid)


def _only(query: logical.Aggregate) -> tuple[logical.Output, SmoothMeasure]:
    """The one output of a query without groups."""
    if len(query.outputs) != 1 or query.grouping.columns:
        raise UnsupportedError(
            "several numbers by smooth sensitivity or propose-test-release",
            because="each has its own smooth sensitivity and its own privacy cost",
            instead="one at a time: session.release(query, epsilon=1, method=dp.SmoothSensitivity())",
        )
    (output,) = query.outputs
    if not isinstance(output.measure, SmoothMeasure):
        raise UnsupportedError(
            f"{output.name!r} by smooth sensitivity or propose-test-release",
            because="one unit moves a count or a sum by as much on any data",
            instead="session.release(query, epsilon=...), or dp.mean, dp.median or dp.interquartile_range",
        )
    return output, output.measure


def _read(
    measure: SmoothMeasure, name: str, query: logical.Aggregate, scope: Bound, catalog: Catalog
) -> tuple[LocalReading, Bound, physical.Keys, tuple[physical.Integers, ...]]:
    """What is pushed down for a measure, and how it is read."""
    unit = scope.table.unit
    caps = contribution_bounds.effective(unit, scope.table.caps, None, None)
    contribution_bounds.require_row_bound(repr(name), unit, caps)
    if isinstance(measure, logical.Mean):
        made = recipe(logical.Output(name, measure), scope)
        total, present = (part.measure for part in made.parts)
        assert isinstance(total, physical.SumSteps)  # noqa: S101 - of a mean it is
        rows = contribution_bounds.spread(caps, 1).l1
        told = LocalReading(measure, total.grid, total.low, total.high, total.centre, rows, str(unit.neighbours))
        return told, scope, physical.Keys(), (total, present)
    steps = few_steps(measure, name, scope)
    binned = bind(grid_steps.derive_step(query.source, measure, steps, scope), catalog)
    listed = logical.Grouping((STEP,), (tuple(range(steps.high - steps.low + 1)),))
    public = keys.resolve(listed, binned)
    rows = contribution_bounds.spread(caps, len(public.rows)).l1
    told = LocalReading(measure, steps.grid, steps.low, steps.high, 0, rows, str(unit.neighbours))
    return told, binned, public, (physical.CountRows(),)


def _fine(span: tuple[Fraction, Fraction]) -> Fraction:
    """A public grid for the answer: the power of ten that cuts its range into a million steps or more."""
    width, grid = (span[1] - span[0]) / _FINENESS, Fraction(1)
    while grid > width:
        grid /= 10
    while grid * 10 <= width:
        grid *= 10
    return grid
