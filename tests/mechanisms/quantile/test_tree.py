"""Quantiles by bisection over noisy counts: what is found, how often it is off, and why the bound on that holds."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.accounting.prices import total
from discreet.mechanisms import Laplace
from discreet.mechanisms.quantile import NoisyTree, bisect_steps
from discreet.mechanisms.quantile.tree import wrong_decisions
from discreet.workloads.tree import Tree

SHARES = [Fraction(1, 2), Fraction(1, 10), Fraction(2, 3)]


def below(counts):
    return np.concatenate([[0], np.cumsum(counts)]).astype(float)


@pytest.mark.parametrize("share", SHARES, ids=str)
def test_without_noise_the_lowest_step_with_the_quantile_among_its_ranks_is_found(share):
    for counts in itertools.product(range(4), repeat=4):
        lowest = next((step for step in range(4) if sum(counts[: step + 1]) >= share * sum(counts)), 3)
        assert bisect_steps(below(counts), share) == (lowest if sum(counts) else 0)


def test_of_the_same_estimates_a_lower_quantile_is_never_at_a_higher_step():
    random = np.random.default_rng(1)
    for _ in range(200):
        estimates = below(random.normal(3, 10, 30))
        if estimates[-1] >= 0:
            found = [bisect_steps(estimates, Fraction(part, 20)) for part in range(1, 20)]
            assert found == sorted(found)


@pytest.mark.guarantee("mechanisms.quantile.tree")
@pytest.mark.parametrize("share", SHARES, ids=str)
def test_a_step_is_farther_off_than_t_only_where_one_of_few_estimates_is(share):
    """Those are the boundaries outside of the band that bisection asks on its way to a step inside."""
    random = np.random.default_rng(2)
    for _ in range(2_000):
        steps, reach = int(random.integers(2, 40)), float(random.uniform(1, 20))
        exact = below(random.poisson(random.exponential(4, steps)))
        noisy = exact + np.concatenate([[0], random.normal(0, reach, steps)])
        noisy[0] = 0
        target = float(share) * exact[-1]
        found = bisect_steps(noisy, share)
        errors = (noisy - float(share) * noisy[-1]) - (exact - target)
        off = max(0.0, exact[found] - target, target - exact[found + 1])
        asked = critical(exact - target, reach)
        assert len(asked) <= wrong_decisions(steps)
        wrong = [i for i in asked if (errors[i] < -reach if exact[i] > target else errors[i] > reach)]
        assert off <= reach + 1e-6 or wrong


@pytest.mark.guarantee("mechanisms.quantile.tree")
@pytest.mark.parametrize("steps", range(2, 34))
def test_no_band_of_boundaries_has_more_critical_ones_than_are_counted(steps):
    """Every band, also an empty one: boundaries before `low` are below it, those from `high` on above it."""
    most = 0
    for low, high in itertools.combinations_with_replacement(range(1, steps + 1), 2):
        beyond = [-2.0 if i < low else 2.0 if i >= high else 0.0 for i in range(steps + 1)]
        most = max(most, len(critical(beyond, 1)))
    assert most <= wrong_decisions(steps)
    if math.log2(steps).is_integer():
        assert most == wrong_decisions(steps)


def critical(beyond, reach):
    """Boundaries outside of the band that can be asked before any of them is decided wrongly."""
    found, waiting = set(), [(0, len(beyond) - 2)]
    while waiting:
        low, high = waiting.pop()
        if low == high:
            continue
        middle = (low + high + 1) // 2
        if abs(beyond[middle]) > reach:
            found.add(middle)
        if beyond[middle] <= reach:
            waiting.append((middle, high))
        if beyond[middle] >= -reach:
            waiting.append((low, middle - 1))
    return found


@pytest.mark.guarantee("mechanisms.quantile.tree")
def test_no_node_counts_more_than_once_in_an_estimate():
    """The lemma behind the bound for Laplace noise: coefficients of (rows below) - q (all rows) are within -1 and 1."""
    random = np.random.default_rng(3)
    for leaves, branching in itertools.product((2, 3, 5, 9, 17, 30), (2, 3, 5, 30)):
        tree = Tree(leaves, branching)
        for share in (0.01, 0.3, 0.5, 0.99):
            variances = random.uniform(0.1, 50, len(tree.widths))
            variances[1:][random.random(len(variances) - 1) < 0.2] = math.inf
            contrasts = np.tril(np.ones((leaves, leaves))) - share
            weights = tree.weights(contrasts, variances.tolist())
            assert all(np.abs(level).max() <= 1 + 1e-9 for level in weights)


@pytest.mark.guarantee("mechanisms.quantile.tree")
def test_a_tree_costs_the_sum_of_its_levels_and_levels_that_are_not_measured_cost_nothing():
    noise = NoisyTree(
        (Laplace(sensitivity=2, epsilon=Fraction(1, 4)), None, Laplace(sensitivity=2, epsilon=Fraction(1, 2)))
    )
    assert total(noise.event()).epsilon == Fraction(3, 4)
    assert noise.variances == (2 * 8.0**2, math.inf, 2 * 4.0**2)
    assert [len(level) for level in noise.release([[1, 2, 3, 4], [10]])] == [4, 1]
