"""Poisson samples: exact chances, one draw for each person."""

from fractions import Fraction

import draws as record
from discreet.mechanisms.poisson import poisson_sample


def test_one_number_is_drawn_for_each_person_below_the_denominator(draws):
    assert poisson_sample(5, Fraction(2, 7)).tolist() == [0, 1, 2, 3, 4]
    assert draws.calls == [record.Uniform(7, 5)]


def test_everybody_is_in_a_sample_of_rate_one_and_nobody_in_an_empty_one():
    assert poisson_sample(4, Fraction(1)).tolist() == [0, 1, 2, 3]
    assert poisson_sample(0, Fraction(1, 2)).tolist() == []


def test_the_size_of_a_sample_is_near_its_mean():
    """10,000 people at 1/4: within 6 standard deviations (43.3 each), false alarm below 1e-8."""
    assert abs(len(poisson_sample(10_000, Fraction(1, 4))) - 2_500) < 260
