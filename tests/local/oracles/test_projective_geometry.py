"""Projective-geometry response."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.local.oracles import ProjectiveGeometryResponse
from discreet.local.oracles.projective_geometry import is_prime, points_of, primes_to
from grids import over
from local_laws import (
    assert_draws_fit,
    assert_exact_loss,
    assert_payloads,
    assert_rates_and_unbiased,
    assert_variance,
    canonical_points,
)

SPACES = ((2, 2), (2, 4), (3, 3), (5, 2), (5, 3), (7, 2))


@pytest.mark.guarantee("local.oracles.projective_geometry")
@over(("size", "epsilon"), itertools.product((2, 3, 16, 60), (Fraction(1, 2), Fraction(1), Fraction(3))))
def test_the_largest_likelihood_ratio_is_the_stated_one_and_at_most_e_to_the_epsilon(size, epsilon):
    assert_exact_loss(ProjectiveGeometryResponse.calibrate(size, epsilon), epsilon)


@over(("modulus", "dimension"), SPACES)
def test_draws_have_the_probabilities_in_code(modulus, dimension):
    size = min(8, points_of(modulus, dimension))
    assert_draws_fit(ProjectiveGeometryResponse(size, modulus, dimension, Fraction(5, 2)))


@over(("modulus", "dimension"), SPACES)
def test_estimates_are_unbiased_with_the_stated_variance(modulus, dimension):
    oracle = ProjectiveGeometryResponse(points_of(modulus, dimension), modulus, dimension, Fraction(3))
    assert_rates_and_unbiased(oracle)
    assert_variance(oracle)
    assert_payloads(oracle)


@over(("modulus", "dimension"), SPACES)
def test_points_are_numbered_by_fewest_tails_first(modulus, dimension):
    oracle = ProjectiveGeometryResponse(2, modulus, dimension, Fraction(3))
    expected = list(canonical_points(modulus, dimension))
    assert [tuple(row) for row in oracle.points.tolist()] == expected
    assert [oracle.coordinates(number) for number in range(oracle.symbols)] == expected


@over(("modulus", "dimension"), ((2, 7), (3, 5), (7, 4), (31, 3)))
def test_the_fourier_transform_counts_reports_on_each_hyperplane(modulus, dimension):
    oracle = ProjectiveGeometryResponse(2, modulus, dimension, Fraction(3))
    counts = np.random.default_rng().integers(0, 10**6, oracle.symbols)
    on = oracle.points @ oracle.points.T % modulus == 0
    assert np.array_equal(oracle.hyperplanes(counts), on @ counts)


def test_the_variance_is_the_published_one():
    oracle = ProjectiveGeometryResponse.calibrate(1024, 1)
    assert oracle.variance() == pytest.approx(3.76, abs=0.005)
    assert (oracle.modulus, oracle.dimension, oracle.symbols) == (3, 7, 1093)


def test_primes_are_found_by_the_sieve():
    assert primes_to(30) == [2, 3, 5, 7, 11, 13, 17, 19, 23, 29]
    assert [number for number in range(1000) if is_prime(number)] == primes_to(999)


def test_a_space_without_a_point_for_each_slot_is_refused():
    for modulus, dimension in ((3, 2), (4, 3), (2, 31)):
        with pytest.raises(ParameterError):
            ProjectiveGeometryResponse(16, modulus, dimension, Fraction(3))
