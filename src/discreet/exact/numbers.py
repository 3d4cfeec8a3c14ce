"""Numbers that people type, read as rationals, and rationals shown to people.

Privacy parameters are read once, here, into `Fraction`; a float is read by its shortest decimal, so 0.1 is 1/10.
Directed rounding is in `rounding`.
"""

import math
import sys
from decimal import Decimal
from fractions import Fraction

from discreet.errors import ParameterError

Number = int | float | Fraction | Decimal

_LARGEST_EXPONENT = 400


def rational(value: object, name: str) -> Fraction:
    """The exact value of a number that a person typed; NaN, infinities, booleans and text are refused."""
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction | Decimal):
        index = None if isinstance(value, bool) else getattr(value, "__index__", None)
        if index is None:
            raise _not_a_number(value, name)
        return _ordinary(Fraction(int(index())), name)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise _not_finite(name)
        return Fraction(float.__repr__(value))
    if isinstance(value, Decimal):
        if not value.is_finite():
            raise _not_finite(name)
        if abs(value.adjusted()) > _LARGEST_EXPONENT:
            raise out_of_range(name)
    return _ordinary(Fraction(value), name)


def positive(value: object, name: str) -> Fraction:
    """A rational above zero."""
    number = rational(value, name)
    if number <= 0:
        raise ParameterError(
            f"{name}={_show(value)}",
            because=f"{name} must be above zero",
            instead=f"{name}=0.1, or another number above zero",
        )
    return number


def whole(value: object, name: str, *, least: int = 1) -> int:
    """An integer of at least `least`; floats, booleans and text are refused even where they look whole."""
    index = None if isinstance(value, bool) else getattr(value, "__index__", None)
    if index is None or int(index()) < least:
        raise ParameterError(
            f"{name}={_show(value)}",
            because=f"{name} must be a whole number of at least {least}",
            instead=f"{name}={max(least, 10)}",
        )
    return int(index())


def probability(value: object, name: str, *, example: str = "1e-9") -> Fraction:
    """A rational in [0, 1); the example is what a refusal suggests, unless a percentage was meant."""
    number = rational(value, name)
    if not 0 <= number < 1:
        raise ParameterError(
            f"{name}={_show(value)}",
            because=f"{name} is a probability: at least 0 and below 1",
            instead=f"{name}={example if example == '1e-9' or not 1 < number < 100 else shown(number / 100)}",
        )
    return number


def shown(value: Fraction, digits: int = 6) -> str:
    """A rational as people write it: whole, or with a few significant digits."""
    if value.denominator == 1:
        return str(value.numerator)
    return f"{float(value):.{digits}g}"


def out_of_range(name: str) -> ParameterError:
    """The error for a number that is too large or too small."""
    return ParameterError(
        f"{name} outside 10^-{_LARGEST_EXPONENT} to 10^{_LARGEST_EXPONENT}",
        because="a number of that size cannot be a privacy parameter or a bound",
        instead=f"{name}=0.5, or another number of ordinary size",
    )


def _ordinary(value: Fraction, name: str) -> Fraction:
    digits = 10**_LARGEST_EXPONENT
    if abs(value.numerator) > digits * value.denominator or (
        value and abs(value.numerator) * digits < value.denominator
    ):
        raise out_of_range(name)
    return value


def _show(value: object) -> str:
    try:
        text = repr(value)
    except ValueError:
        text = f"a number of more than {sys.get_int_max_str_digits()} digits"
    return text if len(text) <= 40 else text[:37] + "..."


def _not_a_number(value: object, name: str) -> ParameterError:
    return ParameterError(
        f"{name}={_show(value)}",
        because=f"{name} must be a number, and this is of type {type(value).__name__}",
        instead=f"{name}=0.5, an int, a Fraction or a Decimal",
    )


def _not_finite(name: str) -> ParameterError:
    return ParameterError(
        f"{name} that is not finite",
        because="NaN and infinities have no place in a privacy statement",
        instead=f"{name}=0.5, or another finite number",
    )
