"""No lie is worth more than the theorem says: every lie of every coalition in every small market, by exact chances."""

import itertools
import math

import pytest

import discreet as dp
from examples import truthful

PRICES = (1, 2, 3)
REPORTS = (0, *PRICES)
MARKETS = list(itertools.product(REPORTS, repeat=3))
ROUNDING = 1e-12
MECHANISMS = [dp.mechanisms.Exponential, dp.mechanisms.PermuteAndFlip]


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
@pytest.mark.parametrize("liars", [1, 2, 3])
def test_no_lie_of_any_coalition_is_worth_more_than_the_theorem_says(liars, epsilon, mechanism):
    market = truthful.Market(PRICES, epsilon, mechanism)
    for values in MARKETS:
        for who in itertools.combinations(range(len(values)), liars):
            lie = truthful.best_lie(market, values, who, REPORTS)
            assert lie.worth <= math.exp(liars * epsilon) * lie.honest + ROUNDING
            assert lie.gain / liars <= math.tanh(liars * epsilon / 2) + ROUNDING
            assert liars > 1 or lie.gain <= 2 * epsilon


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_some_lie_pays_so_that_the_bound_says_something(epsilon):
    market = truthful.Market(PRICES, epsilon)
    gains = [truthful.best_lie(market, values, (0,), REPORTS).gain for values in MARKETS]
    assert max(gains) > epsilon / 100


def test_without_privacy_a_lie_pays_a_third():
    """The best price itself: somebody who is pivotal halves it by a lie."""
    market = truthful.Market(PRICES, 1_000.0, dp.mechanisms.Exponential)
    lie = truthful.best_lie(market, (3, 3, 0), (0,), REPORTS)
    assert lie.gain > 0.3


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_each_of_several_liars_is_bounded_as_the_coalition_is(mechanism):
    """What the outcome is worth to one of them, where the others lie to help."""
    market = truthful.Market(PRICES, 0.5, mechanism)
    for values in MARKETS[::5]:
        honest = market.worth(values, values, (0,))
        for told in itertools.product(REPORTS, repeat=2):
            lied = market.worth(values, (*told, values[2]), (0,))
            assert lied <= math.exp(2 * 0.5) * honest + ROUNDING


def test_under_add_remove_a_lie_is_two_steps_and_one_epsilon_is_not_enough():
    """Votes: one that is replaced moves one score up and another down, which the rate for one-way scores forgets."""
    epsilon = 0.5
    mechanism = dp.mechanisms.Exponential(sensitivity=1, epsilon=epsilon, monotone=True)
    losses = [
        math.log(one / other)
        for votes in itertools.product(range(1, 9), repeat=2)
        for one, other in zip(mechanism.pmf(votes), mechanism.pmf((votes[0] + 1, votes[1] - 1)), strict=True)
    ]
    assert epsilon < max(losses) <= 2 * epsilon + ROUNDING


def test_the_constants_of_the_theorem_order_as_it_says():
    for hundredths in range(1, 101):
        epsilon = hundredths / 100
        assert math.tanh(epsilon / 2) <= epsilon / 2 <= math.expm1(epsilon) <= 2 * epsilon


def test_the_account_is_short(capsys):
    truthful.main()
    assert len(capsys.readouterr().out.splitlines()) == 9
