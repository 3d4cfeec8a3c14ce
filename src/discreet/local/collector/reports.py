"""Reading reports, strictly: what is malformed is counted by its reason and never raises.

The form of a report is that of `report_format`.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.errors import public_class, short_traceback
from discreet.local.collector.payloads import Bytes, PayloadLayout, big_endian, layout_of
from discreet.local.oracles.randomizer import Counts
from discreet.local.report_format import BATCH, COHORT, HEADER_BYTES, REPORT_ID, SHARD_DIGITS, TASK_ID, VERSION

if TYPE_CHECKING:
    from discreet.local.task import Task


@public_class
@dataclass(frozen=True)
class ReportTable:
    """The columns of reports that are well formed, and how many were refused.

    Attributes:
        cohorts: Cohort of each report.
        batches: Batch of each report.
        ids: Id of each report, 16 bytes a row.
        payloads: Payload of each report, one row each.
        positions: Position of each report among all that were read, from 0.
        refused: Number of malformed reports by reason: length, version, task, cohort, payload.

    Example:
        >>> import discreet as dp
        >>> task = dp.local.Task.choose(domain=["red", "green", "blue"], epsilon=1, n=1_000)
        >>> report = dp.local.Client(task.assignment(0)).report("red", batch=7)
        >>> dp.local.collector.read_reports(task, [report]).batches.tolist()
        [7]
    """

    cohorts: Counts
    batches: Counts
    ids: Bytes
    payloads: Bytes
    positions: Counts
    refused: dict[str, int]

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, rows: NDArray[np.bool_] | NDArray[np.int64]) -> "ReportTable":
        """Some of the rows; the refused reports stay counted.

        Args:
            rows: Which rows, as a mask or as their numbers.

        Returns:
            The columns of these rows.
        """
        cohorts, batches, positions = self.cohorts[rows], self.batches[rows], self.positions[rows]
        return ReportTable(cohorts, batches, self.ids[rows], self.payloads[rows], positions, self.refused)


@short_traceback
def read_reports(task: "Task", reports: Iterable[object]) -> ReportTable:
    """Read reports of a task; those that no client of the task sends are counted and left out.

    Args:
        task: The task.
        reports: The reports, as clients sent them.

    Returns:
        The columns of the well-formed reports, and the number of others by reason.

    Example:
        >>> import discreet as dp
        >>> task = dp.local.Task.choose(domain=["red", "green", "blue"], epsilon=1, n=1_000)
        >>> report = dp.local.Client(task.assignment(0)).report("red")
        >>> table = dp.local.collector.read_reports(task, [report, report[:-1], b"2" + report[1:]])
        >>> len(table), table.refused
        (1, {'length': 1, 'version': 1})
    """
    layout = layout_of(task)
    cells, positions, number = _cells_of_length(reports, HEADER_BYTES + layout.length)
    refused, remaining = {"length": number - len(cells)}, np.ones(len(cells), dtype=np.bool_)
    for reason, is_right in _checks(task, layout, cells).items():
        refused[reason] = int((remaining & ~is_right).sum())
        remaining &= is_right
    cells = cells[remaining]
    return ReportTable(
        big_endian(cells[:, COHORT]),
        big_endian(cells[:, BATCH]),
        cells[:, REPORT_ID],
        cells[:, HEADER_BYTES:],
        positions[remaining],
        {reason: n for reason, n in refused.items() if n},
    )


@short_traceback
def shard_of(report_id: bytes, shards: int) -> int:
    """The shard of a report, by a hash of its id: duplicates meet in one shard.

    The hash is the first 60 bits of SHA-256, which every engine has.

    Args:
        report_id: The id, 16 bytes.
        shards: The number of shards.

    Returns:
        A number from 0 to `shards - 1`.

    Example:
        >>> shard_of(bytes(16), 4)
        1
    """
    return int(hashlib.sha256(report_id).hexdigest()[:SHARD_DIGITS], 16) % shards


def _cells_of_length(reports: Iterable[object], length: int) -> tuple[Bytes, Counts, int]:
    """The reports of one length, a row each, their positions, and the number of all reports."""
    rows, positions, number = [], [], 0
    for report in reports:
        if isinstance(report, bytes | bytearray | memoryview) and len(report) == length:
            rows.append(bytes(report))
            positions.append(number)
        number += 1
    cells = np.frombuffer(b"".join(rows), dtype=np.uint8).reshape(-1, length)
    return cells, np.array(positions, dtype=np.int64), number


def _checks(task: "Task", layout: PayloadLayout, cells: Bytes) -> dict[str, NDArray[np.bool_]]:
    """Which reports pass each check, in the order in which a malformed report gets its reason."""
    return {
        "version": cells[:, 0] == VERSION,
        "task": (cells[:, TASK_ID] == np.frombuffer(task.id, dtype=np.uint8)).all(axis=1),
        "cohort": big_endian(cells[:, COHORT]) < task.cohorts,
        "payload": layout.are_valid(cells[:, HEADER_BYTES:]),
    }
