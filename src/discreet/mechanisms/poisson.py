"""Poisson samples: each unit is in the sample with the same rational probability, independently of all others."""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.samplers import categorical


def poisson_sample(people: int, rate: Fraction) -> NDArray[np.int64]:
    """The numbers of those people, of 0 to people - 1, who are in a sample: each with probability `rate`, exactly.

    Args:
        people: How many people there are.
        rate: The probability.

    Returns:
        Numbers in increasing order, from randomness of the operating system.
    """
    drawn = categorical.uniform(rate.denominator, people) if people else np.zeros(0, dtype=np.int64)
    return np.flatnonzero(drawn < rate.numerator).astype(np.int64)
