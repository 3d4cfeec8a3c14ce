"""Groups of an engine are checked as strictly as reports."""

import numpy as np
import pyarrow as pa
import pytest

from discreet.errors import SourceError
from discreet.local.collector.groups import GroupCounts, check_columns
from local_reports import bitmap_task, symbol_task

TASK = symbol_task(5, cohorts=2)
COLUMNS = {"task": False, "cohort": True, "batch": True, "report_id": False, "payload": True}


def test_groups_out_of_range_are_refused_by_their_number_of_reports():
    groups = GroupCounts(TASK)
    cells = [(0, 4, 10), (1, 0, 20), (2, 1, 3), (-1, 1, 4), (0, 5, 5), (1, -1, 6), (0, 2**62, 7)]
    cohort, payload, reports = zip(*cells, strict=True)
    groups.add_groups(pa.table({"cohort": cohort, "payload": payload, "reports": reports}))
    assert groups.counts.tolist() == [[0, 0, 0, 0, 10], [20, 0, 0, 0, 0]]
    assert groups.reports.tolist() == [10, 20]
    assert groups.refused == {"cohort": 7, "payload": 18}


def test_a_missing_cell_is_refused():
    groups = GroupCounts(TASK)
    columns = {"cohort": pa.array([0, None]), "payload": pa.array([None, 1]), "reports": pa.array([2, 3])}
    groups.add_groups(pa.table(columns))
    assert (groups.reports.sum(), groups.refused) == (0, {"cohort": 3, "payload": 2})


def test_bitmaps_out_of_range_are_refused_one_by_one():
    groups = GroupCounts(bitmap_task(20, cohorts=2))
    rows = [
        (0, b"\x80\x00\x10"),
        (1, b"\x80\x00\x00"),
        (1, b"\x80\x00\x01"),
        (2, bytes(3)),
        (0, b""),
        (0, bytes(4)),
        (0, None),
    ]
    cohort, payload = zip(*rows, strict=True)
    groups.add_rows(pa.record_batch({"cohort": cohort, "payload": pa.array(payload, pa.binary())}))
    assert groups.counts[:, [0, 19]].tolist() == [[1, 1], [1, 0]]
    assert groups.reports.tolist() == [1, 1]
    assert groups.refused == {"cohort": 1, "length": 3, "payload": 1}


def test_rows_of_a_slice_are_those_of_the_slice():
    groups = GroupCounts(bitmap_task(20))
    payload = pa.array([b"\xff\xff\xf0", b"\x80\x00\x00", b"\x40\x00\x00", b"\xff\xff\xf0"], pa.binary())
    rows = pa.record_batch({"cohort": pa.array([0] * 4, pa.int32()), "payload": payload}).slice(1, 2)
    groups.add_rows(rows)
    assert np.flatnonzero(groups.counts[0]).tolist() == [0, 1]


@pytest.mark.parametrize("change", [{"payload": False}, {"cohort": False}, {"task": True}, {"task": None}])
def test_columns_of_other_types_are_refused(change):
    check_columns(TASK, COLUMNS)
    with pytest.raises(SourceError, match=f"because  of another type than the task's: {next(iter(change))}\n"):
        check_columns(TASK, COLUMNS | change)


def test_a_missing_column_is_refused():
    with pytest.raises(SourceError, match="because  missing: batch\n"):
        check_columns(TASK, {name: kind for name, kind in COLUMNS.items() if name != "batch"})
