"""Total cost of charges, in the terms of every accountant whose sums hold for analysts who choose as they go.

The sums are those of the ledger, in its whole units. What is spent is rounded up and what is left is rounded down, in
numbers and in text. A total is the guarantee of a budget fixed in advance at that total. Where the total depends on the
answers, the budget itself is the guarantee; `promised_at` gives it at any delta.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from discreet.accounting.costs import DELTA_UNITS, EPSILON_UNITS, RHO_UNITS, Cost
from discreet.accounting.filters import Budget
from discreet.exact.rounding import brief_up, digits_down, digits_up, double_down, double_up
from discreet.exact.zcdp import epsilon_at_order, epsilon_of
from discreet.ledger.records.chain import Kind, State
from discreet.ledger.records.history import Entry

BY_EPSILONS = "sum of epsilons"
BY_RHO = "zCDP"
BY_RENYI = "Renyi"
BY_LOSSES = "PLD"
DIGITS = 6


@dataclass(frozen=True)
class AtDelta:
    """An epsilon at one delta and the way it was found, or no epsilon and the reason."""

    delta: Fraction
    epsilon: Fraction | None
    by: str


@dataclass(frozen=True, kw_only=True)
class SpendingTotal:
    """What some charges cost together, and how many queries, failures and rejections there were."""

    cost: Cost
    questions: int = 0
    failures: int = 0
    rejections: int = 0

    @property
    def pure(self) -> Fraction | None:
        """The sum of epsilons, where every charge is pure; else None."""
        return None if self.delta else self.epsilon

    @property
    def epsilon(self) -> Fraction | None:
        """The sum of epsilons, which holds outside the charges' own deltas; None where some charge has none."""
        return None if self.cost.epsilon is None else Fraction(self.cost.epsilon, EPSILON_UNITS)

    @property
    def rho(self) -> Fraction:
        """The sum of rhos."""
        return Fraction(self.cost.rho, RHO_UNITS)

    @property
    def renyi(self) -> Fraction:
        """The sum of Renyi divergences at the order of the budget, divided by the order."""
        return Fraction(self.cost.renyi, RHO_UNITS)

    @property
    def delta(self) -> Fraction:
        """The sum of the deltas that charges have of their own."""
        return Fraction(self.cost.delta, DELTA_UNITS)

    def at(self, delta: Fraction, order: Fraction | None = None) -> AtDelta:
        """The smallest epsilon at a delta, by the sum of epsilons, by rho or by the divergences at the budget's order.

        Own deltas are taken off.
        """
        if self.delta > delta:
            return AtDelta(delta, None, "the charges have more delta of their own")
        return _smaller(self, delta, left=delta - self.delta, order=order)

    def of_promise(self, budget: Budget) -> AtDelta:
        """What is spent in the terms of a budget: it reaches the budget's epsilon where the budget is used up."""
        if self.delta > Fraction(budget.caps().delta, DELTA_UNITS):
            return AtDelta(budget.delta, None, "the charges have more delta of their own than is reserved")
        found = _smaller(self, budget.delta, left=budget.conversion_delta, order=budget.order)
        if found.epsilon is not None and found.epsilon > budget.epsilon and budget.admits(self.cost):
            return AtDelta(found.delta, budget.epsilon, found.by)  # what the filter admits converts within its budget
        return found

    def share(self, budget: Budget) -> Fraction | None:
        """The used part of a budget, by the cap that holds longer; above 1 or None where it is exceeded."""
        caps = budget.caps()
        either = [_part(self.cost.epsilon, caps.epsilon), _part(self.cost.renyi, caps.rho)]
        by_sums, own = (
            min((part for part in either if part is not None), default=None),
            _part(self.cost.delta, caps.delta),
        )
        return None if by_sums is None or own is None else max(by_sums, own)


@dataclass(frozen=True)
class Left:
    """What one more query may ask for (`laplace`, `gaussian`), and what is left under each of the sums."""

    laplace: Fraction
    gaussian: Fraction
    epsilon: Fraction
    rho: Fraction
    delta: Fraction


