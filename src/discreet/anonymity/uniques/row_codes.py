"""Rows as small integer codes, read once from the engine that holds them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.anonymity.classes.base_groups import read_groups
from discreet.anonymity.classes.keys import renumber
from discreet.engines.exact_tables import open_table

Codes = NDArray[np.unsignedinteger]


@dataclass(frozen=True)
class RowCodes:
    """Distinct rows as codes.

    Attributes:
        columns: For each quasi-identifier one code a row, below its number of distinct values.
        sizes: Number of distinct values of each.
        persons: Number of the person of each row, where persons have several rows; otherwise None.
        people: Number of people in the source.
    """

    columns: tuple[Codes, ...]
    sizes: tuple[int, ...]
    persons: NDArray[np.int32] | None
    people: int

    def __len__(self) -> int:
        return len(self.columns[0])


def read_rows(
    source: object, quasi: Sequence[str], *, person: str | None, table: str | None, memory_limit: str | None = None
) -> RowCodes:
    """The distinct rows of a source as codes.

    A row that several people have stands twice: that is enough for none of them to be alone. Where each person has one
    row, persons are not read.
    """
    with open_table(source, table=table, memory_limit=memory_limit) as rows:
        groups = read_groups(rows, quasi, person, are_distinct=True)
    people, number = groups.people, int(groups.people.counts.sum())
    persons: NDArray[np.int32] | None = None
    if people.persons is None:
        chosen = np.repeat(np.arange(len(groups.rows)), np.where(groups.rows > 1, 2, 1))
    else:
        chosen = np.arange(len(groups.rows))
        numbers = renumber(people.persons.astype(np.int64))[0]
        persons, number = numbers.astype(np.int32), int(numbers.max(initial=-1)) + 1
    sizes = tuple(max(1, len(groups.values[name])) for name in quasi)
    # codes give way to smaller ones column by column
    columns = (
        groups.codes.pop(name).astype(np.min_scalar_type(size - 1)) for name, size in zip(quasi, sizes, strict=True)
    )
    return RowCodes(tuple(each[chosen] for each in columns), sizes, persons, number)
