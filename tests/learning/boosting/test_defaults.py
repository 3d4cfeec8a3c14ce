"""Defaults follow from public facts, and grow with what the data can carry."""

from fractions import Fraction

from discreet.learning.boosting.defaults import MOST_ROUNDS, default_learning_rate, default_rounds


def rounds(size=30_000, terms=14, rho=Fraction(3, 100), *, replace_one=False):
    return default_rounds(size, terms, rho, replace_one=replace_one)


def test_more_people_and_more_budget_have_more_rounds():
    assert rounds(size=100) < rounds(size=10_000) < rounds(size=100_000) <= MOST_ROUNDS
    assert rounds(rho=Fraction(1, 10_000)) < rounds(rho=Fraction(1, 10))
    assert rounds(size=1, rho=Fraction(1, 10**9)) == 1


def test_replacing_a_person_counts_as_a_quarter_of_the_budget():
    assert rounds(replace_one=True) == rounds(rho=Fraction(3, 400))


def test_the_learning_rate_is_at_most_a_half():
    assert default_learning_rate(1) == 0.5
    assert default_learning_rate(16) == 0.25
