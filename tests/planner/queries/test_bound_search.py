"""Bounds from noisy counts and from growth: prices, thresholds, and what is found where the noise is small."""

from fractions import Fraction

import pytest

from discreet import events
from discreet.accounting.costs import cost
from discreet.catalog.privacy_unit import Caps, Neighbours
from discreet.mechanisms import Gaussian, Laplace
from discreet.planner.budget.allocation import Spending
from discreet.planner.queries.bound_search import BOUNDS, OVERLOOKED, FoundBounds, by_counts, by_growth
from discreet.planner.queries.log_scale import Scale

SCALE = Scale.between(-1000, 1000)
ONE = Caps(1, 1, 1)
BOTH = list(Neighbours)


def _spent(amount, kind=Laplace) -> Spending:
    orders = () if kind is Laplace else (Fraction(20),)
    return Spending((kind,), Fraction(amount), Fraction(amount), Fraction(0), "", orders)


def _bins(values) -> tuple[list[int], list[int]]:
    places = [sum(edge <= value for edge in SCALE.edges) for value in values]
    counts = [places.count(i) for i in range(len(SCALE.bins))]
    return counts, [sum(v for v, p in zip(values, places, strict=True) if p == i) for i in range(len(SCALE.bins))]


@pytest.mark.guarantee("planner.queries.auto_bounds")
@pytest.mark.parametrize("neighbours", BOTH)
@pytest.mark.parametrize("caps", [ONE, Caps(3), Caps(5, 2, 3), Caps(None, 2, 2)])
def test_counts_of_all_groups_together_move_by_all_rows_of_a_unit(caps, neighbours):
    search = by_counts(SCALE, _spent(1), caps, 4, neighbours)
    rows = {ONE: 1, Caps(3): 3, Caps(5, 2, 3): 5, Caps(None, 2, 2): 4}[caps]
    twice = 2 if neighbours is Neighbours.REPLACE_ONE else 1
    assert search.moved.l1 == twice * rows
    assert search.moved.l2_squared == twice * rows**2
    assert search.mechanism == Laplace(sensitivity=twice * rows, epsilon=1)


@pytest.mark.parametrize("amount", ["1", "1/7", "1/100"])
def test_a_search_costs_what_it_may_spend(amount):
    pure = by_counts(SCALE, _spent(amount), ONE, 1, BOTH[0])
    assert cost(pure.event()).epsilon <= cost(events.PureEvent(Fraction(amount))).epsilon
    gaussian = by_counts(SCALE, _spent(amount, Gaussian), ONE, 1, BOTH[0])
    assert isinstance(gaussian.mechanism, Gaussian)
    assert gaussian.mechanism.rho <= Fraction(amount)
    growth = by_growth(SCALE, Fraction(amount), ONE, 1, BOTH[0])
    assert growth.mechanism.epsilon + growth.presence.epsilon <= Fraction(amount)
    assert cost(growth.event()).epsilon <= cost(events.PureEvent(Fraction(amount))).epsilon


@pytest.mark.parametrize("kind", [Laplace, Gaussian])
def test_noise_on_empty_bins_is_above_the_first_threshold_as_seldom_as_is_said(kind):
    search = by_counts(SCALE, _spent("1/4", kind), ONE, 1, BOTH[0])
    sure, *near = search.thresholds
    one_bin = search.mechanism.tail(sure) / 2
    assert len(SCALE.bins) * one_bin <= float(OVERLOOKED) * 0.51
    assert near == sorted(near)
    assert near[-1] < sure


@pytest.mark.parametrize("neighbours", BOTH)
def test_growth_is_monotone_only_where_units_are_added_or_removed(neighbours):
    search = by_growth(SCALE, Fraction(1), Caps(3), 2, neighbours)
    assert search.mechanism.sensitivity == 3
    assert search.mechanism.monotone is (neighbours is Neighbours.ADD_REMOVE)


def test_a_stream_ends_once_on_each_side_that_a_scale_has():
    assert by_growth(SCALE, Fraction(1), ONE, 1, BOTH[0]).mechanism.answers == 2
    one = by_growth(Scale.between(0, 100), Fraction(1), ONE, 1, BOTH[0])
    assert one.mechanism.answers == 1
    assert one.event() == events.ComposedEvent((one.mechanism.event(), one.presence.event()))
    assert Fraction(99, 100) < one.mechanism.epsilon + one.presence.epsilon <= 1


