"""Adversarial neighbours for functions of a plain list of numbers: lists that differ in one number, and in order.

Numbers are chosen to hurt a function that adds, clamps, counts or sorts: the ends of the bounds and what lies just
beside them, long lists of one large number to which a small one is lost, lists whose sum is the last that an integer of
some width holds, pairs that cancel, NaN, infinities, -0.0, the smallest and the largest double. Every third pair
differs in a number from between the bounds, spread evenly: of n pairs, no stretch of the bounds of more than about 8/n
of them is left out. With `within_bounds` a list holds nothing but finite numbers within the bounds, for functions that
may count on it.
"""

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from discreet.catalog.privacy_unit import Neighbours
from discreet.errors import ParameterError, short_traceback
from discreet.exact.numbers import Number, rational, whole

NO_NUMBERS = (math.nan, math.inf, -math.inf)
FAR = (1.7976931348623157e308, -1.7976931348623157e308, 2.0**53, 2.0**53 + 2, -(2.0**52), 1e16, 5e-324, -5e-324)
ZEROS = (0.0, -0.0)
WHOLE = (0, 1, -1, 2**31 - 1, 2**31, -(2**31), 2**53 + 1, 2**63 - 1, -(2**63), 2**64)
LENGTHS = (0, 1, 2, 3, 5, 8, 16, 64, 127, 255, 1024)
BRIMS = (2**15 - 1, 2**16 - 1, 2**24, 2**31 - 1, 2**32 - 1, 2**53, 2**63 - 1, 2**64 - 1)
_GOLDEN = (math.sqrt(5) - 1) / 2


@short_traceback
def neighbouring_lists(
    bounds: tuple[Number, Number] = (0, 1),
    *,
    count: int = 200,
    neighbours: Neighbours | Literal["add_remove", "replace_one"] = "add_remove",
    lengths: Sequence[int] = LENGTHS,
    within_bounds: bool = False,
    whole_numbers: bool = False,
    ordered: bool = False,
    generator: np.random.Generator | None = None,
) -> Iterator[tuple[list[Any], list[Any]]]:
    """Pairs of lists of numbers that differ by one number, for `audit_function`.

    Args:
        bounds: Lowest and highest usual number. Default (0, 1).
        count: Number of pairs. Default 200.
        neighbours: "add_remove" one number, or "replace_one". Default "add_remove".
        lengths: Lengths of the first list of each pair.
        within_bounds: Whether all numbers are within the bounds. Default False.
        whole_numbers: Whether numbers are Python integers; otherwise floats. Default False.
        ordered: Whether both lists have the same order. Default False.
        generator: Generator of the random choices. Default: a new one.

    Returns:
        An iterator over pairs.

    Raises:
        ParameterError: If an argument is outside its range or of another kind.

    Example:
        >>> import discreet as dp
        >>> one, other = next(dp.auditing.neighbouring_lists())
        >>> abs(len(one) - len(other))
        1
    """
    low, high = (rational(bound, "bounds") for bound in bounds)
    if low > high:
        raise ParameterError("bounds in the wrong order", because="the lower one comes first", instead="bounds=(0, 1)")
    relation = Neighbours(neighbours)
    sizes = [whole(length, "lengths", least=0) for length in lengths]
    author = _Author(low, high, within_bounds, whole_numbers, generator or np.random.default_rng())
    for number in range(whole(count, "count")):
        one, other = author.pair(sizes[number % len(sizes)], relation, number)
        yield (one, other) if ordered else (author.permute(one), author.permute(other))


