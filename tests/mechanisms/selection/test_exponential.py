"""Exponential: losses within an interval of epsilon over all neighbours, draws that fit, and a score near the best."""

import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from scipy.stats import binomtest

from discreet.accounting import concentrated, pure
from discreet.events import BoundedRangeEvent
from discreet.exact.rounding import exp_down, exp_up
from discreet.mechanisms import Laplace
from discreet.mechanisms.selection import Exponential
from discreet.mechanisms.selection.exponential import shares
from discreet.mechanisms.selection.scores import Bracket
from fits import fit
from score_vectors import gaps, monotone_neighbours, neighbours, vectors

FALSE_ALARM = 1e-6
DECAYS = [Fraction(1, 2), Fraction(2, 3), Fraction(9, 10)]


@cache
def law(standing, decay):
    """The exact law for a rational e^(-rate), by the code's own division."""
    return [part.low for part in shares([Bracket(decay**gap, decay**gap) for gap in standing])]


@pytest.mark.guarantee("mechanisms.selection.exponential")
@pytest.mark.parametrize("decay", DECAYS, ids=str)
@pytest.mark.parametrize("sensitivity", [1, 2])
@pytest.mark.parametrize(("near", "moves"), [(neighbours, 2), (monotone_neighbours, 1)])
def test_losses_of_all_neighbours_lie_within_an_interval_of_epsilon_and_reach_its_length(
    near, moves, sensitivity, decay
):
    """e^epsilon is decay^-(2 sensitivity), or decay^-sensitivity for monotone scores: rationals, compared exactly."""
    whole_range = decay ** (-moves * sensitivity)
    widest = largest = Fraction(0)
    for scores in vectors(3, 4):
        here = law(gaps(scores), decay)
        for other in near(scores, sensitivity):
            ratios = [b / a for a, b in zip(here, law(gaps(other), decay), strict=True)]
            widest = max(widest, max(ratios) / min(ratios))
            largest = max(largest, *ratios)
    assert widest == whole_range
    assert largest < whole_range


@pytest.mark.pitfall("A9")
def test_saying_monotone_of_scores_that_are_not_breaks_the_promise():
    """A positive control: one count down and another up, as where a unit is replaced, at half of the price."""
    here, there = law(gaps((0, 40)), Fraction(1, 2)), law(gaps((1, 39)), Fraction(1, 2))
    assert there[0] / here[0] > 2


def test_the_loss_comes_as_near_to_epsilon_as_one_likes():
    here, there = law(gaps((0, 60)), Fraction(1, 2)), law(gaps((1, 59)), Fraction(1, 2))
    assert Fraction(999, 1000) * 4 < there[0] / here[0] < 4


@pytest.mark.parametrize("monotone", [False, True])
def test_the_probabilities_of_real_rates_keep_their_ratios_within_e_to_the_epsilon(monotone):
    mechanism = Exponential(sensitivity=2, epsilon=Fraction(7, 10), monotone=monotone)
    near = monotone_neighbours if monotone else neighbours
    for scores in [(0, 0, 0), (4, 1, 0), (2, 2, 9)]:
        for other in near(scores, 2):
            for one, two in zip(mechanism.brackets(scores), mechanism.brackets(other), strict=True):
                assert one.low <= exp_up(mechanism.epsilon) * two.high


def test_the_event_says_bounded_range_and_is_priced_so():
    mechanism = Exponential(sensitivity=1, epsilon=0.2)
    assert mechanism.event() == BoundedRangeEvent(Fraction(1, 5))
    assert pure.epsilon(mechanism.event()) == Fraction(1, 5)
    assert concentrated.rho(mechanism.event()).rho == Fraction(1, 200)


@pytest.mark.parametrize("scores", [[3, 1, 4, 4, 0], [0], [7, 7], [0, 10**30, 10**30 - 1], [-5, -9]], ids=str)
def test_brackets_hold_the_probabilities_and_floats_show_them(scores):
    mechanism = Exponential(sensitivity=1, epsilon=1)
    brackets, shown = mechanism.brackets(scores), mechanism.pmf(scores)
    best = max(scores)
    weights = [math.exp(-min(best - score, 10**6) / 2) for score in scores]
    for bracket, float_share, weight in zip(brackets, shown, weights, strict=True):
        assert bracket.high - bracket.low <= Fraction(1, 10**50)
        assert float_share == pytest.approx(float(bracket.low), rel=1e-12, abs=1e-300)
        assert float_share == pytest.approx(weight / sum(weights), rel=1e-12, abs=1e-300)
    assert sum(bracket.low for bracket in brackets) <= 1 <= sum(bracket.high for bracket in brackets)


