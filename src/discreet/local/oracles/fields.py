"""Fields of oracles in a task: whole numbers, and fractions as two whole numbers in lowest terms."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.errors import ParameterError

LARGEST_SIZE = 2**24


@dataclass(frozen=True)
class NumberField:
    """How a task writes and reads one number of an oracle.

    Attributes:
        read: The number, from its value and its name in a task; refused outside its range.
        write: Its value in a task.
        name: Its name in a task. Default: that of the attribute.
    """

    read: Callable[[object, str], int | Fraction]
    write: Callable[[Any], object]
    name: str = ""


Fields = Mapping[str, NumberField]


def whole_field(least: int = 2, name: str = "") -> NumberField:
    """A whole number from `least` to 2^24."""
    return NumberField(lambda value, _: check_size(value, least=least), int, name)


def read_ratio(pair: object, name: str) -> Fraction:
    """A rational from its numerator and denominator in lowest terms, as tasks write it."""
    match pair:
        case [numerator, denominator] if type(numerator) is type(denominator) is int:
            if numerator >= 0 and denominator > 0 and math.gcd(numerator, denominator) == 1:
                return Fraction(numerator, denominator)
    raise ParameterError(
        f"{name} that is not a fraction in lowest terms",
        because="a task writes each fraction as two whole numbers without a common factor",
        instead=f'"{name}": [3, 1]',
    )


def write_ratio(value: Fraction) -> list[int]:
    """A rational as tasks write it."""
    return [value.numerator, value.denominator]


ratio_field = NumberField(read_ratio, write_ratio)


def check_fields(fields: Mapping[str, Any], kind: str, names: tuple[str, ...]) -> None:
    """Refuse an oracle with another kind, a missing field, a further field, or a number that is not whole."""
    wrong = sorted({"kind", *names} ^ set(fields))
    if fields.get("kind") != kind or wrong:
        raise ParameterError(
            f"an oracle of kind {fields.get('kind')!r} that lacks or adds {', '.join(wrong) or 'nothing'}",
            because=f"the oracle {kind!r} has the fields {', '.join(names)}",
            instead="the JSON of a task that Task.choose made",
        )


def check_size(size: object, *, least: int = 2) -> int:
    """A number of slots."""
    if isinstance(size, bool) or not isinstance(size, int) or not least <= size <= LARGEST_SIZE:
        raise ParameterError(
            f"size={size!r}",
            because=f"a domain has at least {least} and at most {LARGEST_SIZE:,} slots",
            instead="size=1024; for more values, heavy hitters by a prefix tree",
        )
    return size


def check_ratio(ratio: object) -> Fraction:
    """A likelihood ratio above 1."""
    if not isinstance(ratio, Fraction) or ratio <= 1:
        raise ParameterError(
            f"ratio={ratio}",
            because="reports of two values must differ: the likelihood ratio is a Fraction above 1",
            instead="ratio=ratio_within(epsilon)",
        )
    return ratio
