"""Steps of linear learners: what a row adds to counts and gradients, in integers and from this row alone."""

from dataclasses import dataclass

import numpy as np

from discreet.learning.core.lattice import HALF, ONE, Integers, logistic, softmax
from discreet.learning.core.rows import Codes, EncodedRows
from discreet.learning.core.sums import Contributions


@dataclass(frozen=True)
class SlotCounts:
    """Counts rows by slot of each feature."""

    firsts: Integers
    length: int
    clip: int
    has_distinct_places: bool = True

    def contributions(self, rows: EncodedRows) -> Contributions:
        """One for the slot of each feature."""
        places = rows.codes.astype(np.int64) + self.firsts
        return Contributions(places, np.full_like(places, ONE))


@dataclass(frozen=True)
class LogisticGradient:
    """The gradient of the clipped logistic loss at public weights, by slot and column."""

    firsts: Integers
    weights: Integers
    clip: int
    has_distinct_places: bool = True

    @property
    def length(self) -> int:
        """One place for each slot and column."""
        return self.weights.size

    def contributions(self, rows: EncodedRows) -> Contributions:
        """The gradient of the row, at the slot of each feature."""
        slots = rows.codes.astype(np.int64) + self.firsts
        scores = slot_scores(self.weights, self.firsts, rows.codes)
        columns = scores.shape[1]
        if columns == 1:
            gradient = np.clip(rows.target[:, None] * ONE - logistic(scores), -HALF, HALF)
            return Contributions(slots, np.broadcast_to(gradient, slots.shape))
        gradient = (np.arange(columns) == rows.target[:, None]) * ONE - softmax(scores)
        places = slots[:, :, None] * columns + np.arange(columns)
        values = np.broadcast_to(gradient[:, None, :], places.shape)
        return Contributions(places.reshape(len(rows), -1), values.reshape(len(rows), -1))


def slot_scores(weights: Integers, firsts: Integers, codes: Codes) -> Integers:
    """The sum of the weights of each row's slots, in integers."""
    scores = np.zeros((len(codes), weights.shape[1]), dtype=np.int64)
    for column, first in enumerate(firsts.tolist()):
        scores += weights[codes[:, column].astype(np.int64) + first]
    return scores
