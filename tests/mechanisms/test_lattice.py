"""What is released lies on the public grid, whatever the answer was, and no message shows the answer."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.mechanisms import AdditiveNoise, Gaussian, Laplace, lattice
from grids import over

SECRET = 7_391_842_650_173
MECHANISMS = [Laplace(sensitivity=1, epsilon=1), Gaussian(sensitivity=1, rho=0.5)]
grids = st.fractions(min_value=Fraction(1, 1000), max_value=1000, max_denominator=1000).filter(lambda g: g > 0)


def fixed(noise):
    return lambda count: [noise] * count


@pytest.mark.guarantee("mechanisms.lattice")
@pytest.mark.pitfall("A1")
@given(grid=grids, steps=st.lists(st.integers(-(10**30), 10**30), max_size=5), noise=st.integers(-(2**63), 2**63))
def test_every_released_number_is_the_answer_plus_whole_grid_steps(grid, steps, noise):
    released = lattice.release([k * grid for k in steps], grid, fixed(noise))
    assert released == [(k + noise) * grid for k in steps]
    assert all((number / grid).denominator == 1 for number in released)


@pytest.mark.pitfall("A1")
@settings(deadline=None, max_examples=30)
@given(grid=grids, answer=st.integers(-(10**6), 10**6))
def test_real_noise_leaves_every_answer_on_the_grid(grid, answer):
    for mechanism in (
        Laplace(sensitivity=grid, epsilon=1, grid=grid),
        Gaussian(sensitivity=grid, rho=0.5, grid=grid),
    ):
        released = mechanism.release(answer * grid)
        assert (Fraction(released) / grid).denominator == 1


@pytest.mark.pitfall("A1")
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: type(m).__name__)
def test_the_event_that_told_float_answers_0_and_1_apart_cannot_happen(mechanism):
    """Floats gave 254 of 1000 against 0 for 'abs(y) < 1/2 and y no multiple of 2^-53'. Here the event is empty."""
    for answer in (0, 1):
        released = mechanism.release([answer] * 1000)
        assert not [y for y in released if abs(y) < Fraction(1, 2) and (Fraction(y) * 2**53).denominator != 1]
        assert all(type(y) is int for y in released)


@pytest.mark.parametrize(
    ("value", "grid", "expected"),
    [
        (5, 1, 6),
        (5, 5, 10),
        (5, Fraction(1, 2), Fraction(11, 2)),
        (Fraction(5), 1, Fraction(6)),
        (Fraction(1, 10), Fraction(1, 10), Fraction(1, 5)),
        ([5, 7], 1, [6, 8]),
        ((5, 7), 1, [6, 8]),
        (range(3), 1, [1, 2, 3]),
        ([], 1, []),
        (np.int32(5), 1, 6),
        (np.array([5, 7]), 1, [6, 8]),
        (np.array([2**64 - 1], dtype=np.uint64), 1, [2**64]),
        (np.array([1], dtype=np.int8), Fraction(1, 4), [Fraction(5, 4)]),
    ],
)
def test_answers_keep_their_type_where_the_grid_is_whole(value, grid, expected):
    released = lattice.release(value, Fraction(grid), fixed(1))
    assert released == expected
    if isinstance(expected, list):
        assert [type(a) for a in released] == [type(b) for b in expected]
    else:
        assert type(released) is type(expected)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: type(m).__name__)
def test_sums_beyond_64_bits_stay_exact(mechanism):
    """False-alarm rate below 1e-40: noise of scale 1 beyond 100."""
    for answer in (2**63 - 1, -(2**63), 10**30):
        assert abs(mechanism.release(answer) - answer) <= 100
        assert abs(mechanism.release([answer])[0] - answer) <= 100


@over("value", [
        float(SECRET), math.nan, math.inf, Decimal(SECRET), str(SECRET), True, None, np.float64(SECRET), np.bool_(True),
        [SECRET, float(SECRET)], [[SECRET]], [True], {SECRET}, {SECRET: 1}, b"739", complex(SECRET),
        np.array([float(SECRET)]), np.array([[SECRET]]), np.array(SECRET), np.array([True]), np.array(["739"]),
    ])  # fmt: skip
@over("mechanism", MECHANISMS)
def test_an_answer_that_is_not_exact_is_refused_and_not_shown(mechanism, value):
    with pytest.raises(ParameterError) as refusal:
        mechanism.release(value)
    assert "739" not in str(refusal.value)
    assert "release(int)" in refusal.value.instead
    assert refusal.value.__context__ is None


@pytest.mark.parametrize("value", [SECRET, [SECRET * 2, SECRET], Fraction(SECRET, 3), np.array([SECRET])], ids=repr)
def test_an_answer_off_the_grid_is_refused_and_not_shown(value):
    with pytest.raises(ParameterError) as refusal:
        Laplace(sensitivity=2, epsilon=1, grid=2).release(value)
    assert "739" not in str(refusal.value)
    assert "Fraction('2')" in refusal.value.instead
    assert refusal.value.__context__ is None


def test_nothing_is_drawn_for_an_answer_that_is_refused():
    def never(count):
        raise AssertionError

    with pytest.raises(ParameterError):
        lattice.release([1, Fraction(1, 2)], Fraction(1), never)


@pytest.mark.parametrize("confidence", [0, 1, 1.5, -0.5, math.nan, True, "0.95", 1 - Fraction(1, 10**301)], ids=repr)
def test_a_confidence_outside_0_to_1_is_refused(confidence):
    for mechanism in MECHANISMS:
        with pytest.raises(ParameterError, match="confidence"):
            mechanism.margin(confidence)


def test_what_may_stay_outside_shrinks_with_the_number_of_draws_and_is_never_too_much():
    confidence = Fraction(95, 100)
    assert lattice.allowed_tail(1, confidence) == Fraction(5, 100)
    for count in (2, 3, 10, 1000):
        outside = lattice.allowed_tail(count, confidence)
        assert (1 - outside) ** count >= confidence
        assert (1 - outside - Fraction(1, 10**20)) ** count < confidence
    nearly_one = 1 - Fraction(1, 10**200)
    assert lattice.allowed_tail(10**9, nearly_one) == Fraction(1, 10**209)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: type(m).__name__)
def test_every_mechanism_keeps_the_contract_of_the_family(mechanism):
    assert isinstance(mechanism, AdditiveNoise)
    assert mechanism.margin() == mechanism.margin(0.95)
    assert type(mechanism.margin()) is int
    assert hash(mechanism) == hash(mechanism)
    with pytest.raises(AttributeError):
        mechanism.grid = Fraction(2)


def test_as_many_draws_as_answers_or_an_error():
    for grid in (Fraction(1), Fraction(2)):
        with pytest.raises(ValueError, match="shorter"):
            lattice.release([2, 4, 6], grid, lambda count: [0] * (count - 1))
