"""Slots of cells: by public declarations, each cell alone, missing values in slot 0."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import discreet as dp
from discreet.learning.core.features import feature_from_json


def test_bins_are_of_equal_width_and_values_outside_count_as_the_nearest_bound():
    feature = dp.learning.linear_bins(0, 100, 4)
    assert feature.encode(pa.array([-5.0, 0, 24.9, 25, 99, 100, 1e9])).tolist() == [1, 1, 1, 2, 4, 4, 4]


def test_missing_values_have_slot_zero():
    feature = dp.learning.linear_bins(0, 100, 4)
    assert feature.encode(pa.array([None, float("nan"), float("inf"), -float("inf")])).tolist() == [0, 0, 0, 0]
    assert dp.learning.categories(["a", "b"]).encode(pa.array(["b", None, "c", "a"])).tolist() == [2, 0, 0, 1]


def test_categories_are_compared_by_name_whatever_the_type_of_the_column():
    feature = dp.learning.categories([0, 1, 2])
    assert feature.encode(np.array([1.0, 2.0, 2.5, np.nan])).tolist() == [2, 3, 0, 0]
    assert feature.encode(pa.array(["1", "2", "x"])).tolist() == [2, 3, 0]
    assert dp.learning.categories([False, True]).encode(pa.array([True, None, False])).tolist() == [2, 0, 1]
    assert dp.learning.categories(["a", "b"]).encode(pd.Series(["b", "a"], dtype="category")).tolist() == [2, 1]


def test_texts_that_spell_numbers_are_these_numbers():
    assert dp.learning.linear_bins(0, 100, 4).encode(pa.array(["60", "060.0", "a", None])).tolist() == [3, 3, 0, 0]
    assert dp.learning.categories([1, 2]).encode(pa.array([Decimal("1.00"), Decimal("2.50")])).tolist() == [1, 0]


def test_log_bins_grow():
    inner = np.diff(dp.learning.log_bins(0, 99_999).inner_edges)
    assert (np.diff(inner) > 0).all()


def test_the_slot_of_a_cell_is_the_same_alone():
    cells = np.random.default_rng(1).normal(50, 40, 500)
    feature = dp.learning.linear_bins(0, 100)
    together = feature.encode(cells)
    assert all(feature.encode(cells[i : i + 1])[0] == together[i] for i in range(500))


@pytest.mark.parametrize(
    "feature", [dp.learning.linear_bins(0, 9, 3), dp.learning.log_bins(1, 9, 3), dp.learning.categories(["a", 2])]
)
def test_a_declaration_survives_plain_data(feature):
    assert feature_from_json(feature.to_json()) == feature
    assert len(feature.labels()) == feature.slots


@pytest.mark.parametrize(
    "call",
    [
        lambda: dp.learning.linear_bins(1, 1),
        lambda: dp.learning.linear_bins(0, float("inf")),
        lambda: dp.learning.linear_bins(0, 1, 5_000),
        lambda: dp.learning.log_bins(3, 2),
        lambda: dp.learning.edges([1, 1]),
        lambda: dp.learning.categories([]),
        lambda: dp.learning.categories(["a", "a"]),
        lambda: dp.learning.categories([1.5]),
        lambda: dp.learning.categories(["1", "01"]),
        lambda: dp.learning.categories(["yes", True]),
    ],
)
def test_declarations_that_cannot_be_used_are_refused(call):
    with pytest.raises(dp.errors.ParameterError):
        call()


def test_a_feature_is_shown_in_a_few_words():
    assert repr(dp.learning.linear_bins(0, 64)) == "32 bins, edges 2 to 62"
    assert repr(dp.learning.edges([18, 65])) == "edges([18.0, 65.0])"
    assert repr(dp.learning.categories(["a", "b"])) == "categories(['a', 'b'])"
    assert repr(dp.learning.categories(range(50))) == "50 categories"
