"""Columns as slots: the bins of a number or date, or the declared values of another column, and one slot for the rest.

The last slot holds missing values, and those that are not declared. Everything here is public.
"""

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.catalog.catalog import ColumnType, Value
from discreet.catalog.columns import is_of_type
from discreet.plan.logical import Scalar
from discreet.plan.physical import Pushdown, Term

MOST_CELLS = 1 << 22
"""Cells of a marginal up to which distances between two fit 64 bits."""
MOST_CELLS_OF_A_BATCH = 1 << 26
"""Cells of all marginals of a batch: 512 MB of counts."""

Marginal = tuple[str, ...]
"""Names of the columns of a marginal, in the order of the table."""
Counts = Mapping[Marginal, NDArray[np.int64]]


@dataclass(frozen=True)
class SlotColumn:
    """A column with its slots.

    Attributes:
        name: Name of the column.
        type: Its type.
        edges: Of a number or date: k + 1 increasing edges of k bins. A bin holds values from its lower edge to below
            its upper one. Values below the first edge are in the first bin, those from the last edge on in the last.
        values: Of another column: the declared values.
    """

    name: str
    type: ColumnType
    edges: tuple[Scalar, ...] = ()
    values: tuple[Value, ...] = ()

    @property
    def size(self) -> int:
        """The number of slots, with the one for missing values."""
        return self.missing + 1

    @property
    def missing(self) -> int:
        """The slot of missing values and of those that are not declared."""
        return len(self.edges) - 1 if self.edges else len(self.values)

    def to_json(self) -> dict[str, Any]:
        """The column as plain data; dates and times are ISO text."""
        edges, values = ([_plain(each) for each in some] for some in (self.edges, self.values))
        return {"name": self.name, "type": str(self.type), "edges": edges, "values": values}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "SlotColumn":
        """The column that `to_json` wrote.

        Raises:
            KeyError, TypeError, ValueError: If the data is damaged.
        """
        kind = ColumnType(data["type"])
        edges, values = (tuple(_read(each, kind) for each in data[some]) for some in ("edges", "values"))
        if not isinstance(data["name"], str) or bool(edges) == bool(values) or len(edges) == 1:
            raise ValueError("a column has a name, and edges or values")
        return cls(data["name"], kind, edges, values)


@dataclass(frozen=True)
class SlotTerm:
    """A column with the term that computes its cells from those of the source."""

    column: SlotColumn
    term: Term


class UnitRule(StrEnum):
    """Which of the slots of a unit's rows is the slot of the unit: the least or the greatest declared one.

    Missing values come last in both: a unit has that slot if none of its rows has a declared value.
    """

    MIN = "min"
    MAX = "max"


@dataclass(frozen=True)
class UnitColumns:
    """Columns that have one slot for each unit: by a rule over the rows that count, or the number of these rows.

    Attributes:
        number: The number of rows of a unit that count: its values are 1, 2 and so on up to the bound.
        rules: The rule of each other column, by its name.
    """

    number: SlotColumn
    rules: tuple[tuple[str, UnitRule], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """All columns that have one slot for each unit, the number of rows first."""
        return (self.number.name, *(name for name, _ in self.rules))

    def covers(self, marginal: Marginal) -> bool:
        """Whether a marginal has such columns alone, so that it counts units instead of rows."""
        return set(marginal) <= set(self.names)


@dataclass(frozen=True)
class MarginalBatch:
    """Marginals over the slots of columns, counted over the rows of one query; its keys and measures play no part.

    Attributes:
        pushdown: The rows.
        columns: The columns, with their slots.
        marginals: The columns of each marginal.
        units: Columns that have one slot for each unit, or None. Every row of a unit carries them. A marginal of such
            columns alone counts each unit once; every other marginal counts rows.
    """

    pushdown: Pushdown
    columns: tuple[SlotTerm, ...]
    marginals: tuple[Marginal, ...]
    units: UnitColumns | None = None

    def shape(self, marginal: Marginal) -> tuple[int, ...]:
        """The numbers of slots of a marginal."""
        sizes = {each.column.name: each.column.size for each in self.columns}
        if self.units is not None:
            sizes[self.units.number.name] = self.units.number.size
        return tuple(sizes[name] for name in marginal)

    @property
    def cells(self) -> tuple[int, ...]:
        """The number of cells of each marginal."""
        return tuple(math.prod(self.shape(marginal)) for marginal in self.marginals)


def columns_to_json(columns: Sequence[SlotColumn]) -> list[dict[str, Any]]:
    """Columns as plain data."""
    return [column.to_json() for column in columns]


def columns_from_json(data: Sequence[dict[str, Any]]) -> tuple[SlotColumn, ...]:
    """The columns that `columns_to_json` wrote."""
    return tuple(SlotColumn.from_json(each) for each in data)


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, dt.date) else value


def _read(value: Any, kind: ColumnType) -> Any:
    parse = {ColumnType.DATE: dt.date.fromisoformat, ColumnType.TIMESTAMP: dt.datetime.fromisoformat}.get(kind)
    found = value if parse is None else parse(value)
    if not is_of_type(found, kind):
        raise TypeError("a value of another type than its column")
    return found
