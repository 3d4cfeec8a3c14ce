"""Hadamard response."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.local.oracles import HadamardResponse, from_json
from discreet.local.oracles.hadamard import parity, walsh_hadamard
from grids import over
from local_laws import assert_draws_fit, assert_exact_loss, assert_payloads, assert_rates_and_unbiased, assert_variance


@pytest.mark.guarantee("local.oracles.hadamard")
@over(("size", "epsilon"), itertools.product((2, 3, 4, 16, 20), (Fraction(1, 2), Fraction(1), Fraction(3))))
def test_the_largest_likelihood_ratio_is_the_stated_one_and_at_most_e_to_the_epsilon(size, epsilon):
    assert_exact_loss(HadamardResponse.calibrate(size, epsilon), epsilon)


@over("size", (2, 3, 4, 9))
def test_draws_have_the_probabilities_in_code(size):
    assert_draws_fit(HadamardResponse(size, Fraction(5, 2)))


@over("size", (2, 3, 4, 9))
def test_estimates_are_unbiased_with_the_stated_variance(size):
    oracle = HadamardResponse.calibrate(size, 1)
    assert_rates_and_unbiased(oracle)
    assert_variance(oracle)
    assert_payloads(oracle)


def test_the_variance_is_the_published_one():
    assert HadamardResponse.calibrate(1024, 1).variance() == pytest.approx(4.68, abs=0.005)


def test_the_fast_transform_is_the_product_with_the_matrix():
    rows = np.arange(64)
    signs = 1 - 2 * parity(rows[:, None] & rows[None, :])
    column = np.arange(64.0) ** 2 - 500
    assert np.array_equal(walsh_hadamard(column), signs @ column)


def test_the_order_is_the_least_power_of_two_above_the_size():
    assert [HadamardResponse(size, Fraction(3)).order for size in (2, 3, 4, 1023, 1024)] == [4, 4, 8, 1024, 2048]
    with pytest.raises(ParameterError, match="order"):
        from_json({"kind": "hadamard", "size": 4, "order": 4, "ratio": [3, 1]})
