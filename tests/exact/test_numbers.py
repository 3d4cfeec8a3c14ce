"""Numbers are read as people write them, and shown with few digits."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.exact import numbers


@settings(deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_is_read_as_it_prints(value):
    read = numbers.rational(value, "x")
    assert read == Fraction(repr(value))
    assert float(read) == value


def test_a_tenth_is_a_tenth():
    assert numbers.rational(0.1, "epsilon") == Fraction(1, 10)
    assert numbers.rational(np.float64(0.1), "epsilon") == Fraction(1, 10)
    assert numbers.rational(np.int64(3), "epsilon") == 3
    assert numbers.rational(Decimal("0.25"), "epsilon") == Fraction(1, 4)


@pytest.mark.parametrize(
    "value",
    [
        math.nan,
        math.inf,
        -math.inf,
        True,
        np.True_,
        "0.1",
        None,
        1j,
        Decimal("NaN"),
        Decimal("1e999"),
        Decimal("1e-999"),
        10**401,
        Fraction(1, 10**401),
        pytest.param(10**5000, id="five thousand digits"),
        b"1",
    ],
)
def test_what_is_not_an_ordinary_number_is_refused(value):
    with pytest.raises(ParameterError):
        numbers.positive(value, "epsilon")


@pytest.mark.parametrize("value", [0, -0.0, -1, Fraction(-1, 10**300), 0.0])
def test_what_is_not_above_zero_is_refused(value):
    with pytest.raises(ParameterError, match="above zero"):
        numbers.positive(value, "epsilon")


@pytest.mark.parametrize("value", [1, 1.5, -1e-300, math.nan])
def test_a_probability_is_below_one(value):
    with pytest.raises(ParameterError):
        numbers.probability(value, "delta")


@pytest.mark.parametrize("value", [1.0, "3", True, 0, None, 2.5, pytest.param(-(10**5000), id="long")])
def test_a_whole_number_is_not_a_float_that_looks_whole(value):
    with pytest.raises(ParameterError, match="whole number"):
        numbers.whole(value, "count")


def test_the_smallest_floats_survive_reading():
    assert numbers.positive(1e-320, "epsilon") > 0
    assert numbers.positive(5e-324, "epsilon") > 0


@settings(deadline=None, max_examples=50)
@given(st.fractions(min_value=Fraction(1, 10**6), max_value=10**6))
def test_numbers_are_shown_with_few_digits(value):
    assert float(numbers.shown(value)) == pytest.approx(float(value), rel=1e-5)
    assert len(numbers.shown(value)) <= 12
