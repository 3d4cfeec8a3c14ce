"""Distinct people of classes."""

import numpy as np
import pyarrow as pa

from discreet.anonymity.generalisation import recode_people


def test_rows_are_people_without_a_column_of_persons():
    groups = recode_people.row_groups(pa.chunked_array([[2, 3, 4]]), None)
    assert groups.people(np.array([0, 1, 0])).tolist() == [6, 3]


def test_a_person_counts_once_in_a_class_and_rows_without_one_count_each():
    persons = pa.chunked_array([["a", "a", None, "b", "a"]])
    groups = recode_people.row_groups(pa.chunked_array([[9, 9, 2, 1, 1]]), persons)
    assert groups.people(np.array([0, 0, 0, 1, 1])).tolist() == [3, 2]


def test_nobody_is_in_no_class():
    assert recode_people.row_groups(pa.chunked_array([[]], pa.int64()), None).people(np.array([], np.int64)).size == 0


def test_classes_are_numbered_by_all_columns():
    found = recode_people.classes_of([np.array([0, 1, 0, 0]), np.array([5, 5, 5, 6])], 4)
    assert len(set(found.tolist())) == 3
    assert found[0] == found[2]
    assert recode_people.classes_of([], 2).tolist() == [0, 0]


def test_many_wide_columns_do_not_overflow():
    wide = [np.array([0, 2**40, 0, 5]), np.array([3, 2**40, 3, 2**39])] * 3
    assert recode_people.classes_of(wide, 4).tolist() == [0, 2, 0, 1]
