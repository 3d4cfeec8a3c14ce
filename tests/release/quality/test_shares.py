"""The distance of a column is half the sum of its differences."""

import pytest

from discreet.release.quality.shares import ColumnShares


def test_the_distance_is_half_the_sum_of_differences():
    column = ColumnShares("sex", False, ("f", "m"), (0.5, 0.4, 0.1), (0.6, 0.4, 0.0))
    assert column.distance == pytest.approx(0.1)
