"""Permute and flip: within e^epsilon over all neighbours and reached, never worse than exponential, draws that fit."""

import itertools
import math
import random
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from discreet.accounting import concentrated
from discreet.errors import ParameterError
from discreet.events import PureEvent
from discreet.exact.rounding import exp_up
from discreet.mechanisms.selection import Exponential, PermuteAndFlip
from discreet.mechanisms.selection.permute_and_flip import first_among
from fits import fit
from score_vectors import gaps, largest_ratio, monotone_neighbours, neighbours, vectors

FALSE_ALARM = 1e-6
DECAYS = [Fraction(1, 2), Fraction(2, 3), Fraction(9, 10)]


@cache
def law(standing, decay):
    """The exact law for a rational e^(-rate), by the code's own integral."""
    kept = [decay**gap for gap in standing]
    return [kept[place] * first_among([*kept[:place], *kept[place + 1 :]]) for place in range(len(kept))]


def by_orders(kept):
    """The definition: the mean over all orders of the chance to be the first that is kept."""
    found = [Fraction(0)] * len(kept)
    orders = list(itertools.permutations(range(len(kept))))
    for order in orders:
        left = Fraction(1, len(orders))
        for place in order:
            found[place] += left * kept[place]
            left *= 1 - kept[place]
    return found


@pytest.mark.guarantee("mechanisms.selection.permute_and_flip")
@pytest.mark.parametrize("decay", DECAYS, ids=str)
@pytest.mark.parametrize("sensitivity", [1, 2])
@pytest.mark.parametrize(("near", "moves"), [(neighbours, 2), (monotone_neighbours, 1)])
def test_probabilities_of_all_neighbours_stay_within_e_to_the_epsilon_and_reach_it(near, moves, sensitivity, decay):
    """e^epsilon is decay^-(2 sensitivity), or decay^-sensitivity for monotone scores: rationals, compared exactly."""
    ratios = {
        largest_ratio(law(gaps(scores), decay), law(gaps(other), decay))
        for scores in vectors(3, 4)
        for other in near(scores, sensitivity)
    }
    assert max(ratios) == decay ** (-moves * sensitivity)


@pytest.mark.guarantee("mechanisms.selection.permute_and_flip")
@pytest.mark.parametrize("standing", [(0,), (0, 0), (0, 3), (0, 1, 5), (2, 0, 0, 4), (0, 1, 1, 2, 7)], ids=str)
def test_the_integral_is_the_mean_over_all_orders(standing):
    kept = [Fraction(2, 3) ** gap for gap in standing]
    assert law(standing, Fraction(2, 3)) == by_orders(kept)
    assert sum(law(standing, Fraction(2, 3))) == 1


@pytest.mark.guarantee("mechanisms.selection.permute_and_flip")
def test_it_is_never_worse_than_the_exponential_mechanism():
    """At every level of the score, and so in the mean, by exact probabilities for random scores."""
    chooser = random.Random(6)  # noqa: S311 - chooses cases, not noise
    for _ in range(150):
        standing = (0, *(chooser.randrange(12) for _ in range(chooser.randrange(1, 6))))
        decay = Fraction(chooser.randrange(1, 20), 20)
        kept = [decay**gap for gap in standing]
        flipped, weighed = law(standing, decay), [part / sum(kept) for part in kept]
        for level in set(standing):
            within = [place for place, gap in enumerate(standing) if gap <= level]
            assert sum(flipped[place] for place in within) >= sum(weighed[place] for place in within)
        mean = sum(gap * (b - a) for gap, a, b in zip(standing, flipped, weighed, strict=True))
        assert mean > 0 or len(set(standing)) == 1 or decay == 0


def test_its_losses_are_not_within_an_interval_of_length_epsilon():
    here, there = law((0, 0), Fraction(1, 2)), law(gaps((-1, 1)), Fraction(1, 2))
    ratios = [b / a for a, b in zip(here, there, strict=True)]
    assert max(ratios) / min(ratios) == 7  # where e^epsilon is 4
    event = PermuteAndFlip(sensitivity=1, epsilon=0.2).event()
    assert event == PureEvent(Fraction(1, 5))
    assert concentrated.rho(event).rho == Fraction(1, 50)


@pytest.mark.parametrize("monotone", [False, True])
def test_the_probabilities_of_real_rates_keep_their_ratios_within_e_to_the_epsilon(monotone):
    mechanism = PermuteAndFlip(sensitivity=2, epsilon=Fraction(7, 10), monotone=monotone)
    near = monotone_neighbours if monotone else neighbours
    for scores in [(0, 0, 0), (4, 1, 0), (2, 2, 9)]:
        for other in near(scores, 2):
            for one, two in zip(mechanism.brackets(scores), mechanism.brackets(other), strict=True):
                assert one.low <= exp_up(mechanism.epsilon) * two.high


@pytest.mark.parametrize("scores", [[3, 1, 4, 4, 0], [0], [7, 7], [0, 10**30, 10**30 - 1], list(range(12))], ids=str)
def test_brackets_hold_the_probabilities_and_floats_show_them(scores):
    mechanism = PermuteAndFlip(sensitivity=1, epsilon=1)
    brackets, shown = mechanism.brackets(scores), mechanism.pmf(scores)
    for bracket, share in zip(brackets, shown, strict=True):
        assert bracket.high - bracket.low <= Fraction(1, 10**50)
        assert share == pytest.approx(float(bracket.low), rel=1e-9, abs=1e-50)
    assert sum(bracket.low for bracket in brackets) <= 1 <= sum(bracket.high for bracket in brackets)


@pytest.mark.statistical(false_alarm=1e-6)
@pytest.mark.parametrize("scores", [[3, 1, 4, 4, 0], [5, 5, 5], np.array([0, 9, 10], dtype=np.int8)], ids=str)
@pytest.mark.parametrize("monotone", [False, True])
def test_draws_fit_their_probabilities(scores, monotone, samples):
    """False-alarm rate 1e-6 for each."""
    mechanism = PermuteAndFlip(sensitivity=2, epsilon=1, monotone=monotone)
    draws = [mechanism.release(scores) for _ in range(samples(3_000))]
    assert fit(draws, dict(enumerate(mechanism.pmf(scores)))) > FALSE_ALARM


def test_the_chosen_score_is_near_the_best_but_for_beta():
    mechanism = PermuteAndFlip(sensitivity=1, epsilon=Fraction(1, 2))
    assert mechanism.utility(8, 0.05) == Exponential(sensitivity=1, epsilon=Fraction(1, 2)).utility(8, 0.05)
    for far in range(5, 40, 5):
        scores = [100] + [100 - far] * 7
        worse = sum(b.high for b, s in zip(mechanism.brackets(scores), scores, strict=True) if s < 100)
        assert worse <= Fraction(1, 20) or far <= mechanism.utility(8, 0.05)


def test_probabilities_of_many_candidates_are_refused_and_releases_are_not():
    mechanism = PermuteAndFlip(sensitivity=1, epsilon=1)
    assert math.fsum(mechanism.pmf(list(range(300)))) == pytest.approx(1)
    for shown in (mechanism.pmf, mechanism.brackets):
        with pytest.raises(ParameterError, match="at most"):
            shown([0] * 501)
    assert mechanism.release([0] * 501) in range(501)
