"""Descent on noisy mean gradients: post-processing of what `SampledSums` hands out, so floats are allowed.

Adam with the average of the weights of the second half of all steps. Its state ends with the training.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from discreet.learning.sgd.sampled_sums import GradientRule, SampledSums

Vector = NDArray[np.float64]
_MOMENTUM, _MEMORY, _LEAST = 0.9, 0.999, 1e-8


def descend(
    sums: SampledSums, rule_at: Callable[[Vector], GradientRule], weights: Vector, learning_rate: float
) -> Vector:
    """The weights after all steps of a schedule.

    Args:
        sums: Noisy mean gradients.
        rule_at: Gradients of rows under given weights.
        weights: Public weights to begin with.
        learning_rate: Size of a step.

    Returns:
        The mean of the weights over the second half of the steps.
    """
    weights, total = weights.copy(), np.zeros(len(weights))
    first, second = np.zeros(len(weights)), np.zeros(len(weights))
    steps = sums.left
    for step in range(1, steps + 1):
        gradient = sums.mean_gradient(rule_at(weights))
        first = _MOMENTUM * first + (1 - _MOMENTUM) * gradient
        second = _MEMORY * second + (1 - _MEMORY) * gradient**2
        size = np.sqrt(second / (1 - _MEMORY**step)) + _LEAST
        weights = weights - learning_rate * first / (1 - _MOMENTUM**step) / size
        if step > steps // 2:
            total += weights
    return total / (steps - steps // 2)
