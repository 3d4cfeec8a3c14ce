"""t-closeness: the worked example of the paper, and sums over all values."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.anonymity.classes import closeness
from discreet.anonymity.classes.closeness import classes_above, closeness_of
from discreet.anonymity.classes.sensitive_table import SensitiveTable

SALARIES = [[3, 4, 5], [6, 11, 8], [7, 9, 10]]
"""Ranks of the salaries of table 3 of Li et al. (2007), in thousands."""


def _table(classes: list[dict[int, int]]) -> SensitiveTable:
    lengths = np.array([len(each) for each in classes], np.int64)
    values = np.array([value for each in classes for value in sorted(each)], np.int64)
    counts = np.array([each[value] for each in classes for value in sorted(each)], np.int64)
    whole = np.bincount(values, weights=counts).astype(np.int64)
    return SensitiveTable(np.cumsum(lengths) - lengths, values, counts, whole)


def _salaries() -> SensitiveTable:
    return _table([{salary - 3: 1 for salary in each} for each in SALARIES])


def _brute(table: SensitiveTable, *, is_ordered: bool) -> Fraction:
    found = []
    total, m = int(table.whole.sum()), len(table.whole)
    for start, length in zip(table.starts.tolist(), table.lengths.tolist(), strict=True):
        own = dict(zip(table.values[start : start + length].tolist(), table.counts[start:].tolist(), strict=False))
        one = sum(own.values())
        gaps = [Fraction(own.get(i, 0), one) - Fraction(int(table.whole[i]), total) for i in range(m)]
        if is_ordered:
            found.append(sum(abs(sum(gaps[: i + 1])) for i in range(m)) / Fraction(max(m - 1, 1)))
        else:
            found.append(sum(abs(gap) for gap in gaps) / Fraction(2))
    return max(found)


def test_the_first_class_of_the_paper_has_distance_0_375() -> None:
    table = _salaries()
    assert closeness_of(table.part(np.array([0])), is_ordered=True) == Fraction(3, 8)


def test_the_second_class_of_the_paper_has_distance_0_167() -> None:
    assert closeness_of(_salaries().part(np.array([1])), is_ordered=True) == Fraction(1, 6)


def test_values_that_a_class_does_not_have_count() -> None:
    assert closeness_of(_table([{0: 1}, {1: 1}, {2: 2}]), is_ordered=False) == Fraction(3, 4)


@pytest.mark.parametrize("is_ordered", [False, True])
@pytest.mark.parametrize("limit", [2**62, 3_000, 1])
def test_sums_are_those_of_the_definition_also_for_classes_beyond_64_bits(
    is_ordered: bool, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(closeness, "_LIMIT", limit)
    classes = [{0: 2, 3: 1}, {1: 5}, {4: 1, 5: 1, 0: 1}, {2: 9, 3: 3}, {0: 1, 1: 1, 2: 1, 3: 1, 4: 1, 5: 1}]
    table = _table(classes)
    assert closeness_of(table, is_ordered=is_ordered) == _brute(table, is_ordered=is_ordered)


def test_a_table_without_classes_is_close() -> None:
    assert closeness_of(_table([]), is_ordered=True) == 0


def test_a_column_with_one_value_is_close() -> None:
    assert closeness_of(_table([{0: 3}]), is_ordered=True) == 0


@pytest.mark.parametrize("is_ordered", [False, True])
@pytest.mark.parametrize("limit", [2**62, 3_000, 1])
def test_a_class_is_above_a_limit_only_where_its_exact_distance_is(
    is_ordered: bool, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(closeness, "_LIMIT", limit)
    table = _table([{0: 3, 1: 1}, {1: 5}, {0: 2, 2: 7, 3: 1}, {3: 4}])
    distances = [_brute(table.part(np.array([i])), is_ordered=is_ordered) for i in range(4)]
    for bound in [*distances, Fraction(0), Fraction(1)]:
        assert classes_above(table, bound, is_ordered=is_ordered).tolist() == [each > bound for each in distances]
    empty = table.part(np.zeros(0, dtype=np.int64))
    assert classes_above(empty, Fraction(1, 2), is_ordered=is_ordered).tolist() == []
