"""Aggregates take columns, bounds and grids as they are said, and refuse what is none."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import discreet as dp
from discreet.errors import ParameterError, TypeMismatchError
from discreet.plan import logical
from discreet.plan.logical import ColumnRef
from discreet.query import frame

visits = dp.table("visits")
AGE, COST = ColumnRef("age"), ColumnRef("cost")


class TestAggregates:
    def test_aggregates_take_names_and_expressions(self):
        assert dp.sum("cost").measure.operand == COST
        assert dp.mean(visits.cost / 2).measure.operand == (visits.cost / 2).node
        assert dp.count_distinct("ward", domain=["A"]).measure == logical.CountDistinct(ColumnRef("ward"), ("A",))
        assert dp.count().measure == logical.Count()
        assert dp.count_units().measure == logical.CountDistinctUnits()
        assert frame.median("cost").measure == logical.MedianMeasure(COST)
        assert frame.interquartile_range(visits.cost / 2).measure.operand == (visits.cost / 2).node

    @pytest.mark.parametrize("column", [5, None, ["cost"], logical.ColumnRef("cost"), dp.count()])
    def test_what_is_no_column_is_refused(self, column):
        for aggregate in (dp.sum, dp.mean, dp.count_distinct, frame.median, frame.interquartile_range):
            with pytest.raises(TypeMismatchError):
                aggregate(column)

    def test_bounds_and_grids_are_exact(self):
        measure = dp.sum("cost", bounds=(0.1, np.float64(0.3)), grid=Decimal("0.01")).measure
        assert measure.bounds == (Fraction(1, 10), Fraction(3, 10))
        assert measure.grid == Fraction(1, 100)
        assert dp.mean("cost", bounds=[np.int64(-1), Fraction(1, 3)]).measure.bounds == (-1, Fraction(1, 3))
        assert dp.sum("cost", bounds=(-0.0, 0)).measure.bounds == (0, 0)
        assert dp.sum("cost", bounds=(0, 1e-320)).measure.bounds[1] == Fraction("1e-320")

    @pytest.mark.pitfall("D")
    @pytest.mark.parametrize(
        "number",
        [
            float("nan"),
            float("inf"),
            -float("inf"),
            10**401,
            Decimal("1e999"),
            Decimal("NaN"),
            True,
            "0.1",
            None,
            np.float64("nan"),
            np.True_,
            b"1",
            1j,
            [1],
        ],
    )
    def test_bounds_grids_and_weights_that_are_no_numbers_are_refused(self, number):
        for refused in ({"bounds": (0, number)}, {"bounds": (number, 0)}, {"weight": number}):
            with pytest.raises(ParameterError):
                dp.sum("cost", **refused)
        if number is not None:
            with pytest.raises(ParameterError):
                dp.mean("cost", grid=number)
        with pytest.raises(ParameterError, match="weight"):
            dp.count(weight=number)

    @pytest.mark.parametrize("number", [0, -1, -0.0])
    def test_grids_and_weights_are_above_zero(self, number):
        with pytest.raises(ParameterError, match="above zero"):
            dp.sum("cost", grid=number)
        for aggregate in (dp.count, dp.count_units):
            with pytest.raises(ParameterError, match="above zero"):
                aggregate(weight=number)

    @pytest.mark.pitfall("D")
    def test_bounds_in_the_wrong_order_are_refused_with_the_right_one(self):
        with pytest.raises(ParameterError) as caught:
            dp.sum("cost", bounds=(5, 1))
        assert caught.value.instead == "bounds=(1, 5)"

    @pytest.mark.parametrize("bounds", [(1,), (1, 2, 3), 5, {1, 2}, iter((1, 2))])
    def test_bounds_are_a_pair(self, bounds):
        with pytest.raises(ParameterError, match="pair"):
            dp.sum("cost", bounds=bounds)

    @pytest.mark.parametrize("verb", [dp.sum, dp.mean])
    def test_another_word_for_bounds_that_are_found_is_answered_with_ours(self, verb):
        with pytest.raises(ParameterError) as caught:
            verb("cost", bounds="automatic")
        assert caught.value.instead.startswith('bounds="auto"')

    @pytest.mark.parametrize("verb", [dp.median, dp.std, dp.variance])
    def test_where_bounds_cannot_be_found_in_the_same_query_a_word_is_answered_with_two(self, verb):
        with pytest.raises(ParameterError) as caught:
            verb("cost", bounds="automatic")
        assert "table.bounds" in caught.value.instead

    @pytest.mark.parametrize("column", [["cost"], 5, None])
    def test_bounds_are_found_for_one_column(self, column):
        with pytest.raises(TypeMismatchError, match="bounds of type") as caught:
            dp.table("t").bounds(column)
        assert caught.value.instead.startswith('bounds("cost")')

    @pytest.mark.parametrize("domain", ["AB", 5, {"A", "B"}])
    def test_a_domain_is_a_list(self, domain):
        with pytest.raises(ParameterError, match="domain"):
            dp.count_distinct("ward", domain=domain)
