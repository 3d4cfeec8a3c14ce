"""The top k: within e^epsilon over all neighbours, one draw of Gumbel noise, priced as k choices of bounded range."""

import itertools
import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from discreet.accounting import concentrated, pure
from discreet.errors import ParameterError
from discreet.events import BoundedRangeEvent, RepeatedEvent
from discreet.mechanisms.selection import Exponential, TopK
from discreet.mechanisms.selection.scores import Bracket
from discreet.mechanisms.selection.top_k import _in_turn
from fits import fit
from loops import A_SECOND, loops
from score_vectors import gaps, largest_ratio, monotone_neighbours, neighbours, vectors

FALSE_ALARM = 1e-6


@cache
def law(standing, decay, k):
    """The exact law for a rational e^(-rate), by the code's own products."""
    weights = [Bracket(decay**gap, decay**gap) for gap in standing]
    orders = itertools.permutations(range(len(standing)), k)
    return [_in_turn([weights[place] for place in order], weights).low for order in orders]


@pytest.mark.guarantee("mechanisms.selection.top_k")
@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize(("near", "moves"), [(neighbours, 2), (monotone_neighbours, 1)])
def test_probabilities_of_all_neighbours_stay_within_e_to_the_epsilon(near, moves, k):
    """e^epsilon is decay^-(2 k sensitivity), or its root for monotone scores: rationals, compared exactly."""
    decay = Fraction(2, 3)
    largest = max(
        largest_ratio(law(gaps(scores), decay, k), law(gaps(other), decay, k))
        for scores in vectors(3, 3)
        for other in near(scores, 1)
    )
    assert largest < decay ** (-moves * k)


@pytest.mark.guarantee("mechanisms.selection.top_k")
def test_each_choice_has_losses_within_an_interval_of_epsilon_over_k_whatever_was_chosen():
    mechanism = TopK(k=2, sensitivity=1, epsilon=1)
    one = Exponential(sensitivity=1, epsilon=Fraction(1, 2))
    assert mechanism.rate == one.rate
    for scores, other in (((3, 1, 0), (2, 2, 1)), ((1, 1, 1), (2, 0, 2))):
        for gone in range(3):
            left = [place for place in range(3) if place != gone]
            here, there = (one.brackets([vector[place] for place in left]) for vector in (scores, other))
            losses = [math.log(float(b.low) / float(a.low)) for a, b in zip(here, there, strict=True)]
            assert max(losses) - min(losses) <= 0.5 + 1e-12


def test_the_event_is_k_choices_of_bounded_range_and_cheap_under_concentrated_privacy():
    mechanism = TopK(k=10, sensitivity=1, epsilon=1)
    assert mechanism.event() == RepeatedEvent(BoundedRangeEvent(Fraction(1, 10)), 10)
    assert pure.epsilon(mechanism.event()) == 1
    assert concentrated.rho(mechanism.event()).rho == Fraction(1, 80)


def test_one_of_one_is_the_exponential_mechanism():
    scores = [3, 1, 4, 4, 0]
    alone = TopK(k=1, sensitivity=1, epsilon=1).brackets(scores)
    assert [alone[place,] for place in range(5)] == Exponential(sensitivity=1, epsilon=1).brackets(scores)


@pytest.mark.guarantee("mechanisms.selection.top_k")
@pytest.mark.statistical(false_alarm=1e-6)
def test_its_law_is_that_of_the_largest_after_gumbel_noise(samples):
    """Draws of real Gumbels, by another library, against our law. False-alarm rate 1e-6."""
    mechanism = TopK(k=3, sensitivity=1, epsilon=3, monotone=True)
    scores = np.array([3, 1, 4, 4, 0])
    noisy = scores + np.random.default_rng().gumbel(0.0, 1.0, (samples(100_000), 5))
    orders = [tuple(order) for order in np.argsort(-noisy, axis=1)[:, :3].tolist()]
    assert fit(orders, mechanism.pmf(scores)) > FALSE_ALARM


@pytest.mark.statistical(false_alarm=1e-6)
@pytest.mark.parametrize("scores", [[3, 1, 4, 4, 0], [5, 5, 5], np.array([0, 9, 10], dtype=np.int8)], ids=str)
@pytest.mark.parametrize("k", [1, 2, 3])
def test_draws_fit_their_probabilities(scores, k, samples):
    """False-alarm rate 1e-6 for each."""
    mechanism = TopK(k=k, sensitivity=1, epsilon=2 * k)
    draws = [tuple(mechanism.release(scores)) for _ in range(samples(2_000))]
    shown, brackets = mechanism.pmf(scores), mechanism.brackets(scores)
    assert fit(draws, shown) > FALSE_ALARM
    assert sum(bracket.low for bracket in brackets.values()) <= 1 <= sum(bracket.high for bracket in brackets.values())
    assert math.fsum(shown.values()) == pytest.approx(1)


@pytest.mark.guarantee("mechanisms.selection.top_k")
def test_each_chosen_score_is_near_its_rank_but_for_beta():
    """By exact probabilities of all orders."""
    mechanism = TopK(k=2, sensitivity=1, epsilon=4)
    for scores in ([60, 50, 40, 30], [60, 59, 45, 44], [9, 9, 9, 0]):
        for beta in (Fraction(1, 2), Fraction(1, 20)):
            bound, ranked = mechanism.utility(4, beta), sorted(scores, reverse=True)
            failed = sum(
                bracket.high
                for places, bracket in mechanism.brackets(scores).items()
                if any(scores[place] < best - bound for place, best in zip(places, ranked, strict=False))
            )
            assert failed <= beta
    truth = (math.log(1000) + math.log(2 / 0.05)) / 1.0
    assert truth <= mechanism.utility(1000, 0.05) <= truth * (1 + 1e-9)


def test_more_than_there_are_and_laws_too_large_to_list_are_refused():
    mechanism = TopK(k=3, sensitivity=1, epsilon=1)
    with pytest.raises(ParameterError, match="top 3 of 2") as refusal:
        mechanism.release([71234, 1])
    assert "71234" not in str(refusal.value)
    assert "k=2" in refusal.value.instead
    with pytest.raises(ParameterError, match="more than 5,000"):
        mechanism.pmf(list(range(40)))
    for k in (0, -1, 1.5, True, "2"):
        with pytest.raises(ParameterError, match="k"):
            TopK(k=k, sensitivity=1, epsilon=1)


@pytest.mark.parametrize("k", [10, 1_000])
@pytest.mark.parametrize("shape", ["equal", "spread", "far apart"])
@pytest.mark.nightly
@pytest.mark.timing
def test_the_top_of_a_million_candidates_takes_well_under_a_second(shape, k):
    """In turns of a plain loop, of which a second has about 17 million: the machine is shared, and may trace."""
    scores = {
        "equal": np.zeros(10**6, dtype=np.int64),
        "spread": np.arange(10**6),
        "far apart": 10**9 * np.arange(10**6),
    }
    mechanism = TopK(k=k, sensitivity=1, epsilon=1)
    assert len(set(mechanism.release(scores[shape]))) == k
    assert loops(lambda: mechanism.release(scores[shape])) < A_SECOND
