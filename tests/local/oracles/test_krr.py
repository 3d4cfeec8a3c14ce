"""k-ary randomized response."""

import itertools
from fractions import Fraction

import pytest

from discreet.errors import ParameterError
from discreet.local.oracles import KaryResponse
from grids import over
from local_laws import assert_draws_fit, assert_exact_loss, assert_payloads, assert_rates_and_unbiased, assert_variance


@pytest.mark.guarantee("local.oracles.krr")
@over(("size", "epsilon"), itertools.product((2, 3, 16, 60), (Fraction(1, 2), Fraction(1), Fraction(3))))
def test_the_largest_likelihood_ratio_is_the_stated_one_and_at_most_e_to_the_epsilon(size, epsilon):
    assert_exact_loss(KaryResponse.calibrate(size, epsilon), epsilon)


def test_two_coins_lose_exactly_the_logarithm_of_three():
    oracle = KaryResponse.two_coin()
    assert oracle.pmf(0) == {0: Fraction(3, 4), 1: Fraction(1, 4)}
    assert_exact_loss(oracle)
    assert float(oracle.epsilon) == pytest.approx(1.0986, abs=1e-4)


@over(("size", "ratio"), itertools.product((2, 3, 6), (Fraction(3), Fraction(5, 2))))
def test_draws_have_the_probabilities_in_code(size, ratio):
    assert_draws_fit(KaryResponse(size, ratio))


@over("size", (2, 3, 16, 30))
def test_estimates_are_unbiased_with_the_stated_variance(size):
    oracle = KaryResponse.calibrate(size, 1)
    assert_rates_and_unbiased(oracle)
    assert_variance(oracle)
    assert_payloads(oracle)


def test_the_variance_is_the_published_one():
    assert KaryResponse.calibrate(1024, 1).variance() == pytest.approx(347, abs=0.5)


def test_one_false_report_is_worth_596_clients_over_1024_values():
    assert KaryResponse.calibrate(1024, 1).influence() == pytest.approx(596, abs=0.5)


@over("size", (2, 3, 5))
def test_two_stages_are_the_composed_oracle(size):
    first, second = KaryResponse(size, Fraction(7, 2)), KaryResponse(size, Fraction(3))
    both = first.compose({"ratio": [3, 1]})
    for slot in range(size):
        law = {y: sum(first.pmf(slot)[z] * second.pmf(z)[y] for z in range(size)) for y in range(size)}
        assert law == both.pmf(slot)
    assert both.ratio < first.ratio


def test_a_ratio_of_one_or_a_single_slot_is_refused():
    for size, ratio in ((1, Fraction(3)), (2, Fraction(1)), (2, Fraction(1, 3)), (True, Fraction(3))):
        with pytest.raises(ParameterError):
            KaryResponse(size, ratio)
