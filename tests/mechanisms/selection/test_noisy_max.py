"""Noisy max: each noise within e^epsilon over all neighbours, its equal in law, its gap for free, and its speed."""

import math
from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import permutations, product

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.events import BoundedRangeEvent, PureEvent
from discreet.exact.rounding import double_up, exp_up
from discreet.mechanisms import Laplace
from discreet.mechanisms.selection import Exponential, NoisyMax, PermuteAndFlip, noisy_max
from discreet.mechanisms.selection.noisy_max import chances
from fits import alike, fit
from loops import A_SECOND, loops
from score_vectors import gaps, largest_ratio, monotone_neighbours, neighbours, vectors

FALSE_ALARM = 1e-6
DECAYS = [Fraction(1, 2), Fraction(9, 10)]
NOISES = ["laplace", "exponential", "gumbel"]


@cache
def law(standing, decay):
    return chances(list(standing), decay)


@pytest.mark.guarantee("mechanisms.selection.noisy_max")
@pytest.mark.parametrize("decay", DECAYS, ids=str)
@pytest.mark.parametrize("sensitivity", [1, 2])
@pytest.mark.parametrize(("near", "moves"), [(neighbours, 2), (monotone_neighbours, 1)])
def test_laplace_probabilities_of_all_neighbours_stay_within_e_to_the_epsilon(near, moves, sensitivity, decay):
    """e^epsilon is decay^-(2 sensitivity), or decay^-sensitivity for monotone scores: rationals, compared exactly."""
    largest = max(
        largest_ratio(law(gaps(scores), decay), law(gaps(other), decay))
        for scores in vectors(3, 4)
        for other in near(scores, sensitivity)
    )
    assert largest < decay ** (-moves * sensitivity)


def test_the_loss_of_laplace_noise_comes_as_near_to_epsilon_as_one_likes():
    here, there = law(gaps((0, 40)), Fraction(1, 2)), law(gaps((-1, 41)), Fraction(1, 2))
    assert Fraction(95, 100) * 4 < here[0] / there[0] < 4


def by_sums(standing, decay, reach):
    """The law of the largest with ties shared, summed over all noise within a reach."""
    height = (1 - decay) / (1 + decay)
    found = [Fraction(0)] * len(standing)
    for noise in product(range(-reach, reach + 1), repeat=len(standing)):
        values = [y - gap for y, gap in zip(noise, standing, strict=True)]
        tied = [place for place, value in enumerate(values) if value == max(values)]
        share = height ** len(noise) * decay ** sum(map(abs, noise)) / len(tied)
        for place in tied:
            found[place] += share
    return found


@pytest.mark.guarantee("mechanisms.selection.noisy_max")
@pytest.mark.parametrize("standing", [(0,), (0, 0), (0, 1), (0, 4), (0, 1, 3), (2, 0, 0)], ids=str)
def test_the_law_in_closed_form_is_the_sum_over_all_noise(standing):
    decay, reach = Fraction(1, 5), 9
    outside = 2 * len(standing) * decay ** (reach + 1) / (1 + decay)
    for closed, summed in zip(law(standing, decay), by_sums(standing, decay, reach), strict=True):
        assert summed <= closed <= summed + outside
    assert sum(law(standing, decay)) == 1


@pytest.mark.parametrize("scores", [[3, 1, 4, 4, 0], [0], [7, 7], [0, 30, 31]], ids=str)
@pytest.mark.parametrize("noise", NOISES)
def test_brackets_hold_the_probabilities_and_floats_show_them(noise, scores):
    mechanism = NoisyMax(sensitivity=1, epsilon=1, noise=noise)
    brackets, shown = mechanism.brackets(scores), mechanism.pmf(scores)
    for bracket, share in zip(brackets, shown, strict=True):
        assert bracket.low >= 0
        assert bracket.high - bracket.low <= Fraction(1, 10**50)
        assert share == pytest.approx(float(bracket.low), rel=1e-9, abs=1e-40)
    assert sum(bracket.low for bracket in brackets) <= 1 <= sum(bracket.high for bracket in brackets)


