"""Amplification by shuffling: never below what small cases reveal, and as tight as the published numbers."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from discreet.accounting import shuffling
from discreet.errors import AccountingError, ParameterError

Counts = dict[tuple[int, ...], Fraction]


def _response(values: int, value: int, growth: Fraction) -> list[Fraction]:
    """The law of one report of k-ary randomized response."""
    return [(growth if each == value else 1) / (growth + values - 1) for each in range(values)]


def _shuffled(laws: list[list[Fraction]]) -> Counts:
    """The exact law of how often each report occurs, which is all that a random order shows."""
    counts: Counts = {(0,) * len(laws[0]): Fraction(1)}
    for law in laws:
        after: Counts = {}
        for state, mass in counts.items():
            for report, chance in enumerate(law):
                new = (*state[:report], state[report] + 1, *state[report + 1 :])
                after[new] = after.get(new, Fraction(0)) + mass * chance
        counts = after
    return counts


def _divergence(one: Counts, other: Counts, factor: Fraction) -> Fraction:
    return sum((max(Fraction(0), one[each] - factor * other[each]) for each in one), Fraction(0))


def _true_delta(values: int, n: int, growth: Fraction, factor: Fraction) -> Fraction:
    """The largest divergence over all values of the others, and both directions."""
    largest = Fraction(0)
    for others in itertools.combinations_with_replacement(range(values), n - 1):
        rest = [_response(values, each, growth) for each in others]
        one, other = (_shuffled([_response(values, value, growth), *rest]) for value in (0, 1))
        largest = max(largest, _divergence(one, other, factor), _divergence(other, one, factor))
    return largest


def _bound(n: int, growth: Fraction, factor: Fraction, clone: Fraction) -> Fraction:
    """The divergence of (A + D, C) from (A + 1 - D, C) in rationals, for a probability of a clone."""
    total = Fraction(0)
    for clones in range(n):
        mass = math.comb(n - 1, clones) * clone**clones * (1 - clone) ** (n - 1 - clones)
        for place in range(clones + 2):
            before, after = (Fraction(math.comb(clones, at) if at >= 0 else 0, 2**clones) for at in (place - 1, place))
            one = (growth * before + after) / (growth + 1)
            other = (before + growth * after) / (growth + 1)
            total += mass * max(Fraction(0), one - factor * other)
    return total


GROWTHS = (Fraction(3, 2), Fraction(3), Fraction(9))


@pytest.mark.guarantee("accounting.shuffling")
@pytest.mark.parametrize(("values", "n"), [(2, 2), (2, 4), (2, 7), (3, 3), (3, 5)])
def test_the_bound_is_never_below_shuffled_randomized_response(values, n):
    for growth in GROWTHS:
        clones = shuffling.Clones(growth, n - 1)
        for part in (0, 1, 3, 6, 9):
            factor = 1 + (growth - 1) * Fraction(part, 10)
            assert Fraction(clones.delta(factor)) >= _true_delta(values, n, growth, factor), (growth, part)


@pytest.mark.guarantee("accounting.shuffling")
def test_code_and_exact_sum_agree_and_the_code_is_above():
    for growth, n in itertools.product(GROWTHS, (1, 2, 7, 60)):
        clones = shuffling.Clones(growth, n - 1)
        for part in (0, 1, 4, 8):
            factor = 1 + (growth - 1) * Fraction(part, 10)
            exact = _bound(n, growth, factor, 1 / growth)
            assert exact <= Fraction(clones.delta(factor)) <= exact * (1 + Fraction(1, 10**9)) + Fraction(1, 10**20)


def test_binary_randomized_response_lies_between_two_probabilities_of_clones():
    """A control: with a little more clones than 2/(E + 1) the same sum would be below what is revealed."""
    growth, n, factor = Fraction(3), 6, Fraction(3, 2)
    true = _true_delta(2, n, growth, factor)
    assert _bound(n, growth, factor, Fraction(7, 4) * 2 / (growth + 1)) < true
    assert true <= _bound(n, growth, factor, 2 / (growth + 1)) < _bound(n, growth, factor, 1 / growth)


def _float_delta(n: int, local: float, epsilon: float) -> float:
    """The same by scipy's binomials, without directed rounding and blocks."""
    growth, factor, others = math.exp(local), math.exp(epsilon), n - 1
    reach = 14 * math.sqrt(others / growth) + 200
    clones = np.arange(max(0, int(others / growth - reach)), min(others, int(others / growth + reach)) + 1)
    first = np.floor((factor * growth - 1) / ((growth - 1) * (1 + factor)) * (clones + 1)) + 1
    share = growth / (growth + 1)
    given = (share - factor * (1 - share)) * binom.sf(first - 2, clones, 0.5)
    given += ((1 - share) - factor * share) * binom.sf(first - 1, clones, 0.5)
    return float(np.sum(binom.pmf(clones, others, 1 / growth) * np.maximum(given, 0)))


