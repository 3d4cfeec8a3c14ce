"""Adaptive rounds measure what the model misses, within the cells and the cost that were set before."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from discreet.synthesis.core.domain import Domain
from discreet.synthesis.core.measurement import Measurement
from discreet.synthesis.core.private_counts import Contribution, ExactCounts, PrivateCounts
from discreet.synthesis.graphical.selection import RoundsPlan, adaptive_rounds, measure_columns, merge_small

DOMAIN = Domain(dict(zip("abcde", (3, 3, 4, 2, 6), strict=True)))
PAIRS = list(combinations(DOMAIN.names, 2))


def rows_of(number=20_000):
    """Rows where b follows a, c follows a and b, e has rare slots, and d depends on nothing."""
    generator = np.random.default_rng(5)
    a = generator.integers(3, size=number)
    b = np.where(generator.random(number) < 0.7, a, generator.integers(3, size=number))
    c = np.where(generator.random(number) < 0.6, a + (b == a), generator.integers(4, size=number))
    d = generator.integers(2, size=number)
    e = np.where(generator.random(number) < 0.999, d * 2, generator.integers(6, size=number))
    return np.stack([a, b, c, d, e], axis=1)


def table_of(rows, columns):
    table = np.zeros(DOMAIN.shape(columns), dtype=np.int64)
    np.add.at(table, tuple(rows[:, DOMAIN.names.index(name)] for name in columns), 1)
    return table


def counts(kind=ExactCounts, rho=Fraction(1, 2), rows=None, contribution=None):
    found = rows_of() if rows is None else rows
    tables = {columns: table_of(found, columns) for columns in [*((name,) for name in DOMAIN.names), *PAIRS]}
    return kind(DOMAIN, tables, contribution or Contribution(1, replace_one=False), rho)


def plan(rounds=8, max_cells=1000, weights=None):
    return RoundsPlan(rounds, max_cells, weights or dict.fromkeys(PAIRS, 1))


def error(model, columns, rows):
    return np.abs(model.marginal(columns) - table_of(rows, columns)).sum() / len(rows) / 2


def test_pairs_that_depend_on_each_other_are_measured_and_all_pairs_fit():
    result = adaptive_rounds(counts(), plan())
    chosen = {each.columns for each in result.rounds}
    assert {("a", "b"), ("a", "c"), ("d", "e")} <= chosen
    assert max(error(result.model, pair, rows_of()) for pair in PAIRS) < 0.01


@pytest.mark.parametrize("kind", [ExactCounts, PrivateCounts])
@pytest.mark.parametrize("rounds", [1, 2, 9])
def test_the_whole_cost_is_spent_in_no_more_rounds_than_planned(kind, rounds):
    private = counts(kind, Fraction(1, 100))
    result = adaptive_rounds(private, plan(rounds))
    assert 1 <= len(result.rounds) <= rounds
    assert 0 <= private.left < Fraction(1, 100_000)


def test_the_junction_tree_keeps_within_the_cells():
    cells = 45
    result = adaptive_rounds(counts(), plan(12, cells))
    assert result.rounds
    assert result.model.beliefs.tree.cells <= cells


def test_tables_of_many_columns_are_held_within_the_cells_by_bridges(monkeypatch):
    monkeypatch.setattr("discreet.synthesis.graphical.selection.MOST_COLUMNS_EXACT", 3)
    result = adaptive_rounds(counts(), plan(12, 45))
    assert result.rounds
    assert result.model.beliefs.tree.cells <= 45


def test_where_nothing_fits_the_cells_all_is_spent_on_columns():
    private = counts()
    result = adaptive_rounds(private, plan(3, 2))
    assert [each.columns for each in result.rounds] == [(name,) for name in DOMAIN.names]
    assert private.left < Fraction(1, 100_000)
    assert error(result.model, ("a",), rows_of()) < 1e-3


def test_weights_decide_what_is_measured_first():
    weights = {pair: 50 if pair == ("b", "c") else 1 for pair in PAIRS}
    assert adaptive_rounds(counts(), plan(4, weights=weights)).rounds[0].columns == ("b", "c")


def test_without_candidates_columns_get_the_whole_cost():
    private = counts()
    result = adaptive_rounds(private, RoundsPlan(3, 1000, {}))
    assert result.rounds == []
    assert private.left < Fraction(1, 1_000_000)


def test_larger_columns_get_more_of_the_cost():
    sigmas = {each.columns[0]: each.sigma for each in measure_columns(counts(), Fraction(1, 10))}
    assert sigmas["e"] < sigmas["c"] < sigmas["a"] < sigmas["d"]


def test_slots_with_small_noisy_counts_are_one_group_with_their_shares():
    found = merge_small(Measurement(("a",), np.array([500, 3, 400, -2, 9]), 5.0), 912.0)
    assert found.groups == (0, 2, 1, 2, 2)
    assert found.shares[0] == found.shares[2] == 1
    assert sum(found.shares[place] for place in (1, 3, 4)) == pytest.approx(1)
    assert found.shares[4] > found.shares[1] > found.shares[3] == 0
    assert merge_small(Measurement(("a",), np.array([500, 3, 400]), 5.0), 900.0) is None


def test_a_table_without_rows_gives_a_model():
    result = adaptive_rounds(counts(PrivateCounts, rows=rows_of()[:0]), plan())
    assert np.isfinite(result.model.marginal(("a", "b"))).all()
    assert result.model.total >= 1
