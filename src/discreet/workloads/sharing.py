"""How a budget is divided over the partitions of a hierarchy: so that the level that suffers most suffers least.

A level's loss is the mean variance of its areas, over what it would be if all of the budget were the level's own. With
equal shares of m levels no loss is above m^2 for shares of epsilon (power 2) or m for shares of rho (power 1), and
least squares only lower it; the search starts there and keeps the best that it sees.
"""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.workloads.hierarchy import Hierarchy
from discreet.workloads.ranges import Power

Vector = NDArray[np.float64]
_ROUNDS = 80
_DIGITS = 4


def losses(hierarchy: Hierarchy, units: Vector, shares: Vector, power: Power) -> Vector:
    """The mean variance of each level over that of the level alone; units are the variances for the whole budget."""
    found = hierarchy.variances(list(units / shares**power))
    return np.array([each.mean() for each in found]) / units


def divide_budget(hierarchy: Hierarchy, units: Vector, power: Power) -> tuple[Fraction, ...]:
    """Shares for which the largest loss is about as small as it can be; never larger than for equal ones.

    For weights of the losses, shares are improved as those of a tree are (see ranges.balance_levels); levels that
    lose most get more weight.
    """
    parts = len(units)
    shares = best = np.full(parts, 1 / parts)
    weights, least = np.full(parts, 1 / parts), np.inf
    for _ in range(_ROUNDS):
        lost = losses(hierarchy, units, shares, power)
        if lost.max() < least:
            best, least = shares, float(lost.max())
        weights = weights * np.sqrt(lost / lost.max())
        weights /= weights.sum()
        roots = np.maximum(_slopes(hierarchy, units, shares, power, weights), 1e-12) ** (1 / (1 + power))
        shares = roots / roots.sum()
    return _brief(hierarchy, units, best, power)


def _slopes(hierarchy: Hierarchy, units: Vector, shares: Vector, power: Power, weights: Vector) -> Vector:
    """The weighted losses, differentiated by the variance of each level, times its unit."""
    variances = units / shares**power
    slopes = np.zeros(len(units))
    for level, variance in enumerate(variances):
        shifted = variances.astype(np.complex128)
        shifted[level] += 1j * variance * 1e-100
        found = [each.mean().imag for each in hierarchy.variances(list(shifted))]
        slopes[level] = (weights / units) @ np.array(found) / (variance * 1e-100) * units[level]
    return slopes


def _brief(hierarchy: Hierarchy, units: Vector, shares: Vector, power: Power) -> tuple[Fraction, ...]:
    """Shares of a few digits, so that other machines come to the same; equal ones if that costs what was won."""
    brief = [Fraction(f"{share:.{_DIGITS}g}") for share in shares]
    exact = tuple(share / sum(brief) for share in brief)
    equal = np.full(len(units), 1 / len(units))
    lost = losses(hierarchy, units, np.array([float(share) for share in exact]), power).max()
    if lost > losses(hierarchy, units, equal, power).max():
        return (Fraction(1, len(units)),) * len(units)
    return exact
