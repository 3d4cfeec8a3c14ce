"""Batches of queries that are fixed in advance: the division of the privacy cost, and the joint charge.

Without a delta of its own a batch costs what its queries cost one after another: the filters add them. With a
delta, which the privacy budget must have reserved, it is charged as one event of (epsilon, delta) that also has the rho
of its queries: they are known before the first is answered, so an accountant of privacy-loss distributions may be asked
how little noise meets the pair, which is less than sums of rho ask for where the queries are single numbers. Any other
charges may follow: the filters add either the pairs, or the rhos and the deltas.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import repeat
from typing import Any, TypeVar

from discreet import accounting, events
from discreet.accounting.costs import RHO_UNITS
from discreet.accounting.filters import Budget
from discreet.accounting.prices import total
from discreet.errors import ParameterError, UnsupportedError
from discreet.exact.numbers import Number, positive, probability, shown
from discreet.exact.rounding import units_down
from discreet.exact.zcdp import rho_of
from discreet.mechanisms import Gaussian
from discreet.plan.fingerprint import canonical
from discreet.plan.physical import Pushdown
from discreet.planner.budget import allocation
from discreet.planner.budget.allocation import Spending
from discreet.planner.budget.price import Price
from discreet.planner.queries.private_plan import AnswerPlan, PrivatePlan

MOST_QUESTIONS = 1_000
_ROUNDS = 12
_ITS_SHARE = "; this is its share of the batch's privacy cost"
_BY_RHO = "queries were fixed in advance, and rhos add"


@dataclass(frozen=True, kw_only=True)
class BatchPlan(PrivatePlan):
    """Everything about a batch that is public: the plan of each query, and the one event that is charged."""

    parts: tuple[AnswerPlan, ...]
    charged: events.Event

    @property
    def event(self) -> events.Event:
        """The one event of the batch."""
        return self.charged

    def guarantee(self, span: str, version: int, *, rest: str = "") -> str:
        """What all answers reveal together, in words, with what it does not cover of any of them."""
        stated = super().guarantee(span, version, rest=rest)
        caveats = dict.fromkeys(part.caveat for part in self.parts if part.caveat)
        return f"{stated}. {' '.join(caveats)}" if caveats else stated

    def randomize(self, exact: Sequence[Any]) -> list[Any]:
        """Every exact answer with fresh noise."""
        return [part.randomize(answer) for part, answer in zip(self.parts, exact, strict=True)]

    def combine(self, exact: Sequence[Any]) -> list[Any]:
        """Every answer without noise."""
        return [part.combine(answer) for part, answer in zip(self.parts, exact, strict=True)]

    @property
    def pushdown(self) -> Pushdown:
        """What the engine is asked first."""
        return self.parts[0].pushdown

    @property
    def description(self) -> str:
        """What the ledger keeps of it."""
        return canonical(tuple(asked for part in self.parts for asked in part.pushdowns))


Part = TypeVar("Part")
PlanOf = Callable[[Part, Budget, Price], AnswerPlan]


def analyze_batch(
    questions: Sequence[Part],
    plan_of: PlanOf[Part],
    budget: Budget,
    price: Price,
    *,
    weights: Sequence[Number] | None = None,
) -> BatchPlan:
    """Divide a privacy cost over the queries of a batch by their weights, or refuse them; all are of one dataset.

    Args:
        questions: The queries, of any kind that is answered once.
        plan_of: The plan of one query within a budget, for its share of the privacy cost.
        budget: The budget of the dataset.
        price: The privacy cost of the batch; with a delta it is charged as one event of (epsilon, delta).
        weights: How the privacy cost is divided. Default: evenly.
    """
    shares = _shares(questions, weights)
    if price.delta is not None:
        batch = _by_distributions(questions, plan_of, shares, price, probability(price.delta, "delta"))
    else:
        spent = allocation.spending(budget, epsilon=price.epsilon, rho=price.rho, mechanism=price.mechanism)
        parts = tuple(
            _its_share(plan_of(question, budget, replace(price, share=share)), spent.reason)
            for question, share in zip(questions, shares, strict=True)
        )
        batch = _batch(parts, _together(parts), spent)
    _refuse_several_datasets(batch.parts)
    return batch


def _its_share(plan: AnswerPlan, reason: str) -> AnswerPlan:
    """The plan of a query with the reason for its noise, which is that of the batch."""
    return replace(plan, spending=replace(plan.spending, reason=f"{reason}{_ITS_SHARE}"))


def _batch(parts: tuple[AnswerPlan, ...], event: events.Event, spent: Spending) -> BatchPlan:
    first = parts[0]
    return BatchPlan(
        dataset=first.dataset, unit=first.unit, slice=first.slice, spending=spent, parts=parts, charged=event
    )


def _together(parts: Sequence[AnswerPlan]) -> events.Event:
    return events.ComposedEvent(tuple(part.event for part in parts))


def _by_distributions(
    questions: Sequence[Part], plan_of: PlanOf[Part], shares: Sequence[Fraction], price: Price, delta: Fraction
) -> BatchPlan:
    """The batch with the least noise for which it is (epsilon, delta)-private, by its privacy-loss distribution."""
    is_gaussian = price.mechanism in (None, Gaussian.tag)
    if price.epsilon is None or price.rho is not None or not is_gaussian or not delta:
        raise ParameterError(
            "a batch with a delta of its own",
            because="it is charged as one event of (epsilon, delta), with Gaussian noise",
            instead="session.release([q1, q2], epsilon=1, delta=1e-10), under a privacy budget with reserved_delta",
        )
    asked = positive(price.epsilon, "epsilon")
    own = Budget(epsilon=asked, delta=delta, reserved_delta=0, ceiling=max(asked, Fraction(10)))

    def at(amount: Fraction) -> tuple[AnswerPlan, ...]:
        prices = (Price(rho=amount * share, mechanism=Gaussian.tag) for share in shares)
        return tuple(_its_share(plan_of(*each), _BY_RHO) for each in zip(questions, repeat(own), prices))

    why = f"queries were fixed in advance and are charged together, as (epsilon, delta) with delta {shown(delta)}"
    parts = _largest(at, asked, delta)
    amount = sum((part.spending.amount for part in parts), Fraction(0))
    spent = Spending((Gaussian,), amount, asked, Fraction(0), why)  # the event has the delta
    return _batch(parts, _joint_event(parts, asked, delta), spent)


def _joint_event(parts: Sequence[AnswerPlan], epsilon: Fraction, delta: Fraction) -> events.Event:
    """The batch as one event, which has the rho of its parts too, unless one of them has a delta of its own."""
    own = total(_together(parts))
    return (
        events.ApproximateEvent(epsilon, delta)
        if own.delta
        else events.ApproximateConcentratedEvent(epsilon, delta, own.rho)
    )


def _largest(
    at: Callable[[Fraction], tuple[AnswerPlan, ...]], epsilon: Fraction, delta: Fraction
) -> tuple[AnswerPlan, ...]:
    """The parts at about the largest rho that the distribution of all losses still allows; checked at that very rho."""

    def fits(parts: tuple[AnswerPlan, ...]) -> bool:
        return Fraction(accounting.pld.epsilon(_together(parts), delta)) <= epsilon

    sure = rho_of(epsilon, delta)
    best, low, high = at(sure), sure, 2 * sure
    for _ in range(_ROUNDS):
        middle = Fraction(units_down((low + high) / 2, RHO_UNITS), RHO_UNITS)
        if middle <= low:
            break
        found = at(middle)
        low, high, best = (middle, high, found) if fits(found) else (low, middle, best)
    return best


def _shares(queries: Sequence[Any], weights: Sequence[Number] | None) -> list[Fraction]:
    """The share of the privacy cost of each query."""
    if not 0 < len(queries) <= MOST_QUESTIONS:
        raise ParameterError(
            f"a batch of {len(queries):,} queries",
            because=f"a batch has 1 to {MOST_QUESTIONS:,} of them",
            instead="session.release([query, another], epsilon=1)",
        )
    asked = [positive(weight, "weights") for weight in weights] if weights is not None else [Fraction(1)] * len(queries)
    if len(asked) != len(queries):
        raise ParameterError(
            f"{len(asked):,} weights for {len(queries):,} queries",
            because="each query has a weight of its own",
            instead=f"weights={[1] * min(len(queries), 4)}",
        )
    return [weight / sum(asked) for weight in asked]


def _refuse_several_datasets(parts: Sequence[AnswerPlan]) -> None:
    names = list(dict.fromkeys(part.dataset for part in parts))
    if len(names) > 1:
        raise UnsupportedError(
            f"a batch over {names[0]!r} and {names[1]!r}",
            because="a batch is one charge to one privacy budget",
            instead="a batch for each table",
        )
