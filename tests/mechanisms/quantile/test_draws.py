"""Quantiles are chosen, or counted in a tree, with the rates and the noise that their price is proved from."""

from fractions import Fraction

import pytest

import draws as record
from discreet.events import BoundedRangeEvent, ComposedEvent, ConcentratedEvent, PureEvent
from discreet.mechanisms import Gaussian, Laplace
from discreet.mechanisms.quantile import NoisyTree, RankSelection

GROUPS = [[2, 0, 1, 0], [1, 1, 1, 1], [0, 0, 0, 4]]
# of the median of n rows, with B below and E up to a step, the score is min(n - 2B, 2E - n)
GAPS = [(0, 2, 2, 4), (2, 0, 0, 2), (8, 8, 8, 0)]


@pytest.mark.pitfall("B23")
@pytest.mark.draws("mechanisms.quantile.exponential.RankSelection")
@pytest.mark.parametrize("l1", [1, 6])
def test_a_pure_quantile_flips_in_every_group_with_the_rate_that_is_priced(draws, l1):
    mechanism = RankSelection(probability=Fraction(1, 2), l1=l1, epsilon=Fraction(1, 2))
    mechanism.release(GROUPS)
    rate = Fraction(1, 4 * l1)
    assert draws.calls == [record.FirstKept(rate, gaps) for gaps in GAPS]
    assert mechanism.event() == PureEvent(2 * l1 * rate)


@pytest.mark.pitfall("B23")
@pytest.mark.parametrize(("l1", "l2_squared"), [(2, 4), (6, 18)])
def test_a_quantile_for_a_rho_weighs_every_group_with_the_rate_that_is_priced(draws, l1, l2_squared):
    rho = Fraction(1, 2) if l2_squared == 4 else Fraction(1, 4)
    mechanism = RankSelection(probability=Fraction(1, 2), l1=l1, l2_squared=l2_squared, rho=rho)
    mechanism.release(GROUPS)
    (rate,) = {call.rate for call in draws.calls}
    assert draws.calls == [record.Peeled(rate, gaps, 1) for gaps in GAPS]
    assert rho * (1 - Fraction(1, 2**50)) < rate**2 * l2_squared / 2 <= rho
    one_group = BoundedRangeEvent(2 * l1 * rate)
    assert mechanism.event() == (one_group if l1**2 == l2_squared else ConcentratedEvent(rate**2 * l2_squared / 2))


@pytest.mark.pitfall("B23")
@pytest.mark.draws("mechanisms.quantile.tree.NoisyTree")
def test_every_level_of_a_tree_that_is_measured_has_its_own_noise(draws):
    levels = (Laplace(sensitivity=2, epsilon=1), None, Gaussian(sensitivity=2, rho=Fraction(1, 2)))
    tree = NoisyTree(levels)
    exact = [[5, 0, 1, 2], [8]]
    noisy = tree.release(exact)
    assert tree.event() == ComposedEvent((levels[0].event(), levels[2].event()))
    assert draws.calls == record.additive(tree.event(), [4, 1])
    assert record.carried(noisy, exact) == draws.returned
