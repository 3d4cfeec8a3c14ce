"""Losses by hand: each formula on a table small enough to add up on paper."""

from fractions import Fraction
from math import log2

import numpy as np
import pyarrow as pa
import pytest
from cubes import cube_of

import discreet as dp
from discreet.anonymity.generalisation.levels import GeneralisationLevels
from discreet.anonymity.generalisation.loss import loss_metric, order_of, query_errors
from discreet.anonymity.generalisation.nodes import node_classes
from discreet.anonymity.generalisation.rollup import RollUp, base_rows, key_layout

AGES = GeneralisationLevels(
    (np.arange(3), np.array([0, 0, 1]), np.zeros(3, dtype=np.int64)), (("31", "35", "47"), ("30s", "40s"), ("*",))
)
CUBE = cube_of(pa.table({"age": [31, 35, 47], "n": [3, 1, 2]}), ["age"], people="n")


def _value(loss, level, k, queries=()):
    layout = key_layout(CUBE, [AGES], None)
    rows = RollUp(layout).coarsen(base_rows(layout, CUBE, None), (0,), (level,))
    return loss_metric(loss, CUBE, [AGES], queries).value(node_classes(layout, (level,), rows, k))


def test_discernibility_is_squares_and_n_for_the_suppressed():
    assert _value("discernibility", 1, 1) == 16 + 4
    assert _value("discernibility", 1, 3) == 16 + 6 * 2


def test_the_suppressed_are_one_class_of_the_average():
    assert _value("average_class_size", 0, 1) == 2
    assert _value("average_class_size", 0, 2) == Fraction(6, 3)
    assert _value("average_class_size", 0, 3) == Fraction(6, 2)


def test_non_uniform_entropy_is_in_bits():
    assert _value("non_uniform_entropy", 1, 1) == pytest.approx(3 * log2(4 / 3) + log2(4))
    expected = 3 * log2(4 / 3) + log2(4) + 2 * log2(6 / 2)
    assert _value("non_uniform_entropy", 1, 3) == pytest.approx(expected)


def test_the_error_of_a_query_spreads_people_over_values():
    queries = [{"age": {31}}, {"age": lambda age: age > 40}]
    assert _value("query_error", 0, 1, queries) == 0
    assert _value("query_error", 1, 1, queries) == 1
    assert _value("query_error", 1, 3, queries) == 1 + 2
    assert _value("query_error", 2, 1, queries) == 1 + 0


def test_estimates_are_exact_beyond_64_bits():
    table = pa.table({"a": [1, 2], "b": [1, 2], "n": [2**61, 2**61]})
    cube = cube_of(table, ["a", "b"], people="n")
    levels = GeneralisationLevels((np.arange(2), np.zeros(2, dtype=np.int64)), (("1", "2"), ("*",)))
    layout = key_layout(cube, [levels, levels], None)
    rows = RollUp(layout).coarsen(base_rows(layout, cube, None), (0, 0), (1, 1))
    metric = query_errors(cube, [levels, levels], [{"a": {1}, "b": {1}}])
    assert metric.value(node_classes(layout, (1, 1), rows, 1)) == 2**60


def test_a_null_counts_only_where_a_set_lists_it():
    cube = cube_of(pa.table({"a": pa.array([1, None]), "n": [1, 5]}), ["a"], people="n")
    levels = GeneralisationLevels((np.arange(2),), (("1", None),))
    assert query_errors(cube, [levels], [{"a": lambda _: True}, {"a": [None]}]).answers == (1, 5)


def test_ties_go_to_fewer_suppressed_then_lower_levels():
    orders = [order_of(Fraction(1), 2, (0, 0)), order_of(Fraction(1), 1, (1, 1)), order_of(Fraction(1), 1, (0, 2))]
    assert min(orders)[3] == (0, 2)
    assert order_of(0.1 + 0.2, 0, (0,)) == order_of(0.3, 0, (0,))


def test_a_loss_that_does_not_exist_is_an_error():
    with pytest.raises(dp.errors.ParameterError, match="does not have a loss"):
        dp.anonymity.search(CUBE, {"age": AGES}, k=2, loss="entropy")
