"""Rounding names its direction, and numbers are read as people write them."""

import decimal
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import exact
from discreet.errors import ParameterError

PRECISE = decimal.Context(prec=120, Emin=-999_999, Emax=999_999)
SLACK = Fraction(1, 10**110)

moderate = st.fractions(min_value=-300, max_value=300, max_denominator=10**12)
above_zero = st.fractions(min_value=Fraction(1, 10**12), max_value=10**12, max_denominator=10**12)


def precise(value: Fraction) -> Decimal:
    with decimal.localcontext(PRECISE):
        return Decimal(value.numerator) / Decimal(value.denominator)


def around(value: Decimal) -> tuple[Fraction, Fraction]:
    middle = Fraction(value)
    return middle - abs(middle) * SLACK, middle + abs(middle) * SLACK


@pytest.mark.guarantee("exact")
@settings(deadline=None)
@given(moderate)
def test_exp_is_bracketed_by_its_two_roundings(value):
    low, high = around(PRECISE.exp(precise(value)))
    assert exact.exp_down(value) <= low * (1 + SLACK * 1000)
    assert exact.exp_up(value) >= high * (1 - SLACK * 1000)
    assert exact.exp_up(value) - exact.exp_down(value) < high / 10**50


@settings(deadline=None)
@given(above_zero)
def test_log_is_bracketed_by_its_two_roundings(value):
    low, high = around(PRECISE.ln(precise(value)))
    room = Fraction(1, 10**100)
    assert exact.log_down(value) <= low + room
    assert exact.log_up(value) >= high - room
    assert exact.log_up(value) - exact.log_down(value) <= Fraction(1, 10**50)


@settings(deadline=None)
@given(above_zero)
def test_the_square_of_a_root_rounded_up_covers_its_square(value):
    assert exact.sqrt_up(value) ** 2 >= value
    assert exact.sqrt_up(value) ** 2 <= value * (1 + Fraction(1, 10**50))


@settings(deadline=None)
@given(above_zero)
def test_the_root_as_a_double_is_the_least_that_covers(value):
    root = exact.sqrt_double_up(value)
    assert Fraction(root) ** 2 >= value
    assert Fraction(math.nextafter(root, 0.0)) ** 2 < value


@settings(deadline=None)
@given(st.fractions())
def test_doubles_are_the_nearest_on_their_side(value):
    up, down = exact.double_up(value), exact.double_down(value)
    assert Fraction(down) <= value <= Fraction(up)
    assert Fraction(math.nextafter(up, -math.inf)) < value < Fraction(math.nextafter(down, math.inf))


@settings(deadline=None)
@given(st.fractions(min_value=0), st.integers(min_value=1, max_value=10**18))
def test_units_cover_upwards_and_fit_downwards(value, per_unit):
    assert Fraction(exact.units_up(value, per_unit), per_unit) >= value
    assert Fraction(exact.units_down(value, per_unit), per_unit) <= value
    assert exact.units_up(value, per_unit) - exact.units_down(value, per_unit) in (0, 1)


@settings(deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_is_read_as_it_prints(value):
    read = exact.rational(value, "x")
    assert read == Fraction(repr(value))
    assert float(read) == value


def test_a_tenth_is_a_tenth():
    assert exact.rational(0.1, "epsilon") == Fraction(1, 10)
    assert exact.rational(np.float64(0.1), "epsilon") == Fraction(1, 10)
    assert exact.rational(np.int64(3), "epsilon") == 3
    assert exact.rational(Decimal("0.25"), "epsilon") == Fraction(1, 4)


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
        exact.positive(value, "epsilon")


@pytest.mark.parametrize("value", [0, -0.0, -1, Fraction(-1, 10**300), 0.0])
def test_what_is_not_above_zero_is_refused(value):
    with pytest.raises(ParameterError, match="above zero"):
        exact.positive(value, "epsilon")


@pytest.mark.parametrize("value", [1, 1.5, -1e-300, math.nan])
def test_a_probability_is_below_one(value):
    with pytest.raises(ParameterError):
        exact.probability(value, "delta")


@pytest.mark.parametrize("value", [1.0, "3", True, 0, None, 2.5, pytest.param(-(10**5000), id="long")])
def test_a_whole_number_is_not_a_float_that_looks_whole(value):
    with pytest.raises(ParameterError, match="whole number"):
        exact.whole(value, "count")


def test_the_smallest_floats_survive_reading():
    assert exact.positive(1e-320, "epsilon") > 0
    assert exact.positive(5e-324, "epsilon") > 0


def test_an_exponential_rounded_up_never_vanishes():
    assert exact.exp_up(Fraction(-(10**9))) > 0
    assert exact.exp_down(Fraction(-(10**9))) == 0


def test_an_exponential_beyond_all_use_is_refused():
    with pytest.raises(ParameterError):
        exact.exp_up(Fraction(10**9))


def test_a_number_beyond_the_doubles_is_refused_and_one_below_rounds_up():
    with pytest.raises(ParameterError, match="largest double"):
        exact.double_up(Fraction(10) ** 350)
    assert exact.double_up(Fraction(1, 10**350)) == 5e-324


@settings(deadline=None, max_examples=50)
@given(st.fractions(min_value=Fraction(1, 10**6), max_value=10**6))
def test_numbers_are_shown_with_few_digits(value):
    assert float(exact.shown(value)) == pytest.approx(float(value), rel=1e-5)
    assert len(exact.shown(value)) <= 12


@settings(deadline=None, max_examples=200)
@given(st.fractions(min_value=0).map(lambda value: value**7), st.integers(-50, 50))
def test_a_brief_number_is_at_least_the_true_one_and_above_it_in_the_twelfth_digit_at_most(value, power):
    number = value * Fraction(10) ** power
    brief = exact.brief_up(number)
    assert number <= brief <= number * (1 + Fraction(1, 10**11))
    assert exact.brief_up(brief) == brief
    assert len(str(brief.numerator).rstrip("0")) <= 12 or brief == number


def test_short_fractions_stay_exact_and_long_ones_round_up_at_powers_of_ten():
    for value in (Fraction(0), Fraction(1, 3), Fraction(7), Fraction(-1, 10**20)):
        assert exact.brief_up(value) is value
    assert exact.brief_up(1 - Fraction(1, 10**30)) == 1
    assert exact.brief_up(10 - Fraction(1, 10**30)) == 10
    assert exact.brief_up(Fraction(1, 10**20)) == Fraction(1, 10**20)
    assert exact.brief_up(Fraction(10**5000 + 1, 10**5000)) == 1 + Fraction(1, 10**11)


@pytest.mark.parametrize("value", [1, "1.0000049", "0.1234564999", "6.0000004e-9", "999999.4", "1e-12", "0.9999999", 0])
def test_a_number_that_a_guarantee_states_is_never_below_the_value_and_hardly_above(value):
    spent = Fraction(value)
    stated = Fraction(exact.shown_up(spent))
    assert spent <= stated <= spent * (1 + Fraction(1, 10**5))
    assert exact.shown_up(Fraction(1, 2)) == "0.5"