def test_the_brackets_of_laplace_noise_are_those_of_a_second_sum():
    """In floats, level by level, ties shared by an integral over t."""
    mechanism = NoisyMax(sensitivity=1, epsilon=1, noise="laplace")
    single = Laplace.with_scale(scale=2.0, sensitivity=1)
    nodes, lengths = np.polynomial.legendre.leggauss(4)
    for scores in ([0, 1, 5], [2, 2, 0, 9]):
        for place, bracket in enumerate(mechanism.brackets(scores)):
            total = 0.0
            for level in range(-100, 110):
                shared = np.ones(4)
                for other, score in enumerate(scores):
                    if other != place:
                        shared *= single.cdf(level - 1 - score) + single.pmf(level - score) * (nodes + 1) / 2
                total += single.pmf(level - scores[place]) * float(shared @ lengths) / 2
            assert float(bracket.low) == pytest.approx(total, rel=1e-10)


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("noise", NOISES)
def test_the_probabilities_of_real_rates_keep_their_ratios_within_e_to_the_epsilon(noise, monotone):
    mechanism = NoisyMax(sensitivity=2, epsilon=Fraction(7, 10), monotone=monotone, noise=noise)
    near = monotone_neighbours if monotone else neighbours
    for scores in [(0, 0, 0), (4, 1, 0)]:
        here = mechanism.brackets(scores)
        for other in near(scores, 2):
            for one, two in zip(here, mechanism.brackets(other), strict=True):
                assert one.low <= exp_up(mechanism.epsilon) * two.high


@pytest.mark.guarantee("mechanisms.selection.noisy_max")
@pytest.mark.statistical(false_alarm=2e-6)
def test_exponential_noise_is_permute_and_flip_and_gumbel_noise_the_exponential_mechanism(samples):
    """Draws of real exponentials and Gumbels, by another library, against our laws. False-alarm rate 1e-6 for each."""
    scores, draws = np.array([3, 1, 4, 4, 0]), samples(200_000)
    generator = np.random.default_rng()
    shapes = {
        "exponential": (generator.exponential(2.0, (draws, 5)), PermuteAndFlip(sensitivity=1, epsilon=1)),
        "gumbel": (generator.gumbel(0.0, 2.0, (draws, 5)), Exponential(sensitivity=1, epsilon=1)),
    }
    for noise, (drawn, same) in shapes.items():
        winners = (scores + drawn).argmax(axis=1).tolist()
        assert fit(winners, dict(enumerate(same.pmf(scores)))) > FALSE_ALARM
        assert NoisyMax(sensitivity=1, epsilon=1, noise=noise).brackets(scores) == same.brackets(scores)


@pytest.mark.statistical(false_alarm=1e-6)
@pytest.mark.parametrize("scores", [[3, 1, 4, 4, 0], [5, 5, 5], np.array([0, 9, 10], dtype=np.int8)], ids=str)
@pytest.mark.parametrize("noise", NOISES)
def test_draws_fit_their_probabilities(noise, scores, samples):
    """False-alarm rate 1e-6 for each."""
    mechanism = NoisyMax(sensitivity=2, epsilon=1, monotone=True, noise=noise)
    draws = [mechanism.release(scores) for _ in range(samples(2_000))]
    assert fit(draws, dict(enumerate(mechanism.pmf(scores)))) > FALSE_ALARM


def test_events_are_those_of_the_noise_and_the_price_belongs_to_the_double_that_is_drawn():
    assert NoisyMax(sensitivity=1, epsilon=0.3).event() == PureEvent(Fraction(3, 10))
    assert NoisyMax(sensitivity=1, epsilon=0.3, noise="gumbel").event() == BoundedRangeEvent(Fraction(3, 10))
    for monotone, moves in ((False, 2), (True, 1)):
        for grid in (Fraction(1), Fraction(1, 7)):
            mechanism = NoisyMax(sensitivity=1, epsilon=0.3, monotone=monotone, grid=grid, noise="laplace")
            assert mechanism.scale == double_up(moves / grid / Fraction(3, 10))
            assert mechanism.epsilon == moves / grid / Fraction(mechanism.scale) <= Fraction(3, 10)
            assert mechanism.event() == PureEvent(mechanism.epsilon)
            assert mechanism.rate * mechanism.grid * Fraction(mechanism.scale) == 1


def needed(values, place, order):
    """The least noise with which a candidate wins, given the noisy values of the others and an order for ties."""
    position = {candidate: index for index, candidate in enumerate(order)}
    return max(value + (position[other] < position[place]) for other, value in enumerate(values) if other != place)


