"""Noisy marginals give the distribution that fits them best: found again, consistent, shrunk where noise is large."""

from itertools import combinations

import numpy as np
import pytest

from discreet.synthesis.core.domain import Domain
from discreet.synthesis.graphical.belief_propagation import calibrate
from discreet.synthesis.graphical.estimation import Target, beliefs_of, combine_targets, fit, forbid
from discreet.synthesis.graphical.factors import expand, project
from discreet.synthesis.graphical.junction_tree import junction_tree

DOMAIN = Domain(dict(zip("abcd", (2, 3, 4, 2), strict=True)))
CHAIN = [("a", "b"), ("b", "c"), ("c", "d")]
TOTAL = 1000.0


def joint_table(number):
    """Counts of a distribution in the family of a chain."""
    generator = np.random.default_rng(number)
    joint = sum(expand(generator.normal(0, 1, DOMAIN.shape(pair)), pair, DOMAIN.names) for pair in CHAIN)
    joint = np.exp(joint)
    return TOTAL * joint / joint.sum()


def targets_of(joint, marginals, variance=1.0, noise=None):
    found = {}
    for columns in marginals:
        values = project(joint, DOMAIN.names, columns)
        added = 0 if noise is None else noise.normal(0, np.sqrt(variance), values.shape)
        found[columns] = Target(values + added, np.full(values.shape, variance))
    return found


@pytest.mark.parametrize("number", range(4))
def test_marginals_without_noise_give_the_whole_distribution_of_their_family(number):
    joint = joint_table(number)
    found = fit(DOMAIN, targets_of(joint, CHAIN), TOTAL, iterations=300, tolerance=1e-6, entropy=1e-4)
    estimate = TOTAL * found.beliefs.marginal(DOMAIN.names)
    np.testing.assert_allclose(estimate, joint, atol=0.05)


@pytest.mark.parametrize("number", range(4))
def test_no_other_distribution_fits_better(number):
    """The condition of an optimum: the slope of the primal objective is the same for all cells of the joint table."""
    generator = np.random.default_rng(number)
    marginals = [*CHAIN, ("a", "d"), ("a",), ("c",)]
    targets, entropy = targets_of(joint_table(number), marginals, 100.0, generator), 0.1
    found = fit(DOMAIN, targets, TOTAL, iterations=2000, tolerance=1e-9, entropy=entropy)
    joint = TOTAL * found.beliefs.marginal(DOMAIN.names)
    slope = entropy * np.log(joint / TOTAL)
    for columns, target in targets.items():
        residual = (project(joint, DOMAIN.names, columns) - target.values) / target.variance
        slope = slope + expand(residual, columns, DOMAIN.names)
    assert np.ptp(slope) < 1e-3


def test_measured_pairs_agree_in_the_columns_that_they_share():
    targets = targets_of(joint_table(1), combinations(DOMAIN.names, 2), 400.0, np.random.default_rng(1))
    beliefs = fit(DOMAIN, targets, TOTAL).beliefs
    for one, other in combinations(targets, 2):
        for name in set(one) & set(other):
            np.testing.assert_allclose(
                project(beliefs.marginal(one), one, (name,)), project(beliefs.marginal(other), other, (name,))
            )


def test_a_warm_start_needs_fewer_steps(monkeypatch):
    targets = targets_of(joint_table(2), CHAIN, 100.0, np.random.default_rng(2))
    calls = []

    def counting(tree, potentials):
        calls.append(1)
        return calibrate(tree, potentials)

    monkeypatch.setattr("discreet.synthesis.graphical.estimation.calibrate", counting)
    first = fit(DOMAIN, targets, TOTAL, tolerance=1e-4)
    cold = len(calls)
    fit(DOMAIN, targets, TOTAL, tolerance=1e-4, start=first.potentials)
    assert len(calls) - cold == 1 < cold


def test_more_entropy_moves_noisy_cells_towards_independence():
    targets = targets_of(joint_table(3), [("a", "b"), ("a",), ("b",)], 400.0, np.random.default_rng(3))
    distances = []
    for entropy in (1e-3, 0.1, 10.0, 1e4):
        table = fit(DOMAIN, targets, TOTAL, entropy=entropy, iterations=500, tolerance=1e-6).beliefs.marginal(
            ("a", "b")
        )
        distances.append(np.abs(table - np.outer(table.sum(1), table.sum(0))).sum())
    assert distances == sorted(distances, reverse=True)
    assert distances[-1] < 1e-2


def test_two_measurements_of_the_same_columns_count_by_their_variances():
    one, other = Target(np.array([10.0, 0.0]), np.array([1.0, 4.0])), Target(np.array([20.0, 10.0]), np.full(2, 4.0))
    both = combine_targets([one, other])
    np.testing.assert_allclose(both.values, [12.0, 5.0])
    np.testing.assert_allclose(both.variance, [0.8, 2.0])


def test_potentials_alone_give_the_beliefs_back():
    targets = targets_of(joint_table(1), [*CHAIN, ("b",)], 100.0, np.random.default_rng(1))
    found = fit(DOMAIN, targets, TOTAL)
    again = beliefs_of(DOMAIN, found.potentials)
    np.testing.assert_allclose(again.marginal(DOMAIN.names), found.beliefs.marginal(DOMAIN.names), atol=1e-12)


def test_cells_that_a_rule_forbids_have_no_mass_and_the_others_fit_as_well_as_they_can():
    """With one free marginal the fit is that of the allowed cells alone; their noise plays no part in the rest."""
    allowed = np.array([[True, False, True], [False, True, True]])
    domain = Domain({"a": 2, "b": 3, "c": 2})
    values = np.array([[50.0, 7, 20], [-9, 10, 20]])
    targets = {
        ("a", "b"): Target(values, np.full((2, 3), 1e-6)),
        ("b", "c"): Target(np.full((3, 2), 16.7), np.ones((3, 2))),
    }
    found = fit(domain, targets, 100.0, iterations=500, tolerance=1e-9, rules={("a", "b"): allowed})
    table = found.beliefs.marginal(("a", "b"))
    assert (table[~allowed] == 0).all()
    assert 100 * table == pytest.approx(np.where(allowed, values, 0), abs=0.2)
    assert np.isfinite(found.beliefs.log_partition)
    again = beliefs_of(domain, found.potentials, {("a", "b"): allowed})
    assert again.marginal(("a", "b")) == pytest.approx(table)


def test_a_rule_over_columns_that_were_not_measured_together_gets_a_clique():
    domain = Domain({"a": 2, "b": 2})
    targets = {(name,): Target(np.array([60.0, 40.0]), np.ones(2)) for name in "ab"}
    found = fit(domain, targets, 100.0, rules={("a", "b"): np.array([[True, False], [True, True]])})
    assert found.beliefs.marginal(("a", "b"))[0, 1] == 0
    assert found.beliefs.tree.cliques == (("a", "b"),)
    with pytest.raises(ValueError, match="no clique holds"):
        forbid(junction_tree(domain, []), [np.zeros(2), np.zeros(2)], {("a", "b"): np.ones((2, 2), dtype=bool)})
