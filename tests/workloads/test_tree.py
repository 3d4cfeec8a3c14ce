"""Trees over bins: sums, least squares against numpy, and variances of ranges in closed form."""

import itertools
import math

import numpy as np
import pytest

from discreet.workloads.tree import Tree

SHAPES = [(1, 2), (2, 2), (5, 2), (7, 3), (16, 4), (13, 4), (10, 16)]


def levels_of(tree):
    levels = [np.eye(tree.leaves)]
    for _ in tree.widths[1:]:
        below = levels[-1]
        levels.append(np.array([below[i : i + tree.branching].sum(0) for i in range(0, len(below), tree.branching)]))
    return levels


def cases():
    random = np.random.default_rng(0)
    for shape in SHAPES:
        tree = Tree(*shape)
        for trial in range(4):
            variances = random.uniform(0.5, 5, len(tree.widths))
            if trial % 2:
                variances[1:][random.random(len(variances) - 1) < 0.5] = math.inf
            levels = levels_of(tree)
            precisions = np.concatenate([np.full(len(n), 1 / v) for n, v in zip(levels, variances, strict=True)])
            matrix = np.vstack(levels)
            yield tree, variances, matrix, precisions, np.linalg.inv(matrix.T @ (matrix * precisions[:, None]))


@pytest.mark.parametrize(("leaves", "branching", "widths"), [(1, 2, (1,)), (5, 2, (5, 3, 2, 1)), (9, 3, (9, 3, 1))])
def test_levels_go_from_the_leaves_to_one_root(leaves, branching, widths):
    assert Tree(leaves, branching).widths == widths


def test_sums_are_exact_whatever_their_size():
    assert Tree(5, 2).sums([2**70, 1, 2, 3, 4]) == [
        [2**70, 1, 2, 3, 4],
        [2**70 + 1, 5, 4],
        [2**70 + 6, 4],
        [2**70 + 10],
    ]


@pytest.mark.parametrize(("leaves", "branching"), [(0, 2), (3, 1)])
def test_a_tree_without_leaves_or_branches_is_none(leaves, branching):
    with pytest.raises(ValueError, match="at least"):
        Tree(leaves, branching)


def test_estimates_are_those_of_least_squares():
    random = np.random.default_rng(1)
    for tree, variances, matrix, precisions, inverse in cases():
        noisy = [random.integers(-50, 50, width).tolist() for width in tree.widths]
        wanted = inverse @ (matrix.T @ (precisions * np.concatenate(noisy)))
        assert np.allclose(tree.consistent(noisy, variances), wanted)


def test_exact_counts_are_their_own_estimates():
    tree, leaves = Tree(13, 4), list(range(13))
    assert np.allclose(tree.consistent(tree.sums(leaves), [3, 1, 2]), leaves)


def test_variances_of_ranges_and_the_weights_behind_them_are_those_of_the_normal_equations():
    for tree, variances, matrix, precisions, inverse in cases():
        for lo, hi in itertools.combinations(range(tree.leaves + 1), 2):
            inside = np.zeros(tree.leaves)
            inside[lo:hi] = 1
            wanted = inside @ inverse @ inside
            assert math.isclose(tree.range_variance(lo, hi, variances), wanted)
            weights = np.concatenate(tree.weights(inside, variances))
            assert np.allclose(weights, precisions * (matrix @ inverse @ inside))


def test_slopes_add_up_to_the_variance_that_they_are_of():
    """A variance is homogeneous of degree one in those of the levels (Euler)."""
    for tree, variances, *_ in cases():
        ends = np.array([0]), np.array([tree.leaves])
        finite = np.where(np.isfinite(variances), variances, 0)
        assert math.isclose(tree.slopes(*ends, variances) @ finite, tree.range_variance(0, tree.leaves, variances))


@pytest.mark.parametrize("branching", [2, 3, 4, 16])
@pytest.mark.parametrize("leaves", [2, 5, 8, 9, 17, 31, 64, 100])
def test_the_weights_of_contrasts_are_those_of_all_nodes_with_equal_ones_counted(leaves, branching):
    """Also with levels that are not measured, and with last nodes that have fewer children."""
    random = np.random.default_rng(leaves * branching)
    tree = Tree(leaves, branching)
    variances = random.uniform(0.1, 50, len(tree.widths))
    variances[1:][random.random(len(variances) - 1) < 0.3] = np.inf
    for share in (0.02, 0.5):
        every = tree.weights(np.tril(np.ones((leaves, leaves)))[:-1] - share, variances.tolist())
        for level, weights, counts in zip(every, *tree.contrast_weights(share, variances.tolist()), strict=True):
            for row, weight, count in zip(level, weights, counts, strict=True):
                listed = np.sort(np.repeat(np.abs(weight), count.astype(int)))
                assert listed == pytest.approx(np.sort(np.abs(row)), abs=1e-10)
