"""Distances of marginals agree with sums by hand, and a sample is as good as a sample of its size."""

import numpy as np
import pytest

from discreet.synthesis.core.domain import Domain
from discreet.synthesis.quality.distances import (
    FRACTIONS,
    MarginalSource,
    SlotRows,
    all_marginals,
    k_marginal_score,
    marginal_distances,
    mean_distance,
    random_marginals,
    sample_equivalent,
    total_variation,
)

DOMAIN = Domain({"age": 3, "sex": 2, "city": 4})
GENERATOR = np.random.default_rng(5)
ROWS = SlotRows(DOMAIN, GENERATOR.integers([3, 2, 4], size=(500, 3)))


def test_counts_of_cells_are_those_of_a_loop():
    expected = np.zeros((3, 4))
    for age, _, city in ROWS.codes:
        expected[age, city] += 1
    assert (ROWS.marginal(("age", "city")) == expected).all()
    assert (ROWS.marginal(("city", "age")) == expected).all()


def test_total_variation_is_half_the_l1_distance_of_shares():
    assert total_variation(np.array([1.0, 1.0]), np.array([10.0, 30.0])) == pytest.approx(0.25)
    assert total_variation(np.array([1.0, 0.0]), np.array([0.0, 7.0])) == 1
    assert total_variation(np.array([3.0, 6.0]), np.array([1.0, 2.0])) == 0
    assert total_variation(np.zeros(2), np.ones(2)) == 1
    assert total_variation(np.zeros(2), np.zeros(2)) == 0


def test_means_go_over_all_columns_all_pairs_and_the_triples():
    other = SlotRows(DOMAIN, np.zeros((9, 3), dtype=np.int64))
    found = marginal_distances(ROWS, other, np.random.default_rng(1))
    singles = [1 - ROWS.marginal((name,))[0] / 500 for name in DOMAIN.names]
    pairs = [1 - ROWS.marginal(pair)[0, 0] / 500 for pair in (("age", "sex"), ("age", "city"), ("sex", "city"))]
    assert found.one_way == pytest.approx(np.mean(singles))
    assert found.two_way == pytest.approx(np.mean(pairs))
    assert found.triples == (("age", "sex", "city"),)
    assert found.three_way == pytest.approx(1 - ROWS.marginal(DOMAIN.names)[0, 0, 0] / 500)


def test_a_table_has_no_distance_from_itself_and_one_column_has_no_pairs():
    found = marginal_distances(ROWS, ROWS, np.random.default_rng(1))
    assert (found.one_way, found.two_way, found.three_way) == (0, 0, 0)
    alone = SlotRows(Domain({"age": 3}), ROWS.codes[:, :1])
    found = marginal_distances(alone, alone, np.random.default_rng(1))
    assert (found.one_way, found.two_way, found.three_way, found.triples) == (0, None, None, ())


def test_random_marginals_are_distinct_and_have_distinct_columns():
    wide = Domain({f"c{place}": 2 for place in range(12)})
    found = random_marginals(wide, 3, 100, np.random.default_rng(2))
    assert len(found) == len(set(found)) == 100
    assert all(len(set(each)) == 3 and each == wide.ordered(each) for each in found)
    assert random_marginals(wide, 3, 220, np.random.default_rng(2)) == all_marginals(wide, 3)


def test_marginals_with_too_many_cells_are_left_out():
    wide = Domain({"a": 3_000, "b": 3_000, "c": 2, "d": 2})
    assert all_marginals(wide, 2) == (("a", "c"), ("a", "d"), ("b", "c"), ("b", "d"), ("c", "d"))
    assert set(random_marginals(wide, 3, 3, np.random.default_rng(1))) == {("a", "c", "d"), ("b", "c", "d")}


def test_the_score_is_that_of_sdnist():
    assert (k_marginal_score(0.0), k_marginal_score(1.0)) == (1000, 0)
    shares = ROWS.marginal(("age",)) / 500
    l1 = np.abs(shares - np.array([1.0, 0, 0])).sum()
    first = SlotRows(DOMAIN, np.zeros((1, 3), dtype=np.int64))
    assert k_marginal_score(mean_distance(ROWS, first, [("age",)])) == pytest.approx((2 - l1) * 500)


@pytest.mark.parametrize("fraction", [0.03, 0.25, 0.7])
def test_a_sample_is_as_good_as_a_sample_of_its_size(fraction):
    generator = np.random.default_rng(7)
    domain = Domain({f"c{place}": 6 for place in range(6)})
    rows = SlotRows(domain, generator.binomial(5, 0.3, size=(20_000, 6)))
    sample = SlotRows(domain, generator.permutation(rows.codes)[: int(fraction * 20_000)])
    marginals = all_marginals(domain, 3)
    found = sample_equivalent(rows, mean_distance(sample, rows, marginals), marginals, generator)
    assert found == pytest.approx(fraction, rel=0.25)


def test_no_distance_is_as_good_as_all_rows_and_a_large_one_as_the_smallest_sample():
    marginals = all_marginals(DOMAIN, 2)
    assert sample_equivalent(ROWS, 0.0, marginals, np.random.default_rng(1)) == 1
    assert sample_equivalent(ROWS, 1.0, marginals, np.random.default_rng(1)) == FRACTIONS[0]
    near = sample_equivalent(ROWS, 1e-6, marginals, np.random.default_rng(1))
    assert 0.99 < near < 1


def test_rows_are_a_source_of_marginals():
    source: MarginalSource = ROWS
    assert source.domain is DOMAIN
