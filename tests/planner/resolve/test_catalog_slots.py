"""Slots of columns follow from the catalog alone; a column whose values are not public is refused with advice."""

import datetime as dt
from itertools import pairwise

import pytest

from discreet.catalog.catalog import Column, ColumnType
from discreet.catalog.time_slice import Slice
from discreet.errors import ParameterError, Refusal, UnboundedError
from discreet.planner.resolve.catalog_slots import ColumnFacts, period_of, slot_columns, slots_of

PERIOD = (dt.datetime.fromisoformat("2024-01-01"), dt.datetime.fromisoformat("2024-02-01"))


SEARCH = "or slots=session.release(table.find_slots(['x']), epsilon=0.2)"


def edges(kind, *, edges=None, period=None, **facts):
    return slots_of(ColumnFacts("x", Column(type=kind, **facts), edges, period)).edges


def test_a_number_has_32_bins_of_equal_width_between_its_bounds():
    assert edges("real", bounds=(0, 16)) == tuple(i / 2 for i in range(33))
    found = edges("integer", bounds=(0, 99))
    assert (found[0], found[-1], len(found)) == (0, 100, 33)
    assert {high - low for low, high in pairwise(found)} == {3, 4}


@pytest.mark.parametrize(
    ("bounds", "expected"), [((0, 3), (0, 1, 2, 3, 4)), ((-0.5, 1.5), (0, 1, 2)), ((5, 5), (5, 6))]
)
def test_a_whole_number_of_few_values_has_a_bin_for_each(bounds, expected):
    assert edges("integer", bounds=bounds) == expected


def test_bins_of_the_catalog_are_those_of_the_column():
    assert edges("integer", bounds=(0, 99), bins={"linear": 4}) == (0, 25, 50, 75, 100)
    assert edges("real", bounds=(0, 100), bins=[18, 65]) == (0.0, 18.0, 65.0, 100.0)
    assert edges("integer", bins=[18, 65]) == (-29, 18, 65, 112)
    assert edges("integer", bins=[1.5]) == (1, 2, 3)
    log = edges("real", bounds=(0, 99_999), bins={"log": 4})
    assert (log[0], log[-1], len(log)) == (0.0, 99_999.0, 5)
    assert log[1] < 25
    assert edges("integer", bounds=(0, 3), bins={"log": 8}) == (0, 1, 2, 3)


def test_one_value_between_the_bounds_is_one_bin():
    low, high = edges("real", bounds=(2, 2))
    assert low == 2.0 < high
    assert edges("integer", bounds=(2**63 - 1, 2**63 - 1))[-1] < 2**63


def test_others_have_their_declared_values_without_the_missing_one():
    assert slots_of(ColumnFacts("x", Column(type="text", keys=["b", None, "a"]))).values == ("b", "a")
    assert slots_of(ColumnFacts("x", Column(type="integer", keys=[3, 1], bounds=(0, 9)))).values == (3, 1)
    assert slots_of(ColumnFacts("x", Column(type="boolean"))).values == (False, True)
    assert slots_of(ColumnFacts("x", Column(type="date", keys=["2024-01-01"]))).values == (dt.date(2024, 1, 1),)


def test_two_spellings_of_one_time_are_refused_as_keys():
    one = dt.datetime(2024, 1, 1)  # noqa: DTZ001 - cells have no zone
    keys = Column(type="timestamp", keys=[one, one.replace(tzinfo=dt.UTC)])
    with pytest.raises(ParameterError, match="equal"):
        slots_of(ColumnFacts("x", keys))
    alone = Column(type="timestamp", keys=[one.replace(tzinfo=dt.timezone(dt.timedelta(hours=1)))])
    assert slots_of(ColumnFacts("x", alone)).values == (one - dt.timedelta(hours=1),)


def test_edges_of_times_with_and_without_a_zone_are_compared_in_utc():
    one = dt.datetime(2024, 1, 1)  # noqa: DTZ001 - cells have no zone
    given = (one, (one + dt.timedelta(days=1)).replace(tzinfo=dt.UTC))
    assert edges("timestamp", edges=given) == (one, one + dt.timedelta(days=1))


def test_the_time_of_a_slice_lies_in_its_period():
    days = edges("date", period=PERIOD)
    assert (days[0], days[-1], len(days)) == (dt.date(2024, 1, 1), dt.date(2024, 2, 1), 32)
    times = edges("timestamp", period=PERIOD)
    assert (times[0], times[-1], len(times)) == (*PERIOD, 33)
    part = Slice("day", "2024-01-01", "2024-02-01")
    assert period_of("day", part) == PERIOD
    assert period_of("other", part) is period_of("day", None) is None


