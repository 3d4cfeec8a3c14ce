"""Privacy costs of events and caps on their sums, in whole units of the ledger, under both filters of a budget.

Costs are rounded up and caps down. The Renyi divergence of an event is counted at one order, that of its budget, and
divided by it: then Gaussian noise costs its rho at every order, and one cap serves Gaussian and pure events.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction

from discreet import events
from discreet.accounting.prices import total
from discreet.accounting.renyi import divergence_over_order
from discreet.errors import public_class, short_traceback
from discreet.exact.rounding import units_up

EPSILON_UNITS = 10**12
RHO_UNITS = 10**15
DELTA_UNITS = 10**18

LARGEST_UNITS = 2**63 - 1


@public_class
@dataclass(frozen=True)
class Cost:
    """Privacy cost of events under both filters, in whole units of the ledger.

    Attributes:
        epsilon: Units of 1e-12, or None where no finite epsilon exists.
        rho: Units of 1e-15.
        delta: Units of 1e-18.
        renyi: Renyi divergence at the order of the budget, divided by the order, in units of 1e-15; at most rho.

    Example:
        >>> import discreet as dp
        >>> dp.accounting.costs.cost(dp.events.PureEvent(0.5)).epsilon
        500000000000
    """

    epsilon: int | None
    rho: int
    delta: int
    renyi: int

    def __add__(self, other: "Cost") -> "Cost":
        unbounded = self.epsilon is None or other.epsilon is None
        epsilon = None if unbounded else (self.epsilon or 0) + (other.epsilon or 0)
        return Cost(epsilon, self.rho + other.rho, self.delta + other.delta, self.renyi + other.renyi)

    @property
    def at_any_order(self) -> "Cost":
        """The cost by its rho, which bounds the divergence of every order; neither is lowered."""
        most = max(self.rho, self.renyi)
        return replace(self, rho=most, renyi=most)

    def units(self) -> list[int | None]:
        """The cost as the ledger writes it: epsilon, rho, delta, and then renyi where it is not rho.

        Returns:
            Three numbers or four.
        """
        return [self.epsilon, self.rho, self.delta, *([] if self.renyi == self.rho else [self.renyi])]

    @classmethod
    def of_units(cls, epsilon: int | None, rho: int, delta: int, renyi: int | None = None) -> "Cost":
        """The cost that `units` wrote; ledgers before the Renyi filter have three numbers.

        Args:
            epsilon: Units of 1e-12, or None.
            rho: Units of 1e-15.
            delta: Units of 1e-18.
            renyi: Units of 1e-15. Default: rho.

        Returns:
            The cost.
        """
        return cls(epsilon, rho, delta, rho if renyi is None else renyi)


NOTHING = Cost(0, 0, 0, 0)


@public_class
@dataclass(frozen=True)
class FilterCaps:
    """Caps of both filters, in whole units of the ledger: delta always, and with it either epsilon or rho.

    The cap on rho is that of the Renyi filter: it bounds divergences at the order of the budget, divided by the order.

    Attributes:
        epsilon: Units of 1e-12.
        rho: Units of 1e-15.
        delta: Units of 1e-18.

    Example:
        >>> import discreet as dp
        >>> dp.Budget(epsilon=2).caps().epsilon
        2000000000000
    """

    epsilon: int
    rho: int
    delta: int

    def least(self, other: "FilterCaps") -> "FilterCaps":
        """The smaller cap of two under each filter.

        Args:
            other: Other caps.

        Returns:
            Caps on epsilon, rho and delta.
        """
        return FilterCaps(min(self.epsilon, other.epsilon), min(self.rho, other.rho), min(self.delta, other.delta))

    def units(self) -> list[int]:
        """The caps as the ledger writes them.

        Returns:
            Units of epsilon, rho and delta.
        """
        return [self.epsilon, self.rho, self.delta]

    def admit(self, spent: Cost) -> bool:
        """Whether either filter holds after a total spending.

        Args:
            spent: Total cost of all events.

        Returns:
            Whether the cost is within the caps.
        """
        by_epsilon = spent.epsilon is not None and spent.epsilon <= self.epsilon
        return spent.delta <= self.delta and (by_epsilon or spent.renyi <= self.rho)


@short_traceback
def cost(event: events.Event, order: Fraction | None = None) -> Cost:
    """Privacy cost of an event under both filters, rounded up to whole units of the ledger.

    Args:
        event: The event.
        order: Order of the Renyi filter, that of a budget. Default: none, and `renyi` is rho.

    Returns:
        The cost in units of epsilon, rho and delta, and of the Renyi divergence at the order.

    Raises:
        AccountingError: If it is not an event that the filters know.

    Example:
        >>> import discreet as dp
        >>> dp.accounting.costs.cost(dp.events.PureEvent(0.5)).rho
        125000000000000
    """
    exact = total(event)
    return Cost(
        None if exact.epsilon is None else units_up(exact.epsilon, EPSILON_UNITS),
        units_up(exact.rho, RHO_UNITS),
        units_up(exact.delta, DELTA_UNITS),
        units_up(exact.rho if order is None else divergence_over_order(event, order), RHO_UNITS),
    )


@short_traceback
def total_cost(costs: Iterable[Cost]) -> Cost:
    """The sum of costs of events; without a finite epsilon where one of them has none.

    Args:
        costs: The costs.

    Returns:
        Their sum in each component.

    Example:
        >>> import discreet as dp
        >>> half = dp.accounting.costs.cost(dp.events.PureEvent(0.5))
        >>> dp.accounting.costs.total_cost([half, half]).epsilon
        1000000000000
    """
    return sum(costs, NOTHING)


@short_traceback
def restate(spent: Cost, before: Fraction | None, after: Fraction | None) -> Cost:
    """What was spent at one order of the Renyi filter, in the terms of another; never less than it was.

    Divergences do not fall with the order, so those of a lower order are at most those that were counted. At a higher
    order, or where no order was fixed before, rho bounds them.

    Args:
        spent: Total cost at the order before.
        before: The order before, or None.
        after: The order after, or None.

    Returns:
        The total cost at the order after.

    Example:
        >>> import discreet as dp
        >>> one, two = dp.Budget(epsilon=1, delta=1e-6), dp.Budget(epsilon=2, delta=1e-6)
        >>> spent = one.cost(dp.events.PureEvent(0.1))
        >>> spent.renyi <= dp.accounting.costs.restate(spent, one.order, two.order).renyi <= spent.rho
        True
    """
    if before is None or after is None or after > before:
        return spent.at_any_order
    return replace(spent, renyi=min(spent.rho, math.ceil(spent.renyi * before / after)))
