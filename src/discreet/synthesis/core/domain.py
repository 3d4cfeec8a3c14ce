"""The public domain of a table: its columns in order, each with a number of slots."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from discreet.errors import ParameterError
from discreet.plan.slots import SlotColumn

Columns = tuple[str, ...]
"""Names of the columns of a marginal, in the order of the domain."""
MOST_ALL_CELLS = 1 << 25
"""Cells of all candidates together: 256 MiB of counts."""


@dataclass(frozen=True)
class Domain:
    """Columns with their numbers of slots.

    Attributes:
        slots: The number of slots of each column, in the order of the columns.
    """

    slots: Mapping[str, int]

    @classmethod
    def of(cls, columns: Iterable[SlotColumn]) -> "Domain":
        """The domain of columns with their slots."""
        return cls({column.name: column.size for column in columns})

    @property
    def names(self) -> Columns:
        """All columns."""
        return tuple(self.slots)

    def shape(self, columns: Iterable[str]) -> tuple[int, ...]:
        """The numbers of slots of some columns."""
        return tuple(self.slots[name] for name in columns)

    def cells(self, columns: Iterable[str]) -> int:
        """The number of cells of a marginal."""
        return math.prod(self.shape(columns))

    def ordered(self, columns: Iterable[str]) -> Columns:
        """Columns in the order of the domain, each once."""
        wanted = set(columns)
        if not wanted <= self.slots.keys():
            raise ValueError("a column that the domain does not have")
        return tuple(name for name in self.slots if name in wanted)

    def merge(self, groups: Mapping[str, tuple[int, ...]]) -> "Domain":
        """The domain where the slots of some columns are merged: slot i becomes slot groups[name][i]."""
        return Domain({name: max(groups[name]) + 1 if name in groups else size for name, size in self.slots.items()})


def require_memory(what: str, domain: Domain, candidates: Sequence[Columns]) -> None:
    """Refuse a synthesis without columns, or whose counts do not fit the memory.

    Raises:
        ParameterError: If there is no column, or there are too many cells.
    """
    cells = sum(domain.cells(each) for each in candidates)
    if not candidates or cells > MOST_ALL_CELLS:
        raise ParameterError(
            f"{what} of {len(domain.names):,} columns with {cells:,} cells in all candidates",
            because=f"it needs a column, and holds at most {MOST_ALL_CELLS:,} cells in memory",
            instead='columns=["age", "sex"], or fewer bins in the catalog: bins: {linear: 16}',
        )
