"""Directed rounding: every result is on the side that it names, and every interval holds the true number."""

import ast
import decimal
import inspect
import math
from decimal import Decimal
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.exact import rounding
from discreet.exact.rounding import DecimalInterval, Directed, Interval, IntervalArithmetic, point

NARROW = Fraction(1, 10**50)
PRECISION = 300

moderate = st.fractions(min_value=-300, max_value=300, max_denominator=10**12)
above_zero = st.fractions(min_value=Fraction(1, 10**12), max_value=10**12, max_denominator=10**12)
tiny = st.integers(1, 80).map(lambda power: Fraction(1, 10**power))
sides = pytest.mark.parametrize("up", [False, True], ids=["down", "up"])


def truth(function, value: Fraction) -> Fraction:
    """A function by mpmath at 300 digits, as a rational: right to one part in 10^290."""
    with mpmath.workdps(PRECISION):
        sign, mantissa, exponent, _ = function(mpmath.mpf(value.numerator) / value.denominator)._mpf_
        return Fraction(-mantissa if sign else mantissa) * Fraction(2) ** exponent


@pytest.mark.guarantee("exact.rounding")
@settings(deadline=None)
@given(moderate | tiny)
def test_exp_is_held_between_its_two_roundings(value):
    true, width = truth(mpmath.exp, value), Fraction(12 + math.ceil(abs(value)), 10**59)
    assert true * (1 - width) <= rounding.exp_down(value) < true < rounding.exp_up(value) <= true * (1 + width)


@pytest.mark.guarantee("exact.rounding")
@settings(deadline=None)
@given(above_zero | tiny.map(lambda part: 1 + part) | tiny.map(lambda part: 1 - part))
def test_log_is_held_between_its_two_roundings(value):
    true = truth(mpmath.log, value)
    width = (1 + 2 * abs(true)) / 10**58
    assert true - width <= rounding.log_down(value) <= true <= rounding.log_up(value) <= true + width


@pytest.mark.guarantee("exact.rounding")
@settings(deadline=None)
@given(above_zero)
def test_the_square_root_is_held_between_its_two_roundings(value):
    low, high = rounding.sqrt_down(value), rounding.sqrt_up(value)
    assert low**2 <= value <= high**2
    assert high <= low * (1 + Fraction(2, 10**57))


@pytest.mark.guarantee("exact.rounding")
@settings(deadline=None)
@given(above_zero)
def test_the_root_as_a_double_is_the_least_that_covers(value):
    root = rounding.sqrt_double_up(value)
    assert Fraction(root) ** 2 >= value
    assert Fraction(math.nextafter(root, 0.0)) ** 2 < value


@pytest.mark.guarantee("exact.rounding")
@settings(deadline=None)
@given(st.fractions())
def test_doubles_are_the_nearest_on_their_side(value):
    up, down = rounding.double_up(value), rounding.double_down(value)
    assert Fraction(down) <= value <= Fraction(up)
    assert Fraction(math.nextafter(up, -math.inf)) < value < Fraction(math.nextafter(down, math.inf))


@pytest.mark.guarantee("exact.rounding")
@settings(deadline=None)
@given(st.fractions(), st.integers(min_value=1, max_value=10**18))
def test_units_cover_upwards_and_fit_downwards(value, per_unit):
    assert rounding.units_up(value, per_unit) == math.ceil(value * per_unit)
    assert rounding.units_down(value, per_unit) == math.floor(value * per_unit)


@pytest.mark.guarantee("exact.rounding")
@settings(deadline=None)
@given(st.fractions(), st.integers(-400, 400), st.integers(1, 15))
def test_significant_digits_are_the_nearest_on_their_side(value, power, digits):
    number = value * Fraction(10) ** power
    down, up = rounding.digits_down(number, digits), rounding.digits_up(number, digits)
    assert down <= number <= up
    if number:
        step = rounding.last_digit(number, digits)
        assert 10 ** (digits - 1) <= abs(number) / step < 10**digits
        assert (down / step, up / step) == (math.floor(number / step), math.ceil(number / step))


