"""Consistent counts are the nearest ones that are not negative and add up."""

import numpy as np
import pytest
from scipy.optimize import minimize

from discreet.local.estimates.consistency import ConsistentCounts, simplex


@pytest.mark.parametrize("total", [1, 10, 1_000])
def test_the_projection_is_that_of_a_solver(total):
    counts = np.random.default_rng().normal(0, total, 6)
    counts += (total - counts.sum()) / 6
    ours = simplex(counts, total)
    assert ours.min() >= 0
    assert ours.sum() == pytest.approx(total)
    solved = minimize(
        lambda x: ((x - counts / total) ** 2).sum(),
        np.full(6, 1 / 6),
        bounds=[(0, None)] * 6,
        constraints={"type": "eq", "fun": lambda x: x.sum() - 1},
    )
    assert ours / total == pytest.approx(solved.x, abs=1e-3)


def test_consistent_counts_stay_as_they_are():
    assert simplex([3.0, 0.0, 7.0], 10).tolist() == [3, 0, 7]


def test_shares_and_tables():
    counts = ConsistentCounts(["a", "b"], simplex([12.0, -2.0], 10), 10)
    assert counts.shares.tolist() == [1, 0]
    assert counts.to_pandas()["count"].tolist() == [10, 0]
    assert counts.top(1) == [("a", 10.0)]
    assert repr(counts).splitlines()[0] == "10 reports, 2 values; counts add up, and are biased"
    assert "array" not in repr(counts)
