"""Columns as codes: groups of an engine arrive in batches, and what is kept of them are 32-bit integers.

Equal values have equal codes in all batches, and a missing cell has a code like any other value. The order of codes
says nothing; `ranks` gives the order of the values.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Codes32 = NDArray[np.int32]
Integers = NDArray[np.int64]

_TOGETHER = 2**20
"""Rows that are encoded at once: the dictionary of all rows is searched once for each such part."""
_DENSE = 16
"""Codes of persons may be this many times the number of rows."""


class ColumnEncoder:
    """Codes of one column, batch after batch."""

    def __init__(self, kind: pa.DataType) -> None:
        self._values: pa.Array = pa.array([], kind)
        self._waiting: list[pa.Array] = []
        self._rows = 0
        self._codes: list[Codes32] = []

    def add(self, cells: pa.Array) -> None:
        """Take the cells of a further batch."""
        self._waiting.append(cells)
        self._rows += len(cells)
        if self._rows >= _TOGETHER:
            self._encode_waiting()

    def result(self) -> tuple[pa.Array, Codes32]:
        """The distinct values, and the code of each cell in the order of the batches."""
        self._encode_waiting()
        codes, self._codes = self._codes, []
        values = self._values.cast(pa.large_string()) if pa.types.is_string(self._values.type) else self._values
        return values, np.concatenate(codes) if codes else np.zeros(0, np.int32)

    def _encode_waiting(self) -> None:
        if not self._waiting:
            return
        cells = pc.dictionary_encode(pa.chunked_array(self._waiting), null_encoding="encode")
        self._waiting, self._rows = [], 0
        codes = self._global_codes(cells.chunk(cells.num_chunks - 1).dictionary)  # one for all
        for chunk in cells.chunks:
            indices = chunk.indices.to_numpy()
            self._codes.append(indices.astype(np.int32, copy=False) if codes is None else codes[indices])

    def _global_codes(self, local: pa.Array) -> Codes32 | None:
        """The codes of values; None where each value has its own position."""
        if not len(self._values):
            self._values = local
            return None
        found = pc.index_in(local, value_set=self._values, skip_nulls=False)
        is_new = found.is_null().to_numpy(zero_copy_only=False)
        codes: Codes32 = found.fill_null(0).to_numpy().astype(np.int32)
        codes[is_new] = len(self._values) + np.arange(int(is_new.sum()), dtype=np.int32)
        self._values = pa.concat_arrays([self._values, local.filter(pa.array(is_new))])
        return codes


@dataclass(frozen=True)
class EncodedGroups:
    """Groups of an engine: for each column its distinct values and one code a group, and the count of each group.

    `persons` are codes below `number`, and `unnamed` is the code of rows without a person.
    """

    values: dict[str, pa.Array]
    codes: dict[str, Codes32]
    counts: Integers
    persons: Codes32 | None = None
    number: int = 0
    unnamed: int | None = None


def encode_groups(batches: Iterable[pa.RecordBatch], names: Sequence[str], person: str | None = None) -> EncodedGroups:
    """Encode the columns of batches whose last column is a count, and that of the person where there is one."""
    encoders: dict[str, ColumnEncoder] = {}
    counts: list[Integers] = []
    who = PersonEncoder()
    for batch in batches:
        for name in names:
            cells = batch.column(batch.schema.names.index(name))
            encoders.setdefault(name, ColumnEncoder(cells.type)).add(cells)
        if person is not None:
            who.add(batch.column(batch.schema.names.index(person)))
        counts.append(batch.column(batch.num_columns - 1).to_numpy())
    columns = {name: each.result() for name, each in encoders.items()}
    return EncodedGroups(
        {name: columns[name][0] if columns else pa.nulls(0) for name in names},
        {name: columns[name][1] if columns else np.zeros(0, np.int32) for name in names},
        np.concatenate(counts) if counts else np.zeros(0, np.int64),
        *(who.result() if person is not None else (None, 0, None)),
    )


class PersonEncoder:
    """Codes of persons, whose values nobody needs: whole numbers in a narrow range are their own codes."""

    def __init__(self) -> None:
        self._cells: list[pa.Array] = []

    def add(self, cells: pa.Array) -> None:
        """Take the persons of a further batch."""
        self._cells.append(cells)

    def result(self) -> tuple[Codes32, int, int | None]:
        """The code of each cell, the number of codes, and the code of a missing cell where there is one."""
        column = pa.chunked_array(self._cells) if self._cells else pa.chunked_array([], pa.int64())
        self._cells = []
        if pa.types.is_integer(column.type) and column.null_count < len(column):
            low, high = (int(each) for each in pc.min_max(column).as_py().values())
            if high - low < min(_DENSE * len(column), 2**31 - 2):
                number, is_missing = high - low + 1, column.null_count > 0
                codes = np.concatenate([_offsets(chunk, low, number) for chunk in column.chunks])
                return codes, number + is_missing, number if is_missing else None
        encoder = ColumnEncoder(column.type)
        for chunk in column.chunks:
            encoder.add(chunk)
        values, codes = encoder.result()
        return codes, len(values), null_code(values)


def _offsets(cells: pa.Array, low: int, missing: int) -> Codes32:
    """Whole numbers by their distance from the lowest; a missing cell has a code of its own."""
    codes: Codes32 = (cells.fill_null(low).to_numpy() - low).astype(np.int32)
    if cells.null_count:
        codes[cells.is_null().to_numpy(zero_copy_only=False)] = missing
    return codes


def null_code(values: pa.Array) -> int | None:
    """The code of a missing cell, where there is one."""
    if not values.null_count:
        return None
    return int(np.flatnonzero(values.is_null().to_numpy(zero_copy_only=False))[0])


def ranks(values: pa.Array) -> Integers:
    """The rank of each code in the order of the values; a missing cell is last."""
    order = pc.array_sort_indices(values, null_placement="at_end").to_numpy()
    found = np.empty(len(order), np.int64)
    found[order] = np.arange(len(order))
    return found
