"""A noisy marginal knows its total, and several of them estimate one."""

import numpy as np
import pytest

from discreet.synthesis.core.measurement import Measurement, estimated_total


def test_a_total_is_the_sum_of_the_noisy_counts():
    assert Measurement(("a",), np.array([3, -1, 5]), 2.0).total == 7


def test_the_estimated_total_gives_more_weight_to_less_noise():
    narrow = Measurement(("a",), np.array([10, 10]), 1.0)
    wide = Measurement(("b",), np.array([5, 5, 5, 5, 5, 5, 5, 5]), 1.0)
    assert estimated_total([narrow, wide]) == pytest.approx((20 * 4 + 40) / 5)


def test_plain_data_names_the_groups_of_merged_columns_alone():
    measured = Measurement(("a", "b"), np.array([[1, 2], [3, 4]]), 2.0)
    plain = {"columns": ["a", "b"], "values": [1, 2, 3, 4], "sigma": 2.0}
    assert measured.to_json({}) == plain
    assert measured.to_json({"b": (0, 0, 1), "c": (0,)}) == plain | {"groups": {"b": [0, 0, 1]}}
