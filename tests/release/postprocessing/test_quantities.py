"""Intervals of derived numbers cover the truth as often as they say, and noise that is shared is counted once."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from discreet.mechanisms import Gaussian, Laplace
from discreet.release.postprocessing.quantities import (
    ANYWHERE,
    Atom,
    Blend,
    Linear,
    Quotient,
    ValueRange,
    add,
    at_once,
    sum_linear,
)

LEVEL = Fraction(19, 20)
DRAWS = 2_000
FALSE_ALARM = 1e-6
LAPLACE = Laplace.with_scale(scale=12.5, sensitivity=1)
GAUSSIAN = Gaussian.with_sigma(sigma=15.0, sensitivity=1)


def atom(place: int, steps: int, noise=LAPLACE, source: str = "a") -> Atom:
    return Atom(source, 0, place, steps, noise)


def one(place: int, steps: int, factor=1, noise=LAPLACE) -> Linear:
    return Linear({atom(place, steps, noise): Fraction(factor)})


def covers(make, truth, noise, count: int) -> int:
    """How often the interval of what `make` makes of noisy integers holds the same of the exact ones."""
    drawn = np.array(noise.release([0] * (len(truth) * count)), dtype=object).reshape(count, len(truth))
    exact = make([one(i, t, noise=noise) for i, t in enumerate(truth)]).value
    inside = 0
    for draws in drawn:
        low, high = make(
            [one(i, t + int(y), noise=noise) for i, (t, y) in enumerate(zip(truth, draws, strict=True))]
        ).interval(LEVEL)
        inside += (low is None or low <= exact) and (high is None or exact <= high)
    return inside


KINDS = {
    "a total": lambda x: x[0].plus(x[1]).plus(x[2]),
    "a difference": lambda x: x[0].plus(x[1], Fraction(-1)),
    "weights": lambda x: x[0].scale(Fraction(1, 3)).plus(x[1], Fraction(5, 2)),
    "a share": lambda x: Quotient(x[0], x[0].plus(x[1]).plus(x[2])),
    "a ratio": lambda x: Quotient(x[1], x[2]),
    "a ratio around a centre": lambda x: Quotient(x[1].plus(x[2], Fraction(50)), x[2]),
    "a difference of ratios": lambda x: add(Quotient(x[0], x[1]), Quotient(x[2], x[1]), Fraction(-1)),
    "a mean in its bounds": lambda x: Quotient(x[0], x[2], (Fraction(0), Fraction(5))),
}


@pytest.mark.guarantee("release.postprocessing.quantities")
@pytest.mark.statistical(false_alarm=1e-6)
@pytest.mark.parametrize("truth", [(400, 300, 150), (40, 5, 20)], ids=["large", "small"])
@pytest.mark.parametrize("noise", [LAPLACE, GAUSSIAN], ids=["laplace", "gaussian"])
@pytest.mark.parametrize("kind", KINDS)
def test_intervals_cover_as_often_as_they_say(kind, noise, truth, samples):
    """2,000 draws each, in 32 tests. False alarms: at most 1e-6 in each."""
    many = samples(DRAWS)
    assert covers(KINDS[kind], truth, noise, many) >= binom.ppf(FALSE_ALARM, many, float(LEVEL))


def test_the_margin_of_a_total_is_that_of_its_noise_and_not_the_sum_of_margins():
    whole = Linear({atom(i, 100): Fraction(1) for i in range(100)})
    single = one(0, 100).margin(LEVEL)
    assert whole.margin(LEVEL) < 0.12 * 100 * single
    assert whole.margin(LEVEL) == pytest.approx(1.96 * LAPLACE.standard_deviation * 10, rel=0.01)


def test_noise_that_is_subtracted_from_itself_is_gone():
    linear = one(0, 7).plus(one(1, 9))
    gone = linear.plus(linear, Fraction(-1))
    assert (gone.value, gone.margin(LEVEL), gone.factors) == (0, 0, {})
    assert linear.plus(one(0, 7)).factors[atom(0, 7)] == 2


def test_the_same_place_of_another_release_is_other_noise():
    ours, theirs = Linear({atom(0, 5): Fraction(1)}), Linear({atom(0, 5, source="b"): Fraction(1)})
    assert ours.plus(theirs, Fraction(-1)).margin(LEVEL) > ours.margin(LEVEL)


def test_a_share_knows_that_its_part_is_in_the_whole():
    """A part that is nearly everything has a share of nearly one, whatever the noise on it is."""
    part, rest = one(0, 10_000), one(1, 0, factor=Fraction(1, 1000))
    low, high = Quotient(part, part.plus(rest)).interval(LEVEL)
    assert high - low < Fraction(1, 10_000)


@settings(deadline=None, max_examples=200)
@given(
    st.lists(st.tuples(st.integers(-5, 5), st.integers(-5, 5), st.integers(-50, 50)), min_size=1, max_size=4),
    st.integers(0, 400),
)
def test_the_ends_of_a_ratio_are_those_of_all_corners_of_its_box(terms, rows):
    """Written out: every corner of the box of independent parts, found by brute force."""
    top = Linear({atom(i, x): Fraction(a) for i, (a, _, x) in enumerate(terms) if a})
    bottom = Linear({atom(i, x): Fraction(b) for i, (_, b, x) in enumerate(terms) if b}, Fraction(rows))
    low, high = Quotient(top, bottom).interval(LEVEL)
    slopes = {}
    for i, (a, b, x) in enumerate(terms):
        if a or b:
            slopes.setdefault(Fraction(a, b) if b else None, {})[atom(i, x)] = Fraction(b or a)
    each = at_once(len(slopes) or 1, LEVEL)
    sides = [(slope, Linear(part).margin(each)) for slope, part in slopes.items()]
    corners = [(top.value, bottom.value)]
    for slope, side in sides:
        moves = [(side, Fraction(0)) if slope is None else (slope * side, side)]
        corners = [(t + sign * dt, b + sign * db) for t, b in corners for dt, db in moves for sign in (1, -1)]
    if min(b for _, b in corners) <= 0:
        assert (low, high) == ANYWHERE
    else:
        assert (low, high) == (min(t / b for t, b in corners), max(t / b for t, b in corners))


def test_a_denominator_that_may_be_zero_leaves_no_end_but_the_bounds():
    ratio = Quotient(one(0, 5), one(1, 3))
    assert ratio.interval(LEVEL) == ANYWHERE
    assert Quotient(one(0, 5), one(1, 3), (Fraction(0), Fraction(9))).interval(LEVEL) == ValueRange(0, 9)
    assert Quotient(one(0, 5), one(1, -3)).value is None
    assert Blend(((Fraction(1), ratio), (Fraction(-1), one(2, 4)))).interval(LEVEL) == ANYWHERE


def test_a_blend_of_a_negative_multiple_turns_its_interval_round():
    low, high = Blend(((Fraction(-2), one(0, 10)),)).interval(LEVEL)
    margin = one(0, 10).margin(LEVEL)
    assert (low, high) == (-20 - 2 * margin, -20 + 2 * margin)


def test_what_is_scaled_keeps_its_interval_scaled():
    ratio = Quotient(one(0, 500), one(1, 900), (Fraction(0), Fraction(1)))
    low, high = ratio.interval(LEVEL)
    assert ratio.scale(Fraction(100)).interval(LEVEL) == ValueRange(100 * low, 100 * high)
    assert ratio.scale(Fraction(-1)).interval(LEVEL) == ValueRange(-high, -low)


def test_a_constant_takes_no_part_of_what_may_be_missed():
    ratio = Quotient(one(0, 900), one(1, 3000))
    low, high = add(Linear({}, Fraction(1)), ratio, Fraction(-1)).interval(LEVEL)
    assert (1 - high, 1 - low) == tuple(ratio.interval(LEVEL))


def test_many_combinations_are_added_up_as_two_are():
    terms = [(Fraction(2), one(0, 5)), (Fraction(-1), one(1, 7)), (Fraction(-2), one(0, 5)), (Fraction(1), one(2, 1))]
    made = Linear({})
    for times, linear in terms:
        made = made.plus(linear, times)
    assert sum_linear(terms) == made
