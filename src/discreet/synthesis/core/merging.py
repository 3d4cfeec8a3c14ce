"""Small slots of a column are merged, so that marginals of several columns have fewer cells of noise alone."""

import numpy as np

from discreet.synthesis.core.measurement import Floats

MERGE_BELOW = 3
"""Slots whose noisy count is below this many standard deviations are merged."""


def merged_slots(counts: Floats, deviation: float) -> tuple[int, ...]:
    """The group of each slot of a column: small slots are one group, the last, if there are several.

    Args:
        counts: The noisy counts of the slots.
        deviation: The standard deviation of their noise.

    Returns:
        The groups; each slot is one of its own where fewer than two are small.
    """
    is_small = counts < MERGE_BELOW * deviation
    if np.count_nonzero(is_small) < 2:
        return tuple(range(counts.size))
    common = np.cumsum(~is_small)
    return tuple(np.where(is_small, common[-1], common - 1).tolist())
