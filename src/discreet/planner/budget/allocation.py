"""The budget of a query: which noise, how much of it, and why.

Under a pure promise the noise is discrete Laplace and epsilons add. Under (epsilon, delta) it is discrete Gaussian: the
query's epsilon is turned into the rho that converts to (epsilon, the promise's delta), and rhos add. Only a query that
asks for the whole promise may have either, because nothing can be asked after it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from discreet.accounting.filters import EPSILON_UNITS, RHO_UNITS, Budget
from discreet.errors import BudgetError, ParameterError
from discreet.exact import Number, positive, shown, sqrt_down, units_down
from discreet.mechanisms import Gaussian, Laplace
from discreet.planner.sensitivity.sensitivity import Sensitivity
from discreet.zcdp import epsilon_of

MechanismName = Literal["laplace", "gaussian"]

_LARGEST_AMOUNT = 1_000_000


@dataclass(frozen=True)
class Spending:
    """What a query may spend: a pure epsilon or a rho, and the words for it."""

    mechanism: MechanismName
    amount: Fraction
    epsilon: Fraction
    reason: str


def spending(
    budget: Budget, *, epsilon: Number | None, rho: Number | None, mechanism: MechanismName | None
) -> Spending:
    """The spending that a caller asked for, in the terms of the promise."""
    if (epsilon is None) == (rho is None):
        raise ParameterError(
            "a query without a price" if epsilon is None else "a query with two prices, epsilon and rho",
            because="a query states once what it may spend",
            instead="epsilon=0.5, or rho=0.01 under a promise with a delta",
        )
    chosen = _chosen(budget, rho, mechanism)
    if rho is not None:
        amount = Fraction(units_down(positive(rho, "rho"), RHO_UNITS), RHO_UNITS)
        return Spending(
            "gaussian", _payable(amount, "rho"), epsilon_of(amount, budget.conversion_delta), "rho was asked for"
        )
    asked = _payable(Fraction(units_down(positive(epsilon, "epsilon"), EPSILON_UNITS), EPSILON_UNITS), "epsilon")
    if chosen == "laplace":
        return Spending("laplace", asked, asked, f"{_why_laplace(budget)}, so epsilons add")
    amount = budget.rho(asked)
    why = f"the promise has delta {shown(budget.delta)}, so rhos add and many answers cost less than their epsilons"
    return Spending("gaussian", _payable(amount, "epsilon"), asked, why)


def spendings(
    budget: Budget, *, epsilon: Number | None, rho: Number | None, mechanism: MechanismName | None
) -> tuple[Spending, ...]:
    """The spending that a caller asked for, and Laplace noise beside it where that takes nothing from later queries."""
    first = spending(budget, epsilon=epsilon, rho=rho, mechanism=mechanism)
    if mechanism is not None or rho is not None or first.mechanism == "laplace" or first.epsilon < budget.epsilon:
        return (first,)
    why = "the query asks for the whole promise, and this noise is no wider for any output"
    return first, Spending("laplace", first.epsilon, first.epsilon, why)


def pure_epsilon(spent: Spending) -> Fraction:
    """The pure epsilon that a spending buys: its own, or the one half of whose square is its rho."""
    return spent.amount if spent.mechanism == "laplace" else sqrt_down(2 * spent.amount)


def largest_pure(budget: Budget, *, epsilon: Number | None, rho: Number | None) -> tuple[Spending, Fraction]:
    """The spending that a caller asked for with the largest pure epsilon that it buys, and that epsilon."""
    made = [(spent, pure_epsilon(spent)) for spent in spendings(budget, epsilon=epsilon, rho=rho, mechanism=None)]
    return max(made, key=lambda pair: pair[1])


def _why_laplace(budget: Budget) -> str:
    if budget.is_pure:
        return "the promise is pure"
    return "mechanism='laplace' was asked for" if budget.conversion_delta else "all of the promise's delta is reserved"


def mechanisms(
    spent: Spending, shares: Sequence[Fraction], sensitivities: Sequence[Sensitivity]
) -> tuple[Laplace | Gaussian, ...]:
    """The noise of each measure, from its share of the spending and its sensitivity."""
    whole = sum(shares, Fraction(0))
    return tuple(
        _noise(spent.mechanism, spent.amount * share / whole, moved)
        for share, moved in zip(shares, sensitivities, strict=True)
    )


def _noise(kind: MechanismName, amount: Fraction, moved: Sensitivity) -> Laplace | Gaussian:
    try:
        if kind == "laplace":
            return Laplace(sensitivity=moved.l1, epsilon=amount)
        return Gaussian(squared_sensitivity=moved.l2_squared, rho=amount, dimension=moved.l0)
    except ParameterError as refusal:
        raise ParameterError(
            refusal.what,
            because=refusal.because,
            instead="other bounds, caps or weights, grid=... on the aggregate, or another epsilon",
        ) from None


def _chosen(budget: Budget, rho: Number | None, mechanism: MechanismName | None) -> MechanismName:
    if mechanism not in (None, "laplace", "gaussian"):
        raise ParameterError(
            f"mechanism={mechanism!r}",
            because="tables get one of two kinds of noise",
            instead="mechanism='laplace' or mechanism='gaussian'",
        )
    wants_gaussian = rho is not None or mechanism == "gaussian"
    if wants_gaussian and mechanism == "laplace":
        raise ParameterError("rho with mechanism='laplace'", because="rho prices Gaussian noise", instead="epsilon=0.5")
    if wants_gaussian and not budget.conversion_delta:
        raise BudgetError(
            "rho under a pure promise" if rho is not None else "Gaussian noise under a pure promise",
            because="Gaussian noise has no finite epsilon without a delta",
            instead=("epsilon=0.5" if rho is not None else "mechanism='laplace'")
            + ", or budget=dp.Budget(epsilon=2, delta=1e-9) when the dataset is registered",
        )
    if wants_gaussian:
        return "gaussian"
    return mechanism or ("gaussian" if budget.conversion_delta else "laplace")


def _payable(amount: Fraction, name: str) -> Fraction:
    if amount > _LARGEST_AMOUNT:
        raise ParameterError(
            f"{name} above {_LARGEST_AMOUNT:,}", because="such a price promises nothing", instead=f"{name}=0.5"
        )
    if amount <= 0:
        raise ParameterError(
            f"{name} too small to charge",
            because="the ledger counts in units of 1e-12 for epsilon and 1e-15 for rho",
            instead=f"{name}=0.001, or larger",
        )
    return amount
