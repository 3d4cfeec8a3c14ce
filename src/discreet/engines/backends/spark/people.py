"""People whose codes stay in the executors of Spark: one job for each sum, and only sums come back.

Rows are divided into blocks of whole units, those of a block in one partition. Each block becomes codes where it is,
and the codes are kept there. The functions come from above; executors need the Python packages that these import.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

CELL = "content"
CELLS = f"{CELL} binary"

Encode = Callable[[pa.Table], bytes]
Add = Callable[[Any, Sequence[bytes]], NDArray[np.int64]]
Batches = Iterator[pa.RecordBatch]


class PeopleInCluster:
    """People of a cached frame of codes: all that is asked of them is a sum.

    Args:
        frame: Cells of bytes, the codes of one block each.
        add: The exact sum of a step over blocks, which runs in the executors.
        run: How a job is run, so that an interrupt ends it.
    """

    def __init__(self, frame: Any, add: Add, run: Callable[[Callable[[], Any]], Any]) -> None:
        self._frame, self._add, self._run = frame, add, run

    def sum(self, step: Any) -> NDArray[np.int64]:
        """The exact sum over people, by one job."""
        job = self._frame.mapInArrow(adding(self._add, step), CELLS)
        parts = [np.frombuffer(bytes(row[CELL]), dtype=np.int64) for row in self._run(job.collect)]
        return np.sum(parts, axis=0, dtype=np.int64) if parts else np.zeros(step.length, dtype=np.int64)


def encode_frame(frame: Any, names: Sequence[str], encode: Encode) -> Any:
    """The codes of each block of a frame, whose first column is the number of the block."""
    from pyspark import StorageLevel  # noqa: PLC0415 - an optional driver

    return frame.mapInArrow(encoding(tuple(names), encode), CELLS).persist(StorageLevel.MEMORY_AND_DISK)


def encoding(names: tuple[str, ...], encode: Encode) -> Callable[[Batches], Batches]:
    """What executors run once: the rows of a block, which stand together, become one cell."""

    def run(batches: Batches) -> Batches:
        def cell(held: list[pa.RecordBatch]) -> pa.RecordBatch:
            rows = pa.Table.from_batches(held)
            rows = rows.select(rows.column_names[1:]).rename_columns(list(names))
            return pa.record_batch([pa.array([encode(rows)], pa.binary())], ["content"])

        held: list[pa.RecordBatch] = []
        now = None
        for batch in batches:
            numbers = batch.column(0).to_numpy(zero_copy_only=False)
            ends = [*(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(numbers)]
            start = 0
            for end in ends if len(numbers) else []:
                if held and numbers[start] != now:
                    yield cell(held)
                    held = []
                now = numbers[start]
                held.append(batch.slice(start, end - start))
                start = end
        if held:
            yield cell(held)

    return run


def adding(add: Add, step: Any) -> Callable[[Batches], Batches]:
    """What executors run for each sum: the blocks of a partition become one cell of integers."""

    def run(batches: Batches) -> Batches:
        total = None
        for batch in batches:
            part = add(step, batch.column(0).to_pylist())
            total = part if total is None else total + part
        if total is not None:
            yield pa.record_batch([pa.array([total.astype(np.int64).tobytes()], pa.binary())], ["content"])

    return run


def can_import(session: Any, modules: Iterable[str]) -> bool:
    """Whether executors have some modules; it is tried on two rows that are nobody's."""
    wanted = tuple(modules)

    def run(batches: Batches) -> Batches:
        import importlib  # noqa: PLC0415 - on the executors

        for name in wanted:
            importlib.import_module(name)
        yield from batches

    try:
        return sorted(row[0] for row in session.range(2).mapInArrow(run, "id long").collect()) == [0, 1]
    except Exception:  # noqa: BLE001 - any exception of the driver
        return False
