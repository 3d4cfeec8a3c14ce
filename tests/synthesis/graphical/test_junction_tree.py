"""Junction trees hold all marginals, have the running intersection, and are as small as their size says."""

from itertools import combinations

import numpy as np
import pytest

from discreet.synthesis.core.domain import Domain
from discreet.synthesis.graphical.junction_tree import bridged_cells, junction_tree, maximal_cliques, tree_cells

DOMAIN = Domain(dict(zip("abcdefg", (2, 3, 4, 2, 5, 3, 2), strict=True)))


def random_marginals(number):
    generator = np.random.default_rng(number)
    pairs = list(combinations(DOMAIN.names, 2))
    return [pairs[place] for place in generator.choice(len(pairs), number % 9 + 1, replace=False)]


@pytest.mark.parametrize("number", range(30))
def test_cliques_hold_all_marginals_and_meet_along_the_tree(number):
    marginals = random_marginals(number)
    tree = junction_tree(DOMAIN, marginals)
    assert all(tree.place(columns) is not None for columns in marginals)
    assert {name for clique in tree.cliques for name in clique} == set(DOMAIN.names)
    assert tree.cells == tree_cells(DOMAIN, marginals) == sum(map(DOMAIN.cells, tree.cliques))
    assert all(parent < place for place, parent in enumerate(tree.parents))
    assert tree.parents.count(-1) == 1
    for name in DOMAIN.names:  # the cliques of a column are joined: all but one have it in their separator
        holders = [place for place, clique in enumerate(tree.cliques) if name in clique]
        assert sum(name in tree.separators[place] for place in holders) == len(holders) - 1
    for one, other in combinations(tree.cliques, 2):
        assert not set(one) <= set(other)
        assert not set(other) <= set(one)


def test_a_tree_of_pairs_has_the_pairs_as_cliques():
    marginals = [("a", "b"), ("b", "c"), ("c", "d"), ("c", "e"), ("e", "f"), ("f", "g")]
    assert sorted(maximal_cliques(DOMAIN, marginals)) == sorted(marginals)


def test_a_loop_is_cut_into_triangles_with_few_cells():
    loop = [("a", "b"), ("b", "e"), ("d", "e"), ("a", "d")]
    cliques = maximal_cliques(DOMAIN, loop)
    assert max(map(len, cliques)) == 3
    assert {clique for clique in cliques if len(clique) > 1} == {("a", "b", "d"), ("b", "d", "e")}  # the fewest cells


def test_columns_that_nothing_joins_hang_on_the_tree_without_a_shared_column():
    tree = junction_tree(DOMAIN, [("a", "b")])
    assert len(tree.cliques) == 6
    assert set(tree.separators) == {()}
    assert len(tree.neighbours[0]) == 5
    assert tree.place(("a", "c")) is None


@pytest.mark.parametrize("number", range(30))
def test_a_bridge_has_about_as_many_cells_as_a_new_tree(number):
    marginals = random_marginals(number)
    tree = junction_tree(DOMAIN, marginals)
    for pair in combinations(DOMAIN.names, 2):
        if tree.place(pair) is None:
            new = tree_cells(DOMAIN, [*tree.cliques, pair])
            assert new / 2 <= bridged_cells(tree, pair) <= 2 * new


def test_a_bridge_over_a_chain_makes_triangles():
    tree = junction_tree(DOMAIN, [("a", "b"), ("b", "c"), ("c", "d")])
    alone = sum(DOMAIN.cells((name,)) for name in "efg")
    assert tree.cells == 6 + 12 + 8 + alone
    assert bridged_cells(tree, ("a", "c")) == 6 + 24 + 8 + alone
    assert bridged_cells(tree, ("a", "d")) == min(6 + 24 + 16, 12 + 24 + 8) + alone
    assert bridged_cells(tree, ("a", "e")) == tree.cells + 10
