"""A distribution in closed form: a forest over the columns, with a two-way table on every edge.

The tables agree on the columns that they share, so every marginal is a sum of products along the tree. A slot that was
merged for the tables has its share of the merged group, independently of all other columns.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from discreet.errors import ParameterError
from discreet.synthesis.core.domain import Columns, Domain
from discreet.synthesis.core.measurement import Floats
from discreet.synthesis.core.model import Slots
from discreet.synthesis.rows.drawing import draw_child, draw_column, slot_type
from discreet.synthesis.rows.rounding import normalise

MOST_MODEL_CELLS = 1 << 26
"""Cells of a marginal up to which a model answers."""


@dataclass(frozen=True, eq=False)
class TreeColumn:
    """A column of a tree.

    Attributes:
        groups: The group of each slot; slots of a group were merged.
        shares: The probability of each slot given its group.
        probabilities: The probability of each group.
    """

    groups: tuple[int, ...]
    shares: Floats
    probabilities: Floats

    @property
    def split(self) -> Floats:
        """The probability of each slot (columns) given each group (rows)."""
        table = np.zeros((self.probabilities.size, self.shares.size))
        table[np.asarray(self.groups), np.arange(self.shares.size)] = self.shares
        return table

    @property
    def is_merged(self) -> bool:
        """Whether a group has several slots."""
        return self.probabilities.size < self.shares.size


@dataclass(frozen=True, eq=False)
class TreeModel:
    """A forest of columns.

    Attributes:
        total: The estimated number of rows.
        columns: The columns, in the order of the domain.
        tables: The probability of each pair of groups, for each edge; it adds to the probabilities of both columns.
    """

    total: float
    columns: Mapping[str, TreeColumn]
    tables: Mapping[Columns, Floats]

    @property
    def domain(self) -> Domain:
        """The columns and their slots."""
        return Domain({name: len(column.groups) for name, column in self.columns.items()})

    @property
    def edges(self) -> tuple[Columns, ...]:
        """The pairs of columns that have a table."""
        return tuple(self.tables)

    def marginal(self, columns: Iterable[str]) -> Floats:
        """The estimated counts of any columns, which add to the total.

        Args:
            columns: Names of columns.

        Returns:
            One axis for each column, in the order of the domain.

        Raises:
            ParameterError: If there are more than 2^26 cells.
        """
        wanted = self.domain.ordered(columns)
        if self.domain.cells(wanted) > MOST_MODEL_CELLS:
            raise ParameterError(
                f"a marginal of {self.domain.cells(wanted):,} cells",
                because=f"a marginal has at most {MOST_MODEL_CELLS:,} cells in memory",
                instead=f"model.marginal({list(wanted[:2])!r})",
            )
        joint, names = self._joint(wanted)
        joint = joint.transpose([names.index(name) for name in wanted])
        for axis, name in enumerate(wanted):
            column = self.columns[name]
            if column.is_merged:
                shape = [-1 if place == axis else 1 for place in range(len(wanted))]
                joint = joint.take(np.asarray(column.groups), axis=axis) * column.shares.reshape(shape)
        return self.total * joint

    def rows(self, number: int, generator: np.random.Generator) -> Slots:
        """Rows with whole numbers in the cells of all edges.

        Args:
            number: The number of rows.
            generator: Public randomness.

        Returns:
            The slots, one line for each row and one place for each column of the domain.
        """
        return self.rows_with({}, number, generator)

    def rows_with(self, given: Mapping[str, Slots], number: int, generator: np.random.Generator) -> Slots:
        """Rows of which some columns are given.

        Args:
            given: The slots of columns that are not merged; with a column, those between it and the first of its tree.
            number: The number of rows.
            generator: Public randomness.

        Returns:
            The slots, one line for each row and one place for each column of the domain.
        """
        drawn: dict[str, Slots] = dict(given)
        for name, parent in self.order:
            if name in given:
                continue
            if parent is None:
                drawn[name] = draw_column(self.columns[name].probabilities, number, generator)
            else:
                others = [drawn[each] for each in self._nearest(parent) if each in drawn]
                drawn[name] = draw_child(drawn[parent], self.conditional(name, parent), generator, others)
        widest = max((len(column.groups) for column in self.columns.values()), default=1)
        rows = np.empty((number, len(self.columns)), dtype=slot_type(widest), order="F")
        for place, (name, column) in enumerate(self.columns.items()):
            others = [drawn[each] for each in self._nearest(name)]
            rows[:, place] = (
                draw_child(drawn[name], column.split, generator, others) if column.is_merged else drawn[name]
            )
        return rows

    def conditional(self, child: str, parent: str) -> Floats:
        """The probability of each group of a column (columns) given each group of a neighbour (rows)."""
        return normalise(self._table(parent, child))

    @cached_property
    def order(self) -> tuple[tuple[str, str | None], ...]:
        """The columns with their parents: each tree from its first column on, parents before children."""
        found: dict[str, str | None] = {}
        for root in self.columns:
            waiting: list[tuple[str, str | None]] = [] if root in found else [(root, None)]
            while waiting:
                name, parent = waiting.pop()
                found[name] = parent
                waiting += [(each, name) for each in self._neighbours[name] if each != parent]
        return tuple(found.items())

    def to_json(self) -> dict[str, Any]:
        """The model as plain data."""
        columns = [
            {
                "name": name,
                "groups": list(column.groups),
                "shares": column.shares.tolist(),
                "probabilities": column.probabilities.tolist(),
            }
            for name, column in self.columns.items()
        ]
        edges = [
            {"columns": list(pair), "probabilities": table.ravel().tolist()} for pair, table in self.tables.items()
        ]
        return {"kind": "tree", "total": self.total, "columns": columns, "edges": edges}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "TreeModel":
        """The model from its plain data."""
        columns = {
            each["name"]: TreeColumn(tuple(each["groups"]), np.array(each["shares"]), np.array(each["probabilities"]))
            for each in data["columns"]
        }
        tables: dict[Columns, Floats] = {}
        for edge in data["edges"]:
            one, other = edge["columns"]
            shape = (columns[one].probabilities.size, columns[other].probabilities.size)
            tables[one, other] = np.array(edge["probabilities"], dtype=np.float64).reshape(shape)
        return cls(float(data["total"]), columns, tables)

    @cached_property
    def _neighbours(self) -> dict[str, list[str]]:
        near: dict[str, list[str]] = {name: [] for name in self.columns}
        for one, other in self.tables:
            near[one].append(other)
            near[other].append(one)
        return near

    def _table(self, one: str, other: str) -> Floats:
        return self.tables[one, other] if (one, other) in self.tables else self.tables[other, one].T

    def _joint(self, wanted: Columns) -> tuple[Floats, list[str]]:
        """The probabilities of groups, and the columns of the axes: trees are independent of each other."""
        joint, names = np.ones(()), list[str]()
        while left := [name for name in wanted if name not in names]:
            root = max(left, key=lambda name: self.columns[name].probabilities.size)
            below, others = self._below(root, None, frozenset(wanted))
            tree = below * _widen(self.columns[root].probabilities, below.ndim - 1)
            joint, names = np.multiply.outer(joint, tree), [*names, root, *others]
        return joint, names

    def _below(self, name: str, parent: str | None, wanted: frozenset[str]) -> tuple[Floats, list[str]]:
        """The probability of the wanted columns below a column, given its group: its groups are the first axis."""
        found, names = np.ones(self.columns[name].probabilities.size), list[str]()
        for child in self._neighbours[name]:
            if child == parent or not self._reach(child, name) & wanted:
                continue
            below, others = self._below(child, name, wanted)
            given = self.conditional(child, name)
            if child in wanted:
                below, others = _widen(given, below.ndim - 1) * below[None], [child, *others]
            else:
                below = np.tensordot(given, below, axes=1)
            spread = below.reshape(below.shape[:1] + (1,) * (found.ndim - 1) + below.shape[1:])
            found, names = _widen(found, below.ndim - 1) * spread, [*names, *others]
        return found, names

    def _reach(self, name: str, parent: str) -> set[str]:
        """A column and all columns beyond it, seen from a neighbour."""
        return {name, *self._nearest(name, parent)}

    def _nearest(self, name: str, without: str | None = None) -> list[str]:
        """The columns of the same tree, the nearest first; those beyond a neighbour may be left out."""
        found = [name] if without is None else [without, name]
        for here in found:
            if here != without:
                found += [each for each in self._neighbours[here] if each not in found]
        return found[1 if without is None else 2 :]


def _widen(values: Floats, axes: int) -> Floats:
    return values.reshape(values.shape + (1,) * axes)
