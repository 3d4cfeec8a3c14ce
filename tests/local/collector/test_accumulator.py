"""Accumulators: merging is a union of partial counts, and its bytes do not depend on order."""

import copy
import hashlib
import itertools
import json
import secrets

import numpy as np
import pytest

from discreet.errors import ParameterError, SourceError
from discreet.local.collector.accumulator import FORMAT, Accumulator, PartialKey, merge
from discreet.local.collector.counting import count_reports
from local_reports import report, symbol_reports, symbol_task

TASK = symbol_task(5, cohorts=2)


def shards(number, *, task=TASK, reports=200):
    sent = symbol_reports(task, reports)
    return sent, [count_reports(task, sent, shard=shard, shards=number) for shard in range(number)]


def in_a_tree(parts):
    parts = list(parts)
    while len(parts) > 1:
        first, second = (parts.pop(secrets.randbelow(len(parts))) for _ in range(2))
        parts.append(first.merge(second))
    return parts[0]


def test_every_order_and_tree_of_merges_gives_the_same_bytes():
    _, parts = shards(4)
    expected = merge(parts).to_bytes()
    assert {merge(order).to_bytes() for order in itertools.permutations(parts)} == {expected}
    assert {in_a_tree(parts).to_bytes() for _ in range(20)} == {expected}


def test_merged_shards_count_every_report_once():
    sent, parts = shards(7)
    whole = count_reports(TASK, sent)
    total = merge(parts)
    assert total.reports == whole.reports == 200
    assert np.array_equal(total.counts, whole.counts)
    assert np.array_equal(total.cohort_reports, whole.cohort_reports)


def test_a_thousand_partials_merge_to_the_same_bytes_in_random_orders():
    task = symbol_task(8)
    parts = [
        Accumulator.partial(task, np.full((1, 8), i), np.array([8 * i]), key=PartialKey(0, 1, i)) for i in range(1_000)
    ]
    expected = merge(parts).to_bytes()
    for _ in range(3):
        secrets.SystemRandom().shuffle(parts)
        assert merge(parts).to_bytes() == expected
        assert in_a_tree(parts).to_bytes() == expected


def test_a_partial_that_is_delivered_again_counts_once():
    _, parts = shards(3)
    total = merge(parts)
    assert total.merge(total) == total
    assert total.merge(parts[1]) == parts[1].merge(total) == total
    assert merge([*parts, *parts, *parts]) == total


def test_nothing_changes_what_it_is_merged_with():
    _, parts = shards(2)
    nothing = Accumulator.empty(TASK)
    assert nothing.merge(parts[0]) == parts[0].merge(nothing) == parts[0]
    assert nothing.merge(nothing) == nothing


def test_two_contents_of_one_key_are_refused():
    one, other = (count_reports(TASK, symbol_reports(TASK, n)) for n in (10, 11))
    with pytest.raises(SourceError, match="these two differ"):
        one.merge(other)


def test_two_contents_are_refused_also_where_one_is_in_a_larger_sum():
    sent, parts = shards(2)
    other = count_reports(TASK, sent[:-1], shard=0, shards=2)
    other = other if other != parts[0] else count_reports(TASK, sent[1:-1], shard=0, shards=2)
    if other != parts[0]:
        with pytest.raises(SourceError, match="these two differ"):
            merge(parts).merge(other)


def test_sums_that_share_some_partials_and_have_others_are_refused_with_advice():
    _, parts = shards(3)
    with pytest.raises(SourceError, match="merge the partial counts again, each by itself"):
        merge(parts[:2]).merge(merge(parts[1:]))


def test_shards_of_another_division_are_refused():
    sent, parts = shards(2)
    with pytest.raises(SourceError, match="divided into 2 and 3 shards"):
        parts[0].merge(count_reports(TASK, sent, shard=1, shards=3))


def test_another_batch_or_task_is_refused():
    one = count_reports(TASK, symbol_reports(TASK, 3))
    with pytest.raises(ParameterError, match="one batch of one task"):
        one.merge(Accumulator.empty(TASK, batch=1))
    with pytest.raises(ParameterError, match="one batch of one task"):
        one.merge(Accumulator.empty(symbol_task(5, cohorts=2, name="another")))


