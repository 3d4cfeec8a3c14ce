"""Rounding, clamping and consistency keep the margins that they say they keep."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from discreet.errors import ParameterError, UnsupportedError
from discreet.release.postprocessing.adjust import MOST_SHARING, clip_output, refuse_ranks, round_output
from discreet.release.values.columns import OutputColumn
from loops import times_as_long
from released import NOISES, noisy, release

FALSE_ALARM = 1e-6
TRUTH = (12, 30, 45, 13)


def _output(value, margin, **changes) -> OutputColumn:
    return OutputColumn("n", "count", (value,), (margin,), **changes)


@given(st.integers(-(10**6), 10**6), st.integers(0, 1000), st.integers(-1000, 1000), st.integers(1, 1000))
def test_a_rounded_whole_number_is_within_its_margin_of_every_truth_that_the_raw_one_was(value, margin, away, step):
    truth = value + max(-margin, min(margin, away))
    made = round_output(_output(value, margin), Fraction(step))
    assert made.values[0] % step == 0
    assert abs(made.values[0] - truth) <= made.margins[0] <= margin + step / 2


@given(st.floats(-1e6, 1e6), st.floats(0, 1e3), st.fractions(Fraction(1, 1000), 10, max_denominator=1000))
def test_a_rounded_double_is_within_its_margin(value, margin, step):
    made = round_output(_output(value, margin), step)
    assert abs(Fraction(made.values[0]) - Fraction(value)) <= step / 2 + Fraction(1, 10**9)
    assert made.margins[0] >= margin + float(step) / 2


@pytest.mark.parametrize("step", ["rounded", "clamped"])
def test_values_whose_margins_are_in_ranks_are_left_as_they_are(step):
    median = _output(37.3, 5, margin_of="ranks")
    with pytest.raises(UnsupportedError, match=r"release\['n'\]$"):
        refuse_ranks([median], step)
    with pytest.raises(UnsupportedError, match=rf"release\.{step}\(\.\.\., output='total'\)"):
        refuse_ranks([median, replace(median, name="total", margin_of="")], step)
    refuse_ranks([_output(37, 5)], step)


def test_what_is_not_finite_is_rounded_to_itself():
    made = round_output(OutputColumn("m", "mean", (math.nan, 4.4), (math.inf, math.inf)), Fraction(1))
    assert math.isnan(made.values[0])
    assert (made.values[1], made.margins) == (4.0, (math.inf, math.inf))


@given(st.integers(-50, 50), st.integers(0, 40), st.integers(0, 40))
def test_clamping_never_moves_away_from_a_truth_that_is_possible(value, margin, truth):
    made = clip_output(_output(value, margin), Fraction(0), Fraction(40))
    assert abs(made.values[0] - truth) <= abs(value - truth)
    assert made.margins == (margin,)


def test_groups_add_up_to_the_total_and_stay_whole():
    made = release([10, 33, 41, 20]).consistent(total=release([100], receipt="b", names=()))
    assert sum(made["n"]) == 100
    assert all(isinstance(value, int) for value in made["n"])
    assert made["n"] == (9, 32, 40, 19)
    uneven = release([10, 33, 41, 20]).consistent(total=release([101], receipt="b", names=()))
    assert sum(uneven["n"]) == 101


def test_groups_add_up_to_totals_by_a_coarser_key_in_any_order():
    totals = release([65, 40], rows=(("B",), ("A",)), names=("ward",), receipt="b")
    made = release([10, 33, 41, 20]).consistent(total=totals)
    assert (sum(made["n"][:2]), sum(made["n"][2:])) == (40, 65)


@pytest.mark.parametrize("mechanism", NOISES)
def test_a_total_that_is_known_well_narrows_the_margins(mechanism):
    exact = release(TRUTH, mechanism=mechanism)
    wide = exact.total("n", by=["ward", "sex"]).margins[0]
    assert exact.consistent(total=sum(TRUTH)).margin("n")[0] < wide


@pytest.mark.statistical(false_alarm=1e-6)
@pytest.mark.parametrize("mechanism", NOISES)
def test_one_group_of_a_consistent_table_is_covered_as_often_as_its_margin_says(mechanism, samples):
    """1,000 tables, one group of each. False alarms: 1e-6."""
    inside, many = 0, samples(1_000)
    drawn = np.array(noisy([*TRUTH, sum(TRUTH)] * many, mechanism)).reshape(many, 5)
    for *groups, total in drawn.tolist():
        apart = release([total], receipt="b", names=(), mechanism=mechanism)
        made = release(groups, mechanism=mechanism).consistent(total=apart)
        inside += abs(made["n"][0] - TRUTH[0]) <= made.margin("n")[0]
    assert inside >= binom.ppf(FALSE_ALARM, many, 0.95)


def test_a_total_of_other_rows_is_refused_because_no_noise_explains_it():
    with pytest.raises(ParameterError, match="noise explains at most"):
        release([10, 33, 41, 20]).consistent(total=5_000)


def test_totals_of_other_groups_are_refused():
    with pytest.raises(ParameterError, match="each group must have its total"):
        release([1, 2, 3, 4]).consistent(total=release([3], rows=(("A",),), names=("ward",), receipt="b"))


def _many(count: int):
    return release(noisy([100] * count), rows=tuple((str(i),) for i in range(count)), names=("k",))


@pytest.mark.parametrize("mechanism", NOISES)
def test_margins_reckoned_once_for_all_groups_are_those_of_each_combination(mechanism):
    made = release([10, 33, 41, 20], mechanism=mechanism)
    apart = release([100], receipt="b", names=(), mechanism=mechanism).total("n")
    rest = apart - made.total("n")
    each = [made.total("n", where={"ward": w, "sex": s}) + rest / 4 for w in "AB" for s in "xy"]
    assert made.consistent(total=apart).margin("n") == tuple(math.floor(one.margin + 1) for one in each)


def test_a_total_that_shares_noise_with_the_groups_is_counted_together():
    made = release([10, 33, 41, 20])
    same = made.consistent(total=made.total("n"))
    assert same["n"] == made["n"]
    assert same.margin("n")[0] == math.floor(made.total("n", by=["ward", "sex"]).margins[0] + 1)


@pytest.mark.nightly
@pytest.mark.timing
def test_thousands_of_groups_add_up_in_seconds():
    """2,000 groups take about four times as long as 500, and 8,000 end, where they never did."""
    many, few = _many(2_000), _many(500)
    assert times_as_long(lambda: many.consistent(total=200_000), lambda: few.consistent(total=50_000)) < 12
    assert sum(_many(8_000).consistent(total=800_000)["n"]) == 800_000


def test_many_groups_that_share_noise_with_their_total_are_refused():
    many = _many(MOST_SHARING + 1)
    with pytest.raises(UnsupportedError, match="up to 400 groups"):
        many.consistent(total=many.total("n"))
