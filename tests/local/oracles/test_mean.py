"""What oracles of a mean have in common."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.local.oracles import DuchiResponse, HybridResponse
from grids import over

ORACLES = (DuchiResponse(4, Fraction(3)), HybridResponse(4, 1, 3, Fraction(3), Fraction(1, 2)))


@over("oracle", ORACLES)
def test_the_estimate_is_the_sum_of_scores(oracle):
    counts = np.arange(oracle.symbols)
    expected = sum(int(number) * oracle.score(symbol) for symbol, number in enumerate(counts))
    assert oracle.estimate(counts, int(counts.sum())) == pytest.approx([float(expected)])
    assert oracle.estimate(np.stack([counts, counts]), 0) == pytest.approx([2 * float(expected)])


@over("oracle", ORACLES)
def test_the_standard_error_is_that_of_the_step_of_largest_variance(oracle):
    assert oracle.standard_error(np.array([7.0]), 100) == pytest.approx([10 * float(oracle.worst_variance) ** 0.5])
    assert oracle.variance() == float(oracle.worst_variance) / 4
    assert oracle.variance(0) <= oracle.variance()


@over("oracle", ORACLES)
def test_the_influence_is_the_largest_score(oracle):
    assert oracle.influence() == max(abs(oracle.score(symbol)) for symbol in range(oracle.symbols)) / 4
    assert oracle.size == 5
