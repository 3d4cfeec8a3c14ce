"""Rationals in and out, and rounding that names its direction.

Privacy parameters are read once, here, into `Fraction`; a float is read by its shortest decimal, so 0.1 is 1/10.
Transcendental functions return rationals that are proven to lie on the named side: `decimal` rounds `exp`, `ln` and
`sqrt` correctly at the working precision, and one unit in the last place is added or taken away.
"""

import decimal
import math
import sys
from decimal import Decimal
from fractions import Fraction

from discreet.errors import ParameterError

Number = int | float | Fraction | Decimal

DIGITS = 60
BRIEF_DIGITS = 12
_CONTEXT = decimal.Context(prec=DIGITS, Emin=-999_999, Emax=999_999, rounding=decimal.ROUND_HALF_EVEN)
_ULP = Fraction(1, 10 ** (DIGITS - 2))
_LARGEST_EXPONENT = 400
_DEEPEST_EXPONENT = Fraction(10**4)
_LARGEST_DOUBLE = Fraction(sys.float_info.max)


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
            raise _out_of_range(name)
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


def units_up(value: Fraction, per_unit: int) -> int:
    """The least whole number of units of size 1/per_unit that covers the value."""
    return math.ceil(value * per_unit)


def units_down(value: Fraction, per_unit: int) -> int:
    """The greatest whole number of units of size 1/per_unit within the value."""
    return math.floor(value * per_unit)


def double_up(value: Fraction) -> float:
    """The least double that is at least the value."""
    if abs(value) > _LARGEST_DOUBLE:
        raise _beyond_doubles()
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def double_down(value: Fraction) -> float:
    """The greatest double that is at most the value."""
    return -double_up(-value)


def sqrt_up(value: Fraction) -> Fraction:
    """A rational at least the square root, above it by less than one part in 10^57."""
    return _outward(_decimal(value, up=True).sqrt(_CONTEXT), up=True)


def sqrt_down(value: Fraction) -> Fraction:
    """A rational at most the square root of a positive value, below it by less than one part in 10^57."""
    return 1 / sqrt_up(1 / value)


def sqrt_double_up(value: Fraction) -> float:
    """The least double whose square is at least the value."""
    guess = double_up(sqrt_up(value))
    while (smaller := math.nextafter(guess, 0.0)) > 0 and Fraction(smaller) ** 2 >= value:
        guess = smaller
    return guess


def exp_up(value: Fraction) -> Fraction:
    """A rational at least e^value."""
    if value > _DEEPEST_EXPONENT:
        raise _out_of_range("an exponent")
    return _outward(_CONTEXT.exp(_decimal(max(value, -_DEEPEST_EXPONENT), up=True)), up=True)


def exp_down(value: Fraction) -> Fraction:
    """A rational at most e^value."""
    if value < -_DEEPEST_EXPONENT:
        return Fraction(0)
    return _outward(_CONTEXT.exp(_decimal(min(value, _DEEPEST_EXPONENT), up=False)), up=False)


def log_up(value: Fraction) -> Fraction:
    """A rational at least the natural logarithm of a positive value."""
    return _outward(_CONTEXT.ln(_decimal(value, up=True)), up=True)


def log_down(value: Fraction) -> Fraction:
    """A rational at most the natural logarithm of a positive value."""
    return _outward(_CONTEXT.ln(_decimal(value, up=False)), up=False)


def brief_up(value: Fraction) -> Fraction:
    """The value itself where it is short, else the least rational of 12 significant digits at or above it.

    What accountants state is an upper bound; rounded up it stays one, and a person can read it.
    """
    if value <= 0 or max(value.numerator, value.denominator) < 10**BRIEF_DIGITS:
        return value
    step = Fraction(10) ** (_exponent(value) - BRIEF_DIGITS + 1)
    return math.ceil(value / step) * step


def shown(value: Fraction, digits: int = 6) -> str:
    """A rational as people write it: whole, or with a few significant digits."""
    if value.denominator == 1:
        return str(value.numerator)
    return f"{float(value):.{digits}g}"


def shown_up(value: Fraction, digits: int = 6) -> str:
    """The same, never below the value: what a guarantee states is at least what was spent."""
    text = shown(value, digits)
    if value <= 0 or Fraction(text) >= value:
        return text
    step = Fraction(10) ** (_exponent(value) - digits + 1)
    return shown(-(-value // step) * step, digits)


def _exponent(value: Fraction) -> int:
    """The power of ten of the first significant digit of a positive value."""
    guess = math.floor(math.log10(value.numerator) - math.log10(value.denominator))
    below = guess - (Fraction(10) ** guess > value)
    return below + (Fraction(10) ** (below + 1) <= value)


def _decimal(value: Fraction, *, up: bool) -> Decimal:
    with decimal.localcontext(_CONTEXT) as context:
        context.rounding = decimal.ROUND_CEILING if up else decimal.ROUND_FLOOR
        return Decimal(value.numerator) / Decimal(value.denominator)


def _outward(value: Decimal, *, up: bool) -> Fraction:
    exact = Fraction(value)
    step = abs(exact) * _ULP
    return exact + step if up else exact - step


def _ordinary(value: Fraction, name: str) -> Fraction:
    digits = 10**_LARGEST_EXPONENT
    if abs(value.numerator) > digits * value.denominator or (
        value and abs(value.numerator) * digits < value.denominator
    ):
        raise _out_of_range(name)
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


def _beyond_doubles() -> ParameterError:
    return ParameterError(
        "a number beyond the largest double",
        because="noise scales are drawn as doubles",
        instead="a larger epsilon, or tighter bounds",
    )


def _out_of_range(name: str) -> ParameterError:
    return ParameterError(
        f"{name} outside 10^-{_LARGEST_EXPONENT} to 10^{_LARGEST_EXPONENT}",
        because="a number of that size cannot be a privacy parameter or a bound",
        instead=f"{name}=0.5, or another number of ordinary size",
    )
