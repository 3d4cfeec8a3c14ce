"""Workloads of ranges: strategies, their expected errors in closed form, and the choice among them."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.catalog.privacy_unit import Caps, Neighbours
from discreet.plan.physical import CountRows
from discreet.planner.sensitivity.sensitivity import sensitivity
from discreet.workloads import ranges
from discreet.workloads.ranges import (
    Levels,
    MatrixStrategy,
    RangeWorkload,
    balance_levels,
    best,
    candidates,
    expected_variance,
    flat,
)
from discreet.workloads.tree import Tree

ADDED = Neighbours.ADD_REMOVE
HOW = list(Neighbours)
POWERS = [1, 2]


def some_ranges(bins, number, at=0):
    random = np.random.default_rng(at)
    ends = (sorted(random.choice(bins + 1, 2, replace=False).tolist()) for _ in range(number))
    return RangeWorkload(bins, tuple((lo, hi) for lo, hi in ends))


def matrix_of(strategy, bins):
    parts = [np.array(strategy.exact(row), dtype=object) for row in np.eye(bins, dtype=int).tolist()]
    return [np.array([part[i] for part in parts], dtype=float).T for i in range(len(strategy.shares))]


@pytest.mark.parametrize("pairs", [(), ((0, 0),), ((2, 1),), ((0, 9),)])
def test_ranges_that_are_empty_or_outside_are_refused(pairs):
    with pytest.raises(ValueError, match="range"):
        RangeWorkload(8, pairs)


def test_the_gram_matrix_counts_the_ranges_that_two_bins_share():
    workload = some_ranges(20, 30)
    assert np.array_equal(workload.gram, workload.indicators().T @ workload.indicators())


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("power", POWERS)
def test_every_strategy_has_the_error_of_its_normal_equations(power, how):
    workload = some_ranges(12, 15)
    for strategy in candidates(workload, power, how):
        parts = matrix_of(strategy, 12)
        sizes = [ranges.size(moved, power) for moved in strategy.sensitivity(1, how)]
        variances = [size / float(share) ** power for size, share in zip(sizes, strategy.shares, strict=True)]
        rows = np.vstack([part / np.sqrt(variance) for part, variance in zip(parts, variances, strict=True)])
        inside = workload.indicators()
        wanted = np.einsum("ij,jk,ik->i", inside, np.linalg.pinv(rows.T @ rows), inside)
        assert np.allclose(expected_variance(strategy, workload, power, how), wanted, rtol=1e-5)
        weights = strategy.weights(inside, variances)
        again = sum((part**2).sum(axis=1) * variance for part, variance in zip(weights, variances, strict=True))
        assert np.allclose(again, wanted, rtol=1e-5)


def test_exact_counts_are_read_back_by_every_strategy():
    workload, counts = some_ranges(12, 30), [7, 0, 3, 100, 2, 2, 9, 1, 0, 0, 5, 8]
    truth = workload.indicators() @ counts
    for strategy in candidates(workload, 2, ADDED):
        bins = strategy.estimates(strategy.exact(counts), [1.0] * len(strategy.shares))
        assert np.allclose(workload.indicators() @ bins, truth)


@pytest.mark.parametrize("power", POWERS)
def test_the_best_is_at_most_every_other(power):
    workload = some_ranges(50, 80)
    chosen = expected_variance(best(workload, power, ADDED), workload, power, ADDED).mean()
    assert chosen <= min(
        expected_variance(each, workload, power, ADDED).mean() for each in candidates(workload, power, ADDED)
    )


def test_single_bins_are_best_asked_one_by_one():
    workload = RangeWorkload(30, tuple((i, i + 1) for i in range(30)))
    assert expected_variance(best(workload, 2, ADDED), workload, 2, ADDED).mean() == pytest.approx(2)
    assert best(workload, 2, ADDED) == flat(30)


def test_one_range_has_the_noise_of_a_count():
    workload = RangeWorkload(1, ((0, 1),))
    assert expected_variance(best(workload, 2, ADDED), workload, 2, ADDED).tolist() == [2.0]


def test_a_few_wide_ranges_are_asked_themselves():
    workload = RangeWorkload(40, ((0, 20), (20, 40)) * 2)
    assert expected_variance(best(workload, 2, ADDED), workload, 2, ADDED).mean() == pytest.approx(2)


@pytest.mark.parametrize("power", POWERS)
@pytest.mark.parametrize("branching", [2, 4])
def test_balanced_levels_are_better_than_equal_ones_and_shares_add_up_to_one(branching, power):
    workload, tree = some_ranges(64, 100), Tree(64, branching)
    made = balance_levels(workload, tree, power, ADDED)
    levels = len(tree.widths)
    equal = Levels(tree, tuple(range(levels)), (Fraction(1, levels),) * levels)
    assert sum(made.shares) == 1
    assert (
        expected_variance(made, workload, power, ADDED).mean() < expected_variance(equal, workload, power, ADDED).mean()
    )


@pytest.mark.guarantee("planner.sensitivity.sensitivity")
@pytest.mark.parametrize("how", HOW)
def test_levels_move_as_groups_with_parts_do(how):
    tree = Tree(9, 3)
    for rows in (1, 2, 5):
        for width, moved in zip(
            tree.widths, Levels(tree, (0, 1, 2), (Fraction(1, 3),) * 3).sensitivity(rows, how), strict=True
        ):
            rule = sensitivity(CountRows(), Caps(rows), 1, how, width)
            assert (moved.l0, moved.l1, moved.l2_squared, moved.linf) == (rule.l0, rule.l1, rule.l2_squared, rule.linf)


def test_a_matrix_says_its_name_and_levels_what_they_add_up():
    workload = some_ranges(12, 15)
    made = list(candidates(workload, 2, ADDED))
    assert flat(12).places == ("bins",)
    assert any(isinstance(each, MatrixStrategy) and "strategy matrix" in each.places[0] for each in made)
    assert Levels(Tree(12, 4), (0, 1), (Fraction(1, 2),) * 2).places[1] == "sums of 4 bins beside each other"


@pytest.mark.full
def test_a_thousand_ranges_over_1024_bins_have_an_error_of_at_most_every_strategy_beside():
    workload = some_ranges(1024, 1000, at=7)
    chosen = expected_variance(best(workload, 2, ADDED), workload, 2, ADDED).mean()
    others = {
        type(each).__name__: expected_variance(each, workload, 2, ADDED).mean()
        for each in candidates(workload, 2, ADDED)
    }
    assert chosen <= min(others.values())
    assert chosen < 140
