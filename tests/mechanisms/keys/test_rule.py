"""What every rule for keys is told, and how numbers of units are read."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.mechanisms.keys import GaussianThreshold, LaplaceThreshold, Optimal
from discreet.mechanisms.keys.rule import counts_of

RULES = [
    Optimal(epsilon=1, delta=1e-6, groups=3, at_least=4),
    LaplaceThreshold(epsilon=1, delta=1e-6, groups=3, at_least=4),
    GaussianThreshold(rho=0.1, delta=1e-6, groups=3, at_least=4),
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
def test_needed_is_the_least_number_that_is_kept_so_often_and_kept_never_falls(rule):
    chances = [rule.keep_probability(units) for units in range(rule.least_units(0.95) + 5)]
    assert chances == sorted(chances)
    assert chances[:4] == [0, 0, 0, 0]
    for chance in (1e-7, 0.5, 0.95):
        assert chances[rule.least_units(chance)] >= chance > chances[rule.least_units(chance) - 1]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
def test_at_least_is_a_shift_of_what_is_taken_for_the_number_of_units(rule):
    for units in range(20):
        one, more = rule.effective_units(units), rule.effective_units(units + 1)
        assert more - one in (0, 1)
        assert (one == 0) == (units < rule.at_least)


@pytest.mark.parametrize("keys", [1, 2, 7, 10**6])
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
def test_the_deltas_of_single_keys_stay_within_the_whole(rule, keys):
    alone = rule.alone(keys)
    assert rule.delta / keys <= alone <= rule.delta
    assert 1 - (1 - alone) ** min(keys, 100) <= rule.delta * (Fraction(min(keys, 100), keys) + Fraction(1, 10**5))


def test_replacing_a_unit_changes_twice_as_many_keys():
    assert Optimal(epsilon=1, delta=1e-6, groups=3, neighbours="replace_one").changed_keys == 6
    assert Optimal(epsilon=1, delta=1e-6, groups=3).changed_keys == 3


def test_counts_are_read_from_lists_and_arrays():
    assert counts_of([0, 3, 2**62]) == [0, 3, 2**62]
    assert counts_of(np.array([1, 2])) == [1, 2]
    assert counts_of([]) == []
    with pytest.raises(ParameterError, match="float"):
        counts_of(3.0)
