"""Rows in blocks of whole units: the input of a user's function, made from an engine's rows.

A unit is in the block that a keyed hash of its own columns says, so no unit is in two, and nobody's rows move anybody
else's. Where each row is a unit, the hash is of the row and of its number among rows that are the same in all columns
read: taking one of them away takes away the last. The key is the one that the table was registered with.

The engine gives all rows in one pass, those of a block together, and they are spooled into a file of the private
workspace: the engine is free again, and no more than one block is in memory. What a function sees of a block depends on
the rows of that block alone: they are sorted by all columns, then shuffled by a permutation that depends on nothing but
how many there are. Every block is there, also one without rows.
"""

import itertools
import math
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.catalog.catalog import ColumnType
from discreet.engines.sql import contribution_bounding, expressions
from discreet.engines.sql.dialect import Dialect
from discreet.errors import ParameterError, TypeMismatchError
from discreet.exact.numbers import whole
from discreet.plan.physical import Scan, Term, reads_of

BLOCK = "discreet_block"
TWIN = "discreet_twin"
MOST_BLOCKS = 100_000
LARGEST_BLOCK = 2**30
BATCH = 2**17
LONG_NAME = 128
_TIMES = 3
DIGEST = 64 * _TIMES

TYPES: Mapping[ColumnType, pa.DataType] = {
    ColumnType.INTEGER: pa.int64(),
    ColumnType.REAL: pa.float64(),
    ColumnType.TEXT: pa.large_string(),
    ColumnType.BOOLEAN: pa.bool_(),
    ColumnType.DATE: pa.date32(),
    ColumnType.TIMESTAMP: pa.timestamp("us"),
}

Block = tuple[int, pa.Table | None]


