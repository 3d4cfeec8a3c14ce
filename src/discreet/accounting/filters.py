"""The promise over all questions ever asked, kept by two filters.

A promise of epsilon is kept by summing epsilons. A promise of (epsilon, delta) holds while *either* filter does: the
sum of epsilons is at most epsilon, or the sums of the approximate zCDP pairs (rho, delta) convert to within
(epsilon, delta). Both are proven for analysts who choose each question after seeing earlier answers; the proof that
their union is safe is docs/proofs/accounting/filters.md. The ledger stores whole units, costs rounded up.
"""

from dataclasses import dataclass
from fractions import Fraction

from discreet import events
from discreet.conversion import epsilon_of, pure_rho, rho_of
from discreet.errors import BudgetError
from discreet.exact import Number, positive, probability, shown, units_down, units_up

EPSILON_UNITS = 10**12
RHO_UNITS = 10**15
DELTA_UNITS = 10**18

LARGEST_UNITS = 2**63 - 1
CEILING = Fraction(10)
UNDECLARED_POPULATION = 10**6


@dataclass(frozen=True)
class Cost:
    """What an event costs under both filters, in whole units; epsilon is None where no finite epsilon exists."""

    epsilon: int | None
    rho: int
    delta: int

    def __add__(self, other: "Cost") -> "Cost":
        unbounded = self.epsilon is None or other.epsilon is None
        epsilon = None if unbounded else (self.epsilon or 0) + (other.epsilon or 0)
        return Cost(epsilon, self.rho + other.rho, self.delta + other.delta)


NOTHING = Cost(0, 0, 0)


@dataclass(frozen=True)
class Caps:
    """The most that may be spent under each filter; rho and delta are taken together."""

    epsilon: int
    rho: int
    delta: int


@dataclass(frozen=True, kw_only=True)
class Budget:
    """A promise: what every answer ever given from a dataset may reveal about one unit.

    An epsilon above the ceiling needs a reason, which the ledger records.
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    ceiling: Fraction = CEILING
    reason: str | None = None

    def __init__(
        self, *, epsilon: Number, delta: Number = 0, ceiling: Number = CEILING, reason: str | None = None
    ) -> None:
        object.__setattr__(self, "epsilon", positive(epsilon, "epsilon"))
        object.__setattr__(self, "delta", probability(delta, "delta"))
        object.__setattr__(self, "ceiling", positive(ceiling, "ceiling"))
        object.__setattr__(self, "reason", reason)
        self._refuse_beyond_the_ceiling()
        self._refuse_what_the_ledger_cannot_hold()

    @property
    def is_pure(self) -> bool:
        """Whether the promise has no delta."""
        return self.delta == 0

    def caps(self, spent_delta: int = 0) -> Caps:
        """The caps under each filter, once events with a delta of their own have spent `spent_delta` units."""
        left = self.delta - Fraction(spent_delta, DELTA_UNITS)
        rho = rho_of(self.epsilon, left) if left > 0 else Fraction(0)
        return Caps(
            units_down(self.epsilon, EPSILON_UNITS), units_down(rho, RHO_UNITS), units_down(self.delta, DELTA_UNITS)
        )

    def admits(self, spent: Cost) -> bool:
        """Whether the promise holds after spending this much in all."""
        caps = self.caps(spent.delta)
        by_epsilon = spent.epsilon is not None and spent.epsilon <= caps.epsilon
        by_rho = spent.rho <= caps.rho and spent.delta <= caps.delta
        return by_epsilon or (by_rho and not self.is_pure)

    def epsilon_left(self, spent: Cost) -> Fraction:
        """The largest epsilon that one more query could ask for, in the promise's own terms."""
        caps = self.caps(spent.delta)
        pure = Fraction(0)
        if spent.epsilon is not None:
            pure = Fraction(max(0, caps.epsilon - spent.epsilon), EPSILON_UNITS)
        if self.is_pure:
            return pure
        rho = Fraction(max(0, caps.rho - spent.rho), RHO_UNITS)
        return max(pure, min(self.epsilon, epsilon_of(rho, self.delta)) if rho else Fraction(0))

    def check_population(self, population: int | None) -> None:
        """Refuse a delta at or above one in the declared population: it would allow publishing somebody whole."""
        size = population or UNDECLARED_POPULATION
        if self.delta * size >= 1:
            said = f"the declared population is {size:,}" if population else f"no population is declared, so {size:,} is assumed"
            raise BudgetError(
                f"delta={shown(self.delta)}",
                because=f"{said}, and a delta of 1/{size} or more allows one person's row to be published outright",
                instead=f"delta={1 / (1000 * size):.0e}" + ("" if population else ", or population=... with its true size"),
            )

    def __str__(self) -> str:
        return f"epsilon {shown(self.epsilon)}" + (f", delta {shown(self.delta)}" if self.delta else "")

    def _refuse_beyond_the_ceiling(self) -> None:
        if self.epsilon > self.ceiling and not (self.reason or "").strip():
            raise BudgetError(
                f"a budget of epsilon {shown(self.epsilon)}",
                because=f"it is above the owner's ceiling of {shown(self.ceiling)}, and no reason is recorded",
                instead=f'epsilon={shown(self.ceiling)}, or reason="..." which the ledger will keep',
            )

    def _refuse_what_the_ledger_cannot_hold(self) -> None:
        if self.epsilon * EPSILON_UNITS > LARGEST_UNITS // 8 or (0 < self.delta * DELTA_UNITS < 1):
            raise BudgetError(
                f"a budget of {self}",
                because="the ledger counts in units of 1e-12 for epsilon and 1e-18 for delta",
                instead="epsilon below a million and delta=0 or at least 1e-18",
            )


def cost(event: events.Event) -> Cost:
    """The price of an event under both filters, rounded up to whole units."""
    epsilon: Fraction | None = Fraction(0)
    rho, delta = Fraction(0), Fraction(0)
    for leaf, count in events.leaves(event):
        leaf_epsilon, leaf_rho, leaf_delta = _price(leaf)
        epsilon = None if epsilon is None or leaf_epsilon is None else epsilon + count * leaf_epsilon
        rho += count * leaf_rho
        delta += count * leaf_delta
    return Cost(
        None if epsilon is None else units_up(epsilon, EPSILON_UNITS),
        units_up(rho, RHO_UNITS),
        units_up(delta, DELTA_UNITS),
    )


def _price(event: events.Event) -> tuple[Fraction | None, Fraction, Fraction]:
    """(pure epsilon or None, rho, delta) of a simple event."""
    match event:
        case events.PureEvent(epsilon):
            return epsilon, pure_rho(epsilon), Fraction(0)
        case events.DiscreteLaplaceEvent(scale, sensitivity) | events.LaplaceEvent(scale, sensitivity):
            epsilon = sensitivity / scale
            return epsilon, pure_rho(epsilon), Fraction(0)
        case events.DiscreteGaussianEvent(variance, squared, _) | events.GaussianEvent(variance, squared):
            return None, squared / (2 * variance), Fraction(0)
        case events.ConcentratedEvent(rho, delta):
            return None, rho, delta
        case events.ApproximateEvent(epsilon, delta):
            return (epsilon if delta == 0 else None), pure_rho(epsilon), delta
    raise events.unknown(type(event).__name__)