@pytest.mark.parametrize("values", [[60] * 500 + [130] * 400, [-60] * 500 + [130] * 400, [6] * 300])
def test_with_hardly_any_noise_both_ways_find_the_bounds_of_the_values(values):
    """At epsilon 100 some noise is as large as one row with probability 1e-20."""
    counts, sums = _bins(values)
    low, high = SCALE.filled_bounds(counts, (0,))
    by_size = by_counts(SCALE, _spent(100), ONE, 1, BOTH[0]).find(counts, sums, None)
    assert by_size.bounds == (low, high)
    assert list(by_size.counts) == counts
    grown = by_growth(SCALE, Fraction(100), ONE, 1, BOTH[0]).find(counts, sums, None)
    assert grown.bounds == (min(0, low), high)
    assert grown.counts == (sum(value > 0 for value in values), sum(value < 0 for value in values))


@pytest.mark.pitfall("B22")
@pytest.mark.parametrize("values", [[], [0] * 1_000])
def test_where_nothing_or_nothing_but_zero_is_there_no_bounds_are_found(values):
    """At epsilon 100 some noise is as large as one row with probability 1e-20, and that on signs 3 rows with 1e-12."""
    counts, sums = _bins(values)
    assert by_counts(SCALE, _spent(100), ONE, 1, BOTH[0]).find(counts, sums, lambda _: 1.0).bounds is None
    assert by_counts(SCALE, _spent(100), ONE, 1, BOTH[0]).find(counts, sums, None).bounds is None
    assert by_growth(SCALE, Fraction(100), ONE, 1, BOTH[0]).find(counts, sums, None).bounds is None


@pytest.mark.guarantee("planner.queries.auto_bounds")
@pytest.mark.parametrize("neighbours", BOTH)
def test_the_rows_above_and_below_zero_move_by_all_rows_of_a_unit(neighbours):
    search = by_growth(SCALE, Fraction(1), Caps(3), 4, neighbours)
    assert search.moved.l1 == search.presence.sensitivity == (6 if neighbours is Neighbours.REPLACE_ONE else 3)


@pytest.mark.pitfall("B22")
@pytest.mark.statistical(false_alarm=1e-5)
def test_growth_does_not_end_below_the_values_where_it_is_believed(samples):
    """False alarm: below 1e-20 for each search that is believed, and 8e-8 for each of few rows that is."""
    search = by_growth(SCALE, Fraction(1, 4), ONE, 1, BOTH[0])
    counts, sums = _bins([620] * (search.least_rows + 400))
    found = [search.find(counts, sums, None).bounds for _ in range(60)]
    assert sum(bounds is not None and bounds[1] >= 300 for bounds in found) > 40
    assert {bounds for bounds in found if bounds is not None and bounds[1] < 20} == set()
    few, few_sums = _bins([620] * 20)
    assert {search.find(few, few_sums, None).bounds for _ in range(samples(20))} == {None}


@pytest.mark.pitfall("B22")
def test_nothing_is_decided_from_the_noisy_counts_alone():
    counts, sums = _bins([620] * 100)
    search = by_counts(SCALE, _spent("1/20"), ONE, 1, BOTH[0])
    for _ in range(30):
        found = search.find(counts, sums, lambda _: 1.0)
        assert found.bounds == SCALE.least_error_bounds(found.counts, search.thresholds, lambda _: 1.0)
    growth = by_growth(SCALE, Fraction(1), ONE, 1, BOTH[0])
    found = growth.find(counts, sums, None)
    assert found.bounds is None or max(found.counts) >= growth.least_rows


def test_what_was_noisy_is_kept_with_the_bounds_that_came_of_it():
    counts, sums = _bins([60] * 500)
    search = by_counts(SCALE, _spent(1), ONE, 1, BOTH[0])
    found = search.find(counts, sums, None)
    noisy, bounds = search.measurements(found, Fraction(1, 2))
    assert noisy.steps == found.counts
    assert (bounds.steps, bounds.places, bounds.grid) == (found.bounds, BOUNDS, Fraction(1, 2))
    growth = by_growth(SCALE, Fraction(1), Caps(3), 1, BOTH[0])
    found = growth.find(counts, sums, None)
    rows, bounds = growth.measurements(found, Fraction(1))
    assert (rows.steps, rows.l1) == (found.counts, 3)
    assert (bounds.mechanism, bounds.l1, bounds.places) == ("above threshold", 3, BOUNDS)
    for search in (growth, by_counts(SCALE, _spent(1), ONE, 1, BOTH[0])):
        assert search.measurements(FoundBounds(None, (1, 2)), Fraction(1))[-1].steps == ()


def test_both_ways_are_told_in_words():
    assert "bins of sizes" in by_counts(SCALE, _spent(1), ONE, 1, BOTH[0]).description
    assert "grows as by fewer than" in by_growth(SCALE, Fraction(1), ONE, 1, BOTH[0]).description
