"""Rows as small integer codes, read once from the engine that holds them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from discreet.engines.exact_tables import open_table

Codes = NDArray[np.unsignedinteger]

_BLOCK = 1 << 20


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
        rows.column_types([*quasi, *([person] if person else [])])
        total, people = rows.totals(person)
        pairs = person if total != people else None
        encoders = [_Encoder() for _ in quasi]
        names: list[pa.Array] = []
        for block in _blocks(rows.groups([*quasi, *([pairs] if pairs else [])])):
            repeats = _repeats(block, pairs)
            for encoder, name in zip(encoders, quasi, strict=True):
                encoder.add(block[name], repeats)
            if pairs:
                names.append(block[pairs].take(pa.array(repeats)))
    columns = tuple(encoder.codes() for encoder in encoders)
    persons = _number_persons(names) if pairs else None
    return RowCodes(columns, tuple(max(1, encoder.size) for encoder in encoders), persons, people)


def _blocks(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows in blocks of about a million: each block looks its values up in all values so far."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(each.num_rows for each in waiting) >= _BLOCK:
            yield pa.concat_batches(waiting)
            waiting = []
    if waiting:
        yield pa.concat_batches(waiting)


def _repeats(block: pa.RecordBatch, person: str | None) -> NDArray[np.intp]:
    """Positions of rows: twice where several people share the row, once where one person has it several times."""
    several = block.column(block.num_columns - 1).to_numpy() > 1
    if person is not None:
        several &= block[person].is_null().to_numpy(zero_copy_only=False)
    return np.repeat(np.arange(block.num_rows), np.where(several, 2, 1))


class _Encoder:
    """Codes of one column, block by block; a null is a value."""

    def __init__(self) -> None:
        self._values: pa.Array | None = None
        self._parts: list[Codes] = []

    @property
    def size(self) -> int:
        return 0 if self._values is None else len(self._values)

    def add(self, cells: pa.Array, positions: NDArray[np.intp]) -> None:
        """Encode the cells at these positions of a block."""
        local = cells.dictionary_encode(null_encoding="encode")
        known = self._values if self._values is not None else pa.array([], local.dictionary.type)
        found = pc.index_in(local.dictionary, value_set=known)
        is_new = found.is_null()
        fresh = local.dictionary.filter(is_new)
        numbers = found.fill_null(0).to_numpy().astype(np.int32)
        numbers[is_new.to_numpy(zero_copy_only=False)] = len(known) + np.arange(len(fresh), dtype=np.int32)
        self._values = pa.concat_arrays([known, fresh]) if len(fresh) else known
        kind = np.min_scalar_type(max(0, self.size - 1))
        self._parts.append(numbers.astype(kind)[local.indices.to_numpy()[positions]])

    def codes(self) -> Codes:
        """All codes, in the smallest type; the parts are given up."""
        kind = np.min_scalar_type(max(0, self.size - 1))
        merged = np.empty(sum(len(part) for part in self._parts), dtype=kind)
        start = 0
        for part in self._parts:
            merged[start : start + len(part)] = part
            start += len(part)
        self._parts = []
        return merged


def _number_persons(names: list[pa.Array]) -> NDArray[np.int32]:
    """Numbers of persons; each row without one has a number of its own."""
    encoded = pa.chunked_array(names).combine_chunks().dictionary_encode()
    indices = encoded.indices
    unnamed = indices.is_null().to_numpy(zero_copy_only=False)
    numbers: NDArray[np.int32] = indices.fill_null(0).to_numpy().astype(np.int32)
    numbers[unnamed] = len(encoded.dictionary) + np.arange(int(unnamed.sum()), dtype=np.int32)
    return numbers
