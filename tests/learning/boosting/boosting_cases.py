"""Small tables and learners that the tests of boosting share."""

from fractions import Fraction

import numpy as np

import discreet as dp
from discreet.learning.boosting.learner import BoostingLearner
from discreet.learning.boosting.model import AdditiveModel
from discreet.learning.boosting.objectives import Objective
from discreet.learning.core.lattice import ONE
from discreet.learning.core.rows import EncodedRows

FEATURES = {
    "age": dp.learning.linear_bins(0, 100, 20),
    "colour": dp.learning.categories(["red", "green", "blue"]),
    "country": dp.learning.categories([f"land {number}" for number in range(15)]),
}
SLOTS = np.array([feature.slots for feature in FEATURES.values()])
PAIR = (("age", "colour"),)
GENERATOR = dp.testing.generator(84)


def codes_of(number, generator=GENERATOR):
    return (generator.random((number, len(SLOTS))) * SLOTS).astype(np.uint16)


def targets_of(codes, classes, generator=GENERATOR):
    """Targets that depend on the first feature, with some chance."""
    strength = codes[:, 0] / SLOTS[0] + 0.2 * generator.random(len(codes))
    if not classes:
        return np.clip((2 * strength - 1) * ONE, -ONE, ONE).astype(np.int64)
    return np.minimum(strength * classes, classes - 1).astype(np.int64)


def rows_of(number, classes=2, generator=GENERATOR):
    codes = codes_of(number, generator)
    return EncodedRows(codes, targets_of(codes, classes, generator))


def learner_of(classes=2, rho=Fraction(1), **more):
    return BoostingLearner(FEATURES, classes, more.pop("size", 2_000), rho, **more)


def model_of(classes=2, interactions=PAIR, generator=GENERATOR):
    """A model with random tables."""
    model = AdditiveModel.empty(FEATURES, interactions, Objective(classes))
    for number, table in enumerate(model.tables):
        model = model.grow(number, generator.integers(-ONE, ONE, size=table.shape), np.ones(len(table), dtype=np.int64))
    return model
