"""How a cost is divided among marginals.

The expected L1 error of a marginal at a cost is proportional to cells / sqrt(cost). So the sum of the errors of several
is least where their costs are proportional to the power of 2/3 of their cells.
"""

import math


def cost_weight(cells: int) -> int:
    """The share of a cost that a marginal gets, beside those of others: 1,000 cells^(2/3), in whole numbers."""
    return max(int(1_000 * math.cbrt(cells * cells)), 1)
