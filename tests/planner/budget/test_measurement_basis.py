"""Whatever gets noise, the measures are read off it exactly: on any dataset, offsets and readings undo each other."""

import itertools
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.catalog.catalog import ColumnType
from discreet.catalog.privacy_unit import Caps, Neighbours
from discreet.plan.physical import CountRows, CountUnits, CountValues, Integers, Read, SumSteps
from discreet.planner.budget.measurement_basis import Basis, bases, terms
from discreet.planner.sensitivity.sensitivity import Offset

X, Y = Read("x", ColumnType.REAL), Read("y", ColumnType.REAL)
UNITS, ROWS, VALUES = CountUnits(), CountRows(), CountRows(X)
TOTAL = SumSteps(X, Fraction(1, 10), 0, 500)
AROUND = replace(TOTAL, centre=250)
FILLED = replace(TOTAL, missing=7)
DISTINCT = CountValues(Read("g", ColumnType.TEXT), ("a", "b"))
FIVE_BY_FOUR = Caps(None, 5, 4)
POOL = [UNITS, ROWS, VALUES, CountRows(Y), TOTAL, AROUND, FILLED, replace(FILLED, centre=250), DISTINCT]
POOL += [SumSteps(Y, Fraction(1), low, high) for low, high in ((5, 9), (-7, 4), (-3, -1), (3, 3), (-2, 2), (0, 1))]

Row = tuple[int, int | None, int | None]
rows = st.lists(
    st.tuples(st.integers(0, 2), st.none() | st.integers(-20, 600), st.none() | st.integers(-20, 20)), max_size=12
)


def _bases(*measures: Integers, caps: Caps = FIVE_BY_FOUR) -> list[Basis]:
    return bases(measures, caps, 1000, Neighbours.ADD_REMOVE)


def _exact(measure: Integers, data: list[Row]) -> int:
    """What an engine would answer of rows (unit, x in steps, y in steps)."""
    match measure:
        case CountUnits():
            return len({unit for unit, _, _ in data})
        case CountRows(None):
            return len(data)
        case CountRows(operand):
            return sum(row[1 if operand == X else 2] is not None for row in data)
        case CountValues():
            return min(2, len(data))
        case SumSteps():
            cells = [row[1 if measure.operand == X else 2] for row in data]
            found = [measure.missing if cell is None else max(measure.low, min(measure.high, cell)) for cell in cells]
            return sum(cell - measure.centre for cell in found if cell is not None)


@settings(deadline=None)
@given(st.lists(st.sampled_from(POOL), min_size=1, unique=True), rows, st.sampled_from([1, 2, 3, 4]))
def test_every_measure_is_read_exactly_off_what_is_drawn(measures, data, height):
    counted = [row for i, row in enumerate(data) if sum(r[0] == row[0] for r in data[:i]) < height]
    for basis in _bases(*measures, caps=Caps(None, 5, height)):
        drawn = [sum(factor * _exact(m, counted) for factor, m in terms(one)) for one in basis.drawn]
        for measure in measures:
            read = sum(factor * drawn[place] for place, factor in basis.readings[measure])
            assert read == _exact(measure, counted)


def test_measures_without_company_are_drawn_as_they_are():
    for alone in (UNITS, ROWS, VALUES, TOTAL, AROUND, DISTINCT):
        (plain,) = _bases(alone)
        assert plain.drawn == plain.engine_measures == (alone,)
        assert plain.readings == {alone: ((0, 1),)}
    assert len(_bases(UNITS, DISTINCT)) == len(_bases(AROUND, VALUES)) == len(_bases(ROWS, VALUES)) == 1


def test_the_plain_way_comes_first_and_no_way_comes_twice():
    for size in (1, 2, 3, 4):
        for measures in itertools.combinations(POOL, size):
            plain, *others = _bases(*measures)
            assert plain.drawn == measures
            assert len({basis.drawn for basis in (plain, *others)}) == 1 + len(others)


def test_rows_are_counted_from_what_is_usual_for_a_unit():
    _, basis = _bases(ROWS, UNITS)
    assert basis.drawn == (Offset(ROWS, UNITS, 2, 5), UNITS)
    assert basis.readings[ROWS] == ((0, Fraction(1, 2)), (1, Fraction(5, 2)))
    _, basis = _bases(VALUES, UNITS)
    assert basis.drawn == (Offset(VALUES, UNITS, 1, 2), UNITS)
    assert basis.engine_measures == (VALUES, UNITS)


@pytest.mark.parametrize("caps", [Caps(1, 1, 1), Caps(1), Caps(None, 3, 1)])
def test_where_every_unit_has_one_row_in_a_group_rows_are_units(caps):
    _, basis = _bases(ROWS, UNITS, caps=caps)
    assert basis.drawn == basis.engine_measures == (UNITS,)
    assert basis.readings == {ROWS: ((0, 1),), UNITS: ((0, 1),)}


def test_a_sum_and_a_mean_of_one_column_share_a_sum_around_the_middle():
    _, basis = _bases(TOTAL, AROUND, VALUES)
    assert basis.drawn == (AROUND, VALUES)
    assert basis.readings[TOTAL] == ((0, 1), (1, 250))


def test_a_sum_is_taken_around_the_values_that_are_counted_else_the_rows_else_the_units():
    assert _bases(TOTAL, ROWS)[1].drawn[0] == Offset(TOTAL, ROWS, 1, 250)
    assert _bases(TOTAL, UNITS)[1].drawn[0] == Offset(TOTAL, UNITS, 1, 1000)
    assert _bases(FILLED, ROWS)[1].drawn[0] == replace(FILLED, centre=250)
    assert _bases(TOTAL, ROWS, VALUES)[1].drawn == (AROUND, VALUES, ROWS)


def test_a_sum_of_values_that_are_all_alike_is_a_count():
    fixed = SumSteps(X, Fraction(1), 3, 3)
    assert _bases(fixed, VALUES)[1].drawn == (VALUES,)
    assert _bases(fixed, VALUES)[1].readings[fixed] == ((0, 3),)


def test_a_sum_around_zero_stays_as_it_is():
    assert len(_bases(SumSteps(X, Fraction(1), -2, 2), VALUES, ROWS)) == 1
