"""Matrices for a workload: near the bound in L2, better than trees in L1, whole in both."""

import numpy as np
import pytest

from discreet.catalog.privacy_unit import Neighbours
from discreet.workloads import optimal
from discreet.workloads.ranges import MatrixStrategy, RangeWorkload, balance_levels, expected_variance
from discreet.workloads.tree import Tree

BINS = 64
PREFIXES = RangeWorkload(BINS, tuple((0, end) for end in range(1, BINS + 1)))
ADDED = Neighbours.ADD_REMOVE


def test_in_l2_the_error_of_prefixes_is_near_the_lower_bound_of_singular_values():
    """For any strategy: at least (the sum of singular values)^2 over bins, for columns of norm one."""
    found = expected_variance(MatrixStrategy(optimal.for_l2(PREFIXES.gram)), PREFIXES, 1, ADDED).sum()
    singular = np.linalg.svd(PREFIXES.indicators(), compute_uv=False)
    bound = singular.sum() ** 2 / BINS / 2
    assert bound <= found <= 1.15 * bound


def test_in_l1_the_error_of_prefixes_is_below_that_of_a_tree():
    found = expected_variance(MatrixStrategy(optimal.for_l1(PREFIXES.gram)), PREFIXES, 2, ADDED).mean()
    assert found < min(
        expected_variance(balance_levels(PREFIXES, Tree(BINS, b), 2, ADDED), PREFIXES, 2, ADDED).mean()
        for b in (2, 4, 8)
    )


@pytest.mark.parametrize("bins", [2, 5, 70, 130])
def test_any_number_of_bins_is_divided_into_blocks(bins):
    workload = RangeWorkload(bins, ((0, bins), (0, 1), (1, bins)))
    for power, made in ((2, optimal.for_l1), (1, optimal.for_l2)):
        strategy = MatrixStrategy(made(workload.gram))
        assert np.isfinite(expected_variance(strategy, workload, power, ADDED)).all()


def test_the_gradient_is_that_of_the_error():
    random = np.random.default_rng(0)
    widths = np.array([1.0, 3.0, 2.0])
    whole = random.normal(size=(6, 6))
    gram = whole @ whole.T
    starts = [0, 1, 4]
    summed = np.add.reduceat(np.add.reduceat(gram, starts, axis=0), starts, axis=1)
    blocks = optimal._Blocks(summed, np.add.reduceat(gram.diagonal(), starts), widths, (4, 3))
    place = random.uniform(0.2, 1, 12)
    value, slope = blocks(place)
    weights = np.repeat(place.reshape(4, 3) ** 2, widths.astype(int), axis=1)
    shares = 1 / (1 + weights.sum(axis=0))
    strategy = np.vstack([np.diag(shares), weights * shares])
    assert np.isclose(value, np.trace(np.linalg.inv(strategy.T @ strategy) @ gram))
    for i, step in enumerate(np.eye(12) * 1e-6):
        assert np.isclose((blocks(place + step)[0] - blocks(place - step)[0]) / 2e-6, slope[i], rtol=1e-4, atol=1e-6)


def test_descent_finds_the_bottom_of_a_bowl():
    centre = np.arange(5.0)
    scales = np.array([1, 10, 100, 1, 3.0])
    found = optimal.minimize(lambda x: (float(scales @ (x - centre) ** 2) + 1, 2 * scales * (x - centre)), np.zeros(5))
    assert np.allclose(found, centre, atol=1e-2)
