"""Unary encoding."""

import itertools
from fractions import Fraction

import pytest

from discreet.errors import ParameterError
from discreet.local.oracles import UnaryEncoding
from grids import over
from local_laws import assert_draws_fit, assert_exact_loss, assert_payloads, assert_rates_and_unbiased, assert_variance

FORMS = (UnaryEncoding.optimal, UnaryEncoding.symmetric)
EPSILONS = (Fraction(1, 2), Fraction(1), Fraction(3))


@pytest.mark.guarantee("local.oracles.unary")
@over(("form", "size", "epsilon"), itertools.product(FORMS, (2, 3, 8), EPSILONS))
def test_the_largest_likelihood_ratio_is_the_stated_one_and_at_most_e_to_the_epsilon(form, size, epsilon):
    assert_exact_loss(form(size, epsilon), epsilon)


def test_p_three_quarters_and_q_one_quarter_lose_the_logarithm_of_nine():
    oracle = UnaryEncoding(4, Fraction(3, 4), Fraction(1, 4))
    assert_exact_loss(oracle)
    assert oracle.ratio == 9
    assert float(oracle.epsilon) == pytest.approx(2.197, abs=1e-3)


@over("size", (2, 3, 4))
def test_draws_have_the_probabilities_in_code(size):
    assert_draws_fit(UnaryEncoding(size, Fraction(3, 4), Fraction(1, 4)))
    assert_draws_fit(UnaryEncoding(size, Fraction(1, 2), Fraction(1, 5)))


@over(("form", "size"), itertools.product(FORMS, (2, 3, 9)))
def test_estimates_are_unbiased_with_the_stated_variance(form, size):
    oracle = form(size, 1)
    assert_rates_and_unbiased(oracle)
    assert_variance(oracle)
    assert_payloads(oracle)


def test_variances_are_the_published_ones():
    assert UnaryEncoding.optimal(1024, 1).variance() == pytest.approx(3.68, abs=0.005)
    assert UnaryEncoding.symmetric(1024, 1).variance() == pytest.approx(3.92, abs=0.005)


def test_two_stages_are_the_composed_oracle():
    first = UnaryEncoding(3, Fraction(3, 4), Fraction(1, 4))
    second = {"one": [2, 3], "zero": [1, 5]}
    both = first.compose(second)
    rate = {0: Fraction(1, 5), 1: Fraction(2, 3)}
    for slot in range(3):
        law = dict.fromkeys(both.pmf(slot), Fraction(0))
        for memo, mass in first.pmf(slot).items():
            for outcome in law:
                chance = mass
                for bit in range(3):
                    one = rate[bit in memo]
                    chance *= one if bit in outcome else 1 - one
                law[outcome] += chance
        assert law == both.pmf(slot)
    assert UnaryEncoding.second_ratio(second) == Fraction(2, 3) * Fraction(4, 5) / (Fraction(1, 3) * Fraction(1, 5))


def test_payloads_that_no_client_sends_are_refused():
    oracle = UnaryEncoding.optimal(9, 1)
    for payload in (b"", b"\x00", b"\x00\x40", bytes(3)):
        with pytest.raises(ParameterError):
            oracle.outcome(payload)
    assert oracle.outcome(b"\x80\x80") == (0, 8)


def test_probabilities_in_the_wrong_order_and_long_lists_are_refused():
    with pytest.raises(ParameterError):
        UnaryEncoding(4, Fraction(1, 4), Fraction(3, 4))
    with pytest.raises(ParameterError, match="list of"):
        UnaryEncoding.optimal(1024, 1).pmf(0)
