"""Columns as slots: the bins of a number or date, or the declared values of another column, and one slot for the rest.

The last slot holds missing values, and those that are not declared. Everything here is public.
"""

from dataclasses import dataclass

from discreet.catalog.catalog import ColumnType, Value
from discreet.plan.logical import Scalar


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
