"""The order of trees: each term once, then those with strong sums more often, and none is forgotten."""

from collections import Counter

from discreet.learning.boosting.choice import TermQueue
from learning.boosting.boosting_cases import GENERATOR


def test_every_term_has_a_tree_in_the_first_round():
    queue = TermQueue(9, GENERATOR)
    assert sorted(queue.next_term() for _ in range(9)) == list(range(9))


def test_a_strong_term_has_more_trees_and_weak_ones_keep_a_share():
    queue = TermQueue(10, GENERATOR)
    counts = Counter()
    for _ in range(400):
        term = queue.next_term()
        counts[term] += 1
        queue.learn(term, 1_000 if term == 3 else 5, 8)
    assert counts[3] > 200
    assert min(counts[term] for term in range(10)) >= 4


def test_terms_are_even_where_no_sum_stands_out_of_the_noise():
    queue = TermQueue(5, GENERATOR)
    counts = Counter()
    for _ in range(50):
        term = queue.next_term()
        counts[term] += 1
        queue.learn(term, 0.0, 8)
    assert set(counts.values()) == {10}