def test_merging_nothing_is_refused():
    with pytest.raises(ParameterError, match=r"Accumulator\.empty"):
        merge([])


def test_bytes_are_read_back():
    sent, parts = shards(3)
    total = merge([*parts[:2], count_reports(TASK, [*sent, b"noise"], shard=2, shards=3)])
    again = Accumulator.from_bytes(total.to_bytes())
    assert again == total
    assert (again.reports, dict(again.refused), dict(again.partials)) == (200, {}, dict(total.partials))
    assert copy.copy(total) == total
    assert {total, again} == {total}


def test_any_changed_or_missing_byte_is_noticed():
    data = shards(2)[1][0].to_bytes()
    for place in range(len(data)):
        with pytest.raises(SourceError):
            Accumulator.from_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
    for length in (0, 10, len(data) - 1):
        with pytest.raises(SourceError):
            Accumulator.from_bytes(data[:length])


@pytest.mark.parametrize(
    "change",
    [
        {"cohorts": 1},
        {"width": -1},
        {"partials": 0},
        {"refused": {"length": 0}},
        {"refused": {"length": -1}},
        {"refused": 3},
        {"batch": "0"},
        {"more": 1},
        {"width": None},
        {"partials": 10**12},
    ],
    ids=str,
)
def test_bytes_with_a_right_checksum_that_are_not_canonical_are_refused(change):
    line, _, rest = shards(1)[1][0].to_bytes()[len(FORMAT) : -32].partition(b"\n")
    facts = json.dumps(json.loads(line) | change, sort_keys=True, separators=(",", ":")).encode()
    body = FORMAT + facts + b"\n" + rest
    with pytest.raises(SourceError):
        Accumulator.from_bytes(body + hashlib.sha256(body).digest())


def test_bytes_of_another_version_are_refused():
    with pytest.raises(SourceError, match="version 1"):
        Accumulator.from_bytes(b"discreet.local.accumulator/2\n" + bytes(40))


def test_sums_above_the_largest_integer_are_refused():
    task = symbol_task(2)
    halves = [
        Accumulator.partial(task, np.array([[2**62, 0]]), np.array([2**62]), key=PartialKey(i, 2)) for i in range(2)
    ]
    with pytest.raises(SourceError, match=r"above 2\*\*63 - 1"):
        merge(halves)


def test_counts_without_a_key_are_refused():
    with pytest.raises(SourceError, match="without the key"):
        Accumulator(TASK.hash, 0, np.ones((2, 5)), np.full(2, 5))


def test_counts_of_another_width_are_refused():
    with pytest.raises(SourceError, match=r"\(1, 5\)"):
        Accumulator.partial(TASK, np.ones((1, 5)), np.ones(1))


def test_counts_cannot_be_changed_in_place():
    state = shards(1)[1][0]
    with pytest.raises(ValueError, match="read-only"):
        state.counts[0, 0] = 1
    with pytest.raises(TypeError):
        state.partials[PartialKey()] = b""


def test_refused_reports_add_up():
    parts = [count_reports(TASK, [b"", report(TASK, 1)], shard=shard, shards=2) for shard in range(2)]
    assert merge(parts).refused == {"length": 1}
    streams = [
        Accumulator.partial(
            TASK, np.zeros((2, 5)), np.zeros(2), key=PartialKey(0, 1, i), refused={"payload": i, "x": 0}
        )
        for i in range(4)
    ]
    assert merge(streams).refused == {"payload": 6}
    assert merge(streams).refusals == 6


def test_merging_something_else_than_accumulators_is_refused_and_one_is_itself():
    state = Accumulator.empty(symbol_task(4))
    for wrong in ([1], [state, None], 5):
        with pytest.raises(ParameterError, match="a list of accumulators"):
            merge(wrong)
    assert merge(state) == state


def test_advice_about_several_batches_leaves_those_of_one():
    task = symbol_task(4)
    accumulators = [Accumulator.empty(task, batch) for batch in (0, 7)]
    with pytest.raises(ParameterError) as caught:
        merge(accumulators)
    assert caught.value.instead == "merge([each for each in accumulators if each.batch == 0])"
