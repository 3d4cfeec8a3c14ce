"""The rate of false alarms of a fit holds, against all outcomes of few draws; and it finds what is off."""

import math
from itertools import product

import pytest

from fits import alike, bound, fit


@pytest.mark.parametrize("law", [(0.5, 0.5), (0.9, 0.1), (0.2, 0.3, 0.5), (0.001, 0.009, 0.99)], ids=str)
@pytest.mark.parametrize("draws", [1, 5, 30])
def test_a_fit_is_at_most_p_with_probability_at_most_p(law, draws):
    outcomes = [seen for seen in product(range(draws + 1), repeat=len(law)) if sum(seen) == draws]
    chances = []
    for seen in outcomes:
        ways = math.factorial(draws) // math.prod(map(math.factorial, seen))
        chance = ways * math.prod(share**number for share, number in zip(law, seen, strict=True))
        chances.append((bound(zip(seen, law, strict=True)), chance))
    assert math.fsum(chance for _, chance in chances) == pytest.approx(1)
    for p in {p for p, _ in chances}:
        assert math.fsum(chance for other, chance in chances if other <= p) <= p * (1 + 1e-9)


def test_draws_in_their_shares_fit_and_others_do_not():
    law = {"a": 0.5, "b": 0.3, "c": 0.2}
    assert fit("a" * 500 + "b" * 300 + "c" * 200, law) == 1
    assert fit("a" * 600 + "b" * 200 + "c" * 200, law) < 1e-9


def test_what_the_law_leaves_out_is_one_cell_and_what_cannot_be_is_never_by_chance():
    assert fit("a" * 50 + "xyz" * 16 + "x", {"a": 0.5}) == 1
    assert fit("a" * 20 + "x", {"a": 1.0}) == 0
    assert fit("aaa", {"a": 1.0}) == 1


@pytest.mark.parametrize("share", [0.5, 0.1, 0.01])
def test_two_samples_of_one_law_are_told_apart_with_probability_at_most_p(share):
    many = 12
    masses = [math.comb(many, seen) * share**seen * (1 - share) ** (many - seen) for seen in range(many + 1)]
    samples = [[True] * seen + [False] * (many - seen) for seen in range(many + 1)]
    found = [(alike(samples[a], samples[b], 2), masses[a] * masses[b]) for a, b in product(range(many + 1), repeat=2)]
    for p in {p for p, _ in found}:
        assert math.fsum(chance for other, chance in found if other <= p) <= p * (1 + 1e-9)


def test_two_samples_of_two_laws_are_told_apart():
    assert alike("ab" * 100, "abb" + "ab" * 98, 2) == 1
    assert alike("ab" * 1_000, "aab" * 666, 2) < 1e-6
