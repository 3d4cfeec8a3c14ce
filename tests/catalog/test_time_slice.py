"""A slice is from one moment until before another, named by its period, and shares no row with another slice."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

import discreet as dp
from discreet.catalog.privacy_unit import ROW, unit_of
from discreet.catalog.time_slice import Slice, iso_text, moment, refuse_shared_rows
from discreet.errors import CatalogError, ParameterError

OCTOBER = Slice("visited", "2026-10-01", "2026-11-01", of="visits")
PATIENT = unit_of("patient_id")


def _slice(start, end, of="visits"):
    return Slice("visited", start, end, of=of)


def test_a_slice_is_the_same_however_its_moments_are_written():
    day, time = dt.date(2026, 10, 1), dt.datetime(2026, 10, 1)  # noqa: DTZ001 - times have no zone
    for start in (day, time, "2026-10-01", "2026-10-01 00:00", np.datetime64("2026-10-01"), pd.Timestamp(time)):
        assert dp.Slice("visited", start, "2026-11-01", of="visits") == OCTOBER
    assert (OCTOBER.start, OCTOBER.of) == (time, "visits")
    assert eval(repr(OCTOBER)) == OCTOBER  # noqa: S307 - a repr is what one types


@pytest.mark.pitfall("D")
@pytest.mark.parametrize(
    "value",
    [
        None, "", "October", "2026-13-01", "0000-00-00", "1000000-01-01", 20261001, 1.5, True, float("nan"),
        Decimal(20261001), pd.NaT, "2026-10-01T00:00Z", dt.datetime(2026, 10, 1, tzinfo=dt.UTC), b"2026",
    ],
    ids=repr,
)  # fmt: skip
def test_what_is_no_moment_or_has_a_zone_is_refused(value):
    for slice_of in (lambda: _slice(value, "2026-11-01"), lambda: _slice("2026-10-01", value)):
        with pytest.raises(ParameterError, match="it must be a date, or a time without a zone"):
            slice_of()


@pytest.mark.parametrize("end", ["2026-10-01", "2026-09-30", "0001-01-01"])
def test_a_slice_that_holds_no_time_is_refused(end):
    with pytest.raises(ParameterError) as refusal:
        _slice("2026-10-01", end)
    assert str(refusal.value) == (
        f"a slice from 2026-10-01 until before {end}\n"
        "  because  it holds no time at all\n"
        '  instead  dp.Slice("visited", "2026-10-01", "2026-11-01")'
    )


@pytest.mark.parametrize(("column", "of"), [(None, None), (3, "visits"), ("visited", 3), (["visited"], None)])
def test_a_slice_without_the_name_of_a_column_is_refused(column, of):
    with pytest.raises(ParameterError, match="without the name of a column"):
        Slice(column, "2026-10-01", "2026-11-01", of=of)


@pytest.mark.parametrize(
    ("start", "end", "period"),
    [
        ("2026-10-01", "2026-11-01", "2026-10"),
        ("2026-12-01", "2027-01-01", "2026-12"),
        ("2026-01-01", "2027-01-01", "2026"),
        ("0900-01-01", "0901-01-01", "0900"),
        ("2026-10-05", "2026-10-06", "2026-10-05"),
        ("2024-02-29", "2024-03-01", "2024-02-29"),
        ("2026-10-01", "2026-12-01", "2026-10-01-until-2026-12-01"),
        ("2026-04-01", "2027-04-01", "2026-04-01-until-2027-04-01"),
        ("2026-10-02", "2026-11-02", "2026-10-02-until-2026-11-02"),
        ("2026-10-01 06:00", "2026-11-01", "2026-10-01T06:00:00-until-2026-11-01"),
        ("0001-01-01", "9999-12-31 23:59:59.999999", "0001-01-01-until-9999-12-31T23:59:59.999999"),
    ],
)
def test_a_period_is_a_year_a_month_a_day_or_both_ends(start, end, period):
    assert _slice(start, end).period == period


def test_a_statement_says_which_rows_and_what_it_means_for_whoever_is_in_several_slices():
    assert OCTOBER.statement(PATIENT) == (
        "the rows of 'visits' from 2026-10-01 until before 2026-11-01 by 'visited'; "
        "one patient_id in several slices is protected by each budget, and over all of them by their sum"
    )
    assert OCTOBER.statement(unit_of(ROW)).endswith("by 'visited'; a row is in one slice only")


@pytest.mark.parametrize("kind", ["text", "integer", "real", "boolean", "document", "binary"])
def test_a_column_without_times_is_refused_and_one_with_times_is_named(kind):
    with pytest.raises(CatalogError) as refusal:
        OCTOBER.require_times({"visited": kind, "seen": "timestamp", "born": "date"})
    declared = ', or types={"visited": "timestamp"} (visited: {type: timestamp} in a catalog)' if kind == "text" else ""
    assert str(refusal.value) == (
        f"a slice by 'visited' of type {kind}\n"
        "  because  a slice goes by time, and only columns of type date and timestamp hold one\n"
        f'  instead  dp.Slice("seen", ...){declared}'
    )
    with pytest.raises(CatalogError, match=r'instead  types={"visited": "timestamp"}'):
        OCTOBER.require_times({"visited": kind})


def test_a_column_of_dates_needs_whole_days():
    OCTOBER.require_times({"visited": "date"})
    half_a_day = _slice("2026-10-01", "2026-10-01 12:00")
    half_a_day.require_times({"visited": "timestamp"})
    with pytest.raises(CatalogError, match="a date has no time of day"):
        half_a_day.require_times({"visited": "date"})


def test_moments_are_written_as_short_as_they_are():
    assert iso_text(moment("2026-10-01", "start")) == "2026-10-01"
    assert iso_text(moment("2026-10-01 06:30", "start")) == "2026-10-01T06:30:00"
    assert moment(iso_text(moment("2026-10-01 06:30:00.000001", "start")), "start").microsecond == 1


def test_slices_that_touch_and_slices_of_different_tables_share_no_row():
    refuse_shared_rows(
        {
            "november": _slice("2026-11-01", "2026-12-01"),
            "october": OCTOBER,
            "others": _slice("2026-10-01", "2027-01-01", of="stays"),
            "whole": None,
        }
    )


@pytest.mark.parametrize(
    ("start", "end"),
    [("2026-10-31 23:59:59.999999", "2026-12-01"), ("2026-09-01", "2026-12-01"), ("2026-10-01", "2026-11-01")],
)
def test_slices_of_one_table_that_overlap_are_refused(start, end):
    with pytest.raises(
        CatalogError, match="of 'visits'\n  because  they overlap, and a new budget is for new data only"
    ):
        refuse_shared_rows({"october": OCTOBER, "stays": None, "other": _slice(start, end)})


@pytest.mark.parametrize("whole", [None, OCTOBER, _slice("2026-10-01", "2026-11-01", of="stays")])
def test_a_slice_beside_a_table_of_the_name_that_it_is_of_is_refused(whole):
    with pytest.raises(CatalogError, match="table 'visits' and a slice of it") as refusal:
        refuse_shared_rows({"october": OCTOBER, "visits": whole})
    assert "visits-2026-10 as the name of the slice" in refusal.value.instead