@dataclass(frozen=True)
class Split:
    """How rows are split: into how many blocks, and the columns of each, by the terms that compute them.

    `longest` are the most bytes of a text that counts, by column: a longer one is missing. A text of the columns of
    `owners` that has more than `LONG_NAME` bytes becomes a digest, which is longer than that, so it is no other name.
    """

    number: int
    columns: tuple[tuple[str, Term], ...]
    longest: tuple[tuple[str, int], ...] = ()
    owners: tuple[str, ...] = ()

    @property
    def schema(self) -> pa.Schema:
        """The columns of a block, in their declared types."""
        return pa.schema([pa.field(name, TYPES[term.type]) for name, term in self.columns])

    @property
    def stream_schema(self) -> pa.Schema:
        """The schema of the engine's one pass: the block, then the other columns by position."""
        others = [pa.field(f"c{i}", field.type) for i, field in enumerate(self.schema)]
        return pa.schema([pa.field(BLOCK, pa.int32()), *others])

    def shorten(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """A batch of the pass without long texts, so that the bytes of a row are bounded; each by its cell alone."""
        most, arrays = dict(self.longest), list(batch.columns)
        for place, (name, _) in enumerate(self.columns, 1):
            if name in most:
                arrays[place] = drop_long_texts(arrays[place], most[name])
            elif name in self.owners:
                arrays[place] = digest_long_names(arrays[place])
        return pa.record_batch(arrays, schema=batch.schema)


def drop_long_texts(cells: pa.Array, most: int) -> pa.Array:
    """Cells, where texts of more than so many bytes are missing; numbers are as they were."""
    if not _is_text(cells):
        return cells
    return pc.if_else(pc.less_equal(pc.binary_length(cells), most), cells, pa.scalar(None, cells.type))


def digest_long_names(names: pa.Array) -> pa.Array:
    """Names of units, where texts of more than `LONG_NAME` bytes are digests; numbers are as they were."""
    if not _is_text(names):
        return names
    is_long = pc.fill_null(pc.greater(pc.binary_length(names), LONG_NAME), fill_value=False)
    digests = [sha256(name.encode()).hexdigest() * _TIMES for name in names.filter(is_long).to_pylist()]
    return pc.replace_with_mask(names, is_long, pa.array(digests, names.type))


def split_of(columns: Mapping[str, Term], number: int) -> Split:
    """A split of rows, refused where it is none."""
    if whole(number, "blocks") > MOST_BLOCKS:
        raise ParameterError(
            f"blocks={number}",
            because=f"more than {MOST_BLOCKS:,} processes would be started, one after another",
            instead="blocks=1000",
        )
    if not [read for term in columns.values() for read in reads_of(term)]:
        raise ParameterError(
            "blocks without columns", because="a function sees the columns it names", instead='columns=["age"]'
        )
    for name, term in columns.items():
        if term.type not in TYPES:
            raise TypeMismatchError(
                f"column {name!r} of type {term.type} in a block",
                because="a function is given numbers, text, truth values, dates and times",
                instead=f"a column of type {', '.join(TYPES)}",
            )
    return Split(number, tuple(columns.items()))


def split_sql(split: Split, scan: Scan, predicate: Term | None, rows: str, key: int, dialect: Dialect) -> str:
    """All rows with their block, those of a block together."""
    if {read.column for _, term in split.columns for read in reads_of(term)} - {read.column for read in scan.columns}:
        raise RuntimeError("a column of a block is made from one that the scan does not read")
    where = "" if predicate is None else f" WHERE {expressions.term(predicate, dialect)}"
    source = f"{rows}{where}"
    if not scan.unit:
        same = ", ".join(dialect.identifier(read.column) for read in scan.columns)
        twin = f"row_number() OVER (PARTITION BY {same}{dialect.unordered}) AS {TWIN}"
        source = f"(SELECT *, {twin} FROM {source}) AS numbered"
    columns = ", ".join(f"{expressions.term(term, dialect)} AS c{i}" for i, (_, term) in enumerate(split.columns))
    chosen = f"SELECT {_block(split.number, scan, key, dialect)} AS {BLOCK}, {columns} FROM {source}"
    return f"{chosen} {dialect.together.format(BLOCK)}"


def _block(number: int, scan: Scan, key: int, dialect: Dialect) -> str:
    types = {read.column: read.type for read in scan.columns}
    if scan.unit:
        named = dict(zip(contribution_bounding.owner(scan, dialect), (types[name] for name in scan.unit), strict=True))
    else:
        named = {dialect.identifier(column): kind for column, kind in types.items()} | {TWIN: ColumnType.INTEGER}
    hashed = contribution_bounding.keyed_hash(named, key, scan, dialect)
    return (dialect.part_of_text if scan.portable else dialect.part).format(hashed, number)


def batches_of(rows: Iterable[Sequence[Any]], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Rows of a driver as batches of Arrow, a bounded number at a time."""
    waiting = iter(rows)
    while taken := list(itertools.islice(waiting, BATCH)):
        columns = zip(*taken, strict=True)
        yield pa.record_batch(
            [_array(cells, field.type) for cells, field in zip(columns, schema, strict=True)], schema=schema
        )


def _array(cells: tuple[Any, ...], kind: pa.DataType) -> pa.Array:
    """Cells of one column; drivers give truth as whole numbers and times as text where they have no type for them."""
    if pa.types.is_boolean(kind):
        return pa.array([None if cell is None else bool(cell) for cell in cells], kind)
    if pa.types.is_temporal(kind) and any(isinstance(cell, str) for cell in cells):
        return pa.array(cells, pa.string()).cast(kind)
    return pa.array(cells, kind)


def sort_and_shuffle(rows: pa.Table) -> pa.Table:
    """Sort the rows, then shuffle them by a permutation that depends on their number alone."""
    together = rows.combine_chunks()
    keys = [(name, "ascending") for name in together.column_names]
    order = pc.sort_indices(together, sort_keys=keys).to_numpy()
    shuffle = np.random.default_rng(len(order)).permutation(len(order))
    return together.take(pa.array(order[shuffle]))


def _size(part: pa.RecordBatch) -> int:
    """Bytes of the values of rows, which add up however rows are cut into batches; slots of no value count too."""
    texts = [column for column in part.columns if _is_text(column)]
    fixed = sum(max(8, column.type.bit_width // 8) for column in part.columns if not _is_text(column))
    lengths = sum(pc.sum(pc.binary_length(column)).as_py() or 0 for column in texts)
    return int(part.num_rows * (fixed + 8 * len(texts)) + lengths)


def _is_text(column: pa.Array) -> bool:
    return bool(pa.types.is_string(column.type) or pa.types.is_large_string(column.type))


class Spool:
    """Blocks between engine and consumer, in one file that is deleted when it is closed."""

    def __init__(self, split: Split, directory: Path, largest: int | None = LARGEST_BLOCK) -> None:
        self._split, self._largest = split, math.inf if largest is None else largest
        self._path = directory / f"blocks-{secrets.token_hex(8)}.arrow"
        self._writer = pa.ipc.new_file(str(self._path), split.schema)
        self._written = 0
        self._places: dict[int, range] = {}
        self._too_large: set[int] = set()
        self._now: int | None = None
        self._waiting: list[pa.RecordBatch] = []
        self._bytes = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(pa.ArrowInvalid, OSError):
            self._writer.close()
        self._path.unlink(missing_ok=True)

    def add(self, batch: pa.RecordBatch) -> None:
        """Write rows, with their block in the first column; the rows of one block come together."""
        if batch.num_rows == 0:
            return
        if self._split.longest or self._split.owners:
            batch = self._split.shorten(batch)
        numbers = batch.column(0).to_numpy()
        starts = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(numbers)]
        for start, end in itertools.pairwise(starts):
            self._take(int(numbers[start]), batch.slice(start, end - start))

    def blocks(self) -> Iterator[Block]:
        """Every block in order; None in place of one with more bytes than a block may have."""
        self._finish()
        self._writer.close()
        with pa.memory_map(str(self._path)) as held:
            file = pa.ipc.open_file(held)
            for number in range(self._split.number):
                if number in self._too_large:
                    yield number, None
                    continue
                batches = [file.get_batch(place) for place in self._places.get(number, ())]
                yield number, pa.Table.from_batches(batches, schema=self._split.schema)

    def _take(self, number: int, part: pa.RecordBatch) -> None:
        if number != self._now:
            self._finish()
            if number in self._places or number in self._too_large or not 0 <= number < self._split.number:
                raise RuntimeError("the engine gave the rows of a block in two places")
            self._now = number
        self._bytes += _size(part)
        if self._bytes <= self._largest:
            self._waiting.append(part)
        else:
            self._waiting = []

    def _finish(self) -> None:
        """Write the block that was being gathered."""
        if self._now is None:
            return
        if self._bytes > self._largest:
            self._too_large.add(self._now)
        else:
            rows = pa.Table.from_batches(self._waiting).drop_columns([BLOCK])
            batches = sort_and_shuffle(
                rows.rename_columns(self._split.schema.names).cast(self._split.schema)
            ).to_batches()
            for batch in batches:
                self._writer.write_batch(batch)
            self._places[self._now] = range(self._written, self._written + len(batches))
            self._written += len(batches)
        self._now, self._waiting, self._bytes = None, [], 0
