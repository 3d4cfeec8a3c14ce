"""The grammar of cells, by Python's own calendar and numbers; engines are held against it by the contract suite."""

import datetime as dt
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.catalog.catalog import ColumnType
from discreet.engines.sql import casts
from discreet.engines.sql.dialect import StorageType


def _matches(pattern: str, text: str) -> bool:
    return re.fullmatch(pattern, text) is not None


def _is_a_day(text: str) -> bool:
    try:
        return dt.date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def test_every_day_of_the_calendar_is_a_date_and_no_other():
    """All months and days of years that are leap years, and of years that are not."""
    for year in (1, 4, 96, 100, 400, 1600, 1900, 1999, 2000, 2023, 2024, 2100, 2400, 9996, 9999, 0):
        for month in range(14):
            for day in range(33):
                text = f"{year:04}-{month:02}-{day:02}"
                assert _matches(casts.DATE, text) == _is_a_day(text), text


@given(st.dates())
def test_any_date_is_one(day):
    assert _matches(casts.DATE, day.isoformat())


@given(st.datetimes())
def test_any_time_is_one_with_and_without_a_zone(moment):
    for separator in " T":
        assert _matches(casts.TIME, moment.isoformat(sep=separator))
        assert _matches(casts.ZONED_TIME, moment.isoformat(sep=separator) + "Z")
        assert _matches(casts.ZONED_TIME, moment.isoformat(sep=separator) + "-03:30")
        assert not _matches(casts.TIME, moment.isoformat(sep=separator) + "Z")


@given(st.integers(-(10**38) + 1, 10**38 - 1))
def test_whole_numbers_are_whole_and_numbers(number):
    assert _matches(casts.WHOLE, str(number))
    assert _matches(casts.NUMBER, str(number))


@given(st.text("0123456789+-.eE _xn", max_size=12))
def test_a_number_is_one_for_python_and_stays_far_from_the_ends_of_doubles(text):
    if _matches(casts.NUMBER, text):
        number = float(text)
        assert number == 0 or 1e-150 < abs(number) < casts.LARGEST_REAL


@pytest.mark.parametrize("text", ["1e149", "9" * 39, "0." + "0" * 51, "1e-100", "inf", "nan", "1_000", "0x10", "٣"])
def test_what_could_leave_the_limits_or_is_written_in_another_way_is_no_number(text):
    assert not _matches(casts.NUMBER, text)


def test_flushing_keeps_ordinary_numbers_to_the_last_bit():
    for number in (1e-110, 0.1, 1 / 3, 123.456, 2.0**53 + 2, 1e149):
        assert number + casts.FLUSHING - casts.FLUSHING == number
    for tiny in (1e-151, -1e-151, 5e-324, -0.0):
        assert str(tiny + casts.FLUSHING - casts.FLUSHING) == "0.0"


def test_pairs_that_mean_something_else_on_each_engine_have_no_reading():
    reads = casts.standard(casts.Primitives(matches="{0} ~ {1}"))
    absent = [
        (StorageType.REAL, ColumnType.TEXT),
        (StorageType.DATE, ColumnType.INTEGER),
        (StorageType.TIMESTAMP, ColumnType.TEXT),
        (StorageType.OTHER, ColumnType.TEXT),
    ]
    assert not reads.keys() & set(absent)


def test_documents_are_only_there_or_not():
    reads = casts.standard(casts.Primitives(matches="{0} ~ {1}"))
    assert reads[StorageType.OTHER, ColumnType.DOCUMENT] == "CASE WHEN {0} IS NOT NULL THEN TRUE END"
    assert all(reads[stored, ColumnType.BINARY].endswith("IS NOT NULL THEN TRUE END") for stored in StorageType)
