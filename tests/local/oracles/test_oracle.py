"""The estimator that frequency oracles have in common."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import UnsupportedError
from discreet.local.oracles import (
    HadamardResponse,
    KaryResponse,
    LocalHashing,
    ProjectiveGeometryResponse,
    SubsetSelection,
    UnaryEncoding,
)
from grids import over

ORACLES = (
    KaryResponse(9, Fraction(3)),
    HadamardResponse(9, Fraction(3)),
    ProjectiveGeometryResponse(9, 3, 3, Fraction(3)),
)
HASHING = LocalHashing(9, 4, Fraction(3)).bind(b"abcdefgh", 10)


@over("oracle", ORACLES)
def test_counts_of_cohorts_add_up(oracle):
    counts = np.random.default_rng().integers(0, 100, (3, oracle.symbols))
    together = oracle.estimate(counts.sum(axis=0), int(counts.sum()))
    assert np.array_equal(oracle.estimate(counts, int(counts.sum())), together)


@over("oracle", ORACLES)
def test_one_report_adds_at_most_its_influence(oracle):
    none = oracle.estimate(np.zeros(oracle.symbols, dtype=np.int64), 0)
    assert not none.any()
    largest = max(oracle.estimate(row, 1).max() for row in np.eye(oracle.symbols, dtype=np.int64))
    assert largest == pytest.approx(oracle.influence())


def test_standard_errors_are_between_those_of_a_rare_and_of_a_common_value():
    oracle = KaryResponse(9, Fraction(3))
    errors = oracle.standard_error(np.array([-50.0, 0.0, 500.0, 2_000.0]), 1_000)
    rare, common = (1_000 * oracle.variance(0.0)) ** 0.5, (1_000 * oracle.variance(1.0)) ** 0.5
    assert errors[:2] == pytest.approx([rare, rare])
    assert errors[3] == pytest.approx(common)
    assert min(rare, common) < errors[2] < max(rare, common)


def test_the_standard_error_of_local_hashing_has_the_part_of_hash_functions():
    oracle = HASHING
    errors = oracle.standard_error(np.array([1e6, *[0.0] * 8]), 10**6)
    assert errors[1] == pytest.approx((1e6 * oracle.variance() + 1e12 * oracle.floor_variance(1.0)) ** 0.5, rel=0.001)


def test_weights_are_the_probabilities_as_floats():
    for oracle in ORACLES:
        assert oracle.weights(4) == pytest.approx([float(mass) for mass in oracle.pmf(4).values()])


def test_oracles_whose_points_link_reports_have_no_two_stages():
    for oracle in ORACLES[1:]:
        with pytest.raises(UnsupportedError, match="two stages"):
            oracle.compose({"ratio": [3, 1]})


@over("oracle", (*ORACLES, UnaryEncoding.optimal(9, 1), SubsetSelection(9, 3, Fraction(3)), HASHING))
def test_false_reports_all_support_their_target(oracle):
    for is_varied in (True, False):
        counts = oracle.false_counts(50, 4, np.random.default_rng(), is_varied=is_varied)
        assert oracle.support(counts)[4] == 50
        assert oracle.largest_support((4,)) == 1
