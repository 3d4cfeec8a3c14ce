"""The privacy cost of a query: which noise, how much of it, and why.

Under a pure privacy budget the noise is discrete Laplace and epsilons add. Under (epsilon, delta) it is discrete
Gaussian: the query's epsilon is turned into the rho that converts to (epsilon, the privacy budget's delta), and rhos
add. Only a query that asks for the whole privacy budget may have either, because nothing can be asked after it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from discreet import events
from discreet.accounting.costs import EPSILON_UNITS, RHO_UNITS
from discreet.accounting.filters import Budget
from discreet.errors import BudgetError, ParameterError
from discreet.exact import Number, positive, shown
from discreet.mechanisms import NOISES, AdditiveNoise, Gaussian, Laplace, additive_noise
from discreet.mechanisms.additive import Tag as MechanismName
from discreet.planner.sensitivity.sensitivity import Sensitivity
from discreet.rounding import sqrt_down, units_down
from discreet.zcdp import epsilon_of

__all__ = ["MechanismName", "Spending", "largest_pure", "mechanisms", "require_sum_bounds", "spending", "spendings"]

_LARGEST_AMOUNT = 1_000_000


@dataclass(frozen=True)
class Spending:
    """What a query may spend: an amount of the cost that its noise composes in, and the guarantee that it stands for.

    Attributes:
        noise: The kind of additive noise, which decides whether the amount is a pure epsilon or a rho.
        amount: The privacy cost.
        epsilon: The epsilon of the guarantee.
        delta: The delta at which a rho is converted to that epsilon; 0 for a pure epsilon.
        reason: Why this noise, for explanations.
    """

    noise: type[AdditiveNoise]
    amount: Fraction
    epsilon: Fraction
    delta: Fraction
    reason: str

    @property
    def is_pure(self) -> bool:
        """Whether the amount is a pure epsilon, and not a rho."""
        return self.noise.cost == "epsilon"

    @property
    def units(self) -> int:
        """How many units of the ledger one of the amount is."""
        return EPSILON_UNITS if self.is_pure else RHO_UNITS

    @property
    def event(self) -> events.Event:
        """Any mechanism that costs the amount."""
        return events.PureEvent(self.amount) if self.is_pure else events.ConcentratedEvent(self.amount)

    @property
    def pure_epsilon(self) -> Fraction:
        """The pure epsilon that the amount buys: itself, or the one half of whose square is the rho."""
        return self.amount if self.is_pure else sqrt_down(2 * self.amount)

    @property
    def rho(self) -> Fraction:
        """The rho that the amount buys: itself, or half of the square of the epsilon."""
        return self.amount**2 / 2 if self.is_pure else self.amount

    def selection_epsilon(self, count: int = 1) -> Fraction:
        """The epsilon of so many selections of bounded range: the rho of each is an eighth of its square."""
        return self.amount if self.is_pure else count * sqrt_down(8 * self.amount / count)

    def part(self, share: Fraction) -> "Spending":
        """A share of the amount."""
        return replace(self, amount=self.amount * share)


def spending(
    budget: Budget, *, epsilon: Number | None, rho: Number | None, mechanism: MechanismName | None
) -> Spending:
    """The spending that a caller asked for, in the terms of the privacy budget."""
    if (epsilon is None) == (rho is None):
        raise ParameterError(
            "a query without epsilon or rho" if epsilon is None else "a query with both epsilon and rho",
            because="a query states once what it may spend",
            instead="epsilon=0.5, or rho=0.01 under a privacy budget with a delta",
        )
    chosen = _noise_kind(budget, rho, mechanism)
    if rho is not None:
        amount = Fraction(units_down(positive(rho, "rho"), RHO_UNITS), RHO_UNITS)
        reached = epsilon_of(_payable(amount, "rho"), budget.conversion_delta)
        return Spending(chosen, amount, reached, budget.conversion_delta, "rho was asked for")
    asked = _payable(Fraction(units_down(positive(epsilon, "epsilon"), EPSILON_UNITS), EPSILON_UNITS), "epsilon")
    if chosen.cost == "epsilon":
        return Spending(chosen, asked, asked, Fraction(0), f"{_why_pure(budget, chosen)}, so epsilons add")
    amount = budget.rho(asked)
    delta = shown(budget.delta)
    why = f"the privacy budget has delta {delta}, so rhos add and many answers cost less than their epsilons"
    return Spending(chosen, _payable(amount, "epsilon"), asked, budget.conversion_delta, why)


def spendings(
    budget: Budget, *, epsilon: Number | None, rho: Number | None, mechanism: MechanismName | None
) -> tuple[Spending, ...]:
    """The spending that a caller asked for, and Laplace noise beside it where that takes nothing from later queries."""
    first = spending(budget, epsilon=epsilon, rho=rho, mechanism=mechanism)
    if mechanism is not None or rho is not None or first.is_pure or first.epsilon < budget.epsilon:
        return (first,)
    why = "the query asks for the whole privacy budget, and this noise is no wider for any output"
    return first, Spending(Laplace, first.epsilon, first.epsilon, Fraction(0), why)


def largest_pure(budget: Budget, *, epsilon: Number | None, rho: Number | None) -> tuple[Spending, Fraction]:
    """The spending that a caller asked for with the largest pure epsilon that it buys, and that epsilon."""
    found = max(spendings(budget, epsilon=epsilon, rho=rho, mechanism=None), key=lambda spent: spent.pure_epsilon)
    return found, found.pure_epsilon


def require_sum_bounds(spent: Sequence[Spending], what: str) -> None:
    """Refuse noise without a proved bound on weighted sums, where answers are such sums."""
    for one in spent:
        if not one.noise.bounds_sums:
            raise ParameterError(
                f"mechanism={one.noise.tag!r} for {what}",
                because=f"no confidence interval is proved for weighted sums of {one.noise.name} noise",
                instead="mechanism='laplace'",
            )


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
    return tuple(
        _noise(spent.noise, spent.amount * share / whole, moved)
        for share, moved in zip(shares, sensitivities, strict=True)
    )


def _noise(kind: type[AdditiveNoise], amount: Fraction, moved: Sensitivity) -> AdditiveNoise:
    try:
        return kind.calibrate(moved, amount)
    except ParameterError as refusal:
        raise ParameterError(
            refusal.what,
            because=refusal.because,
            instead="other bounds, contribution bounds or weights, grid=... on the aggregate, or another epsilon",
        ) from None


def _noise_kind(budget: Budget, rho: Number | None, mechanism: MechanismName | None) -> type[AdditiveNoise]:
    """The noise that was asked for, or the one whose cost composes in the terms of the privacy budget."""
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
    return asked or (Gaussian if budget.conversion_delta else Laplace)


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
