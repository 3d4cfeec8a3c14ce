"""Naive Bayes on declared features, from one noisy histogram of slots by class.

Definition
    The sum counts rows by class, and by class and slot of each of p features. The probability of a slot in a class is
    its noisy count, at least 0, plus a smoothing term, over the total of these. A row's score is the sum of the
    logarithms of its p probabilities and of that of the class.

Guarantee
    A row adds 1 to p + 1 places, so its vector has the norm sqrt(p + 1), which is the clip of a person with any number
    of rows. A fit is one Gaussian event. Proof: docs/proofs/learning/linear/naive_bayes_learner.md.

Exactness
    Counts are integers. Weights are floats made from noisy counts and rounded to steps: they are public.

Not covered
    Features that depend on each other within a class: their probabilities are too far from even odds.

References
    Vaidya, Shafiq, Basu and Hong, Differentially Private Naive Bayes Classification, WI 2013.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.learning.core.features import DeclaredFeature
from discreet.learning.core.lattice import ONE, Floats, Integers, root_up, steps_of
from discreet.learning.core.learner import OneSumLearner
from discreet.learning.core.rows import EncodedRows
from discreet.learning.core.sums import Contributions
from discreet.learning.core.training import NoisySums
from discreet.learning.linear.linear_model import LinearModel, first_slots, slot_count


@dataclass(frozen=True)
class ClassSlotCounts:
    """Counts rows by class, and by class and slot of each feature."""

    firsts: Integers
    slots: int
    classes: int
    clip: int
    has_distinct_places: bool = True

    @property
    def length(self) -> int:
        """One place for each class, then one for each slot and class."""
        return (1 + self.slots) * self.classes

    def contributions(self, rows: EncodedRows) -> Contributions:
        """One for the class of the row, and one for its slot of each feature."""
        target = rows.target[:, None]
        slots = 1 + rows.codes.astype(np.int64) + self.firsts
        places = np.hstack([target, slots * self.classes + target])
        return Contributions(places, np.full_like(places, ONE))


@dataclass(frozen=True)
class NaiveBayesLearner(OneSumLearner):
    """Naive Bayes with all its public parameters.

    Attributes:
        features: The declared features, by name, in the order of the codes.
        classes: Number of classes, at least 2.
        rho: Privacy cost of the fit.
        replace_one: Whether neighbouring datasets replace a person, rather than add or remove one.
        smoothing: Rows that are added to each slot. Default 1, beside half the deviation of the noise.
    """

    features: Mapping[str, DeclaredFeature]
    classes: int
    rho: Fraction
    replace_one: bool = False
    smoothing: float = 1.0

    def train(self, sums: NoisySums) -> LinearModel:
        """The model, from noisy counts alone."""
        step, (planned,) = self._step(), self.schedule.sums
        counts = sums.sum(step).reshape(1 + step.slots, self.classes) / ONE
        weights = log_weights(self.features, counts, planned.noise.sigma / ONE, self.smoothing)
        return LinearModel(self.features, steps_of(weights))

    def _step(self) -> ClassSlotCounts:
        clip = root_up((len(self.features) + 1) * ONE * ONE)
        return ClassSlotCounts(first_slots(self.features), slot_count(self.features), self.classes, clip)


def log_weights(
    features: Mapping[str, DeclaredFeature], counts: Floats, deviation: float, smoothing: float = 1.0
) -> Floats:
    """Logarithms of probabilities from noisy counts; of two classes, the differences between them.

    Args:
        features: The declared features.
        counts: Noisy counts: a row of classes, then a row for each slot.
        deviation: Standard deviation of the noise of a count.
        smoothing: Rows that are added to each slot.

    Returns:
        A row for each slot; those of the first feature hold the classes' own logarithms too.
    """
    extra = smoothing + deviation / 2
    counts = np.maximum(counts, 0) + extra
    weights = np.empty((len(counts) - 1, counts.shape[1]))
    first = 0
    for feature in features.values():
        block = counts[1 + first : 1 + first + feature.slots]
        weights[first : first + feature.slots] = np.log(block / block.sum(axis=0))
        first += feature.slots
    weights[: next(iter(features.values())).slots] += np.log(counts[0] / counts[0].sum())
    return weights[:, 1:] - weights[:, :1] if counts.shape[1] == 2 else weights
