"""A private plan in words: what it reads, adds, costs, and how wrong it will be."""

from collections.abc import Callable, Sequence
from fractions import Fraction

from discreet import events
from discreet.accounting.costs import RHO_UNITS, Cost
from discreet.accounting.filters import Budget
from discreet.errors import ParameterError
from discreet.exact import shown
from discreet.planner.batch import BatchPlan
from discreet.planner.expected_error import Sizes, expected_errors
from discreet.planner.queries.private_plan import AnswerPlan, HiddenMargin, PrivatePlan
from discreet.release.explanation import BatchExplanation, ExplainedOutput, Explanation
from discreet.rounding import digits_up, shown_up

_LARGEST_EPSILON = 100_000
_STEPS = 40


def explanation(
    private: AnswerPlan, budget: Budget, spent: Cost, confidence: Fraction, sizes: Sizes | None = None
) -> Explanation:
    """The explanation of a plan against what is left of the privacy budget; with public sizes, also group by group."""
    cost = budget.cost(private.event)
    fits = budget.admits(spent + cost)
    return Explanation(
        dataset=private.dataset,
        unit=str(private.unit),
        caps=_caps(private),
        outputs=private.explain_outputs(confidence),
        groups=private.groups,
        columns_read=private.pushdown.columns_read,
        mechanism=f"{private.noise}, because {private.spending.reason}",
        cost=_price(private) + _renyi(budget, cost) + _of_each(private),
        left=f"epsilon {shown(budget.epsilon_left(spent))} of {budget} before this query",
        fits=fits,
        confidence=confidence,
        statement="free to read; nothing was opened and nothing is spent",
        units=vars(cost),
        slice="" if private.slice is None else private.slice.statement(private.unit),
        expected=None if sizes is None else expected_errors(private, sizes, confidence),
        found=private.key_selection,
    )


def _of_each(private: AnswerPlan) -> str:
    """The datasets that are charged, where there are several."""
    names = [repr(name) for name, _ in private.pushdown.scan.datasets]
    return f", of {', '.join(names[:-1])} and {names[-1]} each" if len(names) > 1 else ""


def batch_explanation(batch: BatchPlan, budget: Budget, spent: Cost, confidence: Fraction) -> BatchExplanation:
    """Each query of a batch, and the privacy cost of all against what is left of the privacy budget."""
    cost = budget.cost(batch.event)
    return BatchExplanation(
        parts=tuple(explanation(part, budget, spent, confidence) for part in batch.parts),
        cost=(_price(batch) if isinstance(batch.event, events.ComposedEvent) else _pair(batch)) + _renyi(budget, cost),
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
    for _ in range(_STEPS):
        middle = (low + high) / 2 if high < 2 * low else Fraction((float(low) * float(high)) ** 0.5)
        found = margin_at(middle)
        if found is not None and found <= wanted:
            high = middle
        else:
            low = middle
    least = digits_up(high, 3)
    if margin_at(least) is None:
        raise _not_public(hidden_at(least))
    return least


def _not_public(hidden: HiddenMargin) -> ParameterError:
    return ParameterError(
        "epsilon_for an output whose margin is not public in advance", because=hidden.because, instead=hidden.instead
    )


def _caps(private: AnswerPlan) -> str:
    if private.unit.is_row:
        return "every row, each its own unit"
    words = [
        _words(private.contribution_bounds.max_rows, "row", "in all"),
        _words(private.contribution_bounds.max_groups, "group", ""),
        _words(private.contribution_bounds.max_rows_per_group, "row", "in each group"),
    ]
    kept = ", ".join(word for word in words if word)
    return f"of {private.unit.label} at most {kept}" if kept else "every row"


def _words(cap: int | None, noun: str, where: str) -> str:
    if cap is None:
        return ""
    return f"{cap:,} {noun}{'s' if cap != 1 else ''} {where}".rstrip()


def _price(private: PrivatePlan) -> str:
    rho = "" if private.spending.is_pure else f" (rho {shown(private.spending.amount)})"
    return f"{_pair(private)}{rho}"


def _renyi(budget: Budget, cost: Cost) -> str:
    """What the Renyi filter counts, where it is less than rho."""
    if budget.order is None or cost.renyi == cost.rho:
        return ""
    return f" (Renyi {shown_up(Fraction(cost.renyi, RHO_UNITS))} at order {float(budget.order):.4g})"


def _pair(private: PrivatePlan) -> str:
    beside = f" at delta {shown_up(private.delta)}" if private.delta else ""
    return f"epsilon {shown_up(private.spending.epsilon)}{beside}"
