"""The privacy parameters of a call, as they were given: what a query may spend, and the noise that was asked for."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.accounting.costs import EPSILON_UNITS, RHO_UNITS
from discreet.accounting.filters import Budget
from discreet.exact.numbers import Number, positive, rational
from discreet.exact.rounding import units_down
from discreet.mechanisms import additive_noise
from discreet.mechanisms.additive import Tag


@dataclass(frozen=True)
class Price:
    """The privacy parameters and the override of a call, as they were given."""

    epsilon: Number | None = None
    rho: Number | None = None
    delta: Number | None = None
    mechanism: Tag | None = None
    share: Fraction = Fraction(1)
    """The share of this cost that one query of a batch gets."""

    @property
    def arguments(self) -> dict[str, Any]:
        """What the analyses of single queries take."""
        return {"epsilon": self.epsilon, "rho": self.rho, "mechanism": self.mechanism, "share": self.share}

    def canonical_parts(self, budget: Budget, *, is_converted: bool = True) -> dict[str, object]:
        """Amounts in whole units of the ledger, and the delta at which an epsilon is converted where that matters.

        A rho, an epsilon with noise of a pure cost, and a batch with a delta of its own mean the same under
        every privacy budget.
        """
        noise = None if self.mechanism is None else additive_noise(self.mechanism)
        is_pure = noise is not None and noise.cost == "epsilon"
        matters = is_converted and self.epsilon is not None and not is_pure
        return {
            "epsilon": _units(self.epsilon, "epsilon", EPSILON_UNITS),
            "rho": _units(self.rho, "rho", RHO_UNITS),
            "delta": None if self.delta is None else rational(self.delta, "delta"),
            "mechanism": self.mechanism,
            "converted at": budget.conversion_delta if matters else None,
        }


def _units(amount: Number | None, name: str, units: int) -> Fraction | None:
    """An amount as it is charged: down to a whole unit of the ledger."""
    return None if amount is None else Fraction(units_down(positive(amount, name), units), units)