class SpendingCounter:
    """Sums of charges as they are read, one entry after another."""

    def __init__(self) -> None:
        self._epsilon: int | None = 0
        self._rho = self._delta = self._renyi = 0
        self._questions = self._failures = self._rejections = 0

    def add(self, entry: Entry) -> None:
        """Count one entry of a history, of any kind."""
        cost = entry.cost
        self._epsilon = _sum(self._epsilon, cost)
        self._rho += cost.rho
        self._delta += cost.delta
        self._renyi += cost.renyi
        if entry.kind == Kind.RESERVED:
            self._questions += 1
            self._failures += entry.state == State.FORFEITED
        elif entry.kind == Kind.REJECTED:
            self._rejections += 1

    def spending(self) -> SpendingTotal:
        """What was counted so far."""
        return SpendingTotal(
            cost=Cost(self._epsilon, self._rho, self._delta, self._renyi),
            questions=self._questions,
            failures=self._failures,
            rejections=self._rejections,
        )


def left_of(budget: Budget, spent: Cost) -> Left:
    """What is left of a privacy budget after all analysts together have spent this much; never below zero."""
    caps = budget.caps()
    if spent.delta > caps.delta:
        return Left(*[Fraction(0)] * 5)
    by_epsilons = 0 if spent.epsilon is None else max(0, caps.epsilon - spent.epsilon)
    return Left(
        laplace=budget.laplace_left(spent),
        gaussian=budget.gaussian_left(spent),
        epsilon=Fraction(by_epsilons, EPSILON_UNITS),
        rho=Fraction(max(0, caps.rho - spent.renyi), RHO_UNITS),
        delta=Fraction(caps.delta - spent.delta, DELTA_UNITS),
    )


def promised_at(budget: Budget, delta: Fraction) -> Fraction | None:
    """The epsilon of the budget at another delta, for adaptive analysts; None where it has none.

    In the proof of the two filters (docs/proofs/accounting/filters.md) every transcript is held by the sum of epsilons,
    which needs no delta, or by the cap of the Renyi filter, which converts at any delta beyond the reserve at the
    order of the budget.
    """
    caps = budget.caps()
    spare = delta - Fraction(caps.delta, DELTA_UNITS)
    if spare < 0 or (spare == 0 and caps.rho):
        return None
    if delta == budget.delta or budget.order is None or not caps.rho:
        return budget.epsilon
    divergence = budget.order * Fraction(caps.rho, RHO_UNITS)
    return max(budget.epsilon, brief_up(epsilon_at_order(divergence, budget.order, spare)))


def text_up(value: Fraction | None, digits: int = DIGITS) -> str:
    """A few digits, rounded up; a dash where there is no value."""
    return _text(value, digits, digits_up)


def text_down(value: Fraction | None, digits: int = DIGITS) -> str:
    """A few digits, rounded down; a dash where there is no value."""
    return _text(value, digits, digits_down)


def plain(value: Fraction) -> dict[str, str | float]:
    """A number that was given, as JSON has it: exact as text, and the nearest double."""
    return {"exact": f"{value.numerator}/{value.denominator}", "float": float(value)}


def plain_up(value: Fraction | None) -> dict[str, str | float] | None:
    """A number of what is spent: exact, and the least double that is not below it."""
    return None if value is None else plain(value) | {"float": double_up(value)}


def plain_down(value: Fraction | None) -> dict[str, str | float] | None:
    """A number of what is left: exact, and the greatest double that is not above it."""
    return None if value is None else plain(value) | {"float": double_down(value)}


def _sum(epsilon: int | None, cost: Cost) -> int | None:
    """The sum with one more epsilon; a rho without one was recovered where the total had no finite epsilon."""
    if epsilon is None or cost.epsilon is None or (cost.rho and not cost.epsilon):
        return None
    return epsilon + cost.epsilon


def _part(spent: int | None, cap: int) -> Fraction | None:
    if spent is None or (spent and not cap):
        return None
    return Fraction(spent, cap) if spent else Fraction(0)


def _smaller(spent: SpendingTotal, delta: Fraction, *, left: Fraction, order: Fraction | None) -> AtDelta:
    ways = [] if spent.epsilon is None else [(spent.epsilon, BY_EPSILONS)]
    if left or not spent.rho:
        ways.append((brief_up(epsilon_of(spent.rho, left)), BY_RHO))
    if left and order is not None:
        ways.append((brief_up(epsilon_at_order(order * spent.renyi, order, left)), BY_RENYI))
    if not ways:
        return AtDelta(delta, None, "Gaussian noise needs a delta beyond the charges' own")
    return AtDelta(delta, *min(ways))


def _text(value: Fraction | None, digits: int, rounding: Callable[[Fraction, int], Fraction]) -> str:
    if value is None:
        return "-"
    if value.denominator == 1:
        return str(value.numerator)
    return f"{float(rounding(value, digits)):.{digits}g}"
