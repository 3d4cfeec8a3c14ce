"""Rows follow the junction tree, with the expected number in each cell rounded up or down where it is drawn."""

import numpy as np

from discreet.synthesis.core.domain import Domain
from discreet.synthesis.graphical.estimation import beliefs_of
from discreet.synthesis.graphical.row_sampling import _draw, draw_rows

DOMAIN = Domain(dict(zip("abcd", (3, 4, 2, 5), strict=True)))


def beliefs(number=0):
    generator = np.random.default_rng(number)
    pairs = [("a", "b"), ("b", "c"), ("c", "d")]
    return beliefs_of(DOMAIN, {pair: generator.normal(0, 1, DOMAIN.shape(pair)) for pair in pairs})


def counts_of(rows, columns):
    places = [DOMAIN.names.index(name) for name in columns]
    table = np.zeros(DOMAIN.shape(columns))
    np.add.at(table, tuple(rows[:, place] for place in places), 1)
    return table


def test_the_root_gets_its_expected_numbers_rounded_up_or_down():
    found = beliefs()
    rows = draw_rows(found, 1000, np.random.default_rng(1))
    root = found.tree.cliques[0]
    assert rows.shape == (1000, 4)
    assert np.abs(counts_of(rows, root) - 1000 * found.marginals[0]).max() < 1


def test_children_get_their_numbers_given_the_shared_columns_rounded_up_or_down():
    found = beliefs()
    rows = draw_rows(found, 5000, np.random.default_rng(1))
    for clique, shared, table in zip(
        found.tree.cliques[1:], found.tree.separators[1:], found.marginals[1:], strict=True
    ):
        axes = tuple(axis for axis, name in enumerate(clique) if name not in shared)
        drawn = counts_of(rows, clique)
        expected = table / table.sum(axes, keepdims=True) * drawn.sum(axes, keepdims=True)
        assert np.abs(drawn - expected).max() < 1


def test_columns_that_are_not_joined_are_nearly_independent():
    rows = draw_rows(beliefs_of(DOMAIN, {}), 60_000, np.random.default_rng(1))
    table = counts_of(rows, ("a", "d")) / 60_000
    assert np.abs(table - 1 / 15).max() < 0.006  # more than five standard deviations


def test_lines_without_mass_and_no_rows_are_fine():
    values = np.zeros((3, 4))
    values[0] = -np.inf
    found = beliefs_of(DOMAIN, {("a", "b"): values})
    assert 0 not in draw_rows(found, 500, np.random.default_rng(1))[:, 0]
    assert draw_rows(found, 0, np.random.default_rng(1)).shape == (0, 4)


def test_cells_that_a_rule_forbids_are_never_drawn_also_by_rounding():
    """Quantiles beside 1 in thousands of lines: rounding moves some of them beyond the last cell."""
    domain = Domain({"line": 3000, "cell": 4})
    allowed = np.zeros((3000, 4), dtype=bool)
    allowed[:, 1:3] = True
    found = beliefs_of(domain, {("line",): np.zeros(3000)}, {("line", "cell"): allowed})
    for number in (1, 3000, 200_000):
        drawn = draw_rows(found, number, np.random.default_rng(number))
        assert set(drawn[:, 1]) <= {1, 2}


def test_a_quantile_that_rounds_up_stays_in_a_cell_that_can_occur():
    class Last:
        def random(self, size):
            return np.full(size, np.nextafter(1, 0))

    table = np.array([[0.0, 1.0, 0.0, 0.0]] * 2)
    assert _draw(table, np.array([0, 1, 1]), Last()).tolist() == [1, 1, 1]
