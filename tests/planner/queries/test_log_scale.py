"""The scale of sizes: every bin is on one side of every candidate, and clamped totals follow from bins exactly."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.planner.queries.log_scale import Scale

BOTH = Scale.between(-200, 1000)
SCALES = (
    st.tuples(st.integers(0, 500), st.integers(0, 500)).filter(any).map(lambda ends: Scale.between(-ends[0], ends[1]))
)


def _bins(scale: Scale, values) -> tuple[list[int], list[int]]:
    clamped = [max(scale.candidates[0], min(scale.candidates[-1], value)) for value in values]
    places = [sum(edge <= value for edge in scale.edges) for value in clamped]
    counts = [places.count(i) for i in range(len(scale.bins))]
    return counts, [sum(v for v, p in zip(clamped, places, strict=True) if p == i) for i in range(len(scale.bins))]


def test_candidates_are_easily_read_and_end_where_the_scale_does():
    assert BOTH.candidates == (
        *(-200, -150, -100, -70, -50, -30, -20, -15, -10, -7, -5, -3, -2, -1, 0),
        *(1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000),
    )
    assert Scale.between(0, 12).candidates == (0, 1, 2, 3, 5, 7, 10, 12)
    assert Scale.between(-4, 0).candidates == (-4, -3, -2, -1, 0)


@given(SCALES)
def test_there_is_a_bin_for_each_candidate_and_one_more_than_edges(scale):
    assert len(scale.bins) == len(scale.candidates) == len(scale.edges) + 1
    assert list(scale.edges) == sorted(set(scale.edges))


@given(SCALES, st.integers(-600, 600))
def test_a_clamped_step_lies_between_the_candidates_of_its_bin_and_none_stands_inside(scale, value):
    clamped = max(scale.candidates[0], min(scale.candidates[-1], value))
    low, high = scale.bins[sum(edge <= value for edge in scale.edges)]
    assert low <= clamped <= high
    assert not [candidate for candidate in scale.candidates if low < candidate < high]


@pytest.mark.guarantee("planner.queries.auto_bounds")
@given(SCALES, st.lists(st.integers(-600, 600), max_size=30), st.data())
def test_the_total_of_clamped_steps_follows_from_the_bins_for_any_two_candidates(scale, values, data):
    counts, sums = _bins(scale, values)
    low, high = sorted(data.draw(st.lists(st.sampled_from(scale.candidates), min_size=2, max_size=2, unique=True)))
    assert scale.clamped_sum(counts, sums, (low, high)) == sum(max(low, min(high, value)) for value in values)


def test_bins_above_the_first_threshold_are_filled_and_near_ones_above_theirs():
    scale = Scale.between(-10, 10)
    counts = [0] * len(scale.bins)
    zero = scale.candidates.index(0)
    counts[zero + 1], counts[zero + 3], counts[zero - 1] = 100, 20, 9
    assert scale.filled_bounds(counts, (50,)) == (1, 2)
    assert scale.filled_bounds(counts, (50, 10, 15)) == (1, 5)
    assert scale.filled_bounds(counts, (50, 10, 20)) == (1, 2)
    assert scale.filled_bounds(counts, (50, 8, 8)) == (-2, 5) == scale.filled_bounds(counts, (8,))
    assert scale.filled_bounds(counts, (100,)) is None


def test_a_span_of_one_number_is_widened_to_zero():
    scale = Scale.between(-10, 10)
    assert scale.nonempty_bounds((3, 5)) == (3, 5)
    assert scale.nonempty_bounds((10, 10)) == (0, 10)
    assert scale.nonempty_bounds((-10, -10)) == (-10, 0)


def _sum_noise(per_step: float):
    return lambda bounds: per_step * max(abs(bounds[0]), abs(bounds[1]))


def test_the_bounds_of_the_least_expected_error_are_chosen():
    scale = Scale.between(0, 1000)
    counts, _ = _bins(scale, [60] * 100 + [900] * 20)
    assert scale.least_error_bounds(counts, (5,), _sum_noise(1)) == (0, 1000)
    assert scale.least_error_bounds(counts, (5,), _sum_noise(50)) == (0, 70)
    assert scale.least_error_bounds(counts, (30,), _sum_noise(1)) == (0, 70)


@pytest.mark.pitfall("B22")
def test_where_nothing_or_nothing_but_zero_is_seen_there_are_no_bounds():
    scale = Scale.between(0, 1000)
    counts, _ = _bins(scale, [60] * 100 + [900] * 20)
    assert scale.least_error_bounds(counts, (200,), _sum_noise(1)) is None
    assert scale.nonempty_bounds(None) is scale.nonempty_bounds((0, 0)) is None
    zeros, _ = _bins(scale, [0] * 100)
    assert scale.least_error_bounds(zeros, (5,), _sum_noise(1)) is None


@pytest.mark.pitfall("B22")
def test_noise_however_large_does_not_make_bounds_that_move_all_values():
    """Noise for bounds this narrow is small, and so would be the margin of an answer that is all wrong."""
    scale = Scale.between(0, 1000)
    counts, _ = _bins(scale, [620] * 100)
    assert scale.least_error_bounds(counts, (5,), _sum_noise(10**6)) == (0, 700)
    assert scale.least_error_bounds(counts, (5,), lambda bounds: 10**6 * (bounds[1] - bounds[0])) == (500, 700)


def test_where_noise_follows_the_width_the_lower_bound_rises_to_the_values():
    scale = Scale.between(-1000, 1000)
    counts, _ = _bins(scale, range(52, 69))
    assert scale.least_error_bounds(counts, (5,), lambda bounds: bounds[1] - bounds[0]) == (50, 70)


@given(SCALES, st.data())
def test_a_choice_is_always_two_candidates_in_order(scale, data):
    counts = data.draw(st.lists(st.integers(-50, 50), min_size=len(scale.bins), max_size=len(scale.bins)))
    found = scale.least_error_bounds(counts, (10, 3), _sum_noise(2))
    assert found or scale.filled_bounds(counts, (10, 3)) in (None, (0, 0))
    assert not found or (found[0] < found[1] and set(found) <= set(scale.candidates))


def test_the_cost_of_clamping_is_what_bins_lose_at_their_middle():
    scale = Scale.between(-10, 10)
    counts = [1] * len(scale.bins)
    lost = scale._clipping_loss(counts, (-10, 10), scale.candidates, 1)
    middles = [(low + high) / 2 for low, high in scale.bins]
    wanted = [sum(max(0, middle - bound) for middle in middles) for bound in scale.candidates]
    assert np.allclose(lost, wanted)


def test_neighbouring_candidates_are_at_most_twice_as_large():
    scale = Scale.between(0, 2**52)
    assert all(2 * low >= high for low, high in itertools.pairwise(scale.above))
