"""A linear model is its features and integer weights, and nothing else."""

import json

import numpy as np
import pytest

from discreet.learning.core.lattice import ONE
from discreet.learning.linear.linear_model import LinearModel, first_slots, slot_count

from .tables import FEATURES, generated_rows


def model(columns=1):
    weights = np.random.default_rng(0).integers(-ONE, ONE, (slot_count(FEATURES), columns))
    return LinearModel(FEATURES, weights)


@pytest.mark.parametrize("columns", [1, 3])
def test_a_model_comes_back_from_its_plain_data(columns):
    before, codes = model(columns), generated_rows(50).codes
    after = LinearModel.from_json(json.loads(json.dumps(before.to_json())))
    assert after.features == FEATURES
    assert (after.scores(codes) == before.scores(codes)).all()
    assert before.scores(codes).shape == (50, columns)


def test_coefficients_have_the_names_of_slots():
    coefficients = model().coefficients()
    assert list(coefficients["town"]) == ["missing", "a", "b", "c"]
    assert coefficients["town"]["c"] == [model().weights[first_slots(FEATURES)[1] + 3, 0] / ONE]


@pytest.mark.parametrize("change", [{"kind": "trees"}, {"bits": 10}, {"weights": [[1]]}])
def test_data_of_another_model_is_refused(change):
    with pytest.raises(ValueError, match="linear model"):
        LinearModel.from_json(model().to_json() | change)
