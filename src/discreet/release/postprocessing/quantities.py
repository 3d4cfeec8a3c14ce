"""Numbers computed from noisy integers, with intervals that hold as often as they say.

Definition
    Noisy integers x_i = e_i + Y_i with independent public noise Y_i. A `Linear` is a public combination
    c + sum f_i x_i; a `Quotient` is one combination over another; a `Blend` adds up public multiples of such things.
    The true value is the same expression in the exact e_i.

Guarantee
    With probability at least the confidence, over the noise alone, the interval holds the true value. A noise that
    several answers share is counted once, with the sum of its factors.
    Proof: docs/proofs/release/postprocessing/quantities.md.

Exactness
    Values and intervals are exact rationals; the margins that they rest on are those of `margins`.

Not covered
    Clamping to bounds, rows beyond contribution bounds, sampling of the population. A quotient whose denominator may be
    zero has an interval without ends.

References
    Fieller, Some Problems in Interval Estimation, JRSS B 1954 (why an interval for a ratio may have no end).
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from discreet.mechanisms.additive import AdditiveNoise
from discreet.mechanisms.lattice import allowed_tail
from discreet.release.values.error_bounds import margin_of_crowds


@dataclass(frozen=True)
class Atom:
    """One noisy integer: which one it is, so that noise that is shared is known to be, its value, and its noise."""

    source: str
    measure: int
    place: int
    steps: int = field(compare=False)
    noise: AdditiveNoise = field(compare=False)


class ValueRange(NamedTuple):
    """Lower and upper bound; None where there is none."""

    low: Fraction | None
    high: Fraction | None


ANYWHERE = ValueRange(None, None)


@dataclass(frozen=True)
class Linear:
    """A constant, and so many times each of some noisy integers."""

    factors: Mapping[Atom, Fraction]
    constant: Fraction = Fraction(0)

    def value_at(self, steps: Callable[[Atom], int]) -> Fraction:
        """The value for other integers in the place of the noisy ones."""
        return self.constant + sum((factor * steps(atom) for atom, factor in self.factors.items()), Fraction(0))

    @property
    def value(self) -> Fraction:
        """The value that the noisy integers give."""
        return self.value_at(lambda atom: atom.steps)

    @property
    def variance(self) -> float:
        """The variance of the noise."""
        return math.fsum(float(factor) ** 2 * atom.noise.variance for atom, factor in self.factors.items())

    def margin(self, confidence: Fraction) -> Fraction:
        """What the noise stays within, with at least this probability."""
        return margin_of(self.crowds, confidence)

    @property
    def crowds(self) -> Counter[tuple[Fraction, AdditiveNoise]]:
        """How many noises count that many times each."""
        return Counter((abs(factor), atom.noise) for atom, factor in self.factors.items())

    def interval(self, confidence: Fraction) -> ValueRange:
        """Where the true value is, with at least this probability."""
        margin = self.margin(confidence)
        return ValueRange(self.value - margin, self.value + margin)

    def plus(self, other: "Linear", times: Fraction = Fraction(1)) -> "Linear":
        """This and so many times the other, noise that both have counted together."""
        factors = dict(self.factors)
        for atom, factor in other.factors.items():
            factors[atom] = factors.get(atom, Fraction(0)) + times * factor
        kept = {atom: factor for atom, factor in factors.items() if factor}
        return Linear(kept, self.constant + times * other.constant)

    def scale(self, times: Fraction) -> "Linear":
        """This quantity times a constant."""
        return Linear({}).plus(self, times)


@dataclass(frozen=True)
class Quotient:
    """One combination over another; `bounds` is where the true value is known to lie, as means are."""

    top: Linear
    bottom: Linear
    bounds: tuple[Fraction, Fraction] | None = None

    @property
    def value(self) -> Fraction | None:
        """The value that the noisy integers give, moved into the bounds; None where the denominator is not positive."""
        below = self.bottom.value
        return None if below <= 0 else self._within(self.top.value / below)

    def interval(self, confidence: Fraction) -> ValueRange:
        """The ends of the ratio over the box of its independent parts; without ends where that reaches zero."""
        parts = _directions(self.top, self.bottom)
        each = at_once(max(1, len(parts)), confidence)
        sides = {slope: linear.margin(each) for slope, linear in parts.items()}
        above, below = self.top.value, self.bottom.value
        flat = sides.pop(None, Fraction(0))
        if below - sum(sides.values()) <= 0:
            return ValueRange(*self.bounds) if self.bounds else ANYWHERE
        high = max(_corners(above + flat, below, sides, reverse=True))
        low = min(_corners(above - flat, below, sides, reverse=False))
        return ValueRange(self._within(low), self._within(high))

    def scale(self, times: Fraction) -> "Quotient":
        """This quantity times a constant."""
        bounds = self.bounds and sorted(times * bound for bound in self.bounds)
        return Quotient(self.top.scale(times), self.bottom, (bounds[0], bounds[1]) if bounds else None)

    def _within(self, value: Fraction) -> Fraction:
        return value if self.bounds is None else min(self.bounds[1], max(self.bounds[0], value))


@dataclass(frozen=True)
class Blend:
    """So many times each of several quantities, whose intervals then hold together."""

    parts: tuple[tuple[Fraction, "Linear | Quotient"], ...]

    @property
    def value(self) -> Fraction | None:
        """The value that the noisy integers give; None where one of them has none."""
        values = [(times, part.value) for times, part in self.parts]
        known = [times * value for times, value in values if value is not None]
        return sum(known, Fraction(0)) if len(known) == len(values) else None

    def interval(self, confidence: Fraction) -> ValueRange:
        """The sums of the ends, each noisy interval missing with an equal part of what may be missed."""
        each = 1 - (1 - confidence) / max(1, sum(not _is_constant(part) for _, part in self.parts))
        lows, highs = [], []
        for times, part in self.parts:
            ends = part.interval(each)
            low, high = ends if times > 0 else ends[::-1]
            lows.append(None if low is None else times * low)
            highs.append(None if high is None else times * high)
        return ValueRange(_sum_ends(lows), _sum_ends(highs))

    def scale(self, times: Fraction) -> "Blend":
        """This quantity times a constant."""
        return Blend(tuple((times * factor, part) for factor, part in self.parts))


Quantity = Linear | Quotient | Blend


@lru_cache(maxsize=1024)
def at_once(count: int, confidence: Fraction) -> Fraction:
    """How often each of so many independent intervals must hold, for all of them to hold this often."""
    return 1 - allowed_tail(count, confidence)


def margin_of(crowds: Mapping[tuple[Fraction, AdditiveNoise], int], confidence: Fraction) -> Fraction:
    """What so many independent noises, each counted that many times, stay within together."""
    shared = math.lcm(*(times.denominator for times, _ in crowds))
    sizes = {(int(times * shared), noise): size for (times, noise), size in crowds.items()}
    return Fraction(margin_of_crowds(sizes, confidence), shared)


def sum_linear(terms: Iterable[tuple[Fraction, Linear]]) -> Linear:
    """Weighted sum of linear combinations, in one pass."""
    factors: dict[Atom, Fraction] = {}
    constant = Fraction(0)
    for times, linear in terms:
        constant += times * linear.constant
        for atom, factor in linear.factors.items():
            factors[atom] = factors.get(atom, Fraction(0)) + times * factor
    return Linear({atom: factor for atom, factor in factors.items() if factor}, constant)


def add(first: Quantity, second: Quantity, times: Fraction) -> Quantity:
    """The first plus `times` the second; shared noise counts once where both are linear."""
    if isinstance(first, Linear) and isinstance(second, Linear):
        return first.plus(second, times)
    return Blend((*_terms(first), *((times * factor, part) for factor, part in _terms(second))))


def _is_constant(part: Linear | Quotient) -> bool:
    return isinstance(part, Linear) and not part.factors


def _terms(quantity: Quantity) -> tuple[tuple[Fraction, Linear | Quotient], ...]:
    return quantity.parts if isinstance(quantity, Blend) else ((Fraction(1), quantity),)


def _directions(top: Linear, bottom: Linear) -> dict[Fraction | None, Linear]:
    """The independent parts of a ratio: atoms with the same slope move numerator and denominator along one line.

    The part of slope r adds b to the denominator and r b to the numerator; None is the part of the numerator alone.
    """
    parts: dict[Fraction | None, dict[Atom, Fraction]] = {}
    for atom in dict.fromkeys([*top.factors, *bottom.factors]):
        above, below = top.factors.get(atom, Fraction(0)), bottom.factors.get(atom, Fraction(0))
        slope = above / below if below else None
        parts.setdefault(slope, {})[atom] = below or above
    return {slope: Linear(factors) for slope, factors in parts.items()}


def _corners(
    above: Fraction, below: Fraction, sides: Mapping[Fraction | None, Fraction], *, reverse: bool
) -> list[Fraction]:
    """The ratio at each corner of the box that can be extreme: the parts with the steeper slopes on one side."""
    ordered = sorted(((slope or Fraction(0), side) for slope, side in sides.items()), reverse=reverse)
    top = above - sum((slope * side for slope, side in ordered), Fraction(0))
    bottom = below - sum((side for _, side in ordered), Fraction(0))
    found = [top / bottom]
    for slope, side in ordered:
        top, bottom = top + 2 * slope * side, bottom + 2 * side
        found.append(top / bottom)
    return found


def _sum_ends(ends: Sequence[Fraction | None]) -> Fraction | None:
    known = [end for end in ends if end is not None]
    return sum(known, Fraction(0)) if len(known) == len(ends) else None
