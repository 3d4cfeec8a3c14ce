"""Rules for keys draw with the chances, the noise and the rates that their price is proved from."""

import math
from fractions import Fraction

import numpy as np
import pytest

import draws as record
from discreet.events import ApproximateEvent, BoundedRangeEvent, ComposedEvent, RepeatedEvent
from discreet.exact.rounding import exp_down, exp_up
from discreet.mechanisms.hockey_stick import tail_up
from discreet.mechanisms.keys import GaussianThreshold, LaplaceThreshold, Optimal, TopKeys

RELATIONS = pytest.mark.parametrize(("neighbours", "sides"), [("add_remove", 1), ("replace_one", 2)])
ONE = 2**256
LARGEST = ONE - 1


def table(rule):
    """The chance of a key of 0, 1, 2, ... units, up to the first that is 1."""
    found = [rule.keep_probability(0)]
    while found[-1] < 1:
        found.append(rule.keep_probability(len(found)))
    return found


@pytest.mark.pitfall("B23")
@pytest.mark.draws("mechanisms.keys.optimal.Optimal")
@RELATIONS
@pytest.mark.parametrize("at_least", [1, 4])
def test_every_number_of_units_is_kept_by_exactly_the_bits_below_its_chance(draws, neighbours, sides, at_least):
    """256 bits for each key, of which the last below the chance keeps it and the first that is not does not."""
    rule = Optimal(epsilon=2, delta=Fraction(1, 20), groups=2, neighbours=neighbours, at_least=at_least)
    counts = list(range(len(table(rule)) + at_least + 2))
    chances = [int(rule.keep_probability(count) * ONE) for count in counts]
    draws.give_bits(*(max(0, chance - 1) for chance in chances), *(min(chance, LARGEST) for chance in chances))
    kept = rule.release(counts + counts)
    assert draws.calls == [record.Bits(256 * 2 * len(counts))]
    sure = [len(counts) + place for place, chance in enumerate(chances) if chance == ONE]
    assert kept == [place for place, chance in enumerate(chances) if chance] + sure
    assert rule.event() == ApproximateEvent(Fraction(2), Fraction(1, 20))
    assert rule.changed_keys == 2 * sides


def divergence(here, there, factor):
    """The exact hockey-stick divergence of independent keys, kept with these chances on either dataset."""
    ones, others = [Fraction(1)], [Fraction(1)]
    for one, other in zip(here, there, strict=True):
        ones = [mass * part for mass in ones for part in (one, 1 - one)]
        others = [mass * part for mass in others for part in (other, 1 - other)]
    return sum(max(Fraction(0), a - factor * b) for a, b in zip(ones, others, strict=True))


PRICES = [
    (Fraction(3, 2), Fraction(1, 20)),
    (Fraction(1), Fraction(1, 100)),
    (Fraction(1), Fraction(1, 10**6)),
    (Fraction(1, 10), Fraction(1, 1000)),
    (Fraction(4), Fraction(1, 20)),
]


@pytest.mark.pitfall("B23")
@pytest.mark.guarantee("mechanisms.keys.optimal")
@pytest.mark.parametrize(("epsilon", "delta"), PRICES, ids=str)
@RELATIONS
def test_over_all_counts_the_optimal_rule_spends_its_delta_and_no_more(epsilon, delta, neighbours, sides):
    """One key rises and, under replace-one, another falls, from every number of units.

    Under add/remove delta is reached; for two keys, whose epsilons add, by two thirds of it, and at a small epsilon
    all but reached.
    """
    rule = Optimal(epsilon=epsilon, delta=delta, neighbours=neighbours)
    chances = table(rule)
    rises = [(chances[:-1], chances[1:]), (chances[1:], chances[:-1])]
    found = [spent_by_all(rises[:1] + rises[1:] * (sides - 1), epsilon), spent_by_all(rises[1:], epsilon)]
    least = Fraction(97, 100) if sides == 1 or epsilon < 1 else Fraction(2, 3)
    assert least * delta < max(worst for worst, _ in found) <= delta
    assert max(rough for _, rough in found) <= float(delta) * (1 + 1e-9)


def spent_by_all(keys, epsilon):
    """The divergence of independent keys over all numbers of units, in floats; and exactly where that is largest."""
    ones, others = np.ones((1,)), np.ones((1,))
    for here, there in keys:
        one, other = (np.array([(float(chance), float(1 - chance)) for chance in side]) for side in (here, there))
        ones, others = (np.multiply.outer(mass, part) for mass, part in ((ones, one), (others, other)))
    outcomes = tuple(range(2, 2 * len(keys) + 1, 2))
    rough = np.maximum(0, ones - math.exp(epsilon) * others).sum(axis=outcomes)[0]
    place = np.unravel_index(rough.argmax(), rough.shape)
    exact = [[side[at] for (side, at) in zip(sides, place, strict=True)] for sides in zip(*keys, strict=True)]
    return divergence(*exact, exp_down(epsilon)), rough.max()


