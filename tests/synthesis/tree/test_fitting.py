"""Noisy marginals become tables that agree with each other."""

import numpy as np
import pytest

from discreet.synthesis.core.measurement import Measurement
from discreet.synthesis.core.model import CountEstimate
from discreet.synthesis.tree.fitting import column_counts, fit, fit_table, merge_rare, rake

TABLE = np.array([[30, 0, 10], [5, 20, 35]])
EXACT = [
    Measurement(("a",), TABLE.sum(1), 1.0),
    Measurement(("b",), TABLE.sum(0), 1.0),
    Measurement(("a", "b"), TABLE, 1.0),
]
ALL = {"a": (0, 1), "b": (0, 1, 2)}


def test_exact_marginals_give_nearly_the_exact_table():
    model = fit(EXACT, ALL)
    assert model.total == pytest.approx(100)
    assert model.marginal(("a", "b")) == pytest.approx(TABLE, abs=0.5)


def test_tables_agree_with_the_columns_that_they_share():
    rng = np.random.default_rng(5)
    noisy = [Measurement(each.columns, each.values + rng.integers(-9, 9, each.values.shape), 5.0) for each in EXACT]
    model = fit(noisy, ALL)
    table = model.tables["a", "b"]
    assert table.min() >= 0
    assert table.sum(axis=1) == pytest.approx(model.columns["a"].probabilities, abs=1e-6)
    assert table.sum(axis=0) == pytest.approx(model.columns["b"].probabilities, abs=1e-6)


def test_a_column_that_was_measured_twice_is_one_estimate():
    twice = [Measurement(("a",), np.array([10, 20]), 1.0), Measurement(("a",), np.array([20, 10]), 2.0)]
    assert column_counts(twice)["a"].values == pytest.approx([12, 18])
    assert fit(twice, {"a": (0, 1)}).marginal(("a",)) == pytest.approx([12, 18])


@pytest.mark.parametrize("values", [[0, 0, 0], [-50, -10, -3], [10**15, -(10**15), 3]])
def test_columns_without_a_positive_total_give_a_model(values):
    model = fit([Measurement(("b",), np.array(values), 10.0)], {"b": (0, 1, 2)})
    assert model.total == pytest.approx(max(sum(values), 0))
    assert np.isfinite(model.columns["b"].probabilities).all()
    assert model.columns["b"].probabilities.sum() == pytest.approx(1)
    assert len(model.rows(20, np.random.default_rng(0))) == 20


def test_a_table_has_the_sums_of_its_columns_and_no_negative_cell():
    rows, columns = np.array([0.5, 0.5]), np.array([0.9, 0.1])
    found = fit_table(np.array([[0.45, -0.02], [0.43, 0.07]]), rows, columns)
    assert found.min() >= 0
    assert found.sum(axis=0) == pytest.approx(columns, abs=1e-6)
    assert found.sum(axis=1) == pytest.approx(rows)


def test_raking_reaches_both_sums():
    found = rake(np.ones((2, 3)), np.array([0.3, 0.7]), np.array([0.2, 0.3, 0.5]), 5)
    assert found == pytest.approx(np.outer([0.3, 0.7], [0.2, 0.3, 0.5]))


def test_rare_slots_are_merged_and_one_rare_slot_stays():
    columns = {
        "few": CountEstimate(np.array([50.0, 3, 40, -2]), 25.0),
        "one": CountEstimate(np.array([50.0, 3, 40]), 25.0),
        "all": CountEstimate(np.array([1.0, 2, 3]), 25.0),
    }
    assert merge_rare(columns) == {"few": (0, 2, 1, 2), "one": (0, 1, 2), "all": (0, 0, 0)}
