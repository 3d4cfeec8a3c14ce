"""Groups of a source by its quasi-identifiers and sensitive columns, from one GROUP BY, as codes in memory.

Where each person has one row, which the engine checks, a group is a number of people. Otherwise the groups are pairs of
a combination of values and a person, so that a person with several rows is counted once in each class.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.anonymity.classes.encoding import Codes32, EncodedGroups, Integers, encode_groups, null_code
from discreet.anonymity.classes.keys import ClassKeys, People, pack
from discreet.engines.exact_tables import ExactTable


@dataclass(frozen=True)
class BaseGroups:
    """Groups as codes; `people` says whom each group stands for, `rows` how many rows it has."""

    values: dict[str, pa.Array]
    codes: dict[str, Codes32]
    people: People
    rows: Integers

    def keys(self, names: Sequence[str]) -> ClassKeys:
        """The key of each group by some of its columns."""
        return pack([(self.codes[name], len(self.values[name])) for name in names], len(self.rows))

    def has_null(self, names: Sequence[str]) -> NDArray[np.bool_]:
        """Whether each group has a missing cell in one of the columns."""
        found = np.zeros(len(self.rows), bool)
        for name in names:
            code = null_code(self.values[name])
            if code is not None:
                found |= self.codes[name] == code
        return found

    def take(self, index: NDArray[np.int64] | NDArray[np.bool_]) -> "BaseGroups":
        """Some of the groups."""
        people = self.people
        persons = None if people.persons is None else people.persons[index]
        return replace(
            self,
            codes={name: codes[index] for name, codes in self.codes.items()},
            people=replace(people, counts=people.counts[index], persons=persons),
            rows=self.rows[index],
        )


def read_groups(
    table: ExactTable, names: Sequence[str], person: str | None, *, are_distinct: bool = False
) -> BaseGroups:
    """The groups of a table by some columns, read by one statement after persons with several rows were looked for.

    A group may stand in several rows, unless they are to be distinct.
    """
    names = list(dict.fromkeys(names))
    table.column_types([*names, *([person] if person else [])])
    read = table.groups if are_distinct else table.parts
    if person is None or _has_one_row_each(table, person):
        found = encode_groups(read(names), names)
        return BaseGroups(found.values, found.codes, People(found.counts), found.counts)
    batches = table.groups([*names, person]) if are_distinct else table.parts(names, person)
    return _with_persons(encode_groups(batches, names, person))


def _has_one_row_each(table: ExactTable, person: str) -> bool:
    rows, people = table.least_totals(person)
    return rows == people


def _with_persons(found: EncodedGroups) -> BaseGroups:
    """Pairs with codes of persons; a group of rows without a person is that many persons."""
    codes, rows, persons, number = found.codes, found.counts, found.persons, found.number
    if persons is None:
        raise ValueError("groups without persons")
    if found.unnamed is not None:
        index = np.repeat(np.arange(len(rows)), np.where(persons == found.unnamed, rows, 1))
        codes, persons = {name: each[index] for name, each in codes.items()}, persons[index]
        is_unnamed = persons == found.unnamed
        others = int(is_unnamed.sum())
        persons[is_unnamed] = number + np.arange(others, dtype=np.int32)
        rows, number = np.where(is_unnamed, 1, rows[index]), number + others
    return BaseGroups(found.values, codes, People(np.ones(len(rows), np.int64), persons, number), rows)
