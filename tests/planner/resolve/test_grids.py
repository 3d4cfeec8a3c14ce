"""Values are counted in steps that nobody has to choose, and a missing one in a step within the bounds."""

from fractions import Fraction

import pytest

from discreet.catalog.catalog import Column, ColumnType
from discreet.planner.resolve.grids import STEPS_OF_A_REAL, default_grid, missing_step


def test_whole_numbers_are_counted_as_they_are():
    assert default_grid(ColumnType.INTEGER, (Fraction(0), Fraction(10**9))) == 1


@pytest.mark.parametrize("largest", [Fraction(1, 1000), Fraction(1), Fraction(99), Fraction(5000), Fraction(10**7)])
def test_reals_are_counted_in_the_power_of_ten_that_cuts_the_larger_bound_finely_enough(largest):
    grid = default_grid(ColumnType.REAL, (-largest / 3, largest))
    assert STEPS_OF_A_REAL <= largest / grid < 10 * STEPS_OF_A_REAL
    assert {*str(grid.numerator), *str(grid.denominator)} <= {"0", "1"}


def test_bounds_of_no_size_have_a_grid_too():
    assert default_grid(ColumnType.REAL, (Fraction(0), Fraction(0))) == 1


@pytest.mark.parametrize(("missing", "step"), [("skip", None), (3, 6), (Fraction(13, 10), 3), (100, 10), (-100, 0)])
def test_a_missing_value_is_skipped_or_counts_as_a_step_within_the_bounds(missing, step):
    assert missing_step(Column(type="real", missing=missing), Fraction(1, 2), 0, 10) == step
    assert missing_step(None, Fraction(1, 2), 0, 10) is None
