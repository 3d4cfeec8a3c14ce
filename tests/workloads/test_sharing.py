"""The budget of a hierarchy: no level loses more than it would by equal shares, and most lose less."""

import numpy as np
import pytest

from discreet.workloads.hierarchy import Hierarchy, Partition
from discreet.workloads.sharing import divide_budget, losses


def tree(*fanouts, crossing=0):
    cells = int(np.prod(fanouts))
    chain, size = [], 1
    for level, fanout in enumerate((1, *reversed(fanouts))):
        size *= fanout
        chain.append(Partition(f"{level}", tuple(map(str, range(cells // size))), np.arange(cells) // size))
    across = [Partition("zip", tuple(map(str, range(crossing))), np.arange(cells) % crossing)] if crossing else []
    return Hierarchy(tuple(chain), tuple(across))


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize(
    "shape", [tree(50), tree(3, 4, 6), tree(2, 2, 2, 2, 2), tree(10, 10), tree(3, 4, 5, crossing=7)]
)
def test_no_level_has_more_than_m_times_the_error_of_asking_it_alone(shape, power):
    """m times by Laplace noise, sqrt(m) times by Gaussian: m^power in the mean square."""
    levels = len(shape.parts)
    units = np.ones(levels)
    shares = divide_budget(shape, units, power)
    lost = losses(shape, units, np.array([float(share) for share in shares]), power)
    assert sum(shares) == 1
    assert lost.max() <= levels**power * (1 - 1e-3)
