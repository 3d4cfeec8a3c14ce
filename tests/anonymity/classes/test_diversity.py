"""l-diversity by hand."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.anonymity.classes.diversity import diversity_of
from discreet.anonymity.classes.sensitive_table import SensitiveTable


def _table(*classes: list[int]) -> SensitiveTable:
    counts = np.array([count for each in classes for count in each], np.int64)
    lengths = np.array([len(each) for each in classes], np.int64)
    values = np.array([i for each in classes for i in range(len(each))], np.int64)
    whole = np.bincount(values, weights=counts).astype(np.int64)
    return SensitiveTable(np.cumsum(lengths) - lengths, values, counts, whole)


def test_the_least_diverse_class_decides() -> None:
    found = diversity_of(_table([1, 1, 1], [3, 1]), 2, Fraction(4))
    assert found.distinct == 2
    assert found.entropy == pytest.approx(math.exp(-(0.75 * math.log(0.75) + 0.25 * math.log(0.25))))
    assert found.least_c == 3
    assert found.recursive
    assert not found.is_recursive(3)
    assert found.is_recursive(3.01)


def test_a_homogeneous_class_has_entropy_l_of_exactly_one_and_no_c() -> None:
    found = diversity_of(_table([5], [1, 1]), 2, Fraction(100))
    assert (found.distinct, found.entropy, found.least_c, found.recursive) == (1, 1.0, None, False)


def test_proportional_counts_have_the_same_entropy_to_the_last_bit() -> None:
    one, other = (
        diversity_of(_table(each), 2, Fraction(3)).entropy for each in ([1, 2, 3], [300_000, 100_000, 200_000])
    )
    assert one == other


@pytest.mark.parametrize(
    ("l", "least_c"), [(1, Fraction(4, 10)), (2, Fraction(4, 6)), (3, Fraction(4, 3)), (4, Fraction(4, 1))]
)
def test_the_tail_begins_at_the_lth_most_frequent_value(l: int, least_c: Fraction) -> None:  # noqa: E741
    assert diversity_of(_table([3, 1, 4, 2]), l, Fraction(3)).least_c == least_c


def test_a_table_without_classes_has_no_diversity() -> None:
    assert diversity_of(_table(), 2, Fraction(3)).distinct == 0


def test_large_counts_are_not_tabulated() -> None:
    assert diversity_of(_table([10**6, 10**6]), 2, Fraction(3)).entropy == pytest.approx(2)
