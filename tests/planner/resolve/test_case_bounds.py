"""Bounds of a conditional number are the hull of the public bounds of its branches, or there are none."""

from fractions import Fraction

import pytest

import discreet as dp
from discreet.catalog.catalog import Catalog
from discreet.errors import ParameterError, UnboundedError
from discreet.planner.resolve.binding import bind
from discreet.planner.resolve.measures import recipe

CATALOG = Catalog.parse("""
tables:
  t:
    privacy_unit: id
    max_rows: 3
    columns:
      id: {type: text}
      i: {type: integer, bounds: [2, 9]}
      cost: {type: real, bounds: [0, 10], grid: 0.5, missing: 1}
      free: {type: real}
      s: {type: text}
""")
t = dp.table("t")
A = t.s == "A"


def _bounds(expression, frame=t):
    column = bind(frame.agg(n=dp.count()).plan.source, CATALOG).declared_column(expression.node)
    return None if column is None else column.bounds


@pytest.mark.parametrize(
    ("case", "bounds"),
    [
        (dp.when(A, 1).otherwise(0), (0, 1)),
        (dp.when(A, 5), (5, 5)),
        (dp.when(A, t.cost).otherwise(0), (0, 10)),
        (dp.when(A, t.cost).otherwise(-2.5), (Fraction(-5, 2), 10)),
        (dp.when(A, t.i).otherwise(t.cost), (0, 10)),
        (dp.when(A, t.i).otherwise(0.1), (Fraction(1, 10), 9)),
        (dp.when(A, dp.when(t.i > 3, 20).otherwise(t.i)).otherwise(0), (0, 20)),
        (t.cost.fill_missing(30), (0, 30)),
    ],
    ids=str,
)
def test_bounds_go_from_the_lowest_to_the_highest_of_the_branches(case, bounds):
    assert _bounds(case) == bounds
    assert _bounds(t.derive(x=case).x, t.derive(x=case)) == bounds


@pytest.mark.parametrize(
    "expression",
    [
        dp.when(A, t.free).otherwise(0),
        dp.when(A, 0).otherwise(t.cost + 1),
        dp.when(A, "A"),
        dp.when(A, True),
        t.cost + 1,
        t.free.fill_missing(0),
        t.cost.cast("integer"),
    ],
    ids=str,
)
def test_a_branch_without_public_bounds_leaves_none(expression):
    assert _bounds(expression) is None


def test_a_redefined_column_has_not_the_bounds_of_the_catalog():
    frame = t.derive(cost=t.free)
    assert _bounds(dp.when(A, frame.cost).otherwise(0), frame) is None


def _steps(measure):
    query = t.agg(x=measure).plan
    return recipe(query.outputs[0], bind(query.source, CATALOG)).parts[0].measure


def test_a_sum_of_a_case_is_clipped_to_these_bounds():
    ones = _steps(dp.sum(dp.when(A, 1).otherwise(0)))
    assert (ones.low, ones.high, ones.grid, ones.missing) == (0, 1, 1, None)
    costs = _steps(dp.sum(dp.when(A, t.cost).otherwise(0)))
    assert (costs.low * costs.grid, costs.high * costs.grid, costs.missing) == (0, 10, None)
    given = _steps(dp.sum(dp.when(A, t.cost).otherwise(0), bounds=(0, 3)))
    assert given.high * given.grid == 3


def test_a_sum_without_bounds_is_refused_and_so_are_bounds_that_no_double_holds():
    with pytest.raises(UnboundedError):
        _steps(dp.sum(dp.when(A, t.free).otherwise(0)))
    with pytest.raises(ParameterError):
        _steps(dp.sum(dp.when(A, 2**62).otherwise(0)))
    with pytest.raises(ParameterError, match="clamped to zero"):
        _steps(dp.sum(dp.when(A, 0)))


def test_features_of_a_unit_have_these_bounds_too():
    frame = t.per_unit(a=dp.sum(dp.when(A, 1).otherwise(0)))
    (feature,) = bind(frame.agg(n=dp.count()).plan.source, CATALOG).origin.base.features
    assert (feature.of.low, feature.of.high) == (0, 1)
