"""Counts by L1 bounds: half of the bound and of the error of the number of rows."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.synthesis.answers.bounded import bounded_count
from discreet.synthesis.answers.noisy_marginals import NoisyMarginal, NoisyMarginals
from discreet.synthesis.core.domain import Domain
from discreet.synthesis.graphical.bounds import BoundTerms, MarginalBounds

NOISY = NoisyMarginals(Domain({"a": 2, "b": 2}), (NoisyMarginal(("a",), np.array([60.0, 50.0]), 2.0, {}),), ())
BOUNDS = MarginalBounds(4, {("a", "b"): BoundTerms(40, 0, 0), ("a", "b", "c"): BoundTerms(30, 0, 0)})
STATE = {"bounds": BOUNDS.to_json(), "model": {"total": 100.0, "potentials": []}}


@pytest.mark.guarantee("synthesis.answers.bounded")
def test_a_union_of_cells_has_half_of_the_bound_and_of_the_error_of_the_total():
    low, high = bounded_count(STATE, ("a", "b"), NOISY, Fraction(19, 20))
    total = NOISY.total(Fraction(199, 200))
    assert low == pytest.approx((total.lower - 100 - 30) / 2)
    assert high == pytest.approx((total.upper - 100 + 30) / 2)


@pytest.mark.guarantee("synthesis.answers.bounded")
def test_no_union_of_cells_is_farther_from_a_model_than_the_formula_says():
    """All 2^6 unions of 50 tables and models."""
    generator = np.random.default_rng(3)
    unions = ((np.arange(64)[:, None] >> np.arange(6)) & 1).astype(bool)
    for _ in range(50):
        counts, model = generator.integers(0, 9, 6), generator.random(6) * 9
        far, more = np.abs(counts - model).sum(), counts.sum() - model.sum()
        excess = unions @ (counts - model)
        assert excess.max() <= (more + far) / 2 + 1e-9
        assert excess.min() >= (more - far) / 2 - 1e-9


def test_marginals_that_were_no_candidate_have_no_bound():
    assert bounded_count(STATE, ("a", "d"), NOISY, Fraction(1, 2)) is None
    assert bounded_count({"model": {}}, ("a", "b"), NOISY, Fraction(1, 2)) is None
