"""Counting reports in Parquet with Spark: one row of each report id, then GROUP BY cohort, payload with COUNT(*).

Of rows with one id the one with the least cohort and payload counts, so the result does not depend on the order of
rows, as `dropDuplicates` would.
"""

from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from typing import TYPE_CHECKING

from discreet.errors import UnsupportedError, short_traceback
from discreet.local.collector.accumulator import Accumulator
from discreet.local.collector.counting import partial_key
from discreet.local.collector.groups import GroupCounts, check_columns
from discreet.local.collector.payloads import layout_of
from discreet.local.report_format import SHARD_DIGITS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from discreet.local.task import Task

_TYPES = {"binary": False, "tinyint": True, "smallint": True, "int": True, "bigint": True}


@short_traceback
def count_spark(
    spark: "SparkSession",
    task: "Task",
    reports: "DataFrame | str | PathLike[str] | Sequence[str | PathLike[str]]",
    *,
    batch: int = 0,
    shard: int = 0,
    shards: int = 1,
    has_duplicates: bool = True,
    refused: Mapping[str, int] | None = None,
) -> Accumulator:
    """Count the reports of one batch with Spark.

    Args:
        spark: The session.
        task: The task; its oracle has symbols, so not unary encoding or subset selection.
        reports: Parquet files, or a DataFrame with the columns task, cohort, batch, report_id and payload.
        batch: The batch to count. Reports of other tasks and batches are left out.
        shard: The shard to count, by a hash of the ids.
        shards: The number of shards.
        has_duplicates: Whether a report may be there twice. False skips the search.
        refused: Number of malformed reports, as `write_reports` returned it; counted in this partial.

    Returns:
        An accumulator of one partial count, equal to that of the other engines.

    Raises:
        ParameterError: If there is no such shard.
        SourceError: If the columns are not those of reports.
        UnsupportedError: If reports are bitmaps or lists of slots.

    Example:
        >>> count_spark(session, task, "reports/*.parquet", batch=3)  # doctest: +SKIP
    """
    key = partial_key(shard, shards)
    groups = GroupCounts(task)
    rows = rows_of(spark, task, reports, batch=batch, shard=shard, shards=shards if has_duplicates else 1)
    groups.add_groups(symbol_counts(one_of_each_id(rows) if has_duplicates else rows).toArrow())
    groups.add_refused(refused or {})
    return Accumulator.partial(task, groups.counts, groups.reports, key=key, batch=batch, refused=groups.refused)


def rows_of(
    spark: "SparkSession",
    task: "Task",
    reports: "DataFrame | str | PathLike[str] | Sequence[str | PathLike[str]]",
    *,
    batch: int,
    shard: int,
    shards: int,
) -> "DataFrame":
    """Rows of one shard of a batch."""
    from pyspark.sql import functions  # noqa: PLC0415 - an optional driver

    check_symbols(task)
    if isinstance(reports, str | PathLike):
        reports = [reports]
    frame = spark.read.parquet(*map(fspath, reports)) if isinstance(reports, Sequence) else reports
    check_columns(task, {name: _TYPES.get(kind) for name, kind in frame.dtypes})
    rows = frame.where((functions.col("task") == functions.lit(task.id)) & (functions.col("batch") == batch))
    if shards == 1:
        return rows
    digits = functions.substring(functions.sha2("report_id", 256), 1, SHARD_DIGITS)
    return rows.where(functions.conv(digits, 16, 10).cast("bigint") % shards == shard)


def one_of_each_id(rows: "DataFrame") -> "DataFrame":
    """One row of each report id: that of the least cohort, then payload."""
    from pyspark.sql import functions  # noqa: PLC0415 - an optional driver

    least = functions.min(functions.struct("cohort", "payload")).alias("least")
    return rows.groupBy("report_id").agg(least).select("least.cohort", "least.payload")


def symbol_counts(rows: "DataFrame") -> "DataFrame":
    """Number of reports of each cohort and payload."""
    from pyspark.sql import functions  # noqa: PLC0415 - an optional driver

    return rows.groupBy("cohort", "payload").agg(functions.count("*").alias("reports"))


def check_symbols(task: "Task") -> None:
    """Refuse oracles whose reports Spark cannot count by GROUP BY."""
    if layout_of(task).form != "symbol":
        raise UnsupportedError(
            f"reports of the oracle {task.oracle.kind!r} on Spark",
            because="bitmaps and lists of slots are counted bit by bit, not by GROUP BY",
            instead='dp.local.collector.count_parquet(task, "reports/*.parquet"), or an oracle with symbols',
        )
