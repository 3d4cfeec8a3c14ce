"""The additive model: integer tables, plain data and back, shapes and importance."""

import json

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.learning.boosting.model import AdditiveModel
from discreet.learning.core.lattice import ONE
from learning.boosting.boosting_cases import FEATURES, PAIR, codes_of, model_of


@pytest.mark.parametrize("classes", [0, 2, 3])
def test_a_score_is_the_sum_of_one_entry_of_each_table(classes):
    model, codes = model_of(classes), codes_of(200)
    scores = model.scores(codes)
    assert scores.dtype == np.int64
    for row in range(0, 200, 23):
        expected = sum(
            table[term.places(codes[row : row + 1])[0]] for term, table in zip(model.terms, model.tables, strict=True)
        )
        assert scores[row].tolist() == expected.tolist()


@pytest.mark.parametrize("classes", [0, 2, 3])
def test_a_model_is_the_same_after_json(classes):
    model, codes = model_of(classes), codes_of(500)
    restored = AdditiveModel.from_json(json.loads(json.dumps(model.to_json())))
    assert (restored.scores(codes) == model.scores(codes)).all()
    assert restored.to_json() == model.to_json()
    assert restored.importance() == model.importance()


def test_data_of_another_kind_or_shape_are_refused():
    data = model_of().to_json()
    table = data["tables"][0]
    for wrong in [
        {},
        {"kind": "linear"},
        {"tables": data["tables"][1:]},
        {"tables": [table[1:], *data["tables"][1:]]},
        {"tables": [[[0.5] for _ in table], *data["tables"][1:]]},
        {"tables": [[["1"] for _ in table], *data["tables"][1:]]},
        {"weights": None},
    ]:
        with pytest.raises(ParameterError, match="another kind"):
            AdditiveModel.from_json(data | wrong if wrong else {})


def test_a_shape_has_a_label_and_a_contribution_for_every_slot():
    model = model_of()
    shape = model.shape("colour")
    assert shape["colour"].to_pylist() == ["missing", "red", "green", "blue"]
    found = shape["contribution"].to_numpy()
    assert abs(found.mean()) < 1e-9  # all places weigh the same
    raw = model.tables[1][:, 0] / ONE
    assert np.allclose(found, raw - raw.mean())
    assert sum(shape["weight"].to_pylist()) == pytest.approx(1)
    pair = model.shape(PAIR[0])
    assert pair.column_names == ["age", "colour", "contribution", "weight"]
    assert pair.num_rows == FEATURES["age"].slots * FEATURES["colour"].slots


@pytest.mark.parametrize("feature", ["height", ("colour", "age"), ("age", "country")])
def test_a_shape_of_no_term_is_refused(feature):
    with pytest.raises(ParameterError, match="no such term"):
        model_of().shape(feature)


def test_a_shape_of_no_output_is_refused():
    assert model_of(3).shape("age", output=2).num_rows == FEATURES["age"].slots
    with pytest.raises(ParameterError, match="output 3"):
        model_of(3).shape("age", output=3)


def test_importance_is_largest_first_and_zero_without_trees():
    found = model_of().importance()
    assert set(found) == {*FEATURES, "age x colour"}
    assert list(found.values()) == sorted(found.values(), reverse=True)
    empty = AdditiveModel.empty(FEATURES, (), model_of().objective)
    assert set(empty.importance().values()) == {0.0}
