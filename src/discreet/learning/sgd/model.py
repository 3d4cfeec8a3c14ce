"""A trained network as a public model: layers and weights, and nothing else."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from discreet.learning.core.lattice import ONE, Integers
from discreet.learning.core.learner import PublicModel
from discreet.learning.core.rows import Codes
from discreet.learning.sgd.tensors import Weights, tensors_from_json, tensors_to_json

KIND = "network"
_LARGEST_LOGIT = 1 << 20


@dataclass(frozen=True)
class NetworkModel(PublicModel):
    """Layers and weights of a network on the slots of declared features.

    Attributes:
        layers: The layers, as plain data.
        weights: The weights by name.
        slots: Number of slots of each feature.
        classes: Number of classes.
    """

    layers: tuple[dict[str, Any], ...]
    weights: Weights
    slots: tuple[int, ...]
    classes: int

    def scores(self, codes: Codes) -> Integers:
        """Logits in steps: one column for two classes, one for each class else."""
        from discreet.learning.sgd.network import Network  # noqa: PLC0415 - torch is optional

        logits = Network(self.layers, self.slots, self.classes).put(self.weights).logits(codes)
        if self.classes == 2:
            logits = logits[:, 1:] - logits[:, :1]
        cut = np.clip(np.nan_to_num(logits), -_LARGEST_LOGIT, _LARGEST_LOGIT)
        steps: Integers = np.rint(cut * ONE).astype(np.int64)
        return steps

    def to_json(self) -> dict[str, Any]:
        """The model as plain data."""
        return {
            "kind": KIND,
            "classes": self.classes,
            "slots": list(self.slots),
            "layers": [dict(layer) for layer in self.layers],
            "weights": tensors_to_json(self.weights),
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """The model that `to_json` wrote.

        Raises:
            ValueError: If it is another kind of model.
        """
        if data["kind"] != KIND:
            raise ValueError("another kind of model")
        layers = tuple(dict(layer) for layer in data["layers"])
        slots = tuple(int(number) for number in data["slots"])
        return cls(layers, tensors_from_json(data["weights"]), slots, int(data["classes"]))
