"""Reading reports, strictly: what is malformed is counted by its reason and never raises.

Version 1: one byte 1, task id (8 bytes), cohort (2, big-endian), batch (4, big-endian), report id (16), payload.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.errors import public_class, short_traceback
from discreet.local.collector.payloads import Bytes, Counts, layout_of

if TYPE_CHECKING:
    from discreet.local.task import Task

VERSION = 1
HEADER_BYTES = 31
ID_BYTES = 16
_TASK, _COHORT, _BATCH, _ID = slice(1, 9), slice(9, 11), slice(11, 15), slice(15, HEADER_BYTES)


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
    length = HEADER_BYTES + layout.length
    rows, places, number = [], [], 0
    for report in reports:
        if isinstance(report, bytes | bytearray | memoryview) and len(report) == length:
            rows.append(bytes(report))
            places.append(number)
        number += 1
    cells = np.frombuffer(b"".join(rows), dtype=np.uint8).reshape(-1, length)
    checks = {
        "version": cells[:, 0] == VERSION,
        "task": (cells[:, _TASK] == np.frombuffer(task.id, dtype=np.uint8)).all(axis=1),
        "cohort": _integers(cells[:, _COHORT]) < task.cohorts,
        "payload": layout.are_valid(cells[:, HEADER_BYTES:]),
    }
    refused, remaining = {"length": number - len(rows)}, np.ones(len(cells), dtype=np.bool_)
    for reason, is_right in checks.items():
        refused[reason] = int((remaining & ~is_right).sum())
        remaining &= is_right
    cells = cells[remaining]
    return ReportTable(
        _integers(cells[:, _COHORT]),
        _integers(cells[:, _BATCH]),
        cells[:, _ID],
        cells[:, HEADER_BYTES:],
        np.array(places, dtype=np.int64)[remaining],
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
    return int(hashlib.sha256(report_id).hexdigest()[:15], 16) % shards


def _integers(cells: Bytes) -> Counts:
    total = np.zeros(len(cells), dtype=np.int64)
    for place in range(cells.shape[1]):
        total = (total << 8) | cells[:, place]
    return total
