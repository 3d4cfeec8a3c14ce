"""How far apart two answers of any kind are, exactly: floats are rationals, and what no noise covers is infinite.

An answer is taken apart into places: a number is one place, a list or an array has one for each element, a mapping one
for each key, a table one for each cell. Two answers are infinitely far apart where one has a place that the other has
not, where a place holds NaN or an infinity on either side, or where it holds something that is no number and differs.
What has no equality of its own differs from everything but itself, which says nothing of data: it is `Incomparable`.
"""

import itertools
import math
import numbers
from collections.abc import Callable, Iterator, Mapping, Sequence, ValuesView
from collections.abc import Set as AbstractSet
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal

import numpy as np

Norm = Literal["l1", "l2", "linf"]
Place = tuple[Any, ...]

INFINITE = math.inf
MOST_ITEMS = 100_000


class Incomparable(Exception):  # noqa: N818 - a reason, and no error of anybody's
    """Why two answers cannot be compared."""


def distance(one: object, other: object, norm: Norm) -> Fraction | float:
    """The distance in a norm, the squared one for l2; a Fraction, or infinity."""
    moved = list(differences(one, other))
    if INFINITE in moved:
        return INFINITE
    return _NORMS[norm](moved)  # type: ignore[arg-type]


def materialize(answer: Any) -> Any:
    """An answer with a list in the place of every iterator, which can be read once and equals nothing but itself."""
    if isinstance(answer, Iterator):
        items = list(itertools.islice(answer, MOST_ITEMS + 1))
        if len(items) > MOST_ITEMS:
            raise Incomparable(f"an iterator gives more than {MOST_ITEMS:,} items")
        return [materialize(item) for item in items]
    if type(answer) in (list, tuple):
        return type(answer)(materialize(item) for item in answer)
    return {key: materialize(part) for key, part in answer.items()} if type(answer) is dict else answer


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
        return Fraction(0) if type(one) is type(other) and _equal(one, other) else INFINITE
    if isinstance(here, float) or isinstance(there, float):
        return INFINITE
    return abs(here - there)


def _equal(one: object, other: object) -> bool:
    """Whether two things of one type are equal, where that type knows."""
    if one is other:
        return True
    if type(one).__eq__ is object.__eq__:
        raise Incomparable(f"answers of type {type(one).__name__} have no equality of their own")
    try:
        return bool(one == other)
    except Exception as error:
        raise Incomparable(f"answers of type {type(one).__name__} cannot be compared") from error


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
    if isinstance(answer, AbstractSet):
        return [(_key(part), True) for part in answer]
    if isinstance(answer, Sequence | ValuesView) and not isinstance(answer, str | bytes | bytearray):
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
