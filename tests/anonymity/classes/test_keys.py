"""Keys of several columns, people by key, and ratios that integers decide."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.anonymity.classes import keys as keys_module
from discreet.anonymity.classes.keys import ClassKeys, People, largest_ratio, pack, renumber, runs, sum_of_ratios


def test_keys_are_equal_where_all_codes_are() -> None:
    one, other = np.array([0, 1, 0, 1], np.int32), np.array([2, 0, 2, 1], np.int32)
    keys = pack([(one, 2), (other, 3)], 4)
    assert keys.values.tolist() == [2, 4, 2, 5]
    assert keys.bits == 3


def test_columns_of_more_than_62_bits_keep_their_order() -> None:
    codes = [np.array([2**30, 5, 5, 2**30], np.int64)] * 3
    keys = pack([(each, 2**31) for each in codes], 4)
    assert keys.values[0] == keys.values[3] > keys.values[1] == keys.values[2]
    assert keys.bits <= 62


def test_keys_are_numbered_in_their_order() -> None:
    numbers, bits = renumber(np.array([70, 5, 70, 9]))
    assert numbers.tolist() == [2, 0, 2, 1]
    assert bits == 2


@pytest.mark.parametrize("limit", [62, 1])
def test_people_are_added_where_each_has_one_row(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys_module, "MOST_BITS", limit)
    people = People(np.array([3, 1, 4]))
    found, counts = people.by(ClassKeys(np.array([7, 2, 7]), 3))
    assert (found.tolist(), counts.tolist()) == ([2, 7], [1, 7])


@pytest.mark.parametrize("limit", [62, 1])
def test_a_person_with_two_rows_of_a_key_is_counted_once(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys_module, "MOST_BITS", limit)
    people = People(np.ones(4, np.int64), np.array([0, 0, 1, 0]), 2)
    found, counts = people.by(ClassKeys(np.array([5, 5, 5, 6]), 3))
    assert (found.tolist(), counts.tolist()) == ([5, 6], [2, 1])


def test_pairs_need_codes_of_persons() -> None:
    with pytest.raises(ValueError, match="codes"):
        People(np.array([1])).pairs(ClassKeys(np.array([0]), 1))


def test_runs_have_lengths() -> None:
    values, lengths = runs(np.array([1, 1, 4]))
    assert (values.tolist(), lengths.tolist()) == ([1, 4], [2, 1])


def test_the_largest_ratio_is_exact_where_floats_are_equal() -> None:
    large = 2**60
    numerators, denominators = np.array([large, large + 1, 1]), np.array([large + 2, large + 3, 3])
    assert (large / (large + 2)) == (large + 1) / (large + 3)
    assert largest_ratio(numerators, denominators) == Fraction(large + 1, large + 3)
    assert largest_ratio(np.array([0, 0]), np.array([1, 2])) == 0


def test_a_sum_of_ratios_is_exact() -> None:
    assert sum_of_ratios([1, 1, 5], [2, 3, 6]) == Fraction(5, 3)
    assert sum_of_ratios([], []) == 0
