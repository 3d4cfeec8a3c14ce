"""A tiny learner and its estimators, to test the base without a real algorithm: one step from a public start."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.learning.classifier import PrivateClassifier
from discreet.learning.core.lattice import ONE
from discreet.learning.core.learner import Learner, PublicModel
from discreet.learning.core.sums import Contributions
from discreet.learning.core.training import Schedule, planned_sum
from discreet.learning.regressor import PrivateRegressor


@dataclass(frozen=True)
class SlotModel(PublicModel):
    """Weights of slots, for each output."""

    offsets: tuple[int, ...]
    weights: np.ndarray

    def scores(self, codes):
        places = codes.astype(np.int64) + np.asarray(self.offsets, dtype=np.int64)
        found = np.zeros((len(codes), self.weights.shape[1]), dtype=np.int64)
        for column in range(codes.shape[1]):
            found += self.weights[places[:, column]]
        return found

    def to_json(self):
        return {"offsets": list(self.offsets), "weights": self.weights.tolist()}

    @classmethod
    def from_json(cls, data):
        return cls(tuple(data["offsets"]), np.asarray(data["weights"], dtype=np.int64))


@dataclass(frozen=True)
class SlotStep:
    """A row adds its target, less the start, to the slots of its features, and one to their counts."""

    offsets: tuple[int, ...]
    slots: int
    outputs: int
    has_classes: bool
    clip: int
    has_distinct_places = True

    @property
    def length(self):
        return self.slots * (self.outputs + 1)

    def contributions(self, rows):
        base = rows.codes.astype(np.int64) + np.asarray(self.offsets, dtype=np.int64)
        places, values = [base * (self.outputs + 1)], [np.full_like(base, ONE)]
        for output in range(self.outputs):
            found = rows.target
            if self.has_classes:
                found = (rows.target == (output + (self.outputs == 1))) * ONE - ONE // max(2, self.outputs)
            places.append(base * (self.outputs + 1) + 1 + output)
            values.append(np.repeat(found[:, None], base.shape[1], axis=1))
        return Contributions(np.hstack(places), np.hstack(values))


@dataclass(frozen=True)
class SlotLearner(Learner):
    step: SlotStep
    rho: Fraction
    replace_one: bool

    @property
    def schedule(self):
        return Schedule((planned_sum(self.step.clip, self.step.length, self.rho, replace_one=self.replace_one),))

    def train(self, sums):
        found = sums.sum(self.step).reshape(self.step.slots, self.step.outputs + 1)
        rate = (4 if self.step.has_classes else 1) * ONE / len(self.step.offsets) ** 0.5
        weights = np.floor(rate * found[:, 1:] / np.maximum(found[:, :1] + ONE, ONE)).astype(np.int64)
        return SlotModel(self.step.offsets, weights)


def slot_learner(features, rho, outputs, *, has_classes, replace_one):
    sizes = [feature.slots for feature in features.values()]
    offsets = tuple(int(each) for each in np.cumsum([0, *sizes[:-1]]))
    clip = int(ONE * (len(sizes) * (outputs + 1)) ** 0.5) + 1
    return SlotLearner(SlotStep(offsets, sum(sizes), outputs, has_classes, clip), rho, replace_one)


class SlotClassifier(PrivateClassifier):
    _model_class = SlotModel

    def __init__(
        self,
        *,
        features=None,
        classes=None,
        size=None,
        budget=None,
        epsilon=None,
        rho=None,
        neighbours="add_remove",
        rate=1.0,
    ):
        self.features = features
        self.classes = classes
        self.size = size
        self.budget = budget
        self.epsilon = epsilon
        self.rho = rho
        self.neighbours = neighbours
        self.rate = rate

    def _learner(self, features, rho, *, replace_one):
        self.declared_size()
        count = len(self.declared_classes())
        return slot_learner(features, rho, 1 if count == 2 else count, has_classes=True, replace_one=replace_one)


class SlotRegressor(PrivateRegressor):
    _model_class = SlotModel

    def __init__(
        self,
        *,
        features=None,
        target_bounds=None,
        size=None,
        budget=None,
        epsilon=None,
        rho=None,
        neighbours="add_remove",
    ):
        self.features = features
        self.target_bounds = target_bounds
        self.size = size
        self.budget = budget
        self.epsilon = epsilon
        self.rho = rho
        self.neighbours = neighbours

    def _learner(self, features, rho, *, replace_one):
        self.declared_size()
        return slot_learner(features, rho, 1, has_classes=False, replace_one=replace_one)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # slots of all features weigh alike
        return tags
