"""Dates and timestamps by calendar units."""

import datetime as dt

import pyarrow as pa
import pytest

import discreet as dp

dates = dp.anonymity.hierarchies.dates


def _labels(levels, level):
    return [levels.labels[level][code] for code in levels.codes[level]]


DAYS = [dt.date(1984, 3, 31), dt.date(1984, 4, 1), dt.date(1969, 12, 31), dt.date(2000, 1, 1)]


@pytest.mark.parametrize("kind", [pa.date32(), pa.date64(), pa.string()])
def test_the_usual_levels_of_dates(kind):
    values = pa.array([day.isoformat() for day in DAYS]) if kind == pa.string() else pa.array(DAYS, kind)
    levels = dates().levels(values)
    assert levels.height == 5
    assert _labels(levels, 1) == ["1984-03", "1984-04", "1969-12", "2000-01"]
    assert _labels(levels, 2) == ["1984-Q1", "1984-Q2", "1969-Q4", "2000-Q1"]
    assert _labels(levels, 3) == ["1984", "1984", "1969", "2000"]
    assert _labels(levels, 4) == ["1980-1989", "1980-1989", "1960-1969", "2000-2009"]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_timestamps_have_a_level_of_days(unit):
    values = pa.array(["1969-12-31 23:59:00", "2000-02-29 00:00:00"]).cast(pa.timestamp(unit))
    levels = dates().levels(values)
    assert levels.height == 6
    assert _labels(levels, 1) == ["1969-12-31", "2000-02-29"]
    assert _labels(levels, 2) == ["1969-12", "2000-02"]


def test_a_time_zone_is_the_one_of_the_column():
    midnight = dt.datetime(2020, 1, 1, 0, 30, tzinfo=dt.UTC)
    assert _labels(dates("year").levels(pa.array([midnight], pa.timestamp("us", "America/New_York"))), 1) == ["2019"]


def test_units_are_chosen_in_ascending_order():
    assert _labels(dates("year", "century").levels(pa.array(DAYS)), 2) == ["1900-1999"] * 3 + ["2000-2099"]
    with pytest.raises(dp.errors.ParameterError) as caught:
        dates("year", "month")
    assert caught.value.instead == 'dates("month", "year")'
    with pytest.raises(dp.errors.ParameterError):
        dates("week")


def test_numbers_and_other_text_are_refused():
    for values in ([1984], ["7 March"], [True]):
        with pytest.raises(dp.errors.TypeMismatchError):
            dates().levels(pa.array(values))
