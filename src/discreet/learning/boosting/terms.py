"""Terms of an additive model: one feature, or a pair; each has a place for every slot or pair of slots."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from discreet.errors import ParameterError
from discreet.learning.boosting.defaults import PAIR_LEAVES
from discreet.learning.core.features import DeclaredFeature
from discreet.learning.core.lattice import Integers
from discreet.learning.core.rows import Codes

MOST_PLACES = 1 << 20


@dataclass(frozen=True)
class Term:
    """One feature or a pair, by the numbers of their columns.

    Attributes:
        columns: The columns of the features.
        slots: Number of slots of each.
        is_ordered: For each, whether neighbouring slots are neighbouring values.
    """

    columns: tuple[int, ...]
    slots: tuple[int, ...]
    is_ordered: tuple[bool, ...]

    @classmethod
    def of(cls, features: Mapping[str, DeclaredFeature], names: Sequence[str]) -> Self:
        """The term of these features."""
        order = list(features)
        return cls(
            tuple(order.index(name) for name in names),
            tuple(features[name].slots for name in names),
            tuple(features[name].is_ordered for name in names),
        )

    @property
    def size(self) -> int:
        """Number of places of the term's table."""
        return math.prod(self.slots)

    def places(self, codes: Codes) -> Integers:
        """The place of each row in the term's table."""
        found = codes[:, self.columns[0]].astype(np.int64)
        for column, slots in zip(self.columns[1:], self.slots[1:], strict=True):
            found = found * slots + codes[:, column]
        return found


@dataclass(frozen=True, eq=False)
class Leaves:
    """A random partition of the places of a term, drawn without data.

    Attributes:
        term: The number of the term.
        leaf: The leaf of each place of the term.
        count: Number of leaves.
    """

    term: int
    leaf: Integers
    count: int


def terms_of(features: Mapping[str, DeclaredFeature], interactions: Sequence[tuple[str, str]] = ()) -> tuple[Term, ...]:
    """The terms of a model: each feature, then each pair.

    Raises:
        ParameterError: If a pair names a feature that is not declared, one feature twice, or has too many places.
    """
    pairs = [tuple(pair) for pair in interactions]
    for pair in pairs:
        if len(pair) != 2 or pair[0] == pair[1] or not set(pair) <= set(features):
            raise ParameterError(
                f"interactions with {pair!r}",
                because="an interaction is a pair of two declared features",
                instead=f"interactions=[{tuple(features)[:2]!r}]" if len(features) > 1 else "interactions=None",
            )
    terms = tuple(Term.of(features, names) for names in [*((name,) for name in features), *pairs])
    if any(term.size > MOST_PLACES for term in terms):
        raise ParameterError(
            "an interaction with more than a million pairs of slots",
            because="the model has a table with a place for each pair",
            instead="features with fewer bins, such as dp.learning.linear_bins(0, 100, 32)",
        )
    return terms


def random_leaves(term: Term, number: int, most: int, generator: np.random.Generator) -> Leaves:
    """A random partition of a term's places: random cuts of ordered slots, random groups of categories."""
    limit = most if len(term.slots) == 1 else min(most, PAIR_LEAVES)
    found, count = np.zeros(1, dtype=np.int64), 1
    for slots, is_ordered in zip(term.slots, term.is_ordered, strict=True):
        part = _random_groups(slots, min(limit, slots), is_ordered, generator)
        width = min(limit, slots)
        found = (found[:, None] * width + part[None, :]).ravel()
        count *= width
    return Leaves(number, found, count)


def _random_groups(slots: int, groups: int, is_ordered: bool, generator: np.random.Generator) -> Integers:
    if slots <= groups:
        return np.arange(slots, dtype=np.int64)
    if is_ordered:  # missing values are a leaf of their own
        cuts = np.sort(generator.choice(np.arange(2, slots), size=groups - 2, replace=False))
        return np.searchsorted(cuts, np.arange(slots), side="right").astype(np.int64) + (np.arange(slots) > 0)
    return generator.integers(0, groups, size=slots).astype(np.int64)
