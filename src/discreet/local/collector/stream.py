"""Counting reports as they arrive, with Spark Structured Streaming: each report of a batch counts exactly once.

    reports (Parquet files in a directory) -> duplicates removed -> one partial count a micro-batch -> files

Each micro-batch becomes one file, written completely and then renamed. Its key has the number of the micro-batch, so a
micro-batch that is replayed after a crash has the key of the file that is there, and the first file stands. Spark logs
which input files belong to a micro-batch before it runs, so a replay reads the same reports.

What is held: the ids of all reports of this batch and shard, 16 bytes each and the overhead of the state store, in the
checkpoint. There is no watermark: a duplicate is found however late it comes. A stream serves one batch: to close the
batch, stop the stream and remove its checkpoint. Then no stream reads late reports of this batch any more.

Of two reports with one id and different contents one counts; which one is not determined if both are in one
micro-batch. Honest clients never send such reports.
"""

import os
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import SourceError, short_traceback
from discreet.home.durable_files import SHARED, write_file
from discreet.local.collector.accumulator import Accumulator
from discreet.local.collector.counting import partial_key
from discreet.local.collector.groups import GroupCounts
from discreet.local.collector.parquet import schema_of
from discreet.local.collector.spark import check_symbols, rows_of, symbol_counts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from discreet.local.task import Task

_SUFFIX = ".accumulator"
_OWNER = "stream"


@short_traceback
def start_stream(
    spark: "SparkSession",
    task: "Task",
    reports: str | PathLike[str],
    *,
    partials: str | PathLike[str],
    checkpoint: str | PathLike[str],
    batch: int = 0,
    shard: int = 0,
    shards: int = 1,
    max_files: int = 100,
    is_continuous: bool = True,
) -> "StreamingQuery":
    """Count the reports of one batch as their files arrive in a directory.

    Start it again with the same arguments after a crash: it goes on where it was.

    Args:
        spark: The session.
        task: The task; its oracle has symbols.
        reports: Directory of Parquet files. Files are moved there when they are complete, as `write_reports` does.
        partials: Directory for the partial counts, one file a micro-batch; of one stream only.
        checkpoint: Directory for Spark's state, of this stream only.
        batch: The batch to count.
        shard: The shard to count, by a hash of the ids.
        shards: The number of shards.
        max_files: The most input files of a micro-batch.
        is_continuous: Whether to wait for further files. False ends when all files that are there are counted.

    Returns:
        The running query of Spark.

    Raises:
        ParameterError: If there is no such shard.
        UnsupportedError: If reports are bitmaps or lists of slots.

    Example:
        >>> query = start_stream(  # doctest: +SKIP
        ...     session, task, "reports", partials="partials", checkpoint="checkpoint"
        ... )
        >>> merge(read_partials("partials"))  # doctest: +SKIP
    """
    partial_key(shard, shards)
    check_symbols(task)
    folder = Path(partials)
    folder.mkdir(parents=True, exist_ok=True)
    reader = spark.readStream.schema(_ddl(task)).option("maxFilesPerTrigger", max_files)
    frame = reader.parquet(os.fspath(reports))
    rows = rows_of(spark, task, frame, batch=batch, shard=shard, shards=shards)

    def write(block: "DataFrame", sequence: int) -> None:
        _check_owner(folder, block)
        groups = GroupCounts(task)
        groups.add_groups(symbol_counts(block).toArrow())
        key = partial_key(shard, shards, sequence)
        facts: dict[str, Any] = {"key": key, "batch": batch, "refused": groups.refused}
        _write_once(folder, Accumulator.partial(task, groups.counts, groups.reports, **facts), sequence)

    unique = rows.dropDuplicates(["task", "batch", "report_id"])
    writer = unique.writeStream.foreachBatch(write).option("checkpointLocation", os.fspath(checkpoint))
    return (writer if is_continuous else writer.trigger(availableNow=True)).start()


@short_traceback
def read_partials(folder: str | PathLike[str]) -> Iterator[Accumulator]:
    """Partial counts that a stream wrote, for `merge`.

    Args:
        folder: The directory.

    Yields:
        Accumulators of one partial count.

    Raises:
        SourceError: If a file is damaged.

    Example:
        >>> list(read_partials("."))
        []
    """
    for path in sorted(Path(folder).glob(f"*{_SUFFIX}")):
        yield Accumulator.from_bytes(path.read_bytes())


def _ddl(task: "Task") -> str:
    """The columns of reports, as Spark reads them."""
    kinds = {"binary": "BINARY", "int32": "INT", "int64": "BIGINT"}
    return ", ".join(f"{field.name} {kinds[str(field.type)]}" for field in schema_of(task))


def _write_once(folder: Path, partial: Accumulator, sequence: int) -> None:
    """Write a partial count completely, unless the micro-batch has one already."""
    (key,) = partial.partials
    path = folder / f"batch-{partial.batch}-shard-{key.shard}-of-{key.shards}-{sequence:012}{_SUFFIX}"
    if not path.exists():
        write_file(path, lambda file: file.write(partial.to_bytes()), mode=SHARED)


def _check_owner(folder: Path, block: "DataFrame") -> None:
    """Refuse a directory that another stream writes to: its micro-batches have the same numbers and other reports."""
    query = block.sparkSession.sparkContext.getLocalProperty("sql.streaming.queryId")
    owner = folder / _OWNER
    if not owner.exists():
        write_file(owner, lambda file: file.write(query.encode()), mode=SHARED)
    if owner.read_text() != query:
        raise SourceError(
            "a directory of partial counts that another stream wrote",
            because="micro-batches of two streams have the same numbers, so some reports would be lost",
            instead="a directory and a checkpoint for each stream; both are kept, or both are removed",
        )
