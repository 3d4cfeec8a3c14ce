"""The top keys of a domain that is not known: the exact law over small tables, what it costs, and what it gives."""

import itertools
from collections import Counter
from fractions import Fraction
from functools import cache

import pytest

from discreet.accounting import prices
from discreet.errors import ParameterError
from discreet.mechanisms.keys import TopKeys
from fits import fit

DECAY = Fraction(2, 3)
"""e^(-rate): rational, so that all laws are, and e^epsilon is a power of it."""


@cache
def _orders(weights, names, k):
    """The probability of each list of names, chosen in turn until one is None."""
    law = Counter()
    total = sum(weights)
    for place, (weight, name) in enumerate(zip(weights, names, strict=True)):
        if name is None or k == 1:
            law[() if name is None else (name,)] += weight / total
            continue
        left = weights[:place] + weights[place + 1 :], names[:place] + names[place + 1 :]
        for rest, chance in _orders(*left, k - 1).items():
            law[(name, *rest)] += weight / total * chance
    return law


def law(mechanism, scores, decay=DECAY):
    """The exact law of a release, with e^(-rate) in the place of the mechanism's own."""
    places, candidates = mechanism.candidates(scores)
    best = max(candidates)
    weights = tuple(decay ** (best - score) for score in candidates)
    return _orders(weights, (*places, *[None] * (len(candidates) - len(places))), mechanism.k)


def stated(mechanism, decay=DECAY):
    """e^epsilon and delta for this rate and this bar."""
    rare = min(mechanism.groups * (mechanism.score_sensitivity // mechanism.sensitivity), mechanism.limit)
    ahead = decay ** (mechanism.score_sensitivity - mechanism.bar)
    return decay ** (-mechanism.k * mechanism.score_sensitivity), rare / (rare + ahead)


def added(scores, groups, sensitivity):
    """Every table with one unit more: some scores rise, each by at most the sensitivity."""
    for moves in itertools.product(range(sensitivity + 1), repeat=len(scores)):
        if 0 < sum(map(bool, moves)) <= groups:
            yield tuple(score + move for score, move in zip(scores, moves, strict=True))


def apart(one, other, factor):
    """The hockey-stick divergence of two laws, in both directions."""
    outcomes = set(one) | set(other)
    return max(
        sum((max(Fraction(0), a[each] - factor * b[each]) for each in outcomes), Fraction(0))
        for a, b in ((one, other), (other, one))
    )


def mechanism_of(k, limit, groups, neighbours="add_remove", sensitivity=1, bar=2):
    """One whose bar is so far ahead, whatever epsilon and delta that takes."""
    made = TopKeys(
        k=k, epsilon=k, delta=0.4, groups=groups, neighbours=neighbours, sensitivity=sensitivity, limit=limit
    )
    return type("Placed", (TopKeys,), {"bar": made.score_sensitivity + bar})(
        k=k, epsilon=k, delta=0.4, groups=groups, neighbours=neighbours, sensitivity=sensitivity, limit=limit
    )


@pytest.mark.guarantee("mechanisms.keys.top")
@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize(("k", "limit"), [(1, 1), (1, 3), (2, 2), (2, 3)])
def test_one_unit_more_keeps_epsilon_and_delta_over_all_small_tables(k, limit, groups):
    """Four keys with up to two units each: empty tables, ties, fewer keys than the limit, keys that enter and leave."""
    mechanism = mechanism_of(k, limit, groups)
    factor, delta = stated(mechanism)
    for scores in itertools.product(range(3), repeat=4):
        here = law(mechanism, scores)
        assert all(apart(here, law(mechanism, other), factor) <= delta for other in added(scores, groups, 1))


@pytest.mark.guarantee("mechanisms.keys.top")
@pytest.mark.parametrize("sensitivity", [1, 2])
def test_a_unit_in_another_s_place_keeps_epsilon_and_delta_over_all_small_tables(sensitivity):
    mechanism = mechanism_of(1, 2, 1, "replace_one", sensitivity)
    factor, delta = stated(mechanism)
    for scores in itertools.product(range(2), repeat=3):
        sides = list(added(scores, 1, sensitivity))
        for one, other in itertools.combinations(sides, 2):
            assert apart(law(mechanism, one), law(mechanism, other), factor) <= delta


@pytest.mark.guarantee("mechanisms.keys.top")
def test_units_with_several_rows_of_a_key_keep_epsilon_and_delta():
    mechanism = mechanism_of(2, 2, 2, sensitivity=2)
    factor, delta = stated(mechanism)
    for scores in itertools.product(range(3), repeat=3):
        here = law(mechanism, scores)
        assert all(apart(here, law(mechanism, other), factor) <= delta for other in added(scores, 2, 2))


@pytest.mark.guarantee("mechanisms.keys.top")
@pytest.mark.pitfall("A12")
def test_a_bar_without_room_for_what_one_unit_moves_is_caught():
    """As the threshold of a paper that forgets it: a key that only one neighbour has shows more often than delta."""
    mechanism = mechanism_of(1, 1, 1, bar=2)
    factor, delta = stated(mechanism)
    low = type("Low", (TopKeys,), {"bar": mechanism.bar - 1})(k=1, epsilon=1, delta=0.4, limit=1)
    assert apart(law(mechanism, (0,)), law(mechanism, (1,)), factor) <= delta
    assert apart(law(low, (0,)), law(low, (1,)), factor) > delta * Fraction(5, 4)


@pytest.mark.guarantee("mechanisms.keys.top")
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.2, 0.9])
@pytest.mark.parametrize("groups", [1, 5, 10**6])
def test_the_bar_is_the_least_that_delta_allows(groups, delta):
    mechanism = TopKeys(k=3, epsilon=2, delta=delta, groups=groups, limit=100)
    decay = 2.718281828459045 ** -float(mechanism.rate)
    rare, ahead = min(groups, 100), mechanism.bar - mechanism.score_sensitivity
    assert rare / (rare + decay**-ahead) <= delta * (1 + 1e-9)
    assert ahead == 0 or rare / (rare + decay ** -(ahead - 1)) > delta


