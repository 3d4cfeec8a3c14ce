"""The domain of a task: the public list of values, numbered by slots.

A domain is a number of slots, a list of texts, or a range of numbers with steps. It never depends on what clients
have: a value that is not in it gets the default slot of the task, and a number outside of the range is clamped.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

from discreet.errors import ParameterError, public_class
from discreet.exact.numbers import Number, rational
from discreet.local.oracles.fields import check_size

LONGEST_NUMBER = 40
NUMBER = re.compile(
    rf"-?\d{{1,{LONGEST_NUMBER}}}(\.\d{{1,{LONGEST_NUMBER}}}|/0*[1-9]\d{{0,{LONGEST_NUMBER}}})?", re.ASCII
)


@public_class
@dataclass(frozen=True)
class SlotDomain:
    """Public values of a task. Exactly one form: a size, values, or a range with steps.

    Args:
        size: Number of slots; values are the numbers of slots.
        values: Different texts, one for each slot.
        low: Lowest number of a range.
        high: Highest number of a range.
        steps: Number of steps of the range.

    Raises:
        ParameterError: If the form is not one of the three, or a value is twice in the domain.

    Example:
        >>> import discreet as dp
        >>> dp.local.SlotDomain(low=0, high=100, steps=4).slot(60)
        2
    """

    size: int = 0
    values: tuple[str, ...] | None = None
    low: Fraction | None = None
    high: Fraction | None = None
    steps: int | None = None

    def __post_init__(self) -> None:
        if self.values is not None and not (self.size and self.size != len(self.values)) and self.low is None:
            self._read_values()
        elif self.steps is not None and self.low is not None and self.high is not None:
            self._read_range()
        elif self.values is not None or self.steps is not None or self.low is not None or self.high is not None:
            raise _shape()
        check_size(self.size)

    @classmethod
    def read(cls, domain: "SlotDomain | int | Mapping[str, Any] | list[str] | tuple[str, ...]") -> "SlotDomain":
        """A domain from user input: a number of slots, a list of values, or the fields of a range.

        Args:
            domain: The number, the list or the fields.

        Returns:
            The domain.

        Raises:
            ParameterError: If it is none of these.
        """
        match domain:
            case SlotDomain():
                return domain
            case bool():
                raise _shape()
            case int():
                return cls(size=domain)
            case Mapping():
                return cls.from_json(domain)
            case list() | tuple():
                return cls(values=tuple(domain))
        raise _shape()

    @property
    def is_numeric(self) -> bool:
        """Whether the domain is a range of numbers."""
        return self.steps is not None

    def slot(self, value: object) -> int | None:
        """The slot of a value; None for a value outside of the domain.

        Args:
            value: The value. A number of a range is clamped, and rounded to the nearest step, half a step upwards.

        Returns:
            The number of the slot.

        Raises:
            ParameterError: If the value of a range is not a finite number.
        """
        if self.steps is not None and self.low is not None and self.high is not None:
            position = (rational(value, "value") - self.low) / (self.high - self.low)
            return math.floor(min(max(position, Fraction(0)), Fraction(1)) * self.steps + Fraction(1, 2))
        if self.values is not None:
            return self.values.index(value) if value in self.values else None
        return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < self.size else None

    def label(self, slot: int) -> str | int | Fraction:
        """The value that a slot stands for.

        Args:
            slot: The number of the slot.

        Returns:
            A text, a number of a range, or the number of the slot.
        """
        if self.steps is not None and self.low is not None and self.high is not None:
            return self.low + (self.high - self.low) * Fraction(slot, self.steps)
        return slot if self.values is None else self.values[slot]

    def to_json(self) -> dict[str, Any]:
        """The domain as it stands in a task.

        Returns:
            Its fields.
        """
        if self.steps is not None and self.low is not None and self.high is not None:
            return {"low": number_text(self.low), "high": number_text(self.high), "steps": self.steps}
        return {"size": self.size} if self.values is None else {"values": list(self.values)}

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Self:
        """Read a domain from a task.

        Args:
            fields: Its fields.

        Returns:
            The domain.

        Raises:
            ParameterError: If the fields are not those of one form.
        """
        match dict(fields):
            case {"size": size, **rest} if not rest:
                return cls(size=check_size(size))
            case {"values": [*values], **rest} if not rest:
                return cls(values=tuple(values))
            case {"low": low, "high": high, "steps": steps, **rest} if not rest:
                return cls(low=read_number(low, "low"), high=read_number(high, "high"), steps=steps)
        raise _shape()

    def _read_values(self) -> None:
        values = tuple(self.values or ())
        if not all(isinstance(value, str) for value in values) or len(set(values)) < len(values):
            raise ParameterError(
                "values of a domain that are not different texts",
                because="each slot stands for one text",
                instead='domain=["yes", "no"]',
            )
        check_text(*values)
        object.__setattr__(self, "values", tuple(map(str.__str__, values)))
        object.__setattr__(self, "size", len(values))

    def _read_range(self) -> None:
        low, high = rational(self.low, "low"), rational(self.high, "high")
        steps = check_size(self.steps, least=1)
        if low >= high or self.size not in (0, steps + 1):
            raise _shape()
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        object.__setattr__(self, "size", steps + 1)


def check_text(*texts: str) -> None:
    """Refuse half of a pair of surrogates, which no file of UTF-8 has."""
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        raise ParameterError(
            "text with half of a pair of surrogates",
            because="it cannot be written as UTF-8, so no device and no file has it",
            instead="text that was decoded without errors=",
        ) from None


def number_text(value: Fraction) -> str:
    """A rational as tasks write it: a decimal where it is one, else a fraction."""
    twos, rest = 0, value.denominator
    while rest % 2 == 0:
        twos, rest = twos + 1, rest // 2
    fives = 0
    while rest % 5 == 0:
        fives, rest = fives + 1, rest // 5
    if rest != 1:
        return str(value)
    places = max(twos, fives)
    digits = str(abs(value.numerator) * 10**places // value.denominator).rjust(places + 1, "0")
    sign = "-" if value < 0 else ""
    return f"{sign}{digits[: len(digits) - places]}.{digits[len(digits) - places :]}" if places else f"{sign}{digits}"


def read_number(value: object, name: str) -> Fraction:
    """A rational from the text that tasks write, or from a number in user input."""
    if not isinstance(value, str):
        return rational(value, name)
    if not NUMBER.fullmatch(value):
        raise ParameterError(
            f"{name} that is not a number",
            because=f"{name} is a decimal or a fraction of at most {LONGEST_NUMBER} digits",
            instead=f'{name}="0.5"',
        )
    return rational(Fraction(value), name)


def decimal_or_fraction(value: Number | str, name: str) -> str:
    """A number in user input, as tasks write it."""
    return number_text(read_number(value, name))


def _shape() -> ParameterError:
    return ParameterError(
        "a domain that is not of one form",
        because="a domain is a number of slots, a list of texts, or a range low < high with steps",
        instead='domain=1024, domain=["yes", "no"], or domain={"low": 0, "high": 100, "steps": 256}',
    )