@pytest.mark.statistical(false_alarm=1e-6)
@pytest.mark.parametrize(
    "scores",
    [[3, 1, 4, 4, 0], [5, 5, 5], np.array([0, 9, 10], dtype=np.int8), [Fraction(1, 2), 3, Fraction(5, 2)]],
    ids=str,
)
@pytest.mark.parametrize("monotone", [False, True])
def test_draws_fit_their_probabilities(scores, monotone, samples):
    """False-alarm rate 1e-6 for each."""
    mechanism = Exponential(sensitivity=2, epsilon=1, monotone=monotone, grid=Fraction(1, 2))
    draws = [mechanism.release(scores) for _ in range(samples(3_000))]
    assert fit(draws, dict(enumerate(mechanism.pmf(scores)))) > FALSE_ALARM


def test_the_same_scores_on_another_grid_have_the_same_law():
    scores = [3, 1, 4]
    fine = Exponential(sensitivity=1, epsilon=1, grid=Fraction(1, 7))
    assert fine.brackets(scores) == Exponential(sensitivity=1, epsilon=1).brackets(scores)
    assert fine.pmf([Fraction(score) for score in scores]) == pytest.approx(fine.pmf(scores))


@pytest.mark.guarantee("mechanisms.selection.exponential")
@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("beta", [0.5, 0.05, 1e-6])
def test_the_chosen_score_is_near_the_best_but_for_beta(monotone, beta):
    """By exact probabilities: of all that are worse than the bound, together at most beta."""
    mechanism = Exponential(sensitivity=1, epsilon=Fraction(1, 2), monotone=monotone)
    for far in range(0, 120, 7):
        for many in (1, 2, 50):
            scores = [200] + [200 - far] * many
            worse = [
                bracket.high
                for bracket, score in zip(mechanism.brackets(scores), scores, strict=True)
                if 200 - score > mechanism.utility(len(scores), beta)
            ]
            assert sum(worse) <= Fraction(str(beta))
    truth = 2 / (1 + monotone) / 0.5 * (math.log(1000) + math.log(1 / beta))
    assert truth <= mechanism.utility(1000, beta) <= truth * (1 + 1e-9)


@pytest.mark.statistical(false_alarm=1e-6)
def test_in_practice_the_bound_fails_less_often_than_beta(samples):
    """False-alarm rate 1e-6: the true probability of failing is below beta."""
    mechanism = Exponential(sensitivity=1, epsilon=1, monotone=True)
    scores, many = list(range(100)), samples(1_000)
    bound = mechanism.utility(100, 0.2)
    failed = sum(99 - scores[mechanism.release(scores)] > bound for _ in range(many))
    assert binomtest(failed, many, 0.2, alternative="greater").pvalue > FALSE_ALARM


@pytest.mark.guarantee("mechanisms.selection.exponential")
@pytest.mark.parametrize("epsilon", [Fraction(1), Fraction(4)])
@pytest.mark.parametrize("answer", [0, 17])
def test_with_minus_the_distance_as_score_it_is_discrete_laplace_noise(epsilon, answer):
    """On a window that leaves out less than 10^-40 of the noise; the window alone makes the two differ."""
    mechanism = Exponential(sensitivity=3, epsilon=epsilon)
    laplace = Laplace.with_scale(scale=6 / epsilon, sensitivity=3)
    reach = math.ceil(95 * laplace.scale)
    places = range(answer - reach, answer + reach + 1)
    step = -1 / Fraction(laplace.scale)
    height = (1 - exp_up(step)) / (1 + exp_up(step)), (1 - exp_down(step)) / (1 + exp_down(step))
    outside = 2 * exp_up(step * (reach + 1))
    brackets = mechanism.brackets([-abs(answer - place) for place in places])
    for place, bracket in zip(places, brackets, strict=True):
        low = height[0] * exp_down(step * abs(place - answer))
        high = height[1] * exp_up(step * abs(place - answer))
        assert low <= bracket.high
        assert bracket.low * (1 - outside) <= high
        assert bracket.high - bracket.low <= bracket.low / 10**40
    assert laplace.epsilon == epsilon / 2
    assert mechanism.pmf([-abs(answer - place) for place in places])[reach] == pytest.approx(laplace.pmf(0), rel=1e-12)


@pytest.mark.statistical(false_alarm=1e-6)
def test_a_million_equal_scores_are_equally_likely_in_quarters(samples):
    """False-alarm rate 1e-6."""
    scores = np.full(10**6, 3)
    mechanism = Exponential(sensitivity=1, epsilon=1)
    quarters = [4 * mechanism.release(scores) // 10**6 for _ in range(samples(40))]
    assert fit(quarters, dict.fromkeys(range(4), 0.25)) > FALSE_ALARM
