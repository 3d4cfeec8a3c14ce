"""Subset selection."""

import itertools
from fractions import Fraction

import pytest

from discreet.errors import ParameterError
from discreet.local.oracles import KaryResponse, SubsetSelection
from grids import over
from local_laws import assert_draws_fit, assert_exact_loss, assert_payloads, assert_rates_and_unbiased, assert_variance


@pytest.mark.guarantee("local.oracles.subset")
@over(("size", "epsilon"), itertools.product((2, 3, 9), (Fraction(1, 2), Fraction(1), Fraction(3))))
def test_the_largest_likelihood_ratio_is_the_stated_one_and_at_most_e_to_the_epsilon(size, epsilon):
    for subset in {1, size // 2, size - 1, SubsetSelection.calibrate(size, epsilon).subset}:
        oracle = SubsetSelection(size, subset, SubsetSelection.calibrate(size, epsilon).ratio)
        assert_exact_loss(oracle, epsilon)


@over(("size", "subset"), ((2, 1), (3, 2), (5, 2), (5, 3), (6, 5)))
def test_draws_have_the_probabilities_in_code(size, subset):
    assert_draws_fit(SubsetSelection(size, subset, Fraction(5, 2)))


@over(("size", "subset"), ((2, 1), (5, 2), (9, 3), (20, 1), (20, 2)))
def test_estimates_are_unbiased_with_the_stated_variance(size, subset):
    oracle = SubsetSelection(size, subset, Fraction(3))
    assert_rates_and_unbiased(oracle)
    assert_variance(oracle)
    assert_payloads(oracle)


def test_the_variance_is_the_published_one():
    assert SubsetSelection.calibrate(1024, 1).variance() == pytest.approx(3.67, abs=0.005)


def test_a_subset_of_one_is_k_ary_response():
    oracle, response = SubsetSelection(6, 1, Fraction(4)), KaryResponse(6, Fraction(4))
    assert [mass for _, mass in sorted(oracle.pmf(2).items())] == list(response.pmf(2).values())


@over(("size", "epsilon"), itertools.product((2, 5, 16, 100, 1024), (0.3, 1, 2, 5)))
def test_calibration_has_the_least_variance_of_all_subsets(size, epsilon):
    best = SubsetSelection.calibrate(size, epsilon)
    every = range(1, size, max(1, size // 300))
    assert all(best.variance() <= SubsetSelection(size, subset, best.ratio).variance() + 1e-12 for subset in every)


def test_reports_are_bitmaps_where_these_are_no_longer_than_lists():
    assert SubsetSelection(1024, 63, Fraction(3)).payload_bytes == 126
    assert SubsetSelection(1024, 64, Fraction(3)).is_bitmap
    assert SubsetSelection(16, 1, Fraction(3)).payload_bytes == 1


def test_payloads_that_no_client_sends_are_refused():
    listed = SubsetSelection(1000, 2, Fraction(3))
    for payload in (
        b"",
        bytes(4),
        b"\x00\x02\x00\x01",
        b"\x00\x01\x03\xe8",
        b"\x00\x01\x00\x02\x00\x03",
        b"\x00\x01\x00",
    ):
        with pytest.raises(ParameterError):
            listed.outcome(payload)
    with pytest.raises(ParameterError):
        SubsetSelection(16, 4, Fraction(3)).outcome(b"\xff\xff")
