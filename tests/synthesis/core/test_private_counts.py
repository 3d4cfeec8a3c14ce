"""Exact marginals give noisy marginals and private choices, up to the cost that was charged, and nothing else."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from discreet.synthesis.core.domain import Domain
from discreet.synthesis.core.private_counts import (
    LARGEST_COUNT,
    Candidate,
    Contribution,
    ExactCounts,
    PrivateCounts,
)

DOMAIN = Domain({"age": 3, "sex": 2})
PAIR = ("age", "sex")
ONE = Contribution(rows=1, replace_one=False)
ROWS = [(0, 0), (0, 1), (2, 1), (2, 1), (1, 0)]


def counts_of(rows, domain=DOMAIN):
    table = np.zeros(domain.shape(PAIR), dtype=np.int64)
    for place in rows:
        table[place] += 1
    return {("age",): table.sum(1), PAIR: table}


def exact(rows=ROWS, contribution=ONE, rho=Fraction(1)):
    return ExactCounts(DOMAIN, counts_of(rows), contribution, rho)


def distances(one, other):
    difference = (one - other).ravel()
    return int(np.abs(difference).sum()), int((difference**2).sum())


@pytest.mark.guarantee("synthesis.core.private_counts")
@pytest.mark.parametrize("rows", [1, 2, 3])
def test_no_unit_moves_a_marginal_further_than_its_contribution(rows):
    cells = list(product(range(3), range(2)))
    added, replaced = Contribution(rows, replace_one=False), Contribution(rows, replace_one=True)
    units = list(product(cells, repeat=rows))
    for unit in units:
        moved = distances(counts_of([*ROWS, *unit])[PAIR], counts_of(ROWS)[PAIR])
        assert moved[0] <= added.l1
        assert moved[1] <= added.l2_squared
    for unit, other in zip(units, reversed(units), strict=True):
        moved = distances(counts_of([*ROWS, *unit])[PAIR], counts_of([*ROWS, *other])[PAIR])
        assert moved[0] <= replaced.l1
        assert moved[1] <= replaced.l2_squared
    assert distances(counts_of([*ROWS, *units[0]])[PAIR], counts_of(ROWS)[PAIR]) == (added.l1, added.l2_squared)


@pytest.mark.guarantee("synthesis.core.private_counts")
def test_merged_slots_move_no_further():
    groups = {"age": (0, 1, 1)}
    for cell in product(range(3), range(2)):
        one, other = (exact(rows).merge(groups).measure(PAIR, Fraction(1, 2)) for rows in (ROWS, [*ROWS, cell]))
        assert distances(one.values, other.values) == (1, 1)


@pytest.mark.guarantee("synthesis.core.private_counts")
def test_scores_move_by_at_most_the_sensitivity_of_the_choice():
    contribution = Contribution(rows=2, replace_one=True)
    estimate = np.array([[1, 0], [4, -2], [0, 3]])
    seen = []

    class Seen(ExactCounts):
        def _choose(self, scores, mechanism):
            seen.append((scores[0], mechanism.sensitivity))
            return 0

    for unit in product(product(range(3), range(2)), repeat=2):
        for rows in ([*ROWS, *unit], [*ROWS, (0, 0), (0, 0)]):
            private = Seen(DOMAIN, counts_of(rows), contribution, Fraction(1))
            private.select([Candidate(PAIR, estimate, weight=3, penalty=7)], Fraction(1))
    scores = [score for score, _ in seen]
    assert {sensitivity for _, sensitivity in seen} == {3 * 4}
    assert max(abs(one - other) for one, other in zip(scores[::2], scores[1::2], strict=True)) <= 3 * 4


@pytest.mark.guarantee("synthesis.core.private_counts")
def test_what_is_spent_never_exceeds_what_was_charged():
    private = PrivateCounts(DOMAIN, counts_of(ROWS), ONE, Fraction(1, 10))
    private.measure(("age",), Fraction(1, 20))
    assert Fraction(1, 20) <= private.left < Fraction(51, 1000)
    candidates = [Candidate(PAIR, np.zeros((3, 2), dtype=np.int64))]
    private.merge({"age": (0, 0, 1)}).select([Candidate(PAIR, np.zeros((2, 2), dtype=np.int64))], Fraction(1, 40))
    assert Fraction(1, 40) <= private.left < Fraction(26, 1000)
    left = private.left
    for call in (lambda: private.measure(PAIR, Fraction(1, 30)), lambda: private.select(candidates, Fraction(1, 30))):
        with pytest.raises(RuntimeError, match="more than was charged"):
            call()
    assert private.left == left


@pytest.mark.guarantee("synthesis.core.private_counts")
def test_the_noise_is_calibrated_to_the_contribution():
    sigmas = {
        (rows, replace_one): ExactCounts(DOMAIN, counts_of(ROWS), Contribution(rows, replace_one), Fraction(1))
        .measure(PAIR, Fraction(1, 8))
        .sigma
        for rows in (1, 5)
        for replace_one in (False, True)
    }
    assert sigmas[1, False] == pytest.approx(2)
    assert sigmas[5, False] == pytest.approx(10)
    assert sigmas[5, True] == pytest.approx(10 * 2**0.5)


def test_a_choice_is_one_that_its_estimate_describes_badly():
    good = Candidate(PAIR, counts_of(ROWS)[PAIR])
    bad = Candidate(("age",), np.zeros(3, dtype=np.int64))
    assert exact().select([good, bad], Fraction(1, 2)) == 1
    assert exact().select([good, bad._replace(penalty=100)], Fraction(1, 2)) == 0


def test_a_private_choice_is_one_of_the_candidates():
    private = PrivateCounts(DOMAIN, counts_of(ROWS), ONE, Fraction(10**6))
    good = Candidate(PAIR, counts_of(ROWS)[PAIR])
    assert private.select([good, Candidate(("age",), np.zeros(3, dtype=np.int64))], Fraction(10**6)) == 1
    assert private.candidates == (("age",), PAIR)


def test_estimates_and_weights_of_another_kind_are_refused():
    for candidate in (Candidate(PAIR, np.zeros((3, 2))), Candidate(PAIR, np.zeros((2, 2), dtype=np.int64))):
        with pytest.raises(ValueError, match="whole number for each cell"):
            exact().select([candidate], Fraction(1, 2))
    for weight in (0, -1):
        with pytest.raises(ValueError, match="weights"):
            exact().select([Candidate(PAIR, np.zeros((3, 2), dtype=np.int64), weight=weight)], Fraction(1, 2))


def test_a_weight_whose_methods_would_see_exact_distances_is_refused():
    class Weight(int):
        def __rmul__(self, other):
            raise AssertionError

    for given in ({"weight": Weight(1)}, {"penalty": Weight(1)}, {"weight": True}):
        with pytest.raises(TypeError, match="exact distances"):
            exact().select([Candidate(PAIR, np.zeros((3, 2), dtype=np.int64), **given)], Fraction(1, 2))


def test_a_huge_estimate_is_cut():
    huge = Candidate(("age",), np.full(3, np.iinfo(np.int64).max))
    assert exact().select([huge, Candidate(("age",), np.full(3, -LARGEST_COUNT))], Fraction(1, 2)) == 1


def test_counts_of_another_shape_or_of_too_many_cells_are_refused():
    with pytest.raises(ValueError, match="shape"):
        PrivateCounts(DOMAIN, {("age",): np.zeros(4, dtype=np.int64)}, ONE, Fraction(1))
    wide = Domain({"a": 3_000, "b": 3_000})
    with pytest.raises(ValueError, match="cells"):
        PrivateCounts(wide, {("a", "b"): np.zeros((3_000, 3_000), dtype=np.int64)}, ONE, Fraction(1))


def test_public_randomness_repeats_in_tests_alone():
    assert exact().public_generator().integers(1 << 62) == exact().public_generator().integers(1 << 62)
    private = PrivateCounts(DOMAIN, counts_of(ROWS), ONE, Fraction(1))
    assert private.public_generator().integers(1 << 62) != private.public_generator().integers(1 << 62)
