"""The privacy cost of an event as the ledger charges it, and the errors for charges that do not fit.

Privacy costs are whole units, rounded up: an event that reveals anything costs at least one unit, and one that costs
nothing is not an event.
"""

from fractions import Fraction
from functools import lru_cache

from discreet import events
from discreet.accounting.costs import DELTA_UNITS, EPSILON_UNITS, LARGEST_UNITS, RHO_UNITS, Cost, cost
from discreet.accounting.filters import Budget
from discreet.errors import BudgetError, ParameterError, Refusal
from discreet.exact.numbers import shown
from discreet.exact.zcdp import epsilon_of

LEAST_USEFUL_SHARE = Fraction(1, 1000)
NOTHING_LEFT = "practically nothing is left"


def price(event: events.Event, order: Fraction | None = None) -> Cost:
    """The cost of an event at an order; one that costs nothing, or more than can be counted, is refused."""
    try:
        total = cost(event, order)
    except RecursionError:
        raise beyond_counting() from None
    if (total.epsilon or 0) + total.rho + total.delta <= 0:
        raise ParameterError(
            "a charge that costs nothing",
            because="an answer from the data reveals something, and what reveals nothing needs no ledger",
            instead="session.release(query, epsilon=0.5), or an event with an epsilon above zero",
        )
    if total.delta >= DELTA_UNITS or not is_countable(total):
        raise beyond_counting()
    return total


def is_paid(paid: Cost, event: str | None) -> bool:
    """Whether a recorded cost is at least the price of its event, in the parts that depend on no order.

    A charge may have been made at another order than the present one. An event that cannot be read has no price.
    """
    least = None if event is None else _price_of_text(event)
    if least is None:
        return False
    is_epsilon_paid = paid.epsilon is None or (least.epsilon is not None and paid.epsilon >= least.epsilon)
    return is_epsilon_paid and paid.rho >= least.rho and paid.delta >= least.delta


def is_divergence_paid(paid: Cost, event: str | None, order: Fraction | None) -> bool:
    """Whether a recorded Renyi divergence is at least that of its event at the order of its time; rho is at any."""
    least = None if event is None else _price_of_text(event, order)
    return least is not None and paid.renyi >= least.renyi


@lru_cache(maxsize=1024)
def _price_of_text(event: str, order: Fraction | None = None) -> Cost | None:
    try:
        return price(events.from_canonical(event), order)
    except (Refusal, ArithmeticError, ValueError):
        return None


def is_countable(total: Cost) -> bool:
    """Whether totals fit the ledger's 64-bit columns."""
    return max(total.epsilon or 0, total.rho, total.delta) <= LARGEST_UNITS


def beyond_counting() -> BudgetError:
    """Error for a charge whose total no longer fits the ledger's columns."""
    return BudgetError(
        "a charge beyond what the ledger can count",
        because="the total exceeds 64 bits of units: epsilon 1e-12, rho 1e-15, delta 1e-18",
        instead="session.release(query, epsilon=0.5), or another epsilon of ordinary size",
    )


def refusal(name: str, budget: Budget, spent: Cost, cost: Cost) -> BudgetError:
    """Error for a charge above the budget: the charge, what is left, and what would fit."""
    if cost.delta > (left := max(0, budget.caps().delta - spent.delta)):
        return _too_much_delta(name, budget, cost.delta, left)
    if cost.epsilon is None and budget.conversion_delta == 0:
        return _needs_delta(name, budget)
    fitting = _fitting_request(budget, spent, cost)
    return BudgetError(
        f"a charge of {_cost_text(budget, cost)} on {name!r}",
        because=f"{_left_text(budget, spent, cost)} is left of the privacy budget of {budget}, over all analysts",
        instead=fitting
        + (f'; or session.ledger.set_cap({name!r}, ..., reason="...")' if NOTHING_LEFT in fitting else ""),
    )