@pytest.mark.guarantee("mechanisms.selection.noisy_max")
@pytest.mark.parametrize(("near", "moves"), [(neighbours, 2), (monotone_neighbours, 1)])
def test_the_noise_needed_to_win_moves_by_at_most_as_much_as_differences_of_scores_do(near, moves):
    """The lemma behind the place and its gap: for every order and all noise of the others, over all neighbours."""
    reached = set()
    for scores in vectors(3, 2):
        for other in near(scores, 1):
            for noise in product(range(-1, 2), repeat=3):
                for order in permutations(range(3)):
                    here = needed([s + y for s, y in zip(scores, noise, strict=True)], 0, order) - scores[0]
                    there = needed([s + y for s, y in zip(other, noise, strict=True)], 0, order) - other[0]
                    reached.add(abs(here - there))
    assert max(reached) == moves


def gap_law(scores, decay, reach):
    """P of place and gap, for all noise within a reach, by the definition with every order of the candidates."""
    height = (1 - decay) / (1 + decay)
    found, orders = Counter(), list(permutations(range(len(scores))))
    for noise in product(range(-reach, reach + 1), repeat=len(scores)):
        values = [s + y for s, y in zip(scores, noise, strict=True)]
        share = height ** len(noise) * decay ** sum(map(abs, noise)) / len(orders)
        for order in orders:
            place = min(order, key=lambda candidate: (-values[candidate], order.index(candidate)))
            found[place, values[place] - needed(values, place, order)] += share
    return found


@pytest.mark.guarantee("mechanisms.selection.noisy_max")
def test_the_gap_to_the_runner_up_is_within_e_to_the_epsilon_too():
    """Exact sums over noise within a reach; what lies beyond is allowed for, and matters only for rare outcomes."""
    decay, reach = Fraction(1, 3), 7
    outside = 6 * decay ** (reach + 1) / (1 + decay)
    here = gap_law((1, 0, 1), decay, reach)
    for other in [(0, 1, 0), (2, -1, 0), (0, 0, 0), (2, 1, 2), (0, -1, 2)]:
        there = gap_law(other, decay, reach)
        for outcome in here:
            assert here[outcome] <= (there[outcome] + outside) / decay**2


@pytest.mark.statistical(false_alarm=1e-6)
def test_draws_of_place_and_gap_fit_their_probabilities(samples):
    """False-alarm rate 1e-6; against a sum over noise within a reach, without outcomes rarer than 10^-5."""
    mechanism = NoisyMax(sensitivity=1, epsilon=Fraction(5, 2), noise="laplace", grid=Fraction(1))
    decay = math.exp(-1 / mechanism.scale)
    law = {outcome: share for outcome, share in gap_law((1, 0, 1), decay, 8).items() if share > 1e-5}
    draws = [tuple(mechanism.release_with_gap([1, 0, 1])) for _ in range(samples(4_000))]
    kept = [draw for draw in draws if draw in law]
    assert len(draws) - len(kept) < samples(
        40
    )  # a binomial count of mean below 4 reaches 40 with probability below 1e-20
    total = sum(law.values())
    assert fit(kept, {outcome: share / total for outcome, share in law.items()}) > FALSE_ALARM


def test_the_gap_is_in_the_scores_own_terms():
    """The true gap is 5; the noise of scale 1/50 step never moves it: false-alarm rate below e^-40."""
    mechanism = NoisyMax(sensitivity=Fraction(1, 2), epsilon=100, noise="laplace", grid=Fraction(1, 2))
    found = {mechanism.release_with_gap([Fraction(5), 0, Fraction(-1, 2)]) for _ in range(20)}
    assert {place for place, _ in found} == {0}
    assert {gap for _, gap in found} <= {Fraction(5), Fraction(9, 2)}


def test_a_gap_is_refused_where_it_is_not_free_or_there_is_no_runner_up():
    for mechanism, scores in (
        (NoisyMax(sensitivity=1, epsilon=1), [71234, 0]),
        (NoisyMax(sensitivity=1, epsilon=1, noise="gumbel"), [71234, 0]),
        (NoisyMax(sensitivity=1, epsilon=1, noise="laplace"), [71234]),
    ):
        with pytest.raises(ParameterError, match="runner-up") as refusal:
            mechanism.release_with_gap(scores)
        assert "71234" not in str(refusal.value)


@pytest.mark.statistical(false_alarm=1e-6)
@pytest.mark.parametrize("scores", [[0] * 9, [6, 6, 0, 0, 0, 0, 0, 0, 0], [0, 2, 4, 6, 8, 10, 12, 30, 9]], ids=str)
@pytest.mark.parametrize("leaders", [1, 2, 4])
def test_noise_for_those_that_matter_gives_the_same_law_as_noise_for_all(monkeypatch, scores, leaders, samples):
    """With few leaders the short way is taken by nine candidates, and fits their exact law. False-alarm rate 1e-6."""
    monkeypatch.setattr(noisy_max, "_LEADERS", leaders)
    mechanism = NoisyMax(sensitivity=1, epsilon=1, noise="laplace")
    draws = [mechanism.release(scores) for _ in range(samples(1_500))]
    assert fit(draws, dict(enumerate(mechanism.pmf(scores)))) > FALSE_ALARM


