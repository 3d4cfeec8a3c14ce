"""Steps chosen by their ranks: scores against their definition, exact probabilities on neighbours, margins, prices."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.accounting.prices import price
from discreet.errors import ParameterError
from discreet.events import BoundedRangeEvent, ConcentratedEvent, PureEvent
from discreet.mechanisms.quantile import RankSelection, share_below
from fits import fit

SHARES = [Fraction(1, 2), Fraction(1, 4), Fraction(2, 3), Fraction(9, 10)]
SMALL = [counts for counts in itertools.product(range(4), repeat=3) if sum(counts) <= 5]
FALSE_ALARM = 1e-6


def distance(counts, step, share):
    """How far q n is outside of the ranks that a step stands for, by definition."""
    return max(Fraction(0), -depth(counts, step, share))


def depth(counts, step, share):
    """How deep q n is inside of them."""
    target, below = share * sum(counts), sum(counts[:step])
    return min(target - below, below + counts[step] - target)


def chosen(share, *, epsilon=None, rho=None, rows=1):
    worth = max(share.numerator, share.denominator - share.numerator)
    return RankSelection(probability=share, l1=rows * worth, epsilon=epsilon, rho=rho)


@pytest.mark.parametrize("share", SHARES, ids=str)
def test_a_score_is_the_depth_in_ranks_times_the_denominator_and_the_best_is_inside(share):
    for counts in [*SMALL, (2**70, 3, 2**69)]:
        expected = [share.denominator * depth(counts, step, share) for step in range(3)]
        assert list(map(int, chosen(share, epsilon=1).scores(counts))) == expected
        assert max(expected) >= 0


def test_the_nearest_step_is_the_lowest_that_has_the_quantile_among_its_ranks():
    median = chosen(Fraction(1, 2), epsilon=1)
    assert median.nearest([0, 3, 812, 790, 95]) == 3
    assert median.nearest([1, 0, 0, 1]) == 0
    assert median.nearest([0, 0, 0]) == 0
    assert chosen(Fraction(9, 10), epsilon=1).nearest([9, 0, 1]) == 0


@pytest.mark.guarantee("mechanisms.quantile.exponential")
@pytest.mark.pitfall("A9")
@pytest.mark.parametrize("share", SHARES, ids=str)
def test_one_row_more_changes_no_probability_by_more_than_epsilon_and_some_by_more_than_half_of_it(share):
    """By brackets of the exact probabilities, over all small tables and all places of the row."""
    epsilon, largest = Fraction(1), 0.0
    mechanism = chosen(share, epsilon=epsilon)
    chances = {counts: mechanism.selection.brackets(mechanism.scores(counts)) for counts in SMALL}
    for counts, step in itertools.product(SMALL, range(3)):
        more = tuple(count + (place == step) for place, count in enumerate(counts))
        if more not in chances:
            continue
        for one, other in zip(chances[counts], chances[more], strict=True):
            for low, high in ((one, other), (other, one)):
                assert math.log(high.low / low.high) <= epsilon
                largest = max(largest, math.log(high.high / low.low))
    assert largest > 0.5


@pytest.mark.guarantee("mechanisms.quantile.exponential")
@pytest.mark.parametrize("share", SHARES, ids=str)
def test_losses_of_the_exponential_mechanism_lie_within_the_range_that_the_event_states(share):
    rho = Fraction(1, 8)
    mechanism = chosen(share, rho=rho)
    event = mechanism.event()
    assert isinstance(event, BoundedRangeEvent)
    assert rho * (1 - Fraction(1, 10**9)) <= price(event).rho <= rho
    for counts, step in itertools.product(SMALL, range(3)):
        more = tuple(count + (place == step) for place, count in enumerate(counts))
        before, after = (np.array(mechanism.pmf(each)) for each in (counts, more))
        losses = np.log(before / after)
        assert losses.max() - losses.min() <= float(event.epsilon) + 1e-9
        for order in (1.5, 2, 10):
            divergence = math.log((before**order * after ** (1 - order)).sum()) / (order - 1)
            assert divergence <= order * rho + 1e-9


@pytest.mark.guarantee("mechanisms.quantile.exponential")
@pytest.mark.parametrize("share", SHARES, ids=str)
def test_a_unit_with_rows_in_several_groups_is_covered_by_the_sums_over_its_groups(share):
    """A unit of three rows, two in one group: epsilon by L1 = 3 rows, rho by squared L2 = 5."""
    worth = max(share.numerator, share.denominator - share.numerator)
    words = {"probability": share, "l1": 3 * worth, "l2_squared": 5 * worth**2}
    pure, concentrated = RankSelection(epsilon=1, **words), RankSelection(rho=Fraction(1, 8), **words)
    assert pure.event() == PureEvent(Fraction(1))
    assert isinstance(concentrated.event(), ConcentratedEvent)
    assert price(concentrated.event()).rho <= Fraction(1, 8)
    for counts, (a, b, c) in itertools.product(SMALL[::5], itertools.product(range(3), repeat=3)):
        first = tuple(n + (i == a) + (i == b) for i, n in enumerate(counts))
        second = tuple(n + (i == c) for i, n in enumerate(counts))
        losses = [np.abs(np.log(np.divide(*map(pure.pmf, (counts, more))))).max() for more in (first, second)]
        assert sum(losses) <= 1 + 1e-9
        spent = [
            _divergence(*(np.array(concentrated.pmf(each)) for each in (counts, more))) for more in (first, second)
        ]
        assert sum(spent) <= 2 / 8 + 1e-9


def _divergence(before, after):
    return math.log((before**2 / after).sum())


@pytest.mark.guarantee("mechanisms.quantile.exponential")
@pytest.mark.parametrize("share", SHARES, ids=str)
@pytest.mark.parametrize("confidence", [Fraction(1, 2), Fraction(19, 20), Fraction(999, 1000)], ids=str)
def test_the_margin_in_ranks_holds_as_often_as_it_says_by_the_exact_probabilities(share, confidence):
    for price_of in ({"epsilon": Fraction(1, 2)}, {"rho": Fraction(1, 50)}):
        mechanism = chosen(share, **price_of)
        for counts in ([30] * 12, [0, 500, 0, 0, 1, 500, 0], [1000, *[1] * 200], [0] * 5):
            margin = mechanism.margin(len(counts), confidence)
            chances = mechanism.pmf(counts)
            within = sum(p for step, p in enumerate(chances) if distance(counts, step, share) <= margin)
            assert within >= confidence - Fraction(1, 10**9)


def test_what_is_expected_of_any_rows_is_an_upper_bound_and_of_even_ones_nearly_what_happens():
    for price_of in ({"epsilon": Fraction(1, 2)}, {"rho": Fraction(1, 50)}):
        mechanism = chosen(Fraction(1, 4), **price_of)
        for counts in ([30] * 12, [3] * 40, [0, 500, 0, 0, 1, 500, 0], [1000, *[1] * 200]):
            happens = _mean_distance(mechanism, counts)
            assert happens <= mechanism.expected_error(len(counts))
        even = _mean_distance(mechanism, [3] * 40)
        assert even <= mechanism.expected_error(40, 120) * (1 + 1e-9) <= 2.5 * even


def _mean_distance(mechanism, counts):
    share = mechanism.probability
    return sum(p * distance(counts, step, share) for step, p in enumerate(mechanism.pmf(counts)))


@pytest.mark.statistical(false_alarm=1e-6)
def test_steps_are_drawn_with_their_probabilities(samples):
    """Two groups by two mechanisms: false-alarm rate 1e-6 for the four together."""
    groups = [[3, 4, 5, 0, 2], [0, 9, 0, 1, 0]]
    for mechanism in (chosen(Fraction(1, 4), epsilon=1), chosen(Fraction(1, 4), rho=Fraction(1, 8))):
        draws = [mechanism.release(groups) for _ in range(samples(4_000))]
        for place, counts in enumerate(groups):
            assert fit((draw[place] for draw in draws), dict(enumerate(mechanism.pmf(counts)))) > FALSE_ALARM / 4


@pytest.mark.parametrize("share", [0, 1, -0.5, 1.5, 2])
def test_ends_are_no_quantiles_and_are_refused_with_those_that_are_near(share):
    with pytest.raises(ParameterError) as caught:
        share_below(share)
    assert "one person" in caught.value.because
    assert "0.99" in caught.value.instead


def test_a_share_is_read_by_its_decimals_and_not_finer_than_a_millionth():
    assert share_below(0.1) == Fraction(1, 10)
    assert share_below(Fraction(1, 3)) == Fraction(1, 3)
    with pytest.raises(ParameterError, match="six decimals"):
        share_below(Fraction(1, 10**6 + 1))


def test_a_selection_has_one_price():
    for prices in ({}, {"epsilon": 1, "rho": 1}):
        with pytest.raises(ParameterError, match="exactly one of epsilon and rho"):
            RankSelection(probability=0.5, l1=1, **prices)
