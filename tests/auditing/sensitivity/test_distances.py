"""Distances between answers of any kind: exact, and infinite where no noise would help."""

import itertools
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from discreet.auditing.sensitivity.distances import Incomparable, distance, materialize
from grids import over


@over(
    ("one", "other", "l1"),
    [
        (3, 5, 2),
        (0.1, 0.3, Fraction(0.3) - Fraction(0.1)),
        (2**60 + 1, 2**60, 1),
        (True, False, 1),
        (Fraction(1, 3), 0, Fraction(1, 3)),
        (Decimal("0.5"), 1, Fraction(1, 2)),
        (np.int32(7), np.int64(4), 3),
        ([1, 2, 3], [1, 0, 7], 6),
        ((1, [2, 3]), (2, [2, 5]), 3),
        (np.array([[1, 2], [3, 4]]), np.array([[1, 2], [3, 9]]), 5),
        (np.array(3.0), np.array(1.0), 2),
        ({"a": 1, "b": 2}, {"b": 5, "a": 1}, 3),
        (pa.table({"n": [1, 2]}), pa.table({"n": [2, 2]}), 1),
        (pa.array([1, 2]), pa.array([1, 5]), 3),
        (pa.scalar(4), pa.scalar(1), 3),
        (pd.DataFrame({"n": [1, 2]}), pd.DataFrame({"n": [1, 4]}), 2),
        (pd.Series([1.5]), pd.Series([1.0]), Fraction(1, 2)),
        (pl.DataFrame({"n": [1]}), pl.DataFrame({"n": [9]}), 8),
        ({"name": "p", "n": 1}, {"name": "p", "n": 2}, 1),
        (None, None, 0),
        ([], [], 0),
        (-0.0, 0.0, 0),
    ],
)
def test_distances_are_exact(one, other, l1):
    assert distance(one, other, "l1") == l1
    assert distance(other, one, "l1") == l1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (math.nan, 1.0),
        (math.nan, math.nan),
        (math.inf, math.inf),
        (Decimal("NaN"), 1),
        ([1, 2], [1]),
        ({"a": 1}, {"b": 1}),
        ({1, 2}, {1}),
        ("p", "q"),
        (None, 0),
        (1, "1"),
        (np.zeros(2), np.zeros((2, 1))),
        (pa.table({"n": [1]}), pa.table({"m": [1]})),
    ],
)
def test_what_no_noise_covers_is_infinitely_far(one, other):
    for norm in ("l1", "l2", "linf"):
        assert distance(one, other, norm) == math.inf


def test_norms_are_those_of_the_differences():
    assert distance([0, 0], [3, 4], "l1") == 7
    assert distance([0, 0], [3, 4], "l2") == 25
    assert distance([0, 0], [3, 4], "linf") == 4


class Bare:
    """Without an equality of its own."""


class Unsure:
    def __eq__(self, other):
        return np.array([True, False])

    __hash__ = object.__hash__


@pytest.mark.parametrize("kind", [Bare, Unsure, object])
def test_what_has_no_equality_of_its_own_cannot_be_compared(kind):
    one = kind()
    assert distance([1, one], [2, one], "l1") == 1
    with pytest.raises(Incomparable, match=kind.__name__):
        distance([1, one], [1, kind()], "l1")
    assert distance(one, 1, "l1") == math.inf


@pytest.mark.parametrize(
    "made",
    [iter, lambda items: map(int, items), lambda items: (item for item in items), lambda items: filter(None, items)],
)
def test_iterators_are_read_to_their_end_wherever_they_stand(made):
    one, other = ({"a": [made([1, 2]), (made([3]),)]} for _ in range(2))
    assert distance(materialize(one), materialize(other), "l1") == 0
    assert distance(materialize(made([1, 2])), materialize(made([1, 3])), "linf") == 1


def test_an_iterator_without_an_end_is_not_read_for_ever():
    with pytest.raises(Incomparable, match="more than 100,000 items"):
        materialize(itertools.count())


def test_views_of_a_mapping_are_compared_by_what_they_hold():
    one, other = {"a": 1}, {"a": 3}
    assert distance(one.values(), other.values(), "l1") == 2
    assert distance(one.keys(), other.keys(), "l1") == 0