def test_digits_just_below_a_power_of_ten_are_counted_from_it_and_zero_stays():
    assert rounding.digits_down(1 - Fraction(1, 10**30), 6) == Fraction(999_999, 10**6)
    assert rounding.digits_up(1 - Fraction(1, 10**30), 6) == 1
    assert rounding.digits_up(Fraction(0), 3) == rounding.digits_down(Fraction(0), 3) == 0


def test_an_exponential_rounded_up_never_vanishes():
    assert rounding.exp_up(Fraction(-(10**9))) > 0
    assert rounding.exp_down(Fraction(-(10**9))) == 0


def test_an_exponential_beyond_all_use_is_refused():
    with pytest.raises(ParameterError):
        rounding.exp_up(Fraction(10**9))
    assert rounding.exp_down(Fraction(10**9)) == rounding.exp_down(Fraction(10**4))


def test_a_number_beyond_the_doubles_is_refused_and_one_below_rounds_up():
    with pytest.raises(ParameterError, match="largest double"):
        rounding.double_up(Fraction(10) ** 350)
    assert rounding.double_up(Fraction(1, 10**350)) == 5e-324


@settings(deadline=None, max_examples=200)
@given(st.fractions(min_value=0).map(lambda value: value**7), st.integers(-50, 50))
def test_a_brief_number_is_at_least_the_true_one_and_above_it_in_the_twelfth_digit_at_most(value, power):
    number = value * Fraction(10) ** power
    brief = rounding.brief_up(number)
    assert number <= brief <= number * (1 + Fraction(1, 10**11))
    assert rounding.brief_up(brief) == brief
    assert len(str(brief.numerator).rstrip("0")) <= 12 or brief == number


def test_short_fractions_stay_exact_and_long_ones_round_up_at_powers_of_ten():
    for value in (Fraction(0), Fraction(1, 3), Fraction(7), Fraction(-1, 10**20)):
        assert rounding.brief_up(value) is value
    assert rounding.brief_up(1 - Fraction(1, 10**30)) == 1
    assert rounding.brief_up(10 - Fraction(1, 10**30)) == 10
    assert rounding.brief_up(Fraction(1, 10**20)) == Fraction(1, 10**20)
    assert rounding.brief_up(Fraction(10**5000 + 1, 10**5000)) == 1 + Fraction(1, 10**11)


@pytest.mark.parametrize("value", [1, "1.0000049", "0.1234564999", "6.0000004e-9", "999999.4", "1e-12", "0.9999999", 0])
def test_a_number_that_a_guarantee_states_is_never_below_the_value_and_hardly_above(value):
    spent = Fraction(value)
    stated = Fraction(rounding.shown_up(spent))
    assert spent <= stated <= spent * (1 + Fraction(1, 10**5))
    assert rounding.shown_up(Fraction(1, 2)) == "0.5"


@pytest.mark.guarantee("exact.rounding")
@sides
@settings(deadline=None, max_examples=50)
@given(value=moderate | tiny, digits=st.integers(1, 90))
def test_decimals_of_any_precision_are_on_their_side_by_two_units_at_most(up, value, digits):
    way, sign = Directed(digits, up=up), 1 if up else -1
    argument = way.of(value)
    assert 0 <= sign * (Fraction(argument) - value) < abs(value) * Fraction(10, 10**digits) or argument == value
    found, unit = way.exp(argument), Fraction(10, 10**digits)
    assert 0 < sign * (Fraction(found) / truth(mpmath.exp, Fraction(argument)) - 1) < 2 * unit
    if argument > 0:
        found = way.sqrt(argument)
        assert 0 < sign * (Fraction(found) / truth(mpmath.sqrt, Fraction(argument)) - 1) < 2 * unit


