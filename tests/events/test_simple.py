"""Simple events hold their numbers as rationals, and refuse those outside their range."""

from fractions import Fraction

import pytest

from discreet import events
from discreet.errors import ParameterError
from discreet.events import simple


def test_a_sampled_sum_is_written_and_read_back():
    event = events.RepeatedEvent(events.SampledGaussianEvent(0.01, 4, 1), 10)
    assert events.from_canonical(events.canonical(event)) == event
    assert events.to_json(event.event) == {
        "kind": "SampledGaussianEvent",
        "rate": "1/100",
        "variance": "4/1",
        "squared_sensitivity": "1/1",
    }


def test_fields_are_read_as_rationals():
    event = events.SampledGaussianEvent(0.01, 4, 0.5)
    assert (event.rate, event.variance, event.squared_sensitivity) == (Fraction(1, 100), 4, Fraction(1, 2))


@pytest.mark.parametrize("value", [-1, 1.01])
def test_probabilities_lie_between_zero_and_one(value):
    with pytest.raises(ParameterError):
        simple.at_most_one(value, "delta")
    assert simple.at_most_one(1, "delta") == 1


def test_numbers_below_zero_are_refused_where_zero_is_the_least():
    assert simple.not_negative(0, "epsilon") == 0
    with pytest.raises(ParameterError, match="at least zero"):
        simple.not_negative(-1, "epsilon")


def test_a_rate_above_one_is_refused_with_the_reason():
    with pytest.raises(ParameterError, match="the probability that a unit is in the sample"):
        events.SampledGaussianEvent(2, 1, 1)