def test_edges_of_the_query_come_first():
    assert edges("date", edges=(dt.date(2024, 1, 1), dt.date(2025, 1, 1)), period=PERIOD)[1] == dt.date(2025, 1, 1)
    assert edges("real", edges=(0, 1), bounds=(0, 9)) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("kind", "given"),
    [("integer", (0, 1.5)), ("integer", (0,)), ("real", (1, 0)), ("date", (0, 1)), ("text", ("a", "b"))],
)
def test_edges_that_do_not_fit_their_column_are_refused(kind, given):
    with pytest.raises(ParameterError, match="the edges of 'x'"):
        edges(kind, edges=given)


@pytest.mark.parametrize(
    ("kind", "advice"),
    [
        ("integer", f"bounds={{'x': (0, 100)}}, {SEARCH}, or columns=['known']"),
        ("text", f"keys={{'x': [\"A\", \"B\"]}}, {SEARCH}, or columns=['known']"),
        ("date", f"bounds={{'x': (dt.date(2024, 1, 1), dt.date(2024, 12, 31))}}, {SEARCH}, or columns=['known']"),
        ("document", "columns=['known']"),
    ],
)
def test_a_column_whose_values_are_not_public_is_refused_with_advice(kind, advice):
    known = ColumnFacts("known", Column(type="boolean"))
    with pytest.raises(UnboundedError) as refusal:
        slot_columns([ColumnFacts("x", Column(type=kind)), known])
    assert refusal.value.what == "synthesis of 'x'"
    assert refusal.value.instead == advice
    assert slot_columns([known])[0].type is ColumnType.BOOLEAN


def declared(kind, **words):
    return slots_of(ColumnFacts("x", Column(type=kind), **words))


def test_keys_of_the_query_are_the_values_of_the_column():
    assert declared("text", keys=("b", None, "a")).values == ("b", "a")
    assert declared("date", keys=("2024-01-31",)).values == (dt.date(2024, 1, 31),)
    known = Column(type="integer", keys=[1, 2], bounds=(0, 9))
    assert slots_of(ColumnFacts("x", known, keys=(7,))).values == (7,)


@pytest.mark.parametrize(
    ("kind", "keys"), [("text", ()), ("text", (None,)), ("text", (1,)), ("text", ("a", "a")), ("real", (1.0,))]
)
def test_keys_that_do_not_fit_their_column_are_refused(kind, keys):
    with pytest.raises(Refusal, match="'x'"):
        declared(kind, keys=keys)


def test_dates_and_times_between_bounds_have_bins_of_equal_width():
    days = declared("date", bounds=(dt.date(2024, 1, 1), dt.date(2024, 12, 31))).edges
    assert (days[0], days[-1], len(days)) == (dt.date(2024, 1, 1), dt.date(2025, 1, 1), 33)
    assert {(high - low).days for low, high in pairwise(days)} == {11, 12}
    assert declared("date", bounds=(dt.date(2024, 1, 1),) * 2).edges == (dt.date(2024, 1, 1), dt.date(2024, 1, 2))
    times = declared("timestamp", bounds=PERIOD).edges
    assert (times[0], len(times)) == (PERIOD[0], 33)
    assert len(declared("timestamp", bounds=PERIOD[:1] * 2).edges) == 2


@pytest.mark.parametrize("kind", ["date", "timestamp"])
def test_the_first_and_the_last_day_of_the_calendar_are_bounds(kind):
    ends = (dt.date.min, dt.date.max) if kind == "date" else (dt.datetime.min, dt.datetime.max)  # noqa: DTZ901
    found = declared(kind, bounds=ends).edges
    assert len(found) == 33
    assert all(low < high for low, high in pairwise(found))
    assert len(declared(kind, bounds=ends[1:] * 2).edges) == 2


def test_numbers_between_bounds_of_the_query_have_the_bins_of_the_catalog():
    assert declared("integer", bounds=(0, 3)).edges == (0, 1, 2, 3, 4)
    known = Column(type="real", bounds=(0, 100), bins={"linear": 2})
    assert slots_of(ColumnFacts("x", known, bounds=(0, 1))).edges == (0.0, 0.5, 1.0)


@pytest.mark.parametrize(
    ("kind", "bounds"),
    [("integer", (3, 1)), ("integer", (1,)), ("date", (0, 1)), ("text", ("a", "b")), ("real", (0, float("nan")))],
)
def test_bounds_that_do_not_fit_their_column_are_refused(kind, bounds):
    with pytest.raises(ParameterError, match="the bounds of 'x'"):
        declared(kind, bounds=bounds)
