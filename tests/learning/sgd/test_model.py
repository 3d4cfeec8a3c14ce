"""A network as a public model: plain data that comes back."""

import json

import numpy as np
import pytest

from discreet.learning.sgd.model import NetworkModel

LAYERS = ({"layer": "Linear", "in_features": 3, "out_features": 2, "bias": False},)
MODEL = NetworkModel(LAYERS, {"0.weight": np.array([[0, 1, 0], [0, 0, 2]], dtype=np.float32)}, (3,), 2)


def test_a_model_comes_back_from_plain_data():
    back = NetworkModel.from_json(json.loads(json.dumps(MODEL.to_json())))
    assert back.to_json() == MODEL.to_json()
    assert set(MODEL.to_json()) == {"kind", "classes", "slots", "layers", "weights"}


def test_another_kind_of_model_is_refused():
    with pytest.raises(ValueError, match="kind"):
        NetworkModel.from_json({"kind": "linear"})


def test_scores_of_two_classes_are_differences_of_logits_in_steps():
    pytest.importorskip("opacus", reason="networks need discreet[torch]")
    assert MODEL.scores(np.array([[0], [1], [2]], dtype=np.uint16)).tolist() == [[0], [-(1 << 20)], [1 << 21]]
