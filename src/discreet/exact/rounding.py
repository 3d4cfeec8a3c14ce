"""Directed rounding: numbers on a stated side of a real number, and intervals that hold it.

Definition
    `exp_up`, `log_up` and `sqrt_up` return a rational at least the value of the function, `_down` one at most. `units`,
    `digits` and `double` round a rational to a grid, to significant digits and to a double in the same two ways.
    `Directed` is decimal arithmetic of a given precision, rounded to one side. An interval is two numbers, `low` at
    most and `high` at least the true one: `Interval` of rationals, `DecimalInterval` of decimals. `decay_units` holds
    an exponential between two multiples of 2^-bits.

Guarantee
    Every result is on the side that its name states, and every interval holds the true number. Proof:
    docs/proofs/exact/rounding.md.

Exactness
    Square roots are within one part in 10^57, e^x within 12 + |x| parts in 10^59, logarithms within two parts in 10^58
    and 10^-58. `decay_units` are one or two units apart. Units, digits and doubles are the nearest on their side. Where
    a float is used it is a guess, and rationals decide.

Not covered
    Exponents above 10,000, which are refused. Decimals beyond 10^(+-999,999), which raise an error of `decimal`.

References
    Moore, Interval Analysis, 1966. Cowlishaw, General Decimal Arithmetic Specification 1.70, 2009, and the Python
    library reference, `decimal`: exp, ln and square root are correctly rounded to nearest, ties to even.
"""

import decimal
import math
import sys
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

from discreet.errors import ParameterError
from discreet.exact.numbers import out_of_range, shown

DIGITS = 60
BRIEF_DIGITS = 12
REACH = 999_999

_TRAPS = [decimal.InvalidOperation, decimal.DivisionByZero, decimal.Overflow]
_SPARE_DIGITS = 10
_FARTHEST_REACH = 999_999_999
_PLACES = 10**120
_DEEPEST_EXPONENT = Fraction(10**4)
_LARGEST_DOUBLE = Fraction(sys.float_info.max)
# Ten units of the last digit, where one would do: stored events hold rationals that were rounded so.
_SLACK = Fraction(1, 10 ** (DIGITS - 2))


