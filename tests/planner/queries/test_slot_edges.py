"""Edges follow from noisy answers alone: they increase, lie between the bounds, and give frequent values bins."""

import datetime as dt
from fractions import Fraction
from itertools import pairwise

import pytest

from discreet.catalog.catalog import ColumnType
from discreet.planner.queries.log_scale import Scale
from discreet.planner.queries.slot_edges import equal_edges, histogram_edges, numbers, quantile_edges, year_edges


def increase(edges):
    return all(low < high for low, high in pairwise(edges))


def test_a_step_of_several_quantiles_has_a_bin_of_its_own():
    assert quantile_edges([20, 40, 40, 45], 0, 99) == [0, 20, 40, 41, 45, 100]
    assert quantile_edges([0, 0], 0, 9) == [0, 1, 10]
    assert quantile_edges([9, 9, 12], 0, 9) == [0, 9, 10]
    assert quantile_edges([-5], 0, 9) == [0, 10]


def test_noisy_counts_of_sizes_give_bins_of_about_equal_rows():
    scale = Scale.between(0, 1_000)
    counts = [0] * len(scale.bins)
    counts[-2], counts[-3] = 300, -4
    edges = histogram_edges(scale, counts, scale.bins[-2], 8)
    assert increase(edges)
    assert (edges[0], edges[-1]) == (scale.bins[-2][0], scale.bins[-2][1] + 1)
    assert 6 <= len(edges) - 1 <= 8
    assert histogram_edges(scale, [0] * len(counts), (0, 7), 4) == [0, 2, 4, 6, 8]


@pytest.mark.parametrize("low", [0, -1_000_000])
def test_edges_increase_for_any_noisy_counts(low):
    scale = Scale.between(low, 1_000_000)
    for shift in range(20):
        counts = [(7 * place + shift) % 13 * 10 ** (shift % 4) - 30 for place in range(len(scale.bins))]
        edges = histogram_edges(scale, counts, (scale.candidates[3], scale.candidates[-4]), 16)
        assert increase(edges)
        assert (edges[0], edges[-1]) == (scale.candidates[3], scale.candidates[-4] + 1)


def test_a_frequent_zero_has_a_bin_of_its_own():
    scale = Scale.between(0, 1_000)
    counts = [900, *([5] * (len(scale.bins) - 1))]
    assert histogram_edges(scale, counts, (0, 1_000), 16)[:2] == [0, 1]


def test_steps_become_numbers_of_the_type():
    assert numbers(ColumnType.INTEGER, [0, 5, 11], Fraction(1)) == (0, 5, 11)
    assert numbers(ColumnType.INTEGER, [0, 1], Fraction(1, 10)) == (0, 1)
    assert numbers(ColumnType.INTEGER, [0, 3, 4], Fraction(1, 10)) == (0, 1)
    assert numbers(ColumnType.REAL, [0, 5, 11], Fraction(1, 10)) == (0.0, 0.5, 1.0)
    assert numbers(ColumnType.REAL, [0, 10, 11], Fraction(1, 10)) == (0.0, 1.0, 1.1)
    assert len(numbers(ColumnType.REAL, [0], Fraction(1))) == 2


def test_equal_bins_hold_a_step_each():
    assert equal_edges(0, 3, 8) == [0, 1, 2, 3]


def test_years_are_divided_where_they_are_few_and_joined_where_they_are_many():
    found = year_edges(ColumnType.DATE, [2020, 2024], 4)
    assert found == (dt.date(2020, 1, 1), dt.date(2020, 7, 2), dt.date(2021, 1, 1), dt.date(2024, 1, 1), *found[4:])
    assert found[-1] == dt.date(2025, 1, 1)
    many = year_edges(ColumnType.TIMESTAMP, range(1900, 2000), 32)
    assert len(many) - 1 <= 32
    assert (many[0].year, many[-1].year) == (1900, 2000)
    assert increase(year_edges(ColumnType.DATE, [2020], 1_000))
    assert year_edges(ColumnType.DATE, [], 4) == year_edges(ColumnType.DATE, [-4, 9999], 4) == ()