def refusal_of_a_quota(name: str, analyst: str, quota: Budget, spent: Cost, cost: Cost, owner: str) -> BudgetError:
    """The same for an analyst whose quota is too small; `owner` is the call that raises it."""
    what = f"a charge on {name!r} by {analyst!r}"
    if cost.delta > (left := max(0, quota.caps().delta - spent.delta)):
        because = f"{_decimal(left, DELTA_UNITS)} is left of the delta of their quota of {quota} for such answers"
        return BudgetError(what, because=because, instead=f"{_with_delta(left)}, or the owner's {owner}")
    return BudgetError(
        what,
        because=f"{_left_text(quota, spent, cost)} is left of their quota of {quota}",
        instead=f"{_fitting_request(quota, spent, cost)}; or the owner's {owner}",
    )


def _too_much_delta(name: str, budget: Budget, cost: int, left: int) -> BudgetError:
    return BudgetError(
        f"a charge with a delta of its own of {_decimal(cost, DELTA_UNITS)} on {name!r}",
        because=f"{_decimal(left, DELTA_UNITS)} is left of {_reserve(budget)} reserved in {budget}, over all analysts",
        instead=_with_delta(left),
    )


def _with_delta(left: int) -> str:
    if not left:
        return "the same call without a delta of its own: no delta= of a batch, and public keys, not dp.discover(...)"
    return f"the same call with delta={_decimal(left, DELTA_UNITS)}"


def _needs_delta(name: str, budget: Budget) -> BudgetError:
    return BudgetError(
        f"a charge without a finite epsilon on {name!r}",
        because=f"the privacy budget of {budget} has no delta for it, and Gaussian noise needs one",
        instead='session.release(query, epsilon=0.5, mechanism="laplace")',
    )


def _cost_text(budget: Budget, cost: Cost) -> str:
    if cost.epsilon is not None:
        return f"epsilon {_decimal(cost.epsilon, EPSILON_UNITS)}"
    epsilon = epsilon_of(Fraction(cost.rho, RHO_UNITS), budget.conversion_delta)
    return f"epsilon {shown(epsilon)} (rho {_decimal(cost.rho, RHO_UNITS)})"


def _left_text(budget: Budget, spent: Cost, cost: Cost) -> str:
    caps = budget.caps()
    if budget.is_pure:
        return f"epsilon {_decimal(max(0, caps.epsilon - (spent.epsilon or 0)), EPSILON_UNITS)}"
    if cost.epsilon is not None:
        return f"pure epsilon {shown(budget.laplace_left(spent))}"
    rho = _decimal(max(0, caps.rho - spent.renyi), RHO_UNITS)
    return f"epsilon {shown(budget.gaussian_left(spent))} (rho {rho})"


def _fitting_request(budget: Budget, spent: Cost, cost: Cost) -> str:
    laplace, gaussian = budget.laplace_left(spent), budget.gaussian_left(spent)
    same_noise = gaussian if cost.epsilon is None else laplace
    useful = budget.epsilon * LEAST_USEFUL_SHARE
    # under a delta a request of an epsilon costs its rho, with any noise
    if same_noise >= useful and (budget.order is None or same_noise <= gaussian):
        return f"session.release(query, epsilon={shown(same_noise)})"
    if laplace >= useful:
        return f'session.release(query, epsilon={shown(laplace)}, mechanism="laplace")'
    return f"a query asked before, whose stored answer is free, because {NOTHING_LEFT}"


def _reserve(budget: Budget) -> str:
    return _decimal(budget.caps().delta, DELTA_UNITS)


def _decimal(units: int, per_unit: int) -> str:
    """Whole units written out exactly, or to six digits where zeros would hide them."""
    digits = len(str(per_unit)) - 1
    text = f"{units // per_unit}.{units % per_unit:0{digits}d}".rstrip("0").rstrip(".")
    return text if units == 0 or units * 10_000 >= per_unit else f"{units / per_unit:.6g}"
