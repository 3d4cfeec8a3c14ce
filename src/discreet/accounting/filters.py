"""Privacy filters: the privacy budget over all queries ever asked, enforced by two filters.

Definition
    A privacy budget of (epsilon, delta) divides its delta once and for all, before the first answer: `reserved_delta`
    (a tenth of delta, unless the owner says otherwise) is for events that have a delta of their own, such as
    thresholds; the rest, with epsilon, fixes an order alpha > 1 and the rho that converts to (epsilon, the rest) at
    that order. It admits a sequence of events while their own deltas sum to at most the reserve, and *either* their
    epsilons sum to at most epsilon, *or* their Renyi divergences of order alpha, each divided by alpha, sum to at most
    that rho. For Gaussian noise this quotient is its rho; for other events it is at most their rho.
Guarantee
    All answers together are (epsilon, delta)-differentially private for analysts who choose each query after seeing
    the answers to earlier ones. The two filters share one delta: answers that the first admits need no conversion.
    Where a budget replaces another, the largest epsilon holds with the sum of the deltas.
Exactness
    The ledger stores whole units; costs are rounded up, caps down. The conversion is the tight one, rounded down. The
    order is an exact rational, chosen by floats; any order is valid.
Not covered
    A division of delta that depends on what was spent: an analyst who asks for more rho after informative answers,
    and for thresholds elsewhere, reaches 1.2 delta (tests/accounting/test_filters.py shows it). Accounting by
    privacy-loss distributions, which is not valid for analysts who choose as they go.
References
    Whitehouse, Ramdas, Rogers and Wu, Fully-Adaptive Composition in Differential Privacy, ICML 2023, Theorem 1.
    Feldman and Zrnic, Individual Privacy Accounting via a Renyi Filter, NeurIPS 2021, Theorem 4.3.
    Rogers, Roth, Ullman and Vadhan, Privacy Odometers and Filters, NeurIPS 2016.
    The proof for exactly this pair of filters is docs/proofs/accounting/filters.md.
"""

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, ClassVar

from discreet import events
from discreet.accounting.costs import DELTA_UNITS, EPSILON_UNITS, RHO_UNITS, Cost, FilterCaps, cost
from discreet.accounting.renyi_inverse import coin, near
from discreet.errors import BudgetError, ParameterError, public_class, short_traceback
from discreet.exact.numbers import Number, positive, probability, shown, whole
from discreet.exact.rounding import digits_down, last_digit, units_down, units_up
from discreet.exact.zcdp import conversion_order, epsilon_of, rho_of

CEILING = Fraction(10)
DEFAULT_RESERVE = Fraction(1, 10)
LARGEST_EPSILON = 1_000
UNDECLARED_POPULATION = 10**6
READABLE_DIGITS = 6
LONGEST_REASON = 2_000


