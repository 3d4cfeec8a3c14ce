"""Distances are exact fractions, for nominal and ordered values, in 64 bits and beyond."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from discreet.anonymity.generalisation.value_distances import ClassHistograms, ValueDistribution, value_ranks


def _reference(counts, totals, *, ordered):
    gaps = [Fraction(c, sum(counts)) - Fraction(total, sum(totals)) for c, total in zip(counts, totals, strict=True)]
    if not ordered:
        return sum(map(abs, gaps)) / 2
    return sum((abs(sum(gaps[: i + 1])) for i in range(len(gaps))), Fraction(0)) / max(1, len(gaps) - 1)


def _histograms(matrix):
    owners, values = np.nonzero(matrix)
    return ClassHistograms(owners, values, matrix[owners, values], len(matrix))


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("scale", [1, 10**9])
def test_distances_are_those_of_the_definition(ordered, scale):
    generator = np.random.default_rng(1)
    for _ in range(40):
        matrix = generator.integers(0, 4, size=(4, int(generator.integers(1, 6)))) * scale
        matrix[:, 0] += scale
        ranks = generator.permutation(matrix.shape[1])
        distribution = ValueDistribution(matrix.sum(axis=0), ranks if ordered else None)
        assert distribution.is_small == (scale == 1)
        in_order = matrix[:, np.argsort(ranks)] if ordered else matrix
        totals = in_order.sum(axis=0).tolist()
        expected = [_reference(row.tolist(), totals, ordered=ordered) for row in in_order]
        histograms = _histograms(matrix)
        numerators, denominators = distribution.distances(histograms)
        found = [Fraction(int(a), int(b)) for a, b in zip(numerators, denominators, strict=True)]
        assert found == expected
        limit = sorted(expected)[1]
        assert distribution.exceeds(histograms, limit).tolist() == [each > limit for each in expected]
        assert distribution.largest(histograms, np.ones(4, dtype=bool)) == max(expected)


def test_a_null_is_last_in_the_order():
    assert value_ranks(pa.array([3, None, 1])).tolist() == [1, 2, 0]


def test_no_published_class_has_no_distance():
    matrix = np.array([[1, 1]])
    distribution = ValueDistribution(matrix.sum(axis=0))
    assert distribution.largest(_histograms(matrix), np.zeros(1, dtype=bool)) is None
