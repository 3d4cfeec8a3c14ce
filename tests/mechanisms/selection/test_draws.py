"""Selections weigh candidates with the rate that their price is proved from, and draw once for each choice."""

from fractions import Fraction

import numpy as np
import pytest

import draws as record
from discreet.events import BoundedRangeEvent, PureEvent, RepeatedEvent
from discreet.mechanisms import Exponential, NoisyMax, PermuteAndFlip, TopK

SCORES = [5, 9, 2, 9]
GAPS = (4, 0, 7, 0)
WAYS = pytest.mark.parametrize(("monotone", "sides"), [(False, 2), (True, 1)], ids=["any way", "one way"])
EPSILON, SENSITIVITY = Fraction(3, 2), Fraction(3)


def words(monotone):
    return {"sensitivity": SENSITIVITY, "epsilon": EPSILON, "monotone": monotone}


@pytest.mark.pitfall("B23")
@pytest.mark.draws(
    "mechanisms.selection.exponential.Exponential", "mechanisms.selection.permute_and_flip.PermuteAndFlip"
)
@WAYS
@pytest.mark.parametrize("scores", [SCORES, np.array(SCORES), [Fraction(score) for score in SCORES]], ids=type)
def test_one_choice_has_the_rate_that_is_priced(draws, scores, monotone, sides):
    by_weight, by_flips = Exponential(**words(monotone)), PermuteAndFlip(**words(monotone))
    by_weight.release(scores)
    by_flips.release(scores)
    rate = EPSILON / (sides * SENSITIVITY)
    assert draws.calls == [record.Peeled(rate, GAPS, 1), record.FirstKept(rate, GAPS)]
    assert by_weight.event() == BoundedRangeEvent(sides * SENSITIVITY * rate)
    assert by_flips.event() == PureEvent(sides * SENSITIVITY * rate)


@pytest.mark.pitfall("B23")
@pytest.mark.draws("mechanisms.selection.top_k.TopK")
@WAYS
@pytest.mark.parametrize("k", [1, 3])
def test_several_choices_share_the_epsilon(draws, monotone, sides, k):
    mechanism = TopK(k=k, **words(monotone))
    assert mechanism.release(SCORES) == list(range(k))
    (call,) = draws.calls
    assert call == record.Peeled(EPSILON / (k * sides * SENSITIVITY), GAPS, k)
    assert mechanism.event() == RepeatedEvent(BoundedRangeEvent(sides * SENSITIVITY * call.rate), k)


@pytest.mark.pitfall("B23")
@pytest.mark.parametrize("kind", [Exponential, PermuteAndFlip])
def test_scores_on_a_grid_are_weighed_by_what_a_step_is_worth(draws, kind):
    mechanism = kind(sensitivity=SENSITIVITY, epsilon=EPSILON, grid=Fraction(1, 4))
    mechanism.release([Fraction(1, 4), Fraction(3, 2)])
    (call,) = draws.calls
    assert (call.rate, call.gaps) == (mechanism.rate / 4, (5, 0))


@pytest.mark.pitfall("B23")
@pytest.mark.draws("mechanisms.selection.noisy_max.NoisyMax")
@WAYS
@pytest.mark.parametrize("noise", ["gumbel", "exponential"])
def test_a_noisy_maximum_of_known_law_is_drawn_as_the_choice_with_that_law(draws, noise, monotone, sides):
    mechanism = NoisyMax(noise=noise, **words(monotone))
    mechanism.release(SCORES)
    rate = EPSILON / (sides * SENSITIVITY)
    call, event = (record.Peeled(rate, GAPS, 1), BoundedRangeEvent(EPSILON))
    if noise == "exponential":
        call, event = record.FirstKept(rate, GAPS), PureEvent(EPSILON)
    assert draws.calls == [call]
    assert mechanism.event() == event


@pytest.mark.pitfall("B23")
@WAYS
@pytest.mark.parametrize("with_gap", [False, True])
@pytest.mark.parametrize("grid", [Fraction(1), Fraction(1, 2)])
def test_laplace_noise_of_a_maximum_is_on_every_score_with_the_scale_that_is_priced(
    draws, with_gap, monotone, sides, grid
):
    mechanism = NoisyMax(noise="laplace", grid=grid, **words(monotone))
    draws.give(100, 0, 50, 0)  # steps of noise, so the first wins and the third is next
    chosen = mechanism.release_with_gap(SCORES) if with_gap else mechanism.release(SCORES)
    call, *ties = draws.calls
    assert call == record.Laplace(sides * SENSITIVITY / EPSILON / grid, 4)
    assert {type(tie) for tie in ties} == {record.Uniform}
    assert mechanism.event() == PureEvent(sides * SENSITIVITY / (call.scale * grid))
    assert chosen == ((0, (5 - 2) + 50 * grid) if with_gap else 0)


@pytest.mark.pitfall("B23")
@pytest.mark.parametrize("wanted", [1, 2])
def test_of_many_candidates_leaders_and_all_that_may_reach_them_have_the_noise_that_is_priced(draws, wanted):
    """1024 leaders get their noise; each other one arrives with the chance that its noise reaches theirs."""
    mechanism = NoisyMax(sensitivity=1, epsilon=1, noise="laplace")
    scores = [10**6] * 2_000 + [0] * 1_000
    draws.give(*[0] * 1024, *[1] * 3_000)
    release = mechanism.release if wanted == 1 else mechanism.release_with_gap
    release(scores)
    scale = Fraction(2)
    leaders, flips, others, *ties = draws.calls
    assert leaders == record.Laplace(scale, 1024)
    assert flips.rate == 1 / scale
    assert flips.gaps == (0,) * 2_000 + (10**6,) * 1_000
    assert others == record.Laplace(scale, 3_000 - 1024)
    assert {type(tie) for tie in ties} == {record.Uniform}
    assert mechanism.event() == PureEvent(2 / scale)
