"""Reports as Parquet: one row a report, with the columns task, cohort, batch, report_id and payload.

The payload is a whole number for oracles with symbols, and bytes for those with bitmaps or lists of slots.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from discreet.errors import ParameterError, short_traceback
from discreet.home.durable_files import SHARED, write_file
from discreet.local.collector.payloads import Bytes, layout_of
from discreet.local.collector.reports import ReportTable, read_reports

if TYPE_CHECKING:
    from discreet.local.task import Task


def schema_of(task: "Task") -> pa.Schema:
    """The columns of reports of a task in Parquet."""
    payload = pa.int64() if layout_of(task).form == "symbol" else pa.binary()
    columns = {"task": pa.binary(), "cohort": pa.int32(), "batch": pa.int64(), "report_id": pa.binary()}
    return pa.schema([pa.field(name, kind, nullable=False) for name, kind in (columns | {"payload": payload}).items()])


@short_traceback
def write_reports(task: "Task", reports: Iterable[bytes], path: str | os.PathLike[str]) -> dict[str, int]:
    """Write the well-formed reports of a task to one Parquet file, which appears at once when it is complete.

    Duplicates are written too: they are removed where reports are counted.

    Args:
        task: The task.
        reports: The reports, as clients sent them.
        path: The file; an existing one is replaced.

    Returns:
        Number of malformed reports by reason.

    Raises:
        ParameterError: If the file cannot be written.

    Example:
        >>> import discreet as dp
        >>> task = dp.local.Task.choose(domain=["red", "green", "blue"], epsilon=1, n=1_000)
        >>> report = dp.local.Client(task.assignment(0)).report("red")
        >>> dp.local.collector.write_reports(task, [report, b"noise"], "reports.parquet")
        {'length': 1}
        >>> dp.local.collector.count_parquet(task, "reports.parquet").reports
        1
    """
    table = read_reports(task, reports)
    try:
        write_file(Path(path), lambda file: pq.write_table(arrow_table(task, table), file), mode=SHARED)
    except OSError as error:
        raise ParameterError(
            f"reports in {str(path)!r}",
            because=f"the file cannot be written: {error.strerror or type(error).__name__}",
            instead=f"write_reports(task, reports, {Path(path).name!r}), or another directory that may be written",
        ) from None
    return table.refused


def arrow_table(task: "Task", table: ReportTable) -> pa.Table:
    """The rows of a table of reports, as Arrow."""
    layout = layout_of(task)
    payloads = layout.symbols(table.payloads) if layout.form == "symbol" else _binary(table.payloads)
    columns = [[task.id] * len(table), table.cohorts, table.batches, _binary(table.ids), payloads]
    schema = schema_of(task)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


def _binary(cells: Bytes) -> list[bytes]:
    return [row.tobytes() for row in cells]
