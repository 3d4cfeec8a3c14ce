"""Variances from sums, squares and counts: margins that cover every table in the box, and never more than can be."""

import itertools
import math
import statistics
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dp
from discreet.planner.resolve.variance import DEVIATION, KINDS, VARIANCE, Box, Width

VALUES = st.lists(st.integers(-5, 5), min_size=1, max_size=40)


def _box(values, margins=(0, 0, 0)) -> Box:
    return Box(sum(values), sum(v * v for v in values), len(values), margins)


@given(VALUES)
def test_without_noise_a_variance_is_the_mean_squared_distance_from_the_mean(values):
    value, margin = Width(10, Fraction(1, 2)).answer(VARIANCE, _box(values))
    assert math.isclose(value, statistics.pvariance(values) / 4, abs_tol=1e-9)
    assert margin < 1e-9


@given(VALUES)
def test_a_deviation_is_the_root_of_a_variance(values):
    value, _ = Width(10, Fraction(1, 2)).answer(DEVIATION, _box(values))
    assert math.isclose(value, statistics.pstdev(values) / 2, abs_tol=1e-6)


@given(VALUES, st.integers(-9, 9), st.integers(-60, 60), st.integers(-4, 4), st.sampled_from(KINDS))
def test_where_the_noise_is_within_its_margins_the_answer_is_within_its_own(values, total, squares, count, kind):
    width = Width(10, Fraction(1))
    exact, _ = width.answer(kind, _box(values))
    noisy = _box(values)
    noisy = Box(noisy.total + total, noisy.squares + squares, noisy.count + count, (9, 60, 4))
    value, margin = width.answer(kind, noisy)
    assert abs(value - exact) <= margin + 1e-9


@given(st.integers(-40, 40), st.integers(-20, 250), st.integers(-3, 12), st.tuples(*[st.integers(0, 6)] * 3))
def test_the_margin_is_the_farthest_in_the_box_where_it_is_tried_everywhere(total, squares, count, margins):
    width = Width(10, Fraction(1))
    value, margin = width.answer(VARIANCE, Box(total, squares, count, margins))
    fewest = max(1, count - margins[2])
    counts = range(fewest, max(fewest, count + margins[2]) + 1)
    sums = range(total - margins[0], total + margins[0] + 1)
    corners = (squares - margins[1], squares + margins[1])
    tried = [width._variance(s, q, n) for s, q, n in itertools.product(sums, corners, counts)]
    assert max(abs(one - value) for one in tried) <= margin + 1e-9


@given(VALUES, st.tuples(st.integers(0, 9), st.integers(0, 90), st.integers(0, 4)), st.sampled_from(KINDS))
def test_the_most_that_is_said_in_advance_holds_for_every_table_of_that_size(values, margins, kind):
    width = Width(10, Fraction(1))
    _, margin = width.answer(kind, _box(values, margins))
    assert margin <= float(width.widest(kind, len(values), margins)) + 1e-9


def test_nothing_is_farther_off_than_half_of_all_values_at_each_bound():
    width = Width(10, Fraction(1))
    assert width.widest(VARIANCE, 1, (100, 100, 100)) == 25
    assert width.widest(DEVIATION, 1, (100, 100, 100)) == pytest.approx(5)
    assert width.answer(VARIANCE, Box(0, 10**9, 1, (0, 0, 0))) == (25.0, 0.0)


@pytest.fixture
def session(tmp_path):
    (tmp_path / "t.csv").write_text("id,g,x\n" + "".join(f"{i},{'ab'[i % 2]},{i % 7}\n" for i in range(700)))
    with dp.testing.protect(
        tmp_path / "t.csv", privacy_unit="id", max_rows=1, budget=dp.Budget(epsilon=9), rows=700, keys={"g": ["a", "b"]}
    ) as opened:
        yield opened


def test_a_release_has_variances_and_deviations_of_each_group(session):
    query = dp.table("t").group_by("g").agg(v=dp.variance("x", bounds=(0, 6)), d=dp.std("x", bounds=(0, 6)))
    release = session.release(query, epsilon=1)
    assert release["v"] == (4.0, 4.0)
    assert release["d"] == (2.0, 2.0)
    assert all(margin > 0 for margin in release.margin("v"))
    assert release.post_processing == (
        "v: clamped to what its bounds allow",
        "d: clamped to what its bounds allow",
    )


def test_an_explanation_tells_the_most_that_a_variance_is_wrong_by(session):
    query = dp.table("t").agg(v=dp.variance("x", bounds=(0, 6)), m=dp.mean("x", bounds=(0, 6)))
    told = session.explain(query, epsilon=1).outputs[0]
    assert told.kind == "variance"
    assert told.margin > max(session.release(query, epsilon=1).margin("v"))
    assert "squares scale" in told.noise
    assert told.note == "at most, for groups of 700 rows (as declared)"


def test_a_mean_and_a_variance_share_their_sum_and_their_count(session):
    query = dp.table("t").agg(v=dp.variance("x", bounds=(0, 6)), m=dp.mean("x", bounds=(0, 6)))
    assert len(session.release(query, epsilon=1).measured) == 3


def test_margins_of_a_repeated_release_follow_the_confidence(session):
    query = dp.table("t").agg(v=dp.variance("x", bounds=(0, 6)))
    narrow = session.release(query, epsilon=1, confidence=0.5)
    assert narrow.margin("v")[0] < session.release(query, epsilon=1, confidence=0.99).margin("v")[0]
