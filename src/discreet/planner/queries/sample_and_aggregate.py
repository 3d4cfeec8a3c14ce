"""Sample and aggregate: which rows a function sees, in how many blocks, and how its answers become one number.

No unit is in two blocks, so one unit changes the answer of one block (of two where it is replaced), for any
function. What is aggregated is clamped to public bounds, so that this is all that the noise has to cover.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, get_args

from discreet import events
from discreet.accounting.filters import Budget
from discreet.catalog.catalog import Catalog
from discreet.errors import ParameterError
from discreet.exact.numbers import Number, rational, shown, whole
from discreet.mechanisms.sampled import ClippedMean, PrivateMedian, SelfBoundedMean
from discreet.plan import logical
from discreet.plan.fingerprint import digest
from discreet.plan.physical import CountRows, Keys, Term
from discreet.planner.budget import allocation
from discreet.planner.budget.allocation import Spending
from discreet.planner.queries.private_plan import AnswerPlan, HiddenMargin
from discreet.planner.resolve.binding import bind
from discreet.planner.resolve.lowering import lower_query
from discreet.planner.sensitivity import contribution_bounds
from discreet.release.explanation import ExplainedOutput
from discreet.release.result import DEFAULT_CONFIDENCE

Mechanism = ClippedMean | PrivateMedian | SelfBoundedMean

Facts = dict[str, Any]

_AGGREGATES: tuple[logical.BlockAggregate, ...] = get_args(logical.BlockAggregate)


class AggregateValue(NamedTuple):
    """A number, and how it was made as far as that was released with it."""

    value: Fraction
    made: str


@dataclass(frozen=True, kw_only=True)
class SampleAndAggregatePlan(AnswerPlan):
    """Everything about a sample-and-aggregate release that is public before it runs."""

    columns: Mapping[str, Term]
    blocks: int
    name: str
    function: str
    default: Fraction
    mechanism: Mechanism
    made: str

    @property
    def clamps_values(self) -> bool:
        """Answers of blocks outside the bounds count as the nearest bound."""
        return True

    @property
    def event(self) -> events.Event:
        """What a release does, for the accountants."""
        return self.mechanism.event()

    def randomize(self, answers: Sequence[Fraction]) -> AggregateValue:
        """One noisy number from the answers of all blocks."""
        if isinstance(self.mechanism, SelfBoundedMean):
            found = self.mechanism.release(answers)
            low, high = (shown(Fraction(bound)) for bound in found.bounds)
            margin = shown(self.mechanism.margin(found, DEFAULT_CONFIDENCE))
            return AggregateValue(
                found.value, f"{self.made}, within {low} and {high} as found; the noise is within ± {margin}"
            )
        least, most = (Fraction(bound) for bound in self.mechanism.steps.bounds)
        return AggregateValue(min(most, max(least, Fraction(self.mechanism.release(answers)))), self.made)

    def combine(self, answers: Sequence[Fraction]) -> AggregateValue:
        """The mean or the median of the clamped answers, without noise."""
        steps = sorted(self.mechanism.steps.read(answers))
        if isinstance(self.mechanism, PrivateMedian):
            return AggregateValue(steps[(len(steps) - 1) // 2] * self.mechanism.steps.grid, self.made)
        return AggregateValue(sum(steps) * self.mechanism.steps.grid / len(steps), self.made)

    @property
    def noise(self) -> str:
        """The mechanism, in words."""
        return f"sample and aggregate by {self.blocks:,} blocks"

    def explain_outputs(self, confidence: Fraction) -> tuple[ExplainedOutput, ...]:
        """The number with the margin of its noise, where that is public in advance."""
        note = "of the noise alone" if self.margin(confidence) is not None else "known once the release is made"
        return (ExplainedOutput(self.name, "estimate", self.made, self.margin(confidence), note),)

    def hidden_margin(self, output: ExplainedOutput) -> HiddenMargin:  # noqa: ARG002 - there is one output
        """It follows the answers of the blocks."""
        return HiddenMargin(
            "its margin depends on the answers of the blocks, which are private",
            'aggregate="mean" with bounds=(lo, hi), whose margin is public',
        )

    def margin(self, confidence: Fraction) -> Fraction | None:
        """How far the noise goes, where that is public in advance: not how well blocks stand for the whole."""
        return self.mechanism.margin(confidence) if isinstance(self.mechanism, ClippedMean) else None


def analyze_sample(
    source: logical.Relation,
    catalog: Catalog,
    budget: Budget,
    *,
    columns: Sequence[str],
    blocks: int,
    bounds: tuple[Number, Number],
    function: tuple[str, str],
    runs: str = "",
    aggregate: logical.BlockAggregate = "mean",
    default: Number | None = None,
    grid: Number | None = None,
    epsilon: Number | None = None,
    rho: Number | None = None,
    share: Fraction = Fraction(1),
) -> SampleAndAggregatePlan:
    """Plan such a release, or refuse it; a function has two names, one of its bytes; `runs` says how."""
    scope = bind(source, catalog)
    seen = {name: scope.term(logical.ColumnRef(name)) for name in _column_names(columns)}
    unit, number = scope.table.unit, whole(blocks, "blocks", least=2)
    spent, _ = allocation.largest_pure(budget, epsilon=epsilon, rho=rho, share=share)
    facts: Facts = {"bounds": bounds, "blocks": number, "grid": grid, "neighbours": unit.neighbours}
    mechanism = _mechanism(aggregate, spent, facts)
    low, high = mechanism.steps.bounds
    caps = contribution_bounds.effective(unit, scope.table.caps, None, None)
    return SampleAndAggregatePlan(
        dataset=scope.name,
        unit=unit,
        pushdown=lower_query(
            scope, Keys(), contribution_bounds.caps_to_enforce(unit, caps, 1), (CountRows(),), tuple(seen.values())
        ),
        columns=seen,
        blocks=number,
        name=function[0],
        function=digest((function[1], runs)),
        default=Fraction(low + high) / 2 if default is None else rational(default, "default"),
        mechanism=mechanism,
        made=f"the {aggregate} of {number:,} chunks, each in a process of its own{_ranks(mechanism)}",
        spending=spent,
        slice=scope.table.part,
    )


def _mechanism(aggregate: str, spent: Spending, facts: Facts) -> Mechanism:
    """The mechanism of an aggregate; of a mean, with the noise of the smaller 95% margin."""
    if aggregate not in _AGGREGATES:
        raise ParameterError(
            f"aggregate={aggregate!r}",
            because="the answers of blocks become one number in one of three ways",
            instead=" or ".join(f"aggregate={name!r}" for name in _AGGREGATES),
        )
    if aggregate == "median":
        return PrivateMedian(epsilon=spent.selection_epsilon(), **facts)
    mean: type[ClippedMean | SelfBoundedMean] = ClippedMean if aggregate == "mean" else SelfBoundedMean
    if spent.is_pure:
        return mean(epsilon=spent.pure_epsilon, **facts)
    found = [mean(rho=spent.amount, **facts)]
    with suppress(ParameterError):  # Laplace noise that cannot be drawn is left out
        found.append(mean(epsilon=spent.pure_epsilon, **facts))
    return min(found, key=lambda each: each.noise.margin(DEFAULT_CONFIDENCE))


def _ranks(mechanism: Mechanism) -> str:
    """How far off a choice by rank is, which is public, and may be as far as there are blocks."""
    if isinstance(mechanism, PrivateMedian):
        return f"; in 95% of releases at most {mechanism.margin(DEFAULT_CONFIDENCE):,} ranks among them from the middle"
    if isinstance(mechanism, SelfBoundedMean):
        return f"; its quartiles are in 95% of releases at most {mechanism.rank_margin(DEFAULT_CONFIDENCE):,} ranks off"
    return ""


def _column_names(columns: object) -> tuple[str, ...]:
    listed = () if isinstance(columns, str) or not isinstance(columns, Sequence) else tuple(columns)
    if not listed or not all(isinstance(name, str) for name in listed):
        raise ParameterError(
            "columns that are not a list of names",
            because="a function sees the columns that it names, and no other",
            instead='columns=["age", "cost"]',
        )
    return tuple(dict.fromkeys(listed))
