"""How far apart two answers of any kind are, exactly: floats are rationals, and what no noise covers is infinite.

An answer is taken apart into places: a number is one place, a list or an array has one for each element, a mapping one
for each key, a table one for each cell. Two answers are infinitely far apart where one has a place that the other has
not, where a place holds NaN or an infinity on either side, or where it holds something that is no number and differs.
"""

import math
import numbers
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal

import numpy as np

Norm = Literal["l1", "l2", "linf"]
Place = tuple[Any, ...]

INFINITE = math.inf


def distance(one: object, other: object, norm: Norm) -> Fraction | float:
    """The distance in a norm, the squared one for l2; a Fraction, or infinity."""
    moved = list(differences(one, other))
    if INFINITE in moved:
        return INFINITE
    return _NORMS[norm](moved)  # type: ignore[arg-type]


def differences(one: object, other: object) -> Iterator[Fraction | float]:
    """How far apart the answers are at each place where they differ."""
    here, there = dict(places(one)), dict(places(other))
    if here.keys() != there.keys():
        yield INFINITE
        return
    for place, value in here.items():
        yield _apart(value, there[place])


def places(answer: object, place: Place = ()) -> Iterator[tuple[Place, object]]:
    """The places of an answer with what they hold; a container also says how long it is."""
    if hasattr(answer, "as_py"):
        answer = answer.as_py()
    if isinstance(answer, np.ndarray) and not answer.ndim:
        answer = answer.item()
    parts = _parts(answer)
    if parts is None:
        yield place, answer
        return
    yield (*place, "length"), str(len(parts))
    for key, part in parts:
        yield from places(part, (*place, key))


def exact(value: object) -> Fraction | float | None:
    """A number as the rational that it is, infinity for what is not finite, or None for what is no number."""
    if isinstance(value, bool | np.bool_):
        return Fraction(int(value))
    if isinstance(value, float | np.floating):
        return Fraction(*value.as_integer_ratio()) if math.isfinite(value) else INFINITE
    if isinstance(value, Decimal):
        return Fraction(value) if value.is_finite() else INFINITE
    if isinstance(value, numbers.Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    return None


def _apart(one: object, other: object) -> Fraction | float:
    here, there = exact(one), exact(other)
    if here is None or there is None:
        return Fraction(0) if type(one) is type(other) and one == other else INFINITE
    if isinstance(here, float) or isinstance(there, float):
        return INFINITE
    return abs(here - there)


def _parts(answer: Any) -> list[tuple[Any, Any]] | None:
    """What a container holds, each part with its key; None for what is no container."""
    if isinstance(answer, np.ndarray):
        return list(enumerate(answer))
    if isinstance(answer, Mapping):
        return [(_key(key), part) for key, part in answer.items()]
    if hasattr(answer, "to_pydict"):
        return list(answer.to_pydict().items())
    if hasattr(answer, "to_pylist"):
        return list(enumerate(answer.to_pylist()))
    if hasattr(answer, "to_dict") and hasattr(answer, "columns"):
        return [(str(name), answer[name].to_list()) for name in answer.columns]
    if isinstance(answer, set | frozenset):
        return [(_key(part), True) for part in answer]
    if isinstance(answer, Sequence) and not isinstance(answer, str | bytes | bytearray):
        return list(enumerate(answer))
    return list(enumerate(answer.to_list())) if hasattr(answer, "to_list") else None


def _key(key: Any) -> Any:
    """A key that is equal to itself, which NaN is not."""
    return "nan" if isinstance(key, float) and math.isnan(key) else key


_NORMS: Mapping[Norm, Callable[[list[Fraction]], Fraction]] = {
    "l1": lambda moved: sum(moved, Fraction(0)),
    "l2": lambda moved: sum((step**2 for step in moved), Fraction(0)),
    "linf": lambda moved: max(moved, default=Fraction(0)),
}
