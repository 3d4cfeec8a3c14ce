"""Exact random choices from random bits and integers alone: flips, whole numbers, orders, and one of many by weight.

Definition
    For a rational rate > 0 and a whole gap g >= 0 the weight of g is e^(-rate g). `flips` are independent, each True
    with probability e^(-rate g). `choose` draws an index with probability proportional to its weight.
    `choose_without_replacement` draws several different ones, each so among those that are left. `permute_and_flip` is
    the first index, in a random order, whose flip is True. `uniform` draws whole numbers below a bound, `permutation`
    an order of so many things.

Guarantee
    Every outcome has exactly the probability of the definition, for every rational rate and gaps of any size, if the
    random bits are independent and fair. A call ends with probability 1. Proof: docs/proofs/samplers/categorical.md.

Exactness
    No float is used. A weight is held between two integers in units of 2^-31, a few units apart, by multiplying entries
    of exact tables; 31 random bits decide unless they fall between the two, which happens once in 3 * 10^8 flips. Then
    more bits are drawn and held against bounds of growing precision, without end, until they decide.

Not covered
    Time and memory: a draw takes a varying time, by the size of the gaps and by chance.

References
    Canonne, Kamath and Steinke, The Discrete Gaussian for Differential Privacy, NeurIPS 2020, Section 5 (exact flips).
    McKenna and Sheldon, Permute-and-Flip, NeurIPS 2020. von Neumann, Various Techniques Used in Connection with Random
    Digits, 1951 (rejection).

Random bits come from the operating system at each call, so forked processes and threads share none; no seed can be
given; where the source fails nothing is chosen. Cost on a shared 2-core machine for 1,000,000 gaps, milliseconds of
CPU whatever the gaps are: 20 to 40 for `choose`, `permute_and_flip` and a `choose_without_replacement` of a thousand,
in an array; a list of Python integers adds 40, one of integers beyond 64 bits 120 to 260. The tables of a rate take 1
to 5, once.
"""

import bisect
import itertools
import operator
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.exact.numbers import positive, whole
from discreet.exact.rounding import decay_units
from discreet.samplers.entropy import random_bytes

Gaps = Sequence[int] | NDArray[np.integer[Any]]
Words = NDArray[np.uint64]

BITS = 31
LARGEST = 2**63

_DIGIT = 12
_ENTRIES = 1 << _DIGIT
_FINE = 160
_MORE = 64
_BLOCK = 1 << 16


def flips(gaps: Gaps, rate: Fraction) -> NDArray[np.bool_]:
    """For each whole gap an independent flip that is True with probability e^(-rate gap)."""
    return _flip_coins(_read(gaps) if len(gaps) else [], weights_of(positive(rate, "rate")))


def choose(gaps: Gaps, rate: Fraction) -> int:
    """An index with probability proportional to e^(-rate gap)."""
    return choose_without_replacement(gaps, rate, 1)[0]


def choose_without_replacement(gaps: Gaps, rate: Fraction, count: int) -> list[int]:
    """`count` different indices, each with probability proportional to e^(-rate gap) among those not yet chosen."""
    read, weights = _read(gaps), weights_of(positive(rate, "rate"))
    if not 1 <= whole(count, "count") <= len(read):
        raise ParameterError(
            "more choices than there are candidates",
            because="each candidate is chosen at most once",
            instead="a smaller count",
        )
    if count == 1:
        return [_Urn(read, weights, np.zeros(len(read), dtype=np.bool_), (0, len(read)), _least(read)).draw()]
    order, ranked = _sort_gaps(read)
    return [int(order[place]) for place in _choose_places(ranked, weights, count)]


def permute_and_flip(gaps: Gaps, rate: Fraction) -> int:
    """The first index, in a random order, whose flip of probability e^(-rate gap) is True; the least gap must be 0."""
    read = _read(gaps)
    if _least(read):
        raise ParameterError(
            "gaps that are all above zero",
            because="no flip would be sure to be True",
            instead="gaps counted from the best candidate",
        )
    kept = np.flatnonzero(_flip_coins(read, weights_of(positive(rate, "rate"))))
    return int(kept[_below(len(kept))])


