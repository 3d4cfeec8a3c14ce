"""A distribution of persons and of their visits, in closed form: a tree of persons, and a tree of visits above it.

The tree of persons has the number of visits and the columns of persons. The tree of visits has them, too, weighted by
the number of visits, and every column of visits with one parent: a column of persons, or another column of visits. So
persons are drawn first, then the visits of each. Given their parents, the visits of one person do not depend on each
other.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.synthesis.core.domain import Columns, Domain
from discreet.synthesis.core.measurement import Floats
from discreet.synthesis.core.model import Slots
from discreet.synthesis.tree.constrain import unmerge
from discreet.synthesis.tree.model import TreeColumn, TreeModel

PERSONS_IN_A_BLOCK = 200_000


class LinkedRows(NamedTuple):
    """Persons with their visits, as slots.

    Attributes:
        persons: A line for each person, with a place for each column of the tree of persons.
        owners: The line of the person of each visit.
        visits: A line for each visit, with a place for each column of the tree of visits.
    """

    persons: Slots
    owners: NDArray[np.int64]
    visits: Slots


@dataclass(frozen=True, eq=False)
class TwoLevelModel:
    """A tree of persons and a tree of visits.

    Attributes:
        persons: The persons. The first column is the number of visits; its last slot, a missing number, never occurs.
        visits: The visits with the columns of their persons, which come first and are not merged.
        identifier: The name of the column that holds the synthetic persons.
    """

    persons: TreeModel
    visits: TreeModel
    identifier: str

    @property
    def domain(self) -> Domain:
        """The columns of visits and of their persons."""
        return self.visits.domain

    @property
    def total(self) -> float:
        """The estimated number of visits."""
        return self.visits.total

    @property
    def number(self) -> str:
        """The name of the column that holds the number of visits."""
        return next(iter(self.persons.columns))

    def marginal(self, columns: Iterable[str]) -> Floats:
        """The estimated numbers of visits, by columns of visits and of their persons."""
        return self.visits.marginal(columns)

    def rows(self, number: int, generator: np.random.Generator) -> Slots:
        """Visits with the columns of their persons; it is not drawn whose they are."""
        return self.visits.rows(number, generator)

    def linked_rows(self, number: int, generator: np.random.Generator) -> Iterator[LinkedRows]:
        """Persons with their visits, in blocks.

        Args:
            number: The number of visits. The last person has only as many as are left.
            generator: Public randomness.

        Yields:
            Blocks of persons with all their visits.
        """
        mean = mean_number(self.persons)
        while number > 0:
            wanted = min(math.ceil(number / mean), PERSONS_IN_A_BLOCK)
            block = self._visits_of(_cut(self.persons.rows(wanted, generator), number), generator)
            number -= len(block.owners)
            yield block

    def to_json(self) -> dict[str, Any]:
        """The model as plain data."""
        trees = {"persons": self.persons.to_json(), "visits": self.visits.to_json()}
        return {"kind": "two_level", "identifier": self.identifier} | trees

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "TwoLevelModel":
        """The model from its plain data."""
        persons, visits = (TreeModel.from_json(data[level]) for level in ("persons", "visits"))
        return cls(persons, visits, data["identifier"])

    def _visits_of(self, persons: Slots, generator: np.random.Generator) -> LinkedRows:
        owners = np.repeat(np.arange(len(persons)), persons[:, 0].astype(np.int64) + 1)
        given = {name: persons[owners, place] for place, name in enumerate(self.persons.columns)}
        return LinkedRows(persons, owners, self.visits.rows_with(given, len(owners), generator))


def mean_number(persons: TreeModel) -> float:
    """The mean number of visits of a person; at least 1."""
    name, column = next(iter(persons.columns.items()))
    probabilities = persons.marginal((name,)) if persons.total > 0 else column.probabilities @ column.split
    weights = probabilities[:-1] / max(probabilities[:-1].sum(), 1e-300)
    return max(float(weights @ np.arange(1, weights.size + 1)), 1.0)


def weigh_by_number(persons: TreeModel) -> TreeModel:
    """The tree of persons where each counts as often as it has visits.

    Args:
        persons: A tree whose first column is the number of visits.

    Returns:
        A tree of the same edges whose columns are not merged; its total is the estimated number of visits.
    """
    whole = unmerge(persons, set(persons.columns))
    found: dict[str, TreeColumn] = {}
    tables: dict[Columns, Floats] = {}
    for name, parent in whole.order:  # the first column is the root of its tree
        probabilities = whole.columns[name].probabilities
        if not found:
            probabilities = probabilities * np.append(np.arange(1, probabilities.size), 0)
            probabilities = probabilities / probabilities.sum()
        elif parent is not None:
            table = whole.conditional(name, parent) * found[parent].probabilities[:, None]
            is_along = (parent, name) in whole.tables
            tables[(parent, name) if is_along else (name, parent)] = table if is_along else table.T
            probabilities = table.sum(axis=0)
        size = probabilities.size
        found[name] = TreeColumn(tuple(range(size)), np.ones(size), probabilities)
    columns = {name: found[name] for name in whole.columns}
    return TreeModel(persons.total * mean_number(persons), columns, {pair: tables[pair] for pair in whole.tables})


def _cut(persons: Slots, visits: int) -> Slots:
    """The first persons that have this number of visits; the last has those that are left."""
    so_far = np.cumsum(persons[:, 0].astype(np.int64) + 1)
    last = int(np.searchsorted(so_far, visits))
    if last < len(persons):
        persons = persons[: last + 1].copy()
        persons[last, 0] -= so_far[last] - visits
    return persons
