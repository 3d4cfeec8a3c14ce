"""Rational intervals that hold a real number: the arithmetic by which exact comparisons of probabilities are decided.

An interval is two rationals with the true value between them. Exponentials and logarithms come from `exact`, which
rounds outward by one part in 10^58, so what is made of them is as narrow as that allows. A comparison is decided where
the intervals do not overlap; docs/proofs/auditing/exact/masses.md says what is known where they do.
"""

from collections.abc import Iterable
from fractions import Fraction
from typing import NamedTuple

from discreet.exact import exp_down, exp_up, log_down, log_up

_DIGITS = 10**120


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
    """A sum of numbers that are not negative, kept to 120 places."""
    low, high = 0, 0
    for part in parts:
        low += part.low.numerator * _DIGITS // part.low.denominator
        high -= -part.high.numerator * _DIGITS // part.high.denominator
    return Interval(Fraction(low, _DIGITS), Fraction(high, _DIGITS))


def powered(one: Interval, other: Interval, order: Fraction) -> Interval:
    """one^order other^(1 - order) of positive numbers, for an order above one."""
    if order.denominator == 1:
        whole = order.numerator
        return Interval(one.low**whole / other.high ** (whole - 1), one.high**whole / other.low ** (whole - 1))
    here, there = log(one), log(other)
    return Interval(
        exp_down(order * here.low - (order - 1) * there.high), exp_up(order * here.high - (order - 1) * there.low)
    )