@pytest.mark.guarantee("accounting.shuffling")
@pytest.mark.parametrize(("n", "local"), [(1_000, 1), (10_000, 3), (100_000, 2), (1_000_000, 4)])
def test_large_numbers_agree_with_another_way_of_counting(n, local):
    found = shuffling.epsilon(local_epsilon=local, reports=n, delta=1e-6)
    there = float(shuffling.delta(local_epsilon=local, reports=n, epsilon=found))
    reference = _float_delta(n, local, float(found))
    assert reference * (1 - 1e-6) <= there <= 1e-6
    assert there <= reference * 1.06
    assert _float_delta(n, local, float(found) * 0.99) > 1e-6


PUBLISHED = {
    (10**3, 1): 0.190,
    (10**3, 2): 0.563,
    (10**4, 1): 0.055,
    (10**4, 3): 0.333,
    (10**5, 2): 0.047,
    (10**5, 5): 0.309,
    (10**6, 1): 0.005,
    (10**6, 4): 0.052,
    (10**6, 8): 0.458,
}
"""By the authors' code at delta 1e-6, whose grid of steps is coarser and so a little above."""


def test_epsilons_are_those_of_the_published_code_within_its_grid():
    for (n, local), published in PUBLISHED.items():
        found = float(shuffling.epsilon(local_epsilon=local, reports=n, delta=1e-6))
        assert 0.9 * published - 0.0005 <= found <= published, (n, local, found)
        assert found < shuffling.closed_form(local_epsilon=local, reports=n, delta=1e-6)


@pytest.mark.guarantee("accounting.shuffling")
def test_more_reports_never_weaken_the_guarantee_and_one_report_has_its_own():
    assert shuffling.delta(local_epsilon=1, reports=1, epsilon=1) < Fraction(1, 10**50)
    alone = (math.e - math.exp(0.5)) / (math.e + 1)
    assert float(shuffling.delta(local_epsilon=1, reports=1, epsilon=0.5)) == pytest.approx(alone, rel=1e-12)
    assert shuffling.epsilon(local_epsilon=1, reports=1, delta=1e-6) == pytest.approx(1, abs=1e-3)
    deltas = [shuffling.delta(local_epsilon=1, reports=n, epsilon=0.2) for n in (1, 2, 10, 100, 1_000, 10_000)]
    assert deltas == sorted(deltas, reverse=True)


def test_an_epsilon_meets_its_delta_and_is_at_most_the_local_one():
    for local, n, delta in ((0.5, 50, 1e-3), (8, 100, 1e-6), (2, 10**7, 1e-12)):
        found = shuffling.epsilon(local_epsilon=local, reports=n, delta=delta)
        assert 0 < found <= Fraction(str(local))
        assert found == Fraction(str(local)) or shuffling.delta(
            local_epsilon=local, reports=n, epsilon=found
        ) <= Fraction(str(delta))


def test_the_closed_form_is_infinite_where_its_theorem_says_nothing():
    assert shuffling.closed_form(local_epsilon=8, reports=1_000, delta=1e-6) == math.inf
    assert shuffling.closed_form(local_epsilon=1, reports=10, delta=1e-6) == math.inf


@pytest.mark.parametrize(
    "arguments",
    [
        {"local_epsilon": 0, "reports": 10, "delta": 1e-6},
        {"local_epsilon": 1, "reports": 0, "delta": 1e-6},
        {"local_epsilon": 1, "reports": 10, "delta": 0},
        {"local_epsilon": 1, "reports": 10.5, "delta": 1e-6},
    ],
)
def test_arguments_outside_their_range_are_refused(arguments):
    with pytest.raises(ParameterError):
        shuffling.epsilon(**arguments)


def test_a_local_epsilon_that_protects_nothing_is_refused():
    with pytest.raises(AccountingError, match="above 30"):
        shuffling.delta(local_epsilon=31, reports=10, epsilon=1)
    with pytest.raises(ParameterError):
        shuffling.delta(local_epsilon=1, reports=10, epsilon=-1)
