"""Quantiles by ranks: exact ratios over all neighbours, the range reached, draws that fit, a margin that holds."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.accounting import pure
from discreet.errors import ParameterError
from discreet.exact.rounding import exp_down, exp_up
from discreet.mechanisms.sampled import PrivateMedian, PrivateQuantile
from fits import fit

DOMAIN = range(4)
RELATIONS = [("add_remove", 1), ("replace_one", 2)]


def quantile(fraction, neighbours="add_remove", blocks=3, epsilon=1) -> PrivateQuantile:
    return PrivateQuantile(
        fraction=fraction, bounds=(0, 3), blocks=blocks, epsilon=epsilon, grid=1, neighbours=neighbours
    )


def neighbours_of(answers, moved):
    """All lists of answers in which at most so many differ."""
    for others in itertools.product(DOMAIN, repeat=len(answers)):
        if sum(a != b for a, b in zip(answers, others, strict=True)) <= moved:
            yield others


def bracketed(mechanism, answers) -> list[tuple[Fraction, Fraction]]:
    """Rationals that the probability of each point lies between."""
    gaps = [int(gap) for gap in mechanism.gaps(answers)]
    lows, highs = [exp_down(-mechanism.rate * gap) for gap in gaps], [exp_up(-mechanism.rate * gap) for gap in gaps]
    return [(low / sum(highs), high / sum(lows)) for low, high in zip(lows, highs, strict=True)]


@pytest.mark.guarantee("mechanisms.sampled.private_quantile")
@pytest.mark.parametrize(("neighbours", "moved"), RELATIONS)
@pytest.mark.parametrize("fraction", [Fraction(1, 2), Fraction(1, 4), Fraction(2, 3)])
def test_the_losses_of_all_neighbours_lie_within_epsilon_and_some_pair_reaches_it(fraction, neighbours, moved):
    mechanism = quantile(fraction, neighbours, blocks=4)
    widest = Fraction(0)
    for answers in itertools.combinations_with_replacement(DOMAIN, 4):
        gaps = mechanism.gaps(answers)
        for others in neighbours_of(answers, moved):
            change = mechanism.gaps(others) - gaps
            assert abs(change).max() <= moved * fraction.denominator
            widest = max(widest, mechanism.rate * int(change.max() - change.min()))
    assert widest <= mechanism.epsilon
    if fraction == Fraction(1, 2) and moved == 1:
        assert widest == mechanism.epsilon


@pytest.mark.guarantee("mechanisms.sampled.private_quantile")
@pytest.mark.parametrize(("neighbours", "moved"), RELATIONS)
def test_no_ratio_of_probabilities_is_above_e_to_the_epsilon(neighbours, moved):
    mechanism = quantile(Fraction(1, 2), neighbours, epsilon=Fraction(3, 2))
    bound = exp_up(mechanism.epsilon)
    largest = Fraction(0)
    for answers in itertools.combinations_with_replacement(DOMAIN, 3):
        here = bracketed(mechanism, answers)
        for others in neighbours_of(answers, moved):
            there = bracketed(mechanism, others)
            largest = max(largest, *(high / low for (_, high), (low, _) in zip(here, there, strict=True)))
    assert 1 < largest <= bound * (1 + Fraction(1, 10**40))


@pytest.mark.guarantee("mechanisms.sampled.private_quantile")
@pytest.mark.parametrize("fraction", [Fraction(1, 2), Fraction(1, 5)])
def test_the_rank_margin_holds_for_every_list_of_answers(fraction):
    mechanism = PrivateQuantile(fraction=fraction, bounds=(0, 30), blocks=60, epsilon=2, grid=1)
    margin = mechanism.margin(0.9)
    generator = np.random.default_rng(1)
    for spread in (0, 1, 5, 30):
        answers = generator.integers(10 - min(spread, 10), 11 + spread, 60).tolist()
        gaps, masses = mechanism.gaps(answers), mechanism.pmf(answers)
        far = sum(m for gap, m in zip(gaps, masses, strict=True) if gap > margin * fraction.denominator)
        assert far <= 0.1


@pytest.mark.statistical(false_alarm=1e-6)
def test_draws_fit_the_probabilities(samples):
    """False-alarm rate 1e-6."""
    mechanism = quantile(Fraction(1, 2), blocks=5, epsilon=2)
    answers = [0, 1, 1, 2, 3]
    drawn = (int(mechanism.release(answers)) for _ in range(samples(4_000)))
    assert fit(drawn, dict(zip(DOMAIN, mechanism.pmf(answers), strict=True))) > 1e-6


def test_a_median_of_equal_answers_is_that_answer():
    mechanism = PrivateMedian(bounds=(0, 1_000), blocks=400, epsilon=1)
    # every other point is 200 ranks away: e^-100 times a thousand points
    assert mechanism.release([41.0] * 400) == 41


def test_a_gap_of_zero_is_at_the_quantile_and_grows_with_ranks():
    mechanism = PrivateMedian(bounds=(0, 4), blocks=5, epsilon=1, grid=1)
    assert mechanism.gaps([0, 1, 2, 3, 4]).tolist() == [3, 1, 0, 1, 3]
    assert mechanism.gaps([2, 2, 2, 2, 2]).tolist() == [5, 5, 0, 5, 5]
    assert quantile(Fraction(1, 4), blocks=4).gaps([0, 1, 2, 3]).tolist() == [0, 0, 4, 8]


def test_answers_beyond_the_bounds_count_at_the_bounds():
    mechanism = PrivateMedian(bounds=(0, 3), blocks=3, epsilon=1, grid=1)
    assert mechanism.gaps([10**400, -7, 1]).tolist() == mechanism.gaps([3, 0, 1]).tolist()


@pytest.mark.guarantee("mechanisms.sampled.private_quantile")
def test_the_event_costs_epsilon():
    assert pure.epsilon(quantile(Fraction(1, 4), epsilon=Fraction(1, 3)).event()) == Fraction(1, 3)


def test_the_margin_is_in_ranks_and_public():
    mechanism = PrivateMedian(bounds=(0, 1_000), blocks=100, epsilon=0.5, grid=1)
    assert mechanism.margin(0.95) == math.ceil(2 / 0.5 * math.log(1_001 / 0.05))
    doubled = PrivateMedian(bounds=(0, 1_000), blocks=100, epsilon=0.5, grid=1, neighbours="replace_one")
    assert doubled.margin(0.95) == math.ceil(4 / 0.5 * math.log(1_001 / 0.05))


@pytest.mark.parametrize("fraction", [0, 1, -0.5, 1.5, float("nan"), Fraction(1, 10**7), True])
def test_a_fraction_that_is_none_is_refused(fraction):
    with pytest.raises(ParameterError):
        quantile(fraction)


def test_a_grid_of_too_many_points_is_refused():
    with pytest.raises(ParameterError, match="2\\*\\*20 points"):
        PrivateMedian(bounds=(0, 2**20), blocks=10, epsilon=1, grid=1)
    assert PrivateMedian(bounds=(0, 2**20 - 1), blocks=3, epsilon=1, grid=1).release([5, 5, 5]) >= 0
