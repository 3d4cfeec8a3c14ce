"""Sampling weights are summed exactly."""

from fractions import Fraction

import pyarrow as pa
import pytest

import discreet as dp
from discreet.anonymity.classes.weights import WeightedClasses
from discreet.errors import ParameterError


def _weights(ages: list[int], weights: list[float | None]) -> WeightedClasses:
    found = dp.anonymity.measure(pa.table({"age": ages, "w": weights}), ["age"], weight="w").weights
    assert found is not None
    return found


def test_sums_of_weights_are_exact() -> None:
    found = _weights([1, 1, 2, 2], [1e15, 0.1, 0.1, 2.0**-40])
    assert found.smallest == Fraction(0.1) + Fraction(2.0**-40)
    assert found.population == Fraction(1e15) + 2 * Fraction(0.1) + Fraction(2.0**-40)


def test_the_expected_share_is_that_of_the_weights() -> None:
    found = _weights([1, 1, 2], [10, 30, 5])
    assert (found.population, found.smallest) == (45, 5)
    assert found.expected == pytest.approx((2 / 40 + 1 / 5) / 3)


def test_a_missing_weight_is_zero() -> None:
    assert _weights([1, 1], [None, 3.0]).smallest == 3


@pytest.mark.parametrize("weights", [[-1.0], [float("inf")], ["heavy"]])
def test_weights_that_are_no_numbers_of_people_are_refused(weights: list[float]) -> None:
    with pytest.raises(ParameterError):
        _weights([1], weights)


def test_a_table_without_rows_stands_for_nobody() -> None:
    table = pa.table({"age": pa.array([], pa.int64()), "w": pa.array([], pa.float64())})
    found = dp.anonymity.measure(table, ["age"], weight="w")
    assert found.weights is not None
    assert (found.weights.population, found.k) == (0, 0)


@pytest.mark.parametrize("weights", [[5e-324], [1e308, 1e308], [1e101]])
def test_weights_whose_sums_are_no_doubles_are_refused(weights: list[float]) -> None:
    with pytest.raises(ParameterError, match="1e-100"):
        _weights([1] * len(weights), weights)


def test_the_largest_weights_are_summed_and_printed() -> None:
    found = _weights([1, 2], [1e100, 1e-100])
    assert found.population == Fraction(1e100) + Fraction(1e-100)
    assert "the rows stand for 1" in str(found)