@public_class
@dataclass(frozen=True, kw_only=True, eq=False)
class Budget:
    """Bound on the privacy loss of all answers ever given from a dataset, for one privacy unit.

    An epsilon above the ceiling needs a reason, which the ledger records. `reserved_delta` may not change while the
    budget is in force.

    Args:
        epsilon: Bound on the total epsilon, from 1e-12 to 1,000.
        delta: Bound on the total delta; 0 is pure differential privacy. Default 0.
        reserved_delta: Part of delta for events with a delta of their own, such as thresholds; 0 reserves nothing.
            Default: as the ledger has it, and a tenth of delta for a new dataset.
        ceiling: Largest epsilon without a reason. Default 10.
        reason: Reason for an epsilon above the ceiling, in one line. Default: none.

    Raises:
        BudgetError: If epsilon is above the ceiling without a reason, or cannot be counted by the ledger.
        ParameterError: If an argument is not a number in its range, or the reason is not one line of text.

    Example:
        >>> import discreet as dp
        >>> dp.Budget(epsilon=2, delta=1e-9)
        Budget(epsilon=2, delta=1e-09)
        >>> dp.Budget(epsilon=2, delta=1e-9).reserve == dp.Budget(epsilon=2, delta=1e-9, reserved_delta=1e-10).reserve
        True
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    reserved_delta: Fraction | None = None
    ceiling: Fraction = CEILING
    reason: str | None = None
    _stored_order: ClassVar[Fraction | None] = None

    def __init__(
        self,
        *,
        epsilon: Number,
        delta: Number = 0,
        reserved_delta: Number | None = None,
        ceiling: Number = CEILING,
        reason: str | None = None,
    ) -> None:
        object.__setattr__(self, "epsilon", positive(epsilon, "epsilon"))
        object.__setattr__(self, "delta", probability(delta, "delta"))
        reserved = None if reserved_delta is None else probability(reserved_delta, "reserved_delta")
        object.__setattr__(self, "reserved_delta", reserved)
        object.__setattr__(self, "ceiling", positive(ceiling, "ceiling"))
        object.__setattr__(self, "reason", _check_printable(reason))
        self._refuse_beyond_the_ceiling()
        self._refuse_what_the_ledger_cannot_hold()
        self._refuse_a_reserve_beyond_delta()

    @property
    def is_pure(self) -> bool:
        """Whether the budget has no delta."""
        return self.delta == 0

    @property
    def reserve(self) -> Fraction:
        """The part of delta for events with a delta of their own: as stated, or a tenth as for a new dataset."""
        return self.delta * DEFAULT_RESERVE if self.reserved_delta is None else self.reserved_delta

    @property
    def conversion_delta(self) -> Fraction:
        """The part of delta at which rho is converted."""
        return self.delta - self.reserve

    @property
    def order(self) -> Fraction | None:
        """The order of the Renyi filter: as a ledger stored it, or that at which rho is converted; None without one."""
        if self._stored_order is not None:
            return self._stored_order
        return conversion_order(self.epsilon, self.conversion_delta) if self.conversion_delta else None

    def cost(self, event: events.Event) -> Cost:
        """Privacy cost of an event under this budget, rounded up to whole units of the ledger.

        Args:
            event: The event.

        Returns:
            The cost in units of epsilon, rho and delta, and of the Renyi divergence at the order of the budget.

        Raises:
            AccountingError: If it is not an event that the filters know.
        """
        return cost(event, self.order)

    def at_order(self, order: Fraction | None) -> "Budget":
        """The same budget with the order that a ledger stored for it.

        Args:
            order: The order. None: the order that the budget gives by itself.

        Returns:
            A budget, equal to this one.
        """
        same = Budget(**self.arguments)
        object.__setattr__(same, "_stored_order", order)
        return same

    @property
    def arguments(self) -> dict[str, Any]:
        """What `dp.Budget` takes to make an equal budget."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def reserving(self, reserve: Number) -> "Budget":
        """The same budget with a part of delta reserved, unless it states its own.

        Args:
            reserve: The reserved part of delta.

        Returns:
            A budget.

        Raises:
            BudgetError: If the part is larger than delta.
        """
        if self.reserved_delta is not None:
            return self
        return Budget(**self.arguments | {"reserved_delta": reserve})

    def rho(self, epsilon: Number) -> Fraction:
        """The rho of Gaussian noise for an epsilon under this budget, in whole units of the ledger.

        Args:
            epsilon: The epsilon of a query.

        Returns:
            The rho, rounded down.

        Raises:
            ParameterError: If epsilon is not a positive number.
        """
        rho = rho_of(positive(epsilon, "epsilon"), self.conversion_delta)
        return Fraction(units_down(rho, RHO_UNITS), RHO_UNITS)

    def caps(self) -> FilterCaps:
        """The caps of both filters, in units of the ledger.

        Returns:
            Caps on epsilon, rho and delta.
        """
        return FilterCaps(
            units_down(self.epsilon, EPSILON_UNITS),
            units_down(self.rho(self.epsilon), RHO_UNITS),
            units_down(self.reserve, DELTA_UNITS),
        )

    def admits(self, spent: Cost) -> bool:
        """Whether the budget holds after a total spending.

        Args:
            spent: Total cost of all events, in units of the ledger.

        Returns:
            Whether one of the two filters admits it.
        """
        return self.caps().admit(spent)

    def epsilon_left(self, spent: Cost) -> Fraction:
        """Largest epsilon that one more query could ask for, by Laplace or by Gaussian noise.

        Args:
            spent: Total cost so far, in units of the ledger.

        Returns:
            The epsilon, rounded down to six digits.
        """
        return max(self.laplace_left(spent), self.gaussian_left(spent))

    def laplace_left(self, spent: Cost) -> Fraction:
        """Largest epsilon of one more epsilon-private answer.

        Args:
            spent: Total cost so far, in units of the ledger.

        Returns:
            The epsilon, rounded down to six digits.
        """
        caps = self.caps()
        if spent.delta > caps.delta:
            return Fraction(0)
        left = Fraction(0)
        if spent.epsilon is not None:
            left = readable(Fraction(caps.epsilon - spent.epsilon, EPSILON_UNITS))
        return max(left, self._laplace_left_by_order(caps.rho - spent.renyi))

    def gaussian_left(self, spent: Cost) -> Fraction:
        """Largest epsilon of one more answer with Gaussian noise of `rho(epsilon)`.

        Args:
            spent: Total cost so far, in units of the ledger.

        Returns:
            The epsilon, rounded down to six digits.
        """
        caps = self.caps()
        left = caps.rho - spent.renyi
        if spent.delta > caps.delta or left <= 0:
            return Fraction(0)

        def fits(epsilon: Fraction) -> bool:
            return units_up(self.rho(epsilon), RHO_UNITS) <= left

        if fits(self.epsilon):
            return self.epsilon
        guess = epsilon_of(Fraction(left, RHO_UNITS), self.conversion_delta)
        found = _largest_readable(guess, fits) if guess else guess
        return found if found and self.rho(found) else Fraction(0)

    def _laplace_left_by_order(self, units: int) -> Fraction:
        """The largest epsilon, to six digits, that any epsilon-private answer may have under the Renyi filter."""

        def fits(epsilon: Fraction) -> bool:
            return self.cost(events.PureEvent(epsilon)).renyi <= units

        if units <= 0 or self.order is None:
            return Fraction(0)
        if fits(self.epsilon):
            return self.epsilon
        return _largest_readable(Fraction(near(Fraction(units, RHO_UNITS), (self.order,), coin)), fits)

    def check_population(self, population: int | None) -> None:
        """Refuse a delta of 1/population or more: it would allow publishing the data of one person.

        Args:
            population: Number of people in the population. None: one million.

        Raises:
            BudgetError: If delta is too large for the population.
        """
        size = UNDECLARED_POPULATION if population is None else whole(population, "population")
        if self.delta * size >= 1:
            said = (
                f"no population is declared, so {size:,} is assumed"
                if population is None
                else f"the declared population is {size:,}"
            )
            raise BudgetError(
                f"delta={shown(self.delta)}",
                because=f"{said}, and delta must be far below 1/{size}",
                instead=f"delta={1 / (1000 * size):.0e}"
                + (", or population=... with its true size" if population is None else ""),
            )

    def __eq__(self, other: object) -> bool:
        return self._terms == other._terms if isinstance(other, Budget) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._terms)

    @property
    def _terms(self) -> tuple[object, ...]:
        """What two equal budgets share: a reserve that is not stated is equal to the one that it stands for."""
        return self.epsilon, self.delta, self.reserve, self.ceiling, self.reason

    def __str__(self) -> str:
        return f"epsilon {shown(self.epsilon)}" + (f", delta {shown(self.delta)}" if self.delta else "")

    def __repr__(self) -> str:
        parts = [f"epsilon={shown(self.epsilon)}"]
        if self.delta:
            parts.append(f"delta={shown(self.delta)}")
            parts += [] if self.reserved_delta is None else [f"reserved_delta={shown(self.reserved_delta)}"]
        return f"Budget({', '.join(parts + ([f'reason={self.reason!r}'] if self.reason else []))})"

    def _refuse_beyond_the_ceiling(self) -> None:
        if self.epsilon > self.ceiling and not (self.reason or "").strip():
            raise BudgetError(
                f"a budget of epsilon {shown(self.epsilon)}",
                because=f"it is above the owner's ceiling of {shown(self.ceiling)}, and no reason is recorded",
                instead=f'epsilon={shown(self.ceiling)}, or reason="..." which the ledger will keep',
            )

    def _refuse_what_the_ledger_cannot_hold(self) -> None:
        too_fine = self.epsilon * EPSILON_UNITS < 1 or 0 < self.delta * DELTA_UNITS < 1
        if too_fine or self.epsilon > LARGEST_EPSILON:
            raise BudgetError(
                f"a budget of {self}",
                because="epsilon is counted in units of 1e-12 and delta in 1e-18, as 64-bit integers",
                instead=f"epsilon from 1e-12 to {LARGEST_EPSILON}, and delta=0 or at least 1e-18",
            )

    def _refuse_a_reserve_beyond_delta(self) -> None:
        if self.reserve > self.delta:
            raise BudgetError(
                f"reserved_delta={shown(self.reserve)}",
                because=f"it is a part of the budget's delta, which is {shown(self.delta)}",
                instead=f"reserved_delta={shown(self.delta / 10)}",
            )


