"""Hyper-parameters of boosting, from public facts alone: declared size, number of terms and privacy cost."""

import math
from fractions import Fraction

LEAVES = 8
"""Most leaves of a tree of one feature."""

PAIR_LEAVES = 4
"""Most leaves of a tree along each of two features."""

MOST_ROUNDS = 24
RIDGE = 1.5
"""Added to the noisy Hessian of a leaf, in standard deviations of its noise."""

SHRINKAGE = 0.5
"""Strength of the James-Stein factor of a tree; 0 is no shrinkage."""

ADAPTIVE_SHARE = 0.65
"""Share of later trees whose feature follows the strength of earlier noisy sums; the others are spread evenly."""


def default_rounds(size: int, terms: int, rho: Fraction, *, replace_one: bool) -> int:
    """How often each term has a tree on average: more rounds have smaller steps, and more noise in each."""
    effective = float(rho) / (4 if replace_one else 1)
    rounds = round(math.sqrt(size * math.sqrt(effective / terms)) / 4)
    return min(max(rounds, 1), MOST_ROUNDS)


def default_learning_rate(rounds: int) -> float:
    """The share of a Newton step that a tree makes."""
    return min(0.5, 4 / rounds)
