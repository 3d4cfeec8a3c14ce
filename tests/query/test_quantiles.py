"""Quantiles have bounds, grids and places like any other aggregate, and refuse to be asked without them."""

from decimal import Decimal
from fractions import Fraction

import pytest

import discreet as dp
from discreet.errors import ParameterError
from discreet.query import quantiles

visits = dp.table("visits")


@pytest.mark.parametrize("aggregate", [quantiles.median, quantiles.interquartile_range])
def test_quartiles_have_bounds_and_a_grid_like_any_other_measure(aggregate):
    measure = aggregate("cost", bounds=(0.1, 3), grid=Decimal("0.01")).measure
    assert (measure.bounds, measure.grid) == ((Fraction(1, 10), 3), Fraction(1, 100))
    for refused in ({"bounds": (1, 0)}, {"bounds": 5}, {"grid": 0}):
        with pytest.raises(ParameterError):
            aggregate("cost", **refused)
    query = visits.agg(m=aggregate("cost", bounds=(0, 3)))
    assert repr(query) == f"query of table 'visits': m={aggregate.__name__}('cost', bounds=(0, 3))"
    with pytest.raises(ParameterError, match="without a name") as refusal:
        visits.agg(aggregate("cost"))
    assert refusal.value.instead in (
        "agg(middle=dp.median('cost'))",
        "agg(width=dp.interquartile_range('cost'))",
    )


def test_a_quantile_without_its_probability_is_refused_with_one():
    with pytest.raises(ParameterError, match="the probability of the quantile is missing") as caught:
        dp.quantile("cost")
    assert caught.value.instead == "dp.quantile('cost', 0.5, bounds=(0, 100))"
    with pytest.raises(ParameterError, match="not a list"):
        dp.quantiles("cost")
