"""A tree answers any marginal in closed form, and its rows have them."""

import json
from itertools import combinations, pairwise

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.synthesis.core.model import MarginalModel
from discreet.synthesis.tree.model import TreeColumn, TreeModel

RNG = np.random.default_rng(3)
SIZES = {"a": 3, "b": 4, "c": 2, "d": 3, "e": 2, "f": 5}
EDGES = [("a", "c"), ("b", "c"), ("c", "d"), ("d", "e")]
"""f is on its own."""


def tree():
    """A model whose joint distribution is known; f has merged slots."""
    names = list(SIZES)
    joint = np.ones(list(SIZES.values())[:-1])
    for edge in EDGES:
        shape = [SIZES[name] if name in edge else 1 for name in names[:-1]]
        joint = joint * RNG.random([SIZES[name] for name in edge]).reshape(shape)
    joint /= joint.sum()

    def marginal(columns):
        return joint.sum(axis=tuple(place for place, name in enumerate(names[:-1]) if name not in columns))

    columns = {name: TreeColumn(tuple(range(SIZES[name])), np.ones(SIZES[name]), marginal(name)) for name in names[:-1]}
    columns["f"] = TreeColumn((0, 2, 1, 2, 2), np.array([1, 0.5, 1, 0.3, 0.2]), np.array([0.2, 0.3, 0.5]))
    exact = joint[..., None] * np.array([0.2, 0.25, 0.3, 0.15, 0.1])
    return TreeModel(1_000.0, columns, {edge: marginal(edge) for edge in EDGES}), exact


MODEL, JOINT = tree()


@pytest.mark.parametrize("number", range(7))
def test_every_marginal_is_that_of_the_joint_distribution(number):
    for columns in combinations(SIZES, number):
        others = tuple(place for place, name in enumerate(SIZES) if name not in columns)
        assert MODEL.marginal(columns) == pytest.approx(1_000 * JOINT.sum(axis=others))


def test_the_axes_are_in_the_order_of_the_domain():
    assert MODEL.marginal(["f", "a"]).shape == (3, 5)
    assert isinstance(MODEL, MarginalModel)
    assert MODEL.domain.slots == SIZES


def test_rows_have_the_cells_of_every_edge_within_two():
    number = 5_000
    rows = MODEL.rows(number, np.random.default_rng(0))
    names = list(SIZES)
    assert rows.shape == (number, 6)
    for edge in [*EDGES, ("f",)]:
        counts = np.zeros([SIZES[name] for name in edge])
        np.add.at(counts, tuple(rows[:, names.index(name)] for name in edge), 1)
        assert np.abs(counts - number / 1_000 * MODEL.marginal(edge)).max() < 2


def test_rows_repeat_with_the_same_public_randomness():
    one, other, third = (MODEL.rows(100, np.random.default_rng(start)) for start in (1, 1, 2))
    assert (one == other).all()
    assert (one != third).any()


def test_a_model_is_plain_data():
    again = TreeModel.from_json(json.loads(json.dumps(MODEL.to_json())))
    assert again.marginal(("a", "e", "f")) == pytest.approx(MODEL.marginal(("a", "e", "f")))
    assert again.edges == tuple(EDGES)


def test_a_marginal_that_does_not_fit_the_memory_is_an_error():
    wide = TreeColumn(tuple(range(500)), np.ones(500), np.full(500, 1 / 500))
    model = TreeModel(1.0, dict.fromkeys("xyz", wide), {})
    with pytest.raises(ParameterError, match="125,000,000 cells"):
        model.marginal("xyz")
    assert model.marginal("xz").sum() == pytest.approx(1)


def test_long_chains_are_summed_without_the_joint_distribution():
    names = [f"c{place}" for place in range(60)]
    column = TreeColumn((0, 1), np.ones(2), np.array([0.5, 0.5]))
    table = np.array([[0.45, 0.05], [0.05, 0.45]])
    model = TreeModel(1.0, dict.fromkeys(names, column), dict.fromkeys(pairwise(names), table))
    near = 0.8**59
    expected = 0.25 * np.array([[1 + near, 1 - near], [1 - near, 1 + near]])
    assert model.marginal((names[0], names[-1])) == pytest.approx(expected)
