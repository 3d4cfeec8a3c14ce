"""Gradient descent on noisy sums: momentum, shrinkage and averages. It reads noisy sums alone, in floats."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from discreet.learning.core.features import DeclaredFeature
from discreet.learning.core.lattice import Integers, steps_of

Floats = NDArray[np.float64]

MOMENTUM = 0.8
CURVATURE = 0.15
SHRINKAGE = 0.5
LARGEST_RATE = 0.2
LARGEST_WEIGHT = 1_000.0


class Descent:
    """The weights of a linear model while it is trained; all of it is post-processing of noisy sums.

    Args:
        features: The declared features.
        columns: Number of scores of a row.
        counts: Noisy counts by slot.
        sigma: Standard deviation of the noise of a gradient's coordinate.
    """

    def __init__(self, features: Mapping[str, DeclaredFeature], columns: int, counts: Floats, sigma: float) -> None:
        slots = [feature.slots for feature in features.values()]
        self._firsts = np.cumsum([0, *slots[:-1]])
        self._slots = np.asarray(slots, dtype=np.float64)
        self._owner = np.repeat(np.arange(len(slots)), slots)
        self._freedom = self._slots * max(columns - 1, 1)
        self._variance = sigma * sigma
        curvature = CURVATURE if columns == 1 else 4 * CURVATURE / columns
        rate = min(LARGEST_RATE, 4 / len(slots))
        self._rates: Floats = (rate / (np.maximum(counts, 0) * curvature + sigma))[:, None]
        self._velocity: Floats = np.zeros((len(counts), columns))
        self._theta: Floats = np.zeros((len(counts), columns))
        self._path: list[Floats] = []

    @property
    def weights(self) -> Integers:
        """The present weights, in steps."""
        return _rounded_steps(self._theta)

    @property
    def average(self) -> Integers:
        """The mean of the weights over the last half of the iterations, in steps."""
        last = self._path[len(self._path) // 2 :]
        return _rounded_steps(np.mean(last, axis=0)) if last else self.weights

    def move(self, gradient: Floats) -> None:
        """Move by a noisy gradient.

        Args:
            gradient: Noisy sums, one row for each slot and one column for each score.
        """
        if gradient.shape[1] > 1:  # the gradients of a row add up to zero over the classes: the rest is noise
            gradient = gradient - gradient.mean(axis=1, keepdims=True)
        self._velocity = MOMENTUM * self._velocity + (1 - MOMENTUM) * gradient
        self._theta = self._theta + self._rates * self._velocity * self._signal_shares()[self._owner, None]
        self._path.append(self._theta)

    def _signal_shares(self) -> Floats:
        """The James-Stein factor of each feature: near 0 where its velocity is no longer than noise would be."""
        iterations = len(self._path) + 1
        smoothing = (1 - MOMENTUM) / (1 + MOMENTUM) * (1 - MOMENTUM ** (2 * iterations))
        squares = np.add.reduceat((self._velocity**2).sum(axis=1), self._firsts)
        noise = SHRINKAGE * self._freedom * self._variance * smoothing
        shares: Floats = np.maximum(0, 1 - noise / np.maximum(squares, 1e-300))
        return shares


def _rounded_steps(weights: Floats) -> Integers:
    return steps_of(np.clip(weights, -LARGEST_WEIGHT, LARGEST_WEIGHT))
