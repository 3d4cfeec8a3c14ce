"""People in classes of recoded rows: distinct people, never rows, and never a float."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.anonymity.classes.cube import Codes
from discreet.anonymity.classes.keys import pack, renumber


@dataclass(frozen=True)
class RowGroups:
    """Rows that are alike, with their number, and with their person where one is named.

    Attributes:
        counts: Number of rows of each group.
        persons: Code of the person of each group, -1 where no person is known, or None where each row is a person.
    """

    counts: Codes
    persons: Codes | None = None

    def part(self, chosen: NDArray[np.bool_]) -> "RowGroups":
        """Some of the groups."""
        return RowGroups(self.counts[chosen], None if self.persons is None else self.persons[chosen])

    def people(self, classes: Codes) -> Codes:
        """Number of distinct people in each class; a row without a person is a person of its own."""
        size = int(classes.max(initial=-1)) + 1
        found = np.zeros(size, dtype=np.int64)
        if self.persons is None:
            np.add.at(found, classes, self.counts)
            return found
        alone = self.persons < 0
        np.add.at(found, classes[alone], self.counts[alone])
        most = int(self.persons.max(initial=0)) + 1
        pairs = np.unique(classes[~alone] * most + self.persons[~alone])
        return found + np.bincount(pairs // most, minlength=size)


def row_groups(counts: pa.ChunkedArray, persons: pa.ChunkedArray | None) -> RowGroups:
    """Groups of rows from a column of counts and a column of persons."""
    numbers = counts.to_numpy().astype(np.int64)
    if persons is None:
        return RowGroups(numbers)
    encoded = persons.combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = pa.concat_arrays(encoded.chunks) if encoded.num_chunks else pa.array([], encoded.type)
    codes = encoded.dictionary_encode().indices.fill_null(-1)
    return RowGroups(numbers, codes.to_numpy(zero_copy_only=False).astype(np.int64))


def classes_of(columns: Sequence[Codes], size: int) -> Codes:
    """The class of each group: alike in all columns, alike in number. Classes are numbered in the order of codes."""
    return renumber(pack([(codes, int(codes.max(initial=0)) + 1) for codes in columns], size).values)[0]
