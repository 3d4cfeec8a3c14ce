"""Steps that values are counted in: the grid where nobody says one, and what stands for a missing value."""

import math
from fractions import Fraction

from discreet.catalog.catalog import Column, ColumnType

STEPS_OF_A_REAL = 100_000


def default_grid(kind: ColumnType, bounds: tuple[Fraction, Fraction]) -> Fraction:
    """Whole numbers for integers; for reals the power of ten that cuts the larger bound into 100,000 steps or more."""
    if kind is ColumnType.INTEGER:
        return Fraction(1)
    size = max(abs(bounds[0]), abs(bounds[1])) / STEPS_OF_A_REAL
    grid = Fraction(1)
    while size and grid > size:
        grid /= 10
    while size and grid * 10 <= size:
        grid *= 10
    return grid


def missing_step(column: Column | None, grid: Fraction, low: int, high: int) -> int | None:
    """The step that a missing value counts as, within the bounds; None where it is skipped."""
    if column is None or column.missing == "skip":
        return None
    return max(low, min(high, math.floor(column.missing / grid + Fraction(1, 2))))