def _check_printable(reason: object) -> str | None:
    """A reason that the ledger can keep and an audit can show as it is."""
    if reason is None:
        return None
    if not isinstance(reason, str) or len(reason) > LONGEST_REASON or any(map(_is_hidden, reason)):
        raise ParameterError(
            "this reason of a budget",
            because=f"a reason is text that prints, in one line of at most {LONGEST_REASON:,} characters",
            instead='reason="decided by the board in May"',
        )
    return reason


def _is_hidden(character: str) -> bool:
    return unicodedata.category(character).startswith(("C", "Zl", "Zp"))


@short_traceback
def readable(value: Fraction) -> Fraction:
    """A number rounded down to six significant digits.

    Args:
        value: The number.

    Returns:
        The rounded number; 0 where it is not positive.

    Example:
        >>> from fractions import Fraction
        >>> import discreet as dp
        >>> float(dp.accounting.filters.readable(Fraction(2, 3)))
        0.666666
    """
    return digits_down(max(value, Fraction(0)), READABLE_DIGITS)


def _largest_readable(guess: Fraction, fits: Callable[[Fraction], bool]) -> Fraction:
    """The readable number nearest to a guess, then the next ones below, until one fits."""
    step = last_digit(guess, READABLE_DIGITS)
    candidate = digits_down(guess, READABLE_DIGITS) + step
    while candidate > 0 and not fits(candidate):
        candidate -= step
    return candidate
