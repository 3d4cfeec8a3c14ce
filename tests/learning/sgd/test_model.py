"""A network as a public model: plain data that comes back."""

import base64
import json
from dataclasses import fields

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


def test_a_checkpoint_holds_nothing_but_weights():
    """Neither momenta of the descent, nor counters, losses, samples or gradients: the fields are all that there is."""
    assert [field.name for field in fields(NetworkModel)] == ["layers", "weights", "slots", "classes"]
    saved = MODEL.to_json()["weights"]
    assert {name: set(each) for name, each in saved.items()} == {"0.weight": {"shape", "float32"}}
    assert len(base64.b64decode(saved["0.weight"]["float32"])) == 4 * 2 * 3
