"""Answers of blocks are aggregated with the noise and the rates that their price is proved from."""

from fractions import Fraction

import pytest

import draws as record
from discreet.events import BoundedRangeEvent, ComposedEvent, DiscreteLaplaceEvent, PureEvent, RepeatedEvent
from discreet.mechanisms.sampled import ClippedMean, PrivateMedian, PrivateQuantile, SelfBoundedMean
from discreet.mechanisms.sampled.self_bounded import buckets

RELATIONS = pytest.mark.parametrize(("neighbours", "sides"), [("add_remove", 1), ("replace_one", 2)])
ANSWERS = [0, 1, 4, 8, 20]


def words(neighbours, **more):
    return {"bounds": (0, 8), "blocks": 5, "epsilon": Fraction(1, 2), "neighbours": neighbours} | more


@pytest.mark.pitfall("B23")
@pytest.mark.draws("mechanisms.sampled.clipped_mean.ClippedMean")
@RELATIONS
@pytest.mark.parametrize("grid", [Fraction(1), Fraction(1, 2)])
def test_a_mean_of_blocks_has_noise_for_all_the_answers_that_a_unit_changes(draws, grid, neighbours, sides):
    mechanism = ClippedMean(**words(neighbours, grid=grid))
    noisy = mechanism.release(ANSWERS)
    steps = 8 / grid
    assert mechanism.event() == DiscreteLaplaceEvent(scale=2 * sides * steps, sensitivity=sides * steps)
    assert draws.calls == record.additive(mechanism.event(), [1])
    assert noisy == (0 + 1 + 4 + 8 + 8 + draws.returned[0] * grid) / Fraction(5)


@pytest.mark.pitfall("B23")
@pytest.mark.draws(
    "mechanisms.sampled.private_quantile.PrivateQuantile", "mechanisms.sampled.private_quantile.PrivateMedian"
)
@RELATIONS
def test_a_quantile_of_blocks_is_chosen_with_the_rate_that_is_priced(draws, neighbours, sides):
    median = PrivateMedian(**words(neighbours, bounds=(0, 4), grid=1))
    third = PrivateQuantile(fraction=Fraction(1, 3), **words(neighbours, bounds=(0, 4), grid=1))
    assert median.release(ANSWERS) == third.release(ANSWERS) == 0
    of_median, of_third = draws.calls
    assert of_median == record.Peeled(Fraction(1, 2) / (2 * sides * 2), (3, 1, 1, 1, 0), 1)
    assert of_third == record.Peeled(Fraction(1, 2) / (2 * sides * 3), (2, 0, 1, 1, 1), 1)
    assert median.event() == third.event() == BoundedRangeEvent(Fraction(1, 2))


@pytest.mark.pitfall("B23")
@pytest.mark.draws("mechanisms.sampled.self_bounded.SelfBoundedMean")
@RELATIONS
def test_bounds_of_its_own_cost_two_choices_and_the_mean_has_noise_for_those_bounds(draws, neighbours, sides):
    """The recorded choices are always the first bucket, so the bounds are 0 and 1 + 2 times their distance."""
    mechanism = SelfBoundedMean(**words(neighbours, bounds=(0, 100), grid=1, epsilon=2))
    found = mechanism.release(ANSWERS)
    lower, upper, mean = draws.calls
    points = len(buckets(0, 100)) - 1
    assert [len(call.gaps) for call in (lower, upper)] == [points, points]
    assert {(call.rate, call.count) for call in (lower, upper)} == {(Fraction(1, 2) / (2 * sides * 4), 1)}
    assert lower.gaps != upper.gaps
    assert found.bounds == (0, 3)
    assert mean == record.Laplace(sides * Fraction(3), 1)
    quartiles = RepeatedEvent(BoundedRangeEvent(2 * sides * 4 * lower.rate), 2)
    assert mechanism.event() == ComposedEvent((quartiles, PureEvent(sides * 3 / mean.scale)))
    assert found.value == (0 + 1 + 3 + 3 + 3 + draws.returned[0]) / Fraction(5)
