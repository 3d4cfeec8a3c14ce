"""How far one unit moves weighted sums of bins: the rule against everything that a unit can be."""

import itertools

import numpy as np
import pytest

from discreet.catalog.privacy_unit import Neighbours
from discreet.workloads.matrix import Matrix

NORMS = ("l1", "l2_squared", "linf")


def every_unit(bins, rows):
    return [np.array(u) for u in itertools.product(range(rows + 1), repeat=bins) if sum(u) <= rows]


def moved_most(entries, rows, how):
    units = every_unit(entries.shape[1], rows)
    others = units if how is Neighbours.REPLACE_ONE else [np.zeros(entries.shape[1], dtype=int)]
    moved = [np.abs(entries @ (u - o)) for u in units for o in others]
    return {
        "l1": max(int(m.sum()) for m in moved),
        "l2_squared": max(int((m**2).sum()) for m in moved),
        "linf": max(int(m.max()) for m in moved),
    }


@pytest.mark.guarantee("workloads.matrix")
@pytest.mark.pitfall("A9")
@pytest.mark.parametrize("how", list(Neighbours))
@pytest.mark.parametrize("rows", [1, 2, 3])
def test_a_unit_moves_the_product_by_exactly_what_the_rule_says(rows, how):
    random = np.random.default_rng(rows)
    for shape in ((1, 1), (1, 3), (3, 1), (2, 3), (4, 3)):
        for low in (0, -5):
            entries = random.integers(low, 6, shape)
            rule = Matrix(entries).sensitivity(rows, how)
            assert {norm: getattr(rule, norm) for norm in NORMS} == moved_most(entries, rows, how), entries
            assert rule.l0 == shape[0]


def test_products_are_exact_whatever_their_size():
    assert Matrix(np.array([[3, -1], [2**20, 0]])).product([2**80, 5]) == [3 * 2**80 - 5, 2**100]


def test_equal_matrices_have_one_name():
    one, same, other = (Matrix(np.array(rows)) for rows in ([[1, 2]], [[1, 2]], [[1], [2]]))
    assert one == same
    assert hash(one) == hash(same)
    assert one != other
    assert one != "1x2"


def test_entries_that_could_overflow_are_refused():
    with pytest.raises(ValueError, match="entries"):
        Matrix(np.array([[2**20 + 1]]))


@pytest.mark.parametrize(
    "rows", [[[2, 0], [0, 3]], [[1, 0], [0, 1], [1, 1]], [[1, 1], [2, 2]], [[1, 1, 0]], [[0, 0], [1, 1]]]
)
def test_the_inverse_is_that_of_least_squares_also_where_bins_cannot_be_told_apart(rows):
    entries = np.array(rows)
    assert np.allclose(Matrix(entries).inverse, np.linalg.pinv(entries))
