"""Weights are JSON: names, shapes and bytes, which come back bit for bit."""

import json

import numpy as np
import pytest

from discreet.learning.sgd.tensors import tensors_from_json, tensors_to_json


def test_weights_come_back_bit_for_bit():
    weights = {
        "0.weight": np.array([[1.5, -0.0], [np.inf, 1e-40]], dtype=np.float32),
        "0.bias": np.zeros(0, np.float32),
    }
    back = tensors_from_json(json.loads(json.dumps(tensors_to_json(weights), allow_nan=False)))
    assert {name: (array.shape, array.tobytes()) for name, array in back.items()} == {
        name: (array.shape, array.tobytes()) for name, array in weights.items()
    }


def test_bytes_that_do_not_fit_the_shape_are_refused():
    data = tensors_to_json({"a": np.zeros(3, dtype=np.float32)})
    data["a"]["shape"] = [4]
    with pytest.raises(ValueError, match="reshape"):
        tensors_from_json(data)
