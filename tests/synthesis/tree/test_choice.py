"""Edges form a forest: the strongest pairs first, none that closes a cycle, none that is worth less than its noise."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from discreet.synthesis.core.domain import Domain
from discreet.synthesis.core.private_counts import LARGEST_COUNT, Contribution, ExactCounts
from discreet.synthesis.tree.choice import EdgeChoice, choose_edges, merged_counts, share_by_cells, whole_numbers

DOMAIN = Domain({"a": 2, "b": 2, "c": 2, "d": 2})
HALVES = dict.fromkeys("abcd", np.array([500.0, 500.0]))


PAIRS = tuple(combinations("abcd", 2))


def counts(strength, pairs=PAIRS):
    tables = {}
    for pair in pairs:
        moved = strength.get("".join(pair), 0)
        tables[pair] = np.array([[250 + moved, 250 - moved], [250 - moved, 250 + moved]])
    return ExactCounts(DOMAIN, tables, Contribution(1, replace_one=False), Fraction(1))


def choice(sigma=1.0, rho=Fraction(1, 2)):
    return EdgeChoice(HALVES, 1_000.0, sigma, rho)


def test_the_strongest_pairs_that_close_no_cycle_are_the_edges():
    edges = choose_edges(counts({"ab": 200, "bc": 150, "ac": 140, "cd": 20, "ad": 10}), choice())
    assert edges == (("a", "b"), ("b", "c"), ("c", "d"))


def test_pairs_that_are_worth_less_than_their_noise_are_left_out():
    assert choose_edges(counts({"ab": 200}), choice(sigma=50.0)) == (("a", "b"),)
    assert choose_edges(counts({}), choice(sigma=50.0)) == ()


def test_pairs_that_were_not_counted_are_never_edges():
    edges = choose_edges(counts({"ab": 200, "cd": 50}, (("a", "b"), ("c", "d"))), choice())
    assert edges == (("a", "b"), ("c", "d"))


def test_all_choices_together_cost_at_most_what_they_may():
    private = counts({"ab": 200, "bc": 150, "cd": 20})
    choose_edges(private, choice(rho=Fraction(3, 10)))
    assert Fraction(7, 10) <= private.left < Fraction(71, 100)


def test_larger_marginals_cost_more_and_all_cost_what_there_is():
    domain = Domain({"a": 8, "b": 1})
    shares = share_by_cells(domain, [("a",), ("b",)], Fraction(1, 7))
    assert sum(shares) == Fraction(1, 7)
    assert float(shares[0] / shares[1]) == pytest.approx(4)


def test_a_pair_of_the_workload_is_an_edge_before_a_pair_that_is_less_than_four_times_as_strong():
    table = counts({"ab": 200, "bc": 100, "ac": 90})
    wanted = choice()._replace(wanted=frozenset({("a", "c")}))
    assert choose_edges(table, choice())[:2] == (("a", "b"), ("b", "c"))
    assert choose_edges(table, wanted)[:2] == (("a", "c"), ("a", "b"))


def test_a_pair_of_the_workload_that_is_worth_less_than_its_noise_is_left_out():
    wanted = choice(sigma=50.0)._replace(wanted=frozenset({("a", "c")}))
    assert choose_edges(counts({"ab": 200}), wanted) == (("a", "b"),)


def test_marginals_of_the_workload_cost_more():
    domain = Domain({"a": 8, "b": 8})
    shares = share_by_cells(domain, [("a",), ("b",)], Fraction(1, 7), frozenset({("a",)}))
    assert sum(shares) == Fraction(1, 7)
    assert float(shares[0] / shares[1]) == pytest.approx(4 ** (2 / 3), rel=1e-3)


def test_estimates_are_whole_numbers_within_64_bits():
    assert whole_numbers(np.array([1.6, -1e30, 1e30])).tolist() == [2, -LARGEST_COUNT, LARGEST_COUNT]
    assert merged_counts(np.array([1.0, 2.0, 4.0]), (0, 1, 0)).tolist() == [5, 2]


def test_joined_pairs_are_linked_and_no_edges():
    private = counts({"ab": 200, "bd": 150, "cd": 20})
    joined = choice()._replace(joined=(("a", "b"),))
    assert choose_edges(private, joined) == (("b", "d"), ("c", "d"))


def test_required_pairs_are_edges_without_a_choice():
    required = choice()._replace(required=(("a", "d"),))
    assert choose_edges(counts({"ab": 200, "bd": 150, "cd": 20}), required) == (("a", "d"), ("a", "b"), ("c", "d"))
