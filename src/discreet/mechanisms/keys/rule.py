"""Parameters of every rule for keys: the keys of one unit, neighbours, delta, and how many units are too few.

Keys with fewer than `at_least` units are never considered, and a key of n units is taken for one of n - (at_least - 1).
That number moves by at most one with n, and is zero exactly where the key is not considered, so a property of n
and keys that are not there holds of it.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError, short_traceback
from discreet.exact.numbers import Number, positive, probability, whole
from discreet.mechanisms import lattice

Relation = Literal["add_remove", "replace_one"]
Units = Sequence[int] | NDArray[np.integer[Any]]

LARGEST_COUNT = 2**62


class SelectedKey(NamedTuple):
    """The place of a key that is kept, and its number of units with noise."""

    place: int
    units: int


@dataclass(frozen=True, init=False)
class Rule(ABC):
    """Which keys may be named, by how many units each has."""

    delta: Fraction
    groups: int
    neighbours: Relation
    at_least: int

    def __init__(self, delta: Number, groups: int, neighbours: Relation, at_least: int) -> None:
        positive(delta, "delta")
        if neighbours not in ("add_remove", "replace_one"):
            raise ParameterError(
                f"neighbours={neighbours!r}",
                because="there are two neighbour relations",
                instead='neighbours="add_remove" or neighbours="replace_one"',
            )
        object.__setattr__(self, "delta", probability(delta, "delta"))
        object.__setattr__(self, "groups", whole(groups, "groups"))
        object.__setattr__(self, "neighbours", str(neighbours))
        object.__setattr__(self, "at_least", whole(at_least, "at_least"))

    @abstractmethod
    def keep_probability(self, units: int) -> Fraction | float:
        """The probability that a key of so many units is kept."""

    @short_traceback
    def least_units(self, chance: Number = 0.5) -> int:
        """The least number of units for which a key is kept with at least this probability."""
        wanted = positive(probability(chance, "chance", example="0.5"), "chance")
        short, enough = 0, 1
        while self.keep_probability(enough) < wanted:
            short, enough = enough, 2 * enough
        while enough - short > 1:
            middle = (short + enough) // 2
            short, enough = (short, middle) if self.keep_probability(middle) >= wanted else (middle, enough)
        return enough

    @property
    def changed_keys(self) -> int:
        """The number of keys whose counts of units one unit can change."""
        return self.groups * (2 if self.neighbours == "replace_one" else 1)

    def effective_units(self, units: int) -> int:
        """Units counted from `at_least` on: one at `at_least`, and zero below."""
        return max(0, units - self.at_least + 1)

    def alone(self, keys: int) -> Fraction:
        """The delta of one of so many keys: all of them together stay within the whole."""
        return lattice.allowed_tail(keys, 1 - self.delta)


def counts_of(units: Units) -> list[int]:
    """How many units each key has, exactly; the message names a type and never a number."""
    listed = units.tolist() if isinstance(units, np.ndarray) and units.ndim == 1 else units
    if isinstance(listed, str | bytes) or not isinstance(listed, Sequence) or not set(map(type, listed)) <= {int}:
        raise ParameterError(
            f"numbers of units of type {type(units).__name__}",
            because="they are whole numbers, one for each key that is there",
            instead="release([812, 1, 40])",
        )
    if listed and not 0 <= min(listed) <= max(listed) <= LARGEST_COUNT:
        raise ParameterError(
            "a number of units that no table has",
            because="it is at least zero and has at most 62 bits",
            instead="release([812, 1, 40])",
        )
    return list(listed)
