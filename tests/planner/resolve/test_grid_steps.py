"""Steps of a public grid: how many, where they end, and which values have none."""

from fractions import Fraction

import pytest

from discreet.catalog.catalog import Catalog
from discreet.errors import ParameterError, UnboundedError, UnsupportedError
from discreet.planner.resolve.binding import bind
from discreet.planner.resolve.grid_steps import STEP, derive_step, edges, few_steps
from discreet.query import frame

COLUMNS = {
    "age": {"type": "integer", "bounds": [18, 21]},
    "pay": {"type": "real", "bounds": [0, 1000]},
    "cost": {"type": "real", "bounds": [0, 10], "grid": 1, "missing": 0},
    "free": {"type": "integer"},
}
T = frame.table("t")


def scope():
    table = {"columns": COLUMNS, "privacy_unit": "dp.ROW"}
    return bind(T.agg(n=frame.count()).plan.source, Catalog.model_validate({"tables": {"t": table}}))


def test_whole_values_have_a_step_each_and_edges_at_whole_numbers():
    measure = frame.median("age").measure
    steps = few_steps(measure, "m", scope())
    assert (steps.low, steps.high, steps.grid) == (18, 21, 1)
    assert edges(measure, steps, scope()) == (19, 20, 21)


def test_other_values_have_edges_half_way_between_steps():
    measure = frame.quantile("pay", 0.25, bounds=(0, 1), grid=0.5).measure
    assert edges(measure, few_steps(measure, "m", scope()), scope()) == (0.25, 0.75)


def test_a_default_grid_is_made_coarser_until_its_steps_are_few_and_a_given_one_is_refused():
    assert few_steps(frame.quantile("pay", 0.5).measure, "m", scope()).grid == Fraction(1, 10)
    assert few_steps(frame.quantile("pay", 0.5).measure, "m", scope(), 500).grid == 10
    with pytest.raises(ParameterError, match="100,000 steps"):
        few_steps(frame.quantile("pay", 0.5, grid=0.01).measure, "m", scope())


def test_rows_without_a_value_are_at_no_step_and_never_stand_for_a_number():
    with pytest.raises(UnsupportedError, match="count as a number"):
        few_steps(frame.median("cost").measure, "m", scope())


def test_a_value_without_bounds_is_refused_with_the_quantile_that_has_them():
    with pytest.raises(UnboundedError) as caught:
        few_steps(frame.quantile("free", 0.5).measure, "m", scope())
    assert "dp.quantile('free'" in caught.value.instead


def test_a_step_is_a_column_of_its_own():
    measure = frame.median("age").measure
    made = derive_step(T.agg(n=frame.count()).plan.source, measure, few_steps(measure, "m", scope()), scope())
    assert made.name == STEP
    assert made.expression.edges == (19, 20, 21)
