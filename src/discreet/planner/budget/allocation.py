"""The privacy cost of a query, in the terms of its privacy budget, and the noise that it buys.

Under a pure privacy budget epsilons add. Under (epsilon, delta) a query's epsilon is turned into the rho that converts
to (epsilon, the privacy budget's delta); every noise that is considered costs that rho at the order of the budget's
Renyi filter, and at the order at which the query's own guarantee is stated (`least_margin`). Only a query that asks for
the whole privacy budget may have pure noise of all its epsilon, because nothing can be asked after it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from discreet.accounting.costs import EPSILON_UNITS, RHO_UNITS
from discreet.accounting.filters import Budget
from discreet.accounting.renyi_inverse import bounded_range_epsilon, pure_epsilon
from discreet.errors import BudgetError, ParameterError
from discreet.exact.numbers import Number, positive, shown
from discreet.exact.rounding import units_down
from discreet.exact.zcdp import conversion_order, epsilon_of, epsilon_order
from discreet.mechanisms import NOISES, AdditiveNoise, Gaussian, Laplace, additive_noise
from discreet.mechanisms.additive import Tag as MechanismName
from discreet.planner.budget.least_margin import PURE, UNDER_DELTA, Kinds, Orders, least_margin
from discreet.planner.sensitivity.sensitivity import Sensitivity

__all__ = [
    "MechanismName",
    "Spending",
    "largest_pure",
    "mechanisms",
    "of_one_kind",
    "spending",
    "spendings",
]

_LARGEST_AMOUNT = 1_000_000
_WAS_ASKED = "mechanism='gaussian' was asked for, so rhos add"


@dataclass(frozen=True)
class Spending:
    """What a query may spend: an amount of the cost that is charged, and the guarantee that it stands for.

    Attributes:
        kinds: The kinds of additive noise to take the narrowest of; budgets are divided as the first one needs it.
        amount: The privacy cost: a rho at the orders; without any, an epsilon or a rho as the first kind has it.
        epsilon: The epsilon of the guarantee.
        delta: The delta at which a rho is converted to that epsilon; 0 for a pure epsilon.
        reason: Why these kinds of noise, for explanations.
        orders: The orders at which a rho bounds Renyi divergences: that of the privacy budget, and that at which the
            guarantee of the query itself is converted. None where the rho was asked for: it holds at every order.
    """

    kinds: Kinds
    amount: Fraction
    epsilon: Fraction
    delta: Fraction
    reason: str
    orders: Orders = ()

    @property
    def is_pure(self) -> bool:
        """Whether the amount is a pure epsilon, and not a rho."""
        return self.kind.cost == "epsilon" and not self.orders

    @property
    def kind(self) -> type[AdditiveNoise]:
        """The noise that budgets are divided by."""
        return self.kinds[0]

    @property
    def units(self) -> int:
        """How many units of the ledger one of the amount is."""
        return EPSILON_UNITS if self.is_pure else RHO_UNITS

    @property
    def pure_epsilon(self) -> Fraction:
        """The pure epsilon that the amount buys, of any mechanism; never above the epsilon of the guarantee."""
        return self.amount if self.is_pure else min(self.epsilon, pure_epsilon(self.amount, self.orders))

    def selection_epsilon(self, count: int = 1) -> Fraction:
        """The epsilon of so many selections of bounded range that the amount buys."""
        return self.amount if self.is_pure else count * bounded_range_epsilon(self.amount / count, self.orders)

    @property
    def as_pure(self) -> "Spending":
        """The same cost spent on Laplace noise whose epsilons add up to the pure epsilon that it buys.

        In parts it costs no more: for a share s, the divergence of s epsilon is at most s times that of epsilon
        (docs/proofs/planner/budget/least_margin.md).
        """
        return replace(self, kinds=(Laplace,), amount=self.pure_epsilon, orders=())

    def only(self, kind: type[AdditiveNoise]) -> "Spending":
        """The same cost for one kind of noise."""
        return replace(self, kinds=(kind,))

    def part(self, share: Fraction) -> "Spending":
        """A share of the amount."""
        return replace(self, amount=self.amount * share)

    def noise(self, moved: Sensitivity) -> AdditiveNoise:
        """The narrowest noise for integers of a sensitivity that costs the amount."""
        return least_margin(self.kinds, moved, self.amount, self.orders)


def spending(
    budget: Budget,
    *,
    epsilon: Number | None,
    rho: Number | None,
    mechanism: MechanismName | None,
    share: Fraction = Fraction(1),
) -> Spending:
    """The spending that a caller asked for, in the terms of the privacy budget; of a batch, the share of one query."""
    if (epsilon is None) == (rho is None):
        raise ParameterError(
            "a query without epsilon or rho" if epsilon is None else "a query with both epsilon and rho",
            because="a query states once what it may spend",
            instead="epsilon=0.5, or rho=0.01 under a privacy budget with a delta",
        )
    kinds, delta = _kinds(budget, rho, mechanism), budget.conversion_delta
    if rho is not None:
        amount = _payable(Fraction(units_down(positive(rho, "rho"), RHO_UNITS), RHO_UNITS), "rho")
        return _share(Spending(kinds, amount, epsilon_of(amount, delta), delta, "rho was asked for"), share)
    asked = _payable(Fraction(units_down(positive(epsilon, "epsilon"), EPSILON_UNITS), EPSILON_UNITS), "epsilon")
    if kinds[0].cost == "epsilon":
        why = f"{_why_pure(budget, kinds[0])}, so epsilons add"
        return _share(Spending(kinds, asked, asked, Fraction(0), why), share)
    amount = _payable(budget.rho(asked), "epsilon")
    why = _WAS_ASKED if mechanism else f"the privacy budget has delta {shown(budget.delta)}, so costs at its order add"
    orders = _orders(budget, conversion_order(asked, delta))
    return _share(Spending(kinds, amount, asked, delta, why, orders), share)


def gaussian_spending(what: str, budget: Budget, **price: Any) -> Spending:
    """The spending of what has Gaussian noise alone, such as "a model"; a pure budget has nothing for it."""
    if not budget.conversion_delta:
        raise BudgetError(
            f"{what} under a pure privacy budget",
            because="its Gaussian noise has no finite epsilon without a delta",
            instead="budget=dp.Budget(epsilon=2, delta=1e-9) in dp.protect",
        )
    return spending(budget, mechanism="gaussian", **price)


def spendings(
    budget: Budget,
    *,
    epsilon: Number | None,
    rho: Number | None,
    mechanism: MechanismName | None,
    share: Fraction = Fraction(1),
) -> tuple[Spending, ...]:
    """The spending that a caller asked for, and pure noise of its epsilon where that takes nothing from others."""
    first = spending(budget, epsilon=epsilon, rho=rho, mechanism=mechanism, share=share)
    is_whole = share == 1 and first.epsilon >= budget.epsilon
    if mechanism is not None or rho is not None or first.is_pure or not is_whole:
        return (first,)
    why = "the query asks for the whole privacy budget, and this noise is no wider for any output"
    return first, Spending(PURE, first.epsilon, first.epsilon, Fraction(0), why)


def of_one_kind(
    what: str,
    budget: Budget,
    *,
    epsilon: Number | None,
    rho: Number | None,
    mechanism: MechanismName | None,
    share: Fraction = Fraction(1),
) -> tuple[Spending, ...]:
    """The same with one kind of noise each, for answers that are sums of many noisy integers: `what` they are."""
    asked = spendings(budget, epsilon=epsilon, rho=rho, mechanism=mechanism, share=share)
    found = tuple(spent.only(kind) for spent in asked for kind in spent.kinds if kind.bounds_sums)
    if not found:  # the noise that was asked for is the only one
        noise = asked[0].kind
        raise ParameterError(
            f"mechanism={noise.tag!r} for {what}",
            because=f"no confidence interval is proved for weighted sums of {noise.name} noise",
            instead="mechanism='laplace'",
        )
    return found


def largest_pure(
    budget: Budget, *, epsilon: Number | None, rho: Number | None, share: Fraction = Fraction(1)
) -> tuple[Spending, Fraction]:
    """The spending that a caller asked for with the largest pure epsilon that it buys, and that epsilon."""
    asked = spendings(budget, epsilon=epsilon, rho=rho, mechanism=None, share=share)
    found = max(asked, key=lambda spent: spent.pure_epsilon)
    return found, found.pure_epsilon


def _share(spent: Spending, share: Fraction) -> Spending:
    """A share of a spending, in whole units of the ledger, with the guarantee of the share by itself."""
    if share == 1:
        return spent
    units = units_down(spent.amount * share, spent.units)
    amount = _payable(Fraction(units, spent.units), "epsilon" if spent.is_pure else "rho")
    if spent.is_pure:
        return replace(spent, amount=amount, epsilon=amount)
    orders = (*spent.orders, epsilon_order(amount, spent.delta)) if spent.orders else ()
    return replace(spent, amount=amount, epsilon=epsilon_of(amount, spent.delta), orders=orders)


def _orders(budget: Budget, own: Fraction) -> Orders:
    """The order that the budget charges at, and the one at which (epsilon, delta) follows for the query by itself."""
    assert budget.order is not None  # noqa: S101 - a rho has a delta to be converted at
    return tuple(dict.fromkeys((budget.order, own)))


def _why_pure(budget: Budget, noise: type[AdditiveNoise]) -> str:
    if budget.is_pure:
        return "the privacy budget is pure"
    return (
        f"mechanism={noise.tag!r} was asked for"
        if budget.conversion_delta
        else "all of the privacy budget's delta is reserved"
    )


def mechanisms(
    spent: Spending, shares: Sequence[Fraction], sensitivities: Sequence[Sensitivity]
) -> tuple[AdditiveNoise, ...]:
    """The noise of each measure, from its share of the spending and its sensitivity."""
    whole = sum(shares, Fraction(0))
    return tuple(_noise(spent.part(share / whole), moved) for share, moved in zip(shares, sensitivities, strict=True))


def _noise(spent: Spending, moved: Sensitivity) -> AdditiveNoise:
    try:
        return spent.noise(moved)
    except ParameterError as refusal:
        raise ParameterError(
            refusal.what,
            because=refusal.because,
            instead="other bounds, contribution bounds or weights, grid=... on the aggregate, or another epsilon",
        ) from None


def _kinds(budget: Budget, rho: Number | None, mechanism: MechanismName | None) -> Kinds:
    """The noise that was asked for, or the candidates of which the narrowest is taken."""
    tags = [noise.tag for noise in NOISES]
    if mechanism is not None and mechanism not in tags:
        raise ParameterError(
            f"mechanism={mechanism!r}",
            because=f"tables get one of {len(tags)} kinds of noise",
            instead=" or ".join(f"mechanism={tag!r}" for tag in tags),
        )
    asked = None if mechanism is None else additive_noise(mechanism)
    if rho is not None and asked is not None and asked.cost != "rho":
        raise ParameterError(
            f"rho with mechanism={mechanism!r}",
            because="rho is for Gaussian noise",
            instead="epsilon=0.5",
        )
    needs_delta = rho is not None or (asked is not None and asked.cost == "rho")
    if needs_delta and not budget.conversion_delta:
        raise BudgetError(
            "rho under a pure privacy budget" if rho is not None else "Gaussian noise under a pure privacy budget",
            because="Gaussian noise has no finite epsilon without a delta",
            instead=("epsilon=0.5" if rho is not None else "mechanism='laplace'")
            + ", or budget=dp.Budget(epsilon=2, delta=1e-9) when the dataset is registered",
        )
    if asked is not None or rho is not None:
        return (asked or Gaussian,)
    return UNDER_DELTA if budget.conversion_delta else PURE


def _payable(amount: Fraction, name: str) -> Fraction:
    if amount > _LARGEST_AMOUNT:
        raise ParameterError(
            f"{name} above {_LARGEST_AMOUNT:,}", because="such a guarantee protects nobody", instead=f"{name}=0.5"
        )
    if amount <= 0:
        raise ParameterError(
            f"{name} too small to charge",
            because="the ledger counts in units of 1e-12 for epsilon and 1e-15 for rho",
            instead=f"{name}=0.001, or larger",
        )
    return amount
