"""Noise and a threshold: the least that a tail allows, and which keys pass."""

from fractions import Fraction

import pytest

from discreet.mechanisms import Laplace
from discreet.mechanisms.keys.thresholding import above, least_threshold, passing


@pytest.mark.parametrize("allowed", [Fraction(1), Fraction(1, 2), Fraction(1, 1000), Fraction(1, 10**40)])
def test_the_least_threshold_is_found_wherever_it_is(allowed):
    def tail(beyond):
        return Fraction(1, 2 ** (beyond + 1))

    found = least_threshold(tail, allowed)
    assert tail(found) <= allowed
    assert found == 0 or tail(found - 1) > allowed


def test_only_numbers_above_the_threshold_pass_and_only_of_keys_of_enough_units():
    noise = Laplace(sensitivity=1, epsilon=40)
    assert [(one.place, one.units) for one in above([9, 10, 11, 3, 12], noise, 1, 10)] == [(2, 11), (4, 12)]
    assert [one.place for one in above([9, 10, 11, 12], noise, 2, 10)] == [3]
    assert above([], noise, 1, 10) == []


def test_passing_is_the_tail_on_either_side_of_the_threshold():
    noise = Laplace(sensitivity=1, epsilon=1)
    for considered in range(1, 8):
        masses = sum(noise.pmf(y) for y in range(5 - considered, 200))
        assert passing(noise, considered, 4) == pytest.approx(masses, rel=1e-9)
    assert passing(noise, 0, -5) == 0
