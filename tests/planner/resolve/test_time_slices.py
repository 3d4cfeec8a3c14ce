"""A slice stands in the scan of every question, on the stored column."""

import datetime as dt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dp
from discreet.accounting.costs import NOTHING
from discreet.accounting.filters import Budget
from discreet.catalog.catalog import Catalog, ColumnType
from discreet.plan.physical import Apply, Constant, Read
from discreet.planner.explain import explanation
from discreet.planner.queries.tables import AggregatePlan, analyze
from discreet.planner.resolve.time_slices import within
from former import former
from grids import over

BUDGET = Budget(epsilon=2)
t = dp.table("t")


def _catalog(kind="date", period="start: 2026-10-01, end: 2026-11-01", unit="id") -> Catalog:
    slices = f"slice: {{of: all, column: at, {period}}}" if period else ""
    return Catalog.parse(f"""
        tables:
          t:
            privacy_unit: {unit}
            max_rows: 3
            {slices}
            columns:
              id: {{type: text}}
              at: {{type: {kind}}}
              ward: {{type: text, keys: [A, B]}}
              cost: {{type: real}}
        """)


def _analyzed(query, **facts) -> AggregatePlan:
    return analyze(query.plan, _catalog(**facts), BUDGET, epsilon=1)


@pytest.mark.parametrize(
    ("kind", "start", "end"),
    [
        ("date", dt.date(2026, 10, 1), dt.date(2026, 11, 1)),
        ("timestamp", dt.datetime(2026, 10, 1), dt.datetime(2026, 11, 1)),  # noqa: DTZ001 - times have no zone
    ],
)
def test_a_row_is_in_a_slice_from_its_start_until_before_its_end(kind, start, end):
    at = Read("at", ColumnType(kind))
    first = Apply("ge", (at, Constant(start, at.type)), ColumnType.BOOLEAN)
    last = Apply("lt", (at, Constant(end, at.type)), ColumnType.BOOLEAN)
    assert within(_catalog(kind).table("t")) == Apply("and", (first, last), ColumnType.BOOLEAN)
    assert type(start) is type(within(_catalog(kind).table("t")).arguments[0].arguments[1].value)


def test_a_whole_table_has_no_condition():
    assert within(_catalog(period="").table("t")) is None
    assert _analyzed(t.agg(n=dp.count()), period="").pushdown.scan.within is None


QUERIES = {
    "everything": t.agg(n=dp.count()),
    "units": t.agg(n=dp.count_units()),
    "filtered by another time": t.where((t.at < "2026-10-01") | t.at.is_missing()).agg(n=dp.count()),
    "its column redefined": t.derive(at=t.ward.cast("date")).where(t.at > "2000-01-01").agg(n=dp.count()),
    "its column derived away": t.derive(at=t.cost).agg(s=dp.sum("at", bounds=(0, 1))),
    "grouped by it": t.group_by("at", keys={"at": ["2025-01-01"]}).agg(n=dp.count()),
    "grouped": t.group_by("ward", max_groups=1, max_rows_per_group=1).agg(m=dp.mean("cost", bounds=(0, 1))),
    "values": t.agg(v=dp.count_distinct("ward")),
}


@pytest.mark.guarantee("planner.resolve.time_slices")
@pytest.mark.pitfall("A8")
@over("unit", ["id", "dp.ROW", "[id, ward]"])
@over("query", QUERIES.values())
def test_no_query_avoids_the_slice_or_changes_what_it_stands_on(query, unit):
    scan = _analyzed(query, unit=unit).pushdown.scan
    assert scan.within == within(_catalog().table("t"))
    assert Read("at", ColumnType.DATE) in scan.columns


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_chain_of_steps_avoids_the_slice(data):
    step = st.sampled_from(
        [
            lambda x: x.where(x.at >= "2027-01-01"),
            lambda x: x.derive(at=x.ward.cast("date")),
            lambda x: x.derive(other=x.at).derive(at=x.other.cast("timestamp").cast("date")),
            lambda x: x.where(x.at.is_missing()),
        ]
    )
    relation = t
    for make in data.draw(st.lists(step, max_size=5)):
        relation = make(relation)
    assert _analyzed(relation.agg(n=dp.count())).pushdown.scan.within == within(_catalog().table("t"))


def test_the_sensitivities_and_the_price_are_those_of_the_whole_table():
    query = t.group_by("ward").agg(n=dp.count(), s=dp.sum("cost", bounds=(0, 10)))
    part, whole = _analyzed(query), _analyzed(query, period="")
    assert [one.sensitivity for one in part.noisy_measures] == [one.sensitivity for one in whole.noisy_measures]
    assert (part.event, part.caps) == (whole.event, whole.caps)


def test_two_slices_never_share_a_question():
    periods = [
        "",
        "start: 2026-10-01, end: 2026-11-01",
        "start: 2026-10-01, end: 2026-12-01",
        "start: 2026-11-01, end: 2026-12-01",
    ]
    plans = [_analyzed(t.agg(n=dp.count()), period=period) for period in periods]
    assert len({former(plan) for plan in plans}) == len(periods)
    same = _analyzed(t.agg(n=dp.count()), period="start: 2026-10-01T00:00, end: 2026-11-01 00:00")
    assert former(same) == former(plans[1])


def test_an_explanation_says_which_slice_and_what_it_means():
    text = str(explanation(_analyzed(t.agg(n=dp.count())), BUDGET, NOTHING, BUDGET.epsilon / 4))
    assert (
        "  slice     the rows of 'all' from 2026-10-01 until before 2026-11-01 by 'at'; "
        "one id in several slices is protected by each budget, and over all of them by their sum\n"
    ) in text
    assert "  reads     at, id\n" in text
    assert "slice" not in str(
        explanation(_analyzed(t.agg(n=dp.count()), period=""), BUDGET, NOTHING, BUDGET.epsilon / 4)
    )
