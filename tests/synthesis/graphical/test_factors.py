"""Factors are multiplied and summed out as the tables are that they are logarithms of."""

import numpy as np
import pytest

from discreet.synthesis.core.domain import Domain
from discreet.synthesis.graphical.factors import Factor, axes_outside, expand, log_sum, project

DOMAIN = Domain({"a": 2, "b": 3, "c": 4})


def factor(columns, start=0.0):
    return Factor(columns, np.linspace(start, 1, DOMAIN.cells(columns)).reshape(DOMAIN.shape(columns)))


def test_a_product_is_the_product_of_the_tables():
    one, other = factor(("a", "c")), factor(("b", "c"), -3.0)
    product = one.multiply(other, DOMAIN)
    assert product.columns == ("a", "b", "c")
    expected = np.einsum("ac,bc->abc", np.exp(one.values), np.exp(other.values))
    np.testing.assert_allclose(np.exp(product.values), expected)


def test_columns_are_summed_out():
    one = factor(("a", "b", "c"))
    assert one.sum_out(["b"]).columns == ("a", "c")
    np.testing.assert_allclose(np.exp(one.sum_out(["b"]).values), np.exp(one.values).sum(1))
    np.testing.assert_allclose(one.project(["b"]).values, one.sum_out(["a", "c"]).values)
    assert one.sum_out([]).values is one.values


def test_a_table_without_mass_stays_without_mass():
    values = np.array([[-np.inf, -np.inf], [-np.inf, 2.0]])
    np.testing.assert_array_equal(log_sum(values, (1,)), [-np.inf, 2.0])


def test_large_logarithms_do_not_overflow():
    assert log_sum(np.array([5000.0, 5000.0]), (0,)) == pytest.approx(5000 + np.log(2))


def test_a_view_has_an_axis_for_each_wanted_column_and_refuses_others():
    assert factor(("b",)).expand(("a", "b", "c")).shape == (1, 3, 1)
    with pytest.raises(ValueError, match="not wanted"):
        expand(np.zeros(2), ("a",), ("b", "c"))


def test_projections_sum_over_the_axes_that_are_left_out():
    table = np.arange(24.0).reshape(2, 3, 4)
    assert axes_outside(("a", "b", "c"), ("b",)) == (0, 2)
    np.testing.assert_array_equal(project(table, ("a", "b", "c"), ("b",)), table.sum((0, 2)))
    assert project(table, ("a", "b", "c"), ("a", "b", "c")) is table