@pytest.mark.pitfall("B23")
@pytest.mark.parametrize("groups", [2, 3])
@pytest.mark.parametrize(("epsilon", "delta"), PRICES[::2], ids=str)
@RELATIONS
def test_several_keys_that_appear_at_once_spend_the_delta_and_no_more(epsilon, delta, groups, neighbours, sides):
    """A unit alone in all of its keys, which under replace-one takes the place of another such unit."""
    rule = Optimal(epsilon=epsilon, delta=delta, groups=groups, neighbours=neighbours)
    here = [rule.keep_probability(1)] * groups + [rule.keep_probability(0)] * groups * (sides - 1)
    spent = divergence(here, here[::-1] if sides == 2 else [Fraction(0)] * groups, exp_down(epsilon))
    whole = 1 - (1 - rule.keep_probability(1)) ** rule.changed_keys
    assert Fraction(97, 100) * delta < whole <= delta
    assert spent <= delta


def laplace_tail(noise, beyond):
    """P[Y > beyond], between two rationals."""
    step = -1 / Fraction(noise.scale)
    return exp_down(step * (beyond + 1)) / (1 + exp_up(step)), exp_up(step * (beyond + 1)) / (1 + exp_down(step))


@pytest.mark.pitfall("B23")
@pytest.mark.draws("mechanisms.keys.laplace.LaplaceThreshold", "mechanisms.keys.gaussian.GaussianThreshold")
@pytest.mark.parametrize("at_least", [1, 3])
@pytest.mark.parametrize("kind", [LaplaceThreshold, GaussianThreshold])
@RELATIONS
def test_every_key_that_is_considered_gets_the_noise_that_is_priced(draws, kind, neighbours, sides, at_least):
    price = {"epsilon": Fraction(1, 2)} if kind is LaplaceThreshold else {"rho": Fraction(1, 8)}
    rule = kind(**price, delta=Fraction(1, 1000), groups=3, neighbours=neighbours, at_least=at_least)
    noise, own = rule.event().events
    if kind is LaplaceThreshold:
        assert (noise.scale, noise.sensitivity) == (6 * sides, 3 * sides)
    else:
        assert (noise.squared_sensitivity, noise.dimension) == (3 * sides, 3 * sides)
        assert 12 * sides <= noise.variance < 12 * sides * (1 + Fraction(1, 2**50))
    assert own == ApproximateEvent(Fraction(0), Fraction(1, 1000))
    far = rule.threshold + at_least - 1
    units = [0, at_least - 1, far, far + 1, 10**6]
    considered = [count for count in units if count >= at_least]
    draws.give(*([0] * (len(considered) - 1)), 5)
    kept = rule.release(units)
    assert draws.calls == record.additive(ComposedEvent((noise,)), [len(considered)])
    assert kept == [(3, far + 1), (4, 10**6 + 5)]


@pytest.mark.pitfall("B23")
@pytest.mark.parametrize("kind", [LaplaceThreshold, GaussianThreshold])
@pytest.mark.parametrize("groups", [1, 3])
@RELATIONS
def test_a_key_of_one_unit_passes_a_threshold_within_delta_and_no_lower_threshold_would_do(
    kind, groups, neighbours, sides
):
    """All keys of a unit that nobody else has: none of them is kept, but with a probability of delta."""
    delta = Fraction(1, 10**6)
    price = {"epsilon": Fraction(1, 2)} if kind is LaplaceThreshold else {"rho": Fraction(1, 8)}
    rule = kind(**price, delta=delta, groups=groups, neighbours=neighbours)

    def shown(beyond):
        tail = laplace_tail(rule.noise, beyond)[1] if kind is LaplaceThreshold else tail_up(rule.noise.sigma, beyond)
        return 1 - (1 - tail) ** groups

    assert shown(rule.threshold - 1) <= delta < shown(rule.threshold - 2)
    assert rule.changed_keys == groups * sides


@pytest.mark.pitfall("B23")
@pytest.mark.draws("mechanisms.keys.top.TopKeys")
@RELATIONS
@pytest.mark.parametrize("sensitivity", [1, 3])
def test_the_best_keys_are_chosen_with_the_rate_and_the_bar_that_are_priced(draws, neighbours, sides, sensitivity):
    delta, words = Fraction(1, 1000), {"sensitivity": sensitivity, "groups": 2, "neighbours": neighbours}
    rule = TopKeys(k=2, epsilon=1, delta=delta, limit=4, **words)
    rule.release([7, 0, 9])
    rate = Fraction(1, 2) / (sensitivity * sides)
    candidates = [9, 7, 0, 0, rule.bar]
    gaps = tuple(max(candidates) - score for score in candidates)
    assert draws.calls == [record.Peeled(rate, gaps, 2)]
    choices = RepeatedEvent(BoundedRangeEvent(rate * sensitivity * sides), 2)
    assert rule.event() == ComposedEvent((choices, ApproximateEvent(Fraction(0), delta)))
    rare = min(2 * sides, 4)
    enough = rule.bar - sensitivity * sides
    assert rare / (rare + exp_down(rate * enough)) <= delta < rare / (rare + exp_up(rate * (enough - 1)))