def uniform(below: int, count: int) -> NDArray[np.int64]:
    """`count` independent whole numbers, each of 0, 1, ..., below - 1 equally likely."""
    if whole(below, "below") > LARGEST:
        raise ParameterError(
            "whole numbers beyond 64 bits", because="numbers are drawn as 63 bits", instead="below=2**63"
        )
    bits = (below - 1).bit_length()
    drawn = np.zeros(whole(count, "count", least=0), dtype=np.int64)
    missing = np.arange(count) if bits else np.arange(0)
    while len(missing):
        drawn[missing] = (_words(len(missing)) >> np.uint64(64 - bits)).astype(np.int64)
        missing = missing[drawn[missing] >= below]
    return drawn


def permutation(count: int) -> NDArray[np.int64]:
    """An order of 0, 1, ..., count - 1, every one equally likely."""
    size = whole(count, "count", least=0)
    while True:
        keys = _words(size)
        order = np.argsort(keys)
        ranked = keys[order]
        if not (ranked[1:] == ranked[:-1]).any():
            return order.astype(np.int64)


class Weights:
    """Bounds on e^(-rate gap) in units of 2^-bits, for one rate.

    A gap is read in steps of 2^shift, so that any rate fits; `cap` is a number of steps from which on a weight is below
    one unit. For `value` of these steps the weight of the gap lies between value - below and value + above units.
    """

    def __init__(self, rate: Fraction, bits: int = BITS) -> None:
        self.rate, self.bits, self.one = rate, bits, 1 << bits
        self.shift = max(0, (2 * rate.denominator // (rate.numerator << bits)).bit_length() - 1)
        step = rate * (1 << self.shift)
        self.cap = -(-bits * step.denominator // step.numerator)
        digits = -(-self.cap.bit_length() // _DIGIT)
        self.tables = [_table(step * (_ENTRIES**place), bits) for place in range(digits)]
        self.below, self.above = 2 if self.shift else 0, 2 * digits - 1

    def values(self, steps: Words) -> Words:
        """A number of units for each number of steps, by its digits: each product is rounded down."""
        mask, width, unit = np.uint64(_ENTRIES - 1), np.uint64(_DIGIT), np.uint64(self.bits)
        value: Words = self.tables[0][steps & mask]
        left = steps
        for table in self.tables[1:]:
            left = left >> width
            if not left.any():
                break
            value = (value * table[left & mask]) >> unit
        return value

    def end(self, base: int) -> int:
        """The least gap whose weight, counted from a base, is sure to be below one unit."""
        return base + (self.cap << self.shift)

    def lows(self, values: Words) -> Words:
        """Units that the weight is at least."""
        least: Words = values - np.minimum(values, np.uint64(self.below))
        return least

    def highs(self, values: Words) -> Words:
        """Units that the weight is at most."""
        most: Words = np.minimum(values + np.uint64(self.above), np.uint64(self.one))
        return most


@lru_cache(maxsize=64)
def weights_of(rate: Fraction, bits: int = BITS) -> Weights:
    """The tables of a rate, made once."""
    return Weights(rate, bits)


def verdict(drawn: int, bits: int, exponent: Fraction) -> bool | None:
    """Whether a number in [0, 1) with these leading bits is below e^(-exponent); None where they do not decide."""
    low, high = decay_units(exponent, bits)
    if drawn < low:
        return True
    return False if drawn >= high else None


def _table(exponent: Fraction, bits: int) -> Words:
    """For j = 0, 1, ... the greatest whole number of units 2^-bits within e^(-exponent j), exactly."""
    table = np.zeros(_ENTRIES, dtype=np.uint64)
    spare, one = _FINE - bits, 1 << _FINE
    factor_low, factor_high = decay_units(exponent, _FINE)
    low = high = one
    for place in range(_ENTRIES):
        entry = low >> spare
        if entry != high >> spare:
            entry = _floor(exponent * place, bits)
        table[place] = entry
        low, high = low * factor_low >> _FINE, -(-high * factor_high >> _FINE)
        if high <= 1:
            break
    return table


def _floor(exponent: Fraction, bits: int) -> int:
    """The greatest whole number of units within e^(-exponent), by as much precision as it takes."""
    fine = 2 * _FINE
    while True:
        low, high = decay_units(exponent, fine)
        if low >> (fine - bits) == high >> (fine - bits):
            return low >> (fine - bits)
        fine *= 2


class _Urn:
    """Candidates in a range of sorted gaps, counted from a base, from which one is drawn by rejection.

    Those that are taken have no weight in here; those after the range, with a weight below one unit, have a unit each.
    """

    def __init__(
        self, gaps: list[int] | Words, weights: Weights, taken: NDArray[np.bool_], within: tuple[int, int], base: int
    ) -> None:
        self.gaps, self.weights, self.taken, self.base = gaps, weights, taken, base
        self.first, self.last = within
        values = np.empty(self.last - self.first, dtype=np.uint64)
        for start in range(0, len(values), _BLOCK):
            part = gaps[self.first + start : min(self.last, self.first + start + _BLOCK)]
            values[start : start + len(part)] = weights.values(_steps(part, base, weights))
        self.lows, highs = weights.lows(values), weights.highs(values)
        highs[taken[self.first : self.last]] = 0
        self.sums = np.cumsum(highs)
        self.inside = int(self.sums[-1])
        self.total = self.inside + len(gaps) - self.last

    def draw(self) -> int:
        """The place of a candidate that is not taken, with probability proportional to its weight."""
        while True:
            place, drawn, low = self._proposal(_below(self.total))
            if self.taken[place]:
                continue
            if drawn < low or _is_below_weight(drawn, self.weights, int(self.gaps[place]) - self.base):
                return place

    def units(self, place: int) -> int:
        """How many units a candidate has in here."""
        if place >= self.last:
            return 1
        return int(self.sums[place - self.first]) - self._before(place - self.first)

    def _proposal(self, drawn: int) -> tuple[int, int, int]:
        """The candidate whose units the number falls into, how far into them, and how many of them are sure."""
        if drawn >= self.inside:
            return self.last + drawn - self.inside, 0, 0
        offset = int(np.searchsorted(self.sums, np.uint64(drawn), side="right"))
        return self.first + offset, drawn - self._before(offset), int(self.lows[offset])

    def _before(self, offset: int) -> int:
        return int(self.sums[offset - 1]) if offset else 0


def _choose_places(ranked: list[int] | Words, weights: Weights, count: int) -> list[int]:
    """Places in a sorted list, drawn in turn; the urn is filled anew once half of what it held is gone."""
    places: list[int] = []
    taken = np.zeros(len(ranked), dtype=np.bool_)
    first = 0
    while len(places) < count:
        while taken[first]:
            first += 1
        base = int(ranked[first])
        urn = _Urn(ranked, weights, taken, (first, _reach(ranked, weights.end(base))), base)
        left = urn.total
        while 2 * left > urn.total and len(places) < count:
            place = urn.draw()
            places.append(place)
            taken[place] = True
            left -= urn.units(place)
    return places


def _reach(ranked: list[int] | Words, end: int) -> int:
    """How many of sorted gaps are below `end`."""
    if isinstance(ranked, list):
        return bisect.bisect_left(ranked, end)
    return len(ranked) if end >= 1 << 64 else int(np.searchsorted(ranked, np.uint64(end), side="left"))


def _sort_gaps(read: list[int] | Words) -> tuple[Sequence[int] | NDArray[np.int64], list[int] | Words]:
    """The order of the gaps, least first, and the gaps in that order."""
    if not isinstance(read, list):
        places = np.argsort(read)
        return places, read[places]
    spare = max(read).bit_length() - 63
    leading = np.array([gap >> spare for gap in read], dtype=np.uint64)
    order = np.argsort(leading).tolist()
    alike = np.diff(leading[order], prepend=np.uint64(LARGEST), append=np.uint64(LARGEST)) == 0
    for start, end in itertools.pairwise(np.flatnonzero(~alike).tolist() if alike.any() else ()):
        if end - start > 1:
            order[start:end] = sorted(order[start:end], key=read.__getitem__)
    return order, [read[place] for place in order]


def _flip_coins(read: list[int] | Words, weights: Weights) -> NDArray[np.bool_]:
    """Blocks of bounded size, so that memory stays small and an interrupt is heard."""
    kept = np.empty(len(read), dtype=np.bool_)
    for start in range(0, len(read), _BLOCK):
        part = read[start : start + _BLOCK]
        values = weights.values(_steps(part, 0, weights))
        drawn = _leading(len(part), weights.bits)
        sure = drawn < weights.lows(values)
        for place in np.flatnonzero(~sure & (drawn < weights.highs(values))):
            sure[place] = _is_below_weight(int(drawn[place]), weights, int(part[place]))
        kept[start : start + len(part)] = sure
    return kept


def _is_below_weight(drawn: int, weights: Weights, gap: int) -> bool:
    """Whether a number with these leading bits is below the weight: more bits are drawn until they decide."""
    bits, exponent = weights.bits, weights.rate * gap
    while (found := verdict(drawn, bits, exponent)) is None:
        drawn = drawn << _MORE | int.from_bytes(random_bytes(_MORE // 8))
        bits += _MORE
    return found


def _steps(gaps: list[int] | Words, base: int, weights: Weights) -> Words:
    """Gaps counted from a base, in whole steps of the tables and cut off where weights are below one unit."""
    if isinstance(gaps, list):
        shift, cap, end = weights.shift, weights.cap, weights.end(base)
        return np.array([gap - base >> shift if gap < end else cap for gap in gaps], dtype=np.uint64)
    if weights.shift > 63:
        return np.zeros(len(gaps), dtype=np.uint64)
    steps: Words = (gaps - np.uint64(base)) >> np.uint64(weights.shift)
    return np.minimum(steps, np.uint64(weights.cap))


def _read(gaps: Gaps) -> list[int] | Words:
    """The gaps as 64-bit words where they fit, else as Python integers; none may be below zero."""
    if len(gaps) == 0:
        raise ParameterError(
            "a choice among no candidates", because="there is nothing to choose", instead="at least one candidate"
        )
    if isinstance(gaps, np.ndarray) and gaps.dtype.kind in "iu":
        if int(gaps.min()) < 0:
            raise _negative()
        return gaps.astype(np.uint64)
    listed = list(map(operator.index, gaps))
    try:
        return np.array(listed, dtype=np.uint64)
    except OverflowError:
        if min(listed) < 0:
            raise _negative() from None
        return listed


def _least(read: list[int] | Words) -> int:
    return min(read) if isinstance(read, list) else int(read.min())


def _negative() -> ParameterError:
    return ParameterError(
        "a gap below zero", because="gaps are counted from the best candidate", instead="best - score for each score"
    )


def _below(bound: int) -> int:
    """A whole number below the bound, each equally likely."""
    bits = (bound - 1).bit_length()
    size = (bits + 7) // 8
    while True:
        drawn = int.from_bytes(random_bytes(size)) >> (8 * size - bits)
        if drawn < bound:
            return drawn


def _leading(count: int, bits: int) -> Words:
    """Numbers of so many random bits, at most 32."""
    drawn = np.frombuffer(random_bytes(4 * count), dtype=np.uint32)
    return (drawn >> np.uint32(32 - bits)).astype(np.uint64)


def _words(count: int) -> Words:
    return np.frombuffer(random_bytes(8 * count), dtype=np.uint64)