class _Author:
    def __init__(
        self, low: Fraction, high: Fraction, within_bounds: bool, whole_numbers: bool, generator: np.random.Generator
    ) -> None:
        self._random, self._whole = generator, whole_numbers
        self._low, self._high = low, high
        self._inside = _inside(low, high, whole_numbers)
        beside = [] if within_bounds else _outside(low, high, whole_numbers)
        self._pool = [*self._inside, *beside]
        self._turn, self._brims = float(generator.random()), 0

    def pair(self, length: int, relation: Neighbours, number: int) -> tuple[list[Any], list[Any]]:
        """One in three moves a number from anywhere between the bounds, one the largest, over the brim of a sum."""
        full = self._full(length) if number % 3 == 1 else []
        rest = full or self._numbers(length)
        if not rest and relation is Neighbours.REPLACE_ONE:
            return [], []
        moved = max(self._inside) if full else self._spread() if number % 3 == 0 else self._number()
        place = int(self._random.integers(len(rest) + 1))
        if relation is Neighbours.ADD_REMOVE:
            pair = [*rest[:place], moved, *rest[place:]], rest
            return pair if length == 0 or self._chance() else (pair[1], pair[0])
        place = min(place, len(rest) - 1)
        return rest, [*rest[:place], moved, *rest[place + 1 :]]

    def permute(self, numbers: list[Any]) -> list[Any]:
        return [numbers[i] for i in self._random.permutation(len(numbers))]

    def _numbers(self, length: int) -> list[Any]:
        """All alike, two that alternate and may cancel, or each by itself; now and then from beyond the bounds."""
        match int(self._random.integers(4)):
            case 0:
                return [self._any(self._inside)] * length
            case 1:
                two = self._number(), self._number()
                return [two[i % 2] for i in range(length)]
            case 2:
                return [self._between(float(share)) for share in self._random.random(length)]
        return [self._number() for _ in range(length)]

    def _full(self, length: int) -> list[Any]:
        """Whole numbers within the bounds whose sum is one of the brims, in turn; none where that cannot be."""
        least, most = math.ceil(self._low), math.floor(self._high)
        reached = [brim for brim in BRIMS if length and least <= brim // length < most]
        if not reached:
            return []
        each, more = divmod(reached[self._brims % len(reached)], length)
        self._brims += 1
        kind = int if self._whole else float
        return [kind(each + (i < more)) for i in range(length)]

    def _spread(self) -> Any:
        """The next of numbers that fill the bounds evenly, however many are taken."""
        self._turn = (self._turn + _GOLDEN) % 1
        return self._between(self._turn)

    def _between(self, share: float) -> Any:
        """The number that lies so far into the bounds, or the nearest that is one and is within them."""
        if self._whole:
            least, most = math.ceil(self._low), math.floor(self._high)
            return min(most, least + math.floor((most - least + 1) * Fraction(share))) if least <= most else least
        double = float(self._low + (self._high - self._low) * Fraction(share))
        return double if self._low <= Fraction(double) <= self._high else self._inside[0]

    def _number(self) -> Any:
        return self._any(self._inside if self._chance() else self._pool)

    def _any(self, pool: Sequence[Any]) -> Any:
        return pool[int(self._random.integers(len(pool)))]

    def _chance(self) -> bool:
        return bool(self._random.random() < 0.5)


def _inside(low: Fraction, high: Fraction, whole_numbers: bool) -> list[Any]:
    """The ends of the bounds, the places between them, and the nearest numbers to the ends."""
    width = high - low
    places = [low, high, low + width / 2, low + width / 4, high - width / 10]
    if whole_numbers:
        return sorted({math.ceil(low), math.floor(high), *(math.floor(place) for place in places if place >= low)})
    doubles = [float(place) for place in places]
    doubles += [math.nextafter(doubles[0], math.inf), math.nextafter(doubles[1], -math.inf)]
    found = [double for double in doubles if low <= Fraction(double) <= high]
    return [*found, *(zero for zero in ZEROS if low <= 0 <= high)] or [doubles[0]]


def _outside(low: Fraction, high: Fraction, whole_numbers: bool) -> list[Any]:
    if whole_numbers:
        return [*WHOLE, math.floor(low) - 1, math.ceil(high) + 1]
    beside = [math.nextafter(float(low), -math.inf), math.nextafter(float(high), math.inf)]
    return [*NO_NUMBERS, *FAR, *ZEROS, *beside]
