"""Weights as plain data: names, shapes and little-endian bytes of floats, in JSON; never pickle."""

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Weights = Mapping[str, NDArray[np.float32]]
_BYTES = "<f4"


def tensors_to_json(weights: Weights) -> dict[str, Any]:
    """Named arrays as plain data.

    Args:
        weights: Arrays of 32-bit floats by name.

    Returns:
        For each name its shape and its bytes in base64.
    """
    return {
        name: {
            "shape": list(array.shape),
            "float32": base64.b64encode(np.ascontiguousarray(array, dtype=_BYTES).tobytes()).decode("ascii"),
        }
        for name, array in weights.items()
    }


def tensors_from_json(data: Mapping[str, Any]) -> dict[str, NDArray[np.float32]]:
    """The arrays that `tensors_to_json` wrote.

    Args:
        data: Plain data.

    Returns:
        Arrays by name.

    Raises:
        ValueError: If the bytes do not fit the shape.
    """
    return {
        str(name): np.frombuffer(base64.b64decode(each["float32"], validate=True), dtype=_BYTES)
        .astype(np.float32)
        .reshape([int(length) for length in each["shape"]])
        for name, each in data.items()
    }
