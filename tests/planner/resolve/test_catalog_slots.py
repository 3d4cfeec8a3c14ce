"""Slots of columns follow from the catalog alone; a column whose values are not public is refused with advice."""

import datetime as dt
from itertools import pairwise

import pytest

from discreet.catalog.catalog import Column, ColumnType
from discreet.catalog.time_slice import Slice
from discreet.errors import ParameterError, UnboundedError
from discreet.planner.resolve.catalog_slots import ColumnFacts, period_of, slot_columns, slots_of

PERIOD = (dt.datetime.fromisoformat("2024-01-01"), dt.datetime.fromisoformat("2024-02-01"))


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
        ("integer", "bounds={'x': (0, 100)} in dp.protect, or columns=['known']"),
        ("text", "keys={'x': [\"A\", \"B\"]} in dp.protect, or columns=['known']"),
        ("date", "edges={'x': [dt.date(2024, 1, 1), dt.date(2024, 7, 1), dt.date(2025, 1, 1)]}, or columns=['known']"),
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