@pytest.mark.statistical(false_alarm=1e-6)
def test_the_short_way_gives_the_same_gaps_too(monkeypatch, samples):
    """Two samples, with all noise and with the noise that matters: six places, gaps up to 4. False alarms: 1e-6."""
    mechanism = NoisyMax(sensitivity=1, epsilon=2, noise="laplace")
    scores = [3, 3, 1, 0, 0, 2]

    def drawn():
        found = (mechanism.release_with_gap(scores) for _ in range(samples(1_500)))
        return [(place, min(gap, 4)) for place, gap in found]

    with monkeypatch.context() as patch:
        patch.setattr(noisy_max, "_LEADERS", 2)
        short = drawn()
    assert alike(drawn(), short, 6 * 5) > FALSE_ALARM


@pytest.mark.guarantee("mechanisms.selection.noisy_max")
@pytest.mark.parametrize("noise", NOISES)
def test_the_chosen_score_is_near_the_best_but_for_beta(noise):
    mechanism = NoisyMax(sensitivity=1, epsilon=Fraction(1, 2), noise=noise)
    for beta in (Fraction(1, 2), Fraction(1, 20), Fraction(1, 10**4)):
        bound = mechanism.utility(4, beta)
        scores = [300, *[300 - math.floor(bound) - 1] * 3]
        worse = sum(bracket.high for bracket in mechanism.brackets(scores)[1:])
        assert worse <= beta
    assert mechanism.utility(1, 0.05) >= 0


def test_the_bound_of_laplace_noise_is_that_of_the_difference_of_two_draws():
    mechanism = NoisyMax(sensitivity=1, epsilon=1, noise="laplace")
    single = Laplace.with_scale(scale=2.0, sensitivity=1)
    for steps in (0, 1, 2, 7):
        truth = math.fsum(single.pmf(y) * (1 - single.cdf(y + steps - 1)) for y in range(-120, 121))
        assert float(mechanism._overtaking(steps)) == pytest.approx(truth, rel=1e-12)
    bound = mechanism.utility(100, 0.05)
    assert 99 * mechanism._overtaking(int(bound) + 1) <= Fraction(1, 20) < 99 * mechanism._overtaking(int(bound))
    assert mechanism.utility(1, 0.05) == 0
    assert NoisyMax(sensitivity=1, epsilon=1, noise="laplace", grid=Fraction(1, 4)).utility(100, 0.05).denominator in (
        1,
        2,
        4,
    )


@pytest.mark.parametrize("noise", ["normal", None, 1, "Laplace"])
def test_noise_that_is_not_proved_is_refused(noise):
    with pytest.raises(ParameterError, match="three distributions"):
        NoisyMax(sensitivity=1, epsilon=1, noise=noise)


def test_scales_beyond_the_sampler_and_laws_too_wide_to_sum_are_refused():
    with pytest.raises(ParameterError, match="steps of the grid"):
        NoisyMax(sensitivity=1, epsilon=1e-20, noise="laplace")
    mechanism = NoisyMax(sensitivity=1, epsilon=1, noise="laplace")
    for scores in ([0] * 11, [0, 71234]):
        with pytest.raises(ParameterError, match="within 300 steps") as refusal:
            mechanism.pmf(scores)
        assert "71234" not in str(refusal.value)


@pytest.mark.parametrize("shape", ["equal", "one far above", "spread", "wide"])
@pytest.mark.nightly
@pytest.mark.timing
def test_a_million_candidates_take_well_under_a_second(shape):
    """In turns of a plain loop, of which a second has about 17 million: the machine is shared, and may trace."""
    scores = {
        "equal": lambda: np.zeros(10**6, dtype=np.int64),
        "one far above": lambda: np.append(np.zeros(10**6 - 1, dtype=np.int64), 10**12),
        "spread": lambda: np.arange(10**6),
        "wide": lambda: [place << 80 for place in range(10**6)],
    }[shape]()
    mechanism = NoisyMax(sensitivity=1, epsilon=0.1, noise="laplace")
    assert loops(lambda: mechanism.release(scores)) < A_SECOND
