"""The form of a report, in the package and in the client that stands alone."""

from discreet.local import report_format
from discreet.local.client import Client
from discreet.local.report_format import BATCH, COHORT, HEADER_BYTES, REPORT_ID, TASK_ID
from discreet.local.task import Task
from local.local_tasks import task


def test_the_client_that_stands_alone_writes_the_header_that_collectors_read():
    given = task("pgr", 1024)
    report = Client({"task": given, "cohort": 5}).report(17, batch=2**32 - 1)
    known = Task.from_json(given)
    assert report[0] == report_format.VERSION
    assert report[TASK_ID] == known.id
    assert len(known.id) == report_format.TASK_ID_BYTES
    assert int.from_bytes(report[COHORT], "big") == 5
    assert int.from_bytes(report[BATCH], "big") == report_format.MOST_BATCHES - 1
    assert len(report[REPORT_ID]) == report_format.REPORT_ID_BYTES
    assert len(report) == HEADER_BYTES + known.oracle.payload_bytes == known.report_bytes


def test_the_header_is_that_of_version_1():
    assert (HEADER_BYTES, report_format.MOST_COHORTS, report_format.SHARD_DIGITS) == (31, 2**16, 15)
    assert (slice(1, 9), slice(9, 11), slice(11, 15), slice(15, 31)) == (TASK_ID, COHORT, BATCH, REPORT_ID)
