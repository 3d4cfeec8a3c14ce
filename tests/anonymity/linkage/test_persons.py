"""People of a table, and the numbering of classes."""

import numpy as np
import pyarrow as pa

from discreet.anonymity.linkage.persons import distinct, expand, has_value, is_member, people_of, renumber


def test_rows_with_an_identifier_are_one_person_and_rows_without_are_each_a_person():
    table = pa.table({"id": ["b", None, "a", "b", None]})
    assert people_of(table, "id").tolist() == [0, 1, 2, 0, 3]
    assert people_of(table, None).tolist() == [0, 1, 2, 3, 4]


def test_nan_is_missing():
    assert has_value(pa.chunked_array([[1.0, None, float("nan")]])).tolist() == [True, False, False]


def test_codes_are_numbered_in_the_order_of_their_first_rows():
    assert renumber(np.array([7, 3, 7, 9])).tolist() == [0, 1, 0, 2]


def test_spans_expand_to_their_places():
    spans, places = expand(np.array([5, 0, 2]), np.array([2, 0, 3]))
    assert spans.tolist() == [0, 0, 2, 2, 2]
    assert places.tolist() == [5, 6, 2, 3, 4]


def test_distinct_codes_are_in_order_and_their_members_are_known():
    known = distinct(np.array([4, 1, 4, 2]))
    assert known.tolist() == [1, 2, 4]
    assert is_member(np.array([0, 1, 4, 9]), known).tolist() == [False, True, True, False]
    empty = distinct(np.array([], dtype=np.int64))
    assert is_member(np.array([1]), empty).tolist() == [False]
