"""Bets: no stake earns anything from a true claim, in exact expectation; and what is found is never above the truth."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.auditing.claims import claim
from discreet.auditing.statistical.e_values import PairCounts, Stake, Wealth, ladder

PROMISES = [claim(epsilon=1), claim(epsilon=0.1, delta=0.01), claim(epsilon=0), claim(rho=0.5), claim(mu=1)]
ONE_PAIR = [PairCounts(1, 0, 0, 0), PairCounts(0, 1, 0, 0), PairCounts(0, 0, 1, 0), PairCounts(0, 0, 0, 1)]

probabilities = st.floats(1e-6, 1 - 1e-6)


def largest_here(promise, there):
    """A probability that the promise, and so every weaker one, allows here."""
    lines = [promise.line(place) for place in (*np.geomspace(1e-6, 1, 200), there)]
    return min(1.0, *(line.slope * there + line.intercept for line in lines))


def paid(promise, stake, block):
    wealth = Wealth(promise, 0.01, 1000, (1.0,))
    wealth.settle(0, stake, block)
    return np.exp(wealth.logs[0])


@pytest.mark.parametrize("promise", PROMISES, ids=str)
@settings(deadline=None, max_examples=25)
@given(believed_here=probabilities, believed_there=probabilities, pairs=st.integers(1, 10**6), there=probabilities)
def test_no_belief_earns_from_a_true_claim(promise, believed_here, believed_there, pairs, there):
    stake = Stake(believed_here, believed_there, pairs)
    here = largest_here(promise, there)
    chances = [here * there, here * (1 - there), (1 - here) * there, (1 - here) * (1 - there)]
    expected = sum(chance * paid(promise, stake, block) for chance, block in zip(chances, ONE_PAIR, strict=True))
    at_or_above = ladder(promise.value) >= promise.value
    assert (expected[at_or_above] <= 1 + 1e-9).all()


@pytest.mark.parametrize("promise", PROMISES, ids=str)
@settings(deadline=None, max_examples=25)
@given(here=probabilities, there=probabilities, pairs=st.integers(1, 10**6))
def test_no_stake_can_lose_everything(promise, here, there, pairs):
    for block in ONE_PAIR:
        assert (paid(promise, Stake(here, there, pairs), block) > 0.09).all()


@pytest.mark.guarantee("auditing.statistical.e_values")
def test_the_chance_of_ever_refuting_a_true_claim_is_at_most_the_alarm_in_every_branch():
    """Four blocks of one pair each, all 256 branches with their exact chances, stakes from what came before."""
    promise, alarm, there = claim(epsilon=0.2), 0.5, 0.4
    here = math.exp(0.2) * there
    chances = [here * there, here * (1 - there), (1 - here) * there, (1 - here) * (1 - there)]
    refuted = total = 0.0
    for branch in product(range(4), repeat=4):
        wealth, hits_here, hits_there = Wealth(promise, alarm, 4, (0.5, 0.5)), 3, 0
        for pair, outcome in enumerate(branch):
            for player, belief in enumerate(
                (Stake.from_counts(hits_here, hits_there, pair + 3), Stake(0.9, 0.01, 10**4))
            ):
                wealth.settle(player, belief, ONE_PAIR[outcome])
            wealth.close_block()
            hits_here, hits_there = hits_here + (outcome in (0, 1)), hits_there + (outcome in (0, 2))
        chance = math.prod(chances[outcome] for outcome in branch)
        total += chance
        refuted += chance * wealth.refutes
    assert total == pytest.approx(1)
    assert 0 < refuted <= alarm


def test_a_claim_that_is_false_is_refuted_and_the_truth_is_not_passed():
    wealth = Wealth(claim(epsilon=1), 1e-3, 5000, (0.5, 0.5))
    for _ in range(10):
        wealth.settle(0, Stake.from_counts(800, 100, 1000), PairCounts(40, 360, 10, 90))
        wealth.close_block()
    assert wealth.refutes
    assert 1 < wealth.lower_bound < math.log(0.8 / 0.1)
    assert wealth.leader == 0
    assert wealth.evidence > math.log(1000)


def test_what_was_refuted_once_stays_refuted():
    wealth = Wealth(claim(epsilon=1), 1e-3, 5000, (1.0,))
    wealth.settle(0, Stake.from_counts(800, 10, 1000), PairCounts(0, 400, 0, 100))
    wealth.close_block()
    found = wealth.lower_bound
    wealth.settle(0, Stake.from_counts(800, 10, 1000), PairCounts(0, 0, 400, 100))
    wealth.close_block()
    assert wealth.refutes
    assert wealth.lower_bound == found > 1


def test_nothing_is_found_before_anything_is_seen():
    wealth = Wealth(claim(epsilon=1), 1e-3, 1000, (1.0,))
    wealth.close_block()
    assert (wealth.refutes, wealth.lower_bound, wealth.evidence) == (False, 0.0, 0.0)


@pytest.mark.parametrize("stated", [0.0, 1e-3, 0.5, 1.0, 8.0])
def test_the_ladder_rises_and_has_the_stated_parameter_on_it(stated):
    rungs = ladder(stated)
    assert (np.diff(rungs) > 0).all()
    assert stated in rungs


def test_a_claim_of_nothing_at_all_can_be_refuted():
    wealth = Wealth(claim(epsilon=0), 1e-3, 2000, (1.0,))
    wealth.settle(0, Stake.from_counts(600, 400, 1000), PairCounts(240, 360, 160, 240))
    wealth.close_block()
    assert wealth.refutes
    assert 0 < wealth.lower_bound < math.log(1.5)
