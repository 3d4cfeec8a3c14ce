"""The public model of linear learners: an integer weight for each slot of each feature."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from discreet.learning.core.features import DeclaredFeature, feature_from_json
from discreet.learning.core.lattice import BITS, ONE, Floats, Integers, steps_of
from discreet.learning.core.learner import PublicModel
from discreet.learning.core.rows import Codes
from discreet.learning.linear.logistic_steps import slot_scores

LARGEST_WEIGHT = 1_000.0
"""The largest size of a weight; scores then stay far below the limits of 64 bits."""


@dataclass(frozen=True)
class LinearModel(PublicModel):
    """Scores that are sums of weights, one for each feature: that of the slot of the row.

    Attributes:
        features: The declared features, by name, in the order of the codes.
        weights: Weights in steps: one row for each slot of each feature, one column for each score.
    """

    features: Mapping[str, DeclaredFeature]
    weights: Integers

    def scores(self, codes: Codes) -> Integers:
        """Scores in steps: integer sums, so the score of a row does not depend on other rows."""
        return slot_scores(self.weights, first_slots(self.features), codes)

    def coefficients(self) -> dict[str, dict[str, list[float]]]:
        """The weights by feature and slot; each has one number for each column of scores."""
        result: dict[str, dict[str, list[float]]] = {}
        for (name, feature), first in zip(self.features.items(), first_slots(self.features).tolist(), strict=True):
            rows = (self.weights[first : first + feature.slots] / ONE).tolist()
            result[name] = dict(zip(feature.labels(), rows, strict=True))
        return result

    def to_json(self) -> dict[str, Any]:
        """The model as plain data."""
        features = [[name, feature.to_json()] for name, feature in self.features.items()]
        return {"kind": "linear", "bits": BITS, "features": features, "weights": self.weights.tolist()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The model that `to_json` wrote."""
        if data["kind"] != "linear" or data["bits"] != BITS:
            raise ValueError("not a linear model of this lattice")
        features = {str(name): feature_from_json(feature) for name, feature in data["features"]}
        weights = np.asarray(data["weights"], dtype=np.int64)
        if weights.ndim != 2 or len(weights) != slot_count(features):
            raise ValueError("a linear model needs one row of weights for each slot")
        return cls(features, weights)


def slot_count(features: Mapping[str, DeclaredFeature]) -> int:
    """Number of slots of all features together."""
    return sum(feature.slots for feature in features.values())


def first_slots(features: Mapping[str, DeclaredFeature]) -> Integers:
    """Where the slots of each feature begin."""
    ends = np.cumsum([0, *(feature.slots for feature in features.values())], dtype=np.int64)
    return ends[:-1]


def weight_steps(weights: Floats) -> Integers:
    """Weights in steps, cut to the largest size."""
    return steps_of(np.clip(weights, -LARGEST_WEIGHT, LARGEST_WEIGHT))
