"""Gradient descent on noisy sums: smoothing, momentum, shrinkage and averages. It reads noisy sums alone, in floats."""

import math
from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from discreet.learning.core.features import DeclaredFeature
from discreet.learning.core.lattice import Floats, Integers
from discreet.learning.linear.linear_model import weight_steps

MOMENTUM = 0.8
CURVATURE = 0.15
SHRINKAGE = 0.8
NOISE_RIDGE = 0.7
SMOOTHING_WIDTH = 0.6
LARGEST_RATE = 0.25
RATE_BY_FEATURES = 5.0
FIRST_AVERAGE = 0.6
COUNT_SHARE = Fraction(1, 20)
"""Share of rho that pays for the noisy counts before a descent."""


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
        self._owner = np.repeat(np.arange(len(slots)), slots)
        self._kernels = [smoothing_kernel(feature) for feature in features.values()]
        freedom = [np.square(kernel).sum() * max(columns - 1, 1) for kernel in self._kernels]
        self._expected_noise: Floats = SHRINKAGE * sigma * sigma * np.asarray(freedom)
        curvature = CURVATURE if columns == 1 else 4 * CURVATURE / columns
        rate = min(LARGEST_RATE, RATE_BY_FEATURES / len(slots))
        self._rates: Floats = (rate / (np.maximum(counts, 0) * curvature + NOISE_RIDGE * sigma))[:, None]
        self._velocity: Floats = np.zeros((len(counts), columns))
        self._theta: Floats = np.zeros((len(counts), columns))
        self._path: list[Floats] = []

    @property
    def weights(self) -> Integers:
        """The present weights, in steps."""
        return weight_steps(self._theta)

    @property
    def average(self) -> Integers:
        """The mean of the weights over the last two fifths of the iterations, in steps."""
        first = min(math.ceil(FIRST_AVERAGE * len(self._path)), len(self._path) - 1)
        return weight_steps(np.mean(self._path[first:], axis=0))

    def move(self, gradient: Floats) -> None:
        """Move by a noisy gradient.

        Args:
            gradient: Noisy sums, one row for each slot and one column for each score.
        """
        if gradient.shape[1] > 1:  # the gradients of a row add up to zero over the classes: the rest is noise
            gradient = gradient - gradient.mean(axis=1, keepdims=True)
        parts = np.split(gradient, self._firsts[1:])
        gradient = np.concatenate([kernel @ part for kernel, part in zip(self._kernels, parts, strict=True)])
        self._velocity = MOMENTUM * self._velocity + (1 - MOMENTUM) * gradient
        self._theta = self._theta + self._rates * self._velocity * self._signal_shares()[self._owner, None]
        self._path.append(self._theta)

    def _signal_shares(self) -> Floats:
        """The James-Stein factor of each feature: near 0 where its velocity is no longer than noise would be."""
        iterations = len(self._path) + 1
        smoothing = (1 - MOMENTUM) / (1 + MOMENTUM) * (1 - MOMENTUM ** (2 * iterations))
        squares = np.add.reduceat((self._velocity**2).sum(axis=1), self._firsts)
        shares: Floats = np.maximum(0, 1 - self._expected_noise * smoothing / np.maximum(squares, 1e-300))
        return shares


def smoothing_kernel(feature: DeclaredFeature) -> Floats:
    """Weights by which the gradients of neighbouring bins are averaged; categories and missing values stand alone."""
    kernel = np.eye(feature.slots)
    if feature.is_ordered:
        places = np.arange(feature.slots - 1)
        near = np.exp(-np.square((places[:, None] - places) / SMOOTHING_WIDTH) / 2)
        kernel[1:, 1:] = near / near.sum(axis=1, keepdims=True)
    return kernel
