"""Ranges that are answered hold many people, those passed over do not, and the price is that of the watch."""

from bisect import bisect_left

import pytest

import discreet as dp
from examples import ranges

BETA = 1e-6
COLUMN = "hours_per_week"


@pytest.fixture(scope="module")
def people():
    return dp.datasets.people(20_000, seed=6)


def opened(protect, people, epsilon=1):
    return protect(
        people,
        name="people",
        privacy_unit="person_id",
        max_rows=1,
        budget=dp.Budget(epsilon=epsilon),
        ledger=":memory:",
    )


def asked(session, threshold=2_000, answers=3):
    listed = list(ranges.intervals(2, 90, 4))
    return listed, ranges.worth_answering(
        session, "people", COLUMN, listed, threshold=threshold, epsilon=1, answers=answers, confidence=1 - BETA
    )


def exact_counts(people, listed):
    hours = sorted(people[COLUMN].to_pylist())
    return {(start, end): bisect_left(hours, end) - bisect_left(hours, start) for start, end in listed}


def test_ranges_go_from_narrow_to_wide():
    assert list(ranges.intervals(0, 6, 2)) == [(0, 2), (2, 4), (4, 6), (0, 4), (2, 6), (0, 6)]


def test_without_noise_the_ranges_found_are_those_above_and_their_counts_are_exact(people):
    with opened(dp.testing.protect, people) as session:
        listed, found = asked(session)
    counts = exact_counts(people, listed)
    assert len(found.counts) == 3
    assert all(count == counts[spot] >= 2_000 for spot, count in found.counts.items())


def test_with_noise_no_range_is_wrong_by_more_than_the_accuracy_and_counts_are_within_their_margin(people):
    """Any wrong range has probability at most 1e-6 together, a count beyond its margin 3e-6."""
    with opened(dp.protect, people) as session:
        listed, found = asked(session)
    mechanism = dp.mechanisms.AboveThreshold(threshold=2_000, epsilon=1, answers=3, monotone=True, with_answers=True)
    assert found.accuracy == mechanism.accuracy(len(listed), BETA)
    exact, passed = exact_counts(people, listed), 0
    for spot in listed:
        if spot in found.counts:
            assert exact[spot] >= 2_000 - found.accuracy
            assert abs(found.counts[spot] - exact[spot]) <= mechanism.margin(1 - BETA)
        elif not any(spot[0] <= a and b <= spot[1] for a, b in found.counts):
            passed += 1
            assert exact[spot] < 2_000 + found.accuracy
        if passed + len(found.counts) == found.asked:
            break
    assert len(found.counts) == 3


def test_the_price_is_the_same_for_three_ranges_and_for_all(people):
    for listed in ([(2, 6), (6, 10), (30, 34)], list(ranges.intervals(2, 90, 4))):
        with opened(dp.protect, people, epsilon=2) as session:
            ranges.worth_answering(session, "people", COLUMN, listed, threshold=2_000, epsilon=1, answers=3)
            assert session.remaining().epsilon == 1
            assert [entry.kind for entry in session.history()] == ["REGISTERED", "RESERVED"]


def test_the_account_is_short(capsys):
    ranges.main()
    assert len(capsys.readouterr().out.splitlines()) == 4
