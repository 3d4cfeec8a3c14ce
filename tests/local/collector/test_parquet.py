"""Reports as Parquet: the well-formed ones, one row each, in a file that appears when it is complete."""

import pyarrow.parquet as pq
import pytest

from discreet.errors import ParameterError
from discreet.local.collector.parquet import schema_of, write_reports
from local_reports import bitmap_task, report, symbol_task

TASK = symbol_task(300, cohorts=3)


def test_a_row_has_the_fields_of_its_report(tmp_path):
    path = tmp_path / "reports.parquet"
    sent = report(TASK, 299, cohort=2, batch=2**32 - 1, report_id=bytes(range(16)))
    assert write_reports(TASK, [sent, b"noise", sent], path) == {"length": 1}
    row = {"task": TASK.id, "cohort": 2, "batch": 2**32 - 1, "report_id": bytes(range(16)), "payload": 299}
    assert pq.read_table(path).to_pylist() == [row, row]
    assert pq.read_schema(path).equals(schema_of(TASK))
    assert [each.name for each in tmp_path.iterdir()] == ["reports.parquet"]


def test_a_bitmap_is_bytes(tmp_path):
    task = bitmap_task(20)
    write_reports(task, [report(task, b"\x80\x01\x10")], tmp_path / "reports.parquet")
    assert pq.read_table(tmp_path / "reports.parquet").column("payload").to_pylist() == [b"\x80\x01\x10"]


def test_no_reports_are_a_file_without_rows(tmp_path):
    assert write_reports(TASK, [], tmp_path / "reports.parquet") == {}
    assert pq.read_table(tmp_path / "reports.parquet").num_rows == 0


def test_a_directory_that_is_not_there_is_refused_by_the_name_that_was_given(tmp_path):
    with pytest.raises(ParameterError, match="cannot be written: No such file") as caught:
        write_reports(symbol_task(4), [], tmp_path / "none" / "reports.parquet")
    assert ".discreet-" not in str(caught.value)
