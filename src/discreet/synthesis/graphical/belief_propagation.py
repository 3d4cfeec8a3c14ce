"""Belief propagation on a junction tree: the marginals of all cliques, and from them of any columns.

Messages go from the leaves to the root in log space, one exponential for each cell. Marginals go back in linear space.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet.synthesis.core.domain import Columns
from discreet.synthesis.core.measurement import Floats
from discreet.synthesis.graphical.factors import axes_outside, expand, project
from discreet.synthesis.graphical.junction_tree import JunctionTree

SMALL_PRODUCT = 50_000
MOST_CELLS = 1 << 24
"""Cells that a marginal, and each step on the way to it, may have."""


@dataclass(frozen=True, eq=False)
class Beliefs:
    """The marginals of the cliques of a tree, as probabilities; they agree where cliques meet.

    Attributes:
        tree: The junction tree.
        marginals: The probabilities of each clique.
        log_partition: The logarithm of the sum of the product of all potentials.
    """

    tree: JunctionTree
    marginals: tuple[Floats, ...]
    log_partition: float
    _projections: dict[tuple[int, Columns], Floats] = field(default_factory=dict, repr=False)

    def marginal(self, columns: Columns) -> Floats:
        """The probabilities of any columns.

        Raises:
            ValueError: If a table on the way has more than MOST_CELLS cells.
        """
        place = self.tree.place(columns)
        if place is not None:
            return self.projection(place, columns)
        place = max(range(len(self.tree.cliques)), key=lambda each: len({*self.tree.cliques[each]} & {*columns}))
        found, names = self._collect(place, -1, frozenset(columns))
        return _transpose(found, names, columns)

    def pairs(self, wanted: Iterable[Columns]) -> dict[Columns, Floats]:
        """The probabilities of pairs of columns, faster than one by one: each first column visits the tree once."""
        found: dict[Columns, Floats] = {}
        others: dict[str, set[str]] = {}
        for pair in wanted:
            place = self.tree.place(pair)
            if place is not None:
                found[pair] = self.projection(place, pair)
            else:
                others.setdefault(pair[0], set()).add(pair[1])
        for first, seconds in others.items():
            found |= {(first, second): table for second, table in self._visit(first, seconds).items()}
        return found

    def projection(self, place: int, columns: Columns) -> Floats:
        """The probabilities of some columns of one clique."""
        key = (place, columns)
        if key not in self._projections:
            self._projections[key] = project(self.marginals[place], self.tree.cliques[place], columns)
        return self._projections[key]

    def _visit(self, first: str, seconds: set[str]) -> dict[str, Floats]:
        """The joint probabilities of one column with others, from its clique outwards."""
        start = self.tree.place((first,))
        if start is None:
            raise ValueError("a column that the tree does not have")
        found: dict[str, Floats] = {}
        stack: list[tuple[int, int, Floats]] = [(start, -1, np.empty(0))]
        while stack:
            place, origin, given = stack.pop()
            shared = self._separator(place, origin) if origin >= 0 else ()
            for name in seconds.intersection(self.tree.cliques[place]) - found.keys():
                found[name] = self._extend(place, shared, given, first, (name,))
            for near in self.tree.neighbours[place]:
                if near != origin and seconds - found.keys():
                    border = self._separator(near, place)
                    joint = self._extend(place, shared, given, first, border)
                    below = self.projection(near, border)
                    stack.append((near, place, _divide(joint, below[None])))
        return found

    def _extend(self, place: int, shared: Columns, given: Floats, first: str, names: Columns) -> Floats:
        """The joint probabilities of a column and columns of a clique, from those of it given the shared columns."""
        domain = self.tree.domain
        if given.size == 0:  # the first column is in this clique
            if first in names:
                inner = self.projection(place, names)
                diagonal = np.eye(domain.slots[first]).reshape(
                    domain.slots[first], *[domain.slots[name] if name == first else 1 for name in names]
                )
                return diagonal * inner[None]
            return _transpose(
                self.projection(place, domain.ordered((first, *names))),
                domain.ordered((first, *names)),
                (first, *names),
            )
        both = domain.ordered({*shared, *names})
        table = self.projection(place, both)
        return _einsum([(given, ("", *shared)), (table, both)], ("", *names))

    def _separator(self, one: int, other: int) -> Columns:
        child = one if self.tree.parents[one] == other else other
        return self.tree.separators[child]

    def _collect(self, place: int, origin: int, wanted: frozenset[str]) -> tuple[Floats, Columns]:
        """The table of wanted columns on this side of the tree and of the columns shared with the origin.

        Given the shared columns it is a conditional probability.
        """
        clique = self.tree.cliques[place]
        outside = wanted - set(clique)
        parts = [
            self._collect(near, place, outside)
            for near in self.tree.neighbours[place]
            if near != origin and self._has(near, place, outside)
        ]
        shared = self._separator(place, origin) if origin >= 0 else ()
        needed = {*shared, *wanted, *(name for _, names in parts for name in names)} & set(clique)
        inner = self.tree.domain.ordered(needed)
        table = self.projection(place, inner)
        if shared:
            table = _divide(table, expand(self.projection(place, shared), shared, inner))
        below = {name for _, names in parts for name in names} & wanted
        names = (*shared, *sorted(((wanted & set(clique)) | below) - set(shared)))
        if self.tree.domain.cells(names) > MOST_CELLS:
            raise ValueError("a marginal of too many cells")
        return _einsum([(table, inner), *parts], names), names

    def _has(self, place: int, origin: int, wanted: Iterable[str]) -> bool:
        missing = set(wanted) - set(self.tree.cliques[place])
        if len(missing) < len(set(wanted)):
            return True
        return any(self._has(near, place, wanted) for near in self.tree.neighbours[place] if near != origin)


def calibrate(tree: JunctionTree, potentials: Sequence[Floats]) -> Beliefs:
    """The marginals of the distribution that is the product of exponentials of potentials, one for each clique."""
    scaled: list[Floats] = list(potentials)
    sums: list[Floats] = [np.empty(0)] * len(scaled)
    log_partition = 0.0
    for place in reversed(range(len(scaled))):
        clique, shared = tree.cliques[place], tree.separators[place]
        axes = axes_outside(clique, shared)
        largest = scaled[place].max(axis=axes, keepdims=True)
        largest[~np.isfinite(largest)] = 0.0
        scaled[place] = scaled[place] - largest
        np.exp(scaled[place], out=scaled[place])
        sums[place] = scaled[place].sum(axis=axes, keepdims=True)
        with np.errstate(divide="ignore"):
            message = np.log(sums[place]) + largest
        parent = tree.parents[place]
        if parent < 0:
            log_partition = float(message.item())
        else:
            message = expand(message.reshape(tree.domain.shape(shared)), shared, tree.cliques[parent])
            scaled[parent] = scaled[parent] + message
    for place, parent in enumerate(tree.parents):
        if parent < 0:
            scaled[place] /= sums[place]
        else:
            outer = project(scaled[parent], tree.cliques[parent], tree.separators[place])
            scaled[place] *= _divide(outer.reshape(sums[place].shape), sums[place])
    return Beliefs(tree, tuple(scaled), log_partition)


def _divide(one: Floats, other: Floats) -> Floats:
    """A quotient, 0 where the divisor is 0."""
    shape = np.broadcast_shapes(one.shape, other.shape)
    return np.divide(one, other, out=np.zeros(shape), where=np.broadcast_to(other > 0, shape))


def _transpose(values: Floats, names: Columns, wanted: Columns) -> Floats:
    return values.transpose([names.index(name) for name in wanted])


def _einsum(parts: Sequence[tuple[Floats, Columns]], wanted: Columns) -> Floats:
    """The product of tables, with all columns summed out that are not wanted."""
    numbers: dict[str, int] = {}
    arguments: list[Any] = []
    for values, names in parts:
        arguments += [values, [numbers.setdefault(name, len(numbers)) for name in names]]
    sizes = {name: size for values, names in parts for name, size in zip(names, values.shape, strict=True)}
    optimize = "greedy" if math.prod(sizes.values()) > SMALL_PRODUCT else False  # planning takes 100 microseconds
    return np.asarray(np.einsum(*arguments, [numbers[name] for name in wanted], optimize=optimize))
