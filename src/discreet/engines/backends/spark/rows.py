"""Many rows out of Spark without holding them all: through files where it runs on this machine, else packed as Arrow.

Rows that a driver collects one by one pass through Python objects, and `toArrow` holds all of them at once. A Spark of
this machine writes them into the private workspace, without Python in its executors. The executors of a cluster cannot
write there: they pack their batches into cells of bytes, which `toLocalIterator` brings one partition after another.
That takes a Python with pyarrow where they are, as every Python function in Spark does; `can_pack` finds out with two
rows of Spark's own.
"""

import secrets
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from discreet.engines.backends.spark import jobs

CELL = "content"
_CELLS = f"{CELL} binary"
MOST_BYTES = 2**25
_BATCH = 2**17

Pack = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def is_here(session: Any) -> bool:
    """Whether the executors of a session are threads of one process on this machine."""
    if jobs.is_remote(session):
        return False
    master = str(session.sparkContext.master)
    return master == "local" or master.startswith("local[")


def stream_rows(session: Any, sql: str, schema: pa.Schema, place: Path) -> Iterator[pa.RecordBatch]:
    """The rows of a query in the types of a schema, in its order within each partition."""
    frame = session.sql(sql)
    batches = through_files(frame, place) if is_here(session) else pack_rows(frame)
    for batch in batches:
        yield batch.cast(schema)


def through_files(frame: Any, place: Path) -> Iterator[pa.RecordBatch]:
    """Rows by way of a directory that is deleted when they have been read."""
    directory = place / f"rows-{secrets.token_hex(8)}"
    try:
        frame.write.option("compression", "none").parquet(directory.as_uri())
        for path in sorted(directory.glob("*.parquet")):
            with pq.ParquetFile(path) as file:
                yield from file.iter_batches(_BATCH)
            path.unlink()
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def pack_rows(frame: Any) -> Iterator[pa.RecordBatch]:
    """Rows by way of the executors' own Python."""
    cells = frame.mapInArrow(packing(), _CELLS)
    for row in cells.toLocalIterator(prefetchPartitions=True):
        with pa.ipc.open_stream(pa.py_buffer(bytes(row[CELL]))) as stream:
            yield from stream


def can_pack(session: Any) -> bool:
    """Whether the executors have what packing takes; it is tried on two rows that are nobody's."""
    try:
        numbers = [number for batch in pack_rows(session.range(2)) for number in batch.column(0).to_pylist()]
    except Exception:  # noqa: BLE001 - any exception of the driver
        return False
    return sorted(numbers) == [0, 1]


def packing(most: int = MOST_BYTES) -> Pack:
    """What the executors run: it travels by value, because they need not have discreet."""

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        def cell(held: list[pa.RecordBatch]) -> pa.RecordBatch:
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, held[0].schema) as stream:
                for each in held:
                    stream.write_batch(each)
            return pa.record_batch([pa.array([sink.getvalue().to_pybytes()], pa.binary())], [CELL])

        held: list[pa.RecordBatch] = []
        for batch in batches:
            held.append(batch)
            if sum(each.nbytes for each in held) >= most:
                yield cell(held)
                held = []
        if held:
            yield cell(held)

    return pack
