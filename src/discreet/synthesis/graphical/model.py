"""A graphical model of a table: potentials of measured marginals over slots, some of which are merged."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from discreet.synthesis.core.domain import Columns, Domain
from discreet.synthesis.core.measurement import Floats, Integers
from discreet.synthesis.graphical.belief_propagation import Beliefs
from discreet.synthesis.graphical.estimation import Potentials, Rules, beliefs_of
from discreet.synthesis.graphical.row_sampling import draw_rows
from discreet.synthesis.rows.constraints import Allowed, SlotRule


@dataclass(frozen=True)
class SlotGroups:
    """Slots of a column that are modelled together.

    Attributes:
        groups: The group of each slot.
        shares: The share that each slot has of its group; those of a group add to 1.
    """

    groups: tuple[int, ...]
    shares: tuple[float, ...]

    def expand(self, values: Floats, axis: int) -> Floats:
        """A table of groups as a table of slots."""
        shape = [1] * values.ndim
        shape[axis] = len(self.shares)
        return np.asarray(np.take(values, self.groups, axis=axis) * np.asarray(self.shares).reshape(shape))

    def draw(self, column: Integers, generator: np.random.Generator) -> Integers:
        """Slots for groups: evenly spaced quantiles within each group, in random order."""
        slots = np.empty(len(column), dtype=np.int64)
        groups, shares = np.asarray(self.groups), np.asarray(self.shares)
        for group in range(max(self.groups) + 1):
            rows, own = generator.permutation(np.flatnonzero(column == group)), np.flatnonzero(groups == group)
            quantiles = (np.arange(len(rows)) + generator.random()) / max(len(rows), 1)
            places = np.searchsorted(np.cumsum(shares[own]), quantiles, side="right")
            slots[rows] = own[np.minimum(places, len(own) - 1)]
        return slots


@dataclass(frozen=True, eq=False)
class GraphicalModel:
    """A distribution over the cells of a domain, as a product of tables of a few columns each.

    Attributes:
        domain: The columns and their slots.
        total: The estimated number of rows.
        groups: The columns with merged slots.
        potentials: Logarithms of the tables, over merged slots.
        rules: The cells that may have mass, of columns whose slots are not merged.
    """

    domain: Domain
    total: float
    groups: Mapping[str, SlotGroups]
    potentials: Potentials
    rules: Rules = field(default_factory=dict)

    @cached_property
    def beliefs(self) -> Beliefs:
        """The marginals of the cliques, over merged slots."""
        merged = self.domain.merge({name: each.groups for name, each in self.groups.items()})
        return beliefs_of(merged, self.potentials, self.rules)

    def marginal(self, columns: Iterable[str]) -> Floats:
        """The estimated counts of any columns: one axis for each, in the order of the domain."""
        names = self.domain.ordered(columns)
        values = self.total * self.beliefs.marginal(names)
        for axis, name in enumerate(names):
            if name in self.groups:
                values = self.groups[name].expand(values, axis)
        return values

    def rows(self, number: int, generator: np.random.Generator) -> Integers:
        """Rows that are drawn from the model."""
        rows = draw_rows(self.beliefs, number, generator)
        for place, name in enumerate(self.domain.names):
            if name in self.groups:
                rows[:, place] = self.groups[name].draw(rows[:, place], generator)
        return rows

    def to_json(self) -> dict[str, Any]:
        """The model as plain data."""
        rules = [SlotRule(columns, allowed).to_json() for columns, allowed in self.rules.items()]
        return {
            "kind": "graphical",
            "slots": dict(self.domain.slots),
            "total": self.total,
            "groups": {
                name: {"groups": list(each.groups), "shares": list(each.shares)} for name, each in self.groups.items()
            },
            "potentials": [
                {"columns": list(columns), "values": [round(float(value), 6) for value in table.ravel()]}
                for columns, table in self.potentials.items()
            ],
            **({"rules": rules} if rules else {}),
        }


def model_from_json(data: Mapping[str, Any]) -> GraphicalModel:
    """The model of plain data.

    Args:
        data: What `GraphicalModel.to_json` gave.

    Returns:
        The model.
    """
    domain = Domain(dict(data["slots"]))
    groups = {name: SlotGroups(tuple(each["groups"]), tuple(each["shares"])) for name, each in data["groups"].items()}
    merged = domain.merge({name: each.groups for name, each in groups.items()})
    potentials: dict[Columns, Floats] = {}
    for each in data["potentials"]:
        columns = tuple(each["columns"])
        potentials[columns] = np.asarray(each["values"], dtype=np.float64).reshape(merged.shape(columns))
    rules = {tuple(columns): _allowed(text, domain.shape(tuple(columns))) for columns, text in data.get("rules", [])}
    return GraphicalModel(domain, float(data["total"]), groups, potentials, rules)


def _allowed(text: str, shape: tuple[int, ...]) -> Allowed:
    """The bits that `SlotRule.to_json` wrote."""
    bits = np.unpackbits(np.frombuffer(bytes.fromhex(text), dtype=np.uint8), count=math.prod(shape))
    return np.asarray(bits.reshape(shape), dtype=np.bool_)
