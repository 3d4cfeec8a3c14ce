"""A small model for tests of sessions: noisy counts of each slot by class, as a learner would ask for them."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.learning.core.features import DeclaredFeature, categories
from discreet.learning.core.learner import Learner, PublicModel
from discreet.learning.core.question import training_of
from discreet.learning.core.sums import Contributions
from discreet.learning.core.training import Schedule, planned_sum
from discreet.plan import models

CLIP = 1_000


@dataclass(frozen=True)
class CountStep:
    """Each row adds to the slot of each feature, by the class of the row."""

    slots: tuple[int, ...]
    classes: int
    clip: int = CLIP
    has_distinct_places: bool = True

    @property
    def length(self):
        return sum(self.slots) * self.classes

    def contributions(self, rows):
        starts = np.cumsum([0, *self.slots[:-1]])
        places = (rows.codes.astype(np.int64) + starts) * self.classes + rows.target[:, None]
        return Contributions(places, np.full(places.shape, 100, dtype=np.int64))


@dataclass(frozen=True)
class CountModel(PublicModel):
    """The noisy sums of every step."""

    sums: tuple[tuple[int, ...], ...]

    def scores(self, codes):
        return np.asarray(codes[:, 0], dtype=np.int64) - 1

    def to_json(self):
        return {"kind": "counts", "sums": [list(each) for each in self.sums]}

    @classmethod
    def from_json(cls, data):
        return cls(tuple(map(tuple, data["sums"])))


@dataclass(frozen=True)
class CountLearner(Learner):
    """Two sums of the same step."""

    slots: tuple[int, ...]
    classes: int
    rho: Fraction
    replace_one: bool
    steps: int = 2

    @property
    def schedule(self):
        length = sum(self.slots) * self.classes
        return Schedule(
            tuple(
                planned_sum(CLIP, length, self.rho / self.steps, replace_one=self.replace_one)
                for _ in range(self.steps)
            )
        )

    def train(self, sums):
        step = CountStep(self.slots, self.classes)
        return CountModel(tuple(tuple(int(value) for value in sums.sum(step)) for _ in range(self.steps)))


class CountEstimator:
    """The interface of an estimator of dp.learning, without scikit-learn."""

    def __init__(self, *, features=None, classes=None, size=None, budget=None, epsilon=None, rho=None, steps=2):
        self.features, self.classes, self.size, self.steps = features, classes, size, steps
        self.budget, self.epsilon, self.rho = budget, epsilon, rho

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002
        return dict(vars(self))

    def learner(self, features: dict[str, DeclaredFeature], rho: Fraction, *, replace_one: bool) -> CountLearner:
        slots = tuple(feature.slots for feature in features.values())
        return CountLearner(slots, len(self.classes), rho, replace_one, self.steps)

    def target_steps(self, target):
        found = categories(self.classes).encode(target).astype(np.int64) - 1
        return found, found >= 0

    @classmethod
    def model_from_json(cls, data):
        return CountModel.from_json(data)

    def adopt(self, model, features, event, guarantee):
        self.model_, self.features_, self.event_, self.guarantee_ = model, features, event, guarantee
        return self

    def training(self, facts):
        return training_of(self, facts)

    def predict(self, codes):
        return self.model_.scores(codes)


models._ESTIMATORS["count"] = (__name__, "CountEstimator")
