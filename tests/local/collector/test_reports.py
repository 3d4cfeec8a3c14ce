"""Reading is strict and never raises: what no client of the task sends is counted by its reason."""

import hashlib
import secrets

import pytest

from discreet.local.collector.reports import read_reports, shard_of
from local_reports import bitmap_task, report, subset_task, symbol_task

TASK = symbol_task(300, cohorts=3)


def test_the_columns_of_a_report_are_read():
    table = read_reports(TASK, [report(TASK, 299, cohort=2, batch=2**32 - 1, report_id=bytes(range(16)))])
    assert (table.cohorts.tolist(), table.batches.tolist()) == ([2], [2**32 - 1])
    assert (table.ids.tolist(), table.payloads.tolist()) == ([list(range(16))], [[1, 43]])
    assert table.refused == {}


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (b"", "length"),
        (report(TASK, 1)[:-1], "length"),
        (report(TASK, 1) + b"\x00", "length"),
        ("text", "length"),
        (None, "length"),
        (report(TASK, 1, version=0), "version"),
        (report(TASK, 1, version=2), "version"),
        (report(TASK, 1, task_id=bytes(8)), "task"),
        (report(TASK, 1, task_id=TASK.id[:7] + bytes([TASK.id[7] ^ 1])), "task"),
        (report(TASK, 1, cohort=3), "cohort"),
        (report(TASK, 1, cohort=65_535), "cohort"),
        (report(TASK, 300), "payload"),
        (report(TASK, 65_535), "payload"),
    ],
    ids=range(13),  # the ids of reports are random, and every worker of a run needs the same names of tests
)
def test_a_malformed_report_is_counted_by_its_reason(bad, reason):
    table = read_reports(TASK, [report(TASK, 1), bad, report(TASK, 2)])
    assert len(table) == 2
    assert table.refused == {reason: 1}


def test_padding_after_the_last_slot_is_refused():
    assert read_reports(bitmap_task(20), [report(bitmap_task(20), b"\x00\x00\x01")]).refused == {"payload": 1}


@pytest.mark.parametrize("task", [TASK, bitmap_task(20), subset_task(16, 5), subset_task(1_000, 3)])
def test_noise_of_any_length_never_raises(task):
    noise = [secrets.token_bytes(secrets.randbelow(60)) for _ in range(2_000)]
    near = [report(task, secrets.token_bytes(task.oracle.payload_bytes)) for _ in range(500)]
    table = read_reports(task, [*noise, *near])
    assert len(table) + sum(table.refused.values()) == 2_500
    assert read_reports(task, []).refused == {}


def test_the_shard_is_a_hash_of_the_id_that_any_language_computes():
    for _ in range(100):
        report_id = secrets.token_bytes(16)
        assert shard_of(report_id, 7) == (int.from_bytes(hashlib.sha256(report_id).digest()[:8], "big") >> 4) % 7
