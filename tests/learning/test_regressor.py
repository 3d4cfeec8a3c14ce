"""Regressors predict numbers, and cut targets to declared bounds."""

import pyarrow as pa
import pytest

import discreet as dp
from learning.test_estimator import regressor, table


def test_a_fitted_regressor_predicts_better_than_the_mean():
    x, _ = table()
    model = regressor().fit(x, x["age"])
    assert model.score(x, x["age"]) > 0.5


def test_targets_are_steps_within_the_declared_bounds():
    steps, counts = regressor().target_steps(pa.array([0.0, 50.0, 100.0, 500.0, None, float("nan")]))
    assert steps[:4].tolist() == [-(2**20), 0, 2**20, 2**20]
    assert counts.tolist() == [True] * 4 + [False] * 2
    with pytest.raises(dp.errors.ParameterError, match="target_bounds"):
        regressor(target_bounds=(1, 1)).declared_bounds()
