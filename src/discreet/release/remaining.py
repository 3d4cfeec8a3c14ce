"""What is left of a budget and of an analyst's quota, with whom the budget protects and over what."""

import html
from dataclasses import dataclass, replace
from fractions import Fraction

from discreet.accounting.costs import Cost
from discreet.accounting.filters import Budget, readable
from discreet.catalog.privacy_unit import Unit
from discreet.catalog.time_slice import Slice
from discreet.errors import public_class
from discreet.exact.numbers import shown
from discreet.exact.rounding import shown_up
from discreet.release.guarantee import Guarantee


class _EpsilonLeft(Fraction):
    """An exact epsilon that prints as a decimal, rounded down: what is printed fits when it is asked for."""

    __slots__ = ()

    def __str__(self) -> str:
        return shown(self if self.denominator == 1 else readable(self))

    __repr__ = __str__

    def __format__(self, form: str) -> str:
        return format(float(self), form) if form else str(self)


@public_class
@dataclass(frozen=True)
class Remaining:
    """What is left of a budget, and of the quota of the analyst. `float()` of it is the epsilon that is left.

    Attributes:
        dataset: Name of the dataset.
        epsilon: Largest epsilon that one more query could ask for: a `Fraction` that prints as a decimal, as all here.
        budget: The budget.
        unit: The privacy unit.
        slice: The time slice that the budget is for, or None.
        analyst: Name of the analyst.
        quota: Quota of the analyst, or None.
        quota_epsilon: Epsilon that is left of the quota, or None.
        available: Epsilon that the analyst can spend: the smaller of the two, or None without a quota.
        pure_epsilon: Largest epsilon of one more pure result, as with Laplace noise; None where that is `epsilon`.
        earlier: Budgets that were replaced after something was charged under them.

    Example:
        >>> import discreet as dp
        >>> facts = {"name": "visits", "privacy_unit": "patient_id", "max_rows": 10}
        >>> session = dp.testing.protect(dp.datasets.visits(100), **facts, budget=dp.Budget(epsilon=2))
        >>> session.remaining().epsilon
        2
    """

    dataset: str
    epsilon: Fraction
    budget: Budget
    unit: Unit
    slice: Slice | None = None
    analyst: str = ""
    quota: Budget | None = None
    quota_epsilon: Fraction | None = None
    available: Fraction | None = None
    pure_epsilon: Fraction | None = None
    earlier: tuple[Budget, ...] = ()

    def __post_init__(self) -> None:
        for name in ("epsilon", "quota_epsilon", "available", "pure_epsilon"):
            if (value := getattr(self, name)) is not None:
                object.__setattr__(self, name, _EpsilonLeft(value))

    def __str__(self) -> str:
        pure = "" if self.pure_epsilon is None else f" (pure epsilon {self.pure_epsilon})"
        return (
            f"epsilon {self.epsilon} left{pure} of {self.budget}, for {self.unit}, "
            f"over every query ever asked of {self.dataset!r}{self._rows()}{self._quota()}{self._over_all_budgets()}"
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"

    def __float__(self) -> float:
        return float(self.epsilon if self.available is None else self.available)

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee over every query ever asked, also under budgets that were replaced."""
        every = (*self.earlier, self.budget)
        epsilon, delta = max(each.epsilon for each in every), sum((each.delta for each in every), Fraction(0))
        return Guarantee(epsilon, delta, self.unit, f"every query ever asked of {self.dataset!r}{self._rows()}")

    def _rows(self) -> str:
        return "" if self.slice is None else f", {self.slice.statement(self.unit)}"

    def _over_all_budgets(self) -> str:
        """The guarantee of all answers where a budget was replaced by another."""
        if not self.earlier:
            return ""
        epsilon, delta = self.guarantee.epsilon, self.guarantee.delta
        stated = f"epsilon {shown_up(epsilon)}" + (f", delta {shown_up(delta)}" if delta else "")
        earlier = "the earlier budget" if len(self.earlier) == 1 else f"{len(self.earlier)} earlier budgets"
        return f"; over {earlier} and this one, all answers have {stated}"

    def _quota(self) -> str:
        if self.quota_epsilon is None:
            return ""
        return f"; epsilon {self.quota_epsilon} left of the quota of {self.analyst!r}, {self.quota}"


def remaining_of_analyst(known: Remaining, spent: Cost, analyst: str, quota: Budget | None, used: Cost) -> Remaining:
    """What remains for an analyst with a quota, after the part that is used."""
    if quota is None:
        return known
    noises = (
        (known.budget.laplace_left(spent), quota.laplace_left(used)),
        (known.budget.gaussian_left(spent), quota.gaussian_left(used)),
    )
    return replace(
        known,
        analyst=analyst,
        quota=quota,
        quota_epsilon=quota.epsilon_left(used),
        available=max(min(pair) for pair in noises),
    )
