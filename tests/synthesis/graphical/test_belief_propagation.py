"""Belief propagation gives the marginals of the joint distribution, found by brute force on small domains."""

from itertools import combinations

import numpy as np
import pytest

from discreet.synthesis.core.domain import Domain
from discreet.synthesis.graphical import belief_propagation
from discreet.synthesis.graphical.belief_propagation import calibrate
from discreet.synthesis.graphical.factors import expand, project
from discreet.synthesis.graphical.junction_tree import junction_tree

DOMAIN = Domain(dict(zip("abcdef", (2, 3, 2, 4, 3, 2), strict=True)))


def example(number):
    """A random tree with its beliefs and the joint distribution."""
    generator = np.random.default_rng(number)
    pairs = list(combinations(DOMAIN.names, 2))
    tree = junction_tree(DOMAIN, [pairs[place] for place in generator.choice(len(pairs), number % 8, replace=False)])
    potentials = [generator.normal(0, 3, DOMAIN.shape(clique)) for clique in tree.cliques]
    joint = sum(
        expand(values, clique, DOMAIN.names) for values, clique in zip(potentials, tree.cliques, strict=True)
    ) + np.zeros(DOMAIN.shape(DOMAIN.names))
    joint = np.exp(joint)
    return calibrate(tree, potentials), joint


@pytest.mark.parametrize("number", range(24))
def test_cliques_have_the_marginals_of_the_joint_distribution(number):
    beliefs, joint = example(number)
    assert beliefs.log_partition == pytest.approx(np.log(joint.sum()))
    for clique, values in zip(beliefs.tree.cliques, beliefs.marginals, strict=True):
        np.testing.assert_allclose(values, project(joint, DOMAIN.names, clique) / joint.sum(), atol=1e-12)


@pytest.mark.parametrize("number", range(16))
def test_any_columns_have_the_marginal_of_the_joint_distribution(number):
    beliefs, joint = example(number)
    joint = joint / joint.sum()
    for size in range(len(DOMAIN.names) + 1):
        for columns in combinations(DOMAIN.names, size):
            np.testing.assert_allclose(
                beliefs.marginal(columns), project(joint, DOMAIN.names, columns), atol=1e-12, err_msg=str(columns)
            )


@pytest.mark.parametrize("number", range(16))
def test_all_pairs_together_are_the_pairs_one_by_one(number):
    beliefs, joint = example(number)
    pairs = list(combinations(DOMAIN.names, 2))
    found = beliefs.pairs(pairs)
    assert set(found) == set(pairs)
    for pair, values in found.items():
        np.testing.assert_allclose(values, project(joint / joint.sum(), DOMAIN.names, pair), atol=1e-12)


def test_cells_without_mass_stay_empty_and_potentials_are_left_alone():
    tree = junction_tree(DOMAIN, [("a", "b"), ("b", "c")])
    potentials = [np.zeros(DOMAIN.shape(clique)) for clique in tree.cliques]
    place = tree.place(("a", "b"))
    potentials[place][:, 0] = -np.inf
    beliefs = calibrate(tree, potentials)
    np.testing.assert_allclose(beliefs.marginal(("b",)), [0, 0.5, 0.5])
    np.testing.assert_allclose(beliefs.marginal(("a", "c"))[0], [0.25, 0.25])
    assert np.isneginf(potentials[place][:, 0]).all()


def test_a_marginal_of_too_many_cells_is_refused(monkeypatch):
    monkeypatch.setattr(belief_propagation, "MOST_CELLS", 20)
    beliefs, _ = example(3)
    with pytest.raises(ValueError, match="too many cells"):
        beliefs.marginal(DOMAIN.names)
