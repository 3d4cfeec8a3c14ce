"""L1 bounds hold for all candidates together."""

import json
import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from scipy.stats import binom

from discreet.mechanisms import Exponential, Gaussian
from discreet.synthesis.core.domain import Domain
from discreet.synthesis.core.measurement import Measurement
from discreet.synthesis.core.private_counts import Candidate, Contribution, PrivateCounts
from discreet.synthesis.graphical.bounds import (
    BoundTerms,
    MarginalBounds,
    bounds_from_json,
    merged_terms,
    round_terms,
    sum_terms,
)
from discreet.synthesis.graphical.selection import RoundsPlan, adaptive_rounds

DOMAIN = Domain(dict(zip("abcd", (2, 3, 4, 6), strict=True)))
PAIRS = list(combinations(DOMAIN.names, 2))


def tables(number=2000):
    generator = np.random.default_rng(2)
    a, b = generator.integers(2, size=number), generator.integers(3, size=number)
    c = np.where(generator.random(number) < 0.7, a + b, generator.integers(4, size=number))
    d = np.where(generator.random(number) < 0.99, a, generator.integers(6, size=number))
    rows = {"a": a, "b": b, "c": c, "d": d}
    found = {}
    for columns in [*((name,) for name in DOMAIN.names), *PAIRS]:
        found[columns] = np.zeros(DOMAIN.shape(columns), dtype=np.int64)
        np.add.at(found[columns], tuple(rows[name] for name in columns), 1)
    return found


@pytest.mark.guarantee("synthesis.graphical.bounds")
@pytest.mark.parametrize("logarithm", [0.1, 1.0, 2.5])
@pytest.mark.parametrize("exact", [((4, 0), (9, 1)), ((0, 0), (0, 0)), ((3, 3), (2, 2))])
def test_a_round_fails_with_at_most_its_two_events_summed_over_all_choices_and_noise(logarithm, exact):
    """Exact: the probabilities of all choices, and of all noise up to 12 steps, are added up."""
    candidates = [Candidate(("a",), np.array([1, 2]), 2, 1), Candidate(("b",), np.array([0, 2]), 1, 0)]
    noise = Gaussian(squared_sensitivity=1, rho=Fraction(1, 8))  # sigma 2
    distances = [
        int(np.abs(np.array(cells) - each.estimate).sum()) for cells, each in zip(exact, candidates, strict=True)
    ]
    scores = [each.weight * far - each.penalty for each, far in zip(candidates, distances, strict=True)]
    chances = Exponential(sensitivity=2, epsilon=Fraction(1, 2)).pmf(scores)
    failed = 0.0
    for place, chance in enumerate(chances):
        for z in product(range(-12, 13), repeat=2):
            noisy = Measurement(candidates[place].columns, np.array(exact[place]) + np.array(z), noise.sigma)
            terms = round_terms(candidates, place, noisy, 0.5, 1)
            if any(far > each.at(logarithm) for far, each in zip(distances, terms, strict=True)):
                failed += chance * noise.pmf(z[0]) * noise.pmf(z[1])
    assert failed <= 2 * math.exp(-logarithm)


@pytest.mark.guarantee("synthesis.graphical.bounds")
@pytest.mark.statistical(false_alarm=1e-4)
def test_all_bounds_hold_together_at_least_as_often_as_the_confidence(samples):
    """With a confidence of 1/2, more failures than a fair coin has with a probability of 1e-4 are a fault."""
    exact, failed, many = tables(), 0, samples(24)
    for _ in range(many):
        counts = PrivateCounts(DOMAIN, exact, Contribution(1, replace_one=False), Fraction(1, 50))
        result = adaptive_rounds(counts, RoundsPlan(3, 1000, dict.fromkeys(PAIRS, 1)))
        far = {pair: float(np.abs(result.model.marginal(pair) - exact[pair]).sum()) for pair in PAIRS}
        failed += any(far[pair] > result.bounds.l1(pair, 0.5) for pair in result.bounds.terms)
    assert binom.sf(failed - 1, many, 0.5) > 1e-4


def test_merged_slots_add_twice_the_rows_that_they_may_have():
    measurement = Measurement(("d",), np.array([90, 3, -1, 80, 2]), 2.0)
    terms = merged_terms(measurement, (0, 2, 2, 1, 2))
    assert terms.base == pytest.approx(2 * (4 + 2 * math.sqrt(2 * 3 * 5 * math.log(2))))
    assert terms.root == pytest.approx(4 * math.sqrt(3))


def test_bounds_add_up_grow_with_confidence_and_survive_json():
    both = sum_terms([BoundTerms(1, 2, 3), BoundTerms(10, 20, 30)])
    assert both == (11, 22, 33)
    bounds = MarginalBounds(4, {("a", "b"): both, ("a", "c"): BoundTerms(-1e6, 0, 0)})
    assert bounds.l1(("a", "b"), 0.5) == pytest.approx(11 + 22 * math.sqrt(2 * math.log(8)) + 33 * math.log(8))
    assert bounds.l1(("a", "b"), 0.99) > bounds.l1(("a", "b"))
    assert bounds.l1(("a", "c")) == 0
    assert bounds.l1(("c",)) is None
    assert bounds_from_json(json.loads(json.dumps(bounds.to_json()))) == bounds
