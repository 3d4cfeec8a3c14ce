"""Decisions about uniform numbers, for whole columns: floats hold the answer between bounds, integers decide the rest.

Definition
    U is a uniform number in [0, 1), an infinite sequence of bits that a source gives word by word. `exponential_floors`
    is floor(-scale ln U), so that P[floor >= k] = e^(-k/scale). `below_decay` is whether U < e^(-exponent).

Guarantee
    Each result is the true one, for the one real number U whose bits are drawn. A call ends with probability 1. Proof:
    docs/proofs/samplers/brackets.md.

Exactness
    A bracket is two columns of doubles, at most and at least the true number. Each operation widens its result: sums,
    products, quotients and conversions, which IEEE 754 rounds within 2^-52 in every mode, by 2^-48 for at most five of
    them in a row; log and exp by 2^-46, which is 64 units in the last place: the mathematical library is taken to keep
    60, and measured to keep 4. Where the bracket of one word does not decide, more words are drawn and held against
    rational bounds of growing precision (`rounding.decay_units`), without end, until they decide: about one flip in
    2^44, and one floor in 2^43/scale.

Not covered
    The time a decision takes. A mathematical library whose log or exp is wrong by more than 60 units in the last
    place: tests/samplers/test_brackets.py measures the one that is installed.

References
    Muller and others, Handbook of Floating-Point Arithmetic, 2018, Chapter 2. Devroye and Gravel, Random variate
    generation using only finitely many unbiased independently and identically distributed random bits, 2015.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.exact.rounding import decay_units
from discreet.samplers.source import Rows, Source, Words

Doubles = NDArray[np.float64]
Flags = NDArray[np.bool_]

ARITHMETIC = 2.0**-48
LIBRARY = 2.0**-46
LARGEST = 2**62

_TINY = 2.0**-1000


class Uniforms:
    """A uniform number for each row, of which the leading bits of one word are known.

    Args:
        source: Where words come from.
        rows: Row of each number.
        attempts: Number of the attempt at drawing that row.
        place: Place of the first word; the following words of a number are `stride` places apart.
        skipped: How many bits of the first word are left for other uses.
        stride: How many numbers an attempt has.
    """

    def __init__(
        self, source: Source, rows: Rows, attempts: Rows, place: int, *, skipped: int = 0, stride: int
    ) -> None:
        self._source, self._rows, self._attempts = source, rows, attempts
        self._place, self._stride = place, stride
        self.word = source.words(rows, attempts, place)
        self.bits = source.bits - skipped
        self.leading: Words = self.word >> np.uint64(skipped) if skipped else self.word

    def bracket(self) -> "Bracket":
        """Bounds on the numbers by the leading bits."""
        width = 2.0**-self.bits
        low = self.leading.astype(np.float64)
        return Bracket(low * (width * (1 - ARITHMETIC)), (low + 1.0) * (width * (1 + ARITHMETIC)))

    def more(self, index: int, depth: int) -> int:
        """A further word of one number."""
        one, place = slice(index, index + 1), self._place + depth * self._stride
        return int(self._source.words(self._rows[one], self._attempts[one], place)[0])

    def known(self, index: int) -> "_Known":
        """One number, bit by bit."""
        return _Known(self, index)

    @property
    def word_bits(self) -> int:
        """The width of a further word."""
        return self._source.bits


class _Known:
    """The bits of one number that were ever needed."""

    def __init__(self, uniforms: Uniforms, index: int) -> None:
        self._uniforms, self._index, self._depth = uniforms, index, 0
        self.leading, self.bits = int(uniforms.leading[index]), uniforms.bits

    def is_below_decay(self, exponent: Fraction) -> bool:
        """Whether the number is below e^(-exponent): more bits are drawn until they decide."""
        while True:
            low, high = decay_units(exponent, self.bits)
            if self.leading < low:
                return True
            if self.leading >= high:
                return False
            self._depth += 1
            self.leading = self.leading << self._uniforms.word_bits | self._uniforms.more(self._index, self._depth)
            self.bits += self._uniforms.word_bits


class Bracket(NamedTuple):
    """Two columns of doubles, at most and at least the true numbers, none of which is negative."""

    low: Doubles
    high: Doubles

    def times(self, factor: float) -> "Bracket":
        """Products with one positive double."""
        return Bracket(self.low * (factor * (1 - ARITHMETIC)), self.high * (factor * (1 + ARITHMETIC)))

    def minus_log(self) -> "Bracket":
        """-ln of numbers in [0, 1]; infinite at 0."""
        with np.errstate(all="ignore"):
            least, most = -np.log(np.minimum(self.high, 1.0)), -np.log(self.low)
            return Bracket(least * (1 - LIBRARY), most * (1 + LIBRARY))

    def decay(self) -> "Bracket":
        """e^(-x); a bound that underflows stays one."""
        with np.errstate(all="ignore"):
            least, most = np.exp(-self.high), np.exp(-self.low)
            return Bracket(least * (1 - LIBRARY) - _TINY, most * (1 + LIBRARY) + _TINY)


def half_squared_distance(values: NDArray[np.int64], center: Fraction, width: float) -> Bracket:
    """(value - center)^2/(2 width^2) for whole values of at least 0, a center and a width above 0."""
    middle, factor = float(center), 0.5 / (width * width)
    wide = values.astype(np.float64)
    size, error = np.abs(wide - middle), (wide + middle) * ARITHMETIC
    low, high = np.maximum(size - error, 0.0), size + error
    return Bracket(low * low, high * high).times(factor)


def ratio(values: NDArray[np.int64], divisor: float) -> Bracket:
    """value/divisor for whole values of at least 0."""
    wide = values.astype(np.float64) / divisor
    return Bracket(wide * (1 - ARITHMETIC), wide * (1 + ARITHMETIC))


def exponential_floors(uniforms: Uniforms, scale: Fraction) -> NDArray[np.int64]:
    """floor(-scale ln U) for a scale that is a double."""
    low, high = uniforms.bracket().minus_log().times(float(scale))
    floors = np.floor(low)
    found = floors.astype(np.int64)
    for index in np.flatnonzero(floors != np.floor(high)).tolist():
        found[index] = _floor(uniforms.known(index), int(found[index]), scale)
    return found


def below_decay(uniforms: Uniforms, exponents: Bracket, exact: Callable[[int], Fraction]) -> Flags:
    """Whether U < e^(-exponent); `exact` gives the exponent of an index where brackets do not decide."""
    drawn, weight = uniforms.bracket(), exponents.decay()
    below: Flags = drawn.high <= weight.low
    for index in np.flatnonzero(~below & (drawn.low < weight.high)).tolist():
        below[index] = uniforms.known(index).is_below_decay(exact(index))
    return below


def _floor(known: _Known, least: int, scale: Fraction) -> int:
    """The greatest k with U < e^(-k/scale), which is at least `least`: by doubling steps, then by halving them."""

    def is_at_least(k: int) -> bool:
        return known.is_below_decay(k / scale)

    step = 1
    while is_at_least(least + step):
        least, step = least + step, 2 * step
        if least > LARGEST:
            raise OverflowError("a draw beyond 64 bits")
    while step > 1:
        step //= 2
        if is_at_least(least + step):
            least += step
    return least
