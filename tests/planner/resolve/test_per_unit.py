"""Features of a unit: which integers they are, on which grid, and of which type they become."""

from fractions import Fraction

import pytest

import discreet as dp
from discreet.catalog.catalog import Catalog, ColumnType
from discreet.errors import ParameterError, TypeMismatchError, UnboundedError, UnsupportedError
from discreet.plan.physical import Average, CountKinds, CountRows, Extreme, Feature, SumSteps
from discreet.planner.resolve.binding import bind
from discreet.query.frame import relation_of

CATALOG = Catalog.parse("""
tables:
  visits:
    privacy_unit: patient
    columns:
      patient: {type: text}
      ward: {type: text}
      day: {type: date}
      age: {type: integer}
      cost: {type: real, bounds: [0, 50], grid: 0.5, missing: 1}
""")
VISITS = dp.table("visits")


def feature(made: object) -> Feature:
    scope = bind(relation_of(VISITS.per_unit(f=made)), CATALOG)
    (found,) = scope.origin.base.features
    return found


@pytest.mark.parametrize(
    ("made", "kind", "of"),
    [
        (dp.count(), ColumnType.INTEGER, CountRows),
        (dp.count_distinct("ward"), ColumnType.INTEGER, CountKinds),
        (dp.sum("age", bounds=(0, 120)), ColumnType.INTEGER, SumSteps),
        (dp.sum("cost"), ColumnType.REAL, SumSteps),
        (dp.mean("age", bounds=(0, 120)), ColumnType.REAL, Average),
        (dp.smallest("day"), ColumnType.DATE, Extreme),
        (dp.largest("cost"), ColumnType.REAL, Extreme),
    ],
)
def test_a_feature_has_the_type_of_what_it_measures(made, kind, of):
    found = feature(made)
    assert found.type is kind
    assert isinstance(found.of, of)


def test_sums_are_in_steps_of_a_grid_that_is_given_declared_or_fine_enough():
    assert feature(dp.sum("cost")).of == SumSteps(feature(dp.sum("cost")).of.operand, Fraction(1, 2), 0, 100, missing=2)
    assert feature(dp.sum("cost", grid=0.1)).of.high == 500
    assert feature(dp.sum(VISITS.cost * 2, bounds=(0, 1000))).of.grid == Fraction(1, 100)


@pytest.mark.parametrize(
    ("made", "error", "words"),
    [
        (dp.sum("age"), UnboundedError, "bounds"),
        (dp.sum("ward", bounds=(0, 1)), TypeMismatchError, "only numbers"),
        (dp.sum("age", bounds=(0, 10**7)), ParameterError, "4,194,304 steps"),
        (dp.sum("age", bounds=(0.1, 0.2)), ParameterError, "no step"),
        (dp.count_distinct("cost"), TypeMismatchError, "seldom equal"),
        (dp.largest("ward"), TypeMismatchError, "differs from engine to engine"),
        (dp.count_units(), UnsupportedError, "features are counts"),
        (dp.median("age", bounds=(0, 120)), UnsupportedError, "features are counts"),
    ],
)
def test_features_that_cannot_be_exact_on_every_engine_are_refused(made, error, words):
    with pytest.raises(error) as caught:
        feature(made)
    assert words in str(caught.value)