@pytest.mark.guarantee("exact.rounding")
@pytest.mark.parametrize("exponent", ["0", "1/3", "-1/7", "5", "-700", "1999", "-2000", "-2400", "-1000000"])
def test_exponentials_lie_strictly_on_both_sides_even_where_they_underflow(exponent):
    value = Fraction(exponent)
    precise = decimal.Context(prec=120, Emin=-999_999, Emax=999_999)
    true = precise.exp(precise.divide(Decimal(value.numerator), Decimal(value.denominator)))
    low, high = (way.exp(way.of(value)) for way in (Directed(60, up=side, reach=1000) for side in (False, True)))
    assert 0 <= low < true < high


@pytest.mark.guarantee("exact.rounding")
@pytest.mark.parametrize("bits", [1, 8, 31, 95, 300, 2_000])
def test_decay_units_of_any_precision_hold_the_exponential_and_are_narrow(bits):
    with mpmath.workdps(bits // 3 + 40):
        for exponent in (
            Fraction(1, 10**30),
            Fraction(1, 3),
            Fraction(17, 7),
            Fraction(bits) - Fraction(1, 9),
            Fraction(bits),
        ):
            low, high = rounding.decay_units(exponent, bits)
            true = mpmath.exp(-mpmath.mpf(exponent.numerator) / exponent.denominator) * mpmath.mpf(2) ** bits
            assert low < true < high
            assert high - low <= 2
    assert rounding.decay_units(Fraction(0), bits) == (2**bits, 2**bits)
    assert rounding.decay_units(Fraction(10**60), bits) == (0, 1)


@pytest.mark.guarantee("exact.rounding")
@settings(deadline=None)
@given(st.fractions(0, 200, max_denominator=10**9) | tiny, st.integers(1, 200))
def test_decay_units_hold_every_exponential(exponent, bits):
    low, high = rounding.decay_units(exponent, bits)
    assert low <= truth(mpmath.exp, -exponent) * 2**bits <= high
    assert high - low <= 2


@pytest.mark.guarantee("exact.rounding")
@settings(deadline=None)
@given(st.fractions(-50, 50, max_denominator=1000))
def test_an_exponential_and_its_logarithm_come_back(value):
    held = rounding.exp(value)
    assert held.low <= truth(mpmath.exp, value) <= held.high <= held.low * (1 + NARROW)
    back = rounding.log(held)
    assert back.low <= value <= back.high
    assert back.high - back.low <= NARROW * (1 + abs(value))


def test_what_is_known_exactly_stays_exact():
    assert rounding.exp(Fraction(0)) == point(1)
    assert rounding.log(point(1)) == point(0)


@pytest.mark.guarantee("exact.rounding")
@settings(deadline=None)
@given(st.lists(st.fractions(0, 5, max_denominator=97), max_size=20))
def test_a_sum_holds_the_true_one(values):
    held = rounding.total(map(point, values))
    assert held.low <= sum(values) <= held.high
    assert held.high - held.low <= Fraction(1, 10**100)


@pytest.mark.guarantee("exact.rounding")
@settings(deadline=None)
@given(st.fractions("1/9", 5, max_denominator=97), st.fractions("1/9", 5, max_denominator=97))
def test_powers_of_whole_orders_are_exact_and_others_hold_them(one, other):
    assert rounding.power_ratio(point(one), point(other), Fraction(3)) == point(one**3 / other**2)
    held = rounding.power_ratio(point(one), point(other), Fraction(3, 2))
    squared = one**3 / other
    assert held.low**2 <= squared <= held.high**2
    assert held.high <= held.low * (1 + NARROW)


@pytest.mark.parametrize("order", [Fraction(2), Fraction(5, 2)])
def test_powers_of_wide_intervals_hold_every_power_within(order):
    here, there = Interval(Fraction(1, 2), Fraction(2, 3)), Interval(Fraction(1, 5), Fraction(1, 4))
    held = rounding.power_ratio(here, there, order)
    for one in here:
        for other in there:
            assert held.low <= rounding.power_ratio(point(one), point(other), order).high
            assert held.high >= rounding.power_ratio(point(one), point(other), order).low


def test_quotients_and_widening_go_outward():
    quotient = Interval(Fraction(1), Fraction(2)).over(Interval(Fraction(2), Fraction(4)))
    assert quotient == Interval(Fraction(1, 4), Fraction(1))
    assert point(10).widened(Fraction(1, 10)) == Interval(Fraction(9), Fraction(11))


@pytest.mark.guarantee("exact.rounding")
@pytest.mark.parametrize("bits", [64, 128, 256, 512])
def test_arithmetic_rounds_outward_at_every_precision(bits):
    arithmetic = IntervalArithmetic(bits)
    with mpmath.workdps(700):
        for top in (1, 3, 10**9 + 7, 10**15 + 1):
            one = arithmetic.ratio(top, top, 10**15 + 3)
            x = mpmath.mpf(top) / (10**15 + 3)
            for interval, number in (
                (one, x),
                (one.negative(), -x),
                (arithmetic.root(one), mpmath.sqrt(x)),
                (arithmetic.exp(one), mpmath.exp(x)),
                (arithmetic.exp(one.negative()), mpmath.exp(-x)),
                (arithmetic.minus_log(one), -mpmath.log(x)),
                (arithmetic.less_one(arithmetic.exp(one)), mpmath.expm1(x)),
                (arithmetic.times(one, one), x * x),
                (arithmetic.over(one, arithmetic.exp(one)), x / mpmath.exp(x)),
                (arithmetic.plus(one, one), 2 * x),
            ):
                low, high = (mpmath.mpf(str(end)) for end in interval)
                assert low <= number <= high
                assert high - low <= mpmath.mpf(10) ** (4 - bits * 3 // 10) * (1 + abs(number))


@pytest.mark.guarantee("exact.rounding")
@settings(deadline=None)
@given(st.integers(1, 10**20), st.integers(1, 10**20), st.sampled_from([0, 1, 10**12]))
def test_arithmetic_on_wide_intervals_holds_the_results_for_both_ends(least, other, spread):
    arithmetic, whole = IntervalArithmetic(64), 10**21
    ends, others = (Fraction(least, whole), Fraction(least + spread, whole)), Fraction(other, whole)
    here, there = arithmetic.ratio(least, least + spread, whole), arithmetic.ratio(other, other, whole)
    for x in ends:
        for held, number in (
            (arithmetic.plus(here, there), x + others),
            (arithmetic.times(here, there), x * others),
            (arithmetic.over(here, there), x / others),
            (arithmetic.over(there, here), others / x),
            (arithmetic.root(here), truth(mpmath.sqrt, x)),
            (arithmetic.exp(here), truth(mpmath.exp, x)),
            (arithmetic.minus_log(here), -truth(mpmath.log, x)),
            (arithmetic.less_one(arithmetic.exp(here)), truth(mpmath.expm1, x)),
        ):
            assert Fraction(held.low) <= number <= Fraction(held.high)


def test_what_is_exactly_zero_or_one_stays_within_its_domain():
    arithmetic = IntervalArithmetic(64)
    one = DecimalInterval(Decimal(1), Decimal(1))
    assert arithmetic.minus_log(one) == (0, 0)
    assert arithmetic.less_one(one) == (0, 0)
    assert arithmetic.root(DecimalInterval(Decimal(0), Decimal(0))) == (0, 0)


def test_the_context_of_a_thread_changes_nothing():
    with decimal.localcontext(prec=3, rounding=decimal.ROUND_UP):
        coarse = (
            rounding.exp(Fraction(1, 3)),
            rounding.decay_units(Fraction(1, 3), 95),
            IntervalArithmetic(64).ratio(1, 1, 3),
        )
    assert coarse == (
        rounding.exp(Fraction(1, 3)),
        rounding.decay_units(Fraction(1, 3), 95),
        IntervalArithmetic(64).ratio(1, 1, 3),
    )


@pytest.mark.parametrize(
    "part", [Directed, IntervalArithmetic, rounding.decay_units, rounding.exp_up, rounding.log_down]
)
def test_no_float_is_in_what_draws_and_prices_rest_on(part):
    tree = ast.parse(inspect.getsource(part))
    assert "float" not in {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert not [n for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, float)]
