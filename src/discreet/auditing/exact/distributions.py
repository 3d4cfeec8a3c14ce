"""Laws of integer noise, as masses in rational intervals: by definition where an event gives one, else by a pmf.

A law says how likely each whole number of grid steps is, and how far one has to look. `ExponentialWeights` is a law
whose masses are e^(-weight)/Z with rational weights, which discrete Laplace and Gaussian noise are: its losses
ln(P[y]/P[y - s]) are rationals, and nothing about them needs rounding. `MassFunction` is a law that a mechanism's own
`pmf` states, in rationals or in floats; floats are taken to be right to one part in 10^9.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol

from discreet.errors import AccountingError
from discreet.events import DiscreteGaussianEvent, DiscreteLaplaceEvent, Event, event_of, leaves
from discreet.exact import rounding
from discreet.exact.rounding import Interval, point, sqrt_up

MOST_STEPS = 6_000
MOST_STATED = 20_000
FLOATS = Fraction(1, 10**9)
_LAPLACE_REACH, _GAUSSIAN_REACH = 80, 13
_TRIFLE = Fraction(1, 10**15)
_A_FEW = 64
_SUMMED_TO = 17


class Law(Protocol):
    """How likely each whole number of steps of noise is."""

    @property
    def reach(self) -> int | None:
        """How far from zero masses are looked at, or None where that is too far to go step by step."""

    @property
    def beyond(self) -> Fraction:
        """At least the probability of everything farther away."""

    def masses(self, first: int, last: int) -> list[Interval]:
        """The masses of these steps and all between."""


@dataclass(frozen=True)
class ExponentialWeights:
    """P[y] = e^(-weight(y))/Z, with rational weights, convex and alike on both sides of zero.

    `rest` bounds the sum of e^(-weight) beyond so many steps on one side; `sum_of_weights` is Z. `rho`, where it is
    known, is what the Renyi divergence of every whole order is at a shift, over that order.
    """

    weight: Callable[[int], Fraction]
    farthest: int
    rest: Callable[[int], Fraction]
    sum_of_weights: Callable[[], Interval]
    rho: Callable[[int], Fraction] | None = None
    _known: dict[int, Interval] = field(default_factory=dict, compare=False, repr=False)

    @property
    def reach(self) -> int | None:
        """How far from zero masses are looked at, or None where that is too far."""
        return self.farthest if self.farthest <= MOST_STEPS else None

    @cached_property
    def normaliser(self) -> Interval:
        """Z, the sum of all e^(-weight)."""
        return self.sum_of_weights()

    @property
    def beyond(self) -> Fraction:
        """At least the probability of everything beyond the reach."""
        return 2 * self.rest(self.farthest) / self.normaliser.low

    def masses(self, first: int, last: int) -> list[Interval]:
        """The masses of these steps and all between."""
        return [self._mass(abs(y)) for y in range(first, last + 1)]

    def loss(self, y: int, shift: int) -> Fraction:
        """ln(P[y]/P[y - shift]), exactly."""
        return self.weight(y - shift) - self.weight(y)

    def _mass(self, y: int) -> Interval:
        if y not in self._known:
            self._known[y] = rounding.exp(-self.weight(y)).over(self.normaliser)
        return self._known[y]


@dataclass(frozen=True)
class MassFunction:
    """What a mechanism's `pmf` says; floats may be wrong by one part in 10^9."""

    pmf: Callable[[int], Any]

    @property
    def reach(self) -> int | None:
        """How far from zero masses are looked at, or None where that is too far."""
        return self._sum[0]

    @property
    def beyond(self) -> Fraction:
        """What is missing from one within the reach."""
        return max(Fraction(0), 1 - self._sum[1].low)

    @property
    def total(self) -> Interval:
        """The sum of all masses within the reach."""
        return self._sum[1]

    def masses(self, first: int, last: int) -> list[Interval]:
        """The masses of these steps and all between."""
        return [self.mass(y) for y in range(first, last + 1)]

    def mass(self, y: int) -> Interval:
        """One mass, as wide as the precision that it was given in."""
        stated = self.pmf(y)
        exact = point(Fraction(stated))
        return exact.widened(FLOATS) if isinstance(stated, float) else exact

    @cached_property
    def _sum(self) -> tuple[int | None, Interval]:
        """As far as any mass is worth counting, once twice as many steps and a few more have shown no other."""
        found, last = [self.mass(0)], 0
        for y in range(1, MOST_STATED + 1):
            both = [self.mass(y), self.mass(-y)]
            found += both
            if both[0].high + both[1].high > _TRIFLE:
                last = y
            elif y >= 2 * last + _A_FEW:
                return last + 1, rounding.total(found)
        return None, rounding.total(found)


