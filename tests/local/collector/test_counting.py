"""Counts in this process: each report id once, in whatever order reports arrive."""

import random
import secrets
from collections import Counter

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.local.collector.accumulator import PartialKey, merge
from discreet.local.collector.counting import count_reports
from local_reports import bitmap_task, report, subset_task, symbol_reports, symbol_task

TASK = symbol_task(6, cohorts=3)


def test_counts_are_those_of_a_plain_loop():
    reports = symbol_reports(TASK, 2_000)
    state = count_reports(TASK, reports)
    expected = Counter((int.from_bytes(each[9:11], "big"), each[31]) for each in reports)
    assert {(c, s): state.counts[c, s] for c, s in expected} == expected
    assert state.reports == 2_000
    assert state.cohort_reports.tolist() == state.counts.sum(axis=1).tolist()


def test_replayed_reports_count_once_in_any_order():
    reports = symbol_reports(TASK, 500)
    again = reports * 3
    random.shuffle(again)
    assert count_reports(TASK, again) == count_reports(TASK, reports)


def test_of_reports_with_one_id_the_least_counts_in_any_order():
    report_id = bytes(16)
    same = [report(TASK, s, cohort=c, report_id=report_id) for c in (2, 1) for s in (5, 0, 3)]
    for _ in range(5):
        random.shuffle(same)
        state = count_reports(TASK, same)
        assert state.reports == 1
        assert state.counts[1, 0] == 1


def test_ids_that_end_with_zeros_are_different_ids():
    ids = [b"\x01" + bytes(15), b"\x01\x00\x01" + bytes(13), bytes(16), bytes(15) + b"\x01"]
    assert count_reports(TASK, [report(TASK, 0, report_id=each) for each in ids]).reports == 4


def test_duplicates_meet_in_one_shard():
    reports = symbol_reports(TASK, 300)
    parts = [count_reports(TASK, reports * 2, shard=shard, shards=5) for shard in range(5)]
    assert all(part.reports > 0 for part in parts)
    assert np.array_equal(merge(parts).counts, count_reports(TASK, reports).counts)
    assert list(parts[3].partials) == [PartialKey(3, 5)]


def test_other_batches_are_left_out():
    reports = symbol_reports(TASK, 10, batch=1) + symbol_reports(TASK, 20, batch=2)
    assert [count_reports(TASK, reports, batch=batch).reports for batch in range(4)] == [0, 10, 20, 0]


def test_malformed_reports_are_counted_and_not_counted_on():
    state = count_reports(TASK, [report(TASK, 6), report(TASK, 0, cohort=3), b"", report(TASK, 5)])
    assert state.reports == 1
    assert dict(state.refused) == {"cohort": 1, "length": 1, "payload": 1}


@pytest.mark.parametrize("task", [bitmap_task(20, cohorts=2), subset_task(1_000, 3, cohorts=2)])
def test_bits_and_slots_are_counted_by_cohort(task):
    rows = [task.oracle.payload((1, 5, 7)), task.oracle.payload((0, 5, 19))]
    reports = [report(task, row, cohort=c) for c in range(2) for row in rows]
    state = count_reports(task, [*reports, report(task, rows[0], cohort=1)])
    assert [state.counts[0, i] for i in (0, 1, 5, 7, 19)] == [1, 1, 2, 1, 1]
    assert [state.counts[1, i] for i in (0, 1, 5, 7, 19)] == [1, 2, 3, 2, 1]
    assert state.cohort_reports.tolist() == [2, 3]


@pytest.mark.parametrize(("shard", "shards"), [(1, 1), (-1, 2), (0, 0)])
def test_a_shard_that_is_not_there_is_refused(shard, shards):
    with pytest.raises(ParameterError, match="numbered from 0"):
        count_reports(TASK, [], shard=shard, shards=shards)


def test_a_hundred_thousand_reports_with_duplicates_count_once():
    raw = np.frombuffer(secrets.token_bytes(100_000 * 16), dtype=np.uint8).reshape(-1, 16)
    reports = [report(TASK, i % 6, cohort=i % 3, report_id=row.tobytes()) for i, row in enumerate(raw)]
    assert count_reports(TASK, reports + reports[::7]).reports == 100_000
