"""Counting reports in this process, with numpy: remove duplicates, then one count vector a cohort.

Of two reports with one id the one with the least cohort and payload counts, so the result does not depend on the order.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import ParameterError, short_traceback
from discreet.local.collector.accumulator import Accumulator, PartialKey
from discreet.local.collector.payloads import PayloadLayout, layout_of
from discreet.local.collector.reports import ReportTable, read_reports, shard_of
from discreet.local.oracles.randomizer import Counts
from discreet.local.report_format import REPORT_ID_BYTES

if TYPE_CHECKING:
    from discreet.local.task import Task


@short_traceback
def count_reports(
    task: "Task", reports: Iterable[bytes], *, batch: int = 0, shard: int = 0, shards: int = 1
) -> Accumulator:
    """Count reports of one batch in this process.

    Malformed reports are counted by reason. Reports of other batches, and of other shards, are left out: count these
    by themselves. Malformed reports have no id to rely on: they are counted in shard 0, each time that they come.

    Args:
        task: The task.
        reports: The reports, as clients sent them.
        batch: The batch to count.
        shard: The shard to count, by a hash of the ids.
        shards: The number of shards.

    Returns:
        An accumulator of one partial count.

    Raises:
        ParameterError: If there is no such shard.

    Example:
        >>> import discreet as dp
        >>> task = dp.local.Task.choose(domain=["red", "green", "blue"], epsilon=1, n=1_000)
        >>> report = dp.local.Client(task.assignment(0)).report("red")
        >>> dp.local.collector.count_reports(task, [report, report, b"noise"])  # doctest: +ELLIPSIS
        Accumulator(task='...', batch=0, reports=1, refused=1, partials=1)
    """
    key = partial_key(shard, shards)
    table = read_reports(task, reports)
    rows = table.batches == batch
    if shards > 1:
        rows &= np.fromiter((shard_of(each.tobytes(), shards) == shard for each in table.ids), np.bool_, len(table))
    table = without_duplicates(table.take(rows))
    counts, cohort_reports = count_table(layout_of(task), task.cohorts, table)
    refused = table.refused if shard == 0 else {}
    return Accumulator.partial(task, counts, cohort_reports, key=key, batch=batch, refused=refused)


def partial_key(shard: int, shards: int, sequence: int = 0) -> PartialKey:
    """The key of a shard, which is checked."""
    if not 0 <= shard < shards:
        raise ParameterError(
            f"shard={shard}, shards={shards}",
            because="shards are numbered from 0 to shards - 1",
            instead=f"range({max(shards, 1)})",
        )
    return PartialKey(shard, shards, sequence)


def without_duplicates(table: ReportTable) -> ReportTable:
    """One report of each id: that of the least cohort, then payload."""
    cohorts = table.cohorts.astype(">u2").view(np.uint8).reshape(-1, 2)
    rows = np.hstack([table.ids, cohorts, table.payloads])
    order = np.argsort(np.ascontiguousarray(rows).view(f"V{rows.shape[1]}").ravel(), kind="stable")
    ids = np.ascontiguousarray(table.ids[order]).view(f"V{REPORT_ID_BYTES}").ravel()
    is_first = np.ones(len(ids), dtype=np.bool_)
    is_first[1:] = ids[1:] != ids[:-1]
    return table.take(order[is_first])


def count_table(layout: PayloadLayout, cohorts: int, table: ReportTable) -> tuple[Counts, Counts]:
    """Count vectors and numbers of reports by cohort, of a table without duplicates."""
    reports = np.bincount(table.cohorts, minlength=cohorts).astype(np.int64)
    if layout.form == "symbol":
        cells = table.cohorts * layout.width + layout.symbols(table.payloads)
        return np.bincount(cells, minlength=cohorts * layout.width).reshape(cohorts, -1).astype(np.int64), reports
    counts = np.zeros((cohorts, layout.width), dtype=np.int64)
    for cohort in np.flatnonzero(reports):
        counts[cohort] = layout.count(table.payloads[table.cohorts == cohort])
    return counts, reports