def of_event(event: object) -> ExponentialWeights | None:
    """The law that an event names, or None where it names none."""
    match event:
        case DiscreteLaplaceEvent(scale):
            return laplace(scale)
        case DiscreteGaussianEvent(variance):
            return gaussian(variance)
    return None


def laplace(scale: Fraction) -> ExponentialWeights:
    """P[y] proportional to e^(-|y|/scale)."""
    step = rounding.exp(-1 / scale)

    def rest(farthest: int) -> Fraction:
        return rounding.exp(-(farthest + 1) / scale).high / (1 - step.high)

    def whole() -> Interval:
        return Interval((1 + step.low) / (1 - step.low), (1 + step.high) / (1 - step.high))

    return ExponentialWeights(lambda y: abs(y) / scale, math.ceil(_LAPLACE_REACH * scale) + 2, rest, whole)


def gaussian(variance: Fraction) -> ExponentialWeights:
    """P[y] proportional to e^(-y^2/(2 variance))."""
    deviation = sqrt_up(variance)

    def weight(y: int) -> Fraction:
        return y * y / (2 * variance)

    def rest(farthest: int) -> Fraction:
        """The terms fall at least as fast as the first two of them."""
        first = rounding.exp(-weight(farthest + 1)).high
        return first / (1 - rounding.exp(weight(farthest + 1) - weight(farthest + 2)).high)

    def whole() -> Interval:
        last = math.ceil(_SUMMED_TO * deviation) + 2
        half = rounding.total(rounding.exp(-weight(y)) for y in range(1, last + 1))
        return Interval(1 + 2 * half.low, 1 + 2 * (half.high + rest(last)))

    def rho(shift: int) -> Fraction:
        return shift * shift / (2 * variance)

    return ExponentialWeights(weight, math.ceil(_GAUSSIAN_REACH * deviation) + 2, rest, whole, rho)


def simple(mechanism: object) -> Event:
    """The one simple event that a mechanism emits; a composition of several is refused."""
    event = event_of(mechanism)  # type: ignore[arg-type]
    parts = list(leaves(event))
    if len(parts) != 1 or parts[0][1] != 1:
        raise AccountingError(
            "a mechanism that does several things at once",
            because="masses are compared for one draw of noise",
            instead="check_masses for each of the mechanisms that it is made of",
        )
    return parts[0][0]


def shifts(event: object, sensitivity: Fraction | None = None) -> Sequence[int]:
    """Whole steps by which neighbours may move an answer: the smallest few, and the largest."""
    most = _most_steps(event, sensitivity)
    return sorted({shift for shift in (1, 2, 3, most // 2, most - 1, most) if 0 < shift <= most})


def _most_steps(event: object, sensitivity: Fraction | None) -> int:
    match event:
        case DiscreteLaplaceEvent(_, steps):
            return math.floor(steps)
        case DiscreteGaussianEvent(_, squared):
            return math.isqrt(math.floor(squared))
    return math.floor(1 if sensitivity is None else sensitivity)


def beside(law: Law, shift: int) -> list[tuple[Interval, Interval]]:
    """The masses of each outcome, without the shift and with it."""
    reach, far = law.reach or 0, abs(shift)
    here = law.masses(-reach - far, reach + far)
    pairs = zip(here[far:], here[: len(here) - far], strict=True)
    return [(one, other) if shift > 0 else (other, one) for one, other in pairs]
