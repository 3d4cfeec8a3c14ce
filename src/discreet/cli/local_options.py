"""Options of `discreet local`: numbers and choices in words of the command line, in the place of those of Python."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from fractions import Fraction

from discreet.errors import ParameterError, Refusal

_FEWEST, _MOST = Fraction(1, 1_000_000), 20
_LONGEST = 60
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d{1,3})?|[+-]?\d+/\d+", re.ASCII | re.IGNORECASE)
_OPTIONS = {"size": "--domain", "cohorts": "--n"}
_ARGUMENT = re.compile(
    r"\b(size|max_bytes|max_values|epsilon_second|epsilon|repeat|trust|steps|low|high|domain|confidence|batch|n)"
    r"=(\"?)([\w.,/+-]*[\w/])\2"
)


class RepeatRule(StrEnum):
    """What a client reports when it is asked again."""

    FRESH = "fresh"
    MEMOISED = "memoised"
    TWO_STAGE = "two_stage"


class TrustModel(StrEnum):
    """Who sees single reports."""

    LOCAL = "local"
    SHUFFLE = "shuffle"
    DAP = "dap"


@contextmanager
def as_options() -> Iterator[None]:
    """Errors of the library with options in the place of arguments of Python: `--max-bytes 32` for `max_bytes=32`."""
    try:
        yield
    except Refusal as error:
        what, because, instead = map(_as_option, (error.what, error.because, error.instead))
        raise type(error)(what, because=because, instead=instead) from None


def read_number(text: str, option: str, example: str = "1") -> Fraction:
    """The number that an option has: a decimal, a fraction, or one with an exponent."""
    if not _NUMBER.fullmatch(text) or len(text) > _LONGEST or re.search(r"/0+$", text):
        raise ParameterError(
            f"{option} {text[:_LONGEST]!r}",
            because=f"it is not a finite number in at most {_LONGEST} characters",
            instead=f"{option} {example}",
        )
    return Fraction(text)


def read_epsilon(text: str, option: str = "--epsilon") -> Fraction:
    """An epsilon that oracles have."""
    epsilon = read_number(text, option)
    if not _FEWEST <= epsilon <= _MOST:
        raise ParameterError(
            f"{option} {text}",
            because=f"epsilon is a number from 0.000001 to {_MOST}",
            instead=f"{option} 1",
        )
    return epsilon


def read_confidence(number: float) -> float:
    """A confidence that intervals may have."""
    if not 0 < number < 1:
        raise ParameterError(
            f"--confidence {number:g}",
            because="an interval holds with a probability above 0 and below 1",
            instead="--confidence 0.95",
        )
    return number


def _as_option(text: str) -> str:
    def option(match: re.Match[str]) -> str:
        name, _, value = match.groups()
        return f"{_OPTIONS.get(name, '--' + name.replace('_', '-'))} {value}"

    return _ARGUMENT.sub(option, text)