def units_up(value: Fraction, per_unit: int) -> int:
    """The least whole number of units of size 1/per_unit that covers the value."""
    return -(-value.numerator * per_unit // value.denominator)


def units_down(value: Fraction, per_unit: int) -> int:
    """The greatest whole number of units of size 1/per_unit within the value."""
    return value.numerator * per_unit // value.denominator


def digits_up(value: Fraction, digits: int) -> Fraction:
    """The least rational of so many significant digits that is at least the value."""
    step = last_digit(value, digits) if value else Fraction(1)
    return math.ceil(value / step) * step


def digits_down(value: Fraction, digits: int) -> Fraction:
    """The greatest rational of so many significant digits that is at most the value."""
    return -digits_up(-value, digits)


def last_digit(value: Fraction, digits: int) -> Fraction:
    """Place value of the last of `digits` significant digits of a nonzero value."""
    size = abs(value)
    guess = math.floor(math.log10(size.numerator) - math.log10(size.denominator))
    below = guess - (Fraction(10) ** guess > size)
    exponent = below + (Fraction(10) ** (below + 1) <= size)
    return Fraction(10) ** (exponent - digits + 1)


def brief_up(value: Fraction) -> Fraction:
    """The value itself where it is short, else the least rational of 12 significant digits at or above it.

    An accountant states an upper bound; rounded up it stays one, and a person can read it.
    """
    if value <= 0 or max(value.numerator, value.denominator) < 10**BRIEF_DIGITS:
        return value
    return digits_up(value, BRIEF_DIGITS)


def shown_up(value: Fraction, digits: int = 6) -> str:
    """A rational as people write it, never below the value: a guarantee states at least what was spent."""
    text = shown(value, digits)
    return text if value <= 0 or Fraction(text) >= value else shown(digits_up(value, digits), digits)


def double_up(value: Fraction) -> float:
    """The least double that is at least the value."""
    if abs(value) > _LARGEST_DOUBLE:
        raise ParameterError(
            "a number beyond the largest double",
            because="noise scales are drawn as doubles",
            instead="a larger epsilon, or tighter bounds",
        )
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def double_down(value: Fraction) -> float:
    """The greatest double that is at most the value."""
    return -double_up(-value)


def sqrt_double_up(value: Fraction) -> float:
    """The least double whose square is at least the value."""
    guess = double_up(sqrt_up(value))
    while (smaller := math.nextafter(guess, 0.0)) > 0 and Fraction(smaller) ** 2 >= value:
        guess = smaller
    return guess


class Directed:
    """Decimals of so many digits, rounded to one side.

    Args:
        digits: The precision.
        up: Whether results are at least the true ones, or else at most.
        reach: The largest exponent of ten, and the smallest with the sign turned.
    """

    def __init__(self, digits: int, *, up: bool, reach: int = REACH) -> None:
        rounding = decimal.ROUND_CEILING if up else decimal.ROUND_FLOOR
        self.up = up
        self.context = decimal.Context(digits, rounding, -reach, reach, traps=_TRAPS)

    def of(self, value: Fraction) -> Decimal:
        """The value on this side."""
        return self.context.divide(Decimal(value.numerator), Decimal(value.denominator))

    def exp(self, value: Decimal) -> Decimal:
        """e^value on this side; above zero where it is rounded up, even where it underflows."""
        nearest = self.context.exp(value)
        return self.context.next_plus(nearest) if self.up else max(Decimal(0), self.context.next_minus(nearest))

    def sqrt(self, value: Decimal) -> Decimal:
        """The square root on this side."""
        return self.step_outward(self.context.sqrt(value))

    def step_outward(self, nearest: Decimal) -> Decimal:
        """`sqrt` and `ln` round to nearest in every context: one unit to this side; an exact 0 stays."""
        if not nearest:
            return nearest
        return self.context.next_plus(nearest) if self.up else self.context.next_minus(nearest)


_UP, _DOWN = Directed(DIGITS, up=True), Directed(DIGITS, up=False)


def sqrt_up(value: Fraction) -> Fraction:
    """A rational at least the square root, above it by less than one part in 10^57."""
    return _outward(_UP.context.sqrt(_UP.of(value)), up=True)


def sqrt_down(value: Fraction) -> Fraction:
    """A rational at most the square root of a positive value, below it by less than one part in 10^57."""
    return 1 / sqrt_up(1 / value)


def exp_up(value: Fraction) -> Fraction:
    """A rational at least e^value."""
    if value > _DEEPEST_EXPONENT:
        raise out_of_range("an exponent")
    return _outward(_UP.context.exp(_UP.of(max(value, -_DEEPEST_EXPONENT))), up=True)


def exp_down(value: Fraction) -> Fraction:
    """A rational at most e^value."""
    if value < -_DEEPEST_EXPONENT:
        return Fraction(0)
    return _outward(_DOWN.context.exp(_DOWN.of(min(value, _DEEPEST_EXPONENT))), up=False)


def log_up(value: Fraction) -> Fraction:
    """A rational at least the natural logarithm of a positive value."""
    return _outward(_UP.context.ln(_UP.of(value)), up=True)


def log_down(value: Fraction) -> Fraction:
    """A rational at most the natural logarithm of a positive value."""
    return _outward(_DOWN.context.ln(_DOWN.of(value)), up=False)


def _outward(nearest: Decimal, *, up: bool) -> Fraction:
    exact = Fraction(nearest)
    step = abs(exact) * _SLACK
    return exact + step if up else exact - step


def decay_units(exponent: Fraction, bits: int) -> tuple[int, int]:
    """Whole numbers of units 2^-bits with e^(-exponent) between them, one or two apart; exponent >= 0."""
    if exponent == 0:
        return 1 << bits, 1 << bits
    if exponent >= bits:
        return 0, 1
    digits = bits * 31 // 100 + _SPARE_DIGITS
    down, up = (Directed(digits, up=side, reach=_FARTHEST_REACH) for side in (False, True))
    low, high = down.exp(down.of(-exponent)), up.exp(up.of(-exponent))
    return units_down(Fraction(low), 1 << bits), units_up(Fraction(high), 1 << bits)


class Interval(NamedTuple):
    """Two rationals, at most and at least the true value."""

    low: Fraction
    high: Fraction

    def over(self, other: "Interval") -> "Interval":
        """The quotient of two positive numbers."""
        return Interval(self.low / other.high, self.high / other.low)

    def widened(self, part: Fraction) -> "Interval":
        """The same with so large a part of itself on either side."""
        return Interval(self.low * (1 - part), self.high * (1 + part))


def point(value: Fraction | int) -> Interval:
    """A number that is known."""
    return Interval(Fraction(value), Fraction(value))


def exp(value: Fraction) -> Interval:
    """e^value; exactly one at zero."""
    return point(1) if value == 0 else Interval(exp_down(value), exp_up(value))


def log(value: Interval) -> Interval:
    """The natural logarithm of a positive number."""
    low = Fraction(0) if value.low == 1 else log_down(value.low)
    return Interval(low, Fraction(0) if value.high == 1 else log_up(value.high))


def total(parts: Iterable[Interval]) -> Interval:
    """A sum of numbers that are not negative, each rounded to 120 places."""
    low, high = 0, 0
    for part in parts:
        low += units_down(part.low, _PLACES)
        high += units_up(part.high, _PLACES)
    return Interval(Fraction(low, _PLACES), Fraction(high, _PLACES))


def power_ratio(one: Interval, other: Interval, order: Fraction) -> Interval:
    """one^order/other^(order - 1) of positive numbers, for an order above one."""
    if order.denominator == 1:
        whole = order.numerator
        return Interval(one.low**whole / other.high ** (whole - 1), one.high**whole / other.low ** (whole - 1))
    here, there = log(one), log(other)
    return Interval(
        exp_down(order * here.low - (order - 1) * there.high), exp_up(order * here.high - (order - 1) * there.low)
    )


class DecimalInterval(NamedTuple):
    """Two decimals, at most and at least the true value."""

    low: Decimal
    high: Decimal

    def negative(self) -> "DecimalInterval":
        """All -x."""
        return DecimalInterval(self.high.copy_negate(), self.low.copy_negate())


class IntervalArithmetic:
    """Decimal intervals rounded outward, for numbers of which so many significant bits are known."""

    def __init__(self, bits: int) -> None:
        digits = bits * 3 // 10 + _SPARE_DIGITS
        self.bits = bits
        self._down, self._up = Directed(digits, up=False), Directed(digits, up=True)
        self._floor, self._ceiling = self._down.context, self._up.context

    def ratio(self, least: int, most: int, denominator: int) -> DecimalInterval:
        """[least/denominator, most/denominator]."""
        below = Decimal(denominator)
        return DecimalInterval(self._floor.divide(Decimal(least), below), self._ceiling.divide(Decimal(most), below))

    def plus(self, one: DecimalInterval, other: DecimalInterval) -> DecimalInterval:
        """All sums of a number of the one and a number of the other."""
        return DecimalInterval(self._floor.add(one.low, other.low), self._ceiling.add(one.high, other.high))

    def times(self, one: DecimalInterval, other: DecimalInterval) -> DecimalInterval:
        """All products, of numbers that are not negative."""
        return DecimalInterval(self._floor.multiply(one.low, other.low), self._ceiling.multiply(one.high, other.high))

    def over(self, one: DecimalInterval, other: DecimalInterval) -> DecimalInterval:
        """All quotients of numbers that are not negative by numbers above zero."""
        return DecimalInterval(self._floor.divide(one.low, other.high), self._ceiling.divide(one.high, other.low))

    def root(self, one: DecimalInterval) -> DecimalInterval:
        """All square roots, of numbers that are not negative."""
        return DecimalInterval(self._down.sqrt(one.low), self._up.sqrt(one.high))

    def exp(self, one: DecimalInterval) -> DecimalInterval:
        """All e^x."""
        return DecimalInterval(self._down.exp(one.low), self._up.exp(one.high))

    def minus_log(self, one: DecimalInterval) -> DecimalInterval:
        """All -ln x, of numbers in (0, 1), by one logarithm: ln(high) <= ln(low) + (high - low)/low."""
        nearest = self._ceiling.ln(one.low).copy_negate()
        spread = self._ceiling.divide(self._ceiling.subtract(one.high, one.low), one.low)
        low = self._floor.subtract(self._down.step_outward(nearest), spread)
        return DecimalInterval(max(Decimal(0), low), self._up.step_outward(nearest))

    def less_one(self, one: DecimalInterval) -> DecimalInterval:
        """All x - 1, of numbers above 1: what lies below 0 by rounding is cut off."""
        low = self._floor.subtract(one.low, Decimal(1))
        return DecimalInterval(max(Decimal(0), low), self._ceiling.subtract(one.high, Decimal(1)))