@pytest.mark.statistical(false_alarm=1e-6)
def test_draws_fit_the_law(samples):
    """False-alarm rate 1e-6."""
    mechanism = TopKeys(k=1, epsilon=1, delta=0.3, limit=2)
    exact = law(mechanism, (3, 2, 1), Fraction(2.718281828459045**-1))
    drawn = (tuple(mechanism.release([3, 2, 1])) for _ in range(samples(1_500)))
    assert fit(drawn, {outcome: float(chance) for outcome, chance in exact.items()}) > 1e-6


def test_the_price_is_k_choices_of_bounded_range_and_delta():
    price = prices.total(TopKeys(k=10, epsilon=1, delta=1e-9).event())
    assert price == (1, Fraction(1, 80), Fraction(1, 10**9))


def test_keys_far_above_the_bar_are_chosen_in_order_and_singletons_never_seen():
    """The chance of another order is below 1e-40; no singleton is seen but with twice delta for two releases."""
    mechanism = TopKeys(k=3, epsilon=3, delta=1e-13)
    assert mechanism.release([200, 1, 900, *[1] * 20_000, 500]) == [2, 20_003, 0]
    assert mechanism.release([1] * 100_000) == []
    assert mechanism.release([]) == []


def test_utility_says_how_far_below_the_best_the_chosen_may_be():
    mechanism = TopKeys(k=2, epsilon=1, delta=1e-9, limit=10)
    assert float(mechanism.utility(0.05)) == pytest.approx(2 * 6.0867, rel=1e-3)


@pytest.mark.parametrize("words", [{"k": 0}, {"k": 11}, {"delta": 0}, {"sensitivity": 0}, {"limit": 10**7}])
def test_parameters_that_mean_nothing_are_refused(words):
    with pytest.raises(ParameterError):
        TopKeys(**({"k": 1, "epsilon": 1, "delta": 1e-9, "limit": 10} | words))
