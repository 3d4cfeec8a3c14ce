"""Counts from the groups of an engine: rows of cohort, payload and number of reports, as `GROUP BY` returns them.

Ranges are checked once a group, which costs nothing beside the scan.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.errors import SourceError
from discreet.local.collector.payloads import Bytes, PayloadLayout, layout_of
from discreet.local.oracles.randomizer import Counts

if TYPE_CHECKING:
    from discreet.local.task import Task


class GroupCounts:
    """Count vectors that grow by groups or by rows of an engine.

    Attributes:
        counts: Count vectors, one row a cohort.
        reports: Number of reports of each cohort.
        refused: Number of malformed reports by reason.
    """

    def __init__(self, task: "Task") -> None:
        self._layout: PayloadLayout = layout_of(task)
        self.counts: Counts = np.zeros((task.cohorts, self._layout.width), dtype=np.int64)
        self.reports: Counts = np.zeros(task.cohorts, dtype=np.int64)
        self.refused: dict[str, int] = {}

    @property
    def has_symbols(self) -> bool:
        """Whether an engine can count the payloads by GROUP BY."""
        return self._layout.form == "symbol"

    def add_refused(self, refused: Mapping[str, int]) -> None:
        """Add malformed reports that were refused before."""
        for reason, number in refused.items():
            self._refuse(reason, number)

    def add_groups(self, groups: pa.Table) -> None:
        """Add groups of symbols: the columns cohort, payload and reports."""
        cohorts, symbols, numbers = (_integers(groups.column(name)) for name in ("cohort", "payload", "reports"))
        is_known = self._known_cohorts(cohorts, numbers)
        is_right = (symbols >= 0) & (symbols < self._layout.width)
        self._refuse("payload", int(numbers[is_known & ~is_right].sum()))
        kept = is_known & is_right
        np.add.at(self.counts, (cohorts[kept], symbols[kept]), numbers[kept])
        np.add.at(self.reports, cohorts[kept], numbers[kept])

    def add_rows(self, rows: pa.RecordBatch) -> None:
        """Add reports with bitmaps or lists of slots: the columns cohort and payload."""
        cohorts, payloads = _integers(rows.column("cohort")), rows.column("payload")
        lengths = _integers(pc.binary_length(payloads))
        is_right = self._known_cohorts(cohorts, np.ones(len(cohorts), dtype=np.int64))
        is_long = lengths == self._layout.length
        self._refuse("length", int((is_right & ~is_long).sum()))
        is_right &= is_long
        cells = _cells(payloads.filter(pa.array(is_right)), self._layout.length)
        is_valid = self._layout.are_valid(cells)
        self._refuse("payload", int((~is_valid).sum()))
        self._add_cells(cohorts[is_right][is_valid], cells[is_valid])

    def _add_cells(self, cohorts: Counts, cells: Bytes) -> None:
        for cohort in np.unique(cohorts):
            self.counts[cohort] += self._layout.count(cells[cohorts == cohort])
        self.reports += np.bincount(cohorts, minlength=len(self.reports))

    def _known_cohorts(self, cohorts: Counts, numbers: Counts) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
        is_known = np.asarray((cohorts >= 0) & (cohorts < len(self.reports)))
        self._refuse("cohort", int(numbers[~is_known].sum()))
        return is_known

    def _refuse(self, reason: str, number: int) -> None:
        if number:
            self.refused[reason] = self.refused.get(reason, 0) + number


def check_columns(task: "Task", columns: Mapping[str, bool | None]) -> None:
    """Refuse a table whose columns are not those of reports.

    Args:
        task: The task.
        columns: The columns of the table, and whether each is of whole numbers (True), bytes (False) or neither (None).
    """
    is_symbol = layout_of(task).form == "symbol"
    expected = {"task": False, "cohort": True, "batch": True, "report_id": False, "payload": is_symbol}
    missing = [name for name in expected if name not in columns]
    other = [name for name, is_whole in expected.items() if name in columns and columns[name] is not is_whole]
    if missing or other:
        faults = (("missing", missing), ("of another type than the task's", other))
        raise SourceError(
            f"a table of reports with the columns {', '.join(columns)}",
            because="; ".join(f"{fault}: {', '.join(names)}" for fault, names in faults if names),
            instead="files that dp.local.collector.write_reports(task, reports, path) wrote",
        )


def _integers(column: "pa.ChunkedArray | pa.Array") -> Counts:
    """Whole numbers; a missing one becomes -1, which no range contains."""
    return np.asarray(pc.fill_null(column.cast(pa.int64()), -1).to_numpy(zero_copy_only=False), dtype=np.int64)


def _cells(payloads: pa.Array, length: int) -> Bytes:
    """Payloads of one length, a row each; without a copy."""
    fixed = payloads.cast(pa.binary())
    start = np.frombuffer(fixed.buffers()[1], dtype=np.int32)[fixed.offset] if len(fixed) else 0
    data = np.frombuffer(fixed.buffers()[2] or b"", dtype=np.uint8) if len(fixed) else np.zeros(0, dtype=np.uint8)
    return data[start : start + len(fixed) * length].reshape(-1, length)
