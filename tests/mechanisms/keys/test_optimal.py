"""The optimal rule for keys: its probabilities keep epsilon and delta exactly, reach both, and are drawn exactly."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from discreet.accounting import prices
from discreet.errors import ParameterError
from discreet.events import ApproximateEvent
from discreet.exact.rounding import exp_down, exp_up
from discreet.mechanisms.keys import LaplaceThreshold, Optimal
from discreet.mechanisms.keys.optimal import BITS

UNIT = Fraction(1, 2**BITS)
RULES = [(0.01, 1e-9), (0.3, 1e-5), (1, 1e-9), (2, 0.1), (7, 1e-18), (40, 0.5)]


def chances(rule):
    """p(0), p(1), ... up to the first that is 1."""
    found = [rule.keep_probability(rule.at_least - 1)]
    while found[-1] < 1:
        found.append(rule.keep_probability(len(found) + rule.at_least - 1))
    return found


@pytest.mark.guarantee("mechanisms.keys.optimal")
@pytest.mark.pitfall("A12")
@pytest.mark.parametrize(("epsilon", "delta"), RULES)
def test_one_unit_more_changes_the_chance_of_a_key_within_epsilon_and_delta_exactly(epsilon, delta):
    """Both outcomes, kept and not kept, in both directions, for every number of units, in rationals."""
    rule = Optimal(epsilon=epsilon, delta=delta)
    factor, outside = exp_down(Fraction(str(epsilon))), rule.delta
    found = chances(rule)
    assert found[0] == 0
    assert found[-1] == 1
    for before, after in pairwise(found):
        assert before < after
        assert after <= factor * before + outside
        assert 1 - before <= factor * (1 - after) + outside


@pytest.mark.guarantee("mechanisms.keys.optimal")
@pytest.mark.parametrize(("epsilon", "delta"), RULES)
def test_every_chance_is_the_largest_that_the_one_before_allows(epsilon, delta):
    """A little more, by a few units of 2^-256 and what rounding e^epsilon takes, would break one of the two."""
    rule = Optimal(epsilon=epsilon, delta=delta)
    factor = exp_up(Fraction(str(epsilon)))
    slack = 2 * UNIT + factor - exp_down(Fraction(str(epsilon)))
    for before, after in pairwise(chances(rule)):
        if after < 1:
            more = after + slack
            assert more > factor * before + rule.delta or 1 - before > factor * (1 - more) + rule.delta
    assert rule.delta - rule.keep_probability(1) < UNIT


@pytest.mark.parametrize(("epsilon", "delta"), [(0.3, 1e-5), (1, 1e-9), (2, 0.1)])
def test_the_chances_are_those_of_the_closed_form(epsilon, delta):
    """As Desfontaines, Voss, Gipson and Mandayam give it."""
    rule, growth = Optimal(epsilon=epsilon, delta=delta), math.exp(epsilon)
    turn = 1 + math.floor(math.log((growth + 2 * delta - 1) / ((growth + 1) * delta)) / epsilon)
    turning = math.expm1(turn * epsilon) / math.expm1(epsilon) * delta
    for units, chance in enumerate(chances(rule)):
        low = math.expm1(units * epsilon) / math.expm1(epsilon) * delta
        late = math.exp(-(units - turn) * epsilon)
        high = (1 - late) * (1 + delta / math.expm1(epsilon)) + late * turning
        assert float(chance) == pytest.approx(low if units <= turn else min(1, high), rel=1e-9, abs=1e-13)


@pytest.mark.guarantee("mechanisms.keys.optimal")
@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
@pytest.mark.parametrize("groups", [1, 2, 3])
def test_all_keys_of_one_unit_together_keep_epsilon_and_delta(groups, neighbours):
    """The exact hockey-stick divergence of the product over all keys that a unit changes, at small numbers of units."""
    rule = Optimal(epsilon=Fraction(3, 2), delta=Fraction(1, 20), groups=groups, neighbours=neighbours)
    factor = exp_down(rule.epsilon)
    rises = [(count, count + 1) for count in (0, 1, 2, 4)]
    falls = [(after, before) for before, after in rises]
    pairs = [[side] * groups for side in (rises[0], rises[1], rises[2], rises[3], falls[0], falls[1])]
    if neighbours == "replace_one":
        pairs += [[up] * groups + [down] * groups for up in rises for down in falls]
    for pair in pairs:
        here, there = [Fraction(1)], [Fraction(1)]
        for before, after in pair:
            here = [
                mass * part
                for mass in here
                for part in (rule.keep_probability(before), 1 - rule.keep_probability(before))
            ]
            there = [
                mass * part
                for mass in there
                for part in (rule.keep_probability(after), 1 - rule.keep_probability(after))
            ]
        assert sum(max(Fraction(0), a - factor * b) for a, b in zip(here, there, strict=True)) <= rule.delta


@pytest.mark.guarantee("mechanisms.keys.optimal")
def test_keys_of_too_few_units_are_never_kept_and_others_as_if_they_had_so_many_fewer():
    rule, plain = Optimal(epsilon=1, delta=1e-6, at_least=5), Optimal(epsilon=1, delta=1e-6)
    assert [rule.keep_probability(count) for count in range(5)] == [0] * 5
    assert [rule.keep_probability(count + 4) for count in range(30)] == [
        plain.keep_probability(count) for count in range(30)
    ]
    assert rule.release([4] * 10_000) == []


@pytest.mark.guarantee("mechanisms.keys.optimal")
@pytest.mark.parametrize(("epsilon", "delta"), [(0.3, 1e-5), (1, 1e-9), (2, 1e-4)])
def test_no_key_is_kept_less_often_than_by_a_threshold_with_laplace_noise(epsilon, delta):
    rule, threshold = Optimal(epsilon=epsilon, delta=delta), LaplaceThreshold(epsilon=epsilon, delta=delta)
    assert all(
        float(rule.keep_probability(units)) >= threshold.keep_probability(units) * (1 - 1e-9) for units in range(200)
    )
    assert rule.least_units() <= threshold.least_units()


@pytest.mark.statistical(false_alarm=1e-6)
def test_draws_fit_the_chances(samples):
    """False alarms: 1e-6, two-sided binomial tests over six numbers of units."""
    rule, draws = Optimal(epsilon=1, delta=0.01), samples(40_000)
    for units in range(6):
        kept = len(rule.release(np.full(draws, units)))
        assert stats.binomtest(kept, draws, float(rule.keep_probability(units))).pvalue > 1e-6 / 6
    assert rule.release([10**15] * 3) == [0, 1, 2]


def test_the_last_of_256_bits_decide_where_the_first_ones_do_not(monkeypatch):
    """Random bytes that are the chance itself do not keep a key; one less than it does."""
    rule = Optimal(epsilon=1, delta=0.01)
    chance = int(rule.keep_probability(2) / UNIT)
    for drawn, kept in ((chance, []), (chance - 1, [0])):
        monkeypatch.setattr("discreet.mechanisms.keys.optimal.random_bytes", lambda _, d=drawn: d.to_bytes(32))
        assert rule.release([2]) == kept


@pytest.mark.guarantee("mechanisms.keys.optimal")
@pytest.mark.pitfall("A12")
@pytest.mark.statistical(false_alarm=1e-6)
def test_a_hundred_thousand_singletons_stay_within_the_claimed_delta(samples):
    """Each is of another unit, which is in no other key: any one of them shows with at most delta, exactly.

    Together they show as often as so many flips of delta do. False alarm: 1e-6.
    """
    rule = Optimal(epsilon=1, delta=Fraction(49, 10_000))
    assert rule.keep_probability(1) <= rule.delta
    many = samples(100_000)
    shown = len(rule.release(np.ones(many, dtype=np.int64)))
    assert shown <= stats.binom.isf(1e-6, many, 0.0049)


def test_the_event_is_what_was_asked_for():
    rule = Optimal(epsilon=0.5, delta=1e-9, groups=7)
    assert rule.event() == ApproximateEvent(Fraction(1, 2), Fraction(1, 10**9))
    assert prices.price(rule.event()).epsilon == Fraction(1, 2)


def test_a_key_that_would_need_too_many_units_is_refused():
    with pytest.raises(ParameterError, match="units"):
        Optimal(epsilon=1e-6, delta=1e-9)


@pytest.mark.parametrize("units", ["12", [1.0], [True], [-1], [2**63], np.zeros((2, 2), dtype=int)])
def test_numbers_of_units_are_whole_and_no_message_shows_them(units):
    with pytest.raises(ParameterError) as refused:
        Optimal(epsilon=1, delta=1e-9).release(units)
    assert "-1" not in str(refused.value)
