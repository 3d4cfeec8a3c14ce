"""A private plan in words: what it reads, adds, costs, and how wrong it will be."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from fractions import Fraction

from discreet.accounting.costs import RHO_UNITS, Cost
from discreet.accounting.filters import Budget
from discreet.errors import ParameterError
from discreet.exact.numbers import shown
from discreet.exact.rounding import digits_up, shown_up
from discreet.mechanisms import Staircase
from discreet.planner.batch import BatchPlan
from discreet.planner.expected_error import Sizes, expected_errors
from discreet.planner.queries.aggregate import AggregatePlan
from discreet.planner.queries.private_plan import AnswerPlan, HiddenMargin, PrivatePlan, TablePlan
from discreet.planner.wording import contributions
from discreet.release.explanation import BatchExplanation, ExplainedOutput, Explanation, format_margin

_LARGEST_EPSILON = 100_000
_STEPS = 60
_DIGITS = 3
_AROUND = (Fraction(0), Fraction(1001, 1000), Fraction(999, 1000))
"""Margins are about in inverse proportion to epsilon: one try by bisection, then one on each side of where that is."""


def explanation(
    private: AnswerPlan,
    budget: Budget,
    spent: Cost,
    confidence: Fraction,
    sizes: Sizes | None = None,
    *,
    pure: TablePlan | None = None,
) -> Explanation:
    """The explanation of a plan against what is left of the privacy budget; with public sizes, also group by group.

    `pure` is the plan of the same query with Laplace noise of its epsilon, to show beside it.
    """
    cost = budget.cost(private.event)
    fits = budget.admits(spent + cost)
    return Explanation(
        dataset=private.dataset,
        unit=str(private.unit),
        caps=contributions(private),
        outputs=private.explain_outputs(confidence),
        groups=private.groups,
        columns_read=private.columns_read,
        mechanism=f"{private.noise}, because {_reason(private)}",
        cost=_price(private, budget, cost) + _of_each(private),
        left=f"epsilon {shown(budget.epsilon_left(spent))} of {budget} before this query",
        fits=fits,
        confidence=confidence,
        statement="free to read; nothing was opened and nothing is spent",
        units=vars(cost),
        slice="" if private.slice is None else private.slice.statement(private.unit),
        expected=None if sizes is None else expected_errors(private, sizes, confidence),
        found=private.key_selection,
        details=private.details,
        alternatives=(*_same_cost(private, confidence), *_pure_epsilon(private, pure, budget, confidence)),
    )


def _reason(private: AnswerPlan) -> str:
    """Why this noise: of a table with a choice of noises, because no margin is smaller."""
    spent = private.spending
    if isinstance(private, AggregatePlan) and spent.orders and len(spent.kinds) > 1:
        return f"no noise has a smaller 95% margin at this cost; {spent.reason}"
    return spent.reason


def _same_cost(private: AnswerPlan, confidence: Fraction) -> Iterator[str]:
    """The margins of a table with other noise at the same cost."""
    if not isinstance(private, AggregatePlan):
        return
    spent, used = private.spending, {type(noised.mechanism) for noised in private.noisy_measures}
    for kind in spent.kinds:
        if {kind} != used and (kind in used or kind is not Staircase):  # it is Laplace noise, or hardly differs
            with suppress(ParameterError):
                other = private.with_spending(spent.only(kind))
                yield f"{kind.name} at the same cost: {_margins(other, confidence)}"


def _pure_epsilon(private: AnswerPlan, pure: TablePlan | None, budget: Budget, confidence: Fraction) -> Iterator[str]:
    """The margins with pure noise of the epsilon that was asked for, and how much of the second filter both take."""
    if pure is None or not budget.caps().rho:
        return
    there, here = (Fraction(budget.cost(plan.event).renyi, budget.caps().rho) for plan in (pure, private))
    yield (
        f'mechanism="laplace", pure epsilon {shown(pure.spending.epsilon)}: {_margins(pure, confidence)}, '
        f"for {shown(100 * there, 3)}% of the cap on Renyi divergences in place of {shown(100 * here, 3)}%"
    )


def _margins(private: AnswerPlan, confidence: Fraction) -> str:
    """The margins of all outputs as far as they are public in advance."""
    outputs = private.explain_outputs(confidence)
    known = [f"{each.name} ± {format_margin(each.margin)}" for each in outputs if each.margin is not None]
    return ", ".join(known) or "margins that depend on the size of each group"


def _of_each(private: AnswerPlan) -> str:
    """The datasets that are charged, where there are several."""
    names = [repr(name) for name, _ in private.pushdown.scan.datasets]
    return f", of {', '.join(names[:-1])} and {names[-1]} each" if len(names) > 1 else ""


def batch_explanation(batch: BatchPlan, budget: Budget, spent: Cost, confidence: Fraction) -> BatchExplanation:
    """Each query of a batch, and the privacy cost of all against what is left of the privacy budget."""
    cost = budget.cost(batch.event)
    return BatchExplanation(
        parts=tuple(explanation(part, budget, spent, confidence) for part in batch.parts),
        cost=_price(batch, budget, cost),
        left=f"epsilon {shown(budget.epsilon_left(spent))} of {budget} before this batch",
        fits=budget.admits(spent + cost),
        units=vars(cost),
    )


def widest_margin(outputs: Sequence[ExplainedOutput], name: str | None) -> Fraction | None:
    """The widest margin of all outputs, or that of the named one; None where one of them is not public in advance."""
    names = [each.name for each in outputs]
    if name is not None and name not in names:
        raise ParameterError(f"output={name!r}", because="the query has no such output", instead=f"one of {names}")
    margins = [each.margin for each in outputs if name in (None, each.name)]
    known = [margin for margin in margins if margin is not None]
    return max(known) if known and len(known) == len(margins) else None


def hidden_margin(plan: AnswerPlan, confidence: Fraction, name: str | None) -> HiddenMargin:
    """Why the widest margin of a plan is not public in advance: by its first output, or the named one, without one."""
    outputs = [each for each in plan.explain_outputs(confidence) if name in (None, each.name)]
    return plan.hidden_margin(next(each for each in outputs if each.margin is None))


def least_epsilon(
    margin_at: Callable[[Fraction], Fraction | None],
    wanted: Fraction,
    hidden_at: Callable[[Fraction], HiddenMargin],
) -> Fraction:
    """The least epsilon, to three digits and rounded up, whose margin is at most the wanted one.

    `hidden_at` says why there is no margin at an epsilon.
    """
    low, high = Fraction(1, 10**6), Fraction(_LARGEST_EPSILON)
    if (found := margin_at(high)) is None:
        raise _not_public(hidden_at(high))
    if found > wanted:
        raise ParameterError(
            f"margin={shown(wanted)}",
            because=f"no epsilon up to {_LARGEST_EPSILON:,} gives it",
            instead=f"margin={shown(found)}, or larger",
        )
    product = Fraction(0)
    for step in range(_STEPS):
        if digits_up(low, _DIGITS) == digits_up(high, _DIGITS):
            break
        middle = product / wanted * _AROUND[step % 3]
        if not low < middle < high:
            middle = (low + high) / 2 if high < 2 * low else Fraction((float(low) * float(high)) ** 0.5)
        found = margin_at(middle)
        product = middle * (found or 0)
        low, high = (low, middle) if found is not None and found <= wanted else (middle, high)
    least = digits_up(high, _DIGITS)
    if margin_at(least) is None:
        raise _not_public(hidden_at(least))
    return least


def _not_public(hidden: HiddenMargin) -> ParameterError:
    return ParameterError(
        "epsilon_for an output whose margin is not public in advance", because=hidden.because, instead=hidden.instead
    )


def _price(private: PrivatePlan, budget: Budget, cost: Cost) -> str:
    """The guarantee, and what the Renyi filter counts: rho where all noise is Gaussian."""
    if budget.order is None:
        return _pair(private)
    if cost.renyi == cost.rho:
        return f"{_pair(private)} (rho {shown_up(Fraction(cost.rho, RHO_UNITS))})"
    counted = shown_up(Fraction(cost.renyi, RHO_UNITS))
    return f"{_pair(private)} (Renyi {counted} at order {float(budget.order):.4g})"


def _pair(private: PrivatePlan) -> str:
    beside = f" at delta {shown_up(private.delta)}" if private.delta else ""
    return f"epsilon {shown_up(private.spending.epsilon)}{beside}"
